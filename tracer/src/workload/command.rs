//! A command run as a child: started, listened to, stopped, accounted for.
//!
//! One thread of its own starts the child, reads its output, forwards signals and reaps it, so that neither a busy
//! runtime nor a slow terminal ever makes the command wait. Must not know: aya, the terminal, what the output means.
//!
//! There is no gate between fork and exec: the hooks count the whole system, so a command started right after they
//! are attached is counted from its fork on. What can be found wrong before is found by [`Invocation::prepare`],
//! which takes no hook. Starting as another user and stopping that user's command need `CAP_SETUID`, `CAP_SETGID` and
//! `CAP_KILL` until the command has ended.

mod capture;
mod echo;
mod exec;
mod lines;
mod program;
mod supervise;
mod user;

use std::{ffi::OsString, io, io::Write as _, thread};

use anyhow::Context as _;
use nix::sys::signal::Signal;
use tokio::sync::{mpsc, oneshot};

pub use self::{
    echo::Echo,
    lines::{Line, Source},
    program::{StartError, StartErrorKind},
    user::User,
};
use crate::run;

/// A command to be run.
pub struct Invocation {
    /// The program, then its arguments.
    pub argv: Vec<OsString>,
    /// Whom it runs as; `None` for the tracer's own user.
    pub user: Option<User>,
    /// Where both of its outputs go while it runs.
    pub echo: Echo,
}

/// A command whose program was found.
pub struct Prepared {
    image: exec::Image,
    echo: Echo,
}

/// A command that runs. Dropping it kills the command.
pub struct Running {
    pid: u32,
    control: io::PipeWriter,
    lines: Option<mpsc::Receiver<Line>>,
    outcome: oneshot::Receiver<io::Result<Outcome>>,
}

/// How a command ended and what it wrote.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Exit status and times.
    pub end: run::CommandEnd,
    /// Its standard output: whole, or the first MiB and the last 15 with a line between that says what was cut.
    pub stdout: String,
    /// Its standard error, likewise.
    pub stderr: String,
    /// Lines that [`Running::lines`] did not carry because its reader was behind; they are in the outputs.
    pub lines_dropped: u64,
    /// What of the command's output is missing here or was not passed through, in words.
    pub warnings: Vec<String>,
}

impl Invocation {
    /// Finds the program along `PATH`, so that a mistyped name is known before any hook is attached.
    pub fn prepare(self) -> Result<Prepared, StartError> {
        let image = exec::Image::new(&self.argv, self.user)?;
        Ok(Prepared { image, echo: self.echo })
    }
}

impl Prepared {
    /// Starts the command in a process group of its own; its standard input is ours, or empty where ours is a
    /// terminal (from a background group a read of the terminal would stop it for ever).
    pub fn start(self) -> Result<Running, StartError> {
        let command = self.image.name().to_owned();
        let failed = |error: io::Error| StartError::other(&command, &error.to_string());
        let (control_read, control) = io::pipe().map_err(failed)?;
        let (line_sender, lines) = lines::channel();
        let (started, starting) = std::sync::mpsc::sync_channel(1);
        let (outcome_sender, outcome) = oneshot::channel();
        // The child gets its parent-death signal when the thread that forked it ends, so that thread is one that
        // outlives the child by construction.
        thread::Builder::new()
            .name("command".into())
            .spawn(move || match supervise::Supervisor::start(self.image, self.echo, line_sender, control_read) {
                Ok(supervisor) => {
                    let _receiver_waits = started.send(Ok(supervisor.pid()));
                    let _nobody_waits = outcome_sender.send(supervisor.run());
                }
                Err(error) => {
                    let _receiver_waits = started.send(Err(error));
                }
            })
            .map_err(failed)?;
        let pid = starting.recv().map_err(|error| StartError::other(&command, &error.to_string()))??;
        Ok(Running { pid, control, lines: Some(lines), outcome })
    }
}

impl Running {
    /// Its process id, which is its process group's too.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The lines of both outputs as they come, for live scores; `None` after the first call. Not read, or read too
    /// slowly, it drops lines and counts them.
    pub fn lines(&mut self) -> Option<mpsc::Receiver<Line>> {
        self.lines.take()
    }

    /// Sends `signal` to the command's process group, and kills the group five seconds later if it still runs.
    ///
    /// netperf ends its test at SIGINT and prints the result; at SIGTERM it prints none.
    pub fn stop(&self, signal: Signal) {
        let number = u8::try_from(signal as i32).expect("signal numbers are below 65");
        // A pipe with nobody behind it means that the command has ended, which is what was asked for.
        let _ended = (&self.control).write_all(&[number]);
    }

    /// Waits until the command has ended and its output is read. May be dropped and called again; after it has
    /// given an outcome, it gives an error.
    pub async fn wait(&mut self) -> anyhow::Result<Outcome> {
        if self.outcome.is_terminated() {
            anyhow::bail!("the command's outcome was taken before");
        }
        (&mut self.outcome)
            .await
            .context("the thread that watched the command ended early")?
            .context("the command's end")
    }
}
