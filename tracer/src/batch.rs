//! What one read of the kernel's maps yields: plain data, deltas and running totals, on its way from `collect`
//! to the model and the recording.
//!
//! Must not know: aya, how the maps are laid out, how numbers are shown.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::tally::Tallies;

/// Everything read in one go. Nothing here is shared with what was read before: a batch can be stored, sent and
/// replayed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// When it was read, since the run began.
    pub at: Duration,
    /// Paths met for the first time in this batch; every path is announced before it is counted.
    pub paths: Vec<Path>,
    /// Owners met for the first time in this batch (only with `--by`).
    pub owners: Vec<Owner>,
    /// Events since the last batch, by what tells allocations apart. Only entries that changed.
    pub counts: Vec<Count>,
    /// Exact totals by order since the run began.
    pub totals: Vec<OrderTotals>,
    /// Losses since the run began, by cause; causes never met are absent.
    pub losses: BTreeMap<String, Loss>,
    /// Our programs' own figures since the run began.
    pub programs: Vec<ProgramStats>,
    /// How the paths were found since the run began; `None` when none are taken.
    pub lookups: Option<Lookups>,
    /// The audit's figures since the run began; `None` when the audit is off or paths are not remembered.
    pub audit: Option<Audit>,
    /// Everything beside page allocations.
    pub tallies: Tallies,
    /// Single page allocations; `None` unless they were asked for.
    pub single: Option<Single>,
}

/// Single page allocations: those taken since the last batch, and how all of them add up since the run began. At the
/// end `seen = written + lost`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Single {
    /// In the order in which the ring buffer gave them; a merged batch read from a recording has none.
    pub events: Vec<SingleEvent>,
    /// Events that the program saw.
    pub seen: u64,
    /// Taken out of the ring buffer.
    pub written: u64,
    /// Not taken by the full ring buffer.
    pub lost: u64,
}

/// One page allocation or failed attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SingleEvent {
    /// `CLOCK_MONOTONIC`, ns.
    pub time_ns: u64,
    /// The CPU.
    pub cpu: u32,
    /// Process id of the task that ran; in interrupt context the one interrupted.
    pub pid: u32,
    /// Its thread id.
    pub tid: u32,
    /// Its name, without control characters.
    pub comm: String,
    /// The order.
    pub order: u8,
    /// The kernel's `enum migratetype`.
    pub migratetype: u8,
    /// The gfp flags as the kernel had them.
    pub gfp: u32,
    /// True for a failed allocation.
    pub failed: bool,
    /// [`Path::key`]; 0 where the path was not taken.
    pub path: u64,
}

/// A kernel path as the kernel gave it, with names once `symbols` has looked them up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// Identity within one run: a 64-bit hash of the addresses. Differs from boot to boot (KASLR).
    pub key: u64,
    /// Return addresses, innermost first.
    pub addresses: Vec<u64>,
    /// One frame an address, innermost first; empty until the path has been named.
    pub frames: Vec<Frame>,
    /// The kernel's stack was deeper than what was read.
    pub truncated: bool,
}

/// A function on a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Frame {
    /// The symbol's name without module, or `0x...` where there is none. Free of control characters.
    pub name: String,
    /// The module it lies in, `None` for the kernel image.
    pub module: Option<String>,
}

/// What tells two counts apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CountKey {
    /// [`Path::key`]; 0 where the path was not taken (`--paths off`, or lost).
    pub path: u64,
    /// [`Owner::key`]; 0 when counts are not kept by owner.
    pub owner: u64,
    /// Key of the user part of the stack ([`Path::key`] of a path of user frames); 0 when off or empty.
    pub user_path: u64,
    /// The gfp flags as the kernel had them.
    pub gfp: u32,
    /// The order.
    pub order: u8,
    /// The kernel's `enum migratetype`.
    pub migratetype: u8,
    /// True for failed allocations.
    pub failed: bool,
}

/// Events of one kind since the last batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Which kind.
    pub key: CountKey,
    /// How many more.
    pub events: u64,
}

/// Exact totals of one order since the run began, summed over CPUs. One element an order that was ever met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderTotals {
    /// The order.
    pub order: u8,
    /// Successful allocations.
    pub allocated: u64,
    /// Failed allocations.
    pub failed: u64,
    /// Frees; `None` without the signal `page.free`.
    pub freed: Option<u64>,
    /// Pages taken under the zone lock to refill a per-CPU list; `None` without the signal `page.zone_lock`.
    pub refilled: Option<u64>,
    /// Allocations served directly under the zone lock; `None` without the signal `page.zone_lock`.
    pub direct: Option<u64>,
    /// Pages drained from per-CPU lists; `None` without the signal `page.drain`.
    pub drained: Option<u64>,
}

/// How much one cause has lost since the run began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// Events.
    pub events: u64,
    /// Pages of those events.
    pub pages: u64,
    /// Events by order; empty where the order is unknown.
    pub by_order: BTreeMap<u8, u64>,
    /// These events are in the totals but without a path (`true`), or in no sum at all (`false`).
    pub counted_without_path: bool,
}

/// One of our programs, from `bpf_prog_info`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramStats {
    /// The signal it serves, as in [`crate::signal::Signal::name`].
    pub signal: String,
    /// The hook it is attached to.
    pub hook: String,
    /// Times run; `None` unless `kernel.bpf_stats_enabled` is set.
    pub run_count: Option<u64>,
    /// Time spent, ns; `None` unless `kernel.bpf_stats_enabled` is set.
    pub run_time_ns: Option<u64>,
    /// Events at which it did not run because it was running already on that CPU (`recursion_misses`).
    pub missed: u64,
}

/// How the paths of events were found since the run began. `hits + unwound` are the events whose path was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lookups {
    /// Events whose path was remembered.
    pub hits: u64,
    /// Events whose path was unwound: first meetings, evicted keys, audits, and all where paths are not remembered.
    pub unwound: u64,
    /// Remembered keys thrown out for others.
    pub evicted: u64,
    /// Of `unwound`, events whose path could not be remembered: not all of its addresses were told apart on the
    /// stack.
    pub unremembered: u64,
}

/// What an audit of remembered paths found since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// Hits unwound again.
    pub checked: u64,
    /// Of those, hits whose path was not the remembered one.
    pub disagreed: u64,
}

/// Whose events they were.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Identity within one run.
    pub key: u64,
    /// The process name, process id or cgroup path, without control characters.
    pub name: String,
}
