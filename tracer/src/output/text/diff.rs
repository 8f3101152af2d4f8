//! A comparison as text: what is unfair about it first, then scores, then allocations per unit of work.
//!
//! Must not know: how anything was compared.

mod counts;
mod scores;

use std::io;

use super::{
    Options,
    sheet::{Sheet, Tone},
};
use crate::{
    compare::{Change, Diff, Group, Judgement, ScoreVerdict, State},
    snapshot::Verdict,
    units,
};

/// Writes the whole comparison.
pub fn write(diff: &Diff, options: &Options, out: &mut dyn io::Write) -> io::Result<()> {
    let mut sheet = Sheet::new(options.style);
    sheet.heading("compared", "");
    runs("A", &diff.a, &mut sheet);
    runs("B", &diff.b, &mut sheet);
    sheet.hanging("test     ", &test(diff));
    verdict(diff, &mut sheet);
    setup(diff, &mut sheet);
    scores::write(diff, &mut sheet);
    if let Some(pages) = &diff.pages {
        counts::write(diff, pages, options, &mut sheet);
    } else {
        sheet.heading("allocations", "");
        sheet.line("not measured in every run");
    }
    counts::sockets(diff, &mut sheet);
    losses(diff, &mut sheet);
    sheet.write(out)
}

fn runs(name: &str, group: &Group, sheet: &mut Sheet) {
    for run in &group.runs {
        let words = format!("{}, {} from {}", run.name, units::seconds(run.duration_s), run.start);
        sheet.hanging(&format!("{name}        "), &words);
        for warning in &run.warnings {
            sheet.toned(Tone::Warning, "         warning: ", warning);
        }
    }
}

fn test(diff: &Diff) -> String {
    let [a, b] = diff.test.n;
    let noise = diff.test.noise_percent.map(|noise| format!("{} %", units::score(noise)));
    match (diff.test.name, noise) {
        ("welch", noise) => {
            let level = (1.0 - diff.test.error_level.unwrap_or(0.0)) * 100.0;
            let noise = noise.map_or(String::new(), |noise| format!(" and it is larger than the noise of {noise}"));
            let chance = diff.test.tested as f64 * diff.test.error_level.unwrap_or(0.0);
            format!(
                "`*` where Welch's t-test finds a difference at {level:.0} %, n = {a} + {b}{noise}; {} changes were \
                 tested, of which about {chance:.0} would bear the mark by chance",
                units::count(diff.test.tested as u64)
            )
        }
        (_, Some(noise)) => format!("`*` where the change is larger than the stated noise of {noise}, n = {a} + {b}"),
        (_, None) => format!(
            "none: n = {a} + {b} tells nothing of the noise; name several runs of each (`A1,A2 B1,B2`) or state it \
             (`--noise 2%`)"
        ),
    }
}

fn verdict(diff: &Diff, sheet: &mut Sheet) {
    let (tone, words) = match diff.verdict {
        ScoreVerdict::NoScore => (Tone::Warning, "no score to compare"),
        ScoreVerdict::NoClaim => (Tone::Warning, "no claim: too few runs to tell a change from noise"),
        ScoreVerdict::NoSignificantChange => (Tone::Good, "no significant change of the score"),
        ScoreVerdict::WithinNoise => (Tone::Good, "within the noise"),
        ScoreVerdict::Better => (Tone::Good, "better"),
        ScoreVerdict::Worse => (Tone::Bad, "worse"),
        ScoreVerdict::Mixed => (Tone::Warning, "mixed: some figures are better, some worse"),
    };
    sheet.toned(tone, "verdict  ", words);
}

fn setup(diff: &Diff, sheet: &mut Sheet) {
    if diff.setup.is_empty() {
        return;
    }
    sheet.heading("not alike", "whatever of this is not what you test makes the comparison unfair");
    for difference in &diff.setup {
        let side = |values: &[String]| if values.is_empty() { "-".to_owned() } else { values.join(" | ") };
        sheet.toned(Tone::Warning, "! ", &format!("{}: {}", difference.what, difference.meaning));
        sheet.hanging("    A  ", &side(&difference.a));
        sheet.hanging("    B  ", &side(&difference.b));
    }
}

fn losses(diff: &Diff, sheet: &mut Sheet) {
    sheet.heading("losses", "of each run; `?` above marks changes that are not larger");
    for (name, group) in [("A", &diff.a), ("B", &diff.b)] {
        for run in &group.runs {
            let word = match run.verdict {
                Verdict::Exact => "exact",
                Verdict::LowerBound => "lower bound",
                Verdict::Estimate => "estimate",
            };
            let happened = run.events.map(|events| events.saturating_add(run.losses.uncounted));
            let lost = |events: u64| match happened {
                Some(happened) if events > 0 => {
                    format!("{} ({})", units::count(events), units::percent(events, happened))
                }
                _ => units::count(events),
            };
            let words = format!(
                "{word}: {} without a path, {} not counted at all; {}",
                lost(run.losses.without_path),
                lost(run.losses.uncounted),
                run.name
            );
            sheet.hanging(&format!("{name}  "), &words);
        }
    }
}

/// A change in a cell, without its mark.
fn cell(change: &Change) -> String {
    match change.state {
        State::New => "new".to_owned(),
        State::Gone => "gone".to_owned(),
        State::Same | State::More | State::Less | State::NotMeasured => units::change(change.percent),
    }
}

/// What is claimed of a change, in one character: `*` real, `?` no larger than what was lost.
fn mark(change: &Change, could_be_loss: bool) -> &'static str {
    match change.judgement {
        _ if could_be_loss => "?",
        Judgement::Significant | Judgement::BeyondNoise => "*",
        Judgement::NotSignificant | Judgement::WithinNoise | Judgement::Untested => "",
    }
}
