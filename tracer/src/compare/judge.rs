//! Whether two groups of figures differ, and by how much.
//!
//! Must not know: what the figures are of.

use std::cmp::Ordering;

use serde::Serialize;

use crate::stats::{Summary, Welch, change_percent};

/// From A to B.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Of the means, in percent of A's; `None` from 0 to something and where one was not measured.
    pub percent: Option<f64>,
    /// In one word.
    pub state: State,
    /// Whether it is more than chance.
    pub judgement: Judgement,
    /// The test behind the judgement; `None` where a group has one run only.
    pub welch: Option<Welch>,
}

/// A change in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The means are equal.
    Same,
    /// There is more of it.
    More,
    /// There is less of it.
    Less,
    /// There was none in A.
    New,
    /// There is none in B.
    Gone,
    /// It was not measured in every run of both.
    NotMeasured,
}

/// Whether a change is more than chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// Welch's t-test tells the groups apart, and the change is larger than the noise stated, if any was.
    Significant,
    /// Welch's t-test does not tell them apart.
    NotSignificant,
    /// Larger than the noise stated; there are too few runs for a test.
    BeyondNoise,
    /// Not larger than the noise stated.
    WithinNoise,
    /// Too few runs for a test, and no noise was stated: nothing is claimed.
    Untested,
}

impl Change {
    /// Whether it is claimed to be real.
    pub fn is_marked(&self) -> bool {
        matches!(self.judgement, Judgement::Significant | Judgement::BeyondNoise)
    }
}

/// How changes are judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judge {
    pub(super) noise_percent: Option<f64>,
}

impl Judge {
    /// Judges a change; `None` is a side on which not every run was measured.
    pub(super) fn change(self, a: Option<&Summary>, b: Option<&Summary>) -> Change {
        let (Some(a), Some(b)) = (a, b) else {
            return Change { percent: None, state: State::NotMeasured, judgement: Judgement::Untested, welch: None };
        };
        let percent = change_percent(a.mean, b.mean);
        let state = match a.mean.partial_cmp(&b.mean) {
            Some(Ordering::Equal) => State::Same,
            Some(_) if a.mean == 0.0 => State::New,
            Some(_) if b.mean == 0.0 => State::Gone,
            Some(Ordering::Less) => State::More,
            Some(Ordering::Greater) => State::Less,
            None => State::NotMeasured,
        };
        let welch = Welch::new(a, b);
        // From nothing to something is beyond any percentage.
        let beyond_noise = self.noise_percent.map(|noise| percent.is_none_or(|percent| percent.abs() > noise));
        let judgement = match (welch, beyond_noise) {
            (Some(welch), _) if !welch.is_significant() => Judgement::NotSignificant,
            (_, Some(false)) => Judgement::WithinNoise,
            (Some(_), _) => Judgement::Significant,
            (None, Some(true)) => Judgement::BeyondNoise,
            (None, None) => Judgement::Untested,
        };
        Change { percent, state, judgement, welch }
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, Judge, Judgement, State};
    use crate::stats::{MeanKind, Summary};

    fn judged(a: &[f64], b: &[f64], noise_percent: Option<f64>) -> Change {
        let group = |values: &[f64]| Summary::new(values.to_vec(), MeanKind::Amean);
        Judge { noise_percent }.change(group(a).as_ref(), group(b).as_ref())
    }

    fn judgement(a: &[f64], b: &[f64], noise_percent: Option<f64>) -> Judgement {
        judged(a, b, noise_percent).judgement
    }

    #[test]
    fn one_run_each_claims_nothing_unless_the_noise_is_stated() {
        assert_eq!(judgement(&[100.0], &[250.0], None), Judgement::Untested);
        assert_eq!(judgement(&[100.0], &[97.9], Some(2.0)), Judgement::BeyondNoise);
        assert_eq!(judgement(&[100.0], &[98.0], Some(2.0)), Judgement::WithinNoise);
        assert_eq!(judgement(&[100.0, 101.0], &[250.0], None), Judgement::Untested);
    }

    #[test]
    fn several_runs_are_tested_and_the_noise_stated_still_holds() {
        let (a, b) = ([100.0, 100.1, 99.9], [101.0, 101.1, 100.9]);
        assert_eq!(judgement(&a, &b, None), Judgement::Significant);
        assert_eq!(judgement(&a, &b, Some(2.0)), Judgement::WithinNoise);
        assert_eq!(judgement(&a, &[90.0, 101.0, 115.0], Some(0.1)), Judgement::NotSignificant);
    }

    #[test]
    fn something_out_of_nothing_is_new_and_not_infinite() {
        let new = judged(&[0.0], &[5.0], Some(50.0));
        assert_eq!((new.state, new.percent, new.judgement), (State::New, None, Judgement::BeyondNoise));
        let gone = judged(&[5.0], &[0.0], None);
        assert_eq!((gone.state, gone.percent, gone.judgement), (State::Gone, Some(-100.0), Judgement::Untested));
    }

    #[test]
    fn nothing_changed_is_no_change_whatever_the_noise() {
        for noise in [None, Some(0.0), Some(2.0)] {
            for values in [&[0.0][..], &[5.0], &[5.0, 6.0]] {
                let change = judged(values, values, noise);
                assert_eq!((change.state, change.percent, change.is_marked()), (State::Same, Some(0.0), false));
            }
        }
    }

    #[test]
    fn what_was_not_measured_is_not_compared() {
        let change = judged(&[], &[5.0], Some(2.0));
        assert_eq!((change.state, change.percent, change.is_marked()), (State::NotMeasured, None, false));
    }
}
