//! What changed between two runs, or two groups of runs.
//!
//! Owns: the comparison and its JSON form `tracer.diff/1`. Scores are compared as mmtests does (positive is better),
//! counts after division by the work done. A change is only called significant by a test or against a stated noise.
//! Must not know: files, how numbers are shown.

mod judge;
mod pages;
mod score;
mod setup;
mod sockets;

use anyhow::{Result, bail};
use serde::Serialize;

pub use judge::{Change, Judgement, State};
pub use pages::{Base, ContextChange, Measure, Measures, OrderChange, PagesDiff, PathChange, RouteChange, TotalChange};
pub use score::{Gains, ScoreChange};
pub use setup::Difference;
pub use sockets::SocketChange;

use crate::{
    model::{Filter, Model},
    run::Work,
    snapshot::{Snapshot, Verdict, sum},
};

/// The name of the JSON form.
pub const SCHEMA: &str = "tracer.diff/1";

/// One run of a group.
#[derive(Clone, Debug)]
pub struct Run {
    /// What the user calls it, such as its file.
    pub name: String,
    /// What is compared of it.
    pub snapshot: Snapshot,
    /// What its benchmark did; `None` when unknown.
    pub work: Option<Work>,
    /// What all of it lacks, whatever the filter shows.
    pub losses: Losses,
}

/// Events that a comparison lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// In the totals by order, but under no path.
    pub without_path: u64,
    /// In no sum at all: lost before they were counted, or missed by the hook.
    pub uncounted: u64,
}

/// How to compare.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// Changes of up to so many percent are noise; `None`: not stated.
    pub noise_percent: Option<f64>,
}

/// What changed from A to B.
#[derive(Clone, Debug, Serialize)]
pub struct Diff {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The runs compared with.
    pub a: Group,
    /// The runs that are compared.
    pub b: Group,
    /// What differs between them beside what was measured.
    pub setup: Vec<Difference>,
    /// How changes are judged.
    pub test: Test,
    /// What comes of the scores.
    pub verdict: ScoreVerdict,
    /// The benchmark's figures, in the order in which it printed them.
    pub scores: Vec<ScoreChange>,
    /// Wall, user and system time of the command.
    pub times: Vec<ScoreChange>,
    /// Page allocations; `None` when they were not measured in every run.
    pub pages: Option<PagesDiff>,
    /// Socket memory by protocol and direction; empty unless charges were seen in every run.
    pub sockets: Vec<SocketChange>,
}

/// One side.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// Its runs.
    pub runs: Vec<RunRow>,
}

/// A run, as far as it is needed to read the comparison.
#[derive(Clone, Debug, Serialize)]
pub struct RunRow {
    /// What the user calls it.
    pub name: String,
    /// When it began, RFC 3339, UTC.
    pub start: String,
    /// How long it took, s.
    pub duration_s: f64,
    /// How far its counts are to be trusted.
    pub verdict: Verdict,
    /// Successful allocations counted; `None` when not measured.
    pub events: Option<u64>,
    /// What it lacks.
    pub losses: Losses,
    /// What to know before trusting its counts and its score, in words.
    pub warnings: Vec<String>,
}

/// How changes are judged.
#[derive(Clone, Debug, Serialize)]
pub struct Test {
    /// `welch` where both groups have two runs or more; `noise` or `none` elsewhere.
    pub name: &'static str,
    /// The probability with which a significant difference is none, at most; `None` without Welch's test.
    pub error_level: Option<f64>,
    /// The noise stated; `None` without.
    pub noise_percent: Option<f64>,
    /// Runs in A and in B.
    pub n: [usize; 2],
    /// Changes that were put to the test: of so many, the error level's share is marked by chance.
    pub tested: usize,
}

/// What comes of the scores as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ScoreVerdict {
    /// No score is there on both sides.
    NoScore,
    /// One run each and no noise stated: whatever changed, nothing is claimed.
    NoClaim,
    /// The test finds no difference.
    NoSignificantChange,
    /// All changes are within the noise stated.
    WithinNoise,
    /// Some are better, none worse.
    Better,
    /// Some are worse, none better.
    Worse,
    /// Some are better, some worse.
    Mixed,
}

impl Run {
    /// The part of a run that the filter lets through.
    pub fn new(name: String, model: &Model, filter: &Filter) -> Self {
        let whole = model.snapshot();
        let without_path = whole.pages.as_ref().map_or(0, |pages| pages.lost);
        let lost = sum(whole.completeness.lost.values().copied());
        let hook = whole.signals.iter().find(|row| row.signal == "page.alloc");
        let missed = hook.and_then(|row| row.missed).unwrap_or(0);
        let losses = Losses { without_path, uncounted: lost.saturating_sub(without_path).saturating_add(missed) };
        let snapshot = if *filter == Filter::default() { whole } else { model.snapshot_of(filter) };
        Self { name, snapshot, work: model.work().cloned(), losses }
    }

    /// Events of the whole run that were counted.
    fn counted(&self) -> Option<u64> {
        self.snapshot.signals.iter().find(|row| row.signal == "page.alloc").and_then(|row| row.events)
    }
}

/// Compares two groups.
///
/// # Errors
/// A group is empty, or holds the same run twice: it would count as two that agree to the last digit.
pub fn compare(a: &[Run], b: &[Run], options: Options) -> Result<Diff> {
    for group in [a, b] {
        if group.is_empty() {
            bail!("a group without runs cannot be compared");
        }
        for (index, run) in group.iter().enumerate() {
            let is_same = |other: &&Run| {
                (&other.snapshot.window, &other.snapshot.host) == (&run.snapshot.window, &run.snapshot.host)
            };
            if let Some(twin) = group[..index].iter().find(is_same) {
                bail!(
                    "`{}` and `{}` are the same run: in one group it would seem to agree with itself; name each run once",
                    twin.name,
                    run.name
                );
            }
        }
    }
    let judge = judge::Judge { noise_percent: options.noise_percent };
    let scores = score::results(a, b, judge);
    let times = score::times(a, b, judge);
    let pages = pages::compare(a, b, judge);
    let sockets = sockets::compare(a, b, &Base::new(a, b), judge);
    let changes =
        scores.iter().chain(&times).map(|row| &row.change).chain(sockets.iter().map(|row| &row.measure.change));
    let tested = changes.chain(pages.iter().flat_map(PagesDiff::changes)).filter(|it| it.welch.is_some()).count();
    let n = [a.len(), b.len()];
    let name = match options.noise_percent {
        _ if n.iter().all(|runs| *runs > 1) => "welch",
        Some(_) => "noise",
        None => "none",
    };
    Ok(Diff {
        schema: SCHEMA,
        a: Group::new(a),
        b: Group::new(b),
        setup: setup::differences(a, b),
        test: Test {
            name,
            error_level: (name == "welch").then_some(crate::stats::ERROR_LEVEL),
            noise_percent: options.noise_percent,
            n,
            tested,
        },
        verdict: verdict(if scores.is_empty() { &times } else { &scores }),
        scores,
        times,
        pages,
        sockets,
    })
}

fn verdict(rows: &[ScoreChange]) -> ScoreVerdict {
    // How long a test ran is neither good nor bad.
    let measured = || rows.iter().filter(|row| row.change.state != State::NotMeasured && row.metric != "elapsed");
    if measured().next().is_none() {
        return ScoreVerdict::NoScore;
    }
    let better = measured().any(|row| row.change.is_marked() && row.is_better());
    let worse = measured().any(|row| row.change.is_marked() && !row.is_better());
    let any = |judgement| measured().any(|row| row.change.judgement == judgement);
    match (better, worse) {
        (true, true) => ScoreVerdict::Mixed,
        (true, false) => ScoreVerdict::Better,
        (false, true) => ScoreVerdict::Worse,
        (false, false) if any(Judgement::Untested) => ScoreVerdict::NoClaim,
        (false, false) if any(Judgement::NotSignificant) => ScoreVerdict::NoSignificantChange,
        (false, false) => ScoreVerdict::WithinNoise,
    }
}

/// Of the tracer and of the benchmark.
fn warnings(snapshot: &Snapshot) -> Vec<String> {
    let of_benchmark = snapshot.benchmark.iter().flat_map(|benchmark| &benchmark.warnings);
    snapshot.completeness.warnings.iter().chain(of_benchmark).cloned().collect()
}

impl Group {
    fn new(runs: &[Run]) -> Self {
        let row = |run: &Run| RunRow {
            name: run.name.clone(),
            start: run.snapshot.window.start.clone(),
            duration_s: run.snapshot.window.duration_s,
            verdict: run.snapshot.completeness.verdict,
            events: run.counted(),
            losses: run.losses,
            warnings: warnings(&run.snapshot),
        };
        Self { runs: runs.iter().map(row).collect() }
    }
}
