//! A single event, as it goes through the ring buffer.

/// One page allocation or failed attempt.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageEvent {
    /// `CLOCK_MONOTONIC`, ns.
    pub time_ns: u64,
    /// As in [`crate::page::Counter::path`].
    pub path: u32,
    /// The CPU.
    pub cpu: u32,
    /// Process id (thread group) of the task that ran; in interrupt context the one interrupted.
    pub pid: u32,
    /// Its thread id.
    pub tid: u32,
    /// The gfp flags as the kernel had them.
    pub gfp: u32,
    /// The order.
    pub order: u8,
    /// The kernel's `enum migratetype`.
    pub migratetype: u8,
    /// 1 for a failed allocation.
    pub failed: u8,
    /// Zero.
    pub padding: u8,
    /// The task's name, padded with zeros.
    pub comm: [u8; 16],
}

const _: () = assert!(size_of::<PageEvent>() == 48);
