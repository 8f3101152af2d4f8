//! Who allocates: paths, or sums of them, as a table.

use ratatui::{layout::Rect, style::Style};
use tracer_common::page::ORDERS;

use super::{
    chart,
    overview::weighed,
    sheet::{Sheet, first_row},
    status::per_second,
    theme::Theme,
};
use crate::{
    snapshot::{Pages, Snapshot},
    tui::app::{
        App,
        rows::{Group, LOST, Row, Sort},
    },
    units,
};

/// A column: title, width, what it sorts by, and from which width of the table on it is there.
struct Column {
    title: &'static str,
    width: u16,
    sort: Option<Sort>,
    from: u16,
}

const fn column(title: &'static str, width: u16, sort: Option<Sort>, from: u16) -> Column {
    Column { title, width, sort, from }
}

/// All columns but the last two, the orders and the name.
const COLUMNS: [Column; 6] = [
    column("events", 8, Some(Sort::Events), 0),
    column("rate", 9, Some(Sort::Rate), 0),
    column("pages", 8, Some(Sort::Pages), 110),
    column("bytes", 10, Some(Sort::Bytes), 0),
    column("failed", 7, Some(Sort::Failed), 96),
    column("share", 8, None, 0),
];

/// Where the rows are, under the heading and the titles.
fn list(area: Rect) -> Rect {
    Rect { y: area.y + 2, height: area.height.saturating_sub(2), ..area }
}

/// The row at a line of the screen.
pub(super) fn row_at(area: Rect, app: &App, y: u16) -> Option<usize> {
    let list = list(area);
    let first = first_row(app.selected_row(), app.paths.rows.len(), list.height);
    let row = first + usize::from(y.checked_sub(list.y)?);
    (row < app.paths.rows.len()).then_some(row)
}

/// Draws the screen.
pub(super) fn draw(sheet: &mut Sheet<'_>, area: Rect, app: &App, seen: &Snapshot) {
    let Some(pages) = &seen.pages else {
        let text = "page allocations are not measured: no hook for them is attached (8 shows why)";
        sheet.put(area.x, area.y, area.width, text, sheet.theme.warning());
        return;
    };
    let state = &app.paths;
    let direction = match (state.sort, state.reverse) {
        (Sort::Name, false) => "a to z",
        (Sort::Name, true) => "z to a",
        (_, false) => "most first",
        (_, true) => "least first",
    };
    let remark = format!(
        "{} rows by {}, sorted by {}, {direction}",
        units::count(state.rows.len() as u64),
        state.group.name(),
        state.sort.name()
    );
    sheet.heading(area, "paths", &remark);
    let orders = usize::from(seen.host.max_order).min(ORDERS - 1) + 1;
    titles(sheet, Rect { y: area.y + 1, ..area }, app, orders);
    let list = list(area);
    let selected = app.selected_row();
    let first = first_row(selected, state.rows.len(), list.height);
    for (at, y) in (first..state.rows.len()).zip(list.top()..list.bottom()) {
        let line = Rect { y, height: 1, ..list };
        row(sheet, line, app, pages, &state.rows[at], orders);
        if at == selected {
            sheet.cells.set_style(line, sheet.theme.selected());
            sheet.put(line.x, y, 1, sheet.theme.pointer(), sheet.theme.selected());
        }
    }
    if state.rows.is_empty() {
        sheet.put(list.x + 2, list.y, list.width, &why_empty(app, seen), sheet.theme.faint());
    }
}

fn why_empty(app: &App, seen: &Snapshot) -> String {
    if app.paths.group == Group::Owner && app.start.by.is_none() {
        "not counted apart: start with --by comm, --by pid or --by cgroup".to_owned()
    } else if seen.completeness.filters.is_empty() {
        "no allocation yet".to_owned()
    } else {
        "nothing that the filter lets through".to_owned()
    }
}

fn titles(sheet: &mut Sheet<'_>, area: Rect, app: &App, orders: usize) {
    let faint = sheet.theme.faint();
    let mut x = area.x + 1;
    for column in COLUMNS.iter().filter(|column| area.width >= column.from) {
        // The sorted column is marked in words above and by weight here.
        let style = if column.sort == Some(app.paths.sort) { sheet.theme.title() } else { faint };
        sheet.put_right(x, area.y, column.width, column.title, style);
        x += column.width;
    }
    let digits: String = (0..orders).map(Theme::digit).collect();
    sheet.put(x + 2, area.y, area.right().saturating_sub(x + 2), &digits, faint);
    x += 4 + u16::try_from(orders).unwrap_or(0);
    let name = match app.paths.group {
        Group::Path => "path from the caller of the allocator on, innermost first",
        group => group.name(),
    };
    let style = if app.paths.sort == Sort::Name { sheet.theme.title() } else { faint };
    sheet.put(x, area.y, area.right().saturating_sub(x), name, style);
}

fn row(sheet: &mut Sheet<'_>, line: Rect, app: &App, pages: &Pages, row: &Row, orders: usize) {
    let y = line.y;
    let mut x = line.x + 1;
    let (part, base) = weighed(app.weight, (row.events, row.pages), pages);
    let not_measured = || units::NOT_MEASURED.to_owned();
    let cells = [
        units::short_count(row.events),
        row.rate.map_or_else(not_measured, |rate| format!("{}/s", per_second(rate))),
        units::short_count(row.pages),
        units::bytes(row.bytes),
        row.failed.map_or_else(not_measured, units::short_count),
        units::percent(part, base),
    ];
    for (column, text) in COLUMNS.iter().zip(&cells).filter(|(column, _)| line.width >= column.from) {
        let failed = column.sort == Some(Sort::Failed) && row.failed.is_some_and(|failed| failed > 0);
        let style = if failed || row.id == LOST { sheet.theme.bad() } else { Style::new() };
        let lean = column.width.saturating_sub(u16::try_from(text.len()).unwrap_or(column.width));
        sheet.put(x + lean, y, column.width, text, style);
        x += column.width;
    }
    strip(sheet, x + 2, y, row.orders.as_ref(), orders);
    x += 4 + u16::try_from(orders).unwrap_or(0);
    let room = line.right().saturating_sub(x);
    let style = if app.is_match(&row.title) { sheet.theme.found() } else { Style::new() };
    match (app.paths.group, row.paths) {
        (Group::Path, _) | (_, None) => {
            sheet.put(x, y, room, &row.title, style);
        }
        (_, Some(paths)) => {
            let count = format!("  {} paths", units::count(paths));
            sheet.pieces(x, y, room, &[(&row.title, style), (&count, sheet.theme.faint())]);
        }
    }
}

/// A bar for each order, as high as its share of the row's events.
pub(super) fn strip(sheet: &mut Sheet<'_>, x: u16, y: u16, by_order: Option<&[u64; ORDERS]>, orders: usize) {
    let Some(by_order) = by_order else {
        sheet.put(x, y, 1, units::NOT_MEASURED, Style::new());
        return;
    };
    let whole = by_order.iter().fold(0u64, |sum, events| sum.saturating_add(*events));
    for ((order, events), x) in by_order.iter().enumerate().take(orders).zip(x..sheet.cells.area.right()) {
        let bar = chart::bar(*events as f64, whole as f64, sheet.theme);
        let style = if *events > 0 { sheet.theme.order(order) } else { sheet.theme.faint() };
        let bar = if *events == 0 { '.' } else { bar };
        sheet.cells[(x, y)].set_char(bar).set_style(style);
    }
}
