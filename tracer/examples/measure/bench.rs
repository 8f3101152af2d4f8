//! The measuring object: `tracer-ebpf/src/bin/bench.rs`, loaded with the product's own loader.

use std::{thread, time::Duration};

use anyhow::{Context as _, Result, bail};
use aya::{
    Ebpf,
    maps::Array,
    programs::{RawTracePoint, RawTracePointRunOptions, TestRun as _},
};
use tracer::{
    config::Config,
    probe::{self, Text, kernel::Kernel, sizes::Sizes},
};
use tracer_common::config::reads;

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/bench"));

/// The CPU whose tables are measured.
const CPU: u32 = 0;
/// Events of one round, as in the object.
pub(crate) const EVENTS: usize = 16_384;
/// Words of the synthetic stack, as in the object.
pub(crate) const STACK_WORDS: usize = 2048;

/// Attaches the empty program until a signal ends this process.
pub(crate) fn attach_empty() -> Result<()> {
    let mut ebpf = load(Sizes { sets: 1, counters: 1, records: 1, owners: 1, tallies: 1, sockets: 1, cpus: 1 })?;
    let program: &mut RawTracePoint = ebpf.program_mut("empty").context("program `empty`")?.try_into()?;
    program.load().context("load `empty`")?;
    program.attach("mm_page_alloc").context("attach `empty` to `mm_page_alloc`")?;
    loop {
        thread::park();
    }
}

/// Loads the object with tables of these sizes, paths remembered, nothing audited: an audit would find that the
/// synthetic paths are none.
pub(crate) fn load(sizes: Sizes) -> Result<Ebpf> {
    let kernel = Kernel::read().ok();
    let mut settings = probe::settings(&Config::default(), kernel.as_ref(), &Text::default(), sizes);
    if kernel.as_ref().is_some_and(|it| it.function(probe::CAST).is_some()) {
        settings.reads = reads::TYPED;
    }
    probe::load_object(OBJECT, &settings, kernel.as_ref(), sizes)
}

/// Loads the programs that run over the sequence of events.
pub(crate) fn load_loops(ebpf: &mut Ebpf) -> Result<()> {
    for name in ["remember_all", "count_all", "loop_alone"] {
        let program: &mut RawTracePoint = ebpf.program_mut(name).context(name)?.try_into()?;
        program.load().with_context(|| format!("load `{name}`"))?;
    }
    Ok(())
}

/// Runs one of them once over the sequence; the time that its loop took.
pub(crate) fn run(ebpf: &Ebpf, name: &str) -> Result<Duration> {
    let program: &RawTracePoint = ebpf.program(name).context("a loaded program")?.try_into()?;
    let ended = program
        .test_run(RawTracePointRunOptions { cpu: Some(CPU), ..RawTracePointRunOptions::new() })
        .with_context(|| format!("run `{name}`"))?;
    if ended.return_value != 0 {
        bail!("`{name}` ended early with {}", ended.return_value);
    }
    let took = Array::<_, u64>::try_from(ebpf.map("TOOK").context("map `TOOK`")?)?;
    Ok(Duration::from_nanos(took.get(&0, 0)?))
}
