//! A tool at work beside the load: attached for certain, ended in good order, and asked what it has counted.

use std::{
    fs::{File, OpenOptions},
    io::{ErrorKind, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use nix::libc::O_NONBLOCK;

use super::{
    counted::{Counted, Output},
    kernel,
    process::{Interrupt, Process},
    rows::{Built, Recipe, Row, Sign},
};

/// How long a tool may take to attach, and to end: bpftrace names every stack at its end.
const ATTACH: Duration = Duration::from_mins(1);
const END: Duration = Duration::from_mins(3);
/// After attaching, so that what starting took is over.
const SETTLE: Duration = Duration::from_millis(200);

/// A tool that is attached.
pub(super) struct Tool {
    process: Process,
    output: Output,
    program: Option<u64>,
    pages_before: u64,
    cpu_before: f64,
    since: Instant,
}

/// What a tool did and took while it was attached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    pub(super) counted: Counted,
    /// Pages that the kernel counted meanwhile.
    pub(super) pages: u64,
    /// CPU time of the tool's process, percent of one CPU.
    pub(super) cpu_percent: f64,
    /// Its highest resident memory, KiB.
    pub(super) resident_kib: u64,
}

impl Tool {
    /// Starts a row's tool and waits until it is attached; `None` for the row of nothing.
    ///
    /// # Errors
    /// It is missing, fails, or does not attach.
    pub(super) fn start(row: Row, built: &Built, interrupt: &Interrupt) -> anyhow::Result<Option<Self>> {
        let Some(Recipe { command, sign, output }) = row.recipe(built)? else { return Ok(None) };
        let fifos = if let Sign::Fifos(control, answer) = &sign {
            // Both ways, so that opening does not wait for the other end.
            Some((open(control)?, open(answer)?))
        } else {
            None
        };
        let mut process = Process::start(command, &built.place, row.name, interrupt)?;
        if let Some((mut control, mut answer)) = fifos {
            control.write_all(b"enable\n").context("switch perf on")?;
            await_or_fail(&mut process, interrupt, || said_something(&mut answer))?;
        }
        if let Sign::File(file) = &sign {
            await_or_fail(&mut process, interrupt, || Ok(file.exists()))?;
        }
        let mut program = None;
        if row.has_program() {
            let id = process.id();
            await_or_fail(&mut process, interrupt, || {
                program = kernel::program_of(id)?;
                Ok(program.is_some())
            })?;
        }
        interrupt.sleep(SETTLE)?;
        let (cpu_before, _) = kernel::usage(process.id())?;
        let pages_before = kernel::pages_allocated()?;
        Ok(Some(Self { process, output, program, pages_before, cpu_before, since: Instant::now() }))
    }

    /// Its program on the hook; `None` for perf.
    pub(super) fn program(&self) -> Option<u64> {
        self.program
    }

    /// Ends it as Ctrl-C would and asks what it has counted.
    ///
    /// # Errors
    /// It had ended before, does not end, or says nothing.
    pub(super) fn end(mut self) -> anyhow::Result<Account> {
        if let Some(status) = self.process.ended()? {
            bail!("ended by itself with {status}: {}", self.process.last_words());
        }
        let (cpu, resident_kib) = kernel::usage(self.process.id())?;
        let cpu_percent = (cpu - self.cpu_before) / self.since.elapsed().as_secs_f64() * 100.0;
        let pages = kernel::pages_allocated()? - self.pages_before;
        self.process.ask_to_end();
        // Each tool ends in a way of its own after Ctrl-C; what it has written tells whether it went well.
        self.process.wait(END)?;
        let counted = self.output.read(&self.process.out, &self.process.err).context(self.process.last_words())?;
        Ok(Account { counted, pages, cpu_percent, resident_kib })
    }
}

/// Waits until the tool is ready, or says why it is not.
fn await_or_fail(
    process: &mut Process,
    interrupt: &Interrupt,
    mut ready: impl FnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let mut ended = None;
    let came = interrupt.wait_for(ATTACH, || {
        ended = process.ended()?;
        Ok(ended.is_some() || ready()?)
    })?;
    if let Some(status) = ended {
        bail!("ended with {status} before it was attached: {}", process.last_words());
    }
    if !came {
        bail!("not attached after {} s: {}", ATTACH.as_secs(), process.last_words());
    }
    Ok(())
}

fn open(fifo: &Path) -> anyhow::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(O_NONBLOCK);
    options.open(fifo).with_context(|| format!("FIFO `{}`", fifo.display()))
}

fn said_something(fifo: &mut File) -> anyhow::Result<bool> {
    match fifo.read(&mut [0; 16]) {
        Ok(bytes) => Ok(bytes > 0),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error).context("perf's answer"),
    }
}
