//! Commands run as children: exit codes, signals, output, accounting. The switch of user needs root.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed, and so has its helper")]

use std::{
    ffi::OsString,
    fs,
    io::{self, BufRead as _, Write},
    net::{TcpListener, TcpStream},
    os::{fd::AsRawFd as _, unix::fs::PermissionsExt as _},
    path::Path,
    process, thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::{Gid, Pid, Uid},
};
use tracer::workload::{
    self,
    command::{Echo, Invocation, Outcome, Running, Source, StartError, User},
};

fn start(argv: &[&str], user: Option<User>, echo: Echo) -> Result<Running, StartError> {
    Invocation { argv: argv.iter().map(OsString::from).collect(), user, echo }.prepare()?.start()
}

fn shell(script: &str) -> Running {
    start(&["sh", "-c", script], None, Echo::Off).unwrap()
}

async fn outcome(script: &str) -> Outcome {
    shell(script).wait().await.unwrap()
}

fn refusal(argv: &[&str]) -> (i32, String) {
    let error = start(argv, None, Echo::Off).err().expect("it cannot start");
    (error.exit_code(), error.to_string())
}

/// Whether a process is there and no zombie.
fn is_alive(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn is_gone_soon(pid: i32) -> bool {
    (0..100).any(|_| {
        thread::sleep(Duration::from_millis(20));
        !is_alive(pid)
    })
}

#[tokio::test]
async fn exit_status_and_output_come_through() {
    let outcome = outcome("echo out; echo err >&2; printf 'no end'; exit 7").await;
    assert_eq!(outcome.end.exit_code, 7);
    assert_eq!(outcome.stdout, "out\nno end");
    assert_eq!(outcome.stderr, "err\n");
    assert_eq!(outcome.warnings, [""; 0]);
}

#[tokio::test]
async fn death_by_a_signal_is_128_and_its_number() {
    assert_eq!(outcome("kill -KILL $$").await.end.exit_code, 128 + 9);
    assert_eq!(outcome("kill -SEGV $$").await.end.exit_code, 128 + 11);
}

#[test]
fn what_cannot_be_started_says_why_with_the_shells_exit_codes() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, mode, content: &str| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    assert_eq!(refusal(&["no-such-tool"]), (127, "command `no-such-tool` not found in `PATH`".into()));
    assert_eq!(refusal(&["./no/such/tool"]), (127, "command `./no/such/tool` not found".into()));
    assert_eq!(refusal(&[]).0, 127);
    for (path, reason) in [
        (folder.path().to_str().unwrap().to_owned(), "it is a directory"),
        (file("plain", 0o644, "#!/bin/sh\n"), "it is not marked executable (`chmod +x`)"),
        (file("noise", 0o755, "\u{1}\u{2}noise"), "it is no program of this machine and has no `#!` line"),
        (file("orphan", 0o755, "#!/no/such/shell\n"), "its interpreter does not exist (see its first line)"),
    ] {
        assert_eq!(refusal(&[&path]), (126, format!("cannot execute `{path}`: {reason}")));
    }
}

#[tokio::test]
async fn times_are_those_of_the_command_and_its_children() {
    let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
    let (alone, within) = (outcome(busy).await.end, outcome(&format!("sh -c '{busy}'; sleep 0.3")).await.end);
    for end in [&alone, &within] {
        assert!(end.user_s > 0.02, "{end:?}");
        assert!(end.user_s + end.system_s < end.wall_s * 1.2 + 0.05, "{end:?}");
    }
    // Sleeping takes wall time alone.
    assert!(within.wall_s - within.user_s - within.system_s > 0.29, "{within:?}");
}

#[tokio::test]
async fn output_held_open_by_a_process_left_behind_delays_little_and_is_told() {
    let began = Instant::now();
    let outcome = outcome("sleep 6 & echo done").await;
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!((outcome.end.exit_code, outcome.stdout.as_str()), (0, "done\n"));
    // The wait for its output is none of its own time.
    assert!(outcome.end.wall_s + 0.45 < began.elapsed().as_secs_f64(), "{:?}", outcome.end);
    assert!(outcome.warnings[0].contains("left behind"), "{:?}", outcome.warnings);
}

#[tokio::test]
async fn a_command_that_closes_its_output_is_waited_for() {
    let outcome = outcome("echo early; exec >&- 2>&-; sleep 0.4; exit 3").await;
    assert_eq!((outcome.end.exit_code, outcome.stdout.as_str()), (3, "early\n"));
    assert!(outcome.end.wall_s >= 0.4);
    assert_eq!(outcome.warnings, [""; 0]);
}

#[tokio::test]
async fn stop_reaches_the_whole_group() {
    let mut running = shell("sleep 30 & echo $!; wait");
    let line = running.lines().unwrap().recv().await.unwrap();
    let grandchild = line.text.parse().unwrap();
    running.stop(Signal::SIGTERM);
    assert_eq!(running.wait().await.unwrap().end.exit_code, 128 + 15);
    assert!(is_gone_soon(grandchild));
}

#[tokio::test]
async fn a_command_that_ignores_the_signal_is_killed_after_the_grace() {
    let began = Instant::now();
    let mut running = shell("trap '' TERM INT; echo ready; while :; do sleep 0.1; done");
    running.lines().unwrap().recv().await.unwrap();
    running.stop(Signal::SIGTERM);
    assert_eq!(running.wait().await.unwrap().end.exit_code, 128 + 9);
    assert!(began.elapsed() >= Duration::from_secs(5));
}

#[tokio::test]
async fn a_stopped_command_can_be_ended() {
    let mut running = shell("kill -STOP $$; echo no");
    thread::sleep(Duration::from_millis(200));
    running.stop(Signal::SIGTERM);
    assert_eq!(running.wait().await.unwrap().end.exit_code, 128 + 15);
}

#[test]
fn a_dropped_command_is_killed() {
    let running = shell("sleep 30");
    let pid = running.pid().try_into().unwrap();
    assert!(is_alive(pid));
    drop(running);
    assert!(is_gone_soon(pid));
}

#[tokio::test]
async fn wait_can_be_abandoned_and_repeated() {
    let mut running = shell("sleep 0.3; exit 5");
    assert!(tokio::time::timeout(Duration::from_millis(20), running.wait()).await.is_err());
    assert_eq!(running.wait().await.unwrap().end.exit_code, 5);
    assert!(running.wait().await.is_err());
}

/// A terminal that never takes a byte.
struct Stuck;

impl Write for Stuck {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        loop {
            thread::park();
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Peak resident memory of this process, bytes.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn fifty_mib_neither_wait_for_a_stuck_reader_nor_fill_the_memory() {
    let (before, began) = (peak_memory(), Instant::now());
    // 3,276,800 lines of 16 bytes.
    let argv = ["sh", "-c", "yes 123456789012345 | head -c 52428800; echo last >&2"];
    let mut running = start(&argv, None, Echo::To(Box::new(Stuck))).unwrap();
    let mut lines = running.lines().unwrap();
    let outcome = running.wait().await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    assert_eq!((outcome.end.exit_code, outcome.stderr.as_str()), (0, "last\n"));
    // One MiB and fifteen MiB are kept; a cut is made after a whole line.
    let marker = outcome.stdout.lines().find(|line| line.starts_with("[tracer")).unwrap();
    let cut: usize = marker.split(' ').nth(1).unwrap().parse().unwrap();
    assert_eq!(outcome.stdout.len() - marker.len() - 1 + cut, 50 << 20);
    assert!((34 << 20..(34 << 20) + 32).contains(&cut), "{cut}");
    assert!(outcome.stdout.lines().all(|line| line == "123456789012345" || line == marker));
    assert!(outcome.warnings.iter().any(|warning| warning.contains(&format!("{cut} bytes"))));
    // All that the reader was offered and did not take is said: at least what does not fit into its queue.
    assert!(outcome.warnings.iter().any(|warning| warning.contains("not passed through")), "{:?}", outcome.warnings);
    // Lines are dropped, not kept: 256 wait, all others are counted.
    let mut waiting = 0;
    while lines.try_recv().is_ok() {
        waiting += 1;
    }
    assert_eq!(waiting, 256);
    assert_eq!(outcome.lines_dropped, 3_276_800 + 1 - 256);
    let grown = peak_memory() - before;
    assert!(grown < 120 << 20, "{} MiB", grown >> 20);
}

#[tokio::test]
async fn both_outputs_are_passed_through_as_they_are() {
    struct Keep(std::sync::mpsc::Sender<Vec<u8>>);
    impl Write for Keep {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes.to_vec()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (sender, receiver) = std::sync::mpsc::channel();
    let argv = ["sh", "-c", "printf 'a\\377'; sleep 0.1; echo b >&2"];
    let outcome = start(&argv, None, Echo::To(Box::new(Keep(sender)))).unwrap().wait().await.unwrap();
    assert_eq!(receiver.iter().collect::<Vec<_>>().concat(), b"a\xffb\n");
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("a\u{fffd}", "b\n"));
}

#[tokio::test]
async fn lines_come_while_the_command_runs() {
    let mut running = shell("echo one; echo two >&2; sleep 30");
    let mut lines = running.lines().unwrap();
    let mut first = [lines.recv().await.unwrap(), lines.recv().await.unwrap()];
    first.sort_by_key(|line| line.text.clone());
    assert_eq!(
        first.map(|line| (line.source, line.text)),
        [(Source::Stdout, "one".into()), (Source::Stderr, "two".into())]
    );
    assert!(running.lines().is_none());
}

#[tokio::test]
async fn the_command_has_its_own_group_and_no_descriptor_of_ours() {
    let open = fs::File::open("/dev/null").unwrap();
    // SAFETY: makes a descriptor that exec would keep; it is closed when the test ends.
    let inheritable = unsafe { libc::fcntl(open.as_raw_fd(), libc::F_DUPFD, 77) };
    assert!(inheritable >= 77);
    let outcome = outcome("echo $$; ps -o pgid= -p $$ || cut -d' ' -f5 /proc/$$/stat; ls /proc/$$/fd").await;
    let words: Vec<_> = outcome.stdout.split_whitespace().collect();
    assert_eq!(words[0], words[1], "leads its group");
    assert_eq!(words[2..], ["0", "1", "2"]);
}

#[tokio::test]
async fn as_root_the_command_runs_as_another_user_with_his_groups_and_environment() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let user = User {
        uid: Uid::from_raw(65534),
        gid: Gid::from_raw(65534),
        groups: [65534, 4, 24].map(Gid::from_raw).to_vec(),
        name: "someone".into(),
        home: "/some/where".into(),
        shell: "/bin/false".into(),
    };
    let script = "grep -E '^(Uid|Gid|Groups|CapEff):' /proc/self/status; echo $HOME $USER $LOGNAME $SHELL";
    let outcome = start(&["sh", "-c", script], Some(user.clone()), Echo::Off).unwrap().wait().await.unwrap();
    let words: Vec<_> = outcome.stdout.split_whitespace().collect();
    let all = "65534";
    assert_eq!(words[..10], ["Uid:", all, all, all, all, "Gid:", all, all, all, all]);
    assert_eq!(words[10..16], ["Groups:", "4", "24", all, "CapEff:", "0000000000000000"]);
    assert_eq!(words[16..], ["/some/where", "someone", "someone", "/bin/false"]);

    let folder = tempfile::tempdir().unwrap();
    let private = folder.path().join("private");
    fs::write(&private, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&private, fs::Permissions::from_mode(0o700)).unwrap();
    let error = start(&[private.to_str().unwrap()], Some(user), Echo::Off).err().expect("it is root's alone");
    assert_eq!(error.exit_code(), 126, "{error}");
}

#[tokio::test]
async fn as_root_the_user_behind_sudo_is_taken_from_its_variables() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let nobody = User::behind_sudo(|name| match name {
        "SUDO_UID" | "SUDO_GID" => Some("65534".into()),
        "SUDO_USER" => Some("nobody".into()),
        _ => None,
    });
    let nobody = nobody.unwrap().unwrap();
    assert_eq!((nobody.uid.as_raw(), nobody.gid.as_raw(), nobody.name.as_str()), (65534, 65534, "nobody"));
    let outcome = start(&["id", "-u"], Some(nobody), Echo::Off).unwrap().wait().await.unwrap();
    assert_eq!(outcome.stdout, "65534\n");
    let unknown = User::behind_sudo(|name| name.starts_with("SUDO_").then(|| "54321".into())).unwrap().unwrap();
    assert_eq!((unknown.groups, unknown.home.as_path()), (vec![Gid::from_raw(54321)], Path::new("/")));
}

/// A netserver on a port of its own, ended with the test; `None` where netperf is not installed.
struct Netserver {
    process: process::Child,
    port: String,
}

impl Netserver {
    fn start() -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
        let mut command = process::Command::new("netserver");
        command.args(["-4", "-D", "-p", &port]).stdout(process::Stdio::null());
        let process = command.spawn().ok()?;
        let is_up = (0..100).any(|_| {
            thread::sleep(Duration::from_millis(20));
            TcpStream::connect(format!("127.0.0.1:{port}")).is_ok()
        });
        is_up.then_some(Self { process, port })
    }
}

impl Drop for Netserver {
    fn drop(&mut self) {
        let _gone_already = self.process.kill();
        let _reaped_already = self.process.wait();
    }
}

#[tokio::test]
async fn the_score_of_a_real_netperf_is_what_it_printed() {
    let Some(server) = Netserver::start() else {
        eprintln!("skipped: needs netperf");
        return;
    };
    for (options, test, shown, unit) in [
        ("-t UDP_STREAM -- -m 8192", "UDP_STREAM", 7, "message"),
        ("-t UDP_STREAM -c -C -- -m 1024", "UDP_STREAM", 11, "message"),
        ("-t TCP_STREAM -f g -D 0.2", "TCP_STREAM", 2, "gigabit"),
        ("-t TCP_RR -c -C -v 2", "TCP_RR", 9, "transaction"),
        ("-t UDP_RR", "UDP_RR", 2, "transaction"),
        ("-t omni -- -T udp -m 512 -k THROUGHPUT,LOCAL_SEND_CALLS", "OMNI", 2, "message"),
    ] {
        let command = format!("netperf -4 -H 127.0.0.1 -p {} -l 1 {options}", server.port);
        let argv: Vec<_> = command.split(' ').collect();
        let outcome = start(&argv, None, Echo::Off).unwrap().wait().await.unwrap();
        assert_eq!(outcome.end.exit_code, 0, "{outcome:?}");
        let argv: Vec<_> = argv.iter().map(ToString::to_string).collect();
        let benchmark = workload::parse(&argv, &outcome.stdout, &outcome.stderr);
        assert_eq!((benchmark.tool.as_str(), benchmark.test.as_str(), benchmark.instances), ("netperf", test, 1));
        assert_eq!(benchmark.results.len(), shown, "{benchmark:?}");
        assert_eq!(benchmark.work.unwrap().unit, unit);
        let printed: Vec<f64> = outcome.stdout.split(['\n', ' ', '=']).filter_map(|word| word.parse().ok()).collect();
        for score in &benchmark.results {
            assert!(printed.contains(&score.value), "{score:?} is not in {}", outcome.stdout);
        }
    }
}

/// Says its command's process id and waits; killed by the test below, which runs it in a process of its own.
#[tokio::test]
#[ignore = "part of the next test"]
async fn helper_with_a_command() {
    let mut running = shell("trap '' TERM HUP INT; while :; do sleep 0.1; done");
    writeln!(io::stdout(), "\ncommand {}", running.pid()).unwrap();
    running.wait().await.unwrap();
}

#[test]
fn the_command_dies_with_a_killed_tracer() {
    let mut helper = process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "helper_with_a_command"])
        .stdout(process::Stdio::piped())
        .spawn()
        .unwrap();
    let output = io::BufReader::new(helper.stdout.take().unwrap());
    let pid = output.lines().find_map(|line| line.unwrap().strip_prefix("command ")?.parse().ok()).unwrap();
    assert!(is_alive(pid));
    kill(Pid::from_raw(helper.id().try_into().unwrap()), Signal::SIGKILL).unwrap();
    helper.wait().unwrap();
    assert!(is_gone_soon(pid));
}
