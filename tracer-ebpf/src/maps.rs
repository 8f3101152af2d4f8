//! The maps. Sizes given here are minimal: user space sets them before load, by the number of possible CPUs.
//!
//! What one CPU writes alone lies in plain arrays indexed by CPU rather than in per-CPU arrays: their lookup is
//! inlined by every kernel (per-CPU ones only since 6.10), and user space can map them and read without a system
//! call.

use aya_ebpf::{
    macros::map,
    maps::{Array, HashMap, PerCpuHashMap, RingBuf},
};
use tracer_common::{
    cpu::CpuState,
    histogram::Histogram,
    page::{Counter, CounterKey},
    path::{PathRecord, Set, WINDOW},
    sock::{REASONS, SocketRow},
    tally::{Tally, TallyKey},
    user::UserPath,
};

const BPF_F_MMAPABLE: u32 = 1 << 10;

/// Key: CPU for page allocations, CPUs + CPU for everything else. Value: totals, losses and scratch of that CPU.
/// Never full.
#[map]
pub(crate) static CPUS: Array<CpuState> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// Key: CPU x `Config::counters` + n. Value: one kind of allocation. Full: `Cause::CountersFull`.
#[map]
pub(crate) static COUNTERS: Array<Counter> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// Key: what tells counters apart. Value: n. As large as `COUNTERS`.
#[map]
pub(crate) static COUNTER_INDEX: HashMap<CounterKey, u32> = HashMap::with_max_entries(1, 0);

/// Key: index of a path. Value: its record. Full: `Cause::PathsFull`.
#[map]
pub(crate) static PATHS: Array<PathRecord> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// Key: index of a path. Value: the hash of the path that has taken it. As large as `PATHS`.
#[map]
pub(crate) static PATH_OWNER: HashMap<u32, u64> = HashMap::with_max_entries(1, 0);

/// Key: CPU (as in `CPUS`) x `Config::sets` + hash of a remembered key. Value: the keys there. Full: another key is thrown out.
#[map]
pub(crate) static MEMO: Array<Set> = Array::with_max_entries(1, 0);

/// Key: CPU (as in `CPUS`). Value: the part of the stack that is searched when a path is met.
#[map]
pub(crate) static STACKS: Array<[u64; WINDOW]> = Array::with_max_entries(1, 0);

/// Single events, oldest first. Full: `Cause::RingFull`.
#[map]
pub(crate) static EVENTS: RingBuf = RingBuf::with_byte_size(4096, 0);

/// Key: hash of a process name. Value: the name. Full: the owner shows as its hash.
#[map]
pub(crate) static OWNERS: HashMap<u64, [u8; 16]> = HashMap::with_max_entries(1, 0);

/// Key: CPU x `Config::tallies` + n. Value: one kind of event with its path. Full: `Cause::CountersFull`.
#[map]
pub(crate) static TALLIES: Array<Tally> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// Key: what tells tallies apart. Value: n. As large as `TALLIES`.
#[map]
pub(crate) static TALLY_INDEX: HashMap<TallyKey, u32> = HashMap::with_max_entries(1, 0);

/// Key: CPU x `place::PLACES` + place. Value: a distribution. Never full.
#[map]
pub(crate) static HISTOGRAMS: Array<Histogram> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// Key: task and what it does. Value: since when, ns, and a detail. Full: `Cause::StartsFull`.
#[map]
pub(crate) static STARTS: HashMap<u64, [u64; 2]> = HashMap::with_max_entries(4096, 0);

/// Key: address of a socket. Value: what this CPU saw of it. Full: `Cause::SocketsFull`; user space makes room.
#[map]
pub(crate) static SOCKETS: PerCpuHashMap<u64, SocketRow> = PerCpuHashMap::with_max_entries(1, 0);

/// Key: CPU. Value: packets dropped, by the kernel's `enum skb_drop_reason`. Never full.
#[map]
pub(crate) static DROPS: Array<[u64; REASONS]> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// Key: hash of a user stack. Value: the stack. Full: `Cause::UserPathsFull`.
#[map]
pub(crate) static USER_PATHS: HashMap<u64, UserPath> = HashMap::with_max_entries(1, 0);

/// Key: CPU. Value: the user stack just unwound.
#[map]
pub(crate) static USER_SCRATCH: Array<UserPath> = Array::with_max_entries(1, 0);
