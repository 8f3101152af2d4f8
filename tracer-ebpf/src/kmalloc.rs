//! Large kmalloc: what does not fit the slab caches goes to the page allocator, rounded up to a power of two pages.

use core::ffi::c_void;

use aya_ebpf::{
    EbpfContext as _,
    macros::{fexit, kprobe, raw_tracepoint},
    programs::{FExitContext, ProbeContext, RawTracePointContext},
};
use tracer_common::{
    config::{INNER, facts},
    tally::Kind,
};

use crate::{settings::config, tally, word};

/// Arguments of the tracepoint `kmalloc` at most.
const ARGUMENTS: u64 = 6;

/// The worker, under whatever name: `(size_t size, gfp_t flags, int node)`, and what it returned.
#[fexit]
fn kmalloc_large_returned(ctx: FExitContext) -> i32 {
    let [size, _, _, result] = word::arguments(ctx.as_ptr());
    count(ctx.as_ptr(), size, result == 0);
    0
}

/// The second worker of 5.10, `kmalloc_order(size_t size, gfp_t flags, unsigned int order)`.
#[fexit]
fn kmalloc_order_returned(ctx: FExitContext) -> i32 {
    let [size, _, _, result] = word::arguments(ctx.as_ptr());
    count(ctx.as_ptr(), size, result == 0);
    0
}

/// The worker was entered; what it gives is known by its size, whether it fails is not.
#[kprobe]
fn kmalloc_large_entered(ctx: ProbeContext) -> u32 {
    count(ctx.as_ptr(), ctx.arg(0).unwrap_or(0), false);
    0
}

/// As above, for the second worker of 5.10.
#[kprobe]
fn kmalloc_order_entered(ctx: ProbeContext) -> u32 {
    count(ctx.as_ptr(), ctx.arg(0).unwrap_or(0), false);
    0
}

/// `kmalloc(call_site, ptr[, cache], bytes_req, bytes_alloc, gfp_flags[, node])`, every one of the system.
#[raw_tracepoint(tracepoint = "kmalloc")]
fn kmalloc(ctx: RawTracePointContext) -> i32 {
    traced(&ctx);
    0
}

/// `kmalloc_node` of 5.10, likewise.
#[raw_tracepoint(tracepoint = "kmalloc_node")]
fn kmalloc_node(ctx: RawTracePointContext) -> i32 {
    traced(&ctx);
    0
}

#[inline(always)]
fn traced(ctx: &RawTracePointContext) {
    let [third, fourth] = [2, 3].map(|n| word::argument(ctx.as_ptr(), n));
    let requested = if config!(facts) & facts::KMALLOC_CACHE_ARGUMENT != 0 { fourth } else { third };
    if requested <= u64::from(config!(kmalloc_cache_max)) {
        return;
    }
    let (call_site, pointer): (u64, u64) = (ctx.arg(0), ctx.arg(1));
    // Since 6.12 the worker's caller inside of the slab code tells of an allocation, and then its own caller again.
    for i in 0..INNER {
        if call_site >= config!(kmalloc_inner[i][0]) && call_site < config!(kmalloc_inner[i][1]) {
            return;
        }
    }
    // The call site is an argument and a frame: looked for from above the arguments on.
    count_above(ctx.as_ptr(), ARGUMENTS, requested, pointer == 0);
}

#[inline(always)]
fn count(ctx: *mut c_void, size: u64, failed: bool) {
    count_above(ctx, 0, size, failed);
}

#[inline(always)]
fn count_above(ctx: *mut c_void, skipped: u64, size: u64, failed: bool) {
    let page = 1_u64 << config!(page_shift);
    let mut order = 0;
    let mut given = page;
    for _ in 0..15 {
        if given >= size {
            break;
        }
        given <<= 1;
        order += 1;
    }
    let given = if failed { 0 } else { given };
    tally::add_above(ctx, skipped, Kind::KmallocLarge, order | u64::from(failed) << 4, [size, given, 0]);
}
