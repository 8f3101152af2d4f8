//! What is shown: one immutable picture of a run, made by the model, read by every view, report and export.
//!
//! Its JSON form is the contract `tracer.report/1`: names are stable, and a field that was not measured is
//! `null`, never 0. Counts are exact integers; only shares and rates are floating point.
//! How the counts close: the sum over `by_order` of `events` is `events`; the sum over `paths` of `events` plus
//! `pages.lost` is `events`. Events at which a program did not run are `signals[].missed` and in no sum.

pub mod beside;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    run::{BeforeAfter, Host, Score, Traffic},
    signal::{Refused, Status},
};
use beside::{Bulk, Fragmentation, KmallocLarge, Reclaim, Sockets};

/// The name of the JSON form.
pub const SCHEMA: &str = "tracer.report/1";

/// The only frame of the row that stands for all events of a run with `--paths off`.
pub const PATHS_OFF: &str = "[paths off]";

/// The only frame of the row for events of which sampling took no path.
pub const NOT_SAMPLED: &str = "[not sampled]";

/// The whole report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// [`SCHEMA`].
    pub schema: String,
    /// The machine traced.
    pub host: Host,
    /// When and how long.
    pub window: Window,
    /// The command run; `None` for `top` and `record`.
    pub command: Option<Command>,
    /// The score; `None` without a command.
    pub benchmark: Option<Benchmark>,
    /// Every signal with its hook, events and cost.
    pub signals: Vec<SignalRow>,
    /// How complete the counts are.
    pub completeness: Completeness,
    /// Page allocations; `None` when no hook for them was attached.
    pub pages: Option<Pages>,
    /// Large kmalloc; `None` when not measured.
    pub kmalloc_large: Option<KmallocLarge>,
    /// Fallbacks to another migrate type; `None` when not measured.
    pub fragmentation: Option<Fragmentation>,
    /// Bulk allocations; `None` when not measured.
    pub bulk: Option<Bulk>,
    /// Direct reclaim and compaction; `None` when not measured.
    pub reclaim: Option<Reclaim>,
    /// Socket memory accounting; `None` when not measured.
    pub sockets: Option<Sockets>,
    /// The system's own counters.
    pub system: System,
}

/// When and how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// RFC 3339, UTC.
    pub start: String,
    /// Seconds from attaching the hooks to detaching them.
    pub duration_s: f64,
}

/// The command run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Exit status, 128+n when killed by signal n; `None` while it runs or when the recording was cut short.
    pub exit_code: Option<i32>,
    /// Wall time, s.
    pub wall_s: Option<f64>,
    /// User time of it and its children, s.
    pub user_s: Option<f64>,
    /// System time of it and its children, s.
    pub system_s: Option<f64>,
}

/// The score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Benchmark {
    /// The benchmark recognised; `None` when none was.
    pub tool: Option<String>,
    /// Its test; `None` when unknown.
    pub test: Option<String>,
    /// How many instances printed a result.
    pub instances: u32,
    /// The figures.
    pub results: Vec<Score>,
    /// What to know before trusting them.
    pub warnings: Vec<String>,
}

/// A signal with what it counted and what it cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignalRow {
    /// Such as `page.alloc`.
    pub signal: String,
    /// The hook taken.
    pub hook: Option<String>,
    /// How well it is served.
    pub status: Status,
    /// Better hooks and why they were not taken.
    pub refused: Vec<Refused>,
    /// What is lost on the hook taken; empty when nothing is.
    pub note: String,
    /// Events counted; `None` when missing.
    pub events: Option<u64>,
    /// Events at which the program did not run; `None` when missing.
    pub missed: Option<u64>,
    /// Mean cost of an event, ns; `None` unless the kernel measured it.
    pub ns_per_event: Option<f64>,
}

/// How complete the counts are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Completeness {
    /// The word for it.
    pub verdict: Verdict,
    /// Lost events by cause; `unexplained` are events without a path that no cause has owned up to.
    pub lost: BTreeMap<String, u64>,
    /// Pages that `/proc/vmstat` counted and no hook saw; `None` where not compared.
    pub unseen_pages: Option<i64>,
    /// How the paths of events were found; `None` when none are taken.
    pub lookups: Option<Lookups>,
    /// What the audit of remembered paths found; `None` without one.
    pub audit: Option<Audit>,
    /// Single events written to the recording; `None` unless they were asked for.
    pub events: Option<EventTotals>,
    /// How paths were taken: `remembered`, `unwound`, `sampled` or `off`.
    pub paths: String,
    /// What was left out on demand, as on the command line: by the kernel side while counting (`--min-order 2`) or
    /// when the report was made (`--route vmalloc`); empty when nothing was.
    pub filters: Vec<String>,
    /// What this run lacks, in words.
    pub warnings: Vec<String>,
}

/// How far to trust the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing lost or missed of what the hooks can see.
    Exact,
    /// Something was lost or missed: at least this many.
    LowerBound,
    /// Paths were sampled.
    Estimate,
}

/// How the paths of events were found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lookups {
    /// Events whose path was remembered.
    pub hits: u64,
    /// Events whose path was unwound.
    pub unwound: u64,
    /// Remembered keys thrown out for others.
    pub evicted: u64,
    /// Of `unwound`, events whose path could not be remembered.
    pub unremembered: u64,
}

/// How single events add up: at the end `seen = written + lost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventTotals {
    /// Page allocations and failed attempts that the program saw.
    pub seen: u64,
    /// Written to the recording.
    pub written: u64,
    /// Not taken by the full ring buffer.
    pub lost: u64,
}

/// What the audit found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// Hits unwound again.
    pub checked: u64,
    /// Of those, hits whose path was another.
    pub disagreed: u64,
}

/// Page allocations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pages {
    /// Successful allocations seen.
    pub events: u64,
    /// Failed allocations seen.
    pub failed: u64,
    /// Of `events`, those counted without a path although one was wanted. Events whose path was not to be taken
    /// (`--paths off`, an order that sampling never hit) are not lost: they stand in `paths` as one row whose only
    /// frame is [`PATHS_OFF`] or [`NOT_SAMPLED`].
    pub lost: u64,
    /// Pages of `events`.
    pub pages: u64,
    /// Bytes of `events`.
    pub bytes: u64,
    /// Blocks taken under the zone lock, refills of per-CPU lists and direct ones, the sum over `by_order`;
    /// `None` when not measured.
    pub zone_locked: Option<u64>,
    /// Blocks drained from per-CPU lists, the sum over `by_order`; `None` when not measured.
    pub drained: Option<u64>,
    /// By order, ascending; only orders that were met.
    pub by_order: Vec<OrderRow>,
    /// By gfp flags, most events first. Like the next four without what was lost, unless the loss left the value known.
    pub by_gfp: Vec<GfpRow>,
    /// By migrate type, most events first.
    pub by_migratetype: Vec<MigratetypeRow>,
    /// By route, most pages first.
    pub by_route: Vec<RouteRow>,
    /// By context, most pages first.
    pub by_context: Vec<ContextRow>,
    /// By process name, process or cgroup; empty without `--by`.
    pub by_owner: Vec<OwnerRow>,
    /// Divided by the benchmark's work; `None` when that is unknown.
    pub per_unit: Option<PerUnit>,
    /// Paths, most pages first, ties by id. Paths whose frames bear the same names are one.
    pub paths: Vec<PathRow>,
}

impl Pages {
    /// Of the events of an order, those counted without a path: what its row exceeds its paths by.
    pub fn lost_of(&self, order: u8) -> u64 {
        let of_paths = sum(self.paths.iter().filter_map(|path| path.orders.get(&order)).copied());
        let row = self.by_order.iter().find(|row| row.order == order);
        row.map_or(0, |row| row.events.saturating_sub(of_paths))
    }
}

/// One order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderRow {
    /// The order.
    pub order: u8,
    /// Successful allocations.
    pub events: u64,
    /// Their pages.
    pub pages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Failed allocations.
    pub failed: u64,
    /// Blocks of this order moved by per-CPU refills (one event a block) plus direct allocations under the zone
    /// lock; `None` when not measured.
    pub zone_locked: Option<u64>,
    /// Of those, refills of per-CPU lists; `None` when not measured.
    pub zone_refilled: Option<u64>,
    /// Drained from per-CPU lists; `None` when not measured.
    pub drained: Option<u64>,
    /// Frees; `None` when not measured.
    pub freed: Option<u64>,
}

/// One combination of gfp flags.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GfpRow {
    /// The value, `0x...`.
    pub gfp: String,
    /// Its names.
    pub flags: String,
    /// Successful allocations.
    pub events: u64,
    /// Their pages.
    pub pages: u64,
}

/// One migrate type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigratetypeRow {
    /// Its name, such as `unmovable`.
    pub migratetype: String,
    /// Successful allocations.
    pub events: u64,
    /// Their pages.
    pub pages: u64,
}

/// One route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteRow {
    /// Such as `kmalloc_large`.
    pub route: String,
    /// Successful allocations.
    pub events: u64,
    /// Their pages.
    pub pages: u64,
    /// Their events by order.
    pub by_order: BTreeMap<u8, u64>,
}

/// One context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextRow {
    /// Such as `syscall:sendto` or `softirq`.
    pub context: String,
    /// Successful allocations.
    pub events: u64,
    /// Their pages.
    pub pages: u64,
}

/// One owner. In JSON the name stands under the key `comm`, `pid` or `cgroup`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerRow {
    /// Kind and name.
    #[serde(flatten)]
    pub owner: OwnerName,
    /// Successful allocations.
    pub events: u64,
    /// Their pages.
    pub pages: u64,
    /// Their events by order.
    pub by_order: BTreeMap<u8, u64>,
}

/// Kind and name of an owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OwnerName {
    /// A process name.
    Comm(String),
    /// A process id.
    Pid(u32),
    /// A cgroup's path.
    Cgroup(String),
}

/// Counts divided by the benchmark's work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PerUnit {
    /// `message`, `transaction` or `gigabit`.
    pub unit: String,
    /// Successful allocations a unit.
    pub events: f64,
    /// Pages a unit.
    pub pages: f64,
}

/// One path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathRow {
    /// Hash of the frames' names: the same path has the same id in every run, whatever the addresses were.
    pub id: String,
    /// Successful allocations.
    pub events: u64,
    /// With sampled paths: by how many events `events` may be wrong, at 95 %; else absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_error: Option<u64>,
    /// Their pages.
    pub pages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Failed allocations.
    pub failed: u64,
    /// Successful allocations by order.
    pub orders: BTreeMap<u8, u64>,
    /// Failed allocations by order.
    pub failed_orders: BTreeMap<u8, u64>,
    /// Successful allocations by gfp flags, `0x...`.
    pub gfp: BTreeMap<String, u64>,
    /// How it came to the page allocator; `None` where the path was not taken.
    pub route: Option<String>,
    /// Where it began; `None` where the path was not taken.
    pub context: Option<String>,
    /// Innermost first; a module's function is `name [module]`.
    pub frames: Vec<String>,
    /// The stack was deeper than what was read.
    pub truncated: bool,
}

/// The system's own counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct System {
    /// Free blocks by `node/zone` and order, before and after; `None` when not read.
    pub buddyinfo: Option<BeforeAfter<BTreeMap<String, Vec<u64>>>>,
    /// What changed in `/proc/vmstat`; `None` when not read.
    pub vmstat_delta: Option<BTreeMap<String, i64>>,
    /// `/proc/net/sockstat` and the limits of protocol memory, by name; `None` when not read.
    pub sockstat: Option<BeforeAfter<BTreeMap<String, i64>>>,
    /// What changed in `/proc/net/snmp` and `/proc/net/netstat`; `None` when not read.
    pub netstat_delta: Option<BTreeMap<String, i64>>,
    /// Network interfaces that had traffic; `None` when not read.
    pub interfaces: Option<Vec<Interface>>,
}

/// Traffic of a network interface over the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interface {
    /// Such as `lo`.
    pub name: String,
    /// Packets and bytes.
    #[serde(flatten)]
    pub traffic: Traffic,
    /// Bytes received a second.
    pub rx_bytes_per_s: f64,
    /// Bytes sent a second.
    pub tx_bytes_per_s: f64,
}

/// Adds up counts; a sum beyond 64 bits, which only a damaged recording can have, stays at the largest number.
pub fn sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}
