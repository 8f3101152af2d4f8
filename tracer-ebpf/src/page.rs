//! Page allocations: exact totals, and one counter for each path, order, gfp flags and migrate type.

use core::{
    ffi::c_void,
    ptr::{addr_of, addr_of_mut, read_volatile, write_volatile},
};

use aya_ebpf::{
    EbpfContext as _,
    helpers::{bpf_get_prandom_u32, bpf_get_smp_processor_id},
    programs::RawTracePointContext,
};
use tracer_common::{
    config::paths,
    cpu::CpuState,
    loss::Cause,
    page::{Counter, CounterKey, MIGRATETYPES, ORDERS},
    path::{NO_PATH, WAYS},
};

use crate::{
    event, filter,
    loss::lose,
    maps::{COUNTER_INDEX, COUNTERS, CPUS, MEMO, PATHS},
    path,
    settings::config,
    user,
};

/// The state of this CPU. The map is sized by possible CPUs, so there always is one.
#[inline(always)]
pub(crate) fn state() -> Option<(u32, *mut CpuState)> {
    // SAFETY: a helper without arguments.
    let cpu = unsafe { bpf_get_smp_processor_id() };
    Some((cpu, CPUS.get_ptr_mut(cpu)?))
}

/// An index below [`MIGRATETYPES`]: a larger migrate type counts as the last.
#[inline(always)]
pub(crate) fn migratetype(argument: i32) -> usize {
    let migratetype = argument as u32 as usize;
    if migratetype < MIGRATETYPES { migratetype } else { MIGRATETYPES - 1 }
}

/// `mm_page_alloc(struct page *page, unsigned int order, gfp_t gfp_flags, int migratetype)`; no page is a failure.
#[inline(always)]
pub(crate) fn allocated(ctx: &RawTracePointContext) {
    let page: u64 = ctx.arg(0);
    let order: u32 = ctx.arg(1);
    let gfp: u32 = ctx.arg(2);
    let migratetype = migratetype(ctx.arg(3));
    if config!(min_order) != 0 && order < config!(min_order) || gfp & config!(gfp) != config!(gfp) {
        return;
    }
    if !filter::task_counts() {
        return;
    }
    let Some((cpu, state)) = state() else { return };
    if order as usize >= ORDERS {
        lose(state, Cause::InvalidOrder, 0);
        return;
    }
    // SAFETY: `state` points into a map value.
    unsafe {
        // The kernel keeps a raw tracepoint program from nesting in itself only since 6.1. Before, this flag does,
        // and it protects the scratch space; a nested event is counted as lost.
        if read_volatile(addr_of!((*state).busy)) != 0 {
            lose(state, Cause::Nested, order);
            return;
        }
        write_volatile(addr_of_mut!((*state).busy), 1);
        let failed = u64::from(page == 0);
        if failed == 0 {
            (*state).pages.allocated[order as usize & (ORDERS - 1)] += 1;
        } else {
            (*state).pages.failed[order as usize & (ORDERS - 1)] += 1;
        }
        if is_sampled(state) {
            // `with_depth` says which bit is what.
            let mut key = u64::from(gfp) | u64::from(order) << 32 | (migratetype as u64) << 36 | failed << 40 | 1 << 63;
            let mut arguments = 0;
            if config!(paths) != paths::OFF {
                arguments = path::arguments(state, ctx.as_ptr(), 0);
                key = with_depth(key, arguments);
            }
            count(ctx.as_ptr(), cpu, state, arguments, key);
        }
        write_volatile(addr_of_mut!((*state).busy), 0);
    }
}

/// Whether this event's path is taken: always, or one in `one_in` at random distances, so that no rhythm of the load
/// is favoured.
#[inline(always)]
unsafe fn is_sampled(state: *mut CpuState) -> bool {
    let one_in = config!(one_in);
    if one_in <= 1 {
        return true;
    }
    // SAFETY: `state` points into a map value; the helper has no arguments.
    unsafe {
        if (*state).sample_in > 1 {
            (*state).sample_in -= 1;
            return false;
        }
        (*state).sample_in = 1 + bpf_get_prandom_u32() % (2 * one_in - 1);
    }
    true
}

/// A key with the depth of the stack in bits 41 to 54, in words. Below lie gfp flags in bits 0 to 31, order in 32 to 35,
/// migrate type in 36 to 39 and failure in 40; bit 63 is set so that no key is 0.
#[inline(always)]
pub(crate) fn with_depth(key: u64, arguments: u64) -> u64 {
    key | ((arguments & u64::from(config!(stack_bytes) - 1)) >> 3 & 0x3fff) << 41
}

/// Counts an event whose remembered key is `key`, with its stack at `arguments` (not read where paths are off).
#[inline(always)]
pub(crate) unsafe fn count(ctx: *mut c_void, cpu: u32, state: *mut CpuState, arguments: u64, key: u64) {
    // SAFETY: all through pointers into map values.
    unsafe {
        let owner = filter::owner();
        let user_path = user::stack(ctx, cpu, (key >> 32) as u32 & 0xf);
        let mut expected = NO_PATH;
        if config!(paths) != paths::UNWOUND {
            let Some(set) = MEMO.get_ptr_mut(set_of(cpu, key)) else { return };
            for i in 0..WAYS {
                if read_volatile(addr_of!((*set).ways[i].key)) != key {
                    continue;
                }
                let path = read_volatile(addr_of!((*set).ways[i].path));
                let number = read_volatile(addr_of!((*set).ways[i].counter));
                let Some(counter) = COUNTERS.get_ptr_mut(cpu * config!(counters) + number) else { return };
                if config!(by) != 0 && (*counter).owner != owner {
                    continue;
                }
                if config!(user_stacks) != 0 && (*counter).user_path != user_path {
                    continue;
                }
                if config!(paths) == paths::REMEMBERED {
                    let Some(record) = PATHS.get_ptr(path) else { continue };
                    if !path::holds(record, cpu, arguments) {
                        continue;
                    }
                    if config!(audit) != 0 && is_audited(state) {
                        expected = path;
                        break;
                    }
                    (*state).paths.hits += 1;
                }
                (*counter).events += 1;
                if config!(events) != 0 {
                    event::emit(cpu, key, path);
                }
                return;
            }
        }
        // An audited hit goes the slow way like a miss, and is counted as what that finds.
        let found = meet(ctx, cpu, key, owner, user_path);
        if config!(events) != 0 {
            event::emit(cpu, key, found);
        }
        if expected != NO_PATH && judge(cpu, key, expected, found) == 0 && found != NO_PATH && config!(log) != 0 {
            tell_disagreement(ctx, expected, found);
        }
    }
}

/// For `--verbose`; a subprogram, so that what logging needs is not paid on the way of every event.
#[inline(never)]
fn tell_disagreement(ctx: *mut c_void, expected: u32, found: u32) {
    let ctx = RawTracePointContext::new(ctx);
    aya_log_ebpf::warn!(&ctx, "audit: the remembered path {} was {}", expected, found);
}

/// Compares what was remembered with what was found by unwinding, and forgets what was wrong.
#[inline(never)]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn judge(cpu: u32, key: u64, expected: u32, found: u32) -> u32 {
    let Some(state) = CPUS.get_ptr_mut(cpu) else { return 0 };
    let Some(set) = MEMO.get_ptr_mut(set_of(cpu, key)) else { return 0 };
    // SAFETY: all through pointers into map values.
    unsafe {
        (*state).paths.audited += 1;
        if found == expected {
            return 1;
        }
        if found == NO_PATH {
            (*state).paths.audit_failed += 1;
            return 0;
        }
        (*state).paths.disagreed += 1;
        for i in 0..WAYS {
            if read_volatile(addr_of!((*set).ways[i].key)) == key
                && read_volatile(addr_of!((*set).ways[i].path)) == expected
            {
                write_volatile(addr_of_mut!((*set).ways[i].key), 0);
            }
        }
    }
    0
}

/// Index of the set in which a key is remembered on this CPU.
#[inline(always)]
pub(crate) fn set_of(cpu: u32, key: u64) -> u32 {
    let hash = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u32;
    cpu * config!(sets) + (hash & (config!(sets) - 1))
}

#[inline(always)]
pub(crate) unsafe fn is_audited(state: *mut CpuState) -> bool {
    // SAFETY: `state` points into a map value.
    unsafe {
        if (*state).audit_in > 1 {
            (*state).audit_in -= 1;
            return false;
        }
        (*state).audit_in = config!(audit);
    }
    true
}

/// The slow path: unwinds, counts, and remembers the key. Gives the path's index.
#[inline(never)]
fn meet(ctx: *mut c_void, cpu: u32, key: u64, owner: u64, user_path: u64) -> u32 {
    let order = (key >> 32) as u32 & 0xf;
    let path = if config!(paths) == paths::OFF { NO_PATH } else { path::unwind(ctx, cpu, order) };
    let number = counter(cpu, path, key, owner, user_path);
    if number != NO_PATH && config!(paths) != paths::UNWOUND && (path != NO_PATH || config!(paths) == paths::OFF) {
        remember(cpu, key, path, number);
    }
    path
}

/// Counts the event and gives its counter's number on this CPU; `NO_PATH` when there is no room.
#[inline(never)]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn counter(cpu: u32, path: u32, key: u64, owner: u64, user_path: u64) -> u32 {
    let Some(state) = CPUS.get_ptr_mut(cpu) else { return NO_PATH };
    let order = (key >> 32) as u8 & 0xf;
    let counter_key = CounterKey {
        owner,
        user_path,
        path,
        gfp: key as u32,
        cpu,
        order,
        migratetype: (key >> 36) as u8 & 0xf,
        failed: (key >> 40) as u8 & 1,
        padding: 0,
    };
    // SAFETY: all through pointers into map values.
    unsafe {
        if let Some(number) = COUNTER_INDEX.get(counter_key) {
            let number = *number;
            let Some(counter) = COUNTERS.get_ptr_mut(cpu * config!(counters) + number) else { return NO_PATH };
            (*counter).events += 1;
            return number;
        }
        let number = (*state).counters;
        if number >= config!(counters) {
            lose_uncounted(state, path, Cause::CountersFull, u32::from(order));
            return NO_PATH;
        }
        if COUNTER_INDEX.insert(counter_key, number, 0).is_err() {
            lose_uncounted(state, path, Cause::MapBusy, u32::from(order));
            return NO_PATH;
        }
        let Some(counter) = COUNTERS.get_ptr_mut(cpu * config!(counters) + number) else { return NO_PATH };
        fill(counter, &counter_key);
        filter::name_owner(owner);
        write_volatile(addr_of_mut!((*state).counters), number + 1);
        number
    }
}

/// An event that has no counter is lost once, even if it had lost its path before.
#[inline(always)]
fn lose_uncounted(state: *mut CpuState, path: u32, cause: Cause, order: u32) {
    if path != NO_PATH || config!(paths) == paths::OFF {
        lose(state, cause, order);
    }
}

#[inline(always)]
unsafe fn fill(counter: *mut Counter, key: &CounterKey) {
    // SAFETY: points into a map value.
    unsafe {
        (*counter).owner = key.owner;
        (*counter).user_path = key.user_path;
        (*counter).path = key.path;
        (*counter).gfp = key.gfp;
        (*counter).order = key.order;
        (*counter).migratetype = key.migratetype;
        (*counter).failed = key.failed;
        write_volatile(addr_of_mut!((*counter).events), 1);
    }
}

/// Remembers a key, throwing another out if its set is full.
#[inline(never)]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn remember(cpu: u32, key: u64, path: u32, number: u32) -> u32 {
    let Some(state) = CPUS.get_ptr_mut(cpu) else { return 0 };
    let Some(set) = MEMO.get_ptr_mut(set_of(cpu, key)) else { return 0 };
    // SAFETY: all through pointers into map values.
    unsafe {
        let mut way = WAYS;
        for i in 0..WAYS {
            let there = read_volatile(addr_of!((*set).ways[i].key));
            if there == key && read_volatile(addr_of!((*set).ways[i].counter)) == number {
                return 0;
            }
            if there == 0 {
                way = i;
            }
        }
        if way == WAYS {
            way = (*state).victim as usize & (WAYS - 1);
            (*state).victim += 1;
            (*state).paths.evicted += 1;
        }
        let way = way & (WAYS - 1);
        write_volatile(addr_of_mut!((*set).ways[way].path), path);
        write_volatile(addr_of_mut!((*set).ways[way].counter), number);
        write_volatile(addr_of_mut!((*set).ways[way].key), key);
    }
    1
}
