//! Everything but page allocations: one tally for each kind, detail and path, found again like page counters.
//!
//! These events have a CPU state of their own ("lane"), so that a page allocation which interrupts one of them finds
//! its scratch space untouched, and the other way round.

use core::{
    ffi::c_void,
    ptr::{addr_of, addr_of_mut, read_volatile, write_volatile},
};

use aya_ebpf::helpers::bpf_get_smp_processor_id;
use tracer_common::{
    config::paths,
    cpu::CpuState,
    histogram::{BUCKETS, bucket, place},
    loss::Cause,
    path::{NO_PATH, WAYS},
    tally::{DETAIL_BITS, Kind, Tally, TallyKey, VALUES},
};

use crate::{
    filter,
    loss::lose,
    maps::{CPUS, HISTOGRAMS, MEMO, TALLIES, TALLY_INDEX},
    page::{is_audited, judge, remember, set_of, with_depth},
    path,
    settings::config,
};

/// The state of this CPU for events that are no page allocations, and its index.
#[inline(always)]
pub(crate) fn state() -> Option<(u32, *mut CpuState)> {
    // SAFETY: a helper without arguments.
    let lane = config!(cpus) + unsafe { bpf_get_smp_processor_id() };
    Some((lane, CPUS.get_ptr_mut(lane)?))
}

/// Counts one event under its path, if the current task's events count. True when it was counted.
#[inline(always)]
pub(crate) fn add(ctx: *mut c_void, kind: Kind, detail: u64, values: [u64; VALUES]) -> bool {
    add_above(ctx, 0, kind, detail, values)
}

/// The same, with the stack looked at from `skipped` words above the argument block on.
#[inline(always)]
pub(crate) fn add_above(ctx: *mut c_void, skipped: u64, kind: Kind, detail: u64, values: [u64; VALUES]) -> bool {
    if !filter::task_counts() {
        return false;
    }
    let Some((lane, state)) = state() else { return false };
    // SAFETY: all through pointers into map values.
    unsafe {
        if read_volatile(addr_of!((*state).busy)) != 0 {
            lose(state, Cause::Nested, 0);
            return false;
        }
        write_volatile(addr_of_mut!((*state).busy), 1);
        let detail = detail & ((1 << DETAIL_BITS) - 1);
        let mut key = detail | (kind as u64) << 55 | 1 << 63;
        let mut arguments = 0;
        if config!(paths) != paths::OFF {
            arguments = path::arguments(state, ctx, skipped);
            key = with_depth(key, arguments);
        }
        count(ctx, lane, state, arguments, key, values);
        write_volatile(addr_of_mut!((*state).busy), 0);
    }
    true
}

#[inline(always)]
unsafe fn count(ctx: *mut c_void, lane: u32, state: *mut CpuState, arguments: u64, key: u64, values: [u64; VALUES]) {
    // SAFETY: all through pointers into map values.
    unsafe {
        let mut expected = NO_PATH;
        if config!(paths) != paths::UNWOUND {
            let Some(set) = MEMO.get_ptr_mut(set_of(lane, key)) else { return };
            for i in 0..WAYS {
                if read_volatile(addr_of!((*set).ways[i].key)) != key {
                    continue;
                }
                let path = read_volatile(addr_of!((*set).ways[i].path));
                let number = read_volatile(addr_of!((*set).ways[i].counter));
                if config!(paths) == paths::REMEMBERED {
                    if path::holds_at(path, lane, arguments) == 0 {
                        continue;
                    }
                    if config!(audit) != 0 && is_audited(state) {
                        expected = path;
                        break;
                    }
                    (*state).paths.hits += 1;
                }
                add_to(lane, number, values);
                return;
            }
        }
        let path = if config!(paths) == paths::OFF { NO_PATH } else { path::unwind(ctx, lane, 0) };
        let number = tally(lane, path, key);
        if number == NO_PATH {
            return;
        }
        add_to(lane, number, values);
        if config!(paths) != paths::UNWOUND && (path != NO_PATH || config!(paths) == paths::OFF) {
            remember(lane, key, path, number);
        }
        if expected != NO_PATH {
            judge(lane, key, expected, path);
        }
    }
}

#[inline(always)]
unsafe fn add_to(lane: u32, number: u32, values: [u64; VALUES]) {
    let Some(tally) = TALLIES.get_ptr_mut((lane - config!(cpus)) * config!(tallies) + number) else { return };
    // SAFETY: points into a map value.
    unsafe {
        (*tally).events += 1;
        for i in 0..VALUES {
            (*tally).values[i] = (*tally).values[i].wrapping_add(values[i]);
        }
    }
}

/// The number of an event's tally on this CPU, made if it is new; `NO_PATH` when there is no room.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn tally(lane: u32, path: u32, key: u64) -> u32 {
    let Some(state) = CPUS.get_ptr_mut(lane) else { return NO_PATH };
    let cpu = lane.wrapping_sub(config!(cpus));
    let detail = key & ((1 << DETAIL_BITS) - 1);
    let kind = (key >> 55) as u32 & 0xff;
    let tally_key = TallyKey { detail, path, cpu, kind, padding: 0 };
    // SAFETY: all through pointers into map values.
    unsafe {
        if let Some(number) = TALLY_INDEX.get(tally_key) {
            return *number;
        }
        let number = (*state).counters;
        if number >= config!(tallies) {
            lose_uncounted(state, path, Cause::CountersFull);
            return NO_PATH;
        }
        if TALLY_INDEX.insert(tally_key, number, 0).is_err() {
            lose_uncounted(state, path, Cause::MapBusy);
            return NO_PATH;
        }
        let Some(tally) = TALLIES.get_ptr_mut(cpu * config!(tallies) + number) else { return NO_PATH };
        fill(tally, &tally_key);
        write_volatile(addr_of_mut!((*state).counters), number + 1);
        number
    }
}

/// An event that has no tally is lost once, even if it had lost its path before.
#[inline(always)]
fn lose_uncounted(state: *mut CpuState, path: u32, cause: Cause) {
    if path != NO_PATH || config!(paths) == paths::OFF {
        lose(state, cause, 0);
    }
}

#[inline(always)]
unsafe fn fill(tally: *mut Tally, key: &TallyKey) {
    // SAFETY: points into a map value.
    unsafe {
        (*tally).detail = key.detail;
        (*tally).path = key.path;
        (*tally).kind = key.kind;
    }
}

/// Adds a value to the distribution at a place.
#[inline(always)]
pub(crate) fn distribute(at: u32, value: u64) {
    // SAFETY: a helper without arguments.
    let cpu = unsafe { bpf_get_smp_processor_id() };
    spread(cpu * place::PLACES + at, value);
}

/// Adds a value to a distribution by its index in the map.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn spread(index: u32, value: u64) -> u32 {
    let Some(histogram) = HISTOGRAMS.get_ptr_mut(index) else { return 0 };
    let mut bucket = bucket(value);
    // SAFETY: points into a map value; the bucket is checked below.
    unsafe {
        (*histogram).sum = (*histogram).sum.wrapping_add(value);
        if value > (*histogram).max {
            (*histogram).max = value;
        }
        if !value > (*histogram).inverted_min {
            (*histogram).inverted_min = !value;
        }
        // The compiler knows the bound and would leave out the check that shows it to the verifier.
        bucket = read_volatile(addr_of!(bucket));
        if bucket < BUCKETS {
            (*histogram).buckets[bucket] += 1;
        }
    }
    1
}
