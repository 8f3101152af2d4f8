//! Why an event was not counted in full: one number a cause and order, so that every loss is known in events and
//! in pages.

use crate::page::ORDERS;

/// Why.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// `bpf_get_stack` gave nothing; counted without a path.
    UnwindFailed = 0,
    /// No room for another path; counted without a path.
    PathsFull = 1,
    /// No room for another counter on this CPU; only in the totals.
    CountersFull = 2,
    /// The event came while the program was running on this CPU, on a kernel without a guard of its own; in no sum.
    Nested = 3,
    /// The order is beyond [`ORDERS`]; in no sum, counted here under order 0.
    InvalidOrder = 4,
    /// The ring buffer was full; only the single event is lost, counts are not.
    RingFull = 5,
    /// A map of the kernel refused an entry because it was being changed on this CPU; counted without a path.
    MapBusy = 6,
    /// No room for another socket; its events are counted, its row is missing.
    SocketsFull = 7,
    /// No room to note when something began; its duration is in no distribution.
    StartsFull = 8,
    /// No room for another user stack; counted without its user part.
    UserPathsFull = 9,
}

/// Number of causes.
pub const CAUSES: usize = 10;

impl Cause {
    /// Every cause.
    pub const ALL: [Self; CAUSES] = [
        Self::UnwindFailed,
        Self::PathsFull,
        Self::CountersFull,
        Self::Nested,
        Self::InvalidOrder,
        Self::RingFull,
        Self::MapBusy,
        Self::SocketsFull,
        Self::StartsFull,
        Self::UserPathsFull,
    ];

    /// The word used in reports and recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnwindFailed => "unwind_failed",
            Self::PathsFull => "paths_full",
            Self::CountersFull => "counters_full",
            Self::Nested => "nested",
            Self::InvalidOrder => "invalid_order",
            Self::RingFull => "ring_full",
            Self::MapBusy => "map_busy",
            Self::SocketsFull => "sockets_full",
            Self::StartsFull => "starts_full",
            Self::UserPathsFull => "user_paths_full",
        }
    }

    /// Whether these events are in the totals, only without a path.
    pub const fn counted_without_path(self) -> bool {
        matches!(self, Self::UnwindFailed | Self::PathsFull | Self::CountersFull | Self::MapBusy)
    }
}

/// Events lost on one CPU, by cause, then by order.
pub type Losses = [[u64; ORDERS]; CAUSES];
