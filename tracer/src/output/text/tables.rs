//! The tables of page allocations: orders, routes, contexts, flags, owners, and the free blocks around them.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Options,
    sheet::{Column, Sheet, Tone},
};
use crate::{
    output::Weight,
    snapshot::{OrderRow, OwnerName, Pages, Snapshot, sum},
    units,
};

/// What was allocated altogether, per second and per unit of work.
pub(super) fn summary(snapshot: &Snapshot, pages: &Pages, sheet: &mut Sheet) {
    sheet.heading("pages", "");
    let failed = match pages.failed {
        0 => "none failed".to_owned(),
        failed => format!("{} failed", units::count(failed)),
    };
    sheet.line(&format!(
        "{} allocations, {} pages, {}, {failed}",
        units::count(pages.events),
        units::count(pages.pages),
        units::bytes(pages.bytes)
    ));
    let seconds = snapshot.window.duration_s;
    let per_second =
        format!("allocations {}, pages {}", units::rate(pages.events, seconds), units::rate(pages.pages, seconds));
    let per_unit = pages.per_unit.as_ref().map_or_else(String::new, |per| {
        let (events, pages) = (units::decimal(per.events), units::decimal(per.pages));
        format!("; a {}: {events} allocations, {pages} pages", per.unit)
    });
    sheet.line(&(per_second + &per_unit));
}

/// Orders with bars.
pub(super) fn orders(snapshot: &Snapshot, pages: &Pages, options: &Options, sheet: &mut Sheet) {
    sheet.heading("orders", &format!("share of {}", options.weight.name()));
    let freed = pages.by_order.iter().any(|row| row.freed.is_some());
    let mut columns = vec![
        Column::Right("order"),
        Column::Right("allocs"),
        Column::Right("pages"),
        Column::Right("bytes"),
        Column::Right("failed"),
        Column::Right("zone lock"),
        Column::Right("drained"),
    ];
    columns.extend(freed.then_some(Column::Right("freed")));
    columns.push(Column::Right("share"));
    let page_size = snapshot.host.page_size;
    let weight = |row: &OrderRow| options.weight.of(row.order, row.events, page_size);
    let parts: Vec<u64> = pages.by_order.iter().map(weight).collect();
    let whole = sum(parts.iter().copied());
    let rows = |count: fn(u64) -> String, sheet: &Sheet| -> Vec<Vec<String>> {
        let optional = |number: Option<u64>| number.map_or_else(|| units::NOT_MEASURED.to_owned(), count);
        pages
            .by_order
            .iter()
            .zip(&parts)
            .map(|(row, &part)| {
                let failed = count(row.failed);
                let mut cells = vec![
                    row.order.to_string(),
                    count(row.events),
                    count(row.pages),
                    units::bytes(row.bytes),
                    if row.failed > 0 { sheet.paint(Tone::Bad, &failed) } else { failed },
                    optional(row.zone_locked),
                    optional(row.drained),
                ];
                cells.extend(freed.then(|| optional(row.freed)));
                cells.push(units::percent(part, whole));
                cells
            })
            .collect()
    };
    // All digits where there is room for them and a bar.
    let fits = sheet.table_width(&columns, rows(units::count, sheet)) + 8 <= sheet.width();
    let rows = rows(if fits { units::count } else { units::short_count }, sheet);
    sheet.table_with_bars(&columns, rows, &parts, whole);
    zone_lock(pages, sheet);
}

/// How much bypassed the per-CPU lists or filled them.
fn zone_lock(pages: &Pages, sheet: &mut Sheet) {
    let Some(locked) = pages.zone_locked else { return };
    let refilled = sum(pages.by_order.iter().filter_map(|row| row.zone_refilled));
    sheet.line(&format!(
        "zone lock: {} blocks, {} of them to refill per-CPU lists (one event a block), {} allocated directly",
        units::count(locked),
        units::count(refilled),
        units::count(locked.saturating_sub(refilled))
    ));
}

/// By what route allocations came to the page allocator.
pub(super) fn routes(snapshot: &Snapshot, pages: &Pages, options: &Options, sheet: &mut Sheet) {
    if pages.by_route.is_empty() {
        return;
    }
    sheet.heading("routes", &format!("share of all {}", options.weight.name()));
    let page_size = snapshot.host.page_size;
    let whole = whole(pages, options.weight);
    let (rows, parts): (Vec<Vec<String>>, Vec<u64>) = pages
        .by_route
        .iter()
        .map(|row| {
            let part = options.weight.of_all(&row.by_order, page_size);
            let cells = vec![
                sheet.name(&row.route),
                units::count(row.events),
                units::count(row.pages),
                orders_in_words(&row.by_order),
                units::percent(part, whole),
            ];
            (cells, part)
        })
        .unzip();
    let columns = [
        Column::Left("route"),
        Column::Right("allocations"),
        Column::Right("pages"),
        Column::Left("mostly of order"),
        Column::Right("share"),
    ];
    sheet.table_with_bars(&columns, rows, &parts, whole);
}

/// In which context allocations happened.
pub(super) fn contexts(pages: &Pages, options: &Options, sheet: &mut Sheet) {
    if pages.by_context.is_empty() {
        return;
    }
    sheet.heading("contexts", &format!("share of all {}", options.weight.name()));
    let whole = whole(pages, if options.weight == Weight::Events { Weight::Events } else { Weight::Pages });
    let (rows, parts): (Vec<Vec<String>>, Vec<u64>) = pages
        .by_context
        .iter()
        .map(|row| {
            let part = if options.weight == Weight::Events { row.events } else { row.pages };
            let cells = vec![
                sheet.name(&row.context),
                units::count(row.events),
                units::count(row.pages),
                units::percent(part, whole),
            ];
            (cells, part)
        })
        .unzip();
    let columns =
        [Column::Left("context"), Column::Right("allocations"), Column::Right("pages"), Column::Right("share")];
    sheet.table_with_bars(&columns, rows, &parts, whole);
}

/// Flags and migrate types.
pub(super) fn flags(pages: &Pages, options: &Options, sheet: &mut Sheet) {
    if pages.by_gfp.is_empty() {
        return;
    }
    sheet.heading("flags", "share of allocations");
    let rows = pages
        .by_gfp
        .iter()
        .take(options.top)
        .map(|row| {
            vec![
                units::count(row.events),
                units::percent(row.events, pages.events),
                sheet.clean(&row.gfp),
                sheet.clean(&row.flags),
            ]
        })
        .collect();
    sheet.table(
        &[Column::Right("allocations"), Column::Right("share"), Column::Left("gfp"), Column::Left("flags")],
        rows,
    );
    more(pages.by_gfp.len(), options.top, "combinations of flags", sheet);
    let types: Vec<String> = pages
        .by_migratetype
        .iter()
        .map(|row| format!("{} {}", row.migratetype, units::percent(row.events, pages.events)))
        .collect();
    sheet.line(&format!("migrate types: {}", types.join(", ")));
}

/// Whose allocations they were.
pub(super) fn owners(snapshot: &Snapshot, pages: &Pages, options: &Options, sheet: &mut Sheet) {
    let title = match pages.by_owner.first().map(|row| &row.owner) {
        None => return,
        Some(OwnerName::Comm(_)) => "process name",
        Some(OwnerName::Pid(_)) => "pid",
        Some(OwnerName::Cgroup(_)) => "cgroup",
    };
    sheet.heading("owners", &format!("share of all {}", options.weight.name()));
    let page_size = snapshot.host.page_size;
    let whole = whole(pages, options.weight);
    let (rows, parts): (Vec<Vec<String>>, Vec<u64>) = pages
        .by_owner
        .iter()
        .take(options.top)
        .map(|row| {
            let part = options.weight.of_all(&row.by_order, page_size);
            let name = match &row.owner {
                OwnerName::Comm(name) | OwnerName::Cgroup(name) => sheet.name(name),
                OwnerName::Pid(pid) => pid.to_string(),
            };
            let cells = vec![
                if name.is_empty() { "(no name)".to_owned() } else { name },
                units::count(row.events),
                units::count(row.pages),
                orders_in_words(&row.by_order),
                units::percent(part, whole),
            ];
            (cells, part)
        })
        .unzip();
    let columns = [
        Column::Left(title),
        Column::Right("allocations"),
        Column::Right("pages"),
        Column::Left("mostly of order"),
        Column::Right("share"),
    ];
    sheet.table_with_bars(&columns, rows, &parts, whole);
    more(pages.by_owner.len(), options.top, "owners", sheet);
}

/// The buddy allocator's free blocks before and after.
pub(super) fn free_blocks(snapshot: &Snapshot, sheet: &mut Sheet) {
    let Some(buddyinfo) = &snapshot.system.buddyinfo else { return };
    sheet.heading("free blocks", "by order from 0 up, before and after (/proc/buddyinfo)");
    let blocks = |blocks: Option<&Vec<u64>>| {
        blocks.map_or_else(
            || units::NOT_MEASURED.to_owned(),
            |blocks| blocks.iter().map(u64::to_string).collect::<Vec<_>>().join(" "),
        )
    };
    let zones: BTreeSet<&String> = buddyinfo.before.keys().chain(buddyinfo.after.keys()).collect();
    for zone in zones {
        sheet.hanging(&format!("{}  before  ", sheet.clean(zone)), &blocks(buddyinfo.before.get(zone)));
        let indent = " ".repeat(zone.chars().count());
        sheet.hanging(&format!("{indent}  after   "), &blocks(buddyinfo.after.get(zone)));
    }
}

/// What all allocations weigh, those without a path among them.
pub(super) fn whole(pages: &Pages, weight: Weight) -> u64 {
    match weight {
        Weight::Events => pages.events,
        Weight::Pages => pages.pages,
        Weight::Bytes => pages.bytes,
    }
}

/// How many were left out.
pub(super) fn more(all: usize, shown: usize, what: &str, sheet: &mut Sheet) {
    if all > shown {
        sheet.line(&format!("not shown: {} more {what}", units::count((all - shown) as u64)));
    }
}

/// The orders that make up most events, most first: `2 (98.1 %), 3 (1.9 %)`.
fn orders_in_words(by_order: &BTreeMap<u8, u64>) -> String {
    const SHOWN: usize = 2;
    let whole = sum(by_order.values().copied());
    let mut orders: Vec<(&u8, &u64)> = by_order.iter().collect();
    orders.sort_by_key(|(_, events)| std::cmp::Reverse(**events));
    let words: Vec<String> = orders
        .iter()
        .take(SHOWN)
        .map(|(order, events)| format!("{order} ({})", units::percent(**events, whole)))
        .collect();
    words.join(", ")
}
