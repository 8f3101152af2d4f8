//! What is counted about pages: totals by order and one counter a distinct kind of allocation.

/// Orders told apart: 0 to 15. x86-64 has 0 to 10, arm64 with 64 KiB pages 0 to 13.
/// A larger order is counted as [`crate::loss::Cause::InvalidOrder`].
pub const ORDERS: usize = 16;

/// Migrate types told apart: the kernel's `enum migratetype` has 4 to 6 values. A larger one goes into the last.
pub const MIGRATETYPES: usize = 8;

/// Always exact, one a CPU, kept beside the path tables so that whatever those lose shows as a difference.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PageTotals {
    /// Successful allocations by order (`mm_page_alloc` with a page).
    pub allocated: [u64; ORDERS],
    /// Failed allocations by order (`mm_page_alloc` without a page).
    pub failed: [u64; ORDERS],
    /// Frees by order (`mm_page_free`); only with the signal `page.free`.
    pub freed: [u64; ORDERS],
    /// Pages moved from the zone to a per-CPU list under the zone lock (`mm_page_alloc_zone_locked` with
    /// `percpu_refill`), by order and migrate type. One event a page of the batch.
    pub refilled: [[u64; MIGRATETYPES]; ORDERS],
    /// Allocations served from the zone under its lock, past the per-CPU lists, by order and migrate type.
    pub direct: [[u64; MIGRATETYPES]; ORDERS],
    /// Pages moved back from a per-CPU list (`mm_page_pcpu_drain`), by order and migrate type.
    pub drained: [[u64; MIGRATETYPES]; ORDERS],
}

/// Allocations that differ only in when they happened. One CPU writes it, user space reads it.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// Allocations seen.
    pub events: u64,
    /// Process name hash, process id or cgroup id, as [`crate::config::Config::by`] says; 0 when off.
    pub owner: u64,
    /// Hash of the user part of the stack; 0 when off or empty.
    pub user_path: u64,
    /// Index of the path's [`crate::path::PathRecord`]; [`crate::path::NO_PATH`] without one.
    pub path: u32,
    /// The gfp flags as the kernel had them.
    pub gfp: u32,
    /// Order, below [`ORDERS`].
    pub order: u8,
    /// The kernel's `enum migratetype`.
    pub migratetype: u8,
    /// 1 for failed allocations, 0 for successful ones.
    pub failed: u8,
    /// Zero.
    pub padding: [u8; 21],
}

/// Finds the [`Counter`] of a CPU for an allocation whose remembered entry is new or was thrown out.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterKey {
    /// As in [`Counter::owner`].
    pub owner: u64,
    /// As in [`Counter::user_path`].
    pub user_path: u64,
    /// As in [`Counter::path`].
    pub path: u32,
    /// As in [`Counter::gfp`].
    pub gfp: u32,
    /// The CPU that owns the counter.
    pub cpu: u32,
    /// As in [`Counter::order`].
    pub order: u8,
    /// As in [`Counter::migratetype`].
    pub migratetype: u8,
    /// As in [`Counter::failed`].
    pub failed: u8,
    /// Zero.
    pub padding: u8,
}

const _: () = assert!(size_of::<Counter>() == 64);
const _: () = assert!(size_of::<CounterKey>() == 32);
