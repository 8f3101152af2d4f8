//! Whose events count, decided before anything else is done. Every branch is a constant to the verifier.

use aya_ebpf::helpers::{
    bpf_get_current_cgroup_id, bpf_get_current_comm, bpf_get_current_pid_tgid, generated::bpf_current_task_under_cgroup,
};
use aya_ebpf::{macros::map, maps::CgroupArray};
use tracer_common::config::{by, filters};

use crate::{maps::OWNERS, settings::config};

/// Key: 0. Value: the cgroup of `--cgroup`.
#[map]
static CGROUP: CgroupArray = CgroupArray::with_max_entries(1, 0);

/// Whether the current task's events count.
#[inline(always)]
pub(crate) fn task_counts() -> bool {
    let wanted = config!(filters);
    if wanted & filters::PID != 0 && (bpf_get_current_pid_tgid() >> 32) as u32 != config!(pid) {
        return false;
    }
    if wanted & filters::COMM != 0 {
        let (low, high) = comm_words();
        if low != u64::from_ne_bytes(half(0)) || high != u64::from_ne_bytes(half(8)) {
            return false;
        }
    }
    if wanted & filters::CGROUP != 0 {
        // SAFETY: the map is a cgroup array with one entry, set by user space before attaching.
        let under = unsafe { bpf_current_task_under_cgroup(core::ptr::addr_of!(CGROUP).cast_mut().cast(), 0) };
        if under != 1 {
            return false;
        }
    }
    true
}

#[inline(always)]
fn half(at: usize) -> [u8; 8] {
    [
        config!(comm[at]),
        config!(comm[at + 1]),
        config!(comm[at + 2]),
        config!(comm[at + 3]),
        config!(comm[at + 4]),
        config!(comm[at + 5]),
        config!(comm[at + 6]),
        config!(comm[at + 7]),
    ]
}

#[inline(always)]
fn comm_words() -> (u64, u64) {
    let comm = bpf_get_current_comm().unwrap_or_default();
    let word = |at: usize| {
        u64::from_ne_bytes([
            comm[at],
            comm[at + 1],
            comm[at + 2],
            comm[at + 3],
            comm[at + 4],
            comm[at + 5],
            comm[at + 6],
            comm[at + 7],
        ])
    };
    (word(0), word(8))
}

/// What `Counter::owner` is for the current task; 0 when counts are not kept apart.
#[inline(always)]
pub(crate) fn owner() -> u64 {
    match config!(by) {
        by::COMM => {
            let (low, high) = comm_words();
            let hash = (low ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xff51_afd7_ed55_8ccd) ^ high;
            let hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
            hash ^ (hash >> 32) | 1
        }
        by::PID => bpf_get_current_pid_tgid() >> 32,
        // SAFETY: a helper without arguments.
        by::CGROUP => unsafe { bpf_get_current_cgroup_id() },
        _ => 0,
    }
}

/// Keeps the name behind a hash; called when a counter is new.
#[inline(always)]
pub(crate) fn name_owner(owner: u64) {
    if config!(by) == by::COMM {
        let comm = bpf_get_current_comm().unwrap_or_default();
        // A full map leaves the owner shown as its hash, which user space says.
        let _ = OWNERS.insert(owner, comm, 0);
    }
}
