//! Programs that run beside each other: each in a group of its own, so that Ctrl-C reaches this program alone, and
//! ended when they are no longer wanted.

use std::{
    fs::File,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use nix::{
    sys::{
        prctl,
        signal::{Signal, killpg},
    },
    unistd::Pid,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::command;

/// How often something awaited is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Whether the user wants this to end.
#[derive(Clone)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From here on SIGINT, SIGTERM and SIGHUP are noted instead of ending this program at once, so that everything
    /// started is stopped.
    pub(super) fn catch() -> anyhow::Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&flag)).context("a handler for signals")?;
        }
        Ok(Self(flag))
    }

    /// Whether a signal has come.
    pub(super) fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Waits until `done`; false when that took longer than `limit`.
    ///
    /// # Errors
    /// What `done` fails with, or that a signal came.
    pub(super) fn wait_for(
        &self,
        limit: Duration,
        mut done: impl FnMut() -> anyhow::Result<bool>,
    ) -> anyhow::Result<bool> {
        let start = Instant::now();
        loop {
            if done()? {
                return Ok(true);
            }
            if self.came() {
                bail!("interrupted");
            }
            if start.elapsed() > limit {
                return Ok(false);
            }
            thread::sleep(LOOK);
        }
    }

    /// Waits this long.
    ///
    /// # Errors
    /// A signal came.
    pub(super) fn sleep(&self, time: Duration) -> anyhow::Result<()> {
        self.wait_for(time, || Ok(false)).map(|_| ())
    }
}

/// A running program whose output goes to files.
pub(super) struct Process {
    child: Child,
    shown: String,
    interrupt: Interrupt,
    /// Where its output goes.
    pub(super) out: PathBuf,
    /// Where its errors go.
    pub(super) err: PathBuf,
}

impl Process {
    /// Starts `command`; its output goes to `NAME.out` and `NAME.err` in `place`.
    pub(super) fn start(mut command: Command, place: &Path, name: &str, interrupt: &Interrupt) -> anyhow::Result<Self> {
        let [out, err] = ["out", "err"].map(|kind| place.join(format!("{name}.{kind}")));
        let create = |path: &Path| File::create(path).with_context(|| format!("`{}`", path.display()));
        command.stdout(create(&out)?).stderr(create(&err)?).process_group(0);
        // SAFETY: between fork and exec only async-signal-safe functions may be called; this is the system call prctl
        // and nothing else.
        unsafe { command.pre_exec(|| prctl::set_pdeathsig(Signal::SIGTERM).map_err(Into::into)) };
        let shown = command::shown(&command);
        let child = command.spawn().with_context(|| format!("`{shown}`"))?;
        Ok(Self { child, shown, interrupt: interrupt.clone(), out, err })
    }

    /// Its process id.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended; `None` while it runs.
    pub(super) fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        self.child.try_wait().with_context(|| format!("wait for `{}`", self.shown))
    }

    /// Asks it to end, as Ctrl-C would.
    pub(super) fn ask_to_end(&self) {
        self.send(Signal::SIGINT);
    }

    fn send(&self, signal: Signal) {
        if let Ok(group) = i32::try_from(self.child.id()) {
            let _gone = killpg(Pid::from_raw(group), signal);
        }
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// It does not end in time, or a signal came.
    pub(super) fn wait(&mut self, limit: Duration) -> anyhow::Result<ExitStatus> {
        let interrupt = self.interrupt.clone();
        let mut status = None;
        interrupt.wait_for(limit, || {
            status = self.ended()?;
            Ok(status.is_some())
        })?;
        status.with_context(|| format!("`{}` does not end in {} s", self.shown, limit.as_secs()))
    }

    /// What it said last, for an error.
    pub(super) fn last_words(&self) -> String {
        let said = [&self.err, &self.out].map(|path| std::fs::read(path).unwrap_or_default());
        let said = said.iter().find(|it| !it.trim_ascii().is_empty()).map(|it| String::from_utf8_lossy(it));
        let said = said.unwrap_or_default();
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing said");
        last.chars().filter(|it| !it.is_control()).take(200).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Ended and waited for: its number may be another's by now.
        if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
            return;
        }
        self.send(Signal::SIGTERM);
        for _ in 0..40 {
            if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                return;
            }
            thread::sleep(LOOK);
        }
        self.send(Signal::SIGKILL);
        let _reaped = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interrupt() -> Interrupt {
        Interrupt(Arc::new(AtomicBool::new(false)))
    }

    fn shell(script: &str, place: &Path, interrupt: &Interrupt) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Process::start(command, place, "test", interrupt).unwrap()
    }

    #[test]
    fn a_signal_ends_every_wait() {
        let folder = tempfile::tempdir().unwrap();
        let interrupt = interrupt();
        let mut process = shell("sleep 60", folder.path(), &interrupt);
        interrupt.0.store(true, Ordering::Relaxed);
        assert_eq!(process.wait(Duration::from_mins(1)).unwrap_err().to_string(), "interrupted");
    }

    #[test]
    fn a_program_that_is_dropped_is_gone_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = shell("trap '' INT; sleep 60 & echo $!; wait", folder.path(), &interrupt());
        let out = process.out.clone();
        let child = || std::fs::read_to_string(&out).unwrap().trim().parse::<i32>().ok();
        assert!(interrupt().wait_for(Duration::from_secs(5), || Ok(child().is_some())).unwrap());
        assert!(process.ended().unwrap().is_none());
        let gone = format!("/proc/{}/stat", child().unwrap());
        drop(process);
        let is_gone = || std::fs::read_to_string(&gone).map_or(true, |stat| stat.contains(") Z"));
        assert!(interrupt().wait_for(Duration::from_secs(5), || Ok(is_gone())).unwrap());
    }

    #[test]
    fn the_last_line_said_is_without_control_characters() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = shell(r"echo out; printf 'first\n\033[31mlast\n\n' >&2", folder.path(), &interrupt());
        assert!(process.wait(Duration::from_secs(5)).unwrap().success());
        assert_eq!(process.last_words(), "[31mlast");
    }
}
