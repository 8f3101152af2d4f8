//! The stacks as an icicle: the outermost frame on top, each as wide as what it weighs.

use ratatui::{layout::Rect, style::Style};
use tracer_common::page::ORDERS;

use super::{
    sheet::{Sheet, wrap},
    theme::Theme,
};
use crate::{
    output::Weight,
    snapshot::Snapshot,
    tui::app::{App, flame::Node},
    units,
};

/// Lines at the foot: the frame selected and the orders' colours.
const FOOT: u16 = 3;

/// Callers shown of what is zoomed into.
const CALLERS: usize = 3;

/// Draws the screen.
pub(super) fn draw(sheet: &mut Sheet<'_>, area: Rect, app: &App, seen: &Snapshot) {
    let tree = &app.flame.tree;
    let rows = usize::from(area.height.saturating_sub(FOOT + 2));
    let cut = if tree.depth > rows { "; Enter zooms to what is deeper" } else { "" };
    let remark = format!("width: {}; the caller above, the callee below{cut}", app.weight.name());
    let plot = sheet.heading(Rect { height: area.height.saturating_sub(FOOT), ..area }, "stacks", &remark);
    if tree.weight == 0 {
        let why = if seen.pages.is_none() { "page allocations are not measured" } else { "no allocation yet" };
        sheet.put(plot.x, plot.y, plot.width, why, sheet.theme.faint());
        return;
    }
    // What is zoomed into may be gone.
    let zoom = if tree.at(&app.flame.zoom).is_some() { app.flame.zoom.as_slice() } else { &[] };
    let mut above = plot.top();
    let mut node = tree;
    // Of the callers of what is zoomed into, the nearest are enough: the rows are for what lies below.
    for depth in zoom.len().saturating_sub(CALLERS)..=zoom.len() {
        if above >= plot.bottom() {
            return;
        }
        let way: Vec<&str> = zoom[..depth].iter().map(String::as_str).collect();
        node = tree.at(&zoom[..depth]).unwrap_or(tree);
        frame(sheet, Rect { y: above, height: 1, ..plot }, app, node, &way);
        above += 1;
    }
    let mut way: Vec<&str> = zoom.iter().map(String::as_str).collect();
    let below = Rect { y: above, height: plot.bottom().saturating_sub(above), ..plot };
    callees(sheet, below, app, node, &mut way);
    foot(sheet, Rect { y: area.bottom().saturating_sub(FOOT), height: FOOT, ..area }, app, seen);
}

/// Draws what a frame called, under it.
fn callees<'app>(sheet: &mut Sheet<'_>, area: Rect, app: &App, node: &'app Node, way: &mut Vec<&'app str>) {
    if area.height == 0 || area.width == 0 || node.weight == 0 {
        return;
    }
    let mut before: u128 = 0;
    let column = |weight: u128| {
        // Below the width, which is 16 bits wide.
        let x = weight * u128::from(area.width) / u128::from(node.weight);
        area.x + u16::try_from(x).unwrap_or(area.width).min(area.width)
    };
    for callee in &node.callees {
        let from = column(before);
        before += u128::from(callee.weight);
        let to = column(before);
        if to <= from {
            continue;
        }
        way.push(&callee.name);
        let place = Rect { x: from, width: to - from, ..area };
        frame(sheet, Rect { height: 1, ..place }, app, callee, way);
        callees(sheet, Rect { y: place.y + 1, height: place.height - 1, ..place }, app, callee, way);
        way.pop();
    }
}

/// Draws one frame. The last column of a wide one stays free, so that neighbours are told apart without colours.
fn frame(sheet: &mut Sheet<'_>, place: Rect, app: &App, node: &Node, way: &[&str]) {
    let name = if way.is_empty() { "all" } else { node.name.as_str() };
    let mut style = sheet.theme.order_area(node.order());
    if app.is_match(name) {
        style = style.patch(sheet.theme.found());
    }
    if app.flame.selected == *way {
        style = sheet.theme.selected().patch(sheet.theme.title());
    }
    let width = if place.width > 2 { place.width - 1 } else { place.width };
    let text = match width {
        0 => return,
        1 if sheet.theme.unicode => "▏".to_owned(),
        1 => "|".to_owned(),
        _ => format!("{name:width$}", width = usize::from(width)),
    };
    sheet.put(place.x, place.y, width, &text, style);
}

fn foot(sheet: &mut Sheet<'_>, area: Rect, app: &App, seen: &Snapshot) {
    let tree = &app.flame.tree;
    let node = tree.at(&app.flame.selected).unwrap_or(tree);
    let name = if app.flame.selected.is_empty() || node.name.is_empty() { "all" } else { node.name.as_str() };
    let weight = match app.weight {
        Weight::Bytes => units::bytes(node.weight),
        Weight::Events | Weight::Pages => format!("{} {}", units::count(node.weight), app.weight.name()),
    };
    let text = format!("{weight}, {} of all", units::percent(node.weight, tree.weight));
    sheet.pieces(
        area.x,
        area.y,
        area.width,
        &[(name, sheet.theme.title()), ("  ", Style::new()), (&text, Style::new())],
    );
    // Its orders in words, in the colours of the picture.
    let mut x = area.x;
    let most = usize::from(seen.host.max_order).min(ORDERS - 1);
    for order in (0..=most).filter(|order| node.by_order[*order] > 0) {
        if x + 16 > area.right() {
            break;
        }
        let label = format!(" {} ", Theme::digit(order));
        x += sheet.put(x, area.y + 1, 3, &label, sheet.theme.order_area(order));
        let percent = format!(" {}  ", units::percent(node.by_order[order], node.weight));
        x += sheet.put(x, area.y + 1, 12, &percent, Style::new());
    }
    let way = app.flame.selected.join(" > ");
    // The end of the way says most.
    let line = wrap(&way, area.width).pop().unwrap_or_default();
    sheet.put(area.x, area.y + 2, area.width, &line, sheet.theme.faint());
}
