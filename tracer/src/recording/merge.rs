//! Several batches as one.
//!
//! Must not know: SQLite, files.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use crate::{
    batch::{Audit, Batch, Count, CountKey, Lookups, Loss, OrderTotals, Owner, Path, ProgramStats, Single},
    tally::Tallies,
};

/// The one batch that tells a model as much as `batches` one after the other do.
///
/// Events are added (and stay at `u64::MAX` if they ever get there), kinds without events left out; of running totals
/// the latest counts, each order, cause and program on its own; a path or owner announced again takes the place of
/// the first announcement. `counts` come sorted by key, `totals` by order.
pub fn merge(batches: &[Batch]) -> Batch {
    let mut merged = Merged::default();
    for batch in batches {
        merged.add(batch);
    }
    merged.batch()
}

/// A merge under way.
#[derive(Default)]
pub(super) struct Merged {
    at: Duration,
    paths: Vec<Path>,
    path_at: HashMap<u64, usize>,
    owners: Vec<Owner>,
    owner_at: HashMap<u64, usize>,
    counts: BTreeMap<CountKey, u64>,
    totals: BTreeMap<u8, OrderTotals>,
    losses: BTreeMap<String, Loss>,
    programs: Vec<ProgramStats>,
    lookups: Option<Lookups>,
    audit: Option<Audit>,
    tallies: Tallies,
    single: Option<Single>,
}

impl Merged {
    pub(super) fn add(&mut self, batch: &Batch) {
        // Every field is named so that a new one cannot be forgotten here.
        let Batch { at, paths, owners, counts, totals, losses, programs, lookups, audit, tallies, single } = batch;
        self.at = self.at.max(*at);
        for path in paths {
            let place = *self.path_at.entry(path.key).or_insert(self.paths.len());
            put(&mut self.paths, place, path);
        }
        for owner in owners {
            let place = *self.owner_at.entry(owner.key).or_insert(self.owners.len());
            put(&mut self.owners, place, owner);
        }
        for Count { key, events } in counts {
            if *events > 0 {
                let sum = self.counts.entry(*key).or_default();
                *sum = sum.saturating_add(*events);
            }
        }
        self.totals.extend(totals.iter().map(|totals| (totals.order, *totals)));
        self.losses.extend(losses.iter().map(|(cause, loss)| (cause.clone(), loss.clone())));
        for program in programs {
            let same = |known: &ProgramStats| known.signal == program.signal && known.hook == program.hook;
            let place = self.programs.iter().position(same).unwrap_or(self.programs.len());
            put(&mut self.programs, place, program);
        }
        self.lookups = lookups.or(self.lookups);
        self.audit = audit.or(self.audit);
        self.tallies.add(tallies);
        if let Some(Single { events, seen, written, lost }) = single {
            let all = self.single.get_or_insert_default();
            all.events.extend_from_slice(events);
            (all.seen, all.written, all.lost) = (*seen, *written, *lost);
        }
    }

    pub(super) fn batch(self) -> Batch {
        Batch {
            at: self.at,
            paths: self.paths,
            owners: self.owners,
            counts: self.counts.into_iter().map(|(key, events)| Count { key, events }).collect(),
            totals: self.totals.into_values().collect(),
            losses: self.losses,
            programs: self.programs,
            lookups: self.lookups,
            audit: self.audit,
            tallies: self.tallies,
            single: self.single,
        }
    }
}

/// Puts a copy of `value` at `place`, which is at most the end.
fn put<T: Clone>(values: &mut Vec<T>, place: usize, value: &T) {
    match values.get_mut(place) {
        Some(there) => there.clone_from(value),
        None => values.push(value.clone()),
    }
}
