//! Direct reclaim, compaction and fallbacks to another migrate type.

use core::ffi::c_void;

use aya_ebpf::{
    EbpfContext as _,
    macros::{fentry, fexit, raw_tracepoint},
    programs::{FEntryContext, FExitContext, RawTracePointContext},
};
use tracer_common::{config::facts, histogram::place, tally::Kind};

use crate::{
    settings::config,
    start::{self, What},
    tally, word,
};

/// Stands for an order that is not known.
const UNKNOWN: u64 = 16;

/// `(int order, gfp_t gfp_flags)`, since 7.2 `(gfp_t gfp_flags, int order, struct mem_cgroup *memcg)`.
#[raw_tracepoint(tracepoint = "mm_vmscan_direct_reclaim_begin")]
fn mm_vmscan_direct_reclaim_begin(ctx: RawTracePointContext) -> i32 {
    let [first, second] = [0, 1].map(|n| word::argument(ctx.as_ptr(), n));
    let order = if config!(facts) & facts::RECLAIM_GFP_FIRST != 0 { second } else { first };
    start::note(What::Reclaim, order & 0xf);
    0
}

/// `(unsigned long nr_reclaimed)`
#[raw_tracepoint(tracepoint = "mm_vmscan_direct_reclaim_end")]
fn mm_vmscan_direct_reclaim_end(ctx: RawTracePointContext) -> i32 {
    let Some((ns, order)) = start::ended(What::Reclaim) else { return 0 };
    if tally::add(ctx.as_ptr(), Kind::Reclaim, order, [ns, ctx.arg(0), 0]) {
        tally::distribute(place::RECLAIM, ns);
    }
    0
}

/// `try_to_compact_pages(gfp_t gfp_mask, unsigned int order, ...)`: direct compaction, all zones.
#[fentry]
fn compaction_entered(ctx: FEntryContext) -> i32 {
    let [_, order] = word::arguments(ctx.as_ptr());
    start::note(What::Compaction, order & 0xf);
    0
}

/// ... has returned.
#[fexit]
fn compaction_returned(ctx: FExitContext) -> i32 {
    compaction_ended(ctx.as_ptr());
    0
}

/// `(int order, gfp_t gfp_mask, int prio)`: a task is about to compact zones for a block of this order.
#[raw_tracepoint(tracepoint = "mm_compaction_try_to_compact_pages")]
fn mm_compaction_try_to_compact_pages(ctx: RawTracePointContext) -> i32 {
    start::note(What::WantsCompaction, ctx.arg::<u64>(0) & 0xf);
    0
}

/// A zone is being compacted, by such a task or in the background.
#[raw_tracepoint(tracepoint = "mm_compaction_begin")]
fn mm_compaction_begin(_: RawTracePointContext) -> i32 {
    start::note(What::Compaction, start::detail(What::WantsCompaction).unwrap_or(UNKNOWN));
    0
}

/// ... and is done.
#[raw_tracepoint(tracepoint = "mm_compaction_end")]
fn mm_compaction_end(ctx: RawTracePointContext) -> i32 {
    compaction_ended(ctx.as_ptr());
    0
}

#[inline(always)]
fn compaction_ended(ctx: *mut c_void) {
    let Some((ns, order)) = start::ended(What::Compaction) else { return };
    if tally::add(ctx, Kind::Compaction, order, [ns, 0, 0]) {
        tally::distribute(place::COMPACTION, ns);
    }
}

/// `(struct page *page, int alloc_order, int fallback_order, int alloc_migratetype, int fallback_migratetype)`
#[raw_tracepoint(tracepoint = "mm_page_alloc_extfrag")]
fn mm_page_alloc_extfrag(ctx: RawTracePointContext) -> i32 {
    let [wanted, taken, wanted_type, taken_type] = [1, 2, 3, 4].map(|n| ctx.arg::<u64>(n) & 0xf);
    let detail = wanted | taken << 4 | wanted_type << 8 | taken_type << 12;
    tally::add(ctx.as_ptr(), Kind::Fragment, detail, [0; 3]);
    0
}
