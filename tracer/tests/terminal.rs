//! The screens on a real terminal (tmux): whatever ends them, the terminal is left as it was. No root is needed.

#![expect(clippy::print_stderr, reason = "a test that is skipped says why")]

#[path = "terminal/recording.rs"]
mod recording;
#[path = "terminal/tmux.rs"]
mod tmux;

use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};

use tmux::{TRACER, Tmux, soon};

/// Shows the recording between two looks at the terminal's modes; leaves the exit status in `code`.
fn viewing(environment: &str) -> String {
    format!("stty -a >before; {environment} {TRACER} view r.db 2>said; echo $? >code; stty -a >after; echo; sleep 600")
}

fn assert_left_clean(tmux: &Tmux, code: &str) {
    assert_eq!(tmux.file("code"), format!("{code}\n"), "exit status");
    assert_eq!(tmux.file("after"), tmux.file("before"), "modes of the terminal");
    assert!(tmux.is_given_back(), "normal screen, no mouse, a cursor");
}

fn ended_by(signal: Signal) {
    let Some(tmux) = Tmux::run(&viewing("")) else { return };
    tmux.wait_for("1 Overview");
    assert!(!tmux.is_given_back());
    tmux.signal_tracer(signal);
    assert_left_clean(&tmux, "0");
}

#[test]
fn a_terminate_signal_leaves_the_terminal_clean() {
    ended_by(Signal::SIGTERM);
}

#[test]
fn a_hang_up_leaves_the_terminal_clean() {
    ended_by(Signal::SIGHUP);
}

#[test]
fn q_and_ctrl_c_leave_the_terminal_clean() {
    for key in ["q", "C-c"] {
        let Some(tmux) = Tmux::run(&viewing("")) else { return };
        tmux.wait_for("1 Overview");
        tmux.press(&[key]);
        assert_left_clean(&tmux, "0");
    }
}

#[test]
fn ctrl_z_goes_to_the_shell_and_fg_comes_back() {
    let Some(tmux) = Tmux::shell() else { return };
    tmux.type_line("stty -a >before");
    tmux.type_line(&format!("{TRACER} view r.db"));
    tmux.wait_for("1 Overview");
    tmux.press(&["C-z"]);
    tmux.wait_for("Stopped");
    assert!(tmux.is_given_back());
    tmux.type_line("stty -a >stopped");
    assert_eq!(tmux.file("stopped"), tmux.file("before"));
    tmux.type_line("fg");
    assert!(soon(|| tmux.screen().contains("1 Overview") && !tmux.is_given_back()), "{}", tmux.screen());
    tmux.press(&["2"]);
    tmux.wait_for("sorted by");
    tmux.press(&["q"]);
    tmux.type_line("echo $? >code; stty -a >after");
    assert_left_clean(&tmux, "0");
}

#[test]
fn a_stop_signal_from_outside_gives_the_terminal_back_too() {
    let Some(tmux) = Tmux::shell() else { return };
    tmux.type_line("stty -a >before");
    tmux.type_line(&format!("{TRACER} view r.db"));
    tmux.wait_for("1 Overview");
    let tracer = tmux.tracer();
    kill(tracer, Signal::SIGTSTP).expect("it runs");
    tmux.wait_for("Stopped");
    assert!(tmux.is_given_back());
    tmux.type_line("fg");
    assert!(soon(|| tmux.screen().contains("1 Overview") && !tmux.is_given_back()), "{}", tmux.screen());
    tmux.press(&["q"]);
    tmux.type_line("echo $? >code; stty -a >after");
    assert_left_clean(&tmux, "0");
}

#[test]
fn a_terminal_may_become_tiny_and_large_again() {
    let Some(tmux) = Tmux::run(&viewing("")) else { return };
    tmux.wait_for("1 Overview");
    for (columns, rows) in [(20, 5), (1, 1), (300, 80), (30, 6)] {
        tmux.resize(columns, rows);
    }
    tmux.wait_for("80x24");
    tmux.resize(20, 5);
    tmux.wait_for("this is 20x5");
    tmux.resize(100, 30);
    tmux.wait_for("1 Overview");
    for step in 0..60 {
        tmux.resize(20 + step * 3, 5 + step);
    }
    tmux.resize(80, 24);
    tmux.wait_for("1 Overview");
    tmux.press(&["q"]);
    assert_left_clean(&tmux, "0");
}

#[test]
fn a_recording_is_stepped_through_on_its_screens() {
    let Some(tmux) = Tmux::run(&viewing("")) else { return };
    tmux.wait_for("1 Overview");
    tmux.press(&["2"]);
    tmux.wait_for("6.00 k");
    tmux.press(&["Left"]);
    tmux.wait_for("3.00 k");
    tmux.wait_for("interval 2 of 3");
    tmux.press(&["t", "1", "Enter"]);
    tmux.wait_for("interval 1 of 3");
    tmux.wait_for("1.00 k");
    tmux.press(&["q"]);
    assert_left_clean(&tmux, "0");
}

#[test]
fn what_is_seen_is_exported_to_a_new_file() {
    let Some(tmux) = Tmux::run(&viewing("")) else { return };
    tmux.wait_for("1 Overview");
    tmux.press(&["e", "Down", "Down", "Enter"]);
    tmux.wait_for("written to tracer-1.folded");
    let exported = Command::new(TRACER)
        .args(["export", "--format", "folded", "--weight", "pages"])
        .arg(tmux.path("r.db"))
        .output()
        .expect("the tracer runs");
    assert_eq!(tmux.file("tracer-1.folded"), String::from_utf8_lossy(&exported.stdout));
    tmux.press(&["q"]);
    assert_left_clean(&tmux, "0");
}

#[test]
fn a_dumb_terminal_is_told_what_to_use_instead() {
    let Some(tmux) = Tmux::run(&viewing("TERM=dumb")) else { return };
    assert_left_clean(&tmux, "2");
    assert!(tmux.file("said").contains("tracer report r.db"));
}

#[test]
fn without_colours_and_unicode_the_screens_are_plain() {
    let Some(tmux) = Tmux::run(&viewing("NO_COLOR=1 LC_ALL=C")) else { return };
    tmux.wait_for("1 Overview");
    tmux.wait_for("----");
    assert!(tmux.screen().is_ascii(), "{}", tmux.screen());
    let coloured = tmux.colours();
    assert!(coloured.is_empty(), "{coloured:?}");
    tmux.press(&["q"]);
    assert_left_clean(&tmux, "0");
}

#[test]
fn without_a_terminal_view_and_top_say_what_to_use_instead() {
    for (argv, instead) in [(&["view", "r.db"][..], "tracer report"), (&["top"], "tracer record")] {
        let output = Command::new(TRACER).args(argv).stdin(Stdio::null()).output().expect("the tracer runs");
        assert_eq!(output.status.code(), Some(2), "{argv:?}");
        assert!(output.stdout.is_empty(), "{argv:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(instead) && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn the_tracer_ends_with_its_terminal() {
    let Some(tmux) = Tmux::run(&viewing("")) else { return };
    tmux.wait_for("1 Overview");
    let tracer = tmux.tracer();
    tmux.close();
    assert!(soon(|| kill(tracer, None).is_err()), "it still runs");
}

/// Takes the terminal over and panics, run by the test below in a terminal of its own.
#[test]
#[ignore = "part of the next test"]
fn helper_that_panics_on_its_screen() {
    let _guard = tracer::tui::terminal::Guard::take().expect("a terminal");
    // As the thread of the screens would.
    std::thread::spawn(|| panic!("while drawing")).join().expect_err("it panicked");
}

#[test]
fn a_panic_gives_the_terminal_back_before_it_is_told() {
    let helper = std::env::current_exe().expect("this test's own program");
    let helper = format!("{} --ignored --exact --nocapture helper_that_panics_on_its_screen", helper.display());
    let Some(tmux) = Tmux::run(&format!("stty -a >before; {helper}; echo $? >code; stty -a >after; sleep 600")) else {
        return;
    };
    assert_left_clean(&tmux, "0");
    tmux.wait_for("while drawing");
}
