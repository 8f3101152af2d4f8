//! Reading kernel memory a word at a time.

use aya_ebpf::helpers::generated::bpf_probe_read_kernel;
use tracer_common::config::reads;

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
