//! Getting the programs into the kernel: what it allows, which hook serves each signal, load and attach.
//!
//! Owns: the hook table and the ladder, everything that depends on the running kernel, the loaded object.
//! Must not know: the model, the terminal. What it finds goes up as plain data ([`Signal`], [`PathsMode`]).

pub mod hooks;
pub mod kernel;
mod ladder;
pub mod log;
pub mod object;
pub mod offsets;
pub mod preflight;
pub mod program;
pub mod selftest;
pub mod sizes;

use std::{
    collections::BTreeMap,
    fs::File,
    os::fd::{AsFd as _, BorrowedFd},
};

use anyhow::{Context as _, Result, anyhow};
use aya::{
    Ebpf, EbpfLoader,
    maps::{CgroupArray, Map},
    programs::ProgramFd,
};
use tracer_common::{
    config::{self, INNER, by, filters, paths, reads},
    histogram::place,
    path::CUTS,
    sock::Offsets,
};

use crate::{
    config::{By, Config, Paths},
    run::PathsMode,
    signal::Signal,
};
use kernel::Kernel;
use ladder::Ladder;
use sizes::Sizes;

/// Kernel text that ends a path, and kernel text that a path may end in without being compared. From kallsyms.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// Interrupt and softirq entry functions: start, end.
    pub cuts: Vec<(u64, u64)>,
    /// System call and exception entry code: start, end.
    pub entry: Option<(u64, u64)>,
    /// Functions of the slab code that tell of a large kmalloc before their caller does: start, end.
    pub kmalloc_inner: Vec<(u64, u64)>,
}

/// The programs, attached. Dropping it detaches them.
pub struct Probe {
    ebpf: Ebpf,
    /// Every signal asked for, with its hook.
    pub signals: Vec<Signal>,
    /// How paths are taken.
    pub paths: PathsMode,
    /// How large the maps are.
    pub sizes: Sizes,
    /// The kernel's names of why packets are dropped, by number.
    pub drop_reasons: BTreeMap<u32, String>,
    programs: Vec<Attached>,
}

/// A program of ours.
pub struct Attached {
    /// The signals it serves.
    pub signals: Vec<String>,
    /// `kind:hook`.
    pub hook: String,
    /// Its name in the BPF object.
    program: &'static str,
    fd: ProgramFd,
}

impl Attached {
    /// The program, for the kernel's figures about it.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Probe {
    /// Loads and attaches what `config` asks for. `kernel` is `None` where there is no BTF.
    ///
    /// # Errors
    /// When there is no way to any page signal, with the reasons.
    pub fn attach(config: &Config, kernel: Option<&Kernel>, text: &Text, sizes: Sizes) -> Result<Self> {
        let rows = hooks::select(&config.signals).map_err(|word| {
            let known: Vec<_> = hooks::TABLE.iter().map(|row| row.signal).collect();
            anyhow!("no signal `{word}`; there are {}", known.join(", "))
        })?;
        let (mode, settings) = choose_paths(config, kernel, text, sizes);
        let mut ebpf = load(&settings, kernel, sizes)?;
        if let Some(cgroup) = &config.filter.cgroup {
            set_cgroup(&mut ebpf, cgroup)?;
        }
        let (signals, programs) = Ladder::new(&mut ebpf, kernel).climb(rows);
        let drop_reasons = kernel.map(|it| it.enumeration("skb_drop_reason", "SKB_DROP_REASON_")).unwrap_or_default();
        let probe = Self { ebpf, signals, paths: mode, sizes, drop_reasons, programs };
        if probe.programs.is_empty() {
            let reasons: Vec<_> = probe
                .signals
                .iter()
                .flat_map(|signal| {
                    signal.refused.iter().map(|refused| format!("`{}`: {}", refused.hook, refused.reason))
                })
                .collect();
            return Err(anyhow!("no hook could be attached: {}", reasons.join("; ")));
        }
        Ok(probe)
    }

    /// A probe over an object loaded elsewhere, with nothing attached: for measuring what its maps cost to read.
    pub fn unattached(ebpf: Ebpf, paths: PathsMode, sizes: Sizes) -> Self {
        Self { ebpf, signals: Vec::new(), paths, sizes, drop_reasons: BTreeMap::new(), programs: Vec::new() }
    }

    /// The loaded object.
    pub fn object(&self) -> &Ebpf {
        &self.ebpf
    }

    /// The programs attached.
    pub fn programs(&self) -> &[Attached] {
        &self.programs
    }

    /// A map of the object.
    pub fn map(&self, name: &str) -> Result<&Map> {
        self.ebpf.map(name).with_context(|| format!("the BPF object has no map `{name}`; build the tracer anew"))
    }

    /// Takes a map out of the object.
    pub(crate) fn take_map(&mut self, name: &str) -> Result<Map> {
        self.ebpf.take_map(name).with_context(|| format!("the BPF object has no map `{name}`; build the tracer anew"))
    }

    /// Detaches every program; the maps stay and can be read a last time.
    pub fn detach(&mut self) {
        for attached in &self.programs {
            // Unloading drops the links.
            let _ = ladder::unload(&mut self.ebpf, attached.program);
        }
    }
}

/// Loads the object with this configuration; the programs are loaded one by one afterwards.
fn load(settings: &config::Config, kernel: Option<&Kernel>, sizes: Sizes) -> Result<Ebpf> {
    load_object(object::OBJECT, settings, kernel, sizes)
}

/// Loads an object that has the maps and the configuration of the product's.
///
/// # Errors
/// When the kernel refuses the maps, or the object is of another build.
pub fn load_object(object: &[u8], settings: &config::Config, kernel: Option<&Kernel>, sizes: Sizes) -> Result<Ebpf> {
    raise_memlock_limit();
    let cast = if settings.reads == reads::TYPED { kernel.and_then(|it| it.function(CAST)) } else { None };
    let object = object::with_cast(object, cast)?;
    let page_bytes = u32::try_from(crate::system::page_size()).unwrap_or(4096);
    // At 0 the verifier drops every diagnostic of the kernel side.
    let log_level: u8 = if settings.log != 0 { aya_log::Level::Info as u8 } else { 0 };
    EbpfLoader::new()
        .override_global("CONFIG", settings, true)
        .override_global("AYA_LOG_LEVEL", &log_level, true)
        .verifier_log_level(aya::VerifierLogLevel::STATS)
        .map_max_entries("CPUS", sizes.lanes())
        .map_max_entries("STACKS", sizes.lanes())
        .map_max_entries("COUNTERS", sizes.cpus * sizes.counters)
        .map_max_entries("COUNTER_INDEX", sizes.cpus * sizes.counters)
        .map_max_entries("PATHS", sizes.records)
        .map_max_entries("PATH_OWNER", sizes.records)
        .map_max_entries("MEMO", sizes.lanes() * sizes.sets)
        .map_max_entries("TALLIES", sizes.cpus * sizes.tallies)
        .map_max_entries("TALLY_INDEX", sizes.cpus * sizes.tallies)
        .map_max_entries("HISTOGRAMS", sizes.cpus * place::PLACES)
        .map_max_entries("SOCKETS", sizes.sockets)
        .map_max_entries("DROPS", sizes.cpus)
        .map_max_entries("USER_SCRATCH", sizes.cpus)
        .map_max_entries("USER_PATHS", if settings.user_stacks != 0 { USER_PATHS } else { 1 })
        .map_max_entries("OWNERS", sizes.owners)
        .map_max_entries("EVENTS", if settings.events != 0 { RING_BYTES } else { page_bytes })
        .load(&object)
        .with_context(|| {
            format!("creating the BPF maps ({} MiB of kernel memory on {} CPUs)", sizes.bytes() >> 20, sizes.cpus)
        })
}

/// CPUs that may ever be online, from `/sys/devices/system/cpu/possible`.
pub fn possible_cpus() -> u32 {
    aya::util::nr_cpus().ok().and_then(|it| u32::try_from(it).ok()).unwrap_or(1)
}

/// Bytes of the ring buffer of single events: some 150,000 of them, a third of a second of a fast UDP stream.
const RING_BYTES: u32 = 8 << 20;

/// User stacks kept, with `--user-stacks`: 4 MiB.
const USER_PATHS: u32 = 8192;
/// Socket figures are taken at one message in this many.
const SAMPLE_SOCKETS: u32 = 16;
/// The largest slab cache for kmalloc, in pages (`KMALLOC_MAX_CACHE_SIZE`, two pages since SLUB is alone).
const KMALLOC_CACHE_PAGES: u32 = 2;

/// The kernel function that makes single kernel words readable, 6.2 and later.
pub const CAST: &str = "bpf_rdonly_cast";
/// A structure that begins with an `unsigned long` on every architecture and kernel.
const WORD_TYPE: &str = "pt_regs";

/// Decides how paths are taken and fills the kernel side's configuration. Remembering is tried first where it is
/// wanted: a self-test proves that return addresses are found.
fn choose_paths(config: &Config, kernel: Option<&Kernel>, text: &Text, sizes: Sizes) -> (PathsMode, config::Config) {
    let mut settings = settings(config, kernel, text, sizes);
    let mode =
        |way: &str, reason: String| PathsMode { way: way.to_owned(), one_in: u64::from(settings.one_in), reason };
    match config.paths {
        Paths::Off => return (mode("off", String::new()), settings),
        Paths::Unwound => return (mode("unwound", String::new()), settings),
        Paths::Exact | Paths::Sample(_) => {}
    }
    let way = if settings.one_in > 1 { "sampled" } else { "remembered" };
    let mut reasons = Vec::new();
    for reads in [reads::TYPED, reads::COPIED] {
        if reads == reads::TYPED && kernel.is_none_or(|it| it.function(CAST).is_none()) {
            continue;
        }
        settings.reads = reads;
        match selftest::run(&settings, kernel) {
            Ok(()) => {
                let mode =
                    PathsMode { way: way.to_owned(), one_in: u64::from(settings.one_in), reason: reasons.join("; ") };
                return (mode, settings);
            }
            Err(error) => reasons.push(format!("{error:#}")),
        }
    }
    settings.paths = paths::UNWOUND;
    let way = if settings.one_in > 1 { "sampled" } else { "unwound" };
    (PathsMode { way: way.to_owned(), one_in: u64::from(settings.one_in), reason: reasons.join("; ") }, settings)
}

/// The kernel side's configuration for what was asked for on this kernel.
pub fn settings(config: &Config, kernel: Option<&Kernel>, text: &Text, sizes: Sizes) -> config::Config {
    let mut settings = config::Config {
        paths: match config.paths {
            Paths::Exact | Paths::Sample(_) => paths::REMEMBERED,
            Paths::Unwound => paths::UNWOUND,
            Paths::Off => paths::OFF,
        },
        reads: reads::COPIED,
        one_in: if let Paths::Sample(one_in) = config.paths { one_in.max(1) } else { 1 },
        audit: config.audit,
        by: match config.by {
            None => by::OFF,
            Some(By::Comm) => by::COMM,
            Some(By::Pid) => by::PID,
            Some(By::Cgroup) => by::CGROUP,
        },
        filters: 0,
        min_order: u32::from(config.min_order),
        gfp: config.gfp,
        pid: 0,
        refill_argument: u32::from(
            kernel.is_none_or(|it| it.tracepoint_arguments("mm_page_alloc_zone_locked").is_none_or(|n| n >= 4)),
        ),
        stack_bytes: kernel.and_then(Kernel::stack_bytes).filter(|it| it.is_power_of_two()).unwrap_or(0x4000),
        counters: sizes.counters,
        sets: sizes.sets,
        records: sizes.records,
        events: u32::from(config.events),
        log: u32::from(config.verbose),
        word_type: kernel.and_then(|it| it.structure(WORD_TYPE)).unwrap_or(0),
        comm: [0; 16],
        cpus: sizes.cpus,
        tallies: sizes.tallies,
        sample_sockets: SAMPLE_SOCKETS,
        facts: kernel.map_or(0, offsets::facts_of),
        kmalloc_cache_max: KMALLOC_CACHE_PAGES * u32::try_from(crate::system::page_size()).unwrap_or(4096),
        page_shift: crate::system::page_size().trailing_zeros(),
        user_stacks: u32::from(config.user_stacks),
        padding: 0,
        sock: kernel.map_or(Offsets::NONE, offsets::of),
        kmalloc_inner: [[0; 2]; INNER],
        cuts: [[0; 2]; CUTS],
        entry: text.entry.map_or([0; 2], |(start, end)| [start, end]),
    };
    for (slot, (start, end)) in settings.cuts.iter_mut().zip(&text.cuts) {
        *slot = [*start, *end];
    }
    for (slot, (start, end)) in settings.kmalloc_inner.iter_mut().zip(&text.kmalloc_inner) {
        *slot = [*start, *end];
    }
    if let Some(pid) = config.filter.pid {
        settings.filters |= filters::PID;
        settings.pid = pid;
    }
    if let Some(comm) = &config.filter.comm {
        settings.filters |= filters::COMM;
        for (to, from) in settings.comm[..15].iter_mut().zip(comm.bytes()) {
            *to = from;
        }
    }
    if config.filter.cgroup.is_some() {
        settings.filters |= filters::CGROUP;
    }
    settings
}

/// Before 5.11 map memory counts against this limit; later it does not matter, so a refusal is no error.
fn raise_memlock_limit() {
    use nix::sys::resource::{RLIM_INFINITY, Resource, setrlimit};
    let _ = setrlimit(Resource::RLIMIT_MEMLOCK, RLIM_INFINITY, RLIM_INFINITY);
}

fn set_cgroup(ebpf: &mut Ebpf, path: &std::path::Path) -> Result<()> {
    let cgroup = File::open(path).with_context(|| format!("cgroup `{}`", path.display()))?;
    let map = ebpf.map_mut("CGROUP").context("the BPF object has no map `CGROUP`; build the tracer anew")?;
    let mut array = CgroupArray::try_from(map).context("map `CGROUP`")?;
    array.set(0, cgroup, 0).with_context(|| format!("`{}` is no cgroup v2 directory", path.display()))
}
