//! What user space decides before load: one checked struct, written into a read-only global, so that the verifier
//! drops every branch that is switched off and an unused filter costs nothing.

use crate::{path::CUTS, sock::Offsets};

/// How paths are taken ([`Config::paths`]).
pub mod paths {
    /// No paths: counts by order, gfp flags and migrate type only.
    pub const OFF: u32 = 0;
    /// Every event unwound with `bpf_get_stack`.
    pub const UNWOUND: u32 = 1;
    /// Remembered paths, every return address compared on every hit.
    pub const REMEMBERED: u32 = 2;
}

/// How stack words are read when a remembered path is compared ([`Config::reads`]).
pub mod reads {
    /// One copy of the stack window with `bpf_probe_read_kernel`: works everywhere.
    pub const COPIED: u32 = 0;
    /// Each word by itself through `bpf_rdonly_cast`, which costs one load instead of a copy: 6.2 and later.
    pub const TYPED: u32 = 1;
}

/// What [`crate::page::Counter::owner`] is ([`Config::by`]).
pub mod by {
    /// Nothing: counts are not kept apart.
    pub const OFF: u32 = 0;
    /// A hash of the process name; the name is in the map `OWNERS`.
    pub const COMM: u32 = 1;
    /// The process id (thread group).
    pub const PID: u32 = 2;
    /// The cgroup v2 id.
    pub const CGROUP: u32 = 3;
}

/// Bits of [`Config::filters`].
pub mod filters {
    /// Only the process [`super::Config::pid`].
    pub const PID: u32 = 1;
    /// Only tasks named [`super::Config::comm`].
    pub const COMM: u32 = 2;
    /// Only tasks in the cgroup of the map `CGROUP`, with its children.
    pub const CGROUP: u32 = 4;
}

/// Ranges in [`Config::kmalloc_inner`].
pub const INNER: usize = 6;

/// Bits of [`Config::facts`]: how the running kernel's hooks differ, asked of its BTF.
pub mod facts {
    /// `mm_vmscan_direct_reclaim_begin` has gfp flags first and the order second.
    pub const RECLAIM_GFP_FIRST: u32 = 1;
    /// `kmalloc` has a slab cache before the bytes asked for.
    pub const KMALLOC_CACHE_ARGUMENT: u32 = 2;
    /// `kfree_skb` has a reason.
    pub const DROP_REASON: u32 = 4;
    /// `alloc_pages_bulk` has a list of pages before the array.
    pub const BULK_PAGE_LIST: u32 = 8;
}

/// The checked configuration.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// One of [`paths`].
    pub paths: u32,
    /// One of [`reads`].
    pub reads: u32,
    /// Take the path of one event in this many; 1: of every event.
    pub one_in: u32,
    /// Unwind one hit in this many again; 0: never.
    pub audit: u32,
    /// One of [`by`].
    pub by: u32,
    /// Bits of [`filters`].
    pub filters: u32,
    /// Count only orders of at least this.
    pub min_order: u32,
    /// Count only allocations with all of these gfp flags; 0: all.
    pub gfp: u32,
    /// Process id (thread group) for [`filters::PID`].
    pub pid: u32,
    /// 1: the third argument of `mm_page_alloc_zone_locked` after order and migrate type tells refills apart.
    pub refill_argument: u32,
    /// Bytes of a kernel stack, a power of two.
    pub stack_bytes: u32,
    /// Counters of one CPU in the map `COUNTERS`.
    pub counters: u32,
    /// Sets of remembered keys of one CPU in the map `MEMO`, a power of two.
    pub sets: u32,
    /// Records in the map `PATHS`.
    pub records: u32,
    /// 1: every event also goes to the ring buffer.
    pub events: u32,
    /// 1: the kernel side's rare diagnostics are on.
    pub log: u32,
    /// BTF id of a structure of the running kernel that begins with an `unsigned long`; for [`reads::TYPED`].
    pub word_type: u32,
    /// Name for [`filters::COMM`], padded with zeros.
    pub comm: [u8; 16],
    /// Possible CPUs. What is not about page allocations has its own state, scratch space and remembered keys, at
    /// this much plus the CPU.
    pub cpus: u32,
    /// Tallies of one CPU in the map `TALLIES`.
    pub tallies: u32,
    /// Take a socket's figures at one send or receive in this many, a power of two.
    pub sample_sockets: u32,
    /// Bits of [`facts`].
    pub facts: u32,
    /// The largest kmalloc from a slab, bytes.
    pub kmalloc_cache_max: u32,
    /// Bytes of a page, as a power of two.
    pub page_shift: u32,
    /// 1: the user part of each path is taken, too.
    pub user_stacks: u32,
    /// Zero.
    pub padding: u32,
    /// Where fields of sockets lie.
    pub sock: Offsets,
    /// Kernel text whose calls of the `kmalloc` tracepoint are told a second time by the caller: start, end.
    pub kmalloc_inner: [[u64; 2]; INNER],
    /// Where a path is cut: ranges of kernel text, start included and end excluded; unused ones are empty. A path
    /// ends with the first return address that lies in one.
    pub cuts: [[u64; 2]; CUTS],
    /// Kernel entry code, likewise: an outermost address in it is not compared, see [`crate::path`].
    pub entry: [u64; 2],
}

const _: () = assert!(size_of::<Config>() == 25 * 4 + 16 + 76 + INNER * 16 + CUTS * 16 + 16);
