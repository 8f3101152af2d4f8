//! The thread beside a running command: reads its output, forwards signals, reaps it.

use std::{
    io::{self, Read},
    mem,
    os::{
        fd::{AsFd as _, BorrowedFd, FromRawFd as _, OwnedFd},
        unix::process::ExitStatusExt as _,
    },
    process::{ChildStderr, ChildStdout, ExitStatus},
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::sync::mpsc;

use super::{
    Outcome,
    capture::Capture,
    echo::{Echo, Passer},
    exec::Image,
    lines::{Line, Source, Splitter},
    program::StartError,
};
use crate::run::CommandEnd;

/// How long a command may take to end after a signal before it is killed.
const STOP_GRACE: Duration = Duration::from_secs(5);
/// How long output is still read after the command has ended, where somebody else holds it open.
const OUTPUT_GRACE: Duration = Duration::from_millis(500);
/// Bytes read at once: what a pipe holds.
const CHUNK: usize = 64 << 10;

pub(super) struct Supervisor {
    pid: Pid,
    began: Instant,
    /// Readable when the command has ended.
    process: OwnedFd,
    control: Option<io::PipeReader>,
    stdout: Output<ChildStdout>,
    stderr: Output<ChildStderr>,
    echo: Passer,
    ended: Option<Instant>,
    /// When the group is killed, once it was told to stop.
    kill_at: Option<Instant>,
}

/// One output: its pipe until it is closed, and where it goes.
struct Output<R> {
    pipe: Option<R>,
    capture: Capture,
    lines: Splitter,
}

impl Supervisor {
    /// Starts the command. `control` carries signal numbers to forward; its end means that nobody wants the command
    /// any more.
    pub(super) fn start(
        image: Image,
        echo: Echo,
        lines: mpsc::Sender<Line>,
        control: io::PipeReader,
    ) -> Result<Self, StartError> {
        let name = image.name().to_owned();
        let failed = |error: io::Error| StartError::other(&name, &error.to_string());
        let echo = Passer::new(echo).map_err(failed)?;
        let began = Instant::now();
        let mut child = image.spawn()?;
        let process = match pidfd(child.id()) {
            Ok(process) => process,
            Err(error) => {
                let _killed_or_gone = child.kill().and_then(|()| child.wait());
                return Err(failed(error));
            }
        };
        let stdout = Output {
            pipe: child.stdout.take(),
            capture: Capture::new(),
            lines: Splitter::new(Source::Stdout, lines.clone()),
        };
        let stderr =
            Output { pipe: child.stderr.take(), capture: Capture::new(), lines: Splitter::new(Source::Stderr, lines) };
        let pid = Pid::from_raw(child.id().cast_signed());
        Ok(Self { pid, began, process, control: Some(control), stdout, stderr, echo, ended: None, kill_at: None })
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid.as_raw().cast_unsigned()
    }

    /// Until the command has ended and its output is read, or nobody is left to wait for.
    pub(super) fn run(mut self) -> io::Result<Outcome> {
        let mut buffer = vec![0; CHUNK];
        while !self.is_done() {
            let [stdout, stderr, process, control] = self.wait()?;
            self.stdout.read(stdout, &mut buffer, &mut self.echo);
            self.stderr.read(stderr, &mut buffer, &mut self.echo);
            if process {
                self.ended = Some(Instant::now());
            }
            if control {
                self.obey();
            }
            if self.kill_at.is_some_and(|at| Instant::now() >= at) {
                self.signal(Signal::SIGKILL);
                self.kill_at = Some(Instant::now() + STOP_GRACE);
            }
        }
        self.finish()
    }

    fn is_done(&self) -> bool {
        self.ended
            .is_some_and(|ended| self.stdout.is_closed() && self.stderr.is_closed() || ended.elapsed() >= OUTPUT_GRACE)
    }

    /// Sleeps until something happens or is due; whether there is something of standard output, of standard error, of
    /// the process (its end) and of the control pipe.
    fn wait(&self) -> io::Result<[bool; 4]> {
        let stdout = self.stdout.pipe.as_ref().map(|pipe| pipe.as_fd());
        let stderr = self.stderr.pipe.as_ref().map(|pipe| pipe.as_fd());
        let process = self.ended.is_none().then(|| self.process.as_fd());
        let control = self.control.as_ref().map(|pipe| pipe.as_fd());
        let sources: [Option<BorrowedFd<'_>>; 4] = [stdout, stderr, process, control];
        let mut polled: Vec<_> =
            sources.iter().flatten().map(|source| PollFd::new(*source, PollFlags::POLLIN)).collect();
        let due = [self.kill_at, self.ended.map(|ended| ended + OUTPUT_GRACE)].into_iter().flatten().min();
        let timeout = due.map_or(PollTimeout::NONE, |due| {
            // Rounded up, or a wait of less than a millisecond would spin.
            let left = due.saturating_duration_since(Instant::now()).as_millis() + 1;
            PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
        });
        match poll(&mut polled, timeout) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok([false; 4]),
            Err(error) => return Err(error.into()),
        }
        let mut polled = polled.iter();
        Ok(sources.map(|source| source.is_some() && polled.next().and_then(PollFd::any).unwrap_or(false)))
    }

    /// Forwards what came through the control pipe.
    fn obey(&mut self) {
        let mut number = [0];
        let read = self.control.as_mut().map_or(Ok(0), |control| control.read(&mut number));
        let signal = match read {
            Ok(1) => Signal::try_from(i32::from(number[0])).unwrap_or(Signal::SIGTERM),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            Ok(_) | Err(_) => {
                self.control = None;
                Signal::SIGKILL
            }
        };
        self.signal(signal);
        // A stopped process takes no signal but SIGKILL until it goes on.
        self.signal(Signal::SIGCONT);
        self.kill_at = self.kill_at.or(Some(Instant::now() + STOP_GRACE));
    }

    /// To the whole group. Its leader is not reaped before the end, so the number is still the group's own.
    fn signal(&self, signal: Signal) {
        let _gone = killpg(self.pid, signal);
    }

    fn finish(self) -> io::Result<Outcome> {
        let is_held_open = !(self.stdout.is_closed() && self.stderr.is_closed());
        if self.kill_at.is_some() {
            // Stopped: nothing of it may stay behind.
            self.signal(Signal::SIGKILL);
        }
        let wall = self.ended.unwrap_or_else(Instant::now) - self.began;
        let end = reap(self.pid, wall)?;
        let mut warnings = Vec::new();
        if is_held_open && self.kill_at.is_none() {
            warnings.push(
                "the command ended, but processes that it left behind hold its output open: what they write from \
                 now on is not read"
                    .into(),
            );
        }
        let lines_dropped = self.stdout.lines.finish() + self.stderr.lines.finish();
        let texts = [("standard output", self.stdout.capture), ("standard error", self.stderr.capture)];
        let [stdout, stderr] = texts.map(|(name, capture)| {
            let (text, cut) = capture.finish();
            if cut > 0 {
                warnings
                    .push(format!("the command's {name} was too long to keep: {cut} bytes from its middle are cut"));
            }
            text
        });
        let left_out = self.echo.finish();
        if left_out > 0 {
            warnings.push(format!(
                "{left_out} bytes of the command's output were not passed through: nobody read them in time"
            ));
        }
        Ok(Outcome { end, stdout, stderr, lines_dropped, warnings })
    }
}

impl<R: Read> Output<R> {
    fn is_closed(&self) -> bool {
        self.pipe.is_none()
    }

    fn read(&mut self, is_ready: bool, buffer: &mut [u8], echo: &mut Passer) {
        let Some(pipe) = self.pipe.as_mut().filter(|_| is_ready) else { return };
        match pipe.read(buffer) {
            Ok(length) if length > 0 => {
                let bytes = &buffer[..length];
                self.capture.push(bytes);
                self.lines.push(bytes);
                echo.push(bytes);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => self.pipe = None,
        }
    }
}

/// A descriptor of the process, from `pidfd_open` (Linux 5.3).
fn pidfd(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let descriptor = Errno::result(descriptor)?;
    let descriptor = i32::try_from(descriptor).map_err(io::Error::other)?;
    // SAFETY: the kernel has just made this descriptor for us, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Exit status and processor times of the command and the children it waited for, from `wait4`.
fn reap(pid: Pid, wall: Duration) -> io::Result<CommandEnd> {
    let mut status = 0;
    // SAFETY: plain numbers, for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live, writable values of the types that the call fills.
        let reaped = unsafe { libc::wait4(pid.as_raw(), &raw mut status, 0, &raw mut usage) };
        match Errno::result(reaped) {
            Ok(_) => break,
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let status = ExitStatus::from_raw(status);
    let exit_code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(125);
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(CommandEnd {
        exit_code,
        wall_s: wall.as_secs_f64(),
        user_s: seconds(usage.ru_utime),
        system_s: seconds(usage.ru_stime),
    })
}
