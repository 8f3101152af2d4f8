//! The top paths: each with its share, route, context, orders, flags and frames.

use super::{
    Options,
    sheet::{Sheet, TIE, Tone},
    tables,
};
use crate::{
    snapshot::{NOT_SAMPLED, PATHS_OFF, Pages, PathRow, Snapshot},
    units,
};

/// How wide the bar of one order is.
const ORDER_BAR: usize = 10;

/// Writes the paths that weigh most.
pub(super) fn write(snapshot: &Snapshot, pages: &Pages, options: &Options, sheet: &mut Sheet) {
    let page_size = snapshot.host.page_size;
    let whole = tables::whole(pages, options.weight);
    let weight = |path: &PathRow| options.weight.of_all(&path.orders, page_size);
    let mut paths: Vec<&PathRow> = pages.paths.iter().collect();
    // Stable: ties stay in the snapshot's order. Failures put a path that never succeeded above those without either.
    paths.sort_by_key(|path| std::cmp::Reverse((weight(path), path.failed)));
    sheet.heading(
        "paths",
        &format!("share of all {}; innermost function first, `<` means called by", options.weight.name()),
    );
    for (index, path) in paths.iter().take(options.top).enumerate() {
        let share = units::percent(weight(path), whole);
        title(index + 1, &share, path, sheet);
        counts(path, snapshot, pages, sheet);
        orders(path, sheet);
        flags(path, pages, sheet);
        frames(path, sheet);
    }
    if paths.is_empty() {
        sheet.line("none");
    }
    tables::more(paths.len(), options.top, "paths", sheet);
    if pages.lost > 0 {
        sheet.line(&format!(
            "{} allocations ({} of all) are in the totals but under no path",
            units::count(pages.lost),
            units::percent(pages.lost, pages.events)
        ));
    }
}

fn title(rank: usize, share: &str, path: &PathRow, sheet: &mut Sheet) {
    let of = match (&path.route, &path.context) {
        (Some(route), Some(context)) => format!("{}  {}", sheet.clean(route), sheet.clean(context)),
        _ => match path.frames.first().map(String::as_str) {
            Some(PATHS_OFF) => "paths were not taken (--paths off)".to_owned(),
            Some(NOT_SAMPLED) => "of these no sample was taken".to_owned(),
            _ => "no path".to_owned(),
        },
    };
    let title = sheet.paint(Tone::Title, &format!("{rank:>2}  {share:>7}  {of}"));
    sheet.push(&title);
}

fn counts(path: &PathRow, snapshot: &Snapshot, pages: &Pages, sheet: &mut Sheet) {
    // The same work divides all counts, so a path has its share of the whole quotient.
    let per_unit = match &pages.per_unit {
        Some(per) if pages.events > 0 => {
            let events = per.events * (path.events as f64 / pages.events as f64);
            format!(", {} a {}", units::decimal(events), per.unit)
        }
        _ => String::new(),
    };
    let error = path.events_error.map_or_else(String::new, |it| format!(" ± {}", units::count(it)));
    let words = format!(
        "{}{error} allocations, {} pages, {}, {}{per_unit}",
        units::count(path.events),
        units::count(path.pages),
        units::bytes(path.bytes),
        units::rate(path.events, snapshot.window.duration_s)
    );
    sheet.hanging("    ", &words);
    if path.failed > 0 {
        let orders: Vec<String> = path
            .failed_orders
            .iter()
            .map(|(order, events)| format!("order {order}: {}", units::count(*events)))
            .collect();
        let text = format!("{} failed ({})", units::count(path.failed), orders.join(", "));
        sheet.toned(Tone::Bad, "    ", &text);
    }
}

/// The order histogram, as many orders a line as fit.
fn orders(path: &PathRow, sheet: &mut Sheet) {
    let mut line = String::from("   ");
    let mut width = line.len();
    for (order, &events) in &path.orders {
        let share = units::percent(events, path.events);
        let bar = sheet.bar(events, path.events, ORDER_BAR);
        let piece = format!(" order {order} {bar} {share}  ");
        let piece_width = textwrap::core::display_width(&piece);
        if width + piece_width > sheet.width() + 2 {
            sheet.push(&line);
            "   ".clone_into(&mut line);
            width = line.len();
        }
        line += &piece;
        width += piece_width;
    }
    if !path.orders.is_empty() {
        sheet.push(&line);
    }
}

/// The flags most of its events had.
fn flags(path: &PathRow, pages: &Pages, sheet: &mut Sheet) {
    let Some((gfp, &events)) = path.gfp.iter().max_by_key(|(_, events)| **events) else { return };
    let names = pages.by_gfp.iter().find(|row| &row.gfp == gfp).map_or("", |row| row.flags.as_str());
    let share = match path.gfp.len() {
        1 => String::new(),
        kinds => format!(" ({}, and {} more)", units::percent(events, path.events), kinds - 1),
    };
    sheet.hanging("    ", &format!("{gfp} {names}{share}"));
}

fn frames(path: &PathRow, sheet: &mut Sheet) {
    if path.route.is_none() {
        return;
    }
    let mut frames: Vec<String> = path.frames.iter().map(|frame| frame.replace(' ', &TIE.to_string())).collect();
    if path.truncated {
        frames.push(format!("(deeper{TIE}than{TIE}what{TIE}was{TIE}read)"));
    }
    sheet.hanging("    ", &frames.join(&format!("{TIE}< ")));
}
