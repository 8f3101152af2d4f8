//! The demonstration: a real netperf traced, the report on the screen, a recording and a folded file to keep.
//!
//! Knows of the tracer only its command line.

use std::{
    ffi::OsString,
    fs,
    io::{IsTerminal as _, stderr},
    path::{Path, PathBuf},
    process::{ExitCode, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context as _, bail};
use clap::Args;
use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, geteuid},
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::{command, console, netserver::Netserver, setup};

/// Options of the demonstration.
#[derive(Args)]
pub(crate) struct Options {
    /// Bytes of a message; the size decides by which route the kernel gets its memory: try 4096, 8192, 32768
    #[arg(short = 'm', long = "message", default_value_t = 8192, value_parser = clap::value_parser!(u16).range(1..=65_507))]
    message: u16,
    /// How long netperf runs, s
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// Use the built-in load even where netperf is there
    #[arg(long)]
    built_in_load: bool,
}

/// Sets up, builds, traces, exports, says where everything is. Ends with the traced command's status.
pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    setup::run(root, &setup::Options::for_demo())?;
    build(root)?;

    let place = root.join("target/demo");
    fs::create_dir_all(&place).with_context(|| format!("`{}`", place.display()))?;
    let netperf = if options.built_in_load { None } else { command::find("netperf").zip(Netserver::program()) };
    let (name, load, netserver) = if let Some((netperf, netserver)) = netperf {
        let netserver = Netserver::start(&netserver)?;
        let load = netperf_load(netperf, netserver.port, options);
        (format!("udp-stream-{}", options.message), load, Some(netserver))
    } else {
        let why = if options.built_in_load { "as asked" } else { "netperf is not here" };
        console::note(&format!("tracing a built-in loopback UDP load in place of netperf ({why}): no netperf score"));
        (format!("built-in-udp-{}", options.message), built_in_load(options)?, None)
    };

    let recording = place.join(&name).with_extension("db");
    let folded = place.join(&name).with_extension("folded");
    let status = trace(root, &recording, &load)?;
    if !recording.exists() {
        bail!("`tracer run` ended with {status} and left no recording");
    }
    let mut export = command::clean(tracer(root), ["export"]);
    export.arg(&recording).args(["--format", "folded", "-o"]).arg(&folded);
    // An old file must not be taken for this run's.
    let _absent = fs::remove_file(&folded);
    command::output(&mut export)?;

    console::result(&format!("\nrecording      {}", shown(root, &recording)));
    console::result(&format!("folded stacks  {}", shown(root, &folded)));
    if netserver.is_none() {
        console::result("load           built in, in place of netperf");
    }
    Ok(exit_code(status))
}

pub(crate) fn build(root: &Path) -> anyhow::Result<()> {
    let mut build = command::cargo(["build", "--release", "--package", "tracer"]);
    if !stderr().is_terminal() {
        return command::output(build.current_dir(root)).map(drop);
    }
    let status = build.current_dir(root).status().with_context(|| format!("`{}`", command::shown(&build)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", command::shown(&build));
    }
    Ok(())
}

fn netperf_load(netperf: PathBuf, port: u16, options: &Options) -> Vec<OsString> {
    let Options { message, seconds, .. } = options;
    let mut load = vec![netperf.into_os_string()];
    let arguments = format!("-4 -H 127.0.0.1 -p {port} -t UDP_STREAM -l {seconds} -- -m {message}");
    load.extend(arguments.split(' ').map(OsString::from));
    load
}

/// This program's own load.
fn built_in_load(options: &Options) -> anyhow::Result<Vec<OsString>> {
    let me = std::env::current_exe().context("this program's own path")?.into_os_string();
    let arguments = format!("udp-load --size {} --seconds {}", options.message, options.seconds);
    Ok(std::iter::once(me).chain(arguments.split(' ').map(OsString::from)).collect())
}

/// The release binary.
fn tracer(root: &Path) -> PathBuf {
    root.join("target/release/tracer")
}

/// Runs the load under the tracer, whose report goes to our standard output.
fn trace(root: &Path, recording: &Path, load: &[OsString]) -> anyhow::Result<ExitStatus> {
    let mut words = vec![tracer(root)];
    if !geteuid().is_root() && command::find("sudo").is_some() {
        console::note("tracing needs root: asking sudo");
        words.insert(0, "sudo".into());
    }
    let mut run = command::clean(&words[0], &words[1..]);
    run.args(["run", "--no-tui", "--force", "-o"]).arg(recording).arg("--").args(load).stdin(Stdio::inherit());
    console::note(&command::shown(&run));

    // From here on a signal ends the tracer, not us: the netserver is still to be stopped.
    let asked_to_end = Arc::new(AtomicBool::new(false));
    let interrupted = Arc::new(AtomicBool::new(false));
    for (signal, flag) in [(SIGTERM, &asked_to_end), (SIGHUP, &asked_to_end), (SIGINT, &interrupted)] {
        signal_hook::flag::register(signal, Arc::clone(flag)).context("a handler for signals")?;
    }
    command::end_with_us(&mut run);
    let mut child = run.spawn().with_context(|| format!("`{}`", command::shown(&run)))?;
    let id = Pid::from_raw(child.id().try_into().context("a process id")?);
    loop {
        if let Some(status) = child.try_wait().context("wait for the tracer")? {
            return Ok(status);
        }
        // Ctrl-C reaches the tracer from the terminal; what was sent to us alone does not.
        if asked_to_end.swap(false, Ordering::Relaxed) {
            // Gone already, or root's behind sudo, which passes the terminal's signals on itself.
            let _gone = kill(id, Signal::SIGTERM);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn exit_code(status: ExitStatus) -> ExitCode {
    use std::os::unix::process::ExitStatusExt as _;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// A path as one would type it in the workspace's folder.
fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn netperf_is_asked_for_messages_of_the_size_given() {
        let options = Options { message: 4096, seconds: 2, built_in_load: false };
        let load = netperf_load("/usr/bin/netperf".into(), 4242, &options);
        let words: Vec<_> = load.iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(words.join(" "), "/usr/bin/netperf -4 -H 127.0.0.1 -p 4242 -t UDP_STREAM -l 2 -- -m 4096");
    }
}
