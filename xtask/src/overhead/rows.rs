//! What netperf is run under: the tracer in its ways, an empty program, and the tools that people use today.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context as _;

use super::counted::Output;
use crate::command;

/// One way of tracing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// As on the command line and in the JSON.
    pub(super) name: &'static str,
    /// As in the table.
    pub(super) shown: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Nothing,
    Empty,
    Tracer(&'static [&'static str]),
    Bpftrace(&'static str),
    Stackcount,
    Perf,
}

const fn row(name: &'static str, shown: &'static str, kind: Kind) -> Row {
    Row { name, shown, kind }
}

const PAGE_ALLOC: [&str; 2] = ["--signals", "page.alloc"];

/// In the order in which they are run and shown.
pub(super) const ROWS: [Row; 11] = [
    row("nothing", "nothing (the noise)", Kind::Nothing),
    row("empty", "empty program", Kind::Empty),
    row("exact", "tracer, exact paths", Kind::Tracer(&PAGE_ALLOC)),
    row("default", "tracer, default signals", Kind::Tracer(&[])),
    row("sample", "tracer --paths sample=64", Kind::Tracer(&[PAGE_ALLOC[0], PAGE_ALLOC[1], "--paths", "sample=64"])),
    row("off", "tracer --paths off", Kind::Tracer(&[PAGE_ALLOC[0], PAGE_ALLOC[1], "--paths", "off"])),
    row("unwound", "tracer --paths unwound", Kind::Tracer(&[PAGE_ALLOC[0], PAGE_ALLOC[1], "--paths", "unwound"])),
    row("bpftrace-order", "bpftrace by order", Kind::Bpftrace("t:kmem:mm_page_alloc { @[args->order] = count(); }")),
    row(
        "bpftrace-stack",
        "bpftrace by stack",
        Kind::Bpftrace("t:kmem:mm_page_alloc { @[kstack, args->order, args->gfp_flags] = count(); }"),
    ),
    row("stackcount", "bcc stackcount", Kind::Stackcount),
    row("perf", "perf record -g", Kind::Perf),
];

/// The row of this name.
pub(super) fn named(name: &str) -> Result<Row, String> {
    let known = || ROWS.map(|row| row.name).join(", ");
    ROWS.into_iter().find(|row| row.name == name).ok_or_else(|| format!("one of {}", known()))
}

/// What a row needs to start: the programs built here and a folder for files.
pub(super) struct Built {
    pub(super) tracer: PathBuf,
    pub(super) measure: PathBuf,
    pub(super) place: PathBuf,
}

/// How to run a row's tool.
pub(super) struct Recipe {
    pub(super) command: Command,
    /// What tells that it is past its own preparations; then its program is looked for.
    pub(super) sign: Sign,
    /// Where and how it says what it has counted.
    pub(super) output: Output,
}

/// What tells that a tool is ready.
pub(super) enum Sign {
    /// Its program on the hook is enough.
    Program,
    /// This file is there: the tracer makes its recording right after attaching.
    File(PathBuf),
    /// perf takes `enable` on the first FIFO and says `ack` on the second.
    Fifos(PathBuf, PathBuf),
}

impl Row {
    /// Whether it is ours.
    pub(super) fn is_tracer(self) -> bool {
        matches!(self.kind, Kind::Tracer(_))
    }

    /// Whether a BPF program of it is on the hook, whose cost the kernel tells.
    pub(super) fn has_program(self) -> bool {
        !matches!(self.kind, Kind::Nothing | Kind::Perf)
    }

    /// How to run it; `None` for nothing.
    pub(super) fn recipe(self, built: &Built) -> anyhow::Result<Option<Recipe>> {
        let program = |name: &str| command::find(name).with_context(|| format!("`{name}` is not on this machine"));
        let of = |command, sign, output| Ok(Some(Recipe { command, sign, output }));
        match self.kind {
            Kind::Nothing => Ok(None),
            Kind::Empty => of(command::clean(&built.measure, ["empty"]), Sign::Program, Output::None),
            Kind::Tracer(options) => {
                let recording = built.place.join("tracer.db");
                remove(&recording)?;
                let mut tracer = command::clean(&built.tracer, ["record", "-o"]);
                tracer.arg(&recording).args(options);
                let output = Output::Tracer { tracer: built.tracer.clone(), recording: recording.clone() };
                of(tracer, Sign::File(recording), output)
            }
            Kind::Bpftrace(script) => {
                let mut bpftrace = command::clean(program("bpftrace")?, ["-f", "json", "-e", script]);
                // Its default of 4096 keys is enough for stacks; said here so that it stays.
                bpftrace.env("BPFTRACE_MAP_KEYS_MAX", "4096");
                of(bpftrace, Sign::Program, Output::Bpftrace)
            }
            Kind::Stackcount => {
                let stackcount = command::clean(program("stackcount-bpfcc")?, ["-K", "t:kmem:mm_page_alloc"]);
                of(stackcount, Sign::Program, Output::Stackcount)
            }
            Kind::Perf => {
                let [control, answer] = ["perf.control", "perf.answer"].map(|name| built.place.join(name));
                for fifo in [&control, &answer] {
                    remove(fifo)?;
                    nix::unistd::mkfifo(fifo, nix::sys::stat::Mode::S_IRWXU)
                        .with_context(|| format!("FIFO `{}`", fifo.display()))?;
                }
                let data = built.place.join("perf.data");
                let mut fifos = OsString::from("--control=fifo:");
                fifos.push(&control);
                fifos.push(",");
                fifos.push(&answer);
                let mut perf = command::clean(program("perf")?, ["record", "-a", "-g", "-D", "-1"]);
                perf.args(["-e", "kmem:mm_page_alloc", "-o"]).arg(&data).arg(fifos);
                of(perf, Sign::Fifos(control, answer), Output::Perf { data })
            }
        }
    }
}

/// An old file must not be taken for this run's.
fn remove(path: &Path) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("`{}`", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_name_and_an_unknown_one_is_told_the_names() {
        assert_eq!(named("perf"), Ok(ROWS[10]));
        let error = named("prf").unwrap_err();
        assert!(ROWS.iter().all(|row| error.contains(row.name)), "{error}");
    }

    #[test]
    fn the_recording_of_an_earlier_run_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().to_path_buf();
        let built = Built { tracer: "/t".into(), measure: "/m".into(), place };
        let recording = folder.path().join("tracer.db");
        fs::write(&recording, "old").unwrap();
        let recipe = named("default").unwrap().recipe(&built).unwrap().unwrap();
        assert!(!recording.exists());
        let shown = command::shown(&recipe.command);
        assert_eq!(shown, format!("/t record -o {}", recording.display()));
    }
}
