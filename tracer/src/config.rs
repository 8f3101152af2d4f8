//! What was asked for, checked: the only thing that goes down from the command line to the kernel side.
//!
//! Owns: the meaning of the options that attach. Must not know: clap, aya.

use std::{path::PathBuf, time::Duration};

/// What to trace, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Signals by name or first part of a name; empty: the default set.
    pub signals: Vec<String>,
    /// How paths are taken.
    pub paths: Paths,
    /// Unwind one hit in this many again; 0: never.
    pub audit: u32,
    /// Count only orders of at least this.
    pub min_order: u8,
    /// Count only allocations with all of these gfp flags; 0: all.
    pub gfp: u32,
    /// Whose events to count.
    pub filter: Filter,
    /// What to keep counts apart by.
    pub by: Option<By>,
    /// Take the user part of each path, too.
    pub user_stacks: bool,
    /// Stream single events through the ring buffer, too.
    pub events: bool,
    /// How often the maps are read.
    pub interval: Duration,
    /// More of what happens, on stderr.
    pub verbose: bool,
}

/// How paths are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paths {
    /// Of every event: remembered, or unwound where the kernel does not allow that.
    #[default]
    Exact,
    /// Of every event, unwound each time.
    Unwound,
    /// Of one event in this many.
    Sample(u32),
    /// Of none.
    Off,
}

/// Whose events to count; everything set must hold. An event belongs to the task that runs, which in interrupt
/// context is the one interrupted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only this process, with all its threads.
    pub pid: Option<u32>,
    /// Only tasks of this name (at most 15 bytes).
    pub comm: Option<String>,
    /// Only tasks in this cgroup (v2) and its children.
    pub cgroup: Option<PathBuf>,
}

/// What to keep counts apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The task's name.
    Comm,
    /// The process id.
    Pid,
    /// The cgroup (v2).
    Cgroup,
}

impl By {
    /// The word of the command line and of the report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Comm => "comm",
            Self::Pid => "pid",
            Self::Cgroup => "cgroup",
        }
    }
}

impl Config {
    /// The options that narrow down what is counted, as given on the command line; `gfp` as its names were given.
    pub fn filters(&self, gfp: &str) -> Vec<String> {
        let mut filters = Vec::new();
        if self.min_order > 0 {
            filters.push(format!("--min-order {}", self.min_order));
        }
        if self.gfp != 0 {
            filters.push(format!("--gfp {gfp}"));
        }
        if let Some(pid) = self.filter.pid {
            filters.push(format!("--pid {pid}"));
        }
        if let Some(comm) = &self.filter.comm {
            filters.push(format!("--comm {comm}"));
        }
        if let Some(cgroup) = &self.filter.cgroup {
            filters.push(format!("--cgroup {}", cgroup.display()));
        }
        filters
    }
}
