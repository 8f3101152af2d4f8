//! Reading kernel memory a word at a time.

use aya_ebpf::helpers::generated::bpf_probe_read_kernel;
use tracer_common::{config::reads, sock::ABSENT};

use crate::settings::config;

/// Stands where the kernel function `bpf_rdonly_cast` is called. aya 0.14 cannot name kernel functions, so user
/// space writes the function's BTF id into each call of this number before load; on kernels without it (before 6.2)
/// the call becomes a move that the verifier never reaches.
const CAST: usize = 0x5ead_0001;

/// The word at `address`. The verifier turns the cast into a move and guards the load with an exception entry that
/// yields 0, so this costs about a nanosecond where `bpf_probe_read_kernel` costs ten.
///
/// # Safety
/// Only where `Config::reads` is [`reads::TYPED`].
#[inline(always)]
pub(crate) unsafe fn typed(address: u64) -> u64 {
    // SAFETY: a BPF call instruction with this number; patched before load as said above.
    let cast: unsafe extern "C" fn(u64, u32) -> *const u64 = unsafe { core::mem::transmute(CAST) };
    // SAFETY: the verifier gives the result a type whose first member is a word and guards the load.
    unsafe { core::ptr::read_volatile(cast(address, config!(word_type))) }
}

/// Copies `bytes` of kernel memory at `from`; false when any of it cannot be read.
///
/// # Safety
/// `to` must be valid for `bytes`, in a way that the verifier can see.
#[inline(always)]
pub(crate) unsafe fn copy(to: *mut u64, bytes: u32, from: u64) -> bool {
    // SAFETY: the helper checks the source, the verifier the destination.
    unsafe { bpf_probe_read_kernel(to.cast(), bytes, from as *const _) == 0 }
}

/// Whether single words can be read cheaply.
#[inline(always)]
pub(crate) fn is_typed() -> bool {
    config!(reads) == reads::TYPED
}

/// The word at `offset` from `base`; 0 where the kernel has no such field, `base` is null or it cannot be read.
#[inline(always)]
pub(crate) fn u64_at(base: u64, offset: u32) -> u64 {
    if offset == ABSENT || base == 0 {
        return 0;
    }
    let address = base.wrapping_add(u64::from(offset));
    if is_typed() {
        // SAFETY: this branch is only there where reads are typed.
        return unsafe { typed(address) };
    }
    let mut value = 0_u64;
    // SAFETY: the destination is a word of this stack.
    if unsafe { copy(core::ptr::addr_of_mut!(value), 8, address) } { value } else { 0 }
}

/// The lower 32 bits of it, which on these little-endian machines come first.
#[inline(always)]
pub(crate) fn u32_at(base: u64, offset: u32) -> u32 {
    u64_at(base, offset) as u32
}

/// The `n`th argument of a raw tracepoint. Volatile: of two arguments, one of which is wanted, the compiler would make
/// one load at a computed place, which the verifier forbids.
#[inline(always)]
pub(crate) fn argument(ctx: *mut core::ffi::c_void, n: usize) -> u64 {
    // SAFETY: the verifier checks that the tracepoint has so many.
    unsafe { core::ptr::read_volatile(ctx.cast::<u64>().add(n)) }
}

/// The first arguments of a traced function (and, after them, what it returned): a copy, since to the verifier the
/// block itself holds typed pointers with which no arithmetic is allowed.
#[inline(always)]
pub(crate) fn arguments<const N: usize>(ctx: *mut core::ffi::c_void) -> [u64; N] {
    let mut arguments = [0; N];
    // SAFETY: the destination is this stack's.
    unsafe { copy(arguments.as_mut_ptr(), (N * 8) as u32, ctx as u64) };
    arguments
}
