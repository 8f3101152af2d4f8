//! Programs that only measure: an empty one to compare with, and the product's own counting fed with synthetic keys.
//!
//! Owns: the loops around the engine and what feeds them. The engine is the product's, compiled in from the same
//! files; this object is never loaded by the product.
#![no_std]
#![no_main]
#![allow(
    clippy::inline_always,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::needless_range_loop,
    clippy::needless_pass_by_value,
    reason = "as in the product's object, whose files are compiled in here"
)]
#![allow(dead_code, reason = "the product's other programs are not here")]

#[path = "../event.rs"]
mod event;
#[path = "../filter.rs"]
mod filter;
#[path = "../loss.rs"]
mod loss;
#[path = "../maps.rs"]
mod maps;
#[path = "../page.rs"]
mod page;
#[path = "../path.rs"]
mod path;
#[path = "../settings.rs"]
mod settings;
#[path = "../user.rs"]
mod user;
#[path = "../word.rs"]
mod word;

use core::{
    ffi::c_void,
    ptr::{addr_of, addr_of_mut, read_volatile, write_volatile},
};

use aya_ebpf::{
    EbpfContext as _,
    helpers::{bpf_ktime_get_ns, generated::bpf_loop},
    macros::{map, raw_tracepoint},
    maps::Array,
    programs::RawTracePointContext,
};

/// Synthetic events of one round, a power of two.
const EVENTS: u32 = 16_384;
/// Words of the synthetic stack: the window, and room for 64 depths, 16 bytes apart, below it.
const STACK_WORDS: usize = 2048;

/// Key: n. Value: an event: its key without the depth, and its path's index with the depth (in steps of 16 bytes)
/// in bits 32 to 37. Written by user space.
#[map]
static SEQUENCE: Array<[u64; 2]> = Array::with_max_entries(EVENTS, 0);

/// Key: 0. Value: what the remembered paths are compared with. Written by user space.
#[map]
static SYNTHETIC_STACK: Array<[u64; STACK_WORDS]> = Array::with_max_entries(1, 0);

/// Key: 0. Value: ns that the last loop took.
#[map]
static TOOK: Array<u64> = Array::with_max_entries(1, 0);

/// Does nothing: the least that a program on this hook can cost.
#[raw_tracepoint(tracepoint = "mm_page_alloc")]
fn empty(_ctx: RawTracePointContext) -> i32 {
    0
}

/// Remembers every key of the sequence on this CPU, as a first meeting would.
#[raw_tracepoint]
fn remember_all(ctx: RawTracePointContext) -> i32 {
    run(&ctx, remember_one)
}

/// Counts every event of the sequence on this CPU.
#[raw_tracepoint]
fn count_all(ctx: RawTracePointContext) -> i32 {
    run(&ctx, count_one)
}

/// The loop alone, to be subtracted.
#[raw_tracepoint]
fn loop_alone(ctx: RawTracePointContext) -> i32 {
    run(&ctx, read_one)
}

/// What a loop's body gets.
#[repr(C)]
struct Shared {
    ctx: *mut c_void,
    stack: *mut [u64; STACK_WORDS],
    /// Keeps what is read from being dropped.
    sum: u64,
}

type Body = unsafe extern "C" fn(u64, *mut Shared) -> i64;

#[inline(always)]
fn run(ctx: &RawTracePointContext, body: Body) -> i32 {
    let Some(stack) = SYNTHETIC_STACK.get_ptr_mut(0) else { return 1 };
    let Some(took) = TOOK.get_ptr_mut(0) else { return 1 };
    let mut shared = Shared { ctx: ctx.as_ptr(), stack, sum: 0 };
    // SAFETY: helpers; `body` gets `shared`, which lives until the loop has ended.
    unsafe {
        let start = bpf_ktime_get_ns();
        let rounds = bpf_loop(EVENTS, body as *mut c_void, addr_of_mut!(shared).cast(), 0);
        *took = bpf_ktime_get_ns() - start;
        i32::from(rounds != i64::from(EVENTS))
    }
}

/// An event: its key, its path's index, and where its stack begins.
#[inline(always)]
unsafe fn nth_event(n: u64, shared: *mut Shared) -> Option<(u64, u32, u64)> {
    let event = SEQUENCE.get_ptr((n as u32) & (EVENTS - 1))?;
    // SAFETY: `event` points into a map value and `shared` is what `run` has made.
    unsafe {
        let key = read_volatile(addr_of!((*event)[0]));
        let place = read_volatile(addr_of!((*event)[1]));
        let stack = read_volatile(addr_of!((*shared).stack));
        let (_, state) = page::state()?;
        // As in `path::arguments`: a pointer written to a map and read back is a number.
        write_volatile(addr_of_mut!((*state).arguments), stack as u64);
        let arguments = read_volatile(addr_of!((*state).arguments)) + (place >> 32 & 63) * 16;
        Some((page::with_depth(key, arguments), place as u32, arguments))
    }
}

unsafe extern "C" fn remember_one(n: u64, shared: *mut Shared) -> i64 {
    // SAFETY: `run` passes what it has made.
    let Some((key, path, _)) = (unsafe { nth_event(n, shared) }) else { return 1 };
    let Some((cpu, _)) = page::state() else { return 1 };
    let number = page::counter(cpu, path, key, 0, 0);
    if number != tracer_common::path::NO_PATH {
        page::remember(cpu, key, path, number);
    }
    0
}

unsafe extern "C" fn count_one(n: u64, shared: *mut Shared) -> i64 {
    // SAFETY: `run` passes what it has made.
    let Some((key, _, arguments)) = (unsafe { nth_event(n, shared) }) else { return 1 };
    let Some((cpu, state)) = page::state() else { return 1 };
    // SAFETY: as the product calls it, but for the place of the stack.
    unsafe { page::count((*shared).ctx, cpu, state, arguments, key) };
    0
}

unsafe extern "C" fn read_one(n: u64, shared: *mut Shared) -> i64 {
    // SAFETY: `run` passes what it has made.
    unsafe {
        let Some((key, path, arguments)) = nth_event(n, shared) else { return 1 };
        (*shared).sum ^= key ^ u64::from(path) ^ arguments;
    }
    0
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// The licence that lets the programs call GPL-only helpers.
#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
