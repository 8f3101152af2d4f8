//! Socket memory: what the slow path charged and why, which sockets are in trouble, and what was dropped.

use ratatui::{layout::Rect, style::Style};

use super::sheet::{Sheet, wrap};
use crate::{
    snapshot::{
        Snapshot,
        beside::{Histogram, ProtocolRow, SocketRow, Sockets},
    },
    tui::app::App,
    units,
};

/// Lines of findings at most: the first are the worst.
const FINDINGS: usize = 6;
/// Width of a column of numbers.
const NUMBER: u16 = 9;

/// Draws the screen.
pub(super) fn draw(sheet: &mut Sheet<'_>, area: Rect, app: &App, seen: &Snapshot) {
    let Some(sockets) = &seen.sockets else {
        let list = sheet.heading(area, "sockets", "");
        sheet.put(
            list.x,
            list.y,
            list.width,
            "not measured: no hook for socket memory is attached",
            sheet.theme.faint(),
        );
        return;
    };
    let mut rest = protocols(sheet, area, sockets, seen);
    rest = findings(sheet, rest, sockets);
    // What is dropped needs two lines below the table.
    let table = Rect { height: rest.height.saturating_sub(3), ..rest };
    let below = table_of(sheet, table, app, sockets);
    drops(sheet, Rect { y: below, height: area.bottom().saturating_sub(below), ..area }, sockets);
}

/// The area below `y`.
fn under(area: Rect, y: u16) -> Rect {
    Rect { y, height: area.bottom().saturating_sub(y), ..area }
}

fn optional(number: Option<u64>) -> String {
    number.map_or_else(|| units::NOT_MEASURED.to_owned(), units::short_count)
}

fn mean(histogram: Option<&Histogram>) -> String {
    histogram.map_or_else(|| units::NOT_MEASURED.to_owned(), |it| units::decimal(it.mean))
}

fn protocols(sheet: &mut Sheet<'_>, area: Rect, sockets: &Sockets, seen: &Snapshot) -> Rect {
    let list = sheet.heading(area, "charges", "by the slow path; held before and beyond need: bytes of one on average");
    let charged = seen.signals.iter().find(|row| row.signal == "sock.charge");
    if sockets.protocols.is_empty() {
        let text = match charged.filter(|row| row.events.is_none()) {
            Some(row) if !row.note.is_empty() => format!("not measured: {}", row.note),
            Some(_) => "not measured".to_owned(),
            None => "none so far".to_owned(),
        };
        sheet.put(list.x, list.y, list.width, &text, sheet.theme.faint());
        return under(area, list.y + 2);
    }
    let titles = ["charges", "forced", "pages", "held", "beyond", "p99", "refused"].map(str::to_owned);
    columns(sheet, list, list.y, "protocol", &titles, Style::new());
    let mut y = list.y + 1;
    for row in &sockets.protocols {
        // The other parts have their titles at the least.
        if y + 8 >= area.bottom() {
            break;
        }
        let style = if row.refused.unwrap_or(0) > 0 { sheet.theme.warning() } else { Style::new() };
        columns(sheet, list, y, &format!("{} {}", row.protocol, row.direction), &figures(row), style);
        y += 1;
    }
    under(area, y + 1)
}

fn figures(row: &ProtocolRow) -> [String; 7] {
    [
        optional(row.charges),
        optional(row.forced),
        optional(row.pages_charged),
        mean(row.forward_alloc_bytes.as_ref()),
        mean(row.beyond_need_bytes.as_ref()),
        optional(row.beyond_need_bytes.as_ref().map(|it| it.p99)),
        optional(row.refused),
    ]
}

/// A name and numbers after it.
fn columns(sheet: &mut Sheet<'_>, area: Rect, y: u16, name: &str, cells: &[String], style: Style) {
    let numbers = NUMBER * u16::try_from(cells.len()).unwrap_or(0);
    let room = area.width.saturating_sub(numbers).min(24);
    sheet.put(area.x, y, room, name, sheet.theme.title());
    for (text, x) in cells.iter().zip((area.x + room..).step_by(usize::from(NUMBER))) {
        sheet.put_right(x, y, NUMBER, text, style);
    }
}

fn findings(sheet: &mut Sheet<'_>, area: Rect, sockets: &Sockets) -> Rect {
    if sockets.findings.is_empty() || area.height < 6 {
        return area;
    }
    let list = sheet.heading(area, "findings", "");
    let mut y = list.y;
    let lines: Vec<String> = sockets.findings.iter().flat_map(|it| wrap(it, list.width)).collect();
    for line in lines.iter().take(FINDINGS.min(usize::from(list.height.saturating_sub(5)))) {
        sheet.put(list.x, y, list.width, line, sheet.theme.warning());
        y += 1;
    }
    under(area, y + 1)
}

/// The sockets; the first line after them.
fn table_of(sheet: &mut Sheet<'_>, area: Rect, app: &App, sockets: &Sockets) -> u16 {
    let remark = if app.base.is_some() { "as last seen, of the whole run" } else { "as last seen, most trouble first" };
    let list = sheet.heading(area, "sockets", remark);
    if list.height == 0 {
        return list.y;
    }
    let titles = ["rcvq", "rcvbuf", "sndq", "sndbuf", "fwd", "full", "refused"].map(str::to_owned);
    line(sheet, list, list.y, ["socket", "local", "process"], &titles, sheet.theme.title());
    let mut y = list.y + 1;
    for row in &sockets.sockets {
        if y >= list.bottom() {
            break;
        }
        let trouble = row.rcvqueue_full.unwrap_or(0) + row.refused.unwrap_or(0) > 0;
        let style = if trouble { sheet.theme.warning() } else { Style::new() };
        let names = [row.protocol.as_str(), row.local.as_str(), row.comm.as_deref().unwrap_or(units::NOT_MEASURED)];
        line(sheet, list, y, names, &socket(row), style);
        y += 1;
    }
    if sockets.sockets.is_empty() {
        sheet.put(list.x, y, list.width, "none seen so far", sheet.theme.faint());
        y += 1;
    }
    let left = sockets.sockets.len().saturating_sub(usize::from(list.height.saturating_sub(1)));
    if left > 0 {
        sheet.put(
            list.x,
            list.bottom(),
            list.width,
            &format!("and {} more", units::count(left as u64)),
            sheet.theme.faint(),
        );
        y = list.bottom() + 1;
    }
    y
}

fn socket(row: &SocketRow) -> [String; 7] {
    let bytes = |number: u64| units::short_count(number);
    let forward = if row.forward_alloc < 0 {
        units::signed_count(row.forward_alloc)
    } else {
        units::short_count(row.forward_alloc.unsigned_abs())
    };
    [
        bytes(row.rmem_alloc),
        bytes(row.rcvbuf),
        bytes(row.wmem_queued),
        bytes(row.sndbuf),
        forward,
        optional(row.rcvqueue_full),
        optional(row.refused),
    ]
}

fn line(sheet: &mut Sheet<'_>, area: Rect, y: u16, names: [&str; 3], cells: &[String; 7], style: Style) {
    // A process' name has 15 letters, an address of IPv4 21; on narrow screens the queues' limits give way.
    let narrow = area.width < 100;
    let (protocol, local, process) = if narrow { (8, 18, 11) } else { (8, 24, 16) };
    let mut x = area.x;
    for (name, width) in names.into_iter().zip([protocol, local, process]) {
        sheet.put(x, y, width - 1, name, style);
        x += width;
    }
    let shown: Vec<&String> =
        if narrow { [0, 1, 4, 5, 6].iter().map(|at| &cells[*at]).collect() } else { cells.iter().collect() };
    let width = (area.right().saturating_sub(x) / u16::try_from(shown.len()).unwrap_or(1)).min(12);
    for (text, x) in shown.into_iter().zip((x..).step_by(usize::from(width))) {
        sheet.put_right(x, y, width, text, style);
    }
}

fn drops(sheet: &mut Sheet<'_>, area: Rect, sockets: &Sockets) {
    if area.height == 0 {
        return;
    }
    let text = match &sockets.packet_drops {
        None => "packets dropped: not measured".to_owned(),
        Some(drops) if drops.is_empty() => "packets dropped: none".to_owned(),
        Some(drops) => {
            let mut drops: Vec<_> = drops.iter().collect();
            drops.sort_by_key(|(_, events)| std::cmp::Reverse(**events));
            let words: Vec<String> =
                drops.iter().map(|(reason, events)| format!("{reason} {}", units::count(**events))).collect();
            format!("packets dropped: {}", words.join(", "))
        }
    };
    let waits = sockets.send_waits.as_ref().filter(|it| it.count > 0).map(|it| {
        format!(
            "waits for send memory: {}, p50 {}, p99 {}",
            units::count(it.count),
            units::nanoseconds(it.p50 as f64),
            units::nanoseconds(it.p99 as f64)
        )
    });
    let mut y = area.bottom().saturating_sub(1 + u16::from(waits.is_some())).max(area.y);
    sheet.put(area.x, y, area.width, &text, sheet.theme.faint());
    y += 1;
    if let Some(waits) = waits {
        sheet.put(area.x, y, area.width, &waits, sheet.theme.faint());
    }
}
