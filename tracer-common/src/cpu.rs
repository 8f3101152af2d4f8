//! Everything one CPU writes by itself, in one map value: user space maps all of them and reads without a system
//! call, the kernel side touches nothing that another CPU writes.

use crate::{
    loss::Losses,
    page::PageTotals,
    path::{FRAMES, PathStats},
};

/// One CPU's state. In the map `CPUS`, element `cpu` is that of page allocations, element `cpus + cpu` that of
/// everything else.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub struct CpuState {
    /// The address of the tracepoint's argument block, written as a pointer and read back as a number.
    pub arguments: u64,
    /// 1 while the page program runs here.
    pub busy: u32,
    /// Hits until the next audit.
    pub audit_in: u32,
    /// Events until the next sampled path.
    pub sample_in: u32,
    /// Which way to throw out next.
    pub victim: u32,
    /// Counters of this CPU in use.
    pub counters: u32,
    /// `sk_forward_alloc` of the socket in `forcing`, signed.
    pub forced_held: u32,
    /// The socket in `sk_forced_mem_schedule` here; 0: none.
    pub forcing: u64,
    /// The socket in `__sk_mem_schedule` here; 0: none.
    pub scheduling: u64,
    /// The socket that a datagram was last queued to here.
    pub datagram_sock: u64,
    /// `truesize` of that datagram.
    pub datagram: u64,
    /// Charges asked for with no more than what was held.
    pub deficits: u64,
    /// Exact totals.
    pub pages: PageTotals,
    /// What was lost here.
    pub losses: Losses,
    /// What became of the path lookups here.
    pub paths: PathStats,
    /// The path being unwound.
    pub unwound: Unwound,
}

/// Scratch of the slow path: the stack just unwound. Loop cursors live here too, because as registers they make the
/// verifier walk every combination.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Unwound {
    /// Hash of the path's addresses.
    pub hash: u64,
    /// Index in `addresses` of the path's innermost address: those before it are the tracer's own frames.
    pub first: u32,
    /// Index after the path's outermost address.
    pub end: u32,
    /// Index after the outermost address that has to be compared.
    pub compared_end: u32,
    /// 1: the stack was deeper than what was taken.
    pub truncated: u32,
    /// Cursor into `addresses`.
    pub cursor: u32,
    /// Words of stack read.
    pub words: u32,
    /// Slots found searching from the inside.
    pub low: [u16; FRAMES],
    /// Slots found searching from the outside.
    pub high: [u16; FRAMES],
    /// What `bpf_get_stack` gave, innermost first. A power of two, so that an index can be masked.
    pub addresses: [u64; 2 * FRAMES],
}
