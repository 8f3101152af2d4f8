//! What is shown beside page allocations: large kmalloc, fragmentation, reclaim, compaction, socket memory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A distribution. Percentiles are the lowest value of their bucket, which is at most an eighth as wide as that; count,
/// least, largest and mean are exact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Values.
    pub count: u64,
    /// The smallest.
    pub min: u64,
    /// Half of the values are at most this.
    pub p50: u64,
    /// Nine tenths.
    pub p90: u64,
    /// 99 %.
    pub p99: u64,
    /// 99.9 %.
    pub p999: u64,
    /// The largest.
    pub max: u64,
    /// Their mean.
    pub mean: f64,
}

/// A path of events that are no page allocations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BesidePath {
    /// As in [`super::PathRow::id`].
    pub id: String,
    /// What happened there: `charge`, `uncharge`, `receive_drop` and so on.
    pub what: String,
    /// How often.
    pub events: u64,
    /// What the events add up to, by name with unit, such as `bytes_requested`.
    #[serde(flatten)]
    pub sums: BTreeMap<String, u64>,
    /// Where it began; `None` where the path was not taken.
    pub context: Option<String>,
    /// Innermost first.
    pub frames: Vec<String>,
}

/// Large kmalloc: what does not fit a slab cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KmallocLarge {
    /// Successful allocations.
    pub events: u64,
    /// Failed ones.
    pub failed: u64,
    /// Bytes asked for by the successful ones.
    pub bytes_requested: u64,
    /// Bytes given: a power of two pages each.
    pub bytes_allocated: u64,
    /// Successful allocations by order.
    pub by_order: BTreeMap<u8, u64>,
    /// Most bytes first.
    pub paths: Vec<BesidePath>,
}

/// Fallbacks to another migrate type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fragmentation {
    /// Fallbacks.
    pub events: u64,
    /// Of those, with a whole block changing its type.
    pub kinds: Vec<Fallback>,
    /// Most events first.
    pub paths: Vec<BesidePath>,
}

/// Fallbacks of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallback {
    /// The order asked for.
    pub order: u8,
    /// The order of the block that was broken up.
    pub fallback_order: u8,
    /// The migrate type asked for.
    pub migratetype: String,
    /// The migrate type taken from.
    pub fallback_migratetype: String,
    /// How often.
    pub events: u64,
}

/// Pages that bulk allocations took, for which `mm_page_alloc` does not fire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bulk {
    /// Calls that took any.
    pub events: u64,
    /// Pages; none of them in `pages.pages`.
    pub pages: u64,
    /// Most pages first.
    pub paths: Vec<BesidePath>,
}

/// Direct reclaim and compaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reclaim {
    /// Latency of direct reclaim, ns; `None` when not measured, all zero when there was none.
    pub direct_reclaim: Option<Histogram>,
    /// Pages that direct reclaim freed; `None` when not measured.
    pub reclaimed_pages: Option<u64>,
    /// Direct reclaims by the order that was wanted.
    pub direct_reclaim_by_order: BTreeMap<String, u64>,
    /// Latency of compaction, ns; `None` when not measured.
    pub compaction: Option<Histogram>,
    /// Compactions by the order that was wanted; `-` in the background.
    pub compaction_by_order: BTreeMap<String, u64>,
    /// Most time first.
    pub paths: Vec<BesidePath>,
}

/// Socket memory accounting, as far as its slow path shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sockets {
    /// What the figures say, in words.
    pub findings: Vec<String>,
    /// By protocol and direction.
    pub protocols: Vec<ProtocolRow>,
    /// Memory given back, by protocol (it has no direction); `None` when not measured.
    pub uncharged: Option<Vec<Uncharged>>,
    /// Charges refused, by protocol, direction and reason; `None` when not measured.
    pub refused: Option<Vec<Reasoned>>,
    /// Datagrams dropped at sockets, by protocol and reason; `None` when not measured.
    pub receive_drops: Option<Vec<Reasoned>>,
    /// How long senders waited for send memory, ns; `None` when not measured.
    pub send_waits: Option<Histogram>,
    /// Packets dropped anywhere, by the kernel's reason; `None` when not measured.
    pub packet_drops: Option<BTreeMap<String, u64>>,
    /// Sockets seen, those with most trouble first.
    pub sockets: Vec<SocketRow>,
    /// Most events first.
    pub paths: Vec<BesidePath>,
}

/// Charges of one protocol in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProtocolRow {
    /// Such as `udp`.
    pub protocol: String,
    /// `send` or `receive`.
    pub direction: String,
    /// Charges by the slow path, forced ones included; `None` when not measured.
    pub charges: Option<u64>,
    /// Of those, forced ones.
    pub forced: Option<u64>,
    /// Their pages.
    pub pages_charged: Option<u64>,
    /// Bytes that were needed; `None` where the hook does not tell.
    pub need_bytes: Option<u64>,
    /// Bytes charged beyond need; `None` where the hook does not tell.
    pub beyond_need_bytes: Option<Histogram>,
    /// What `sk_forward_alloc` held when the charge came, bytes; `None` where the hook does not tell.
    pub forward_alloc_bytes: Option<Histogram>,
    /// Charges refused; `None` when not measured.
    pub refused: Option<u64>,
}

/// Memory given back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uncharged {
    /// Such as `udp`.
    pub protocol: String,
    /// Times.
    pub events: u64,
    /// Pages.
    pub pages: u64,
}

/// Refusals or drops for one reason.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reasoned {
    /// Such as `udp`.
    pub protocol: String,
    /// `send` or `receive`.
    pub direction: String,
    /// Such as `receive_buffer_full`.
    pub reason: String,
    /// How often.
    pub events: u64,
}

/// A socket as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketRow {
    /// Such as `udp`.
    pub protocol: String,
    /// Address and port.
    pub local: String,
    /// Address and port; empty without one.
    pub remote: String,
    /// The process that holds it; `None` where none was found.
    pub comm: Option<String>,
    /// Its process id.
    pub pid: Option<u32>,
    /// Bytes in the receive queue.
    pub rmem_alloc: u64,
    /// Its limit.
    pub rcvbuf: u64,
    /// Bytes in the send queue.
    pub wmem_queued: u64,
    /// Its limit.
    pub sndbuf: u64,
    /// Bytes charged in advance.
    pub forward_alloc: i64,
    /// Bytes reserved.
    pub reserved: u64,
    /// Slow-path charges; `None` when not measured.
    pub charges: Option<u64>,
    /// Datagrams dropped here; `None` when not measured.
    pub rcvqueue_full: Option<u64>,
    /// Charges refused; `None` when not measured.
    pub refused: Option<u64>,
}
