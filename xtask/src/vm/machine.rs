//! One boot of one kernel under qemu: the command's output passed on, its status, what the kernel said.
//!
//! The processor is emulated: it works everywhere, and `/dev/kvm` where it exists need not be able to run a guest.

use std::{
    fs,
    io::{Read, Write as _, stdout},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use nix::{
    sys::{
        prctl,
        signal::{Signal, kill},
    },
    unistd::Pid,
};

use super::{
    files::{self, Files, Progress},
    image,
    kernel::Kernel,
    trouble::{self, Trouble},
};
use crate::{command, setup::qemu};

/// A guest has to reach its command within this, on however loaded a host.
const BOOT_LIMIT: Duration = Duration::from_mins(3);
/// Boots tried: a guest that does not reach its command has not run any of ours.
const BOOTS: u32 = 2;

/// What a guest is like.
pub(crate) struct Machine {
    /// MiB.
    pub(crate) memory: u32,
    pub(crate) cpus: u32,
    /// Modules loaded before the command.
    pub(crate) modules: Vec<String>,
    /// More words for the kernel's command line.
    pub(crate) append: String,
    /// The archive of files that every guest has.
    pub(crate) base: PathBuf,
    /// Where the files of each boot go.
    pub(crate) work: PathBuf,
}

/// What a guest does.
pub(crate) struct Job<'a> {
    /// A shell script.
    pub(crate) script: &'a str,
    /// None: it may take as long as it likes.
    pub(crate) limit: Option<Duration>,
    pub(crate) output: Output,
}

/// Where the command's output goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// To standard output as it comes.
    Passed,
    /// Only into a file beside the console's.
    Kept,
    /// The command has the terminal for itself.
    Terminal,
}

/// How it went.
pub(crate) struct Outcome {
    pub(crate) end: End,
    /// From the start of qemu to the start of the command, s of the host's time; `None` if it was never started.
    pub(crate) boot: Option<f64>,
    /// Of all, likewise.
    pub(crate) seconds: f64,
    pub(crate) troubles: Vec<Trouble>,
    /// The kernel's own words.
    pub(crate) console: PathBuf,
    /// The files that the command left in `/out`.
    pub(crate) files: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The command ended with this status.
    Status(u8),
    /// It did not end in time.
    TimeLimit,
    /// The guest stopped before the command had ended.
    Died,
    /// The guest did not get as far as the command.
    NoBoot,
}

impl Machine {
    /// Boots this kernel, runs the job and powers off.
    ///
    /// # Errors
    /// Something is missing to boot with; how the guest ends is no error.
    pub(crate) fn run(&self, kernel: &Kernel, job: &Job) -> anyhow::Result<Outcome> {
        let files = Files::new(&self.work.join(kernel.label))?;
        let modules = kernel.modules()?.with_needed(&self.modules)?;
        image::pack_job(&files.job, job.script, job.output == Output::Terminal, &modules)?;
        files::join(&files.initrd, &[&self.base, &files.job])?;
        let mut boots = 0;
        let outcome = loop {
            boots += 1;
            let outcome = self.boot(kernel, job, &files)?;
            if outcome.end != End::NoBoot || boots == BOOTS {
                break outcome;
            }
        };
        for gone in [&files.initrd, &files.job] {
            let _absent = fs::remove_file(gone);
        }
        Ok(outcome)
    }

    fn boot(&self, kernel: &Kernel, job: &Job, files: &Files) -> anyhow::Result<Outcome> {
        for old in [&files.console, &files.result] {
            fs::write(old, "").with_context(|| format!("`{}`", old.display()))?;
        }
        let start = Instant::now();
        let mut qemu = self.qemu(kernel, job, files)?;
        let shown = command::shown(&qemu);
        let mut guest = Guest(qemu.spawn().with_context(|| format!("`{shown}` cannot be started"))?);
        let passed = job.output == Output::Passed;
        let reader = guest.0.stdout.take().map(|pipe| thread::spawn(move || pass_on(pipe, passed)));

        let mut boot = None;
        let (result, in_time) = loop {
            let ended = guest.0.try_wait().context("wait for qemu")?.is_some();
            let result = Progress::read(&fs::read(&files.result).unwrap_or_default());
            if boot.is_none() && result.started {
                boot = Some(start.elapsed());
            }
            if ended {
                break (result, true);
            }
            let (since, limit) = (boot.unwrap_or_default(), if boot.is_some() { job.limit } else { Some(BOOT_LIMIT) });
            if limit.is_some_and(|limit| start.elapsed() > since + limit) {
                break (result, false);
            }
            thread::sleep(Duration::from_millis(50));
        };
        drop(guest);
        let output = reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
        fs::write(&files.output, &output).with_context(|| format!("`{}`", files.output.display()))?;
        let console = fs::read(&files.console).with_context(|| format!("`{}`", files.console.display()))?;
        let mut troubles = trouble::find(&String::from_utf8_lossy(&console));
        troubles.extend(trouble::find(&String::from_utf8_lossy(&output)));
        if !result.archive.is_empty() {
            files::unpack(&result.archive, &files.out)?;
        }
        let end = match (result.status, boot, in_time) {
            (Some(status), ..) => End::Status(status),
            (None, None, _) => End::NoBoot,
            (None, Some(_), false) => End::TimeLimit,
            (None, Some(_), true) => End::Died,
        };
        Ok(Outcome {
            end,
            boot: boot.map(|boot| boot.as_secs_f64()),
            seconds: start.elapsed().as_secs_f64(),
            troubles,
            console: files.console.clone(),
            files: files.out.clone(),
        })
    }

    /// Three serial lines: the kernel's console, the command's output, the result.
    fn qemu(&self, kernel: &Kernel, job: &Job, files: &Files) -> anyhow::Result<Command> {
        let mut qemu = command::clean(qemu::find()?, ["-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max"]);
        qemu.args(["-m", &self.memory.to_string(), "-smp", &self.cpus.to_string()]);
        qemu.args(["-nodefaults", "-display", "none", "-no-reboot"]);
        qemu.arg("-kernel").arg(kernel.image()).arg("-initrd").arg(&files.initrd);
        // On a panic at once out of the guest; warnings and worse on the console.
        qemu.args(["-append", &format!("console=ttyS0 panic=-1 quiet loglevel=5 {}", self.append)]);
        qemu.arg("-serial").arg(file_line(&files.console)?);
        // Without `signal` the terminal's keys are the guest's, Ctrl-C too.
        qemu.args(["-chardev", "stdio,id=command,signal=off", "-serial", "chardev:command"]);
        qemu.arg("-serial").arg(file_line(&files.result)?);
        if job.output == Output::Terminal {
            qemu.stdin(Stdio::inherit());
        } else {
            qemu.stdout(Stdio::piped());
        }
        // SAFETY: between fork and exec only async-signal-safe functions may be called; this is the system call prctl
        // and nothing else.
        unsafe { qemu.pre_exec(|| prctl::set_pdeathsig(Signal::SIGTERM).map_err(Into::into)) };
        Ok(qemu)
    }
}

/// A serial line that ends in a file. Commas would end its name.
fn file_line(file: &Path) -> anyhow::Result<String> {
    let name = file.to_str().with_context(|| format!("`{}` is no text", file.display()))?;
    if name.contains(',') {
        bail!("qemu does not take `{name}`, which has a comma in it");
    }
    Ok(format!("file:{name}"))
}

/// A running qemu; gone when dropped.
struct Guest(Child);

impl Drop for Guest {
    fn drop(&mut self) {
        // Asked to, it gives the terminal back as it was.
        if self.0.try_wait().is_ok_and(|ended| ended.is_none()) {
            if let Ok(id) = i32::try_from(self.0.id()) {
                let _gone = kill(Pid::from_raw(id), Signal::SIGTERM);
            }
            for _ in 0..100 {
                if self.0.try_wait().is_ok_and(|ended| ended.is_some()) {
                    return;
                }
                thread::sleep(Duration::from_millis(20));
            }
            let _gone = self.0.kill();
        }
        let _reaped = self.0.wait();
    }
}

/// Passes on what comes, if `passed`, and keeps it.
fn pass_on(mut pipe: impl Read, passed: bool) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = pipe.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..length]);
        if passed {
            let mut out = stdout();
            let _closed = out.write_all(&buffer[..length]).and_then(|()| out.flush());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_writes_is_kept_whatever_bytes_it_is() {
        assert_eq!(pass_on(&b"a\xff\0b"[..], false), b"a\xff\0b");
    }

    #[test]
    fn a_name_that_qemu_would_cut_is_refused() {
        assert!(file_line(Path::new("/a,b/c")).is_err());
        assert_eq!(file_line(Path::new("/a b/c")).unwrap(), "file:/a b/c");
    }
}
