//! Rates over time: stacked by order, and as one line of bars.
//!
//! Must not know: what is charted.

use ratatui::{layout::Rect, style::Style};
use tracer_common::page::ORDERS;

use super::{
    sheet::{EIGHTHS_UP, Sheet},
    status::{per_second, whole},
    theme::Theme,
};
use crate::{
    tui::app::history::{Column, History},
    units,
};

/// Columns of the labels at the left.
const LABELS: u16 = 9;

/// Columns of the screen that one of a chart takes at most.
const WIDEST: usize = 4;

/// Draws a history as stacked areas, order 0 at the bottom; `cursor` marks a time.
pub(super) fn stacked(sheet: &mut Sheet<'_>, area: Rect, history: &History, cursor: Option<f64>) {
    if area.height < 3 || area.width <= LABELS + 4 {
        return;
    }
    let plot = Rect { x: area.x + LABELS, width: area.width - LABELS, height: area.height - 1, ..area };
    let columns = history.columns(usize::from(plot.width));
    // A short run gets wide columns.
    let each = (usize::from(plot.width) / columns.len().max(1)).clamp(1, WIDEST);
    let columns: Vec<Column> = columns.iter().flat_map(|column| std::iter::repeat_n(*column, each)).collect();
    let Some((from, to)) = history.span().filter(|_| !columns.is_empty()) else {
        sheet.put(plot.x, plot.y, plot.width, "no rate yet: two readings are needed", sheet.theme.faint());
        return;
    };
    let most = columns.iter().map(|column| column.rates.iter().sum::<f64>()).fold(0.0, f64::max);
    labels(sheet, area, plot, most);
    for (x, column) in (plot.left()..plot.right()).zip(&columns) {
        bands(sheet, plot, x, &column.rates, most, false);
    }
    // Where there is most to see, each area bears its order's digit.
    let total = |column: &Column| column.rates.iter().sum::<f64>();
    let highest = columns.iter().enumerate().max_by(|(_, a), (_, b)| total(a).total_cmp(&total(b)));
    if let Some((at, column)) = highest {
        bands(sheet, plot, plot.x + u16::try_from(at).unwrap_or(0), &column.rates, most, true);
    }
    let end = plot.x + u16::try_from(columns.len()).unwrap_or(plot.width).min(plot.width);
    let (first, last) = (units::seconds(from.as_secs_f64()), units::seconds(to.as_secs_f64()));
    let y = plot.bottom();
    let used = sheet.put(plot.x, y, plot.width, &first, sheet.theme.faint());
    let room = (end - plot.x).max(used + 1 + u16::try_from(last.len()).unwrap_or(0)).min(plot.width);
    sheet.put_right(plot.x + used, y, room.saturating_sub(used), &last, sheet.theme.faint());
    if let Some(at) = cursor {
        let span = to.saturating_sub(from).as_secs_f64();
        let share = if span > 0.0 { ((at - from.as_secs_f64()) / span).clamp(0.0, 1.0) } else { 0.0 };
        let width = f64::from(end - plot.x).max(1.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most the width, a u16")]
        let x = plot.x + ((share * width) as u16).min(plot.width - 1);
        sheet.put(x, y, 1, "^", sheet.theme.warning());
    }
}

fn labels(sheet: &mut Sheet<'_>, area: Rect, plot: Rect, most: f64) {
    let style = sheet.theme.faint();
    let label = |sheet: &mut Sheet<'_>, y: u16, rate: f64| {
        sheet.put_right(area.x, y, LABELS - 1, &format!("{}/s", per_second(rate)), style);
    };
    label(sheet, plot.top(), most);
    if plot.height >= 5 {
        label(
            sheet,
            plot.top() + plot.height / 2,
            most * f64::from(plot.height - plot.height / 2) / f64::from(plot.height),
        );
    }
    label(sheet, plot.bottom() - 1, 0.0);
}

/// One column: in each cell the order that fills most of it; the topmost cell is filled in part.
fn bands(sheet: &mut Sheet<'_>, plot: Rect, x: u16, rates: &[f64; ORDERS], most: f64, labelled: bool) {
    let total: f64 = rates.iter().sum();
    if most <= 0.0 || total <= 0.0 {
        return;
    }
    let height = f64::from(plot.height);
    let scale = height / most;
    let mut order_below = None;
    for row in 0..plot.height {
        // Of this cell, from its lower to its upper edge, in rows from the bottom.
        let (low, high) = (f64::from(row), f64::from(row) + 1.0);
        let filled = (total * scale).min(high) - low;
        if filled <= 0.0 && row > 0 {
            break;
        }
        let mut below = 0.0;
        let mut widest = (0.0, 0);
        for (order, rate) in rates.iter().enumerate() {
            let (from, to) = (below, below + rate * scale);
            below = to;
            let share = to.min(high) - from.max(low);
            if share > widest.0 {
                widest = (share, order);
            }
        }
        let order = widest.1;
        let eighth = eighths(filled).max(usize::from(row == 0));
        if eighth == 0 {
            break;
        }
        let is_label = labelled && order_below != Some(order) && eighth >= 6;
        order_below = Some(order);
        let symbol = if sheet.theme.color && sheet.theme.unicode && !is_label {
            EIGHTHS_UP[eighth]
        } else if eighth >= 4 || row == 0 {
            // Without colours the area is made of the order's own digit.
            Theme::digit(order)
        } else {
            break;
        };
        let style =
            if is_label && sheet.theme.color { sheet.theme.order_area(order) } else { sheet.theme.order(order) };
        let y = plot.bottom() - 1 - row;
        sheet.cells[(x, y)].set_char(symbol).set_style(style);
    }
}

/// Draws values as one row of bars, the newest at the right end.
pub(super) fn line(sheet: &mut Sheet<'_>, x: u16, y: u16, width: u16, values: &[f64], style: Style) {
    let shown = &values[values.len().saturating_sub(usize::from(width))..];
    let most = shown.iter().copied().fold(0.0, f64::max);
    let bars: String = shown.iter().map(|value| bar(*value, most, sheet.theme)).collect();
    sheet.put(x, y, width, &bars, style);
}

/// A bar as high as a value's share of the most; only nothing is empty.
pub(super) fn bar(value: f64, most: f64, theme: Theme) -> char {
    if value <= 0.0 || most <= 0.0 {
        return if theme.unicode { ' ' } else { '.' };
    }
    let share = (value / most).clamp(0.0, 1.0);
    if theme.unicode {
        EIGHTHS_UP[eighths(share).max(1)]
    } else {
        // Tenths.
        char::from_digit(u32::try_from(whole(share * 9.0)).unwrap_or(9).min(9), 10).unwrap_or('9')
    }
}

/// The nearest number of eighths of a part from 0 to 1.
fn eighths(part: f64) -> usize {
    usize::try_from(whole(part * 8.0)).unwrap_or(8).min(8)
}
