//! What is counted beside page allocations: one tally for each kind of event, its detail and its path.

/// Numbers that a tally adds up beside its events.
pub const VALUES: usize = 3;

/// Bits of [`Tally::detail`] in use, from 0 on: what fits into a remembered key.
pub const DETAIL_BITS: u32 = 41;

/// Kinds of events. What `detail` and the values of each are is said here.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A large kmalloc. Detail: order in bits 0 to 3, bit 4: failed. Values: bytes asked for, bytes given.
    KmallocLarge = 1,
    /// A fallback to another migrate type. Detail: order wanted in bits 0 to 3, order taken in 4 to 7, migrate type
    /// wanted in 8 to 11, taken in 12 to 15, bit 16: the whole block changed its owner.
    Fragment = 2,
    /// Pages that a bulk allocation took past `mm_page_alloc`. Detail: 0. Values: pages.
    Bulk = 3,
    /// A direct reclaim that has ended. Detail: order. Values: ns, pages reclaimed.
    Reclaim = 4,
    /// A compaction that has ended. Detail: order in bits 0 to 3, bit 4: the order is unknown (in the background).
    /// Values: ns.
    Compaction = 5,
    /// Socket memory charged by the slow path. Detail: protocol in bits 0 to 8, bit 9: receive side. Values: pages
    /// charged, bytes needed, bytes charged beyond need.
    Charge = 6,
    /// Socket memory charged whatever the limits say (`sk_forced_mem_schedule`). Detail and values as for a charge.
    Forced = 7,
    /// Socket memory given back. Detail: protocol. Values: pages.
    Uncharge = 8,
    /// A refused charge. Detail as for a charge, and in bits 16 to 17 one of [`refusal`]. Values: pages of protocol
    /// memory in use.
    Limit = 9,
    /// A datagram dropped at a socket. Detail: protocol in bits 0 to 8, one of [`mod@drop`] in bits 16 to 17.
    RcvQueue = 10,
    /// A wait for send memory that has ended. Detail: protocol. Values: ns.
    Wait = 11,
}

impl Kind {
    /// The word used in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::KmallocLarge => "kmalloc_large",
            Self::Fragment => "fragment",
            Self::Bulk => "bulk",
            Self::Reclaim => "reclaim",
            Self::Compaction => "compaction",
            Self::Charge => "charge",
            Self::Forced => "forced_charge",
            Self::Uncharge => "uncharge",
            Self::Limit => "refused_charge",
            Self::RcvQueue => "receive_drop",
            Self::Wait => "send_wait",
        }
    }
}

/// Every kind.
pub const KINDS: [Kind; 11] = [
    Kind::KmallocLarge,
    Kind::Fragment,
    Kind::Bulk,
    Kind::Reclaim,
    Kind::Compaction,
    Kind::Charge,
    Kind::Forced,
    Kind::Uncharge,
    Kind::Limit,
    Kind::RcvQueue,
    Kind::Wait,
];

/// Why a charge was refused, by where the protocol's memory stands against its three limits (`sysctl_mem`).
pub mod refusal {
    /// Above the third: the protocol's hard limit.
    pub const PROTOCOL: u64 = 0;
    /// Not above the first, where nothing but the memory cgroup refuses.
    pub const CGROUP: u64 = 1;
    /// Between them: the socket has more than its share under pressure, or its memory cgroup refused.
    pub const PRESSURE: u64 = 2;
    /// The limits could not be read.
    pub const UNKNOWN: u64 = 3;
}

/// Why a datagram was dropped at a socket.
pub mod drop {
    /// The socket's receive buffer was full (`-ENOMEM` in `udp_fail_queue_rcv_skb`).
    pub const BUFFER_FULL: u64 = 0;
    /// The protocol's memory was used up (`-ENOBUFS`).
    pub const PROTOCOL_MEMORY: u64 = 1;
    /// Another reason.
    pub const OTHER: u64 = 2;
    /// `sock_rcvqueue_full`: raw, packet and unix sockets.
    pub const QUEUE_FULL: u64 = 3;
}

/// Where in a detail a socket's direction stands: set on the receive side.
pub const RECEIVE: u64 = 1 << 9;
/// Mask of the protocol in a detail (`sk_protocol`; MPTCP has 262).
pub const PROTOCOL: u64 = 0x1ff;

/// Events that differ only in when they happened. One CPU writes it, user space reads it.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    /// Events seen.
    pub events: u64,
    /// Sums of what [`Kind`] says.
    pub values: [u64; VALUES],
    /// As [`Kind`] says.
    pub detail: u64,
    /// Index of the path's [`crate::path::PathRecord`]; [`crate::path::NO_PATH`] without one.
    pub path: u32,
    /// A [`Kind`].
    pub kind: u32,
    /// Zero.
    pub padding: [u64; 2],
}

/// Finds the [`Tally`] of a CPU for an event whose remembered entry is new or was thrown out.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TallyKey {
    /// As in [`Tally::detail`].
    pub detail: u64,
    /// As in [`Tally::path`].
    pub path: u32,
    /// The CPU that owns the tally.
    pub cpu: u32,
    /// As in [`Tally::kind`].
    pub kind: u32,
    /// Zero.
    pub padding: u32,
}

const _: () = assert!(size_of::<Tally>() == 64);
const _: () = assert!(size_of::<TallyKey>() == 24);
