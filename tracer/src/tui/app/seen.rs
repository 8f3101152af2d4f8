//! What is seen of a snapshot: since the counters were zeroed, and with frames left out or merged.
//!
//! Made from whole snapshots, so that every screen and every export sees the same, and its counts close as before.
//! Losses, hooks and verdict stay those of the whole run: they say what to believe.
//! Must not know: how it is drawn.

use std::collections::BTreeMap;

use super::frames;
use crate::{
    model::path_id,
    snapshot::{OrderRow, OwnerName, Pages, PathRow, Snapshot},
};

/// How frames are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Without the innermost frames that are the allocators' own.
    pub no_allocator: bool,
    /// Without `_noprof`, `.isra.0` and the like.
    pub no_variants: bool,
}

/// What was counted since an earlier snapshot of the same run, seen through the same filter.
pub fn since(now: &Snapshot, base: &Snapshot) -> Snapshot {
    let mut seen = now.clone();
    seen.window.duration_s = (now.window.duration_s - base.window.duration_s).max(0.0);
    // The work is that of the whole run.
    if let Some(pages) = &mut seen.pages {
        pages.per_unit = None;
        if let Some(base) = &base.pages {
            subtract(pages, base);
        }
    }
    seen
}

fn subtract(pages: &mut Pages, base: &Pages) {
    for (now, then) in [
        (&mut pages.events, base.events),
        (&mut pages.failed, base.failed),
        (&mut pages.lost, base.lost),
        (&mut pages.pages, base.pages),
        (&mut pages.bytes, base.bytes),
    ] {
        *now = now.saturating_sub(then);
    }
    optional(&mut pages.zone_locked, base.zone_locked);
    optional(&mut pages.drained, base.drained);
    for row in &mut pages.by_order {
        if let Some(then) = base.by_order.iter().find(|then| then.order == row.order) {
            subtract_order(row, then);
        }
    }
    let both = |rows: &mut [(&mut u64, &mut u64)], then: Option<(u64, u64)>| {
        for (events, pages) in rows {
            let (then_events, then_pages) = then.unwrap_or_default();
            **events = events.saturating_sub(then_events);
            **pages = pages.saturating_sub(then_pages);
        }
    };
    for row in &mut pages.by_gfp {
        let then = base.by_gfp.iter().find(|then| then.gfp == row.gfp).map(|it| (it.events, it.pages));
        both(&mut [(&mut row.events, &mut row.pages)], then);
    }
    for row in &mut pages.by_migratetype {
        let then = base.by_migratetype.iter().find(|then| then.migratetype == row.migratetype);
        both(&mut [(&mut row.events, &mut row.pages)], then.map(|it| (it.events, it.pages)));
    }
    for row in &mut pages.by_route {
        if let Some(then) = base.by_route.iter().find(|then| then.route == row.route) {
            both(&mut [(&mut row.events, &mut row.pages)], Some((then.events, then.pages)));
            by_key(&mut row.by_order, &then.by_order);
        }
    }
    for row in &mut pages.by_context {
        let then = base.by_context.iter().find(|then| then.context == row.context).map(|it| (it.events, it.pages));
        both(&mut [(&mut row.events, &mut row.pages)], then);
    }
    for row in &mut pages.by_owner {
        if let Some(then) = base.by_owner.iter().find(|then| then.owner == row.owner) {
            both(&mut [(&mut row.events, &mut row.pages)], Some((then.events, then.pages)));
            by_key(&mut row.by_order, &then.by_order);
        }
    }
    let then: BTreeMap<&str, &PathRow> = base.paths.iter().map(|path| (path.id.as_str(), path)).collect();
    for path in &mut pages.paths {
        if let Some(then) = then.get(path.id.as_str()) {
            subtract_path(path, then);
        }
    }
    pages.by_order.retain(|row| row.events > 0 || row.failed > 0);
    pages.by_gfp.retain(|row| row.events > 0);
    pages.by_migratetype.retain(|row| row.events > 0);
    pages.by_route.retain(|row| row.events > 0);
    pages.by_context.retain(|row| row.events > 0);
    pages.by_owner.retain(|row| row.events > 0);
    pages.paths.retain(|path| path.events > 0 || path.failed > 0);
    rank(pages);
}

fn subtract_order(row: &mut OrderRow, then: &OrderRow) {
    for (now, then) in [
        (&mut row.events, then.events),
        (&mut row.pages, then.pages),
        (&mut row.bytes, then.bytes),
        (&mut row.failed, then.failed),
    ] {
        *now = now.saturating_sub(then);
    }
    optional(&mut row.zone_locked, then.zone_locked);
    optional(&mut row.zone_refilled, then.zone_refilled);
    optional(&mut row.drained, then.drained);
    optional(&mut row.freed, then.freed);
}

fn subtract_path(path: &mut PathRow, then: &PathRow) {
    for (now, then) in [
        (&mut path.events, then.events),
        (&mut path.pages, then.pages),
        (&mut path.bytes, then.bytes),
        (&mut path.failed, then.failed),
    ] {
        *now = now.saturating_sub(then);
    }
    by_key(&mut path.orders, &then.orders);
    by_key(&mut path.failed_orders, &then.failed_orders);
    by_key(&mut path.gfp, &then.gfp);
}

fn optional(now: &mut Option<u64>, then: Option<u64>) {
    if let (Some(now), Some(then)) = (now, then) {
        *now = now.saturating_sub(then);
    }
}

fn by_key<K: Ord>(now: &mut BTreeMap<K, u64>, then: &BTreeMap<K, u64>) {
    for (key, events) in now.iter_mut() {
        *events = events.saturating_sub(then.get(key).copied().unwrap_or(0));
    }
    now.retain(|_, events| *events > 0);
}

/// Most pages first, ties by id, as the report has it.
fn rank(pages: &mut Pages) {
    pages.paths.sort_by(|a, b| b.pages.cmp(&a.pages).then_with(|| a.id.cmp(&b.id)));
    pages.by_gfp.sort_by_key(|row| std::cmp::Reverse(row.events));
    pages.by_migratetype.sort_by_key(|row| std::cmp::Reverse(row.events));
    pages.by_route.sort_by_key(|row| std::cmp::Reverse(row.pages));
    pages.by_context.sort_by_key(|row| std::cmp::Reverse(row.pages));
    pages.by_owner.sort_by(|a, b| b.pages.cmp(&a.pages).then_with(|| name(&a.owner).cmp(&name(&b.owner))));
}

/// The name of an owner.
pub fn name(owner: &OwnerName) -> String {
    match owner {
        OwnerName::Comm(name) | OwnerName::Cgroup(name) => name.clone(),
        OwnerName::Pid(pid) => pid.to_string(),
    }
}

/// The same snapshot with paths in another shape; paths that become alike are one.
pub fn shaped(mut seen: Snapshot, shape: Shape) -> Snapshot {
    let Some(pages) = &mut seen.pages else { return seen };
    if shape == Shape::default() {
        return seen;
    }
    let mut merged: BTreeMap<Vec<String>, PathRow> = BTreeMap::new();
    for path in std::mem::take(&mut pages.paths) {
        let kept = if shape.no_allocator { frames::without_allocator(&path.frames) } else { &path.frames };
        let kept: Vec<String> = kept
            .iter()
            .map(|frame| if shape.no_variants { frames::without_variant(frame) } else { frame.clone() })
            .collect();
        if let Some(row) = merged.get_mut(&kept) {
            add(row, &path);
        } else {
            let row = PathRow { id: path_id(&kept), frames: kept.clone(), ..path };
            merged.insert(kept, row);
        }
    }
    pages.paths = merged.into_values().collect();
    rank(pages);
    seen
}

fn add(row: &mut PathRow, path: &PathRow) {
    for (sum, more) in [
        (&mut row.events, path.events),
        (&mut row.pages, path.pages),
        (&mut row.bytes, path.bytes),
        (&mut row.failed, path.failed),
    ] {
        *sum = sum.saturating_add(more);
    }
    for (sums, more) in [(&mut row.orders, &path.orders), (&mut row.failed_orders, &path.failed_orders)] {
        for (&order, &events) in more {
            let sum = sums.entry(order).or_default();
            *sum = sum.saturating_add(events);
        }
    }
    for (gfp, &events) in &path.gfp {
        let sum = row.gfp.entry(gfp.clone()).or_default();
        *sum = sum.saturating_add(events);
    }
    row.truncated |= path.truncated;
    // Alike without the frames left out, they may have come by different routes.
    if row.route != path.route {
        row.route = None;
    }
    if row.context != path.context {
        row.context = None;
    }
}
