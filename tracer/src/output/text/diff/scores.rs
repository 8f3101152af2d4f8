//! The score table, in the manner of mmtests.

use super::{
    super::sheet::{Column, Sheet, Tone},
    cell, mark,
};
use crate::{
    compare::{Diff, Judgement, ScoreChange, State},
    stats::{MeanKind, Summary},
    units,
};

/// Writes scores and times.
pub(super) fn write(diff: &Diff, sheet: &mut Sheet) {
    section("scores", &diff.scores, sheet);
    section("times", &diff.times, sheet);
}

fn section(title: &str, rows: &[ScoreChange], sheet: &mut Sheet) {
    if rows.is_empty() {
        return;
    }
    sheet.heading(title, "positive is better; of what is marked (-) less is better");
    let columns =
        [Column::Left("figure"), Column::Right("A"), Column::Right("B"), Column::Right("gain"), Column::Left("")];
    let mut cells = Vec::new();
    for row in rows {
        cells.extend(lines(row, sheet));
    }
    sheet.table(&columns, cells);
}

/// One line a statistic, under the name of the figure; a single one where there is one run each.
fn lines(row: &ScoreChange, sheet: &Sheet) -> Vec<Vec<String>> {
    let sense = if row.lower_is_better { " (-)" } else { "" };
    let unit = if row.unit == row.metric { "" } else { &row.unit };
    let name = sheet.clean(&format!("{} {} {unit}{sense}", row.side, row.metric).replace("  ", " "));
    let several = [&row.a, &row.b].into_iter().flatten().any(|side| side.n > 1);
    let figure = |side: &Option<Summary>, of: &dyn Fn(&Summary) -> Option<f64>| {
        side.as_ref().and_then(of).map_or_else(|| units::NOT_MEASURED.to_owned(), units::figure)
    };
    let line = |label: &str, of: &dyn Fn(&Summary) -> Option<f64>, gain: Option<f64>| {
        let (a, b) = (figure(&row.a, of), figure(&row.b, of));
        vec![label.to_owned(), a, b, units::change(gain), String::new()]
    };
    let label = match row.mean {
        _ if !several => &name,
        MeanKind::Amean => "  Amean",
        MeanKind::Hmean => "  Hmean",
    };
    let mut main = line(label, &|side| Some(side.mean), row.gains.mean);
    if matches!(row.change.state, State::New | State::Gone) {
        main[3] = cell(&row.change);
    }
    format!("{} {}", mark(&row.change, false), why(row)).trim_end().clone_into(&mut main[4]);
    if row.change.is_marked() {
        main[3] = sheet.paint(if row.is_better() { Tone::Good } else { Tone::Bad }, &main[3]);
    }
    if !several {
        return vec![main];
    }
    let mut title = vec![String::new(); main.len()];
    title[0] = name;
    vec![
        title,
        line("  Min", &|side| Some(side.min), row.gains.min),
        main,
        line("  Stddev", &|side| side.stddev, row.gains.stddev),
        line("  CoeffVar %", &|side| side.coeff_var_percent, row.gains.coeff_var),
        line("  Max", &|side| Some(side.max), row.gains.max),
    ]
}

/// On what the mark, or its absence, rests.
fn why(row: &ScoreChange) -> String {
    let p = row.change.welch.map_or_else(String::new, |welch| match welch.p {
        p if p < 0.001 => "p < 0.001".to_owned(),
        p => format!("p = {p:.3}"),
    });
    match row.change.judgement {
        _ if row.change.state == State::NotMeasured => "not in every run".to_owned(),
        Judgement::Significant | Judgement::NotSignificant => p,
        Judgement::BeyondNoise => "beyond the noise".to_owned(),
        Judgement::WithinNoise => "within the noise".to_owned(),
        Judgement::Untested => String::new(),
    }
}
