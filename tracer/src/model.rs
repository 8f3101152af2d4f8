//! What a run has counted so far, and the pictures of it that are shown.
//!
//! Owns: aggregation of batches. A [`Model`] is fed what `run` and `batch` hold and nothing else, so a replayed
//! recording gives the same snapshot as the run itself, and a run that was cut short gives one as well.
//! Must not know: aya, files, the clock, a terminal.
//!
//! How the counts close is decided in `page`: every event goes into exactly one cell, and every figure of the
//! snapshot is a sum over cells.

mod filter;
mod page;
mod path;
mod scale;
mod summary;
mod tally;

use std::{collections::BTreeMap, time::Duration};

pub use filter::Filter;
pub use path::id as path_id;
use tracer_common::page::ORDERS;

use crate::{
    batch::{Audit, Batch, Count, CountKey, Lookups, Loss, OrderTotals, ProgramStats, Single},
    run,
    signal::Status,
    snapshot::{EventTotals, Snapshot},
};

/// The cause under which events of an impossible order are counted as lost.
pub const INVALID_ORDER: &str = "invalid_order";

/// The cause under which losses stand that no hook and no map has owned up to.
pub const UNEXPLAINED: &str = "unexplained";

/// How many damaged records are described one by one.
const DAMAGE_DESCRIBED: usize = 8;

/// Everything counted in one run.
#[derive(Debug)]
pub struct Model {
    start: run::Start,
    end: Option<run::End>,
    /// When the last batch was read, since the run began.
    at: Duration,
    batches: u64,
    paths: path::Paths,
    owners: BTreeMap<u64, String>,
    ledger: page::Ledger,
    losses: BTreeMap<String, Loss>,
    programs: Vec<ProgramStats>,
    lookups: Option<Lookups>,
    audit: Option<Audit>,
    tallies: tally::Ledger,
    /// How single events add up, as last read.
    single: Option<EventTotals>,
    /// What the source of the batches lacks.
    incomplete: Option<String>,
    damage: Damage,
}

/// Records that cannot be true: a damaged recording, or a kernel side gone wrong.
#[derive(Debug, Default)]
struct Damage {
    events: u64,
    records: u64,
    /// The first few, with their positions.
    described: Vec<String>,
}

impl Model {
    /// A run of which nothing has been counted yet.
    pub fn new(start: run::Start) -> Self {
        Self {
            start,
            end: None,
            at: Duration::ZERO,
            batches: 0,
            paths: path::Paths::default(),
            owners: BTreeMap::new(),
            ledger: page::Ledger::default(),
            losses: BTreeMap::new(),
            programs: Vec::new(),
            lookups: None,
            audit: None,
            tallies: tally::Ledger::default(),
            single: None,
            incomplete: None,
            damage: Damage::default(),
        }
    }

    /// Adds what one read of the kernel's maps yielded. Batches come in the order in which they were read.
    pub fn apply(&mut self, batch: &Batch) {
        self.at = self.at.max(batch.at);
        for path in &batch.paths {
            self.paths.announce(path);
        }
        for owner in &batch.owners {
            self.owners.insert(owner.key, owner.name.clone());
        }
        for (position, count) in batch.counts.iter().enumerate() {
            if valid(count.key.order) {
                let path = self.paths.joined(count.key.path, count.key.user_path);
                self.ledger.add(&Count { key: CountKey { path, ..count.key }, ..*count });
            } else {
                self.damage.events = self.damage.events.saturating_add(count.events);
                self.damage.note(self.batches, batch.at, "count", position, count.key.order);
            }
        }
        self.ledger.begin_totals();
        for (position, totals) in batch.totals.iter().enumerate() {
            if valid(totals.order) {
                self.ledger.set_totals(totals);
            } else {
                self.damage.note(self.batches, batch.at, "total", position, totals.order);
            }
        }
        self.losses.clone_from(&batch.losses);
        self.programs.clone_from(&batch.programs);
        self.lookups = batch.lookups;
        self.audit = batch.audit;
        self.tallies.apply(&batch.tallies);
        if let Some(Single { seen, written, lost, .. }) = &batch.single {
            self.single = Some(EventTotals { seen: *seen, written: *written, lost: *lost });
        }
        self.batches += 1;
    }

    /// Closes the run: what has no path by now will not get one any more.
    pub fn finish(&mut self, end: run::End) {
        self.end = Some(end);
    }

    /// Says what of the run is missing from the batches, such as that a recording was cut short.
    pub fn lacks(&mut self, what: String) {
        self.incomplete = Some(what);
    }

    /// The picture of the whole run as of now.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot_of(&Filter::default())
    }

    /// The picture of the part that the filter lets through. Its counts are exact where those of the whole are,
    /// they close in the same way, and `completeness` says that they are a part.
    pub fn snapshot_of(&self, filter: &Filter) -> Snapshot {
        summary::snapshot(self, filter)
    }

    /// What was known before the first batch.
    pub fn start(&self) -> &run::Start {
        &self.start
    }

    /// How long the run took; up to the last batch while it goes on or when it was cut short.
    pub fn elapsed(&self) -> Duration {
        self.end.as_ref().map_or(self.at, |end| end.duration)
    }

    /// The work that the benchmark did; `None` before the end and where the benchmark does not tell.
    pub fn work(&self) -> Option<&run::Work> {
        self.end.as_ref()?.benchmark.as_ref()?.work.as_ref()
    }

    /// Whether [`Model::finish`] was called.
    pub fn is_finished(&self) -> bool {
        self.end.is_some()
    }

    /// The exact totals of the orders met, as last read, ascending.
    pub fn totals(&self) -> impl Iterator<Item = &OrderTotals> {
        self.ledger.totals()
    }

    /// Our programs' own figures, as last read.
    pub fn programs(&self) -> &[ProgramStats] {
        &self.programs
    }

    /// Whether any hook for page allocations is attached, or counted something after all.
    fn counts_pages(&self) -> bool {
        self.attached("page.alloc") || self.ledger.has_allocations()
    }

    /// Whether a signal is served by any hook.
    fn attached(&self, signal: &str) -> bool {
        self.start.signals.iter().any(|row| row.name == signal && row.status != Status::Missing)
    }

    /// How much was lost by cause, known losses and damaged records alike.
    fn lost_by_cause(&self) -> BTreeMap<String, u64> {
        let mut lost: BTreeMap<String, u64> = self
            .losses
            .iter()
            .filter(|(_, loss)| loss.events > 0)
            .map(|(cause, loss)| (cause.clone(), loss.events))
            .collect();
        if self.damage.events > 0 {
            let events = lost.entry(INVALID_ORDER.to_owned()).or_default();
            *events = events.saturating_add(self.damage.events);
        }
        // Apart from those of page allocations, which are told by order.
        lost.extend(self.tallies.losses.iter().map(|(cause, events)| (format!("other_{cause}"), *events)));
        lost
    }
}

impl Damage {
    fn note(&mut self, batch: u64, at: Duration, kind: &str, position: usize, order: u8) {
        self.records += 1;
        if self.described.len() < DAMAGE_DESCRIBED {
            self.described.push(format!(
                "batch {batch} at {:.3} s: {kind} {position} has the impossible order {order}; it is in no sum",
                at.as_secs_f64()
            ));
        }
    }

    /// What to tell the reader, one line a record, the rest in one.
    fn warnings(&self) -> Vec<String> {
        let mut lines = self.described.clone();
        let more = self.records - self.described.len() as u64;
        if more > 0 {
            lines.push(format!("{more} more records with impossible orders"));
        }
        lines
    }
}

/// No kernel has an order of 16 or more; the machine's own `max_order` is not asked, since a recording that names
/// it wrongly should not cost the counts.
fn valid(order: u8) -> bool {
    usize::from(order) < ORDERS
}

#[cfg(test)]
mod tests;
