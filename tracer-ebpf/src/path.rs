//! Remembered paths: the kernel path of an event without unwinding it. Why a hit is exact: `tracer_common::path`.
//!
//! The address of the tracepoint's argument block serves as the stack pointer: `bpf_trace_run*` keeps it on the
//! kernel stack, also where the program itself runs on a private stack (6.13 and later, from 64 bytes of stack on),
//! and everything above it is live.
//!
//! ns an event on 6.18, `UDP_STREAM -m 8192`, beside 30 for the empty program: see the table of `xtask overhead` in
//! the README.

use core::{
    ffi::c_void,
    ptr::{addr_of, addr_of_mut, read_volatile, write_volatile},
};

use aya_ebpf::{bindings::BPF_NOEXIST, helpers::generated::bpf_get_stack};
use tracer_common::{
    config::paths,
    cpu::{CpuState, Unwound},
    loss::Cause,
    path::{CHECKS, CUTS, FRAMES, NO_PATH, PathRecord, WINDOW},
};

use crate::{
    loss::lose,
    maps::{CPUS, PATH_OWNER, PATHS, STACKS},
    settings::config,
    word,
};

/// Frames of the tracer itself that may lie inside of the path's innermost one.
const OWN_FRAMES: usize = 8;
/// Words above the argument block among which the path's innermost address lies: `bpf_trace_run*` has a small frame.
const NEAR: usize = 32;
/// Tries to place a path in `PATHS`.
const PROBES: u64 = 8;
const EEXIST: i32 = -17;
/// "The kernel refused to change the map" where an index into `PATHS` is expected.
const BUSY: u32 = NO_PATH - 1;
/// Masks an index into `Unwound::addresses`, for the verifier.
const ADDRESS: u32 = 2 * FRAMES as u32 - 1;
/// Masks an index of a frame, for the verifier.
const FRAME: u32 = FRAMES as u32 - 1;
/// Slots that one call of a search looks at. The searches are global functions, which the verifier walks once for
/// any arguments, so its work is that of one chunk and not of the whole window.
const CHUNK: usize = 64;
const CHUNKS: u32 = (WINDOW / CHUNK) as u32;

/// Whether the stack above `arguments` holds every address of the path at its slot.
#[inline(always)]
pub(crate) fn holds(record: *const PathRecord, cpu: u32, arguments: u64) -> bool {
    // SAFETY: `record` points into a map value.
    let checks = unsafe { read_volatile(addr_of!((*record).checks)) };
    if checks == 0 {
        // Nothing to compare is no match.
        return false;
    }
    if word::is_typed() { holds_typed(record, checks, arguments) } else { holds_copied(record, cpu, arguments) }
}

/// The same as a global function, which the verifier walks once and not at every way of every program: for the many
/// programs whose events are fewer than page allocations.
#[inline(never)]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn holds_at(path: u32, cpu: u32, arguments: u64) -> u32 {
    let Some(record) = PATHS.get_ptr(path) else { return 0 };
    u32::from(holds(record, cpu, arguments))
}

#[inline(always)]
fn holds_typed(record: *const PathRecord, checks: u32, arguments: u64) -> bool {
    for i in 0..CHECKS {
        if i as u32 >= checks {
            break;
        }
        // SAFETY: within the map value; the word is read where reads are typed.
        unsafe {
            let slot = u64::from(read_volatile(addr_of!((*record).slots[i])));
            if word::typed(arguments + slot * 8) != read_volatile(addr_of!((*record).expected[i])) {
                return false;
            }
        }
    }
    true
}

#[inline(always)]
fn holds_copied(record: *const PathRecord, cpu: u32, arguments: u64) -> bool {
    let Some(stack) = STACKS.get_ptr_mut(cpu) else { return false };
    // SAFETY: bounded by the map values, as the masks show to the verifier.
    unsafe {
        let words = read_volatile(addr_of!((*record).words)).min(WINDOW as u32);
        if !word::copy(stack.cast(), words * 8, arguments) {
            return false;
        }
        for i in 0..CHECKS {
            // Read anew: of a number known before the loop the compiler makes one that counts down to 0, and before
            // 6.8 the verifier learns nothing from `!= 0`, so it would see a loop without an end.
            if i as u32 >= read_volatile(addr_of!((*record).checks)) {
                break;
            }
            let slot = usize::from(read_volatile(addr_of!((*record).slots[i]))) & (WINDOW - 1);
            if read_volatile(addr_of!((*stack)[slot])) != read_volatile(addr_of!((*record).expected[i])) {
                return false;
            }
        }
    }
    true
}

/// Unwinds the stack and gives the index of its path, remembering it if it is new or not yet known well enough.
/// Losses are counted under `order` here; `NO_PATH` is one of them.
#[inline(never)]
pub(crate) fn unwind(ctx: *mut c_void, cpu: u32, order: u32) -> u32 {
    let Some(state) = CPUS.get_ptr_mut(cpu) else { return NO_PATH };
    // SAFETY: all through pointers into map values.
    unsafe {
        let unwound = addr_of_mut!((*state).unwound);
        (*state).paths.unwound += 1;
        let got = bpf_get_stack(ctx, addr_of_mut!((*unwound).addresses).cast(), ((FRAMES + OWN_FRAMES) * 8) as u32, 0);
        if got < 8 {
            lose(state, Cause::UnwindFailed, order);
            return NO_PATH;
        }
        write_volatile(addr_of_mut!((*unwound).end), got as u32 / 8);
        delimit(cpu);
        let index = find(cpu);
        if index == BUSY {
            lose(state, Cause::MapBusy, order);
            return NO_PATH;
        }
        if index == NO_PATH {
            lose(state, Cause::PathsFull, order);
            return NO_PATH;
        }
        index
    }
}

/// Finds where the path begins and ends among the addresses, and hashes it.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn delimit(cpu: u32) -> u32 {
    let Some(state) = CPUS.get_ptr_mut(cpu) else { return 0 };
    let Some(stack) = STACKS.get_ptr_mut(cpu) else { return 0 };
    // SAFETY: all through pointers into map values, indices masked.
    unsafe {
        let unwound = addr_of_mut!((*state).unwound);
        let got = read_volatile(addr_of!((*unwound).end));
        // The innermost address above the argument block is the first of ours to lie on the stack there.
        write_volatile(addr_of_mut!((*unwound).first), 0);
        if word::copy(stack.cast(), (NEAR * 8) as u32, (*state).arguments) {
            'search: for slot in 0..NEAR {
                let word = read_volatile(addr_of!((*stack)[slot]));
                for i in 1..OWN_FRAMES {
                    if word == read_volatile(addr_of!((*unwound).addresses[i])) {
                        write_volatile(addr_of_mut!((*unwound).first), i as u32);
                        break 'search;
                    }
                }
            }
        }
        let first = read_volatile(addr_of!((*unwound).first));
        let mut end = got;
        (*unwound).truncated = 0;
        if got >= (FRAMES + OWN_FRAMES) as u32 || end > first + FRAMES as u32 {
            end = if end > first + FRAMES as u32 { first + FRAMES as u32 } else { end };
            (*unwound).truncated = 1;
        }
        write_volatile(addr_of_mut!((*unwound).end), end);
        let mut hash = 0x9e37_79b9_7f4a_7c15_u64;
        for i in 0..FRAMES {
            let at = first + i as u32;
            if at >= read_volatile(addr_of!((*unwound).end)) {
                break;
            }
            let address = read_volatile(addr_of!((*unwound).addresses[(at & ADDRESS) as usize]));
            hash = (hash ^ address).wrapping_mul(0xff51_afd7_ed55_8ccd);
            hash ^= hash >> 32;
            if is_cut(address) {
                write_volatile(addr_of_mut!((*unwound).end), at + 1);
                (*unwound).truncated = 0;
                break;
            }
        }
        (*unwound).hash = hash | 1;
        let end = read_volatile(addr_of!((*unwound).end));
        let last = read_volatile(addr_of!((*unwound).addresses[(end.wrapping_sub(1) & ADDRESS) as usize]));
        (*unwound).compared_end = if is_entry(last, end - first) { end - 1 } else { end };
    }
    0
}

/// Whether a path ends here because what lies outside was interrupted, and did not cause the event.
#[inline(always)]
fn is_cut(address: u64) -> bool {
    for i in 0..CUTS {
        if address >= config!(cuts[i][0]) && address < config!(cuts[i][1]) {
            return true;
        }
    }
    false
}

/// Whether this outermost address is the kernel's entry code, which the address before it implies.
#[inline(always)]
fn is_entry(address: u64, frames: u32) -> bool {
    if config!(entry[1]) == 0 {
        // Without symbols the entry code is not known: the outermost address of all but the shortest paths is it.
        return frames > 4;
    }
    address >= config!(entry[0]) && address < config!(entry[1])
}

/// The index of the path just delimited; a new one takes the first free index after its hash. `NO_PATH` when there
/// is none, `BUSY` when the kernel refused.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn find(cpu: u32) -> u32 {
    let Some(state) = CPUS.get_ptr_mut(cpu) else { return NO_PATH };
    // SAFETY: all through pointers into map values.
    unsafe {
        let unwound = addr_of_mut!((*state).unwound);
        let hash = (*unwound).hash;
        // 0: not placed; 1: there already; 2: new; 3: refused.
        let mut placed = 0;
        let mut index = 0;
        for probe in 0..PROBES {
            index = ((hash >> 8).wrapping_add(probe) & u64::from(config!(records) - 1)) as u32;
            let mut owner = PATH_OWNER.get(index).copied();
            if owner.is_none() {
                match PATH_OWNER.insert(index, hash, u64::from(BPF_NOEXIST)) {
                    Ok(()) => {
                        placed = 2;
                        break;
                    }
                    Err(EEXIST) => owner = PATH_OWNER.get(index).copied(),
                    Err(_) => {
                        placed = 3;
                        break;
                    }
                }
            }
            if owner == Some(hash) {
                placed = 1;
                break;
            }
        }
        if placed == 0 {
            return NO_PATH;
        }
        if placed == 3 {
            return BUSY;
        }
        let Some(record) = PATHS.get_ptr_mut(index) else { return NO_PATH };
        if placed == 2 {
            write(cpu, index);
        }
        if config!(paths) == paths::REMEMBERED {
            let checks = read_volatile(addr_of!((*record).checks));
            if checks == 0 || read_volatile(addr_of!((*record).ambiguous)) != 0 {
                locate(cpu, index);
            }
            if read_volatile(addr_of!((*record).checks)) == 0 {
                (*state).paths.unremembered += 1;
            }
        }
        index
    }
}

/// Stores a path for the first time.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn write(cpu: u32, index: u32) -> u32 {
    let Some(state) = CPUS.get_ptr_mut(cpu) else { return 0 };
    let Some(record) = PATHS.get_ptr_mut(index) else { return 0 };
    // SAFETY: through pointers into map values; the index is masked.
    unsafe {
        let unwound = addr_of_mut!((*state).unwound);
        let first = (*unwound).first;
        let frames = (*unwound).end - first;
        for i in 0..FRAMES {
            if i as u32 >= frames {
                break;
            }
            let address = read_volatile(addr_of!((*unwound).addresses[((first + i as u32) & ADDRESS) as usize]));
            write_volatile(addr_of_mut!((*record).addresses[i]), address);
            write_volatile(addr_of_mut!((*record).low[i]), 0);
            write_volatile(addr_of_mut!((*record).high[i]), WINDOW as u16);
        }
        (*record).frames = frames;
        (*record).truncated = (*unwound).truncated;
        write_volatile(addr_of_mut!((*record).checks), 0);
        write_volatile(addr_of_mut!((*record).ambiguous), 0);
        write_volatile(addr_of_mut!((*record).hash), (*unwound).hash);
    }
    1
}

/// Narrows down at which slots of the stack the path's addresses lie; once all are known the path can be remembered.
///
/// An address below the argument block is never found, so neither is a path with the tracer's own frames.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn locate(cpu: u32, index: u32) -> u32 {
    let Some(state) = CPUS.get_ptr_mut(cpu) else { return 0 };
    let Some(stack) = STACKS.get_ptr_mut(cpu) else { return 0 };
    // SAFETY: all through pointers into map values.
    unsafe {
        let unwound = addr_of_mut!((*state).unwound);
        write_volatile(addr_of_mut!((*unwound).words), read_stack(stack.cast(), (*state).arguments));
        write_volatile(addr_of_mut!((*unwound).cursor), (*unwound).first);
    }
    let mut found = 0;
    for chunk in 0..CHUNKS {
        found = search_outwards(cpu, chunk);
        if found != 0 {
            break;
        }
    }
    if found == 0 {
        return 0;
    }
    for chunk in 0..CHUNKS {
        found = search_inwards(cpu, CHUNKS - 1 - chunk);
        if found != 0 {
            break;
        }
    }
    if found == 0 {
        return 0;
    }
    tighten(cpu, index);
    // SAFETY: through a pointer into a map value.
    unsafe { write_volatile(addr_of_mut!((*state).unwound.cursor), 0) };
    for chunk in 0..CHUNKS {
        if search_between(cpu, index, chunk) == 0 {
            return 0;
        }
    }
    settle(cpu, index)
}

/// Finds in a chunk of the stack each address at the first slot where it can lie; 1 once all were found.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn search_outwards(cpu: u32, chunk: u32) -> u32 {
    let Some(state) = CPUS.get_ptr_mut(cpu) else { return 0 };
    let Some(stack) = STACKS.get_ptr_mut(cpu) else { return 0 };
    // SAFETY: all through pointers into map values, indices masked. What a loop compares is read anew each time, so
    // that the verifier learns nothing from a comparison and sees the same state in every round.
    unsafe {
        let unwound = addr_of_mut!((*state).unwound);
        for i in 0..CHUNK {
            let slot = slot(chunk, i);
            let at = read_volatile(addr_of!((*unwound).cursor));
            if at >= read_volatile(addr_of!((*unwound).compared_end))
                || slot as u32 >= read_volatile(addr_of!((*unwound).words))
            {
                break;
            }
            let address = read_volatile(addr_of!((*unwound).addresses[(at & ADDRESS) as usize]));
            if read_volatile(addr_of!((*stack)[slot])) == address {
                let first = read_volatile(addr_of!((*unwound).first));
                write_volatile(addr_of_mut!((*unwound).low[(at.wrapping_sub(first) & FRAME) as usize]), slot as u16);
                write_volatile(addr_of_mut!((*unwound).cursor), at + 1);
            }
        }
        let at = read_volatile(addr_of!((*unwound).cursor));
        u32::from(at == read_volatile(addr_of!((*unwound).compared_end)))
    }
}

/// The slot at a place in a chunk, below `WINDOW` for the verifier.
#[inline(always)]
fn slot(chunk: u32, i: usize) -> usize {
    (chunk as usize * CHUNK + i) & (WINDOW - 1)
}

/// Finds in a chunk each address at the last slot where it can lie, given that all can be found; 1 once all were.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn search_inwards(cpu: u32, chunk: u32) -> u32 {
    let Some(state) = CPUS.get_ptr_mut(cpu) else { return 0 };
    let Some(stack) = STACKS.get_ptr_mut(cpu) else { return 0 };
    // SAFETY: as above.
    unsafe {
        let unwound = addr_of_mut!((*state).unwound);
        for i in 0..CHUNK {
            let slot = slot(chunk, CHUNK - 1 - i);
            let at = read_volatile(addr_of!((*unwound).cursor));
            if at <= read_volatile(addr_of!((*unwound).first)) {
                break;
            }
            if slot as u32 >= read_volatile(addr_of!((*unwound).words)) {
                continue;
            }
            let before = at.wrapping_sub(1);
            let address = read_volatile(addr_of!((*unwound).addresses[(before & ADDRESS) as usize]));
            if read_volatile(addr_of!((*stack)[slot])) == address {
                let first = read_volatile(addr_of!((*unwound).first));
                write_volatile(
                    addr_of_mut!((*unwound).high[(before.wrapping_sub(first) & FRAME) as usize]),
                    slot as u16,
                );
                write_volatile(addr_of_mut!((*unwound).cursor), before);
            }
        }
        let at = read_volatile(addr_of!((*unwound).cursor));
        u32::from(at == read_volatile(addr_of!((*unwound).first)))
    }
}

/// Brings the bounds of the slots together with those just found. Two CPUs may do this at once: each bound that is
/// written holds, only a tighter one may be forgotten.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn tighten(cpu: u32, index: u32) -> u32 {
    let Some(state) = CPUS.get_ptr_mut(cpu) else { return 0 };
    let Some(record) = PATHS.get_ptr_mut(index) else { return 0 };
    // SAFETY: all through pointers into map values.
    unsafe {
        let unwound = addr_of_mut!((*state).unwound);
        let compared = read_volatile(addr_of!((*unwound).compared_end)) - read_volatile(addr_of!((*unwound).first));
        for i in 0..FRAMES {
            if i as u32 >= compared {
                break;
            }
            let low = read_volatile(addr_of!((*record).low[i])).max(read_volatile(addr_of!((*unwound).low[i])));
            let high = read_volatile(addr_of!((*record).high[i])).min(read_volatile(addr_of!((*unwound).high[i])));
            write_volatile(addr_of_mut!((*record).low[i]), low);
            write_volatile(addr_of_mut!((*record).high[i]), high);
        }
    }
    1
}

/// Whether the bounds leave two slots at most for each address: 1 when in this chunk no third one between them holds
/// it, too, and no two addresses share a range.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn search_between(cpu: u32, index: u32, chunk: u32) -> u32 {
    let Some(state) = CPUS.get_ptr_mut(cpu) else { return 0 };
    let Some(stack) = STACKS.get_ptr_mut(cpu) else { return 0 };
    let Some(record) = PATHS.get_ptr_mut(index) else { return 0 };
    // SAFETY: as above.
    unsafe {
        let unwound = addr_of_mut!((*state).unwound);
        for i in 0..CHUNK {
            let slot = slot(chunk, i);
            let first = read_volatile(addr_of!((*unwound).first));
            let at = read_volatile(addr_of!((*unwound).cursor));
            if first.wrapping_add(at) >= read_volatile(addr_of!((*unwound).compared_end)) {
                break;
            }
            let frame = (at & FRAME) as usize;
            let low = u32::from(read_volatile(addr_of!((*record).low[frame])));
            let high = u32::from(read_volatile(addr_of!((*record).high[frame])));
            if slot as u32 > high {
                // The range before reaches into this one.
                return 0;
            }
            if slot as u32 == high {
                write_volatile(addr_of_mut!((*unwound).cursor), at + 1);
            } else if slot as u32 > low
                && read_volatile(addr_of!((*stack)[slot])) == read_volatile(addr_of!((*record).addresses[frame]))
            {
                return 0;
            }
        }
    }
    1
}

/// Notes which slots a hit compares: from now on the path can be remembered.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn settle(cpu: u32, index: u32) -> u32 {
    let Some(state) = CPUS.get_ptr_mut(cpu) else { return 0 };
    let Some(record) = PATHS.get_ptr_mut(index) else { return 0 };
    // SAFETY: as above. A hit on another CPU may see part of the old and part of the new slots: each of them alone
    // is one at which the address lay whenever the path was met.
    unsafe {
        let unwound = addr_of_mut!((*state).unwound);
        let compared = read_volatile(addr_of!((*unwound).compared_end)) - read_volatile(addr_of!((*unwound).first));
        write_volatile(addr_of_mut!((*unwound).cursor), 0);
        for i in 0..FRAMES {
            if i as u32 >= compared {
                break;
            }
            let address = read_volatile(addr_of!((*record).addresses[i]));
            let low = read_volatile(addr_of!((*record).low[i]));
            let high = read_volatile(addr_of!((*record).high[i]));
            if note(unwound, record, low, address) == 0 || (high != low && note(unwound, record, high, address) == 0) {
                return 0;
            }
            write_volatile(addr_of_mut!((*record).words), u32::from(high) + 1);
        }
        let checks = read_volatile(addr_of!((*unwound).cursor));
        write_volatile(addr_of_mut!((*record).ambiguous), u32::from(checks != compared));
        write_volatile(addr_of_mut!((*record).checks), checks);
    }
    1
}

/// Adds one slot to those compared; 0 when there are too many.
#[inline(always)]
unsafe fn note(unwound: *mut Unwound, record: *mut PathRecord, slot: u16, address: u64) -> u32 {
    // SAFETY: both point into map values; the index is compared with the length.
    unsafe {
        let at = read_volatile(addr_of!((*unwound).cursor)) as usize;
        if at >= CHECKS {
            return 0;
        }
        write_volatile(addr_of_mut!((*record).slots[at]), slot);
        write_volatile(addr_of_mut!((*record).expected[at]), address);
        write_volatile(addr_of_mut!((*unwound).cursor), at as u32 + 1);
    }
    1
}

/// Reads the stack above the argument block, up to its end or [`WINDOW`]; the words read. Interrupt stacks are not
/// aligned to their size, so their end is found by trying.
#[inline(always)]
unsafe fn read_stack(to: *mut u64, arguments: u64) -> u32 {
    let stack_bytes = u64::from(config!(stack_bytes));
    let left = ((stack_bytes - (arguments & (stack_bytes - 1))) / 8) as u32;
    let mut words = left.min(WINDOW as u32);
    for _ in 0..6 {
        // SAFETY: `to` has `WINDOW` words.
        if unsafe { word::copy(to, words.min(WINDOW as u32) * 8, arguments) } {
            return words;
        }
        words /= 2;
    }
    0
}

/// The stack pointer that stands for this event, also written where the slow path finds it: `skipped` words above the
/// argument block's begin, where some argument is itself an address of the path.
#[inline(always)]
pub(crate) unsafe fn arguments(state: *mut CpuState, ctx: *mut c_void, skipped: u64) -> u64 {
    // SAFETY: writing a pointer to a map and reading it back makes a number of it (allowed with CAP_PERFMON).
    unsafe {
        write_volatile(addr_of_mut!((*state).arguments), ctx as u64);
        let mut arguments = read_volatile(addr_of!((*state).arguments));
        if skipped > 0 {
            arguments += skipped * 8;
            write_volatile(addr_of_mut!((*state).arguments), arguments);
        }
        arguments
    }
}
