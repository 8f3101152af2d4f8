//! netperf's peer on loopback, for as long as it is wanted and no longer.

use std::{
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context as _, bail};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use crate::command;

/// Attempts at a port that nobody else takes meanwhile.
const ATTEMPTS: usize = 3;

/// A running netserver; stopped when dropped, and by the kernel if we are killed.
pub(crate) struct Netserver {
    process: Child,
    /// Where it listens on 127.0.0.1.
    pub(crate) port: u16,
}

impl Netserver {
    /// Where the program lies.
    pub(crate) fn program() -> Option<PathBuf> {
        command::find("netserver")
    }

    /// Starts one on a free port and waits until it listens.
    pub(crate) fn start(program: &Path) -> anyhow::Result<Self> {
        for _ in 0..ATTEMPTS {
            let mut netserver = Self::spawn(program, free_port()?)?;
            if netserver.listens() {
                return Ok(netserver);
            }
        }
        bail!("`{} -4 -D -L 127.0.0.1` does not listen on any of {ATTEMPTS} free ports", program.display())
    }

    fn spawn(program: &Path, port: u16) -> anyhow::Result<Self> {
        let mut command = command::clean(program, ["-4", "-D", "-L", "127.0.0.1", "-p", &port.to_string()]);
        // A group of its own: Ctrl-C must reach the tracer first, and its children are to be stopped with it.
        command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        command::end_with_us(&mut command);
        let process = command.spawn().with_context(|| format!("`{}`", command::shown(&command)))?;
        Ok(Self { process, port })
    }

    /// Whether it listens, after up to three seconds.
    fn listens(&mut self) -> bool {
        for _ in 0..150 {
            if self.process.try_wait().is_ok_and(|ended| ended.is_some()) {
                return false;
            }
            if TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok() {
                return true;
            }
            thread::sleep(Duration::from_millis(20));
        }
        false
    }
}

impl Drop for Netserver {
    fn drop(&mut self) {
        // Ended already, so that its number may be another's by now: nothing to stop.
        if self.process.try_wait().is_ok_and(|ended| ended.is_some()) {
            return;
        }
        if let Ok(group) = i32::try_from(self.process.id()) {
            let _gone = killpg(Pid::from_raw(group), Signal::SIGTERM);
        }
        let _reaped = self.process.wait();
    }
}

fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("a free port on 127.0.0.1")?;
    Ok(listener.local_addr().context("a free port on 127.0.0.1")?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_ends_at_once_is_an_error_not_a_wait() {
        let error = Netserver::start(Path::new("/bin/false")).err().unwrap().to_string();
        assert!(error.contains("does not listen"), "{error}");
    }
}
