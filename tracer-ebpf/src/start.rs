//! When something began that will end in the same task.

use aya_ebpf::helpers::{bpf_get_current_pid_tgid, generated::bpf_ktime_get_ns};
use tracer_common::loss::Cause;

use crate::{loss::lose, maps::STARTS, tally};

/// What begins.
#[repr(u64)]
#[derive(Clone, Copy)]
pub(crate) enum What {
    Reclaim = 1,
    WantsCompaction = 2,
    Compaction = 3,
    Wait = 4,
    Bulk = 5,
}

/// Of the current task; idle tasks share a number and are told apart by nothing, but none of them waits.
#[inline(always)]
fn key(what: What) -> u64 {
    bpf_get_current_pid_tgid() & 0xffff_ffff | (what as u64) << 32
}

/// Notes that it begins now.
#[inline(always)]
pub(crate) fn note(what: What, detail: u64) {
    // SAFETY: a helper without arguments.
    let now = unsafe { bpf_ktime_get_ns() };
    if STARTS.insert(key(what), [now, detail], 0).is_err()
        && let Some((_, state)) = tally::state()
    {
        lose(state, Cause::StartsFull, 0);
    }
}

/// What was noted, without ending it.
#[inline(always)]
pub(crate) fn detail(what: What) -> Option<u64> {
    // SAFETY: the entry belongs to this task.
    unsafe { STARTS.get(key(what)).map(|it| it[1]) }
}

/// How long it took, ns, and what was noted; `None` when its beginning was not seen.
#[inline(always)]
pub(crate) fn ended(what: What) -> Option<(u64, u64)> {
    let key = key(what);
    // SAFETY: the entry belongs to this task; the helper has no arguments.
    let (began, detail, now) = unsafe {
        let there = STARTS.get(key)?;
        (there[0], there[1], bpf_ktime_get_ns())
    };
    let _ = STARTS.remove(key);
    Some((now.wrapping_sub(began), detail))
}
