//! One path whole: its frames, and all that is known of its allocations.

use std::time::Duration;

use ratatui::{layout::Rect, style::Style};
use tracer_common::page::ORDERS;

use super::{
    chart,
    overview::{share, weighed},
    sheet::{Sheet, first_row},
    status::per_second,
    theme::Theme,
};
use crate::{
    snapshot::{Pages, PathRow, Snapshot},
    tui::app::{App, frames::is_allocator},
    units,
};

/// From this width on, frames and figures stand side by side.
const SIDE_BY_SIDE: u16 = 110;

/// Draws the path that is open.
pub(super) fn draw(sheet: &mut Sheet<'_>, area: Rect, app: &App, seen: &Snapshot) {
    let (Some(path), Some(pages)) = (app.open_path(), seen.pages.as_ref()) else {
        let text = "this path is not in what is seen now (filter, zero or frames changed); Esc goes back";
        sheet.put(area.x, area.y, area.width, text, sheet.theme.faint());
        return;
    };
    if area.width >= SIDE_BY_SIDE {
        let left = Rect { width: area.width / 2 - 1, ..area };
        let right = Rect { x: left.right() + 2, width: area.width - left.width - 2, ..area };
        stack(sheet, left, app, path);
        let below = figures(sheet, right, app, path, pages);
        let rest = Rect { y: below, height: right.bottom().saturating_sub(below), ..right };
        let below = orders(sheet, rest, path);
        flags(sheet, Rect { y: below, height: right.bottom().saturating_sub(below), ..right }, app, path);
    } else {
        let below = figures(sheet, area, app, path, pages);
        // As many lines as there are orders or, twice as long, flags.
        let lines = path.orders.len().max(path.failed_orders.len()).max(2 * path.gfp.len()) + 1;
        let height = u16::try_from(lines).unwrap_or(u16::MAX).clamp(3, 6).min(area.bottom().saturating_sub(below) / 2);
        let half = Rect { y: below, height, width: area.width / 2 - 1, ..area };
        orders(sheet, half, path);
        flags(sheet, Rect { x: half.right() + 2, width: area.width - half.width - 2, ..half }, app, path);
        stack(
            sheet,
            Rect { y: below + height, height: area.bottom().saturating_sub(below + height), ..area },
            app,
            path,
        );
    }
}

fn stack(sheet: &mut Sheet<'_>, area: Rect, app: &App, path: &PathRow) {
    let remark = format!("{} frames, innermost first; id {}", path.frames.len(), path.id);
    let list = sheet.heading(area, "stack", &remark);
    let first = first_row(app.paths.scroll, path.frames.len(), list.height);
    for ((at, frame), y) in path.frames.iter().enumerate().skip(first).zip(list.top()..list.bottom()) {
        let style = if app.is_match(frame) {
            sheet.theme.found()
        } else if is_allocator(frame) {
            sheet.theme.faint()
        } else {
            Style::new()
        };
        sheet.put(list.x + 2, y, list.width.saturating_sub(2), frame, style);
        if at == app.paths.scroll {
            sheet.put(list.x, y, 1, sheet.theme.pointer(), sheet.theme.title());
        }
    }
    let end = list.y + u16::try_from(path.frames.len() - first).unwrap_or(u16::MAX);
    if path.truncated && end < list.bottom() {
        let text = "[the stack is deeper than what was read]";
        sheet.put(list.x + 2, end, list.width.saturating_sub(2), text, sheet.theme.warning());
    }
}

fn figures(sheet: &mut Sheet<'_>, area: Rect, app: &App, path: &PathRow, pages: &Pages) -> u16 {
    let list = sheet.heading(area, "path", "");
    let (part, base) = weighed(app.weight, (path.events, path.pages), pages);
    let rate = app.rates.of(&path.id);
    let rate = rate.map_or_else(|| units::NOT_MEASURED.to_owned(), |rate| format!("{}/s", per_second(rate)));
    let lines = [
        ("route", path.route.clone().unwrap_or_else(|| units::NOT_MEASURED.to_owned())),
        ("context", path.context.clone().unwrap_or_else(|| units::NOT_MEASURED.to_owned())),
        (
            "events",
            format!(
                "{}, {} pages, {}, {} of all {}",
                units::count(path.events),
                units::count(path.pages),
                units::bytes(path.bytes),
                units::percent(part, base),
                app.weight.name()
            ),
        ),
        ("failed", units::count(path.failed)),
        ("rate", rate),
    ];
    let mut y = list.top();
    for (name, text) in lines {
        if y >= list.bottom() {
            return y;
        }
        sheet.put(list.x, y, 9, name, sheet.theme.faint());
        let used = sheet.put(list.x + 9, y, list.width.saturating_sub(9), &text, Style::new());
        if name == "rate" {
            let values: Vec<f64> = app.over_time(&path.id).iter().map(|(_, rate): &(Duration, f64)| *rate).collect();
            let x = list.x + 9 + used + 2;
            chart::line(sheet, x, y, list.right().saturating_sub(x), &values, sheet.theme.bar());
        }
        y += 1;
    }
    y
}

fn orders(sheet: &mut Sheet<'_>, area: Rect, path: &PathRow) -> u16 {
    let list = sheet.heading(area, "orders", "events, failed");
    let mut y = list.top();
    for order in 0..ORDERS {
        let Ok(key) = u8::try_from(order) else { break };
        let (events, failed) = (path.orders.get(&key), path.failed_orders.get(&key));
        if (events.is_none() && failed.is_none()) || y >= list.bottom() {
            continue;
        }
        let events = events.copied().unwrap_or(0);
        sheet.put(list.x, y, 2, &Theme::digit(order).to_string(), sheet.theme.title());
        sheet.put_right(list.x + 2, y, 12, &units::count(events), Style::new());
        sheet.put_right(list.x + 14, y, 8, &units::short_count(failed.copied().unwrap_or(0)), Style::new());
        let x = list.x + 24;
        let style = sheet.theme.order(order);
        sheet.bar(x, y, list.right().saturating_sub(x), share(events, path.events), style);
        y += 1;
    }
    y
}

fn flags(sheet: &mut Sheet<'_>, area: Rect, app: &App, path: &PathRow) {
    let list = sheet.heading(area, "gfp flags", "events");
    let mut rows: Vec<(&String, u64)> = path.gfp.iter().map(|(gfp, events)| (gfp, *events)).collect();
    rows.sort_by_key(|(_, events)| std::cmp::Reverse(*events));
    let mut y = list.top();
    for (gfp, events) in rows {
        let value = gfp.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let names = value.map_or_else(|| gfp.clone(), |value| app.start.gfp.decode(value));
        if y >= list.bottom() {
            return;
        }
        sheet.put_right(list.x, y, 12, &units::count(events), Style::new());
        let text =
            Rect { x: list.x + 14, y, width: list.width.saturating_sub(14), height: list.bottom().saturating_sub(y) };
        // Broken between flags, not within.
        y += sheet.wrapped(text, &names.replace('|', " | "), Style::new()).max(1);
    }
}
