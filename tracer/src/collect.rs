//! Reading the kernel's maps: what changed since the last read, as a [`Batch`].
//!
//! Owns: the layout of the maps as user space sees it. Must not know: the model, how numbers are shown.
//! The maps are mapped into memory, so a read makes no system call, and its cost is that of the counters in use.

mod decode;
mod holders;
pub mod mapped;
mod sockets;
pub mod stream;
mod tallies;

use std::{
    collections::{HashMap, HashSet},
    mem::offset_of,
    time::Duration,
};

use anyhow::Result;
use tracer_common::{
    cpu::CpuState,
    loss::Cause,
    page::{Counter, ORDERS, PageTotals},
    path::{NO_PATH, PathRecord},
    user::{USER_FRAMES, UserPath},
};

use crate::{
    batch::{Batch, Count, CountKey, Owner, Path, ProgramStats, Single, SingleEvent},
    config::{By, Config},
    probe::{Probe, program},
};
use mapped::MappedArray;
use stream::Stream;

/// Reads batch after batch.
pub struct Collector {
    cpus: MappedArray<CpuState>,
    counters: MappedArray<Counter>,
    /// Events of each counter at the last read, by CPU.
    seen: Vec<Vec<u64>>,
    paths: Paths,
    owners: HashSet<u64>,
    user_paths: HashSet<u64>,
    /// User stacks met since they were last taken.
    new_user_paths: Vec<UserStack>,
    counters_per_cpu: usize,
    by: Option<By>,
    measured: decode::Measured,
    lookups: bool,
    audit: bool,
    tallies: tallies::Reader,
    /// Single events taken out of the ring buffer.
    written: u64,
}

impl Collector {
    /// Maps the maps of `probe`.
    ///
    /// # Errors
    /// When a map cannot be mapped into memory.
    pub fn new(probe: &mut Probe, config: &Config) -> Result<Self> {
        Ok(Self {
            seen: vec![Vec::new(); probe.sizes.cpus as usize],
            cpus: MappedArray::new(probe.map("CPUS")?)?,
            counters: MappedArray::new(probe.map("COUNTERS")?)?,
            paths: Paths { records: MappedArray::new(probe.map("PATHS")?)?, known: HashMap::new() },
            owners: HashSet::new(),
            user_paths: HashSet::new(),
            new_user_paths: Vec::new(),
            counters_per_cpu: probe.sizes.counters as usize,
            by: config.by,
            measured: decode::Measured::of(&probe.signals),
            lookups: probe.paths.way != "off",
            audit: config.audit > 0 && matches!(probe.paths.way.as_str(), "remembered" | "sampled"),
            tallies: tallies::Reader::new(probe)?,
            written: 0,
        })
    }

    /// CPUs. Their states for page allocations come first, then those for everything else.
    fn cpu_count(&self) -> usize {
        self.seen.len()
    }

    /// Pages of the successful allocations seen until now, bulk allocations among them, at once.
    pub fn pages_allocated(&self) -> u64 {
        let pages = |cpu: usize, order: usize| {
            let offset = offset_of!(CpuState, pages) + offset_of!(PageTotals, allocated) + order * 8;
            self.cpus.word(cpu, offset) << order
        };
        let single: u64 =
            (0..self.cpu_count()).map(|cpu| (0..ORDERS).map(|order| pages(cpu, order)).sum::<u64>()).sum();
        single + self.tallies.pages_in_bulk(&self.other_states())
    }

    /// The CPUs' states for everything but page allocations.
    fn other_states(&self) -> Vec<CpuState> {
        (self.cpu_count()..self.cpus.len()).map(|lane| self.cpus.get(lane)).collect()
    }

    /// What changed since the last read, and the totals; `at` is the time since the run began.
    pub fn read(&mut self, probe: &Probe, at: Duration) -> Batch {
        let mut batch = Batch { at, programs: Self::programs(probe), ..Batch::default() };
        let mut counts: HashMap<CountKey, u64> = HashMap::new();
        let mut states = Vec::with_capacity(self.cpus.len());
        for cpu in 0..self.cpu_count() {
            let state = self.cpus.get(cpu);
            let used = (state.counters as usize).min(self.counters_per_cpu);
            let grown = used.max(self.seen[cpu].len());
            self.seen[cpu].resize(grown, 0);
            for number in 0..used {
                let at = cpu * self.counters_per_cpu + number;
                let events = self.counters.word(at, offset_of!(Counter, events));
                let new = events.wrapping_sub(self.seen[cpu][number]);
                if new == 0 {
                    continue;
                }
                self.seen[cpu][number] = events;
                let counter = self.counters.get(at);
                let key = self.key(&counter, probe, &mut batch);
                *counts.entry(key).or_default() += new;
            }
            states.push(state);
        }
        batch.counts = counts.into_iter().map(|(key, events)| Count { key, events }).collect();
        batch.counts.sort_unstable_by_key(|count| count.key);
        batch.totals = decode::totals(&states, self.measured);
        batch.losses = decode::losses(&states);
        let others = self.other_states();
        let Self { tallies, paths, .. } = self;
        batch.tallies = tallies.read(&others, |path| paths.key(path, &mut batch.paths));
        states.extend(others);
        batch.lookups = self.lookups.then(|| decode::lookups(&states));
        batch.audit = self.audit.then(|| decode::audit(&states));
        batch
    }

    /// User stacks met since this was last asked: to be named while their processes live.
    pub fn take_user_stacks(&mut self) -> Vec<UserStack> {
        std::mem::take(&mut self.new_user_paths)
    }

    /// The addresses of a path by its index, innermost first; empty where there is none.
    pub fn addresses(&self, index: u32) -> Vec<u64> {
        let records = &self.paths.records;
        if index == NO_PATH || index as usize >= records.len() {
            return Vec::new();
        }
        let record = records.get(index as usize);
        record.addresses[..(record.frames as usize).min(record.addresses.len())].to_vec()
    }

    /// Takes what the ring buffer holds into a batch, announcing paths first met.
    pub fn drain(&mut self, stream: &mut Stream, batch: &mut Batch) {
        let mut single = Single { written: self.written, ..Single::default() };
        while let Some(raw) = stream.take() {
            let end = raw.comm.iter().position(|it| *it == 0).unwrap_or(raw.comm.len());
            let comm = String::from_utf8_lossy(&raw.comm[..end]);
            single.events.push(SingleEvent {
                time_ns: raw.time_ns,
                cpu: raw.cpu,
                pid: raw.pid,
                tid: raw.tid,
                comm: comm.chars().map(|it| if it.is_control() { '?' } else { it }).collect(),
                order: raw.order,
                migratetype: raw.migratetype,
                gfp: raw.gfp,
                failed: raw.failed != 0,
                path: self.paths.key(raw.path, &mut batch.paths),
            });
        }
        single.written += single.events.len() as u64;
        self.written = single.written;
        (single.seen, single.lost) = self.seen_and_ring_full();
        batch.single = Some(single);
    }

    /// Allocations seen until now, failed ones too, and those that the full ring buffer did not take.
    pub fn seen_and_ring_full(&self) -> (u64, u64) {
        let (mut seen, mut lost) = (0, 0);
        for cpu in 0..self.cpu_count() {
            let state = self.cpus.get(cpu);
            seen += state.pages.allocated.iter().sum::<u64>() + state.pages.failed.iter().sum::<u64>();
            lost += state.losses[Cause::RingFull as usize].iter().sum::<u64>();
        }
        (seen, lost)
    }

    /// What the kernel counts about our programs; gone once they are detached.
    pub fn programs(probe: &Probe) -> Vec<ProgramStats> {
        let mut programs = Vec::new();
        for attached in probe.programs() {
            let figures = program::figures(attached.fd()).unwrap_or_default();
            let measured = figures.run_count > 0;
            for signal in &attached.signals {
                programs.push(ProgramStats {
                    signal: signal.clone(),
                    hook: attached.hook.clone(),
                    run_count: measured.then_some(figures.run_count),
                    run_time_ns: measured.then_some(figures.run_time_ns),
                    missed: figures.recursion_misses,
                });
            }
        }
        programs
    }

    /// The key of a counter, announcing its path and owner when they are new.
    fn key(&mut self, counter: &Counter, probe: &Probe, batch: &mut Batch) -> CountKey {
        if counter.owner != 0 && self.owners.insert(counter.owner) {
            batch.owners.push(Owner { key: counter.owner, name: owner_name(counter.owner, self.by, probe) });
        }
        if counter.user_path != 0 && self.user_paths.insert(counter.user_path) {
            self.new_user_paths.extend(user_stack(counter.user_path, probe));
        }
        CountKey {
            path: self.paths.key(counter.path, &mut batch.paths),
            owner: counter.owner,
            user_path: counter.user_path,
            gfp: counter.gfp,
            order: counter.order,
            migratetype: counter.migratetype,
            failed: counter.failed != 0,
        }
    }
}

/// The paths met, by their index in the kernel's table.
struct Paths {
    records: MappedArray<PathRecord>,
    /// Their hashes.
    known: HashMap<u32, u64>,
}

impl Paths {
    /// The hash of a path, announced in `new` when it is met for the first time; 0 where there is none.
    fn key(&mut self, index: u32, new: &mut Vec<Path>) -> u64 {
        if index == NO_PATH || index as usize >= self.records.len() {
            return 0;
        }
        if let Some(hash) = self.known.get(&index) {
            return *hash;
        }
        let record = self.records.get(index as usize);
        let frames = (record.frames as usize).min(record.addresses.len());
        new.push(Path {
            key: record.hash,
            addresses: record.addresses[..frames].to_vec(),
            frames: Vec::new(),
            truncated: record.truncated != 0,
        });
        self.known.insert(index, record.hash);
        record.hash
    }
}

/// A user stack that has no names yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserStack {
    /// As in [`CountKey::user_path`].
    pub key: u64,
    /// The process in whose memory the addresses lie.
    pub process: u32,
    /// Innermost first.
    pub addresses: Vec<u64>,
    /// The stack may be deeper than what was read.
    pub truncated: bool,
}

fn user_stack(key: u64, probe: &Probe) -> Option<UserStack> {
    let paths = aya::maps::HashMap::<_, u64, UserPath>::try_from(probe.map("USER_PATHS").ok()?).ok()?;
    let path = paths.get(&key, 0).ok()?;
    let frames = (path.frames as usize).min(USER_FRAMES);
    Some(UserStack {
        key,
        process: path.process,
        addresses: path.addresses[..frames].to_vec(),
        truncated: frames == USER_FRAMES,
    })
}

/// The name behind an owner's key, without control characters; the key itself where there is none.
fn owner_name(key: u64, by: Option<By>, probe: &Probe) -> String {
    let name = match by {
        Some(By::Pid) => Some(key.to_string()),
        Some(By::Comm) => comm(key, probe),
        Some(By::Cgroup) => cgroup(key),
        None => None,
    };
    let name = name.unwrap_or_else(|| format!("{key:#x}"));
    name.chars().map(|it| if it.is_control() { '?' } else { it }).collect()
}

fn comm(key: u64, probe: &Probe) -> Option<String> {
    let owners = aya::maps::HashMap::<_, u64, [u8; 16]>::try_from(probe.map("OWNERS").ok()?).ok()?;
    let comm = owners.get(&key, 0).ok()?;
    let end = comm.iter().position(|it| *it == 0).unwrap_or(comm.len());
    Some(String::from_utf8_lossy(&comm[..end]).into_owned())
}

/// A cgroup's id is the inode number of its directory.
fn cgroup(id: u64) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let root = std::path::Path::new("/sys/fs/cgroup");
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        if folder.metadata().is_ok_and(|it| it.ino() == id) {
            let path = folder.strip_prefix(root).unwrap_or(&folder).display().to_string();
            return Some(format!("/{path}"));
        }
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        folders.extend(entries.filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir())).map(|it| it.path()));
    }
    None
}
