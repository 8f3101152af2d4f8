//! The page allocator's own state: where pages come from, and which free blocks there are.

use ratatui::{layout::Rect, style::Style};

use super::{sheet::Sheet, theme::Theme};
use crate::{
    run::BeforeAfter,
    snapshot::{OrderRow, Snapshot, beside::Histogram},
    tui::{app::App, link::FreeBlocks},
    units,
};

/// Shades of the heat map from little to much; the number stands beside it.
const SHADES: [&str; 5] = [" ", "░", "▒", "▓", "█"];
/// The same in ASCII.
const ASCII_SHADES: [&str; 5] = [" ", ".", "-", "=", "#"];

/// Draws the screen.
pub(super) fn draw(sheet: &mut Sheet<'_>, area: Rect, app: &App, seen: &Snapshot) {
    let below = lists(sheet, area, seen);
    let rest = Rect { y: below, height: area.bottom().saturating_sub(below), ..area };
    let blocks = app.picture.as_ref().and_then(|picture| picture.free_blocks.as_ref());
    let below = free(sheet, rest, blocks.or(seen.system.buddyinfo.as_ref()), seen);
    for ((text, is_measured), y) in beside(seen).into_iter().zip(below + 1..area.bottom()) {
        let style = if is_measured { Style::new() } else { sheet.theme.faint() };
        sheet.put(area.x, y, area.width, &text, style);
    }
}

/// Reclaim, compaction, fallbacks and bulk allocations, a line each, and whether it was measured.
fn beside(seen: &Snapshot) -> [(String, bool); 4] {
    let latency = |what: &str, histogram: Option<&Histogram>| match histogram {
        None => (format!("{what}  not measured"), false),
        Some(it) if it.count == 0 => (format!("{what}  none"), true),
        Some(it) => {
            let time = |ns: u64| units::nanoseconds(ns as f64);
            let (half, most, max) = (time(it.p50), time(it.p99), time(it.max));
            (format!("{what}  {} times, p50 {half}, p99 {most}, longest {max}", units::count(it.count)), true)
        }
    };
    let reclaim = seen.reclaim.as_ref();
    let fallbacks = seen.fragmentation.as_ref().map_or_else(
        || ("fallbacks       not measured".to_owned(), false),
        |it| match it.kinds.first() {
            None => ("fallbacks       none to another migrate type".to_owned(), true),
            Some(most) => (
                format!(
                    "fallbacks       {} to another migrate type, most: order {} {} from {}",
                    units::count(it.events),
                    most.order,
                    most.migratetype,
                    most.fallback_migratetype
                ),
                true,
            ),
        },
    );
    let bulk = seen.bulk.as_ref().map_or_else(
        || ("bulk            not measured".to_owned(), false),
        |it| (format!("bulk            {} pages by {} calls", units::count(it.pages), units::count(it.events)), true),
    );
    [
        latency("direct reclaim", reclaim.and_then(|it| it.direct_reclaim.as_ref())),
        latency("compaction    ", reclaim.and_then(|it| it.compaction.as_ref())),
        fallbacks,
        bulk,
    ]
}

/// Where the pages of each order came from; the first line after it.
fn lists(sheet: &mut Sheet<'_>, area: Rect, seen: &Snapshot) -> u16 {
    let remark = "in blocks; refills fill the lists from the zone";
    let list = sheet.heading(area, "per-CPU lists and zone lock", remark);
    let titles = ["allocated", "from lists", "share", "direct", "refilled", "drained"];
    let width = (list.width.saturating_sub(6) / 6).min(16);
    let mut line = |y: u16, first: &str, cells: [String; 6], style: Style| {
        sheet.put(list.x, y, 6, first, sheet.theme.title());
        for (text, x) in cells.iter().zip((list.x + 6..).step_by(usize::from(width))) {
            sheet.put_right(x, y, width, text, style);
        }
    };
    line(list.y, "order", titles.map(str::to_owned), Style::new());
    let rows = seen.pages.as_ref().map_or(&[][..], |pages| pages.by_order.as_slice());
    let mut y = list.y + 1;
    // At least the titles of the free blocks are to be seen below.
    let bottom = list.bottom().saturating_sub(8).max(y + 1);
    for row in rows {
        if y >= bottom {
            break;
        }
        line(y, &row.order.to_string(), origins(row), Style::new());
        y += 1;
    }
    if rows.is_empty() {
        sheet.put(list.x, y, list.width, "no allocation yet, or not measured", sheet.theme.faint());
        y += 1;
    }
    y + 1
}

fn origins(row: &OrderRow) -> [String; 6] {
    let optional = |number: Option<u64>| number.map_or_else(|| units::NOT_MEASURED.to_owned(), units::count);
    let direct = match (row.zone_locked, row.zone_refilled) {
        (Some(locked), Some(refilled)) => Some(locked.saturating_sub(refilled)),
        _ => None,
    };
    // What was not taken under the zone lock came from a list.
    let from_lists = direct.map(|direct| row.events.saturating_sub(direct));
    [
        units::count(row.events),
        optional(from_lists),
        from_lists.map_or_else(|| units::NOT_MEASURED.to_owned(), |it| units::percent(it, row.events)),
        optional(direct),
        optional(row.zone_refilled),
        optional(row.drained),
    ]
}

/// Free blocks by zone and order, shaded by the memory they hold, with their change; the first line after it.
fn free(sheet: &mut Sheet<'_>, area: Rect, blocks: Option<&BeforeAfter<FreeBlocks>>, seen: &Snapshot) -> u16 {
    let remark = "shaded by the memory in them; below: change since the start";
    let list = sheet.heading(area, "free blocks", remark);
    let Some(blocks) = blocks else {
        let text = "not measured at this moment (a recording has them at its end)";
        sheet.put(list.x, list.y, list.width, text, sheet.theme.faint());
        return list.y + 1;
    };
    let orders = blocks.after.values().map(Vec::len).max().unwrap_or(0);
    if orders == 0 || list.height < 2 {
        return list.y;
    }
    let name_width = 12.min(list.width);
    let width = (list.width - name_width) / u16::try_from(orders).unwrap_or(u16::MAX).max(1);
    for order in 0..orders {
        let x = list.x + name_width + width * u16::try_from(order).unwrap_or(0);
        sheet.put_right(x, list.y, width.saturating_sub(1), &Theme::digit(order).to_string(), sheet.theme.title());
    }
    let memory = |count: u64, order: usize| count as f64 * f64::from(1u32 << order.min(31));
    let most =
        blocks.after.values().flat_map(|zone| zone.iter().enumerate()).map(|(order, count)| memory(*count, order));
    let most = most.fold(0.0, f64::max);
    let mut y = list.y + 1;
    for (zone, after) in &blocks.after {
        if y + 1 >= list.bottom() {
            sheet.put(list.x, y.min(list.bottom() - 1), list.width, "more zones do not fit", sheet.theme.faint());
            return list.bottom();
        }
        let bytes = after.iter().enumerate().fold(0u64, |sum, (order, count)| {
            sum.saturating_add(count.saturating_mul(1 << order.min(31)).saturating_mul(seen.host.page_size))
        });
        sheet.put(list.x, y, name_width, zone, sheet.theme.title());
        sheet.put(list.x + 1, y + 1, name_width - 1, &units::bytes(bytes), sheet.theme.faint());
        let before = blocks.before.get(zone);
        for (order, count) in after.iter().enumerate() {
            let x = list.x + name_width + width * u16::try_from(order).unwrap_or(0);
            heat(sheet, x, y, width, *count, memory(*count, order) / most);
            let change = before.and_then(|zone| zone.get(order)).map(|then| count.wrapping_sub(*then).cast_signed());
            delta(sheet, x, y + 1, width, change);
        }
        y += 2;
    }
    y
}

fn heat(sheet: &mut Sheet<'_>, x: u16, y: u16, width: u16, count: u64, part: f64) {
    // Memory in blocks spans many powers of ten: the shade follows its logarithm.
    let level = if part > 0.0 { (4.0 + part.log10()).clamp(1.0, 4.0).round() } else { 0.0 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 4")]
    let level = level as usize;
    let shade = if sheet.theme.unicode { SHADES[level] } else { ASCII_SHADES[level] };
    sheet.put_right(x, y, width.saturating_sub(2), &number(count, width), Style::new());
    sheet.put_right(x, y, width.saturating_sub(1), shade, sheet.theme.bar());
}

fn delta(sheet: &mut Sheet<'_>, x: u16, y: u16, width: u16, change: Option<i64>) {
    let text = match change {
        None => units::NOT_MEASURED.to_owned(),
        Some(0) => "=".to_owned(),
        Some(more) if more > 0 => format!("+{}", number(more.unsigned_abs(), width)),
        Some(less) => format!("-{}", number(less.unsigned_abs(), width)),
    };
    sheet.put_right(x, y, width.saturating_sub(1), &text, sheet.theme.faint());
}

/// As many digits as a column has room for.
fn number(count: u64, width: u16) -> String {
    if width >= 9 { units::short_count(count) } else { units::tiny_count(count) }
}
