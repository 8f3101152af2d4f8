//! What was counted beside page allocations: sums by key, the latest of everything else.
//!
//! Must not know: names, rows, how numbers are shown.

use std::collections::BTreeMap;

use crate::tally::{Distribution, Kind, Socket, Sums, Tallies, TallyKey};

/// Sockets kept: those that left the kernel's table stay until there are so many.
const SOCKETS: usize = 4096;

/// All of one run.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    sums: BTreeMap<TallyKey, Sums>,
    pub(super) distributions: BTreeMap<String, Distribution>,
    pub(super) sockets: BTreeMap<u64, Socket>,
    pub(super) drops: BTreeMap<String, u64>,
    pub(super) losses: BTreeMap<String, u64>,
}

impl Ledger {
    pub(super) fn apply(&mut self, tallies: &Tallies) {
        for count in &tallies.counts {
            self.sums.entry(count.key).or_default().add(&count.sums);
        }
        for distribution in &tallies.distributions {
            match self.distributions.get_mut(&distribution.name) {
                Some(there) => there.add(distribution),
                None => drop(self.distributions.insert(distribution.name.clone(), distribution.clone())),
            }
        }
        for socket in &tallies.sockets {
            if self.sockets.len() < SOCKETS || self.sockets.contains_key(&socket.key) {
                self.sockets.insert(socket.key, socket.clone());
            }
        }
        self.drops.extend(tallies.drops.iter().map(|(reason, events)| (reason.clone(), *events)));
        self.losses.extend(tallies.losses.iter().map(|(cause, events)| (cause.clone(), *events)));
    }

    /// The tallies of a kind.
    pub(super) fn of(&self, kind: Kind) -> impl Iterator<Item = (&TallyKey, &Sums)> {
        self.sums.iter().filter(move |(key, _)| key.kind == kind as u8)
    }

    /// The events of a kind.
    pub(super) fn events(&self, kind: Kind) -> u64 {
        crate::snapshot::sum(self.of(kind).map(|(_, sums)| sums.events))
    }
}
