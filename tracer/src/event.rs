//! A single event: plain data, made by `collect`, named by `symbols`, written by `output`.

use crate::batch::Frame;

/// One page allocation or failed attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// `CLOCK_MONOTONIC`, ns.
    pub time_ns: u64,
    /// The CPU.
    pub cpu: u32,
    /// Process id of the task that ran; in interrupt context the one interrupted.
    pub pid: u32,
    /// Its thread id.
    pub tid: u32,
    /// Its name as the kernel had it; bytes that are no UTF-8 replaced.
    pub comm: String,
    /// The order.
    pub order: u8,
    /// The kernel's `enum migratetype`.
    pub migratetype: u8,
    /// The gfp flags as the kernel had them.
    pub gfp: u32,
    /// True for a failed allocation.
    pub failed: bool,
    /// No further event was waiting when this one was read.
    pub is_last_for_now: bool,
    /// The path, innermost first; empty where it was lost or is not taken.
    pub frames: Vec<Frame>,
}

/// How the events of a stream add up: `seen = written + unread + lost`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Events that the program saw.
    pub seen: u64,
    /// Written out.
    pub written: u64,
    /// Still in the ring buffer when enough had been written.
    pub unread: u64,
    /// Not taken by the full ring buffer.
    pub lost: u64,
}
