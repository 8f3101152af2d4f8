//! Sockets: what is kept of each, and where the running kernel keeps the fields that are read.

/// Protocols whose distributions are kept apart.
pub const CLASSES: u32 = 6;

/// The place of a protocol (`sk_protocol`) among those kept apart; 0 is every other.
#[inline(always)]
#[expect(clippy::inline_always, reason = "hot paths of the kernel side must not become calls")]
pub const fn class(protocol: u32) -> u32 {
    match protocol {
        6 => 1,
        17 => 2,
        132 => 3,
        136 => 4,
        262 => 5,
        _ => 0,
    }
}

/// The protocol of a class; `None` for every other.
pub const fn protocol(class: u32) -> Option<u32> {
    match class {
        1 => Some(6),
        2 => Some(17),
        3 => Some(132),
        4 => Some(136),
        5 => Some(262),
        _ => None,
    }
}

/// Reasons of dropped packets told apart; a larger one goes into the last.
pub const REASONS: usize = 256;

/// A field that the running kernel lacks, or whose place is not known.
pub const ABSENT: u32 = u32::MAX;

/// Offsets in bytes from the start of `struct sock`, or [`ABSENT`].
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets {
    /// `sk_forward_alloc`, an int.
    pub forward_alloc: u32,
    /// `sk_backlog.rmem_alloc`, an `atomic_t`: bytes in the receive queue.
    pub rmem_alloc: u32,
    /// `sk_rcvbuf`, an int.
    pub rcvbuf: u32,
    /// `sk_wmem_queued`, an int.
    pub wmem_queued: u32,
    /// `sk_wmem_alloc`, a `refcount_t`: bytes on their way out.
    pub wmem_alloc: u32,
    /// `sk_sndbuf`, an int.
    pub sndbuf: u32,
    /// `sk_reserved_mem`, a `u32`.
    pub reserved: u32,
    /// `sk_protocol`, a `u16`.
    pub protocol: u32,
    /// `__sk_common.skc_family`, a `u16`.
    pub family: u32,
    /// `__sk_common.skc_num`, a `u16`, the local port.
    pub local_port: u32,
    /// `__sk_common.skc_dport`, a `be16`.
    pub remote_port: u32,
    /// `__sk_common.skc_rcv_saddr`, a `be32`.
    pub local4: u32,
    /// `__sk_common.skc_daddr`, a `be32`.
    pub remote4: u32,
    /// `__sk_common.skc_v6_rcv_saddr`, 16 bytes.
    pub local6: u32,
    /// `__sk_common.skc_v6_daddr`, 16 bytes.
    pub remote6: u32,
    /// `truesize` of `struct sk_buff`, an unsigned int.
    pub skb_truesize: u32,
    /// `__sk_common.skc_prot`, a `struct proto *`.
    pub prot: u32,
    /// `sysctl_mem` of `struct proto`, a `long *`: three limits in pages.
    pub proto_limits: u32,
    /// `memory_allocated` of `struct proto`, an `atomic_long_t *`: pages in use.
    pub proto_allocated: u32,
}

impl Offsets {
    /// Nothing is known.
    pub const NONE: Self = Self {
        forward_alloc: ABSENT,
        rmem_alloc: ABSENT,
        rcvbuf: ABSENT,
        wmem_queued: ABSENT,
        wmem_alloc: ABSENT,
        sndbuf: ABSENT,
        reserved: ABSENT,
        protocol: ABSENT,
        family: ABSENT,
        local_port: ABSENT,
        remote_port: ABSENT,
        local4: ABSENT,
        remote4: ABSENT,
        local6: ABSENT,
        remote6: ABSENT,
        skb_truesize: ABSENT,
        prot: ABSENT,
        proto_limits: ABSENT,
        proto_allocated: ABSENT,
    };
}

/// What one CPU saw of one socket: its figures when it was last seen there, and sums since the run began.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketRow {
    /// When it was last seen, ns of the monotonic clock.
    pub seen_ns: u64,
    /// Times its memory was charged by the slow path, forced charges included.
    pub charges: u64,
    /// Charges refused.
    pub refused: u64,
    /// Datagrams dropped because its receive queue was full.
    pub rcvqueue_full: u64,
    /// Bytes in its receive queue.
    pub rmem_alloc: u32,
    /// Its receive buffer's limit, bytes.
    pub rcvbuf: u32,
    /// Bytes in its send queue.
    pub wmem_queued: u32,
    /// Its send buffer's limit, bytes.
    pub sndbuf: u32,
    /// Bytes on their way out (`sk_wmem_alloc`).
    pub wmem_alloc: u32,
    /// Bytes charged in advance (`sk_forward_alloc`, signed).
    pub forward_alloc: u32,
    /// Bytes reserved (`sk_reserved_mem`).
    pub reserved: u32,
    /// `sk_protocol`.
    pub protocol: u16,
    /// `AF_...`.
    pub family: u16,
    /// Local port, host byte order.
    pub local_port: u16,
    /// Remote port, host byte order; 0 without one.
    pub remote_port: u16,
    /// Zero.
    pub padding: u32,
    /// Local address, its bytes in order, the first four of them for IPv4.
    pub local: [u64; 2],
    /// Remote address, likewise.
    pub remote: [u64; 2],
}

const _: () = assert!(size_of::<Offsets>() == 76);
const _: () = assert!(size_of::<SocketRow>() == 104);
