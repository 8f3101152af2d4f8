//! The run at a glance: rates by order, who allocates by which way, what to beware of.

use ratatui::{layout::Rect, style::Style};

use super::{chart, sheet::Sheet, status::per_second, theme::Theme};
use crate::{
    output::Weight,
    snapshot::{Pages, PathRow, Snapshot},
    tui::app::{App, Kind, frames, history::Sample},
    units,
};

/// Warnings shown; the rest is counted.
const WARNINGS: usize = 3;

/// Draws the screen.
pub(super) fn draw(sheet: &mut Sheet<'_>, area: Rect, app: &App, seen: &Snapshot) {
    let Some(pages) = &seen.pages else {
        let text = "page allocations are not measured: no hook for them is attached (8 shows why)";
        sheet.put(area.x, area.y, area.width, text, sheet.theme.warning());
        return;
    };
    let [top, middle, paths, warnings] = divided(area, seen);
    let left = Rect { width: top.width * 11 / 20, ..top };
    let right = Rect { x: left.right() + 2, width: top.width - left.width - 2, ..top };
    rates(sheet, left, app, seen);
    orders(sheet, right, app, seen, pages);
    let half = Rect { width: middle.width / 2 - 1, ..middle };
    let other = Rect { x: half.right() + 2, width: middle.width - half.width - 2, ..middle };
    let route = |row: &crate::snapshot::RouteRow| (row.route.clone(), row.events, row.pages);
    let context = |row: &crate::snapshot::ContextRow| (row.context.clone(), row.events, row.pages);
    shares(sheet, half, app, pages, "routes", &pages.by_route.iter().map(route).collect::<Vec<_>>());
    shares(sheet, other, app, pages, "contexts", &pages.by_context.iter().map(context).collect::<Vec<_>>());
    top_paths(sheet, paths, app, seen, pages);
    beware(sheet, warnings, seen);
}

/// Chart and orders; routes and contexts; paths; warnings.
fn divided(area: Rect, seen: &Snapshot) -> [Rect; 4] {
    let count = seen.completeness.warnings.len();
    let warnings = u16::try_from(if count == 0 { 0 } else { count.min(WARNINGS) + 1 }).unwrap_or(0);
    let rest = area.height.saturating_sub(warnings);
    let top = (rest * 9 / 20).clamp(7, 18);
    let middle = (rest / 4).clamp(4, 8);
    let part = |y: u16, height: u16| Rect { y: area.y + y, height, ..area };
    [part(0, top), part(top, middle), part(top + middle, rest.saturating_sub(top + middle)), part(rest, warnings)]
}

fn rates(sheet: &mut Sheet<'_>, area: Rect, app: &App, seen: &Snapshot) {
    let plot = sheet.heading(area, "allocations a second", "by order, over the run");
    // Where a recording stands in its own time.
    let cursor = (app.kind == Kind::Recording).then(|| Sample::of(seen).at.as_secs_f64());
    chart::stacked(sheet, plot, &app.history, cursor);
}

fn orders(sheet: &mut Sheet<'_>, area: Rect, app: &App, seen: &Snapshot, pages: &Pages) {
    let shares = if app.weight == Weight::Events { "share of events" } else { "share of bytes" };
    let list = sheet.heading(area, "orders", shares);
    // Order, events, rate, bytes, share, bar.
    let with_rate = list.width >= 48;
    let mut rows = pages.by_order.iter();
    let fits = usize::from(list.height);
    let hidden = pages.by_order.len().saturating_sub(fits);
    let shown = if hidden > 0 { fits.saturating_sub(1) } else { fits };
    for (row, y) in rows.by_ref().take(shown).zip(list.top()..) {
        let order = usize::from(row.order);
        let (part, base) = weighed(app.weight, (row.events, row.pages), pages);
        let style = sheet.theme.order(order);
        let mut x = list.x;
        sheet.put(x, y, 2, &Theme::digit(order).to_string(), sheet.theme.title());
        x += 2;
        sheet.put_right(x, y, 7, &units::short_count(row.events), Style::new());
        x += 7;
        if with_rate {
            let rate = app.recent.as_ref().and_then(|recent| recent.by_order.get(order));
            let text = rate.map_or_else(|| units::NOT_MEASURED.to_owned(), |rate| format!("{}/s", per_second(*rate)));
            sheet.put_right(x, y, 10, &text, Style::new());
            x += 10;
        }
        sheet.put_right(x, y, 10, &units::bytes(row.bytes), Style::new());
        x += 10;
        sheet.put_right(x, y, 8, &units::percent(part, base), Style::new());
        x += 9;
        sheet.bar(x, y, list.right().saturating_sub(x), share(part, base), style);
    }
    if hidden > 0 {
        let text = format!("and {} more orders", pages.by_order.len() - shown);
        sheet.put(list.x, list.bottom() - 1, list.width, &text, sheet.theme.faint());
    }
    if pages.by_order.is_empty() {
        let none =
            if seen.completeness.filters.is_empty() { "no allocation yet" } else { "nothing the filter lets through" };
        sheet.put(list.x, list.y, list.width, none, sheet.theme.faint());
    }
}

/// Name, events and pages of each, most first.
fn shares(sheet: &mut Sheet<'_>, area: Rect, app: &App, pages: &Pages, title: &str, rows: &[(String, u64, u64)]) {
    let list = sheet.heading(area, title, "");
    let fits = usize::from(list.height);
    let more = rows.len().saturating_sub(fits);
    let shown = if more > 0 { fits.saturating_sub(1) } else { fits };
    let name_width = 18.min(list.width / 2);
    for ((name, events, of_pages), y) in rows.iter().take(shown).zip(list.top()..) {
        let (part, base) = weighed(app.weight, (*events, *of_pages), pages);
        let mut x = list.x;
        sheet.put(x, y, name_width, name, Style::new());
        x += name_width;
        sheet.put_right(x, y, 7, &units::short_count(*events), Style::new());
        x += 7;
        sheet.put_right(x, y, 8, &units::percent(part, base), Style::new());
        x += 9;
        sheet.bar(x, y, list.right().saturating_sub(x), share(part, base), sheet.theme.bar());
    }
    if more > 0 {
        let rest = rows.iter().skip(shown).fold(0u64, |sum, (_, events, _)| sum.saturating_add(*events));
        let text = format!("and {} more: {} events", rows.len() - shown, units::short_count(rest));
        sheet.put(list.x, list.bottom() - 1, list.width, &text, sheet.theme.faint());
    } else if rows.is_empty() {
        sheet.put(list.x, list.y, list.width, "none", sheet.theme.faint());
    }
}

fn top_paths(sheet: &mut Sheet<'_>, area: Rect, app: &App, seen: &Snapshot, pages: &Pages) {
    let remark =
        format!("{} in all, most pages first; innermost function first", units::count(pages.paths.len() as u64));
    let list = sheet.heading(area, "paths", &remark);
    for (path, y) in pages.paths.iter().zip(list.top()..list.bottom()) {
        let (part, base) = weighed(app.weight, (path.events, path.pages), pages);
        let mut x = list.x;
        sheet.put_right(x, y, 7, &units::percent(part, base), Style::new());
        x += 7;
        let rate = app.rates.of(&path.id);
        let rate = rate.map_or_else(|| units::NOT_MEASURED.to_owned(), |rate| format!("{}/s", per_second(rate)));
        sheet.put_right(x, y, 9, &rate, Style::new());
        x += 10;
        sheet.put(x, y, 5, &digits(path), sheet.theme.title());
        x += 5;
        sheet.put(x, y, 15, path.route.as_deref().unwrap_or(units::NOT_MEASURED), sheet.theme.faint());
        x += 16;
        let separator = " < ";
        sheet.put(x, y, list.right().saturating_sub(x), &frames::title(path, separator), Style::new());
    }
    if pages.paths.is_empty() {
        let why = if seen.completeness.paths == "off" { "paths are not taken (--paths off)" } else { "none yet" };
        sheet.put(list.x, list.y, list.width, why, sheet.theme.faint());
    }
}

/// The orders of a path, one digit each.
fn digits(path: &PathRow) -> String {
    let orders = path.orders.keys().chain(path.failed_orders.keys().filter(|order| !path.orders.contains_key(order)));
    orders.map(|order| Theme::digit(usize::from(*order))).collect()
}

fn beware(sheet: &mut Sheet<'_>, area: Rect, seen: &Snapshot) {
    let warnings = &seen.completeness.warnings;
    if warnings.is_empty() {
        return;
    }
    let more = warnings.len().saturating_sub(WARNINGS);
    let remark = if more > 0 { format!("{more} more on the Hooks screen (8)") } else { String::new() };
    let list = sheet.heading(area, "to be known", &remark);
    for (warning, y) in warnings.iter().zip(list.top()..list.bottom()) {
        sheet.put(list.x, y, list.width, &format!("! {warning}"), sheet.theme.warning());
    }
}

/// A row's part and the base that it is a part of; bytes are pages of one size.
pub(super) fn weighed(weight: Weight, (events, of_pages): (u64, u64), pages: &Pages) -> (u64, u64) {
    match weight {
        Weight::Events => (events, pages.events),
        Weight::Pages | Weight::Bytes => (of_pages, pages.pages),
    }
}

/// A part of a base, from 0 to 1.
pub(super) fn share(part: u64, base: u64) -> f64 {
    if base == 0 { 0.0 } else { part as f64 / base as f64 }
}
