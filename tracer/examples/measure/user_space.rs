//! What user space takes while it follows 2,000 paths: reading, naming, model and recording, four times a second.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::Result;
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike as _,
};
use procfs::process::Process;
use serde::Serialize;
use tracer::{
    model::Model,
    probe::{possible_cpus, sizes::Sizes},
    recording::Writer,
    run::{PathsMode, Start},
    symbols::Symbols,
    system,
};

use crate::{bench, scaling, synthetic::Shape};

const SHAPE: Shape = Shape { paths: 2000, depths: 1, flags: 1 };
const INTERVAL: Duration = Duration::from_millis(250);
const READS: u32 = 40;

/// What it takes.
#[derive(Serialize)]
pub(crate) struct UserSpace {
    paths: usize,
    reads_per_second: f64,
    /// Of one CPU, percent: reading, model and recording, after the paths have been named.
    cpu_percent: f64,
    /// The first read with all that new paths cause, ms of CPU.
    first_read_ms: f64,
    /// Resident memory at the end and at its highest, KiB.
    resident_kib: u64,
    resident_highest_kib: u64,
}

/// Follows the synthetic paths for ten seconds, every counter changing between two reads.
pub(crate) fn measure() -> Result<UserSpace> {
    let mut symbols = Symbols::new()?;
    let (probe, mut collector) = scaling::prepare(SHAPE, Sizes::for_cpus(possible_cpus()), scaling::kernel_text()?)?;
    let host = system::host();
    let start = Start {
        at_unix_ns: 0,
        argv: Vec::new(),
        signals: Vec::new(),
        paths: PathsMode { way: "remembered".to_owned(), one_in: 1, reason: String::new() },
        by: None,
        filters: Vec::new(),
        gfp: system::gfp_table(&host.kernel).0,
        migratetypes: std::collections::BTreeMap::new(),
        host,
    };
    let folder = tempfile::tempdir()?;
    let mut writer = Writer::create(&folder.path().join("user-space.db"), &start, false, None)?;
    let mut model = Model::new(start);
    let (began, mut first, mut later) = (Instant::now(), Duration::ZERO, Duration::ZERO);
    for n in 0..=READS {
        bench::run(probe.object(), "count_all")?;
        let before = cpu_time()?;
        let mut batch = collector.read(&probe, began.elapsed());
        for path in &mut batch.paths {
            path.frames = symbols.name(&path.addresses);
        }
        model.apply(&batch);
        writer.append(&batch)?;
        *(if n == 0 { &mut first } else { &mut later }) += cpu_time()?.saturating_sub(before);
        sleep(INTERVAL);
    }
    let status = Process::myself()?.status()?;
    let reads_per_second = 1.0 / INTERVAL.as_secs_f64();
    Ok(UserSpace {
        paths: SHAPE.paths,
        reads_per_second,
        cpu_percent: later.as_secs_f64() / f64::from(READS) * reads_per_second * 100.0,
        first_read_ms: first.as_secs_f64() * 1e3,
        resident_kib: status.vmrss.unwrap_or(0),
        resident_highest_kib: status.vmhwm.unwrap_or(0),
    })
}

/// CPU time of this thread, in user space and in the kernel.
fn cpu_time() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD)?;
    let us = |time: nix::sys::time::TimeVal| u64::try_from(time.num_microseconds()).unwrap_or(0);
    Ok(Duration::from_micros(us(usage.user_time()) + us(usage.system_time())))
}
