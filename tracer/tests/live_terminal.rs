//! Live screens on a real terminal (tmux), with hooks attached. Needs root; a test that cannot run here says why.

#![expect(clippy::print_stderr, reason = "a test that is skipped says why")]

#[path = "terminal/recording.rs"]
mod recording;
#[path = "terminal/tmux.rs"]
mod tmux;

use std::{
    fs,
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
};

use nix::sys::signal::{Signal, kill};

use tmux::{TRACER, Tmux, soon};

/// One at a time: attaching takes all of a small machine.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs the tracer between two looks at the terminal's modes; leaves the exit status in `code`.
fn traced(arguments: &str) -> Option<(Tmux, MutexGuard<'static, ()>)> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: attaching to the kernel needs root");
        return None;
    }
    let script = format!("stty -a >before; {TRACER} {arguments}; echo $? >code; stty -a >after; echo; sleep 600");
    Some((Tmux::run(&script)?, alone))
}

fn assert_left_clean(tmux: &Tmux, codes: &[&str]) {
    let code = tmux.file("code");
    assert!(codes.contains(&code.trim()), "exit status {code}, the screen:\n{}", tmux.screen());
    assert_eq!(tmux.file("after"), tmux.file("before"), "modes of the terminal");
    assert!(tmux.is_given_back(), "normal screen, no mouse, a cursor");
}

/// Whether a process with these arguments runs.
fn runs(arguments: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("there are processes").flatten();
    let lines = processes.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
    lines.into_iter().any(|line| String::from_utf8_lossy(&line).trim_end_matches('\0').replace('\0', " ") == arguments)
}

#[test]
fn a_command_is_watched_to_its_end_and_the_report_stands_on_the_normal_screen() {
    let Some((tmux, _alone)) = traced("run -- sh -c 'echo hello from the command; sleep 2; exit 7'") else { return };
    tmux.wait_for("1 Overview");
    tmux.press(&["7"]);
    tmux.wait_for("hello from the command");
    tmux.wait_for("the command has ended with exit status 7");
    tmux.press(&["8"]);
    tmux.wait_for("page.alloc     attached");
    tmux.press(&["q"]);
    assert_left_clean(&tmux, &["7"]);
    assert!(tmux.screen().contains("verdict"), "{}", tmux.screen());
}

#[test]
fn leaving_while_the_command_runs_asks_once_ends_it_and_reaps_it() {
    let Some((tmux, _alone)) = traced("run -- sleep 4321") else { return };
    tmux.wait_for("0:01");
    tmux.press(&["q"]);
    tmux.wait_for("still runs");
    tmux.press(&["n"]);
    tmux.press(&["q", "y"]);
    // Killed by SIGINT.
    assert_left_clean(&tmux, &["130"]);
    assert!(!runs("sleep 4321"));
    assert!(tmux.screen().contains("verdict"), "{}", tmux.screen());
}

#[test]
fn a_terminate_signal_ends_command_and_screens() {
    let Some((tmux, _alone)) = traced("run -- sleep 4322") else { return };
    tmux.wait_for("0:01");
    tmux.signal_tracer(Signal::SIGTERM);
    assert_left_clean(&tmux, &["143"]);
    assert!(!runs("sleep 4322"));
}

#[test]
fn top_ends_at_q_and_at_signals() {
    for end in [None, Some(Signal::SIGTERM), Some(Signal::SIGHUP)] {
        let Some((tmux, _alone)) = traced("top") else { return };
        tmux.wait_for("0:01");
        match end {
            None => tmux.press(&["q"]),
            Some(signal) => tmux.signal_tracer(signal),
        }
        // 1 where events were missed on a busy machine.
        assert_left_clean(&tmux, &["0", "1"]);
        assert!(tmux.screen().contains("verdict"), "{}", tmux.screen());
    }
}

#[test]
fn a_terminal_closed_under_a_run_leaves_a_whole_recording() {
    let Some((tmux, _alone)) = traced("run -o x.db -- sleep 4323") else { return };
    tmux.wait_for("0:01");
    let tracer = tmux.tracer();
    tmux.close();
    assert!(soon(|| kill(tracer, None).is_err()), "it still runs");
    assert!(!runs("sleep 4323"));
    let report = Command::new(TRACER).arg("report").arg(tmux.path("x.db")).output().expect("the tracer runs");
    let text = String::from_utf8_lossy(&report.stdout);
    assert!(report.status.success() && !text.contains("cut short"), "{text}");
}
