//! Allocations per unit of work: totals, orders, routes, contexts and the paths that changed most.

use super::{
    super::{
        Options,
        sheet::{Column, Sheet, TIE, Tone},
    },
    cell, mark,
};
use crate::{
    compare::{Change, Diff, Measure, Measures, PagesDiff, PathChange, State},
    output::Weight,
    units,
};

/// A run that lost more than this share of its events gives figures that are dimmed.
const MUCH_LOST_PERCENT: f64 = 1.0;

/// Writes all tables of counts.
pub(super) fn write(diff: &Diff, pages: &PagesDiff, options: &Options, sheet: &mut Sheet) {
    let per = format!("a {}", pages.per.unit);
    let dim = much_lost(diff);
    sheet.heading("allocations", &format!("{per}; positive is more"));
    let columns = |title| {
        [Column::Left(title), Column::Right("A"), Column::Right("B"), Column::Right("change"), Column::Left("")]
    };
    let rows = pages.totals.iter().map(|row| {
        let figure = if row.what == "bytes" { bytes } else { units::figure };
        cells(&row.what.replace('_', " "), &row.measure, false, figure, false, sheet)
    });
    sheet.table(&columns("in all"), rows.collect());
    let unit = options.weight.name();
    let figure = figure(options.weight);
    let mut table = |title, column, rows: Vec<(String, &Measures)>| {
        if !rows.is_empty() {
            sheet.heading(title, &format!("{unit} {per}; positive is more"));
            let rows = rows.into_iter().map(|(name, measures)| {
                cells(&name, measure(measures, options.weight), measures.could_be_loss, figure, dim, sheet)
            });
            let rows = rows.collect();
            sheet.table(&columns(column), rows);
        }
    };
    table("orders", "order", pages.by_order.iter().map(|row| (row.order.to_string(), &row.measures)).collect());
    table("routes", "route", pages.by_route.iter().map(|row| (row.route.clone(), &row.measures)).collect());
    let contexts = pages.by_context.iter().map(|row| (row.context.clone(), &row.measures));
    let left_out = contexts.len().saturating_sub(options.top);
    table("contexts", "context", contexts.take(options.top).collect());
    if left_out > 0 {
        sheet.line(&format!("not shown: {left_out} contexts that changed less"));
    }
    paths(pages, options, &per, sheet);
}

/// Socket memory, where every run saw its charges.
pub(super) fn sockets(diff: &Diff, sheet: &mut Sheet) {
    if diff.sockets.is_empty() {
        return;
    }
    let unit = diff.pages.as_ref().map_or("unit", |pages| pages.per.unit.as_str());
    sheet.heading("socket memory", &format!("charges, pages and refusals a {unit}; positive is more"));
    let rows = diff.sockets.iter().map(|row| {
        let what = row.what.replace("_a_charge", " a charge").replace('_', " ");
        let mut line = cells("", &row.measure, false, units::figure, false, sheet);
        line[0] = format!("{} {} {what}", row.protocol, row.direction);
        line
    });
    let rows = rows.collect();
    let columns = [Column::Left(""), Column::Right("A"), Column::Right("B"), Column::Right("change"), Column::Left("")];
    sheet.table(&columns, rows);
}

fn paths(pages: &PagesDiff, options: &Options, per: &str, sheet: &mut Sheet) {
    let difference = |path: &PathChange| measure(&path.measures, options.weight).difference().abs();
    let mut changed: Vec<&PathChange> = pages.paths.iter().filter(|path| difference(path) > 0.0).collect();
    changed.sort_by(|a, b| difference(b).total_cmp(&difference(a)));
    let unit = options.weight.name();
    sheet.heading("changed paths", &format!("{unit} {per}; innermost first, `<` is called by"));
    for (rank, path) in changed.iter().take(options.top).enumerate() {
        let measure = measure(&path.measures, options.weight);
        let figure = figure(options.weight);
        let side = |side: &Option<_>| {
            side.as_ref().map_or_else(|| units::NOT_MEASURED.to_owned(), |it: &crate::stats::Summary| figure(it.mean))
        };
        let mark = mark(&measure.change, path.measures.could_be_loss);
        let of = match (&path.route, &path.context) {
            (Some(route), Some(context)) => format!("{route}  {context}"),
            _ => String::new(),
        };
        let title = format!(
            "{:>2}  {:>10}{mark:1}  {} -> {}  {}",
            rank + 1,
            cell(&measure.change),
            side(&measure.a),
            side(&measure.b),
            sheet.clean(&of)
        );
        let title = sheet.paint(tone(&measure.change), title.trim_end());
        sheet.push(&title);
        let frames: Vec<String> = path.frames.iter().map(|frame| frame.replace(' ', &TIE.to_string())).collect();
        sheet.hanging("    ", &frames.join(&format!("{TIE}< ")));
    }
    let same = pages.paths.len() - changed.len();
    let count = |state| {
        changed.iter().filter(|path| measure(&path.measures, options.weight).change.state == state).count() as u64
    };
    let (new, gone) = (count(State::New), count(State::Gone));
    sheet.line(&format!(
        "{} paths changed, {} of them new and {} gone; {} did not; not shown: {}",
        units::count(changed.len() as u64),
        units::count(new),
        units::count(gone),
        units::count(same as u64),
        units::count(changed.len().saturating_sub(options.top) as u64)
    ));
}

fn cells(
    name: &str,
    measure: &Measure,
    could_be_loss: bool,
    figure: fn(f64) -> String,
    dim: bool,
    sheet: &Sheet,
) -> Vec<String> {
    let side = |side: &Option<crate::stats::Summary>| {
        side.as_ref().map_or_else(|| units::NOT_MEASURED.to_owned(), |it| figure(it.mean))
    };
    let mark = mark(&measure.change, could_be_loss);
    let change = cell(&measure.change);
    let row = [sheet.name(name), side(&measure.a), side(&measure.b), change, mark.to_owned()];
    let tone = if dim { Tone::Faint } else { tone(&measure.change) };
    if dim {
        return row.iter().map(|text| sheet.paint(tone, text)).collect();
    }
    let [name, a, b, change, mark] = row;
    vec![name, a, b, sheet.paint(tone, &change), mark]
}

/// More or fewer allocations are neither good nor bad: only what is claimed stands out.
fn tone(change: &Change) -> Tone {
    if change.is_marked() { Tone::Title } else { Tone::Faint }
}

fn measure(measures: &Measures, weight: Weight) -> &Measure {
    match weight {
        Weight::Events => &measures.events,
        Weight::Pages => &measures.pages,
        Weight::Bytes => &measures.bytes,
    }
}

fn figure(weight: Weight) -> fn(f64) -> String {
    match weight {
        Weight::Events | Weight::Pages => units::figure,
        Weight::Bytes => bytes,
    }
}

/// Whole bytes with a unit; fractions of a byte mean little, but less than one is not nothing.
fn bytes(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of counts; `as` saturates")]
    let whole = value.round() as u64;
    if value > 0.0 && whole < 10 { format!("{} B", units::figure(value)) } else { units::bytes(whole) }
}

fn much_lost(diff: &Diff) -> bool {
    diff.a.runs.iter().chain(&diff.b.runs).any(|run| {
        let lost = run.losses.without_path.saturating_add(run.losses.uncounted) as f64;
        lost * 100.0 > MUCH_LOST_PERCENT * run.events.unwrap_or(0) as f64
    })
}
