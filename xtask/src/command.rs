//! Other programs: started in a clean environment, failing with what was run and what it said.
//!
//! Must not know what they are run for.

use std::{
    env,
    ffi::OsStr,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail};
use nix::sys::{prctl, signal::Signal};

/// Lines of a failed program's output that its error repeats.
const LINES_SHOWN: usize = 4;

/// Where programs for root lie, which are not on every user's `PATH`, nor on that of everyone who has become root.
const FOR_ROOT: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// `cargo`, free of what the `cargo run` around this program has put into the environment: build scripts would see
/// a changed environment and run again.
pub(crate) fn cargo<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    clean("cargo", args)
}

/// `cargo` of the nightly, which builds for BPF.
pub(crate) fn nightly_cargo(args: &[&str]) -> Command {
    let mut command = clean("cargo", [&["+nightly"], args].concat());
    command.env_remove("RUSTUP_TOOLCHAIN");
    command
}

/// Any program, free of what `cargo run` has put into the environment, reading nothing.
pub(crate) fn clean<S: AsRef<OsStr>>(program: impl AsRef<OsStr>, args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null());
    if let Ok(path) = env::join_paths(search_path()) {
        command.env("PATH", path);
    }
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(set_by_cargo_run) {
            command.env_remove(name);
        }
    }
    if let Some(path) = env::var_os("LD_LIBRARY_PATH") {
        let kept: Vec<_> = env::split_paths(&path).filter(|folder| !belongs_to_cargo(folder)).collect();
        match env::join_paths(&kept) {
            Ok(path) if !kept.is_empty() => command.env("LD_LIBRARY_PATH", path),
            _ => command.env_remove("LD_LIBRARY_PATH"),
        };
    }
    command
}

fn set_by_cargo_run(name: &str) -> bool {
    matches!(name, "CARGO" | "CARGO_CRATE_NAME" | "CARGO_PRIMARY_PACKAGE" | "RUST_RECURSION_COUNT")
        || ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"].iter().any(|start| name.starts_with(start))
}

/// Whether cargo or rustup put this folder into `LD_LIBRARY_PATH`: a build folder or a toolchain's libraries, which
/// another toolchain's compiler must not load.
fn belongs_to_cargo(folder: &Path) -> bool {
    let names: Vec<_> = folder.iter().filter_map(OsStr::to_str).collect();
    folder.as_os_str().is_empty()
        || names.windows(2).any(|pair| matches!(pair, ["target", "debug" | "release"]))
        || names.contains(&"toolchains")
}

/// Has the kernel end the program when we end, however we end. Counts for this thread: call it on the main one.
pub(crate) fn end_with_us(command: &mut Command) {
    // SAFETY: between fork and exec only async-signal-safe functions may be called; this is the system call prctl and
    // nothing else.
    unsafe { command.pre_exec(|| prctl::set_pdeathsig(Signal::SIGTERM).map_err(Into::into)) };
}

/// Runs a program to its end and returns what it wrote to standard output.
///
/// # Errors
/// It could not be started, or ended with another status than 0: with the command line and its last lines.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    Ok(String::from_utf8_lossy(&bytes(command)?).into_owned())
}

/// As [`output`], for a program that does not write text.
pub(crate) fn bytes(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let shown = shown(command);
    // A backtrace of cargo or rustup tells a user nothing.
    command.env_remove("RUST_BACKTRACE");
    let out = command.output().with_context(|| format!("`{shown}` cannot be started"))?;
    if out.status.success() {
        return Ok(out.stdout);
    }
    let said = if out.stderr.trim_ascii().is_empty() { &out.stdout } else { &out.stderr };
    let first = format!("`{shown}` ended with {}", out.status);
    let said = String::from_utf8_lossy(said);
    bail!(std::iter::once(first.as_str()).chain(telling(&said)).collect::<Vec<_>>().join("\n    "))
}

/// The lines that tell what went wrong: from the first that calls itself an error on, else the last ones.
fn telling(said: &str) -> impl Iterator<Item = &str> {
    let lines: Vec<_> = said.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let error = lines.iter().position(|line| ["error", "E: ", "fatal"].iter().any(|start| line.starts_with(start)));
    let first = error.unwrap_or(lines.len().saturating_sub(LINES_SHOWN));
    lines.into_iter().skip(first).take(LINES_SHOWN)
}

/// The command line as one would type it, with the variables that were set for it in front.
pub(crate) fn shown(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| {
        let value = value?;
        (name != "LD_LIBRARY_PATH" && name != "PATH").then(|| format!("{}={}", name.to_string_lossy(), quoted(value)))
    });
    let words = std::iter::once(command.get_program()).chain(command.get_args()).map(quoted);
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

/// A word as a shell would take it.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,@%~".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Where a program lies.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    search_path().map(|folder| folder.join(program)).find(|file| is_executable(file))
}

fn search_path() -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = env::split_paths(&path).collect();
    folders.into_iter().chain(FOR_ROOT.map(PathBuf::from))
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_program_names_its_command_line_and_its_last_words() {
        let error = output(Command::new("sh").args(["-c", "echo told >&2; exit 3"])).unwrap_err().to_string();
        assert_eq!(error, "`sh -c 'echo told >&2; exit 3'` ended with exit status: 3\n    told");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = output(&mut Command::new("/nonexistent/program")).unwrap_err().to_string();
        assert_eq!(error, "`/nonexistent/program` cannot be started");
    }

    #[test]
    fn the_first_error_is_told_and_what_follows_it_else_the_last_lines() {
        let told = |said| telling(said).collect::<Vec<_>>();
        assert_eq!(told("warning: 1\nerror: a\n\nCaused by:\n  b\nc\nd"), ["error: a", "Caused by:", "  b", "c"]);
        assert_eq!(told("1\n2\n3\n4\n5"), ["2", "3", "4", "5"]);
        assert_eq!(told(""), Vec::<&str>::new());
    }

    #[test]
    fn words_that_a_shell_would_split_are_quoted() {
        let mut command = Command::new("cargo");
        command.env("RUSTFLAGS", "-C x").args(["a b", "", "it's", "-Z"]);
        assert_eq!(shown(&command), r"RUSTFLAGS='-C x' cargo 'a b' '' 'it'\''s' -Z");
    }

    #[test]
    fn only_folders_of_builds_and_toolchains_leave_the_library_path() {
        let gone = ["", "/w/target/debug/deps", "/w/target/release", "/r/toolchains/nightly/lib"];
        let kept = ["/opt/lib", "/w/target", "/w/debug"];
        assert!(gone.iter().all(|folder| belongs_to_cargo(Path::new(folder))));
        assert!(!kept.iter().any(|folder| belongs_to_cargo(Path::new(folder))));
    }
}
