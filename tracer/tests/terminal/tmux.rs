//! A terminal in a tmux server of its own, and the tracer in it.

#![allow(dead_code, reason = "each test file uses a part")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

/// The binary under test.
pub(crate) const TRACER: &str = env!("CARGO_BIN_EXE_tracer");

/// How long anything may take: the machine may be busy.
const PATIENCE: Duration = Duration::from_mins(1);

/// A terminal, 80 columns by 24 rows at first.
pub(crate) struct Tmux {
    folder: TempDir,
}

impl Tmux {
    /// A terminal in which `command` runs under `sh`, in a folder of its own; `None`, with the reason printed, where
    /// tmux is not there.
    pub(crate) fn run(command: &str) -> Option<Self> {
        Self::with(&["sh", "-c", command])
    }

    /// A terminal with an interactive shell, which has job control.
    pub(crate) fn shell() -> Option<Self> {
        Self::with(&["bash", "--norc", "--noprofile", "-i"])
    }

    fn with(argv: &[&str]) -> Option<Self> {
        if Command::new("tmux").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
            eprintln!("skipped: tmux is not installed (`cargo xtask setup` installs it)");
            return None;
        }
        let folder = tempfile::Builder::new().prefix("tracer-tmux-").tempdir().expect("a folder in the temporary one");
        let tmux = Self { folder };
        crate::recording::write(&tmux.path("r.db"));
        let mut start = tmux.command();
        start.args(["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24"]).args(argv);
        start.current_dir(tmux.folder.path()).env("LC_ALL", "C.UTF-8").env("TERM", "xterm-256color").env("PS1", "$ ");
        start.env_remove("TMUX").env_remove("NO_COLOR");
        assert!(start.status().expect("tmux starts").success());
        Some(tmux)
    }

    /// A file in the terminal's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.path("socket")).stderr(Stdio::null());
        command
    }

    fn ask(&self, args: &[&str]) -> String {
        let output = self.command().args(args).output().expect("tmux answers");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// What is on the screen.
    pub(crate) fn screen(&self) -> String {
        self.ask(&["capture-pane", "-p"])
    }

    /// The escape sequences on the screen that set a colour.
    pub(crate) fn colours(&self) -> Vec<String> {
        let screen = self.ask(&["capture-pane", "-p", "-e"]);
        let sequences = screen.split('\x1b').skip(1).filter_map(|rest| rest.strip_prefix('[')?.split_once('m'));
        let is_colour = |code: &str| matches!(code.parse::<u8>(), Ok(30..=38 | 40..=48 | 90..=97 | 100..=107));
        sequences.map(|(codes, _)| codes.to_owned()).filter(|codes| codes.split(';').any(is_colour)).collect()
    }

    /// Presses keys by their tmux names.
    pub(crate) fn press(&self, keys: &[&str]) {
        self.ask(&[&["send-keys"], keys].concat());
    }

    /// Types a line.
    pub(crate) fn type_line(&self, line: &str) {
        self.ask(&["send-keys", "-l", line]);
        self.press(&["Enter"]);
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.ask(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// Ends the terminal under everything that runs in it.
    pub(crate) fn close(&self) {
        self.ask(&["kill-server"]);
    }

    /// Whether the terminal is as a shell leaves it: normal screen, no mouse, a cursor.
    pub(crate) fn is_given_back(&self) -> bool {
        self.ask(&["display-message", "-p", "#{alternate_on} #{mouse_any_flag} #{cursor_flag}"]) == "0 0 1"
    }

    /// Waits until the screen holds a text.
    pub(crate) fn wait_for(&self, text: &str) {
        assert!(soon(|| self.screen().contains(text)), "no `{text}` on:\n{}", self.screen());
    }

    /// The tracer that runs in the terminal.
    pub(crate) fn tracer(&self) -> Pid {
        let shell = self.ask(&["display-message", "-p", "#{pane_pid}"]);
        let children = fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap_or_default();
        let is_tracer =
            |pid: &&str| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == Path::new(TRACER));
        let pid = children.split_whitespace().find(is_tracer).expect("the tracer runs in the terminal");
        Pid::from_raw(pid.parse().expect("a process id"))
    }

    pub(crate) fn signal_tracer(&self, signal: Signal) {
        kill(self.tracer(), signal).expect("it runs");
    }

    /// The text of a file in the folder, once it is there whole.
    pub(crate) fn file(&self, name: &str) -> String {
        let text = || fs::read_to_string(self.path(name)).unwrap_or_default();
        assert!(soon(|| text().ends_with('\n')), "no file `{name}`; the screen:\n{}", self.screen());
        text()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.close();
    }
}

/// Whether it comes true in time.
pub(crate) fn soon(mut is_so: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if is_so() {
            return true;
        }
        sleep(Duration::from_millis(50));
    }
    false
}
