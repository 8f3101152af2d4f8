//! How large the maps are: by the number of possible CPUs, and never more than a stated sum.

use tracer_common::{
    cpu::CpuState,
    histogram::{Histogram, place},
    page::{Counter, CounterKey},
    path::{PathRecord, Set, WAYS, WINDOW},
    sock::{REASONS, SocketRow},
    tally::{Tally, TallyKey},
};

/// Memory for what each CPU has of its own by choice (remembered keys and counters, with the counters' index).
const PER_CPU_BUDGET_BYTES: u64 = 96 << 20;
/// Paths kept. A run meets hundreds, a busy machine a few thousand.
const RECORDS: u32 = 8192;
/// Sockets kept; the least recently active leave first.
const SOCKETS: u32 = 1024;
/// What the kernel keeps beside key and value for an entry of a hash map.
const HASH_ENTRY_BYTES: u64 = 48;

/// Entries of the maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// CPUs that may ever be online.
    pub cpus: u32,
    /// Paths.
    pub records: u32,
    /// Counters of one CPU.
    pub counters: u32,
    /// Sets of remembered keys of one CPU, [`WAYS`] keys each. A path of a system call has up to 64 depths
    /// (`RANDOMIZE_KSTACK_OFFSET`), so one CPU remembers `sets * WAYS / 64` such paths with one kind of flags at once.
    pub sets: u32,
    /// Process names kept with `--by comm`.
    pub owners: u32,
    /// Kinds of events that are no page allocations, of one CPU.
    pub tallies: u32,
    /// Sockets kept.
    pub sockets: u32,
}

impl Sizes {
    /// Sizes for a machine with this many possible CPUs. Powers of two, halved until all CPUs together stay within
    /// the budget; what a CPU needs at the least it gets on the largest machines, too.
    pub fn for_cpus(cpus: u32) -> Self {
        let mut sizes = Self {
            cpus: cpus.max(1),
            records: RECORDS,
            counters: 16_384,
            sets: 16_384,
            owners: 4096,
            tallies: 4096,
            sockets: (SOCKETS * 64 / cpus.max(1)).clamp(SOCKETS / 8, SOCKETS),
        };
        while sizes.per_cpu_choice_bytes() * u64::from(sizes.cpus) > PER_CPU_BUDGET_BYTES && sizes.sets > 256 {
            sizes.sets /= 2;
            sizes.counters = sizes.sets.max(1024);
            sizes.tallies = (sizes.sets / 4).max(256);
        }
        sizes
    }

    fn per_cpu_choice_bytes(&self) -> u64 {
        let counter = (size_of::<Counter>() + size_of::<CounterKey>()) as u64 + 4 + HASH_ENTRY_BYTES;
        let tally = (size_of::<Tally>() + size_of::<TallyKey>()) as u64 + 4 + HASH_ENTRY_BYTES;
        u64::from(self.counters) * counter
            + u64::from(self.tallies) * tally
            + 2 * u64::from(self.sets) * size_of::<Set>() as u64
    }

    /// Each CPU has one state for page allocations and one for everything else.
    pub fn lanes(&self) -> u32 {
        self.cpus * 2
    }

    /// Remembered keys of one CPU.
    pub fn keys(&self) -> u32 {
        const { assert!(WAYS == 4) }
        self.sets * 4
    }

    /// Bytes of kernel memory that the maps take.
    pub fn bytes(&self) -> u64 {
        let sockets = self.sockets as usize * size_of::<SocketRow>();
        let histograms = place::PLACES as usize * size_of::<Histogram>();
        let fixed_per_cpu = (2 * (size_of::<CpuState>() + WINDOW * 8) + sockets + histograms + REASONS * 8) as u64;
        let record = size_of::<PathRecord>() as u64 + 12 + HASH_ENTRY_BYTES;
        u64::from(self.cpus) * (fixed_per_cpu + self.per_cpu_choice_bytes())
            + u64::from(self.records) * record
            + u64::from(self.owners) * (24 + HASH_ENTRY_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cpus_get_the_full_sizes() {
        let sizes = Sizes::for_cpus(2);
        assert_eq!((sizes.keys(), sizes.counters), (65_536, 16_384));
        assert!(sizes.bytes() < 32 << 20, "{}", sizes.bytes());
    }

    #[test]
    fn map_memory_stays_bounded_on_machines_with_hundreds_of_cpus() {
        for cpus in [1, 2, 3, 64, 128, 320, 512, 1024, 4096] {
            let sizes = Sizes::for_cpus(cpus);
            assert!(sizes.sets.is_power_of_two() && sizes.records.is_power_of_two());
            // The fixed part is 110 KiB a CPU; the least choice 220 KiB a CPU.
            let bound = (144_u64 << 20).max(u64::from(cpus) * (336 << 10) + (32 << 20));
            assert!(sizes.bytes() < bound, "{cpus} CPUs: {}", sizes.bytes());
        }
    }

    #[test]
    fn indices_of_the_largest_machine_fit_32_bits() {
        let sizes = Sizes::for_cpus(8192);
        assert!(u64::from(sizes.cpus) * u64::from(sizes.counters.max(sizes.sets)) < u64::from(u32::MAX));
    }
}
