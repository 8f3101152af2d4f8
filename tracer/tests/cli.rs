//! The real binary by its command line: what needs neither root nor the kernel.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

fn tracer(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tracer")).args(arguments).stdin(Stdio::null()).output().expect("tracer starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// One clear line, exit status 2, nothing on stdout.
fn assert_refused(arguments: &[&str], words: &[&str]) {
    let output = tracer(arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    assert!(said.starts_with("tracer: ") && said.trim_end().lines().count() == 1, "{arguments:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{arguments:?}: `{word}` is not in {said}");
    }
}

#[test]
fn what_is_no_recording_gets_one_clear_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name).to_str().expect("a plain name").to_owned();
    fs::write(place("empty.db"), "").expect("written");
    fs::write(place("text.db"), "not a recording, but longer than a header of a hundred bytes ".repeat(9))
        .expect("written");
    for (file, words) in [
        (place("missing.db"), "missing.db"),
        (place("empty.db"), "empty.db"),
        (place("text.db"), "text.db"),
        (place("."), "folder"),
    ] {
        assert_refused(&["report", &file], &[words]);
        assert_refused(&["export", &file, "--format", "folded"], &[words]);
    }
    assert_eq!(fs::read_to_string(place("empty.db")).expect("it is still there"), "");
    assert!(!Path::new(&place("missing.db")).exists(), "reading made no file");
}

#[test]
fn a_wrong_option_is_refused_before_anything_happens() {
    for arguments in [
        &["run"][..],
        &["run", "--paths", "sample=0", "--", "true"],
        &["run", "--interval", "1ns", "--", "true"],
        &["run", "--order", "16", "--", "true"],
        &["report", "r.db", "--route", "no_such_route"],
        &["report", "r.db", "--weight", "grams"],
        &["export", "r.db"],
        &["no-such-command"],
    ] {
        let output = tracer(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn an_unknown_flag_names_those_it_may_have_meant() {
    let output = tracer(&["run", "--gfp", "GFP_KERNAL", "--", "true"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("GFP_KERNEL"), "{}", text(&output.stderr));
}

#[test]
fn help_fits_on_a_screen_and_names_every_command() {
    let output = tracer(&["--help"]);
    let help = text(&output.stdout);
    assert!(output.status.success() && help.lines().count() <= 24, "{help}");
    for command in ["run", "record", "report", "export", "doctor", "completions", "man"] {
        assert!(help.contains(command), "{command}");
        assert!(tracer(&[command, "--help"]).status.success());
    }
}

#[test]
fn completions_and_manual_pages_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let output = tracer(&["completions", shell]);
        assert!(output.status.success() && text(&output.stdout).contains("doctor"), "{shell}");
    }
    let bash = tracer(&["completions", "bash"]).stdout;
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("tracer.bash");
    fs::write(&script, bash).expect("written");
    let checked = Command::new("bash").arg("-n").arg(&script).status().expect("bash is there");
    assert!(checked.success(), "bash takes its completions");
    for arguments in [&["man"][..], &["man", "run"]] {
        let output = tracer(arguments);
        assert!(output.status.success() && text(&output.stdout).contains(".TH"), "{arguments:?}");
    }
    assert_refused(&["man", "nothing"], &["`nothing`"]);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let status = Command::new("bash")
        .args(["-c", "set -o pipefail; \"$0\" man | head -c 10 >/dev/null", env!("CARGO_BIN_EXE_tracer")])
        .stderr(Stdio::null())
        .status()
        .expect("bash is there");
    assert!(status.success());
}
