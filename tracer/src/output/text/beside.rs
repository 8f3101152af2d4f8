//! What is measured beside page allocations: large kmalloc, bulk, fragmentation, reclaim, compaction, socket memory.

use super::{
    Options,
    sheet::{Column, Sheet, TIE, Tone},
    tables,
};
use crate::{
    snapshot::{
        Snapshot,
        beside::{BesidePath, Histogram, ProtocolRow, SocketRow, Sockets},
        sum,
    },
    units,
};

/// Paths shown of each section at most: the page paths are the report's main part.
const PATHS: usize = 3;
/// From this width on a socket's send queue is shown as well.
const WIDE: usize = 100;
/// Functions shown of such a path.
const FRAMES: usize = 6;

/// Writes every section that has something to say.
pub(super) fn write(snapshot: &Snapshot, options: &Options, sheet: &mut Sheet) {
    kmalloc(snapshot, sheet);
    bulk(snapshot, sheet);
    fragmentation(snapshot, options, sheet);
    reclaim(snapshot, sheet);
    if let Some(sockets) = &snapshot.sockets {
        self::sockets(sockets, options, sheet);
    }
}

fn kmalloc(snapshot: &Snapshot, sheet: &mut Sheet) {
    let Some(kmalloc) = snapshot.kmalloc_large.as_ref().filter(|it| it.events + it.failed > 0) else { return };
    sheet.heading("large kmalloc", "what does not fit a slab cache");
    let unused = kmalloc.bytes_allocated.saturating_sub(kmalloc.bytes_requested);
    let failed = if kmalloc.failed > 0 { format!(", {} failed", units::count(kmalloc.failed)) } else { String::new() };
    sheet.line(&format!(
        "{} allocations{failed}, {} asked for, {} given: {} unused ({})",
        units::count(kmalloc.events),
        units::bytes(kmalloc.bytes_requested),
        units::bytes(kmalloc.bytes_allocated),
        units::bytes(unused),
        units::percent(unused, kmalloc.bytes_allocated)
    ));
    paths(&kmalloc.paths, sheet);
}

fn bulk(snapshot: &Snapshot, sheet: &mut Sheet) {
    let Some(bulk) = snapshot.bulk.as_ref().filter(|it| it.events > 0) else { return };
    sheet.heading("bulk allocations", "in none of the page counts above");
    sheet.line(&format!("{} calls took {} pages", units::count(bulk.events), units::count(bulk.pages)));
    paths(&bulk.paths, sheet);
}

fn fragmentation(snapshot: &Snapshot, options: &Options, sheet: &mut Sheet) {
    let Some(fragmentation) = snapshot.fragmentation.as_ref().filter(|it| it.events > 0) else { return };
    sheet.heading("fragmentation", "blocks taken from another migrate type");
    let rows = fragmentation.kinds.iter().take(options.top).map(|it| {
        vec![
            it.order.to_string(),
            sheet.clean(&it.migratetype),
            it.fallback_order.to_string(),
            sheet.clean(&it.fallback_migratetype),
            units::count(it.events),
        ]
    });
    let rows = rows.collect();
    let columns = [
        Column::Right("order"),
        Column::Left("wanted"),
        Column::Right("order taken"),
        Column::Left("taken from"),
        Column::Right("events"),
    ];
    sheet.table(&columns, rows);
    tables::more(fragmentation.kinds.len(), options.top, "kinds", sheet);
}

fn reclaim(snapshot: &Snapshot, sheet: &mut Sheet) {
    let Some(reclaim) = &snapshot.reclaim else { return };
    let rows: Vec<(&str, &Histogram)> =
        [("direct reclaim", &reclaim.direct_reclaim), ("compaction", &reclaim.compaction)]
            .into_iter()
            .filter_map(|(name, histogram)| Some((name, histogram.as_ref().filter(|it| it.count > 0)?)))
            .collect();
    if rows.is_empty() {
        return;
    }
    sheet.heading("reclaim and compaction", "");
    let time = |ns: u64| units::nanoseconds(ns as f64);
    histograms(&rows, time, sheet);
    if let Some(pages) = reclaim.reclaimed_pages.filter(|pages| *pages > 0) {
        sheet.line(&format!("direct reclaim freed {} pages", units::count(pages)));
    }
    paths(&reclaim.paths, sheet);
}

fn sockets(sockets: &Sockets, options: &Options, sheet: &mut Sheet) {
    let is_quiet = sockets.protocols.is_empty() && sockets.sockets.is_empty() && sockets.findings.is_empty();
    if is_quiet {
        return;
    }
    sheet.heading("sockets", "slow-path charges; bytes beyond need are charged for nothing");
    for finding in &sockets.findings {
        sheet.toned(Tone::Warning, "finding: ", &sheet.clean(finding));
    }
    protocols(sockets, sheet);
    if let Some(waits) = sockets.send_waits.as_ref().filter(|it| it.count > 0) {
        histograms(&[("waits for send memory", waits)], |ns| units::nanoseconds(ns as f64), sheet);
    }
    if let Some(drops) = sockets.packet_drops.as_ref().filter(|it| !it.is_empty()) {
        let reasons: Vec<String> =
            drops.iter().map(|(reason, events)| format!("{} {}", sheet.clean(reason), units::count(*events))).collect();
        sheet.hanging("packets dropped: ", &reasons.join(", "));
    }
    let shown: Vec<&SocketRow> = sockets.sockets.iter().take(options.top).collect();
    socket_table(&shown, sheet);
    tables::more(sockets.sockets.len(), options.top, "sockets", sheet);
    paths(&sockets.paths, sheet);
}

fn protocols(sockets: &Sockets, sheet: &mut Sheet) {
    if sockets.protocols.is_empty() {
        return;
    }
    let optional = |number: Option<u64>| number.map_or_else(|| units::NOT_MEASURED.to_owned(), units::count);
    let mean = |histogram: &Option<Histogram>| {
        histogram.as_ref().map_or_else(|| units::NOT_MEASURED.to_owned(), |it| units::decimal(it.mean))
    };
    let row = |it: &ProtocolRow| {
        vec![
            format!("{} {}", it.protocol, it.direction),
            optional(it.charges),
            optional(it.forced),
            optional(it.pages_charged),
            mean(&it.forward_alloc_bytes),
            mean(&it.beyond_need_bytes),
            it.beyond_need_bytes.as_ref().map_or_else(|| units::NOT_MEASURED.to_owned(), |it| units::count(it.p99)),
            optional(it.refused),
        ]
    };
    let columns = [
        Column::Left("protocol"),
        Column::Right("charges"),
        Column::Right("forced"),
        Column::Right("pages"),
        Column::Right("held"),
        Column::Right("beyond"),
        Column::Right("p99"),
        Column::Right("refused"),
    ];
    sheet.table(&columns, sockets.protocols.iter().map(row).collect());
    if let Some(uncharged) = &sockets.uncharged {
        let rows: Vec<String> =
            uncharged.iter().map(|it| format!("{} {}", it.protocol, units::count(it.pages))).collect();
        let all = sum(sockets.protocols.iter().filter_map(|it| it.pages_charged));
        let back = sum(uncharged.iter().map(|it| it.pages));
        sheet.line(&format!(
            "pages charged {}, given back {} ({})",
            units::count(all),
            units::count(back),
            if rows.is_empty() { "none".to_owned() } else { rows.join(", ") }
        ));
    }
}

fn socket_table(rows: &[&SocketRow], sheet: &mut Sheet) {
    if rows.is_empty() {
        return;
    }
    let optional = |number: Option<u64>| number.map_or_else(|| units::NOT_MEASURED.to_owned(), units::short_count);
    // Where there is no room, what is queued for sending gives way: most sockets send without a queue.
    let is_wide = sheet.width() >= WIDE;
    let cells = |it: &&SocketRow| {
        let mut cells = vec![
            it.protocol.clone(),
            sheet.clean(&it.local),
            sheet.name(it.comm.as_deref().unwrap_or(units::NOT_MEASURED)),
            format!("{}/{}", units::short_count(it.rmem_alloc), units::short_count(it.rcvbuf)),
            units::signed_count(it.forward_alloc),
            optional(it.rcvqueue_full),
            optional(it.refused),
        ];
        if is_wide {
            cells.insert(4, format!("{}/{}", units::short_count(it.wmem_queued), units::short_count(it.sndbuf)));
        }
        cells
    };
    let rows = rows.iter().map(cells).collect();
    let mut columns = vec![
        Column::Left("socket"),
        Column::Left("local"),
        Column::Left("process"),
        Column::Right("receive queue"),
        Column::Right("fwd"),
        Column::Right("full"),
        Column::Right("refused"),
    ];
    if is_wide {
        columns.insert(4, Column::Right("send queue"));
    }
    sheet.table(&columns, rows);
}

fn histograms(rows: &[(&str, &Histogram)], value: fn(u64) -> String, sheet: &mut Sheet) {
    let rows = rows
        .iter()
        .map(|(name, it)| {
            vec![
                (*name).to_owned(),
                units::count(it.count),
                value(it.min),
                value(it.p50),
                value(it.p90),
                value(it.p99),
                value(it.max),
            ]
        })
        .collect();
    let columns = [
        Column::Left(""),
        Column::Right("events"),
        Column::Right("min"),
        Column::Right("p50"),
        Column::Right("p90"),
        Column::Right("p99"),
        Column::Right("max"),
    ];
    sheet.table(&columns, rows);
}

fn paths(paths: &[BesidePath], sheet: &mut Sheet) {
    for path in paths.iter().take(PATHS) {
        let sums: Vec<String> = path
            .sums
            .iter()
            .map(|(name, sum)| format!(", {} {}", units::count(*sum), name.replace('_', " ")))
            .collect();
        let context = path.context.as_ref().map_or_else(String::new, |it| format!("  {}", sheet.clean(it)));
        let title = format!("{} {}{}{context}", units::count(path.events), path.what.replace('_', " "), sums.join(""));
        sheet.push(&sheet.paint(Tone::Title, &title));
        let mut frames: Vec<String> = path.frames.iter().take(FRAMES).map(|frame| sheet.clean(frame)).collect();
        if path.frames.len() > FRAMES {
            frames.push("...".to_owned());
        }
        sheet.hanging("    ", &frames.join(&format!("{TIE}< ")));
    }
    tables::more(paths.len(), PATHS, "paths", sheet);
}
