//! What several measurements of one thing say: means, spread, and whether two groups of them differ.
//!
//! Must not know: what was measured, units, how numbers are shown. Values that are no numbers have no place here: who
//! calls takes them out and says so.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The probability of an error that a significant difference may have at most: 5 %, the usual level of 95 %.
pub const ERROR_LEVEL: f64 = 0.05;

/// Which mean stands for a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MeanKind {
    /// Arithmetic: for times, sizes and counts.
    Amean,
    /// Harmonic: for rates, so that equal amounts of work weigh the same. It is 0 where a rate is 0.
    Hmean,
}

/// By how many events an estimate may be wrong at [`ERROR_LEVEL`], when it is a share of an exact `total` found in
/// `samples` of it: Agresti and Coull's interval of a binomial share, which also holds for shares near 0 and 1. Samples
/// at random distances vary less than independent ones, so the bound is on the safe side.
pub fn share_error(estimate: u64, total: u64, samples: u64) -> u64 {
    /// Of the normal distribution, two-sided at 5 %.
    const Z: f64 = 1.959_964;
    if total == 0 {
        return 0;
    }
    let (samples, total) = (samples as f64, total as f64);
    let enlarged = samples + Z * Z;
    let share = (estimate as f64 / total * samples + Z * Z / 2.0) / enlarged;
    let bound = Z * (share * (1.0 - share) / enlarged).max(0.0).sqrt();
    // The interval's middle is not the estimate: what lies between them is part of the error.
    let shift = (share - estimate as f64 / total).abs();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the total")]
    let events = (total * (bound + shift).min(1.0)).ceil() as u64;
    events
}

/// A group of measurements.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How many.
    pub n: usize,
    /// Each of them, as they came.
    pub values: Vec<f64>,
    /// The smallest.
    pub min: f64,
    /// The mean that was asked for.
    pub mean: f64,
    /// The standard deviation of a sample (divided by n - 1); `None` of a single measurement, or too large for a number.
    pub stddev: Option<f64>,
    /// The standard deviation in percent of the arithmetic mean; `None` of a single measurement or where that mean is 0.
    pub coeff_var_percent: Option<f64>,
    /// The largest.
    pub max: f64,
}

impl Summary {
    /// Sums up measurements; `None` when there are none, or one is infinite or no number.
    pub fn new(values: Vec<f64>, kind: MeanKind) -> Option<Self> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let arithmetic = amean(&values);
        let mean = match kind {
            MeanKind::Amean => arithmetic,
            MeanKind::Hmean => hmean(&values),
        };
        let stddev = (values.len() > 1).then(|| variance(&values).sqrt()).filter(|stddev| stddev.is_finite());
        Some(Self {
            n: values.len(),
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            mean,
            stddev,
            coeff_var_percent: stddev.filter(|_| arithmetic != 0.0).map(|stddev| stddev * 100.0 / arithmetic.abs()),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            values,
        })
    }
}

/// What Welch's t-test found: whether two groups of unequal spread have different means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Welch {
    /// The difference of the means in standard errors; `None` where neither group has any spread.
    pub t: Option<f64>,
    /// Degrees of freedom (Welch and Satterthwaite); `None` where neither group has any spread.
    pub degrees_of_freedom: Option<f64>,
    /// The probability of a difference at least this large between groups of one mean, two-sided.
    pub p: f64,
}

impl Welch {
    /// Compares two groups; `None` where one has less than two measurements: a single one says nothing of its spread.
    ///
    /// Where neither group has any spread, which a `t` cannot be computed from, means that differ at all are told apart.
    pub fn new(a: &Summary, b: &Summary) -> Option<Self> {
        if a.n < 2 || b.n < 2 {
            return None;
        }
        let error = |group: &Summary| variance(&group.values) / group.n as f64;
        let (error_a, error_b) = (error(a), error(b));
        let difference = amean(&b.values) - amean(&a.values);
        let error = error_a + error_b;
        if error == 0.0 {
            let p = if difference == 0.0 { 1.0 } else { 0.0 };
            return Some(Self { t: None, degrees_of_freedom: None, p });
        }
        let t = difference / error.sqrt();
        // Of shares of the whole error, so that squares of small numbers do not vanish.
        let (share_a, share_b) = (error_a / error, error_b / error);
        let freedom = 1.0 / (share_a * share_a / (a.n - 1) as f64 + share_b * share_b / (b.n - 1) as f64);
        let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
        let p = (2.0 * distribution.sf(t.abs())).min(1.0);
        p.is_finite().then_some(Self { t: Some(t), degrees_of_freedom: Some(freedom), p })
    }

    /// Whether the difference is significant at 95 %.
    pub fn is_significant(&self) -> bool {
        self.p < ERROR_LEVEL
    }
}

/// From one number to another in percent of the first; `None` from nothing to something.
#[expect(clippy::float_cmp, reason = "the same figure is the same to the last bit")]
pub fn change_percent(from: f64, to: f64) -> Option<f64> {
    // Exactly the same is exactly no change, 0 and 0 among it.
    if from == to {
        return Some(0.0);
    }
    let change = (to - from) * 100.0 / from.abs();
    (from != 0.0 && change.is_finite()).then_some(change)
}

fn amean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().map(|value| value / n).sum::<f64>();
    // Rounding may leave the range, which would give equal numbers a spread.
    let (min, max) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), &value| (value.min(min), value.max(max)));
    mean.clamp(min, max)
}

/// Of rates. One that is 0 takes forever over its work, and one below makes no sense of the whole: both give 0.
fn hmean(values: &[f64]) -> f64 {
    if values.iter().any(|value| *value <= 0.0) {
        return 0.0;
    }
    let (min, max) = values.iter().fold((f64::INFINITY, 0.0f64), |(min, max), &value| (value.min(min), value.max(max)));
    // In shares of the smallest, of which no reciprocal is infinite.
    let sum: f64 = values.iter().map(|value| min / value).sum();
    (min * (values.len() as f64 / sum)).clamp(min, max)
}

/// Of a sample, in two passes: differences of large squares would lose the digits that matter.
fn variance(values: &[f64]) -> f64 {
    let mean = amean(values);
    values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (values.len() - 1) as f64
}

#[cfg(test)]
mod tests;
