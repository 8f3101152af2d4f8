//! Bulk allocations: order-0 pages straight from the per-CPU lists, for which `mm_page_alloc` does not fire.

use core::ptr::{addr_of, read_volatile};

use aya_ebpf::{
    EbpfContext as _,
    macros::{fentry, fexit},
    programs::{FEntryContext, FExitContext},
};
use tracer_common::{config::facts, tally::Kind};

use crate::{
    page,
    settings::config,
    start::{self, What},
    tally, word,
};

/// Places of the array looked at for pages that are there already; callers ask for less.
const PLACES: usize = 256;

/// `(gfp, preferred_nid, nodemask, nr_pages[, page_list], page_array)`: notes how many pages the array holds already
/// (they are counted in the result) and how many order-0 allocations this CPU has seen.
#[fentry]
fn bulk_entered(ctx: FEntryContext) -> i32 {
    let [_, _, _, wanted, fifth, sixth] = word::arguments(ctx.as_ptr());
    let array = if config!(facts) & facts::BULK_PAGE_LIST != 0 { sixth } else { fifth };
    let wanted = wanted & 0xffff_ffff;
    let mut there = 0;
    for i in 0..PLACES {
        if i as u64 >= wanted {
            break;
        }
        if word::u64_at(array, i as u32 * 8) != 0 {
            there += 1;
        }
    }
    start::note(What::Bulk, there & 0xffff | seen() << 16);
    0
}

/// ... has returned the number of pages in the array.
#[fexit]
fn bulk_returned(ctx: FExitContext) -> i32 {
    let arguments: [u64; 7] = word::arguments(ctx.as_ptr());
    let returned = if config!(facts) & facts::BULK_PAGE_LIST != 0 { arguments[6] } else { arguments[5] };
    let Some((_, noted)) = start::ended(What::Bulk) else { return 0 };
    // Where the list gives nothing, one page comes from the ordinary allocator, and that one was seen.
    let ordinary = (seen().wrapping_sub(noted >> 16) & 0xffff_ffff_ffff).min(1);
    let pages = (returned & 0xffff_ffff).saturating_sub((noted & 0xffff) + ordinary);
    if pages > 0 {
        tally::add(ctx.as_ptr(), Kind::Bulk, 0, [pages, 0, 0]);
    }
    0
}

/// Order-0 allocations seen on this CPU, 48 bits of them.
#[inline(always)]
fn seen() -> u64 {
    let Some((_, state)) = page::state() else { return 0 };
    // SAFETY: `state` points into a map value.
    unsafe { read_volatile(addr_of!((*state).pages.allocated[0])) & 0xffff_ffff_ffff }
}
