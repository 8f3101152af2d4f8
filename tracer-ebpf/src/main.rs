//! The kernel side: one program a hook, each named as the kernel names the hook. Filter, read, count, return.
//!
//! Owns: what is done at an event. Must not know: how numbers are shown.
#![no_std]
#![no_main]
#![allow(
    clippy::inline_always,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::needless_range_loop,
    clippy::needless_pass_by_value,
    reason = "hot paths must not become calls, flags and counts are bit patterns, indices are what the verifier follows"
)]

mod bulk;
mod event;
mod filter;
mod kmalloc;
mod loss;
mod maps;
mod page;
mod path;
mod reclaim;
mod settings;
mod sock;
mod socket;
mod start;
mod tally;
mod user;
mod word;

use aya_ebpf::{macros::raw_tracepoint, programs::RawTracePointContext};
use tracer_common::page::ORDERS;

/// Every page allocation and failed attempt.
#[raw_tracepoint(tracepoint = "mm_page_alloc")]
fn mm_page_alloc(ctx: RawTracePointContext) -> i32 {
    page::allocated(&ctx);
    0
}

/// Pages taken under the zone lock: `(struct page *page, unsigned int order, int migratetype[, int percpu_refill])`.
#[raw_tracepoint(tracepoint = "mm_page_alloc_zone_locked")]
fn mm_page_alloc_zone_locked(ctx: RawTracePointContext) -> i32 {
    let order: u32 = ctx.arg(1);
    if order as usize >= ORDERS || !counts(order) {
        return 0;
    }
    let migratetype = page::migratetype(ctx.arg(2));
    let refill = if settings::config!(refill_argument) != 0 { ctx.arg::<i32>(3) != 0 } else { order == 0 };
    let Some((_, state)) = page::state() else { return 0 };
    // SAFETY: `state` points into a map value, both indices are bounded above.
    unsafe {
        if refill {
            (*state).pages.refilled[order as usize & (ORDERS - 1)][migratetype] += 1;
        } else {
            (*state).pages.direct[order as usize & (ORDERS - 1)][migratetype] += 1;
        }
    }
    0
}

/// Pages given back from a per-CPU list to the zone: `(struct page *page, unsigned int order, int migratetype)`.
#[raw_tracepoint(tracepoint = "mm_page_pcpu_drain")]
fn mm_page_pcpu_drain(ctx: RawTracePointContext) -> i32 {
    let order: u32 = ctx.arg(1);
    if order as usize >= ORDERS || !counts(order) {
        return 0;
    }
    let migratetype = page::migratetype(ctx.arg(2));
    let Some((_, state)) = page::state() else { return 0 };
    // SAFETY: as above.
    unsafe { (*state).pages.drained[order as usize & (ORDERS - 1)][migratetype] += 1 };
    0
}

/// Frees: `(struct page *page, unsigned int order)`. As many events again as allocations, so only on request.
#[raw_tracepoint(tracepoint = "mm_page_free")]
fn mm_page_free(ctx: RawTracePointContext) -> i32 {
    let order: u32 = ctx.arg(1);
    if order as usize >= ORDERS || !counts(order) {
        return 0;
    }
    let Some((_, state)) = page::state() else { return 0 };
    // SAFETY: as above.
    unsafe { (*state).pages.freed[order as usize & (ORDERS - 1)] += 1 };
    0
}

/// The filters that apply where gfp flags are not known.
#[inline(always)]
fn counts(order: u32) -> bool {
    (settings::config!(min_order) == 0 || order >= settings::config!(min_order)) && filter::task_counts()
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// The licence that lets the programs call GPL-only helpers.
#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
