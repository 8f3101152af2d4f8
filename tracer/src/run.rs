//! What is known about a run beside its batches: at its start and at its end.
//!
//! Plain data, filled by `session`, kept by `recording`, read by `model`. Start, batches and end are all that a
//! report is made from, so a replayed recording gives the same report as the run itself.
//! Must not know: aya, files, how numbers are shown.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{gfp, signal::Signal};

/// Known before the first batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The machine traced.
    pub host: Host,
    /// When the hooks were attached, ns since 1970 (UTC).
    pub at_unix_ns: i64,
    /// The command run, program first; empty for `top` and `record`.
    pub argv: Vec<String>,
    /// Every signal with its hook.
    pub signals: Vec<Signal>,
    /// How paths are taken: `remembered`, `unwound`, `sample=N` or `off`, and why where it is a fallback.
    pub paths: PathsMode,
    /// What `CountKey::owner` is: `comm`, `pid` or `cgroup`; `None` without `--by`.
    pub by: Option<String>,
    /// Filters in the kernel, as given on the command line, such as `--min-order 2`; empty without any.
    pub filters: Vec<String>,
    /// The running kernel's gfp flag names.
    pub gfp: gfp::Table,
    /// The running kernel's migrate type names by number.
    pub migratetypes: BTreeMap<u8, String>,
}

/// The machine traced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// `uname -r`.
    pub kernel: String,
    /// `uname -m`.
    pub machine: String,
    /// CPUs online.
    pub cpus: u32,
    /// Bytes of a page.
    pub page_size: u64,
    /// The largest order of the page allocator.
    pub max_order: u8,
}

/// How paths are taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathsMode {
    /// `remembered`, `unwound`, `sampled` or `off`.
    pub way: String,
    /// For `sampled`: one path in this many events; else 1.
    pub one_in: u64,
    /// Why no better way was taken; empty when it was asked for or is the best.
    pub reason: String,
}

/// Known after the last batch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// From attaching the hooks to detaching them.
    pub duration: Duration,
    /// How the command ended; `None` for `top` and `record`.
    pub command: Option<CommandEnd>,
    /// What the command printed and the score read from it; `None` for `top` and `record`.
    pub benchmark: Option<Benchmark>,
    /// The system's own counters over the window.
    pub system: System,
    /// What this run lacks, in words for the person who reads the report.
    pub warnings: Vec<String>,
}

/// How the command ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CommandEnd {
    /// Its exit status, 128+n when killed by signal n.
    pub exit_code: i32,
    /// Wall time, s.
    pub wall_s: f64,
    /// User time of the command and the children it waited for, s.
    pub user_s: f64,
    /// System time, likewise, s.
    pub system_s: f64,
}

/// A benchmark's output and score.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Benchmark {
    /// The benchmark recognised, such as `netperf`; empty when none was.
    pub tool: String,
    /// Its test, such as `UDP_STREAM`; empty when unknown.
    pub test: String,
    /// How many instances printed a result.
    pub instances: u32,
    /// The figures read.
    pub results: Vec<Score>,
    /// The work done, which divides the counts; `None` when the output does not tell.
    pub work: Option<Work>,
    /// What to know before trusting the figures.
    pub warnings: Vec<String>,
    /// All that the command wrote to its standard output, as it was (bytes that are no UTF-8 replaced).
    pub stdout: String,
    /// All that the command wrote to its standard error, likewise.
    pub stderr: String,
}

/// One figure of a benchmark, as the benchmark printed it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// What it measures, such as `throughput` or `messages`.
    pub metric: String,
    /// `send`, `receive` or `both`.
    pub side: String,
    /// The number printed.
    pub value: f64,
    /// Its unit, such as `Mbit/s`.
    pub unit: String,
    /// Whether less is better.
    pub lower_is_better: bool,
}

/// The work that a benchmark did, by which counts are divided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// `message`, `transaction` or `gigabit`.
    pub unit: String,
    /// How many of them.
    pub amount: f64,
}

/// The system's own counters around the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct System {
    /// `/proc/buddyinfo` at the start and at the end: free blocks by `node/zone`, then by order.
    pub buddyinfo: Option<BeforeAfter<BTreeMap<String, Vec<u64>>>>,
    /// What changed in `/proc/vmstat`, by name; gauges may have fallen.
    pub vmstat_delta: BTreeMap<String, i64>,
    /// `/proc/net/sockstat` and `sockstat6` and the limits of protocol memory, by name such as `UDP.mem` (pages) or
    /// `net.ipv4.udp_mem.2`; `None` when not read.
    pub sockstat: Option<BeforeAfter<BTreeMap<String, i64>>>,
    /// What changed in `/proc/net/snmp` and `/proc/net/netstat`, by name such as `Udp.RcvbufErrors`.
    pub netstat_delta: BTreeMap<String, i64>,
    /// Traffic of the network interfaces that had any, by name.
    pub interfaces: BTreeMap<String, Traffic>,
    /// Pages that `pgalloc_*` counted over the window minus those our hooks saw between the same two readings;
    /// `None` where it could not be compared (filters, or no exact totals).
    pub unseen_pages: Option<i64>,
}

/// Traffic of a network interface over the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Packets received.
    pub rx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
}

/// Two readings of the same thing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeforeAfter<T> {
    /// Right after the hooks were attached.
    pub before: T,
    /// Right before they were detached.
    pub after: T,
}
