//! What is attached, what it counted and missed, what it costs; and how far to believe the whole.

use ratatui::{layout::Rect, style::Style};

use super::{
    sheet::{Sheet, first_row, wrap},
    status::kernel_cost,
};
use crate::{
    signal::Status,
    snapshot::{SignalRow, Snapshot, Verdict},
    tui::app::App,
    units,
};

/// Columns before the hook: signal, status, events, missed, cost.
const WIDTHS: [u16; 5] = [15, 9, 11, 8, 8];
/// Lines that trust and the selected signal get at least.
const BELOW: u16 = 9;

/// Where the rows are.
fn list(area: Rect, app: &App) -> Rect {
    let rows = u16::try_from(app.start.signals.len()).unwrap_or(u16::MAX);
    let height = rows.min(area.height.saturating_sub(2 + BELOW).max(3));
    Rect { y: area.y + 2, height, ..area }
}

/// The row at a line of the screen.
pub(super) fn row_at(area: Rect, app: &App, y: u16) -> Option<usize> {
    let list = list(area, app);
    let first = first_row(app.selected_hook(), app.start.signals.len(), list.height);
    let row = first + usize::from(y.checked_sub(list.y)?);
    (y < list.bottom() && row < app.start.signals.len()).then_some(row)
}

/// Draws the screen.
pub(super) fn draw(sheet: &mut Sheet<'_>, area: Rect, app: &App, seen: &Snapshot) {
    sheet.heading(area, "hooks", "events of the whole run, unfiltered");
    titles(sheet, area);
    let list = list(area, app);
    let selected = app.selected_hook();
    let first = first_row(selected, seen.signals.len(), list.height);
    for (at, y) in (first..seen.signals.len()).zip(list.top()..list.bottom()) {
        let line = Rect { y, height: 1, ..list };
        row(sheet, line, app, &seen.signals[at]);
        if at == selected {
            sheet.cells.set_style(line, sheet.theme.selected());
        }
    }
    let rest = Rect { y: list.bottom(), height: area.bottom().saturating_sub(list.bottom()), ..area };
    let below = seen.signals.get(selected).map_or(rest.y, |signal| chosen(sheet, rest, signal));
    trust(sheet, Rect { y: below, height: area.bottom().saturating_sub(below), ..area }, seen);
}

fn titles(sheet: &mut Sheet<'_>, area: Rect) {
    let y = area.y + 1;
    let mut x = area.x;
    for (title, width) in ["signal", "status", "events", "missed", "cost"].into_iter().zip(WIDTHS) {
        if matches!(title, "signal" | "status") {
            sheet.put(x, y, width, title, sheet.theme.faint());
        } else {
            sheet.put_right(x, y, width, title, sheet.theme.faint());
        }
        x += width;
    }
    sheet.put(x + 1, y, area.right().saturating_sub(x + 1), "hook", sheet.theme.faint());
}

fn row(sheet: &mut Sheet<'_>, line: Rect, app: &App, row: &SignalRow) {
    let theme = sheet.theme;
    let (word, style) = match row.status {
        Status::Attached => ("attached", theme.good()),
        Status::Degraded => ("degraded", theme.warning()),
        Status::Missing => ("missing", theme.warning()),
    };
    // All digits as long as the column has room for them.
    let optional = |number: Option<u64>| match number {
        None => units::NOT_MEASURED.to_owned(),
        Some(number) if number < 1_000_000_000 => units::count(number),
        Some(number) => units::short_count(number),
    };
    let found = app.is_match(&row.signal);
    let mut x = line.x;
    sheet.put(x, line.y, WIDTHS[0], &row.signal, if found { theme.found() } else { Style::new() });
    x += WIDTHS[0];
    sheet.put(x, line.y, WIDTHS[1], word, style);
    x += WIDTHS[1];
    sheet.put_right(x, line.y, WIDTHS[2], &optional(row.events), Style::new());
    x += WIDTHS[2];
    let missed = if row.missed.is_some_and(|missed| missed > 0) { theme.bad() } else { Style::new() };
    let number = row.missed.map_or_else(|| units::NOT_MEASURED.to_owned(), units::short_count);
    sheet.put_right(x, line.y, WIDTHS[3], &number, missed);
    x += WIDTHS[3];
    let cost = row.ns_per_event.map_or_else(|| units::NOT_MEASURED.to_owned(), units::nanoseconds);
    sheet.put_right(x, line.y, WIDTHS[4], &cost, Style::new());
    x += WIDTHS[4] + 1;
    let hook = row.hook.as_deref().unwrap_or(units::NOT_MEASURED);
    sheet.put(x, line.y, line.right().saturating_sub(x), hook, Style::new());
}

/// Why the selected signal has no better hook; the first line after it.
fn chosen(sheet: &mut Sheet<'_>, area: Rect, signal: &SignalRow) -> u16 {
    let list = sheet.heading(area, &signal.signal, "what is lost on its hook, and why no better one was taken");
    let mut lines = Vec::new();
    if !signal.note.is_empty() {
        lines.push(signal.note.clone());
    }
    lines.extend(signal.refused.iter().map(|refused| format!("{}: {}", refused.hook, refused.reason)));
    if lines.is_empty() {
        lines.push("nothing is lost, and there is no better hook".to_owned());
    }
    let mut y = list.top();
    // Trust keeps its lines below.
    let bottom = list.bottom().saturating_sub(BELOW - 3).max(y + 1).min(list.bottom());
    for line in lines.iter().flat_map(|line| wrap(line, list.width)) {
        if y >= bottom {
            break;
        }
        sheet.put(list.x, y, list.width, &line, Style::new());
        y += 1;
    }
    y
}

fn trust(sheet: &mut Sheet<'_>, area: Rect, seen: &Snapshot) {
    let completeness = &seen.completeness;
    let list = sheet.heading(area, "completeness", "");
    let theme = sheet.theme;
    let word = match completeness.verdict {
        Verdict::Exact => ("exact: nothing that the hooks can see was lost or missed".to_owned(), theme.good()),
        Verdict::LowerBound => ("lower bound: at least this much happened".to_owned(), theme.bad()),
        Verdict::Estimate => {
            ("estimate: paths were sampled, or the audit found some wrong".to_owned(), theme.warning())
        }
    };
    let losses = if completeness.lost.is_empty() {
        ("nothing".to_owned(), Style::new())
    } else {
        let causes = completeness.lost.iter().map(|(cause, events)| format!("{cause} {}", units::count(*events)));
        (causes.collect::<Vec<_>>().join(", "), theme.bad())
    };
    let taken = completeness.lookups.as_ref().map_or_else(
        || completeness.paths.clone(),
        |lookups| {
            let all = lookups.hits.saturating_add(lookups.unwound);
            let (hits, share) = (units::count(lookups.hits), units::percent(lookups.hits, all));
            format!("{hits} of {} remembered ({share}), {} unwound", units::count(all), units::count(lookups.unwound))
        },
    );
    let audit = completeness.audit.as_ref().map_or_else(
        || "not done".to_owned(),
        |audit| {
            let (wrong, checked) = (units::count(audit.disagreed), units::count(audit.checked));
            format!("{wrong} of {checked} paths unwound again were other paths")
        },
    );
    let not_seen = match completeness.unseen_pages {
        None => "not compared with /proc/vmstat (done at the end of a run)".to_owned(),
        Some(pages) => format!("{} pages that /proc/vmstat counted and no hook saw", units::signed_count(pages)),
    };
    let price = kernel_cost(seen).map_or_else(
        || "not measured (the kernel does with `sysctl kernel.bpf_stats_enabled=1`)".to_owned(),
        |(ns, events)| format!("{} of our programs for {} events", units::nanoseconds(ns), units::count(events)),
    );
    let mut lines = vec![
        ("verdict", word.0, word.1),
        ("lost", losses.0, losses.1),
        ("paths", taken, Style::new()),
        ("audit", audit, Style::new()),
        ("unseen", not_seen, Style::new()),
        ("cost", price, Style::new()),
    ];
    lines.extend(completeness.warnings.iter().map(|it| ("warning", it.clone(), theme.warning())));
    let mut y = list.top();
    for (name, text, style) in lines {
        for (at, line) in wrap(&text, list.width.saturating_sub(9)).iter().enumerate() {
            if y >= list.bottom() {
                return;
            }
            if at == 0 {
                sheet.put(list.x, y, 9, name, theme.faint());
            }
            sheet.put(list.x + 9, y, list.width.saturating_sub(9), line, style);
            y += 1;
        }
    }
}
