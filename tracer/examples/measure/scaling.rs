//! What an event costs, and what a read costs, as the tables grow.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use tracer::{
    collect::Collector,
    config::Config,
    probe::{Probe, possible_cpus, sizes::Sizes},
    run::PathsMode,
    symbols::Symbols,
};

use crate::{
    bench::{self, EVENTS},
    synthetic::{self, Shape},
};

/// Rounds whose median counts.
const ROUNDS: usize = 60;
/// Reads whose median counts.
const READS: usize = 20;

/// Both ways to a number of keys: many paths at one depth, few at all depths that one system call has.
const SHAPES: [Shape; 8] = [
    Shape { paths: 10, depths: 1, flags: 1 },
    Shape { paths: 100, depths: 1, flags: 1 },
    Shape { paths: 1000, depths: 1, flags: 1 },
    Shape { paths: 5000, depths: 1, flags: 2 },
    Shape { paths: 10, depths: 10, flags: 1 },
    Shape { paths: 16, depths: 64, flags: 1 },
    Shape { paths: 156, depths: 64, flags: 1 },
    Shape { paths: 1000, depths: 10, flags: 1 },
];

/// All that was measured.
#[derive(Serialize)]
pub(crate) struct Scaling {
    /// Keys, counters and paths that the tables of this machine hold, for one CPU (paths: for all).
    table: Table,
    rows: Vec<Row>,
}

/// How large the tables are.
#[derive(Serialize)]
struct Table {
    cpus: u32,
    keys_per_cpu: u32,
    counters_per_cpu: u32,
    paths: u32,
    bytes: u64,
}

/// One shape.
#[derive(Serialize)]
struct Row {
    keys: usize,
    paths: usize,
    depths: usize,
    counters: usize,
    /// Found, compared and counted, the loop around it subtracted.
    ns_per_event: f64,
    /// Of a thousand events, those that had to be unwound because their key had been thrown out.
    unwound_per_mille: f64,
    /// The first read, which announces every path.
    first_read_us: f64,
    /// A read after every counter has changed.
    read_us: f64,
    /// A read after none has.
    idle_read_us: f64,
}

/// Measures every shape on tables of its own. The shapes take turns, so that what else the machine does meets all
/// alike.
pub(crate) fn measure() -> Result<Scaling> {
    let sizes = Sizes::for_cpus(possible_cpus());
    let text = kernel_text()?;
    let mut subjects = SHAPES.iter().map(|shape| Subject::new(*shape, sizes, text)).collect::<Result<Vec<_>>>()?;
    for _ in 0..ROUNDS {
        subjects.iter_mut().try_for_each(Subject::count)?;
    }
    for _ in 0..READS {
        subjects.iter_mut().try_for_each(Subject::read)?;
    }
    let table = Table {
        cpus: sizes.cpus,
        keys_per_cpu: sizes.keys(),
        counters_per_cpu: sizes.counters,
        paths: sizes.records,
        bytes: sizes.bytes(),
    };
    Ok(Scaling { table, rows: subjects.into_iter().map(Subject::row).collect::<Result<_>>()? })
}

/// Where kernel code lies.
pub(crate) fn kernel_text() -> Result<(u64, u64)> {
    Symbols::new()?.range("_stext", "_etext").context("kernel text in kallsyms")
}

/// A probe whose tables hold the synthetic paths, and its collector.
pub(crate) fn prepare(shape: Shape, sizes: Sizes, text: (u64, u64)) -> Result<(Probe, Collector)> {
    let mut ebpf = bench::load(sizes)?;
    synthetic::write(&mut ebpf, shape, text)?;
    bench::load_loops(&mut ebpf)?;
    bench::run(&ebpf, "remember_all")?;
    let mode = PathsMode { way: "remembered".to_owned(), one_in: 1, reason: String::new() };
    let mut probe = Probe::unattached(ebpf, mode, sizes);
    let collector = Collector::new(&mut probe, &Config::default())?;
    Ok((probe, collector))
}

/// A shape, its tables, and what was measured on them.
struct Subject {
    shape: Shape,
    probe: Probe,
    collector: Collector,
    /// Events that the collector has read, and that have been made.
    read: u64,
    made: u64,
    first_read_us: f64,
    counting_ns: Vec<f64>,
    looping_ns: Vec<f64>,
    reads_us: Vec<f64>,
    idle_us: Vec<f64>,
}

impl Subject {
    fn new(shape: Shape, sizes: Sizes, text: (u64, u64)) -> Result<Self> {
        let (probe, collector) = prepare(shape, sizes, text)?;
        let mut subject = Self {
            shape,
            probe,
            collector,
            read: 0,
            made: EVENTS as u64,
            first_read_us: 0.0,
            counting_ns: Vec::new(),
            looping_ns: Vec::new(),
            reads_us: Vec::new(),
            idle_us: Vec::new(),
        };
        subject.first_read_us = subject.read_once();
        Ok(subject)
    }

    /// Times the loop with and without counting, after a run that warms the caches.
    fn count(&mut self) -> Result<()> {
        self.run("count_all")?;
        let counting = ns_each(self.run("count_all")?);
        self.counting_ns.push(counting);
        let looping = ns_each(self.run("loop_alone")?);
        self.looping_ns.push(looping);
        Ok(())
    }

    /// Times a read after every counter has changed, and one after none has.
    fn read(&mut self) -> Result<()> {
        if self.reads_us.is_empty() {
            // Takes what the rounds before have counted.
            self.read_once();
        }
        self.run("count_all")?;
        let read = self.read_once();
        self.reads_us.push(read);
        let idle = self.read_once();
        self.idle_us.push(idle);
        Ok(())
    }

    fn run(&mut self, name: &str) -> Result<Duration> {
        let took = bench::run(self.probe.object(), name)?;
        if name == "count_all" {
            self.made += EVENTS as u64;
        }
        Ok(took)
    }

    /// us that it took.
    fn read_once(&mut self) -> f64 {
        let start = Instant::now();
        let batch = self.collector.read(&self.probe, Duration::ZERO);
        let took = start.elapsed().as_secs_f64() * 1e6;
        self.read += batch.counts.iter().map(|it| it.events).sum::<u64>();
        took
    }

    fn row(mut self) -> Result<Row> {
        let Shape { paths, depths, .. } = self.shape;
        if self.read != self.made {
            bail!("{paths} paths at {depths} depths: {} events counted of {}", self.read, self.made);
        }
        Ok(Row {
            keys: self.shape.keys(),
            paths,
            depths,
            counters: self.shape.counters(),
            ns_per_event: median(&mut self.counting_ns) - median(&mut self.looping_ns),
            unwound_per_mille: unwound(&self.probe)? as f64 * 1000.0 / self.made as f64,
            first_read_us: self.first_read_us,
            read_us: median(&mut self.reads_us),
            idle_read_us: median(&mut self.idle_us),
        })
    }
}

/// Events that were not found again.
fn unwound(probe: &Probe) -> Result<u64> {
    let cpus = tracer::collect::mapped::MappedArray::<tracer_common::cpu::CpuState>::new(probe.map("CPUS")?)?;
    Ok((0..cpus.len()).map(|cpu| cpus.get(cpu).paths.unwound).sum())
}

fn ns_each(took: Duration) -> f64 {
    took.as_nanos() as f64 / EVENTS as f64
}

pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
