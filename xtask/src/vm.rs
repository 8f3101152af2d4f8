//! The tracer on other kernels: Debian's, in virtual machines.
//!
//! Knows of the tracer its command line; what makes a guest run lies in the modules below.

mod beside;
pub(crate) mod check;
mod files;
mod image;
pub(crate) mod kernel;
pub(crate) mod machine;
mod modules;
pub(crate) mod table;
mod trouble;

use std::{
    io::{IsTerminal as _, stdin, stdout},
    path::{Path, PathBuf},
    process::ExitCode,
    str::FromStr,
    time::Duration,
};

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use kernel::{KNOWN, Kernel};
use machine::{End, Job, Machine, Outcome, Output};

use crate::{
    command, console,
    setup::{self, qemu},
};

/// Options of the virtual machines.
#[derive(Args)]
pub(crate) struct Options {
    /// A kernel by version: 5.10, 6.1, 6.12, 7.2, 7.3 or all; several with commas
    #[arg(long = "kernel", value_name = "VERSION", value_delimiter = ',', default_value = "6.12")]
    kernels: Vec<Wanted>,
    /// Memory, MiB
    #[arg(long, value_name = "MIB", default_value_t = 768, value_parser = clap::value_parser!(u32).range(128..=65_536))]
    memory: u32,
    /// Processors
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    cpus: u32,
    /// Give COMMAND up after this long, s [default: 600, none on a terminal]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    limit: Option<u64>,
    /// Programs to bring along besides tracer, netperf and netserver
    #[arg(long, value_name = "PROGRAM", value_delimiter = ',')]
    with: Vec<PathBuf>,
    /// Kernel modules to load first, with what they need
    #[arg(long, value_name = "MODULE", value_delimiter = ',')]
    modules: Vec<String>,
    /// More words for the kernel's command line
    #[arg(long, value_name = "WORDS", default_value = "", allow_hyphen_values = true)]
    append: String,
    /// Ask for newer kernels of these versions than those that are there
    #[arg(long)]
    update: bool,
    /// What to run as root, `sh` for a shell; without it the tracer is checked on each kernel
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// A word behind `--kernel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    All,
    /// One of [`KNOWN`].
    One(&'static str),
}

impl FromStr for Wanted {
    type Err = anyhow::Error;

    fn from_str(word: &str) -> anyhow::Result<Self> {
        if word == "all" {
            return Ok(Self::All);
        }
        let known = KNOWN.iter().map(|(label, _)| *label);
        let found = known.clone().find(|label| *label == word);
        found.map(Self::One).ok_or_else(|| anyhow!("there are {} and all", known.collect::<Vec<_>>().join(", ")))
    }
}

/// The versions asked for, each once, in the order of the table for `all`.
fn labels(wanted: &[Wanted]) -> Vec<&'static str> {
    let mut labels = Vec::new();
    for wanted in wanted {
        let more = match wanted {
            Wanted::All => KNOWN.iter().map(|(label, _)| *label).collect(),
            Wanted::One(label) => vec![*label],
        };
        labels.extend(more);
    }
    let mut seen = Vec::new();
    labels.retain(|label| {
        !seen.contains(label) && {
            seen.push(*label);
            true
        }
    });
    labels
}

/// Sets up, builds, boots each kernel, and prints a table for several. Ends with the command's status; of several
/// kernels with the first that is not 0. 124: not done in time; 126: the guest died.
pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    setup::run(root, &setup::Options::default())?;
    let place = place(root);
    build(root)?;
    let mut machine = prepare(root, &options.with)?;
    machine.memory = options.memory;
    machine.cpus = options.cpus;
    machine.modules.clone_from(&options.modules);
    machine.append.clone_from(&options.append);
    let labels = labels(&options.kernels);
    let kernels = labels.iter().map(|label| Kernel::ensure(&place, label, options.update));
    let kernels = kernels.collect::<anyhow::Result<Vec<_>>>()?;
    if options.command.is_empty() { check_all(&machine, &kernels) } else { run_all(&machine, &kernels, options) }
}

/// Where kernels and guests' files are kept.
pub(crate) fn place(root: &Path) -> PathBuf {
    root.join("target/vm")
}

/// Builds the tracer that goes into guests.
pub(crate) fn build(root: &Path) -> anyhow::Result<()> {
    let mut build = command::cargo(["build", "--package", "tracer"]);
    let status = build.current_dir(root).status().with_context(|| format!("`{}`", command::shown(&build)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", command::shown(&build));
    }
    Ok(())
}

/// A machine of common size, its files packed.
///
/// # Errors
/// This computer cannot run one, with what it lacks.
pub(crate) fn prepare(root: &Path, with: &[PathBuf]) -> anyhow::Result<Machine> {
    if std::env::consts::ARCH != "x86_64" {
        bail!("the guests are for x86-64, their programs come from here, and this is {}", std::env::consts::ARCH);
    }
    qemu::find()?;
    let mut programs = vec![root.join("target/debug/tracer")];
    for name in ["netperf", "netserver"] {
        programs
            .push(command::find(name).with_context(|| format!("no `{name}` here: `cargo xtask setup` installs it"))?);
    }
    for program in with {
        let name = program.to_string_lossy();
        let found = if name.contains('/') { Some(program.clone()) } else { command::find(&name) };
        programs.push(found.with_context(|| format!("no program `{name}` to bring along"))?);
    }
    let place = place(root);
    std::fs::create_dir_all(&place).with_context(|| format!("`{}`", place.display()))?;
    let base = place.join("base.cpio");
    image::pack_base(&base, &programs)?;
    let (modules, append, work) = (Vec::new(), String::new(), place.join("guests"));
    Ok(Machine { memory: 768, cpus: 2, modules, append, base, work })
}

fn check_all(machine: &Machine, kernels: &[Kernel]) -> anyhow::Result<ExitCode> {
    let findings = check::run(machine, kernels).into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    let findings: Vec<_> = kernels.iter().zip(findings).collect();
    for line in table::of_checks(&findings) {
        console::result(&line);
    }
    let passed = findings.iter().all(|(_, finding)| finding.failures.is_empty());
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run_all(machine: &Machine, kernels: &[Kernel], options: &Options) -> anyhow::Result<ExitCode> {
    let terminal = kernels.len() == 1 && stdin().is_terminal() && stdout().is_terminal();
    let limit = options.limit.or(if terminal { None } else { Some(600) }).map(Duration::from_secs);
    let output = if terminal { Output::Terminal } else { Output::Passed };
    let script = script(&options.command, terminal);
    let mut outcomes = Vec::new();
    for kernel in kernels {
        console::note(&format!("== {} ({})", kernel.label, kernel.release));
        let outcome = machine.run(kernel, &Job { script: &script, limit, output })?;
        for trouble in &outcome.troubles {
            console::note(&trouble.to_string());
        }
        if !matches!(outcome.end, End::Status(_)) {
            console::note(&format!("{}: see `{}`", ended(outcome.end), outcome.console.display()));
        }
        outcomes.push((kernel, outcome));
    }
    if let [(_, outcome)] = &outcomes[..] {
        note_files(outcome);
    } else {
        for line in table::of_runs(&outcomes) {
            console::result(&line);
        }
    }
    let mut codes = outcomes.iter().map(|(_, outcome)| code(outcome.end));
    Ok(codes.find(|code| *code != 0).map_or(ExitCode::SUCCESS, ExitCode::from))
}

fn note_files(outcome: &Outcome) {
    let files = std::fs::read_dir(&outcome.files).into_iter().flatten().count();
    if files > 0 {
        console::note(&format!("{files} files of the guest's /out are in `{}`", outcome.files.display()));
    }
}

fn ended(end: End) -> String {
    match end {
        End::Status(status) => format!("status {status}"),
        End::TimeLimit => "not done in time".to_owned(),
        End::Died => "the guest died".to_owned(),
        End::NoBoot => "the guest did not boot".to_owned(),
    }
}

fn code(end: End) -> u8 {
    match end {
        End::Status(status) => status,
        End::TimeLimit => 124,
        End::Died | End::NoBoot => 126,
    }
}

/// The command's words as a shell takes them; on a terminal with what it has to know of it.
fn script(command: &[String], terminal: bool) -> String {
    let mut words = command::clean(&command[0], &command[1..]);
    words.env_clear();
    let command = format!("{}\n", command::shown(&words));
    if !terminal {
        return command;
    }
    let name = std::env::var("TERM").unwrap_or_else(|_| "linux".to_owned());
    let mut stty = command::clean("stty", ["size"]);
    let size = command::output(stty.stdin(std::process::Stdio::inherit())).unwrap_or_default();
    let size: Vec<_> = size.split_whitespace().filter_map(|number| number.parse::<u16>().ok()).collect();
    let size =
        if let [rows, columns] = size[..] { format!("stty rows {rows} columns {columns}\n") } else { String::new() };
    format!("{size}export TERM={}\n{command}", name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_taken_once_each_in_the_order_asked_for() {
        let wanted = |words: &[&str]| words.iter().map(|word| word.parse().unwrap()).collect::<Vec<Wanted>>();
        assert_eq!(labels(&wanted(&["6.12", "5.10", "6.12"])), ["6.12", "5.10"]);
        assert_eq!(labels(&wanted(&["all"])), ["5.10", "6.1", "6.12", "7.2", "7.3"]);
        assert_eq!(labels(&wanted(&["7.3", "all"])), ["7.3", "5.10", "6.1", "6.12", "7.2"]);
    }

    #[test]
    fn an_unknown_kernel_is_refused_with_those_there_are() {
        let error = "4.19".parse::<Wanted>().unwrap_err().to_string();
        assert_eq!(error, "there are 5.10, 6.1, 6.12, 7.2, 7.3 and all");
    }

    #[test]
    fn the_words_of_a_command_reach_the_guest_as_they_are() {
        let command = ["sh", "-c", "echo \"it's $HOME\"; exit 3"].map(str::to_owned);
        assert_eq!(script(&command, false), "sh -c 'echo \"it'\\''s $HOME\"; exit 3'\n");
    }

    #[test]
    fn a_guest_that_fails_has_a_status_of_its_own() {
        assert_eq!([End::Status(9), End::TimeLimit, End::Died, End::NoBoot].map(code), [9, 124, 126, 126]);
    }
}
