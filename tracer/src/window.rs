//! A part of a run in time: the batches of a recording as if the run had begun and ended there.
//!
//! Counts of a batch belong to its interval, so those of others are left out; running totals lose what they were when
//! the window began. Paths and owners stay, since a later interval may count them.
//! Must not know: files, how a run is stored.

use std::{collections::BTreeMap, fmt, time::Duration};

use crate::batch::{Audit, Batch, Lookups, Loss, OrderTotals, ProgramStats, Single};

/// From when to when, since the run began; an interval belongs to the window that holds its middle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// `None`: from the beginning.
    pub from: Option<Duration>,
    /// `None`: to the end.
    pub to: Option<Duration>,
}

impl Window {
    /// The whole run.
    pub const WHOLE: Self = Self { from: None, to: None };

    /// Takes a name such as `r.db@10s..20s` apart; without a window in it, all of it is the name.
    ///
    /// # Errors
    /// What is wrong with its times, from `time`.
    pub fn split(name: &str, time: impl Fn(&str) -> Result<Duration, String>) -> Result<(&str, Self), String> {
        let Some((file, times)) = name.rsplit_once('@') else { return Ok((name, Self::WHOLE)) };
        let Some((from, to)) = times.split_once("..") else { return Ok((name, Self::WHOLE)) };
        let side = |text: &str| if text.is_empty() { Ok(None) } else { time(text).map(Some) };
        Ok((file, Self { from: side(from)?, to: side(to)? }))
    }

    /// Whether it is the whole run.
    pub fn is_whole(&self) -> bool {
        *self == Self::WHOLE
    }

    fn holds(&self, middle: Duration) -> bool {
        self.from.is_none_or(|from| middle >= from) && self.to.is_none_or(|to| middle < to)
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |time: Option<Duration>| time.map_or_else(String::new, |it| format!("{}s", it.as_secs_f64()));
        write!(f, "{}..{}", side(self.from), side(self.to))
    }
}

/// Lets batches through, one after the other, as a window shows them.
#[derive(Default)]
pub struct Cut {
    window: Window,
    /// The batch last met, which has the totals as they were when the window began.
    base: Batch,
    /// When the batch before was read.
    last_at: Duration,
    /// When the first and last intervals within begin and end; `None` before there was any.
    pub span: Option<(Duration, Duration)>,
}

impl Cut {
    /// Nothing let through yet.
    pub fn new(window: Window) -> Self {
        Self { window, ..Self::default() }
    }

    /// How long the run took until the last batch.
    pub fn lasted(&self) -> Duration {
        self.last_at
    }

    /// What a batch is within the window. Batches come in the order in which they were read.
    pub fn cut(&mut self, batch: Batch) -> Batch {
        let began = self.last_at;
        self.last_at = batch.at;
        let middle = began + batch.at.saturating_sub(began) / 2;
        if self.window.holds(middle) {
            let from = self.span.map_or(began, |(from, _)| from);
            self.span = Some((from, batch.at));
            return since(batch, &self.base, from);
        }
        let shown = Batch { paths: batch.paths.clone(), owners: batch.owners.clone(), ..Batch::default() };
        if self.span.is_none() {
            self.base = batch;
        }
        shown
    }
}

/// A batch with its running totals counted from `base` on, and its time from `from` on.
fn since(batch: Batch, base: &Batch, from: Duration) -> Batch {
    // Every field is named so that a new one cannot be forgotten here.
    let Batch { at, paths, owners, counts, totals, losses, programs, lookups, audit, mut tallies, single } = batch;
    tallies.drops = less(&tallies.drops, &base.tallies.drops);
    tallies.losses = less(&tallies.losses, &base.tallies.losses);
    Batch {
        at: at.saturating_sub(from),
        paths,
        owners,
        counts,
        totals: totals.into_iter().map(|it| totals_since(it, &base.totals)).collect(),
        losses: losses_since(losses, &base.losses),
        programs: programs.into_iter().map(|it| program_since(it, &base.programs)).collect(),
        lookups: lookups.map(|now| {
            let then = base.lookups.unwrap_or_default();
            Lookups {
                hits: now.hits.saturating_sub(then.hits),
                unwound: now.unwound.saturating_sub(then.unwound),
                evicted: now.evicted.saturating_sub(then.evicted),
                unremembered: now.unremembered.saturating_sub(then.unremembered),
            }
        }),
        audit: audit.map(|now| {
            let then = base.audit.unwrap_or_default();
            Audit {
                checked: now.checked.saturating_sub(then.checked),
                disagreed: now.disagreed.saturating_sub(then.disagreed),
            }
        }),
        tallies,
        single: single.map(|now| {
            let then = base.single.clone().unwrap_or_default();
            Single {
                events: now.events,
                seen: now.seen.saturating_sub(then.seen),
                written: now.written.saturating_sub(then.written),
                lost: now.lost.saturating_sub(then.lost),
            }
        }),
    }
}

fn less(now: &BTreeMap<String, u64>, then: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let rest = |(name, events): (&String, &u64)| {
        let more = events.saturating_sub(then.get(name).copied().unwrap_or(0));
        (more > 0).then(|| (name.clone(), more))
    };
    now.iter().filter_map(rest).collect()
}

fn totals_since(now: OrderTotals, base: &[OrderTotals]) -> OrderTotals {
    let then = base.iter().find(|it| it.order == now.order).copied().unwrap_or_default();
    let optional = |now: Option<u64>, then: Option<u64>| now.map(|now| now.saturating_sub(then.unwrap_or(0)));
    OrderTotals {
        order: now.order,
        allocated: now.allocated.saturating_sub(then.allocated),
        failed: now.failed.saturating_sub(then.failed),
        freed: optional(now.freed, then.freed),
        refilled: optional(now.refilled, then.refilled),
        direct: optional(now.direct, then.direct),
        drained: optional(now.drained, then.drained),
    }
}

fn losses_since(now: BTreeMap<String, Loss>, base: &BTreeMap<String, Loss>) -> BTreeMap<String, Loss> {
    let rest = |(cause, mut loss): (String, Loss)| {
        if let Some(then) = base.get(&cause) {
            loss.events = loss.events.saturating_sub(then.events);
            loss.pages = loss.pages.saturating_sub(then.pages);
            for (order, events) in &mut loss.by_order {
                *events = events.saturating_sub(then.by_order.get(order).copied().unwrap_or(0));
            }
        }
        (loss.events > 0).then_some((cause, loss))
    };
    now.into_iter().filter_map(rest).collect()
}

fn program_since(now: ProgramStats, base: &[ProgramStats]) -> ProgramStats {
    let then = base.iter().find(|it| it.signal == now.signal && it.hook == now.hook).cloned().unwrap_or_default();
    let optional = |now: Option<u64>, then: Option<u64>| now.map(|now| now.saturating_sub(then.unwrap_or(0)));
    ProgramStats {
        run_count: optional(now.run_count, then.run_count),
        run_time_ns: optional(now.run_time_ns, then.run_time_ns),
        missed: now.missed.saturating_sub(then.missed),
        ..now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{Count, CountKey, Path};

    /// Ten events of order 0 a second, the path announced in the first.
    fn second(number: u64) -> Batch {
        let key = CountKey { path: 7, ..CountKey::default() };
        let path = Path { key: 7, addresses: vec![1], ..Path::default() };
        Batch {
            at: Duration::from_secs(number),
            paths: if number == 1 { vec![path] } else { Vec::new() },
            counts: vec![Count { key, events: 10 }],
            totals: vec![OrderTotals { allocated: 10 * number, ..OrderTotals::default() }],
            losses: BTreeMap::from([("nested".to_owned(), Loss { events: number, ..Loss::default() })]),
            ..Batch::default()
        }
    }

    fn window(from: u64, to: u64) -> Window {
        Window { from: Some(Duration::from_secs(from)), to: Some(Duration::from_secs(to)) }
    }

    #[test]
    fn counts_and_totals_of_a_window_agree() {
        let mut cut = Cut::new(window(2, 5));
        let batches: Vec<Batch> = (1..=8).map(|number| cut.cut(second(number))).collect();
        let events: u64 = batches.iter().flat_map(|it| &it.counts).map(|it| it.events).sum();
        assert_eq!(events, 30);
        assert_eq!(batches[0].paths.len(), 1, "a path met before is still known");
        let last = batches.iter().rev().find(|it| !it.totals.is_empty()).expect("a batch within");
        assert_eq!((last.totals[0].allocated, last.at), (30, Duration::from_secs(3)));
        assert_eq!(last.losses["nested"].events, 3);
        assert_eq!(cut.span, Some((Duration::from_secs(2), Duration::from_secs(5))));
    }

    #[test]
    fn the_whole_run_is_as_it_was() {
        let mut cut = Cut::new(Window::WHOLE);
        for number in 1..4 {
            assert_eq!(cut.cut(second(number)), second(number));
        }
    }

    #[test]
    fn a_window_stands_behind_the_name() {
        let time =
            |text: &str| text.trim_end_matches('s').parse().map(Duration::from_secs).map_err(|error| error.to_string());
        assert_eq!(Window::split("r.db@2s..5s", time), Ok(("r.db", window(2, 5))));
        assert_eq!(Window::split("r.db@..5", time).map(|(_, it)| it.to), Ok(Some(Duration::from_secs(5))));
        assert_eq!(Window::split("a@b.db", time), Ok(("a@b.db", Window::WHOLE)));
        assert!(Window::split("r.db@x..5s", time).is_err());
        assert_eq!(window(2, 5).to_string(), "2s..5s");
    }
}
