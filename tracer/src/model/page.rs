//! Page allocations: exact totals by order, counts by kind, and how the two are made to close.
//!
//! Every event goes into exactly one cell: under its path, as lost, or as one whose path was not to be taken. All
//! figures are sums over cells, so the sum over paths plus what is lost is always the number of events.
//!
//! How many events an order has:
//! - After the end the hooks are gone, and totals and counts stand still: it is the total, and what it exceeds the
//!   counts by is lost.
//! - In mid-run totals and counts are read one after the other while both go on. An event in the total just read may
//!   be missing from the counts read a moment earlier, which is no loss: the next batch brings it. But every event in
//!   the totals of the batch before must be in the counts by now. So the number is the counts, or the total of the
//!   batch before where that is larger; only what it exceeds the counts by is lost.
//! - Where paths are sampled or off, events are not checked against single counts, and it is the newest total.
//!
//! Counts above the total (the total was read first) are believed: each was seen.
//! Must not know: names, rows, how numbers are shown.

use std::collections::BTreeMap;

use tracer_common::page::ORDERS;

use super::{path::Paths, scale::apportion};
use crate::{
    batch::{Count, CountKey, Loss, OrderTotals},
    run::PathsMode,
    snapshot::sum,
};

/// How paths are taken, as far as sums depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// On every event.
    Every,
    /// On some: their counts are scaled.
    Sampled,
    /// On none.
    Off,
}

impl From<&PathsMode> for Way {
    fn from(mode: &PathsMode) -> Self {
        match mode.way.as_str() {
            "off" => Self::Off,
            "sampled" if mode.one_in > 1 => Self::Sampled,
            _ => Self::Every,
        }
    }
}

/// What was counted, by the keys of one run.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    counts: BTreeMap<CountKey, u64>,
    /// By order, as last read; `None` for an order never met.
    totals: [Option<OrderTotals>; ORDERS],
    /// As read one batch earlier.
    previous: [Option<OrderTotals>; ORDERS],
}

/// Events that differ in nothing that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cell {
    pub(super) place: Place,
    pub(super) order: u8,
    pub(super) failed: bool,
    /// What else is known of them; `None` for events known from totals only.
    pub(super) kind: Option<Kind>,
}

/// Where events are shown among the paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// Under the path at an index of [`Paths`].
    Path(usize),
    /// Their path was not to be taken.
    NotTaken,
    /// Their path should be known and is not.
    Lost,
}

/// What the kernel knows of an allocation beside its path and order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    pub(super) owner: u64,
    pub(super) gfp: u32,
    pub(super) migratetype: u8,
}

/// Cells with their events, none of them 0.
pub(super) type Cells = BTreeMap<Cell, u64>;

/// The counts of one order, successful or failed.
#[derive(Default)]
struct Class {
    /// By kind first, so that the paths of a kind stand together.
    with_path: BTreeMap<(Kind, usize), u64>,
    without_path: BTreeMap<Kind, u64>,
}

impl Ledger {
    /// Adds a count; its order has been checked.
    pub(super) fn add(&mut self, count: &Count) {
        let events = self.counts.entry(count.key).or_default();
        *events = events.saturating_add(count.events);
    }

    /// Starts a batch: the totals so far become those of the batch before.
    pub(super) fn begin_totals(&mut self) {
        self.previous = self.totals;
    }

    /// Sets an order's totals; its order has been checked.
    pub(super) fn set_totals(&mut self, totals: &OrderTotals) {
        self.totals[usize::from(totals.order)] = Some(*totals);
    }

    /// The totals of the orders met, ascending.
    pub(super) fn totals(&self) -> impl Iterator<Item = &OrderTotals> {
        self.totals.iter().flatten()
    }

    /// Successful allocations whose path was taken.
    pub(super) fn samples(&self) -> u64 {
        sum(self.counts.iter().filter(|(key, _)| key.path != 0 && !key.failed).map(|(_, events)| *events))
    }

    /// Whether any allocation, successful or failed, was counted.
    pub(super) fn has_allocations(&self) -> bool {
        !self.counts.is_empty() || self.totals().any(|totals| totals.allocated > 0 || totals.failed > 0)
    }

    /// By how many events the counts of an order exceed its total: 0 unless totals went missing. Only meaningful
    /// after the end.
    pub(super) fn excess(&self) -> u64 {
        let mut counted = [0u64; ORDERS];
        for (key, events) in self.counts.iter().filter(|(key, _)| !key.failed) {
            let sum = &mut counted[usize::from(key.order)];
            *sum = sum.saturating_add(*events);
        }
        let totals = self.totals.map(|totals| totals.map_or(0, |totals| totals.allocated));
        sum(counted.iter().zip(totals).map(|(counted, total)| counted.saturating_sub(total)))
    }

    /// Every event in its cell. `losses` are the known losses, which take their share of a sample.
    pub(super) fn cells(&self, paths: &Paths, way: Way, finished: bool, losses: &BTreeMap<String, Loss>) -> Cells {
        let mut classes: BTreeMap<(u8, bool), Class> = BTreeMap::new();
        for totals in self.totals() {
            classes.entry((totals.order, false)).or_default();
            classes.entry((totals.order, true)).or_default();
        }
        for (key, &events) in &self.counts {
            classes.entry((key.order, key.failed)).or_default().add(key, paths, events);
        }
        let totals = if finished || way != Way::Every { &self.totals } else { &self.previous };
        let mut cells = Cells::new();
        for ((order, failed), class) in classes {
            let total =
                totals[usize::from(order)].map_or(0, |totals| if failed { totals.failed } else { totals.allocated });
            let events = total.max(class.events());
            let mut put = |place, kind, events| {
                if events > 0 {
                    let cell = cells.entry(Cell { place, order, failed, kind }).or_insert(0u64);
                    *cell = cell.saturating_add(events);
                }
            };
            match way {
                Way::Every => class.place(Place::Lost, events, &mut put),
                Way::Off => class.place(Place::NotTaken, events, &mut put),
                Way::Sampled => {
                    let lost = if failed { 0 } else { lost_samples(losses, order) };
                    class.scale(events, lost, &mut put);
                }
            }
        }
        cells
    }
}

impl Class {
    fn add(&mut self, key: &CountKey, paths: &Paths, events: u64) {
        let kind = Kind { owner: key.owner, gfp: key.gfp, migratetype: key.migratetype };
        let sum = match paths.index(key.path) {
            Some(path) => self.with_path.entry((kind, path)).or_default(),
            None => self.without_path.entry(kind).or_default(),
        };
        *sum = sum.saturating_add(events);
    }

    fn events(&self) -> u64 {
        sum(self.with_path.values().chain(self.without_path.values()).copied())
    }

    /// Counts as they are; what has no path goes to `elsewhere`, and so does what is in no count.
    fn place(&self, elsewhere: Place, events: u64, put: &mut impl FnMut(Place, Option<Kind>, u64)) {
        for (&(kind, path), &events) in &self.with_path {
            put(Place::Path(path), Some(kind), events);
        }
        for (&kind, &events) in &self.without_path {
            put(elsewhere, Some(kind), events);
        }
        put(elsewhere, None, events - self.events());
    }

    /// Sampled counts stand for all `events`: first the lost samples take their share, then the kinds (which are
    /// known of all events where the kernel counts those without a path as well), then the paths within a kind.
    fn scale(&self, events: u64, lost_samples: u64, put: &mut impl FnMut(Place, Option<Kind>, u64)) {
        let sampled = sum(self.with_path.values().copied());
        let lost = apportion(events, &[lost_samples, sampled])[0];
        put(Place::Lost, None, lost);

        let mut kinds: BTreeMap<Kind, u64> = self.without_path.clone();
        for ((kind, _), events) in &self.with_path {
            let sum = kinds.entry(*kind).or_default();
            *sum = sum.saturating_add(*events);
        }
        let weights: Vec<u64> = kinds.values().copied().collect();
        let shares = apportion(events - lost, &weights);
        if kinds.is_empty() {
            put(Place::NotTaken, None, events - lost);
        }
        for (&kind, share) in kinds.keys().zip(shares) {
            let of_kind = self.with_path.range((kind, usize::MIN)..=(kind, usize::MAX));
            let (paths, weights): (Vec<usize>, Vec<u64>) = of_kind.map(|(&(_, path), &events)| (path, events)).unzip();
            if paths.is_empty() {
                put(Place::NotTaken, Some(kind), share);
            }
            for (path, share) in paths.into_iter().zip(apportion(share, &weights)) {
                put(Place::Path(path), Some(kind), share);
            }
        }
    }
}

/// Samples of an order that were taken and then lost.
fn lost_samples(losses: &BTreeMap<String, Loss>, order: u8) -> u64 {
    let without_path = losses.values().filter(|loss| loss.counted_without_path);
    sum(without_path.filter_map(|loss| loss.by_order.get(&order)).copied())
}
