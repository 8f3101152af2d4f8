//! What live tests share: the tracer as a process, netperf against a netserver of its own, and who may run them.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

/// The binary under test.
pub(crate) const TRACER: &str = env!("CARGO_BIN_EXE_tracer");

/// One live test at a time: each counts what the whole machine allocates.
static ALONE: Mutex<()> = Mutex::new(());

/// A place for one live test.
pub(crate) struct Bench {
    folder: TempDir,
    netserver: Option<(Child, u16)>,
    _alone: MutexGuard<'static, ()>,
}

impl Bench {
    /// `None`, with the reason printed, where the test cannot run.
    pub(crate) fn new() -> Option<Self> {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: attaching to the kernel needs root");
            return None;
        }
        let folder = tempfile::Builder::new().prefix("tracer-live-").tempdir().expect("a folder in the temporary one");
        open_to_all(folder.path());
        Some(Self { folder, netserver: None, _alone: alone })
    }

    /// As [`Bench::new`], with a netserver on loopback.
    pub(crate) fn with_netserver() -> Option<Self> {
        let mut bench = Self::new()?;
        if !is_there("netperf") || !is_there("netserver") {
            eprintln!("skipped: netperf is not installed (`cargo xtask setup` installs it)");
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a free port").port();
        let child = Command::new("netserver")
            .args(["-D", "-4", "-L", "127.0.0.1", "-p", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("netserver starts");
        bench.netserver = Some((child, port));
        let until = Instant::now() + Duration::from_secs(5);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "netserver listens");
            sleep(Duration::from_millis(20));
        }
        Some(bench)
    }

    /// A path in the test's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// netperf's command line against the test's netserver.
    pub(crate) fn netperf(&self, test: &str, seconds: u32, test_options: &[&str]) -> Vec<String> {
        let (_, port) = self.netserver.as_ref().expect("made with a netserver");
        let mut argv: Vec<String> = ["netperf", "-4", "-H", "127.0.0.1", "-t", test].map(str::to_owned).into();
        argv.extend(["-p".to_owned(), port.to_string(), "-l".to_owned(), seconds.to_string(), "--".to_owned()]);
        argv.extend(test_options.iter().map(|it| (*it).to_owned()));
        argv
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.netserver {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Whether a program is on the path.
pub(crate) fn is_there(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
}

/// Lets every user look into a folder.
pub(crate) fn open_to_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).expect("the folder is ours");
}

/// `tracer run --no-tui OPTIONS -- COMMAND`.
pub(crate) fn run(options: &[&str], command: &[String]) -> Output {
    let mut tracer = Command::new(TRACER);
    tracer.args(["run", "--no-tui"]).args(options).arg("--").args(command).stdin(Stdio::null());
    tracer.output().expect("tracer starts")
}

/// The report of `tracer run --json`; fails with what the tracer said.
pub(crate) fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("no report ({error}); {}: {}", output.status, String::from_utf8_lossy(&output.stderr))
    })
}

/// A count at a JSON pointer.
pub(crate) fn count(report: &Value, pointer: &str) -> u64 {
    report.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("`{pointer}` is no count"))
}

/// The sum of a field over the rows at a pointer.
pub(crate) fn sum(report: &Value, rows: &str, field: &str) -> u64 {
    let rows = report.pointer(rows).and_then(Value::as_array).unwrap_or_else(|| panic!("`{rows}` is no list"));
    rows.iter().map(|row| row[field].as_u64().unwrap_or_else(|| panic!("`{field}` is no count"))).sum()
}

/// Starts a program that says on a line when it is ready.
pub(crate) fn start_and_await(command: &mut Command, ready: &str) -> Child {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("its output is ours"));
    let mut line = String::new();
    while !line.contains(ready) {
        line.clear();
        assert!(lines.read_line(&mut line).expect("its output can be read") > 0, "it ended before `{ready}`");
    }
    child.stdout = Some(lines.into_inner());
    child
}
