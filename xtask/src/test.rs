//! Every check in one command: formatting, clippy, docs, layers, rebuilds, then all tests, also on other kernels.
//!
//! All checks run even when one fails; the last line is the count of all. Must not know what is tested.

mod kernels;
mod rebuild;
mod runner;
mod summary;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Instant,
};

use anyhow::{Context as _, bail};
use clap::Args;
use summary::Summary;

use crate::{command, console, layers, setup};

/// Options of the checks.
#[derive(Args)]
pub(crate) struct Options {
    /// Leave out the tests that attach to the running kernel (they need root)
    #[arg(long)]
    no_live: bool,
    /// Leave out the tests on other kernels, which boot virtual machines
    #[arg(long)]
    no_vm: bool,
    /// Only the check of this name (fmt, clippy, clippy-bpf, doc, layers, rebuild), else only tests with this in
    /// their names
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
}

/// What stands between the parts of a command line that are the same everywhere.
const HOST: [&str; 3] = ["--workspace", "--exclude", "tracer-ebpf"];

type Check = fn(&Path) -> anyhow::Result<()>;

/// In the order in which they run: the quick ones first.
const CHECKS: [(&str, Check); 6] = [
    ("fmt", |root| run_check(root, command::cargo(["fmt", "--all", "--check"]))),
    ("clippy", |root| {
        let mut clippy = command::cargo(["clippy"]);
        clippy.args(HOST).args(["--all-targets", "--", "-D", "warnings"]);
        run_check(root, clippy)
    }),
    ("clippy-bpf", |root| {
        let target = ["--package", "tracer-ebpf", "--target", "bpfel-unknown-none", "-Z", "build-std=core"];
        run_check(root, command::nightly_cargo(&[&["clippy"][..], &target, &["--", "-D", "warnings"]].concat()))
    }),
    ("doc", |root| {
        let mut doc = command::cargo(["doc", "--no-deps"]);
        doc.args(HOST).env("RUSTDOCFLAGS", "-D warnings");
        run_check(root, doc)
    }),
    ("layers", check_layers),
    ("rebuild", rebuild::check),
];

/// Sets up, runs everything asked for and prints the count of all.
pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    setup::run(root, &setup::Options::default())?;
    let only = options.only.as_deref();
    let one_check = CHECKS.iter().any(|(name, _)| only == Some(name));

    let mut checks = Summary::default();
    let mut failures = Vec::new();
    for (name, check) in CHECKS.iter().filter(|(name, _)| only.is_none_or(|only| only == *name)) {
        console::note(&format!("== {name}"));
        match check(root) {
            Ok(()) => checks.passed += 1,
            Err(error) => {
                console::note(&format!("failed: {error:#}"));
                checks.failed += 1;
                failures.push(format!("{name}: {error:#}"));
            }
        }
    }

    let mut tests = Summary::default();
    if !one_check {
        let skips = Skips::new(root)?;
        for command in runner::commands(root, only, options.no_live)? {
            console::note(&format!("== {}", command::shown(&command)));
            let (summary, failure) = runner::run(root, command, &skips.file);
            tests += summary;
            failures.extend(failure);
        }
        // What a runner calls skipped may only have another name.
        let mut found = tests.passed + tests.failed;
        for reason in skips.reasons()? {
            console::result(&format!("skipped: {reason}"));
            tests.skip_one_passed();
        }
        if !options.no_vm {
            let (summary, failed) = kernels::run(root, only);
            found += summary.total();
            tests += summary;
            failures.extend(failed);
        }
        // A failure, such as of a build, says more.
        if let (Some(only), 0, true) = (only, found, failures.is_empty()) {
            failures.push(format!("no test has `{only}` in its name"));
        }
    }

    for failure in &failures {
        console::result(&format!("failed: {failure}"));
    }
    let took = start.elapsed().as_secs();
    let all = checks + tests;
    console::result(&format!("checks: {}, tests: {}, in {took} s", checks.total(), tests.total()));
    console::result(&all.to_string());
    Ok(if failures.is_empty() && all.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs a command with its output shown.
fn run_check(root: &Path, mut command: Command) -> anyhow::Result<()> {
    let shown = command::shown(&command);
    let status = command.current_dir(root).status().with_context(|| format!("`{shown}` cannot be started"))?;
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    Ok(())
}

fn check_layers(root: &Path) -> anyhow::Result<()> {
    let violations = layers::check(root)?.violations;
    for violation in &violations {
        console::note(&violation.to_string());
    }
    if !violations.is_empty() {
        bail!("{} imports across layers: `cargo xtask test --only layers` shows them", violations.len());
    }
    Ok(())
}

/// Where tests that had to skip say so: the test runners know no such outcome and count them as passed. A test
/// appends one line, its name and the reason, to the file that the variable `TRACER_TEST_SKIPS` names.
struct Skips {
    file: PathBuf,
}

impl Skips {
    fn new(root: &Path) -> anyhow::Result<Self> {
        let file = root.join("target/test-skips.txt");
        fs::write(&file, "").with_context(|| format!("`{}`", file.display()))?;
        Ok(Self { file })
    }

    fn reasons(&self) -> anyhow::Result<Vec<String>> {
        let text = fs::read_to_string(&self.file).with_context(|| format!("`{}`", self.file.display()))?;
        Ok(text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
    }
}
