//! Proof, before anything is measured, that remembering paths works on this kernel: a known load of this process
//! alone, traced by an instance of its own.
//!
//! It catches what would otherwise look like a fast and exact tracer: a stack pointer behind which no return address
//! lies, so that nothing is ever compared.

use std::io::{Read as _, Write as _};

use anyhow::{Context as _, Result, bail};
use aya::programs::RawTracePoint;
use tracer_common::{
    config::{Config, by, filters},
    cpu::CpuState,
};

use super::{kernel::Kernel, load, possible_cpus, sizes::Sizes};
use crate::collect::mapped::MappedArray;

/// Allocations made: enough that each of the 64 depths of a system call comes up several times.
const ALLOCATIONS: usize = 1024;
/// Hits expected of them at the least. Met here: more than nine tenths.
const HITS: u64 = ALLOCATIONS as u64 / 4;

/// Allocates pages in this process and asks whether their path was found again.
///
/// # Errors
/// Why paths cannot be remembered on this kernel.
pub fn run(settings: &Config, kernel: Option<&Kernel>) -> Result<()> {
    let sizes = Sizes { sets: 256, counters: 256, records: 256, owners: 1, ..Sizes::for_cpus(possible_cpus()) };
    let settings = Config {
        filters: filters::PID,
        pid: std::process::id(),
        min_order: 0,
        gfp: 0,
        by: by::OFF,
        one_in: 1,
        audit: 16,
        events: 0,
        user_stacks: 0,
        log: 0,
        counters: sizes.counters,
        sets: sizes.sets,
        records: sizes.records,
        ..*settings
    };
    let mut ebpf = load(&settings, kernel, sizes)?;
    let program = ebpf.program_mut("mm_page_alloc").context("the BPF object has no program `mm_page_alloc`")?;
    let program: &mut RawTracePoint = program.try_into()?;
    program.load().context("self-test of remembered paths")?;
    program.attach("mm_page_alloc").context("self-test of remembered paths")?;
    allocate().context("self-test of remembered paths")?;
    program.unload().context("self-test of remembered paths")?;
    let cpus = MappedArray::<CpuState>::new(ebpf.map("CPUS").context("the BPF object has no map `CPUS`")?)?;
    let (mut hits, mut audited, mut disagreed) = (0, 0, 0);
    for cpu in 0..cpus.len() {
        let paths = cpus.get(cpu).paths;
        hits += paths.hits;
        audited += paths.audited;
        disagreed += paths.disagreed + paths.audit_failed;
    }
    if hits < HITS || audited == 0 {
        bail!(
            "self-test: {hits} of {ALLOCATIONS} allocations were found again by their return addresses, {HITS} expected"
        );
    }
    if disagreed > 0 {
        bail!("self-test: {disagreed} of {audited} remembered paths were wrong when unwound again");
    }
    Ok(())
}

/// Each write to a pipe takes a page, each read gives it back.
fn allocate() -> Result<()> {
    let page = [0; 4096];
    let mut back = [0; 4096];
    let (mut reader, mut writer) = std::io::pipe()?;
    // A pipe keeps two pages back for reuse, so fill it before emptying it.
    for _ in 0..ALLOCATIONS / 8 {
        for _ in 0..8 {
            writer.write_all(&page)?;
        }
        for _ in 0..8 {
            reader.read_exact(&mut back)?;
        }
    }
    Ok(())
}
