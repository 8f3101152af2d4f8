//! Every export opened by the tool it is for. A tool that is not installed is no failure; the test says so.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{
    FAULT, SEND, counted,
    recordings::{Folder, Run},
    stdout, tracer,
};

/// Where Debian's libdevel-nytprof-perl puts it.
const FLAMEGRAPH_PL: &str = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl";

/// Whether a program is on the path; says so where it is not.
fn is_there(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = program.starts_with('/') && Path::new(program).exists()
        || std::env::split_paths(&paths).any(|folder| folder.join(program).is_file());
    if !found {
        eprintln!("skipped: `{program}` is not installed");
    }
    found
}

/// What a program makes of its standard input; it must end well and have nothing to complain of.
fn fed(program: &[&str], input: &[u8]) -> String {
    let mut child = Command::new(program[0])
        .args(&program[1..])
        .env("HOME", std::env::temp_dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("a pipe").write_all(input).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaints.is_empty(), "{program:?}: {complaints}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn recording(folder: &mut Folder) -> PathBuf {
    folder.record(&Run { lost: 3, ..counted(1000.0, &[(SEND, 3, 900), (FAULT, 0, 97)]) })
}

fn exported(folder: &mut Folder, format: &str) -> PathBuf {
    let (from, to) = (recording(folder), folder.path(format));
    let [from_name, to_name] = [&from, &to].map(|path| path.to_str().expect("UTF-8"));
    stdout(&["export", from_name, "--format", format, "-o", to_name]);
    to
}

#[test]
fn folded_stacks_of_one_run_and_of_two_are_drawn_by_both_flame_graph_programs() {
    let mut folder = Folder::new();
    let (a, b) = (recording(&mut folder), recording(&mut folder));
    let [a, b] = [&a, &b].map(|path| path.to_str().expect("UTF-8"));
    let one = stdout(&["export", a, "--format", "folded"]);
    let two = stdout(&["diff", a, b, "--format", "folded", "--weight", "events"]);
    for program in [&["inferno-flamegraph"][..], &[FLAMEGRAPH_PL]] {
        if is_there(program[0]) {
            assert!(fed(program, one.as_bytes()).contains("all (1,000 samples, 100%)"), "{program:?}");
            assert!(fed(program, two.as_bytes()).contains("udp_sendmsg (900 samples, 90.00%"), "{program:?}");
        }
    }
}

#[test]
fn go_reads_the_pprof_profile_with_all_its_sample_types() {
    if !is_there("go") {
        return;
    }
    let mut folder = Folder::new();
    let file = exported(&mut folder, "pprof");
    let file = file.to_str().expect("UTF-8");
    // 900 of order 3, 97 and 3 lost of order 0.
    for (index, total) in [("events", "of 1000 total"), ("pages", "of 7300 total"), ("bytes", "of 28.52MB total")] {
        let index = format!("-sample_index={index}");
        let top = fed(&["go", "tool", "pprof", "-top", "-nodefraction=0", &index, file], &[]);
        assert!(top.contains(total) && top.contains("udp_sendmsg"), "{top}");
    }
    let focus = ["go", "tool", "pprof", "-top", "-sample_index=events", "-tagfocus=order=order-3", file];
    assert!(fed(&focus, &[]).contains("Showing nodes accounting for 900, 90.00% of 1000 total"));
}

#[test]
fn python_reads_the_table() {
    if !is_there("python3") {
        return;
    }
    let mut folder = Folder::new();
    let file = exported(&mut folder, "csv");
    let script = "import csv, sys\n\
                  rows = list(csv.DictReader(open(sys.argv[1], newline='')))\n\
                  print(len(rows), *(sum(int(row[it]) for row in rows) for it in ('events', 'pages', 'bytes', 'failed')))";
    assert_eq!(fed(&["python3", "-c", script, file.to_str().expect("UTF-8")], &[]), "3 1000 7300 29900800 0\n");
}

#[test]
fn the_flame_graph_is_rendered() {
    if !is_there("rsvg-convert") {
        return;
    }
    let mut folder = Folder::new();
    let file = exported(&mut folder, "svg");
    let image = folder.path("image.png");
    fed(&["rsvg-convert", file.to_str().expect("UTF-8"), "-o", image.to_str().expect("UTF-8")], &[]);
    assert!(std::fs::metadata(&image).expect("an image").len() > 1000);
}

#[test]
fn options_that_do_nothing_and_files_that_are_there_are_refused() {
    let mut folder = Folder::new();
    let file = recording(&mut folder);
    let file = file.to_str().expect("UTF-8");
    for options in [
        &["--format", "csv", "--order-root"][..],
        &["--format", "pprof", "--icicle"],
        &["--format", "folded", "--color-by", "order"],
        &["--format", "svg", "--annotate"],
        &["--format", "svg", "-o", file],
    ] {
        let arguments: Vec<&str> = ["export", file].iter().chain(options).copied().collect();
        let output = tracer(&arguments);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{options:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1, "{options:?}");
    }
}
