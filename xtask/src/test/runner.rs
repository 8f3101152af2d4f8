//! The test runners: cargo-nextest where it is there, else cargo test.

use std::{
    fs,
    io::{BufRead as _, BufReader, IsTerminal as _, Read, stdout},
    path::Path,
    process::{Command, Stdio},
    thread,
};

use anyhow::Context as _;

use super::{HOST, summary::Summary};
use crate::{command, console};

/// What the integration tests that attach to the running kernel are called, in full or in front.
const LIVE: &str = "live";

/// The commands that run all tests, or those with `only` in their names.
pub(super) fn commands(root: &Path, only: Option<&str>, no_live: bool) -> anyhow::Result<Vec<Command>> {
    let nextest = command::output(&mut command::cargo(["nextest", "--version"])).is_ok();
    let tests = test_files(root)?;
    let mut commands = vec![if nextest { with_nextest(only, no_live) } else { with_cargo(only, no_live, &tests) }];
    // Neither of the two runs these.
    let mut doc = command::cargo(["test", "--doc", "--no-fail-fast"]);
    doc.args(HOST).arg("--").args(only);
    commands.push(doc);
    Ok(commands)
}

fn with_nextest(only: Option<&str>, no_live: bool) -> Command {
    let mut run = command::cargo(["nextest", "run", "--no-fail-fast"]);
    run.args(HOST);
    if no_live {
        run.args(["-E", &format!("not binary(/^{LIVE}/)")]);
    }
    if only.is_some() {
        // The name may be that of a test elsewhere; that there is one at all is looked at in the end.
        run.env("NEXTEST_NO_TESTS", "pass");
    }
    run.args(only);
    run
}

fn with_cargo(only: Option<&str>, no_live: bool, tests: &[String]) -> Command {
    let mut run = command::cargo(["test", "--no-fail-fast"]);
    run.args(HOST).args(["--lib", "--bins"]);
    for test in tests.iter().filter(|test| !(no_live && test.starts_with(LIVE))) {
        run.args(["--test", test]);
    }
    // Live tests count what the whole machine does: one at a time. cargo runs one binary after the other.
    run.args(["--", "--test-threads=1"]).args(only);
    run
}

/// The integration tests of all packages, by name.
fn test_files(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for package in ["tracer", "tracer-common", "xtask"] {
        let folder = root.join(package).join("tests");
        if !folder.is_dir() {
            continue;
        }
        let entries = fs::read_dir(&folder).with_context(|| format!("`{}`", folder.display()))?;
        let files = entries.flatten().map(|entry| entry.path());
        let rust = files.filter(|file| file.extension().is_some_and(|kind| kind == "rs"));
        names.extend(rust.filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned())));
    }
    names.sort();
    Ok(names)
}

/// Runs a command, passes its output on, and counts. The failure names the command.
pub(super) fn run(root: &Path, mut command: Command, skips: &Path) -> (Summary, Option<String>) {
    let shown = command::shown(&command);
    command.current_dir(root).env("TRACER_TEST_SKIPS", skips).stdout(Stdio::piped()).stderr(Stdio::piped());
    if stdout().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return (Summary::default(), Some(format!("`{shown}` cannot be started: {error}"))),
    };
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let summary = thread::scope(|scope| {
        let out = scope.spawn(|| out.map(|pipe| pass_on(pipe, console::result)).unwrap_or_default());
        let err = err.map(|pipe| pass_on(pipe, console::note)).unwrap_or_default();
        err + out.join().unwrap_or_default()
    });
    match child.wait() {
        Ok(status) if status.success() => (summary, None),
        Ok(status) => (summary, Some(format!("`{shown}` ended with {status}"))),
        Err(error) => (summary, Some(format!("`{shown}` was lost: {error}"))),
    }
}

/// Passes lines on as they come and adds up the summaries among them.
fn pass_on(pipe: impl Read, line_out: fn(&str)) -> Summary {
    let mut summary = Summary::default();
    // A test may print any bytes.
    for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        line_out(&line);
        summary += Summary::from_line(&line).unwrap_or_default();
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &Command) -> String {
        command.get_args().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn both_runners_leave_live_tests_out_when_asked() {
        let tests = ["cli".to_owned(), "live".to_owned(), "live_export".to_owned()];
        assert!(words(&with_nextest(None, true)).ends_with("-E not binary(/^live/)"));
        assert!(words(&with_cargo(None, true, &tests)).ends_with("--bins --test cli -- --test-threads=1"));
        assert!(words(&with_cargo(Some("x"), false, &tests)).ends_with("--test live_export -- --test-threads=1 x"));
    }

    #[test]
    fn summaries_are_added_up_among_other_lines() {
        let said = b"running 2 tests\n\xff\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured\n\
                     test result: FAILED. 1 passed; 1 failed; 3 ignored; 0 measured";
        assert_eq!(pass_on(&said[..], |_| ()), Summary { passed: 3, failed: 1, skipped: 3 });
    }

    #[test]
    fn a_runner_that_fails_is_named() {
        let (summary, failure) = run(Path::new("/"), Command::new("false"), Path::new("/dev/null"));
        assert_eq!(summary, Summary::default());
        assert_eq!(failure.unwrap(), "`false` ended with exit status: 1");
    }
}
