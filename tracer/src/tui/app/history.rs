//! How a run went: samples of running totals, from which rates over time are drawn.
//!
//! Bounded: when full, every other sample goes, which halves the resolution and loses no event, since samples are
//! totals. Must not know: the clock (time comes with the snapshots), how rates are drawn.

use std::time::Duration;

use tracer_common::page::ORDERS;

use crate::snapshot::Snapshot;

/// Samples kept at most.
const LIMIT: usize = 2048;
/// Rates shown as current are taken over at least this.
const RECENT: Duration = Duration::from_secs(1);

/// Totals at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Since the run began.
    pub at: Duration,
    /// Events by order.
    pub events: [u64; ORDERS],
    /// Bytes of all orders.
    pub bytes: u64,
}

/// Events a second by order over one column of a chart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Column {
    /// When it ends, since the run began.
    pub until: Duration,
    /// Events a second by order.
    pub rates: [f64; ORDERS],
}

/// Current rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recent {
    /// Events a second.
    pub events_per_s: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Events a second by order.
    pub by_order: [f64; ORDERS],
}

/// The samples of a run so far, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    samples: Vec<Sample>,
}

impl Sample {
    /// The totals of a snapshot.
    pub fn of(snapshot: &Snapshot) -> Self {
        let mut sample =
            Self { at: Duration::try_from_secs_f64(snapshot.window.duration_s).unwrap_or_default(), ..Self::default() };
        if let Some(pages) = &snapshot.pages {
            sample.bytes = pages.bytes;
            for row in &pages.by_order {
                if let Some(events) = sample.events.get_mut(usize::from(row.order)) {
                    *events = row.events;
                }
            }
        }
        sample
    }
}

impl History {
    /// Adds a sample; one that is not later than the last replaces it.
    pub fn push(&mut self, sample: Sample) {
        if self.samples.last().is_some_and(|last| last.at >= sample.at) {
            self.samples.pop();
        }
        if self.samples.len() >= LIMIT {
            let mut nth = 0;
            self.samples.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
        }
        self.samples.push(sample);
    }

    /// From when to when.
    pub fn span(&self) -> Option<(Duration, Duration)> {
        Some((self.samples.first()?.at, self.samples.last()?.at))
    }

    /// The whole history in at most `width` columns of as many samples each.
    pub fn columns(&self, width: usize) -> Vec<Column> {
        let steps = self.samples.len().saturating_sub(1);
        if steps == 0 || width == 0 {
            return Vec::new();
        }
        let each = steps.div_ceil(width);
        (0..steps)
            .step_by(each)
            .map(|from| {
                let (first, last) = (&self.samples[from], &self.samples[(from + each).min(steps)]);
                let seconds = last.at.saturating_sub(first.at).as_secs_f64();
                let mut rates = [0.0; ORDERS];
                for (order, rate) in rates.iter_mut().enumerate() {
                    *rate = last.events[order].saturating_sub(first.events[order]) as f64 / seconds;
                }
                Column { until: last.at, rates }
            })
            .collect()
    }

    /// Rates over the last second, or the shortest time longer than that; `None` with less than two samples.
    pub fn recent(&self) -> Option<Recent> {
        let last = self.samples.last()?;
        let earlier = &self.samples[..self.samples.len() - 1];
        let first = earlier.iter().rev().find(|it| last.at.saturating_sub(it.at) >= RECENT).or(earlier.first())?;
        let seconds = last.at.saturating_sub(first.at).as_secs_f64();
        let mut by_order = [0.0; ORDERS];
        for (order, rate) in by_order.iter_mut().enumerate() {
            *rate = last.events[order].saturating_sub(first.events[order]) as f64 / seconds;
        }
        let bytes_per_s = last.bytes.saturating_sub(first.bytes) as f64 / seconds;
        Some(Recent { events_per_s: by_order.iter().sum(), bytes_per_s, by_order })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(ms: u64, events: u64) -> Sample {
        let mut sample = Sample { at: Duration::from_millis(ms), bytes: events * 4096, ..Sample::default() };
        sample.events[0] = events;
        sample
    }

    fn history(samples: &[(u64, u64)]) -> History {
        let mut history = History::default();
        for &(ms, events) in samples {
            history.push(sample(ms, events));
        }
        history
    }

    #[test]
    fn a_rate_is_a_difference_over_the_time_between() {
        let columns = history(&[(0, 0), (500, 100), (1500, 400)]).columns(10);
        assert_eq!(columns.iter().map(|it| it.rates[0]).collect::<Vec<_>>(), [200.0, 300.0]);
    }

    #[test]
    fn columns_take_in_several_samples_when_there_are_more_than_fit() {
        let columns = history(&[(0, 0), (1000, 10), (2000, 30), (3000, 30)]).columns(2);
        assert_eq!(columns.iter().map(|it| it.rates[0]).collect::<Vec<_>>(), [15.0, 0.0]);
    }

    #[test]
    fn the_current_rate_is_that_of_the_last_second() {
        let recent = history(&[(0, 0), (1000, 1_000_000), (1500, 1_000_100), (2000, 1_000_200)]).recent();
        let recent = recent.expect("there are samples");
        assert_eq!((recent.events_per_s, recent.bytes_per_s), (200.0, 200.0 * 4096.0));
        assert_eq!(recent.by_order[..2], [200.0, 0.0]);
        assert_eq!(history(&[(0, 0)]).recent(), None);
    }

    #[test]
    fn a_full_history_keeps_its_span_and_its_events() {
        let samples: Vec<_> = (0..10_000).map(|second| (second * 1000, second * 7)).collect();
        let history = history(&samples);
        assert!(history.samples.len() <= LIMIT);
        assert_eq!(history.span(), Some((Duration::ZERO, Duration::from_secs(9999))));
        assert!(history.columns(100).iter().all(|column| (column.rates[0] - 7.0).abs() < 1e-9));
    }
}
