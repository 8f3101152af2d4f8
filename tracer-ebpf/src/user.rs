//! The user part of a path: unwound at every event by frame pointers, stored once.

use core::{
    ffi::c_void,
    ptr::{addr_of, addr_of_mut, read_volatile},
};

use aya_ebpf::helpers::{bpf_get_current_pid_tgid, generated::bpf_get_stack};
use tracer_common::{
    loss::Cause,
    user::{USER_FRAMES, UserPath},
};

use crate::{
    loss::lose,
    maps::{CPUS, USER_PATHS, USER_SCRATCH},
    settings::config,
};

const BPF_F_USER_STACK: u64 = 1 << 8;

/// Hash of the current task's user stack, which stands in `USER_PATHS` from now on; 0 when user stacks are off, there is
/// none (a kernel thread), or no room.
#[inline(always)]
pub(crate) fn stack(ctx: *mut c_void, cpu: u32, order: u32) -> u64 {
    if config!(user_stacks) == 0 { 0 } else { taken(ctx, cpu, order) }
}

#[inline(never)]
fn taken(ctx: *mut c_void, cpu: u32, order: u32) -> u64 {
    let Some(scratch) = USER_SCRATCH.get_ptr_mut(cpu) else { return 0 };
    // SAFETY: the map value has room for what is asked for.
    let got = unsafe {
        bpf_get_stack(ctx, addr_of_mut!((*scratch).addresses).cast(), (USER_FRAMES * 8) as u32, BPF_F_USER_STACK)
    };
    if got < 8 {
        return 0;
    }
    let frames = got as u32 / 8;
    let process = (bpf_get_current_pid_tgid() >> 32) as u32;
    // SAFETY: points into a map value.
    unsafe {
        (*scratch).frames = frames;
        (*scratch).process = process;
    }
    store(cpu, order)
}

/// Hashes what was unwound and stores it if it is new.
#[inline(never)]
#[unsafe(no_mangle)]
#[allow(clippy::needless_borrows_for_generic_args, reason = "a copy does not fit a BPF stack")]
extern "C" fn store(cpu: u32, order: u32) -> u64 {
    let Some(scratch) = USER_SCRATCH.get_ptr_mut(cpu) else { return 0 };
    // SAFETY: points into a map value, indices are those of the array.
    unsafe {
        let mut hash = u64::from((*scratch).process).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for i in 0..USER_FRAMES {
            if i as u32 >= read_volatile(addr_of!((*scratch).frames)) {
                break;
            }
            hash = (hash ^ read_volatile(addr_of!((*scratch).addresses[i]))).wrapping_mul(0xff51_afd7_ed55_8ccd);
            hash ^= hash >> 32;
        }
        let hash = hash | 1;
        if USER_PATHS.get_ptr(hash).is_none() && USER_PATHS.insert(hash, &*scratch.cast::<UserPath>(), 0).is_err() {
            if let Some(state) = CPUS.get_ptr_mut(cpu) {
                lose(state, Cause::UserPathsFull, order);
            }
            return 0;
        }
        hash
    }
}
