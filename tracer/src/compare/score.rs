//! The benchmark's figures and the command's times, side by side as mmtests shows them: positive is better.
//!
//! Must not know: which benchmarks there are.

use serde::Serialize;

use super::{
    Run,
    judge::{Change, Judge, State},
};
use crate::{
    run::Score,
    snapshot::Command,
    stats::{MeanKind, Summary, change_percent},
};

/// Figures of single instances stand beside their mean, whose name they bear with this at its end.
const OF_INSTANCE: &str = "_instance";

/// One figure in both groups.
#[derive(Clone, Debug, Serialize)]
pub struct ScoreChange {
    /// What it measures, as the benchmark's parser named it; `wall`, `user` and `system` of the command's times.
    pub metric: String,
    /// `send`, `receive` or `both`; `command` for the command's times.
    pub side: String,
    /// Its unit.
    pub unit: String,
    /// Whether less is better.
    pub lower_is_better: bool,
    /// Which mean: harmonic for rates.
    pub mean: MeanKind,
    /// In A; `None` unless every run has it.
    pub a: Option<Summary>,
    /// In B; `None` unless every run has it.
    pub b: Option<Summary>,
    /// By how much B is better.
    pub gains: Gains,
    /// How the means changed, and whether that is more than chance. Its sign is that of the number, not of the gain.
    pub change: Change,
}

/// By how much B is better than A, in percent of A; `None` where one was not measured or A is 0. Less spread is better.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Gains {
    /// Of the smallest.
    pub min: Option<f64>,
    /// Of the means.
    pub mean: Option<f64>,
    /// Of the standard deviations.
    pub stddev: Option<f64>,
    /// Of the coefficients of variation.
    pub coeff_var: Option<f64>,
    /// Of the largest.
    pub max: Option<f64>,
}

impl ScoreChange {
    /// Whether B is better, by whatever little.
    pub fn is_better(&self) -> bool {
        match self.change.state {
            State::More | State::New => !self.lower_is_better,
            State::Less | State::Gone => self.lower_is_better,
            State::Same | State::NotMeasured => false,
        }
    }

    fn new(key: &Score, a: Vec<f64>, b: Vec<f64>, runs: (usize, usize), judge: Judge) -> Self {
        let mean = if is_rate(&key.unit) && a.iter().chain(&b).all(|value| *value >= 0.0) {
            MeanKind::Hmean
        } else {
            MeanKind::Amean
        };
        // A figure that some runs lack is the figure of another group.
        let summary = |values: Vec<f64>, runs| Summary::new(values, mean).filter(|summary| summary.n == runs);
        let (a, b) = (summary(a, runs.0), summary(b, runs.1));
        let gains = match (&a, &b) {
            (Some(a), Some(b)) => Gains::new(a, b, key.lower_is_better),
            _ => Gains::default(),
        };
        Self {
            metric: key.metric.clone(),
            side: key.side.clone(),
            unit: key.unit.clone(),
            lower_is_better: key.lower_is_better,
            mean,
            change: judge.change(a.as_ref(), b.as_ref()),
            a,
            b,
            gains,
        }
    }
}

impl Gains {
    fn new(a: &Summary, b: &Summary, lower_is_better: bool) -> Self {
        let gain = |from, to| {
            let change = change_percent(from, to)?;
            // No change has no sign.
            Some(if lower_is_better && change != 0.0 { -change } else { change })
        };
        let less = |from: Option<f64>, to: Option<f64>| {
            let change = change_percent(from?, to?)?;
            Some(if change == 0.0 { change } else { -change })
        };
        Self {
            min: gain(a.min, b.min),
            mean: gain(a.mean, b.mean),
            stddev: less(a.stddev, b.stddev),
            coeff_var: less(a.coeff_var_percent, b.coeff_var_percent),
            max: gain(a.max, b.max),
        }
    }
}

/// What the benchmarks printed.
pub(super) fn results(a: &[Run], b: &[Run], judge: Judge) -> Vec<ScoreChange> {
    let scores = |run: &Run| run.snapshot.benchmark.as_ref().map_or(Vec::new(), |it| own_scores(&it.results));
    table(a, b, judge, scores)
}

/// How long the commands took.
pub(super) fn times(a: &[Run], b: &[Run], judge: Judge) -> Vec<ScoreChange> {
    table(a, b, judge, |run| run.snapshot.command.as_ref().map_or(Vec::new(), times_of))
}

fn times_of(command: &Command) -> Vec<Score> {
    let times = [("wall", command.wall_s), ("user", command.user_s), ("system", command.system_s)];
    let score = |(metric, value): (&str, Option<f64>)| {
        let (metric, side, unit) = (metric.to_owned(), "command".to_owned(), "s".to_owned());
        Some(Score { metric, side, value: value?, unit, lower_is_better: true })
    };
    times.into_iter().filter_map(score).collect()
}

/// Without the figures of single instances where their mean is there.
fn own_scores(scores: &[Score]) -> Vec<Score> {
    let has_mean = |score: &Score| {
        let mean = score.metric.strip_suffix(OF_INSTANCE);
        mean.is_some_and(|mean| scores.iter().any(|other| other.metric == mean && other.side == score.side))
    };
    scores.iter().filter(|score| !has_mean(score)).cloned().collect()
}

/// One row a figure, in the order in which figures first come.
fn table(a: &[Run], b: &[Run], judge: Judge, scores: impl Fn(&Run) -> Vec<Score>) -> Vec<ScoreChange> {
    let mut keys: Vec<Score> = Vec::new();
    let mut of_runs = |runs: &[Run]| -> Vec<Vec<Score>> {
        let all: Vec<Vec<Score>> = runs.iter().map(&scores).collect();
        for score in all.iter().flatten() {
            if !keys.iter().any(|key| is_alike(key, score)) {
                keys.push(score.clone());
            }
        }
        all
    };
    let (of_a, of_b) = (of_runs(a), of_runs(b));
    let values = |key: &Score, runs: &[Vec<Score>]| runs.iter().filter_map(|scores| value(key, scores)).collect();
    let row = |key: &Score| ScoreChange::new(key, values(key, &of_a), values(key, &of_b), (a.len(), b.len()), judge);
    keys.iter().map(row).collect()
}

fn is_alike(a: &Score, b: &Score) -> bool {
    (&a.metric, &a.side, &a.unit, a.lower_is_better) == (&b.metric, &b.side, &b.unit, b.lower_is_better)
}

/// A run's figure: the mean where it has several under one name; `None` where it has none or one that is no number.
fn value(key: &Score, scores: &[Score]) -> Option<f64> {
    let values: Vec<f64> = scores.iter().filter(|score| is_alike(key, score)).map(|score| score.value).collect();
    Summary::new(values, MeanKind::Amean).map(|summary| summary.mean)
}

/// So much work in a unit of time.
fn is_rate(unit: &str) -> bool {
    unit.ends_with("/s") || unit.ends_with("/sec")
}
