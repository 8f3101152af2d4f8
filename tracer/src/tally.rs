//! What one read of the kernel's maps yields beside page allocations: large kmalloc, reclaim, compaction, socket memory.
//!
//! Plain data on its way from `collect` to the model and the recording, like [`crate::batch`], of which it is a part.
//! Must not know: aya, how the maps are laid out, how numbers are shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
pub use tracer_common::tally::{KINDS, Kind, VALUES};

/// Everything of one read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tallies {
    /// Events since the last read by kind, detail and path; only those that changed, sorted by key.
    pub counts: Vec<TallyCount>,
    /// Values since the last read; only distributions that changed.
    pub distributions: Vec<Distribution>,
    /// Sockets seen since the last read, as they were then.
    pub sockets: Vec<Socket>,
    /// Packets dropped since the run began, by the kernel's reason.
    pub drops: BTreeMap<String, u64>,
    /// Events lost since the run began, by cause: they are in no sum.
    pub losses: BTreeMap<String, u64>,
}

/// What tells two tallies apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TallyKey {
    /// The number of a [`Kind`].
    pub kind: u8,
    /// As [`Kind`] says.
    pub detail: u64,
    /// [`crate::batch::Path::key`]; 0 where the path was not taken.
    pub path: u64,
}

impl TallyKey {
    /// The kind; `None` for a number that is none.
    pub fn kind(&self) -> Option<Kind> {
        KINDS.into_iter().find(|kind| *kind as u8 == self.kind)
    }
}

/// Events of one tally since the last read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TallyCount {
    /// Which.
    pub key: TallyKey,
    /// How many more, and by how much more.
    pub sums: Sums,
}

/// Events and what they add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// Events.
    pub events: u64,
    /// As [`Kind`] says.
    pub values: [u64; VALUES],
}

impl Sums {
    /// Adds others; stays at the largest number there.
    pub fn add(&mut self, other: &Self) {
        self.events = self.events.saturating_add(other.events);
        for (sum, value) in self.values.iter_mut().zip(other.values) {
            *sum = sum.saturating_add(value);
        }
    }
}

/// Values counted in buckets since the last read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution {
    /// What is distributed, such as `reclaim_ns` or `beyond_need_bytes:udp:receive`.
    pub name: String,
    /// Values by the lowest value of their bucket, ascending. A bucket is at most an eighth as wide as that.
    pub buckets: Vec<(u64, u64)>,
    /// Sum of the values.
    pub sum: u64,
    /// The smallest value since the run began.
    pub min: u64,
    /// The largest value since the run began.
    pub max: u64,
}

impl Distribution {
    /// Adds what was counted after this.
    pub fn add(&mut self, later: &Self) {
        let mut buckets: BTreeMap<u64, u64> = self.buckets.iter().copied().collect();
        for (lowest, events) in &later.buckets {
            let sum = buckets.entry(*lowest).or_default();
            *sum = sum.saturating_add(*events);
        }
        self.buckets = buckets.into_iter().collect();
        self.sum = self.sum.saturating_add(later.sum);
        (self.min, self.max) = (later.min, later.max);
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        crate::snapshot::sum(self.buckets.iter().map(|(_, events)| *events))
    }
}

/// A socket as last seen. The counts are those since the run began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Socket {
    /// Identity within one run.
    pub key: u64,
    /// `udp`, `tcp` and so on, or the number.
    pub protocol: String,
    /// Local address and port.
    pub local: String,
    /// Remote address and port; empty without one.
    pub remote: String,
    /// Whose it is; `None` where no process was found that holds it.
    pub pid: Option<u32>,
    /// That process' name, without control characters; empty where none was found.
    pub comm: String,
    /// Bytes in the receive queue, with their overhead (`sk_rmem_alloc`).
    pub rmem_alloc: u64,
    /// The receive buffer's limit, bytes (`sk_rcvbuf`).
    pub rcvbuf: u64,
    /// Bytes in the send queue (`sk_wmem_queued`), or where the protocol keeps none, on their way out
    /// (`sk_wmem_alloc`).
    pub wmem_queued: u64,
    /// The send buffer's limit, bytes (`sk_sndbuf`).
    pub sndbuf: u64,
    /// Bytes charged in advance (`sk_forward_alloc`).
    pub forward_alloc: i64,
    /// Bytes reserved (`sk_reserved_mem`).
    pub reserved: u64,
    /// Slow-path charges, forced ones included.
    pub charges: u64,
    /// Charges refused.
    pub refused: u64,
    /// Datagrams dropped here.
    pub rcvqueue_full: u64,
}

impl Tallies {
    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds a later read.
    pub fn add(&mut self, later: &Self) {
        // Every field is named so that a new one cannot be forgotten here.
        let Self { counts, distributions, sockets, drops, losses } = later;
        let mut sums: BTreeMap<TallyKey, Sums> = self.counts.iter().map(|it| (it.key, it.sums)).collect();
        for count in counts {
            sums.entry(count.key).or_default().add(&count.sums);
        }
        self.counts = sums.into_iter().map(|(key, sums)| TallyCount { key, sums }).collect();
        for distribution in distributions {
            match self.distributions.iter_mut().find(|it| it.name == distribution.name) {
                Some(there) => there.add(distribution),
                None => self.distributions.push(distribution.clone()),
            }
        }
        let mut by_key: BTreeMap<u64, Socket> = self.sockets.drain(..).map(|it| (it.key, it)).collect();
        by_key.extend(sockets.iter().map(|it| (it.key, it.clone())));
        self.sockets = by_key.into_values().collect();
        self.drops.extend(drops.iter().map(|(reason, events)| (reason.clone(), *events)));
        self.losses.extend(losses.iter().map(|(cause, events)| (cause.clone(), *events)));
    }
}
