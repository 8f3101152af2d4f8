//! What tracing costs: netperf under the tracer, under an empty program, and under the tools in use today.
//!
//! Every run under a tool has a run without one right beside it, in alternating order, and the rows take turns within a
//! round: what else the machine does meets all alike. Compared is what of the neighbour's throughput is kept.
//! Knows of the tracer only its command line, and the example `measure`.

mod chart;
mod counted;
mod goals;
mod kernel;
mod load;
mod process;
mod result;
mod rows;
mod scaling;
mod table;
mod tool;

use std::{
    fs,
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context as _, bail};
use clap::Args;
use load::{Load, Score};
use nix::unistd::geteuid;
use process::Interrupt;
use result::{Pair, Results};
use rows::{Built, ROWS, Row};
use tool::Tool;

use crate::{command, console, netserver::Netserver, setup};

/// What is run without `--tests`, and with `--quick`.
const TESTS: &str = "UDP_STREAM:64,UDP_STREAM:1024,UDP_STREAM:8192,UDP_STREAM:32768,TCP_STREAM,TCP_RR";
const QUICK_TESTS: &str = "UDP_STREAM:8192";

/// Options of the measurement.
#[derive(Args)]
pub(crate) struct Options {
    /// Only `UDP_STREAM` with 8192 bytes, three rounds
    #[arg(long)]
    quick: bool,
    /// Rounds [default: 6, with --quick 3]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    /// How long each netperf runs, s
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// netperf's tests, with the size of a message, such as `UDP_STREAM:8192,TCP_RR`
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    tests: Vec<Load>,
    /// What to run them under, such as `exact,bpftrace-stack` [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = rows::named)]
    rows: Vec<Row>,
    /// Only what an event and a read cost as the tables grow, and what user space takes
    #[arg(long)]
    scaling: bool,
    /// With the dev build: the kernel side is the same, user space is slower
    #[arg(long)]
    dev: bool,
}

impl Options {
    fn tests(&self) -> anyhow::Result<Vec<Load>> {
        if !self.tests.is_empty() {
            return Ok(self.tests.clone());
        }
        let tests = if self.quick { QUICK_TESTS } else { TESTS };
        tests.split(',').map(|test| test.parse::<Load>().map_err(anyhow::Error::msg)).collect()
    }

    fn rows(&self) -> Vec<Row> {
        if self.rows.is_empty() { ROWS.to_vec() } else { self.rows.clone() }
    }

    fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 3 } else { 6 })
    }
}

/// Sets up, builds, measures, prints, and writes `target/overhead.json` and `target/overhead.svg`.
pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    if !geteuid().is_root() {
        bail!("measuring needs root: `sudo -E env PATH=\"$PATH\" cargo xtask overhead`");
    }
    setup::run(root, &setup::Options::default())?;
    let built = build(root, options.dev)?;
    let interrupt = Interrupt::catch()?;
    let mut results = Results::new(options.seconds, options.rounds(), options.dev);
    if !options.scaling {
        measure(options, &built, &interrupt, &mut results)?;
    }
    let scaling = scaling::measure(&built, &interrupt)?;
    results.end();
    for line in table::lines(&results).into_iter().chain(scaling.lines()).chain(goals::lines(&results, &scaling)) {
        console::result(&line);
    }
    let json = root.join("target/overhead.json");
    fs::write(&json, format!("{:#}\n", results.json(&scaling))).with_context(|| format!("`{}`", json.display()))?;
    console::result(&format!("figures  {}", json.strip_prefix(root).unwrap_or(&json).display()));
    if !options.scaling {
        let svg = root.join("target/overhead.svg");
        fs::write(&svg, chart::draw(&results)).with_context(|| format!("`{}`", svg.display()))?;
        console::result(&format!("chart    {}", svg.strip_prefix(root).unwrap_or(&svg).display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds the tracer and what measures beside it.
fn build(root: &Path, dev: bool) -> anyhow::Result<Built> {
    let mut build = command::cargo(["build", "--package", "tracer", "--bin", "tracer", "--example", "measure"]);
    if !dev {
        build.arg("--release");
    }
    let shown = command::shown(&build);
    let status = build.current_dir(root).status().with_context(|| format!("`{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    let folder = root.join(if dev { "target/debug" } else { "target/release" });
    let place = root.join("target/overhead");
    fs::create_dir_all(&place).with_context(|| format!("`{}`", place.display()))?;
    Ok(Built { tracer: folder.join("tracer"), measure: folder.join("examples/measure"), place })
}

/// Everything that all runs have in common.
struct Bench<'a> {
    built: &'a Built,
    interrupt: &'a Interrupt,
    port: u16,
    seconds: u64,
}

fn measure(options: &Options, built: &Built, interrupt: &Interrupt, results: &mut Results) -> anyhow::Result<()> {
    let (tests, rows) = (options.tests()?, options.rows());
    let netserver = Netserver::program().context("netperf is not on this machine: `cargo xtask setup` says why")?;
    let netserver = Netserver::start(&netserver)?;
    let bench = Bench { built, interrupt, port: netserver.port, seconds: options.seconds };
    let runs = tests.len() as u64 * rows.len() as u64 * (2 * u64::from(options.rounds()) + 1);
    // Attaching and ending takes some two seconds a row beside the runs themselves.
    console::note(&format!(
        "{runs} runs of {} s, about {} min",
        options.seconds,
        (runs * (options.seconds + 1)).div_ceil(60)
    ));
    for test in &tests {
        for round in 0..options.rounds() {
            for (n, row) in rows.iter().enumerate() {
                let first = (round as usize + n).is_multiple_of(2);
                let outcome = bench.pair(test, *row, first);
                bench.take(test, *row, outcome, |outcome| results.add(test, *row, outcome))?;
            }
        }
        let _statistics = match kernel::Statistics::enable() {
            Ok(on) => on,
            Err(error) => {
                console::note(&format!("without ns per event: {error:#}"));
                continue;
            }
        };
        for row in rows.iter().filter(|row| row.has_program()) {
            let outcome = bench.cost(test, *row);
            bench.take(test, *row, outcome, |outcome| results.add_cost(test, *row, outcome))?;
        }
    }
    Ok(())
}

impl Bench<'_> {
    /// A row that fails says so and stops nothing; what stops everything is the user.
    fn take<T>(
        &self,
        test: &Load,
        row: Row,
        outcome: anyhow::Result<T>,
        add: impl FnOnce(Result<T, String>),
    ) -> anyhow::Result<()> {
        if self.interrupt.came() {
            bail!("interrupted");
        }
        if let Err(error) = &outcome {
            console::note(&format!("{test}, {}: {error:#}", row.shown));
        }
        add(outcome.map_err(|error| format!("{error:#}")));
        Ok(())
    }

    fn score(&self, test: &Load) -> anyhow::Result<Score> {
        test.run(self.port, self.seconds, &self.built.place, self.interrupt)
    }

    /// A run under a row's tool and one without, `first` or afterwards.
    fn pair(&self, test: &Load, row: Row, first: bool) -> anyhow::Result<Pair> {
        let _progress = console::progress(&format!("{test} under {}", row.shown));
        let before = if first { Some(self.score(test)?) } else { None };
        let tool = Tool::start(row, self.built, self.interrupt)?;
        let traced = self.score(test)?;
        let account = tool.map(Tool::end).transpose()?;
        let alone = before.map_or_else(|| self.score(test), Ok)?;
        Ok(Pair { traced, alone, account })
    }

    /// ns an event of a row's program.
    fn cost(&self, test: &Load, row: Row) -> anyhow::Result<f64> {
        let _progress = console::progress(&format!("{test} under {}, ns per event", row.shown));
        let tool = Tool::start(row, self.built, self.interrupt)?.context("it is no tool")?;
        let program = tool.program().context("it has no program")?;
        let (time_before, runs_before) = kernel::cost_of(program).unwrap_or_default();
        self.score(test)?;
        let (time, runs) = kernel::cost_of(program)?;
        tool.end()?;
        if runs <= runs_before {
            bail!("its program was not run");
        }
        Ok((time - time_before) as f64 / (runs - runs_before) as f64)
    }
}

/// Runs a command of the example `measure` and reads its JSON.
fn measured(built: &Built, interrupt: &Interrupt, what: &str) -> anyhow::Result<serde_json::Value> {
    let _progress = console::progress(what);
    let command: Command = command::clean(&built.measure, [what]);
    let mut process = process::Process::start(command, &built.place, what, interrupt)?;
    let status = process.wait(std::time::Duration::from_mins(10))?;
    if !status.success() {
        bail!("{}", process.last_words());
    }
    let out = fs::read_to_string(&process.out).context("its output")?;
    serde_json::from_str(&out).context("its output")
}
