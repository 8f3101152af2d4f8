//! The real binary on this kernel, against real loads. Needs root; a test that cannot run here says why.
//!
//! Expected values come from elsewhere: `/proc/vmstat`, bpftrace counting the same allocations, netperf's own words.

#![expect(clippy::print_stderr, reason = "a test that is skipped says why")]

#[path = "live/bench.rs"]
mod bench;

use std::{
    collections::BTreeMap,
    fs,
    io::Read as _,
    os::unix::process::ExitStatusExt as _,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use bench::{Bench, TRACER, count, is_there, report, run, start_and_await, sum};

/// Of the pages of a report, the share in per mille at this order by this route.
fn share(report: &Value, order: u8, route: &str) -> u64 {
    let rows = report.pointer("/pages/by_route").and_then(Value::as_array).expect("routes");
    let row = rows.iter().find(|row| row["route"] == route);
    let events = row.and_then(|row| row["by_order"][order.to_string()].as_u64()).unwrap_or(0);
    (events << order) * 1000 / count(report, "/pages/pages").max(1)
}

fn assert_counts_close(report: &Value) {
    let events = count(report, "/pages/events");
    assert_eq!(sum(report, "/pages/by_order", "events"), events);
    if report["completeness"]["paths"] != "sampled" {
        // An order that no sample met has no flags.
        assert_eq!(sum(report, "/pages/by_gfp", "events"), events);
        assert_eq!(sum(report, "/pages/by_migratetype", "events"), events);
    }
    assert_eq!(sum(report, "/pages/paths", "events") + count(report, "/pages/lost"), events);
    assert_eq!(sum(report, "/pages/by_order", "pages"), count(report, "/pages/pages"));
    let page_size = count(report, "/host/page_size");
    assert_eq!(count(report, "/pages/pages") * page_size, count(report, "/pages/bytes"));
}

/// The figure that netperf printed at this column of the line that begins with these words.
fn printed(output: &str, line: usize, column: usize) -> f64 {
    let rows: Vec<Vec<f64>> = output
        .lines()
        .map(|line| line.split_whitespace().map_while(|word| word.parse().ok()).collect())
        .filter(|row: &Vec<f64>| row.len() >= 4)
        .collect();
    rows[line][column]
}

fn result(report: &Value, metric: &str, side: &str) -> f64 {
    let rows = report.pointer("/benchmark/results").and_then(Value::as_array).expect("results");
    let row = rows.iter().find(|row| row["metric"] == metric && row["side"] == side);
    row.and_then(|row| row["value"].as_f64()).unwrap_or_else(|| panic!("no {metric} of side {side}"))
}

#[test]
fn a_traced_netperf_closes_agrees_with_vmstat_and_repeats_what_netperf_printed() {
    let Some(bench) = Bench::with_netserver() else { return };
    let recording = bench.path("r.db");
    let file = recording.to_str().expect("a plain name");
    let output = run(&["--json", "-o", file], &bench.netperf("UDP_STREAM", 5, &["-m", "8192"]));
    let report = report(&output);
    assert!(output.status.success());
    assert_counts_close(&report);

    let pages = count(&report, "/pages/pages");
    assert!(pages > 200_000, "{pages} pages are too few for the comparison");
    // One in a thousand; on a machine too slow for a million pages, what that would allow.
    let allowed = pages.max(1_000_000) / 1000;
    let unseen = report.pointer("/completeness/unseen_pages").and_then(Value::as_i64).expect("compared with vmstat");
    assert!(unseen.unsigned_abs() <= allowed, "{unseen} of {pages} pages unseen");
    // The same, by the figure that the report itself carries.
    let vmstat = report.pointer("/system/vmstat_delta").and_then(Value::as_object).expect("vmstat");
    let counted: i64 =
        vmstat.iter().filter(|(name, _)| name.starts_with("pgalloc_")).filter_map(|(_, it)| it.as_i64()).sum();
    assert!((counted - pages.cast_signed()).unsigned_abs() <= allowed, "{counted} by vmstat, {pages} by tracer");

    assert!(share(&report, 2, "kmalloc_large") > 800, "order 2 by large kmalloc prevails");
    let top = &report["pages"]["paths"][0];
    assert!(top["frames"].as_array().expect("frames").iter().any(|it| it == "udp_sendmsg"), "{top}");
    assert_eq!(top["context"], "syscall:sendto");

    let said = String::from_utf8_lossy(&output.stderr);
    assert!((result(&report, "throughput", "send") - printed(&said, 0, 5)).abs() < 0.005, "{said}");
    assert!((result(&report, "messages", "send") - printed(&said, 0, 3)).abs() < 0.5, "{said}");
    assert!((result(&report, "throughput", "receive") - printed(&said, 1, 3)).abs() < 0.005, "{said}");
    assert!((result(&report, "messages", "receive") - printed(&said, 1, 2)).abs() < 0.5, "{said}");

    a_recording_gives_the_same_report_to_everybody(&bench, &report);
    folded_stacks_are_accepted_and_sum_up(&bench, &report);
}

/// As the user `nobody`, without root, from a copy of the binary and the recording.
fn a_recording_gives_the_same_report_to_everybody(bench: &Bench, report: &Value) {
    let binary = bench.path("tracer");
    fs::copy(TRACER, &binary).expect("the binary can be copied");
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&binary)
        .arg("report")
        .arg(bench.path("r.db"))
        .arg("--json")
        .output()
        .expect("setpriv is part of every Linux");
    let again: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(&again, report);
}

fn folded_stacks_are_accepted_and_sum_up(bench: &Bench, report: &Value) {
    let folded = bench.path("r.folded");
    let status = Command::new(TRACER)
        .arg("export")
        .arg(bench.path("r.db"))
        .args(["--format", "folded", "-o"])
        .arg(&folded)
        .status()
        .expect("tracer starts");
    assert!(status.success());
    let text = fs::read_to_string(&folded).expect("the folded file");
    let weights =
        text.lines().map(|line| line.rsplit_once(' ').and_then(|(_, it)| it.parse::<u64>().ok()).expect("a weight"));
    assert_eq!(weights.sum::<u64>(), count(report, "/pages/events"));
    let flamegraph_pl = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl";
    for (program, arguments) in [("inferno-flamegraph", vec![]), ("perl", vec![flamegraph_pl])] {
        if !is_there(program) || arguments.iter().any(|it| !fs::exists(it).unwrap_or(false)) {
            eprintln!("skipped: {program} {arguments:?} is not installed");
            continue;
        }
        let output = Command::new(program).args(&arguments).arg(&folded).output().expect("it starts");
        assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).contains("udp_sendmsg"));
    }
}

#[test]
fn bpftrace_counts_the_same_allocations_by_order() {
    let Some(bench) = Bench::with_netserver() else { return };
    if !is_there("bpftrace") {
        eprintln!("skipped: bpftrace is not installed (`cargo xtask setup` installs it)");
        return;
    }
    // Only netperf's own: then the two windows need not be the same.
    let script = "BEGIN { printf(\"ready\\n\"); } \
        tracepoint:kmem:mm_page_alloc /comm == \"netperf\" && args->pfn != 0xffffffffffffffff/ { @[args->order] = count(); }";
    let mut bpftrace = start_and_await(Command::new("bpftrace").args(["-e", script]), "ready");
    sleep(Duration::from_millis(500));
    let output = run(&["--json", "--comm", "netperf"], &bench.netperf("UDP_STREAM", 3, &["-m", "8192"]));
    kill(Pid::from_raw(bpftrace.id().cast_signed()), Signal::SIGINT).expect("bpftrace is ours");
    let mut text = String::new();
    bpftrace.stdout.take().expect("its output").read_to_string(&mut text).expect("its output is text");
    bpftrace.wait().expect("bpftrace ends");

    let report = report(&output);
    assert_counts_close(&report);
    let by_bpftrace: BTreeMap<u64, u64> = text
        .lines()
        .filter_map(|line| {
            let (order, events) = line.strip_prefix("@[")?.split_once("]: ")?;
            Some((order.parse().ok()?, events.parse().ok()?))
        })
        .collect();
    let orders = report.pointer("/pages/by_order").and_then(Value::as_array).expect("orders");
    let ours = orders.iter().find(|row| row["order"] == 2).map_or(0, |row| row["events"].as_u64().unwrap_or(0));
    let theirs = by_bpftrace.get(&2).copied().unwrap_or(0);
    assert!(theirs > 20_000, "bpftrace counted {theirs} allocations of order 2: {text}");
    assert!(ours.abs_diff(theirs) * 100 <= theirs, "tracer {ours}, bpftrace {theirs}");
    let theirs: u64 = by_bpftrace.values().sum();
    let ours = count(&report, "/pages/events");
    assert!(ours.abs_diff(theirs) * 100 <= theirs, "tracer {ours}, bpftrace {theirs}");
}

/// A counter of `/proc/net/snmp`.
fn snmp(group: &str, name: &str) -> u64 {
    let text = fs::read_to_string("/proc/net/snmp").expect("protocol counters");
    let mut lines = text.lines().filter_map(|line| line.split_once(':')).filter(|(it, _)| *it == group);
    let (names, values) = (lines.next().expect("names").1, lines.next().expect("values").1);
    let at = names.split_whitespace().position(|it| it == name).expect("the counter");
    values.split_whitespace().nth(at).and_then(|it| it.parse().ok()).expect("a number")
}

#[test]
fn datagrams_lost_at_a_socket_are_those_that_the_kernel_and_netperf_miss() {
    let Some(bench) = Bench::with_netserver() else { return };
    let before = snmp("Udp", "RcvbufErrors");
    // A small receive buffer overflows on any machine.
    let command = bench.netperf("UDP_STREAM", 2, &["-m", "1024", "-S", "4096"]);
    let report = report(&run(&["--json"], &command));
    let kernels = snmp("Udp", "RcvbufErrors") - before;
    let drops = report.pointer("/sockets/receive_drops").and_then(Value::as_array).expect("drops are measured");
    let full = drops.iter().filter(|row| row["protocol"] == "udp" && row["reason"] == "receive_buffer_full");
    let ours: u64 = full.filter_map(|row| row["events"].as_u64()).sum();
    assert!(ours > 0, "nothing overflowed: {drops:?}");
    assert_eq!(ours, kernels, "RcvbufErrors");
    assert_eq!(report.pointer("/system/netstat_delta/Udp.RcvbufErrors").and_then(Value::as_u64), Some(kernels));
    let lost = result(&report, "messages", "send") - result(&report, "messages", "receive");
    // A last datagram may be counted as sent and be read by nobody.
    assert!((lost - ours as f64).abs() <= 4.0 + ours as f64 * 0.001, "{lost} messages lost, {ours} overflows");
    let worst = &report["sockets"]["sockets"][0];
    assert_eq!((&worst["comm"], worst["rcvqueue_full"].as_u64()), (&Value::from("netserver"), Some(ours)), "{worst}");
    let said = report.pointer("/sockets/findings/0").and_then(Value::as_str).unwrap_or_default();
    assert!(said.contains("netserver") && said.contains("receive buffer"), "{said}");
}

#[test]
fn every_large_kmalloc_of_a_message_is_counted_with_its_path() {
    let Some(bench) = Bench::with_netserver() else { return };
    let report = report(&run(&["--json"], &bench.netperf("UDP_STREAM", 2, &["-m", "8192"])));
    let Some(first) = report.pointer("/kmalloc_large/paths/0") else {
        eprintln!("skipped: this kernel has no hook for large kmalloc");
        return;
    };
    let messages = result(&report, "messages", "send");
    let ours = first["events"].as_u64().unwrap_or(0) as f64;
    assert!((ours - messages).abs() <= messages * 0.001 + 4.0, "{ours} large kmallocs, {messages} messages: {first}");
    // What is read again when the hits are audited is right for these paths, too.
    assert_eq!(count(&report, "/completeness/audit/disagreed"), 0);
    let (hits, unwound) =
        (count(&report, "/completeness/lookups/hits"), count(&report, "/completeness/lookups/unwound"));
    assert!(unwound * 5 < hits, "{unwound} unwound, {hits} remembered");
}

#[test]
fn single_events_in_a_recording_close_and_a_part_of_it_sums_up() {
    let Some(bench) = Bench::with_netserver() else { return };
    let file = bench.path("events.db");
    let mut recorder = Command::new(TRACER)
        .args(["record", "--events", "--duration", "4s", "-o"])
        .arg(&file)
        .stderr(Stdio::null())
        .spawn()
        .expect("tracer starts");
    sleep(Duration::from_millis(1500));
    let netperf = bench.netperf("UDP_STREAM", 1, &["-m", "8192"]);
    Command::new(&netperf[0]).args(&netperf[1..]).stdout(Stdio::null()).status().expect("netperf");
    recorder.wait().expect("the recorder ends");
    let read = |name: &str| -> Value {
        let output = Command::new(TRACER).args(["report", name, "--json"]).output().expect("a report");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let name = file.to_str().expect("a plain name");
    let whole = read(name);
    let events = |key: &str| count(&whole, &format!("/completeness/events/{key}"));
    assert_eq!(events("seen"), events("written") + events("lost"));
    assert!(events("written") > 1000);
    let db = rusqlite::Connection::open(&file).expect("an SQLite file");
    let rows: u64 = db.query_row("SELECT count(*) FROM events", [], |row| row.get(0)).expect("a count");
    assert_eq!(rows, events("written"));
    let parts = [read(&format!("{name}@..2s")), read(&format!("{name}@2s.."))];
    let of_parts: u64 = parts.iter().map(|part| count(part, "/pages/events")).sum();
    assert_eq!(of_parts, count(&whole, "/pages/events"));
}

#[test]
fn the_message_size_decides_route_and_order() {
    let Some(bench) = Bench::with_netserver() else { return };
    // At 4096 bytes slabs are refilled only as fast as datagrams pile up: eight senders make them do so on any
    // machine. The faults at netperf's start are of order 0 and left out.
    for (size, senders, order, route) in [("4096", 8, 3, "slab_refill"), ("32768", 1, 3, "page_fragment")] {
        let netperf = bench.netperf("UDP_STREAM", 1, &["-m", size]).join(" ");
        let script = format!("{} wait", format!("{netperf} & ").repeat(senders));
        let options = ["--json", "--comm", "netperf", "--min-order", "2"];
        let report = report(&run(&options, &["sh".to_owned(), "-c".to_owned(), script]));
        assert_counts_close(&report);
        assert!(count(&report, "/pages/events") >= 8, "-m {size}: {}", report["pages"]["by_route"]);
        assert!(share(&report, order, route) > 800, "-m {size}: {}", report["pages"]["by_route"]);
    }
}

#[test]
fn every_remembered_path_of_a_mixed_load_is_right_when_unwound_again() {
    let Some(bench) = Bench::with_netserver() else { return };
    let udp = bench.netperf("UDP_STREAM", 2, &["-m", "8192"]).join(" ");
    let tcp = bench.netperf("TCP_STREAM", 2, &[]).join(" ");
    let rr = bench.netperf("TCP_RR", 2, &[]).join(" ");
    let files = "find /usr/lib /usr/share -type f -size -64k 2>/dev/null | head -2000 | xargs -d '\\n' cat | wc -c";
    let script = format!("{udp} & {tcp} & {rr}; {files}; wait");
    let output = run(&["--json", "--audit", "1"], &["sh".to_owned(), "-c".to_owned(), script]);
    let report = report(&output);
    assert_eq!(report["completeness"]["paths"], "remembered", "{}", report["completeness"]);
    assert!(count(&report, "/completeness/audit/checked") > 10_000, "{}", report["completeness"]);
    assert_eq!(count(&report, "/completeness/audit/disagreed"), 0, "{}", report["completeness"]);
    assert_counts_close(&report);
}

#[test]
fn remembering_and_unwinding_find_the_same_paths() {
    let Some(bench) = Bench::with_netserver() else { return };
    let command = bench.netperf("UDP_STREAM", 2, &["-m", "8192"]);
    let top = |paths: &str| {
        let report = report(&run(&["--json", "--comm", "netperf", "--paths", paths], &command));
        let rows = report["pages"]["paths"].as_array().expect("paths").clone();
        let whole = count(&report, "/pages/events");
        let often = rows.into_iter().filter(move |row| row["events"].as_u64().unwrap_or(0) * 1000 > whole);
        often.map(|row| row["frames"].to_string()).collect::<Vec<_>>()
    };
    let (remembered, unwound) = (top("exact"), top("unwound"));
    assert!(!remembered.is_empty());
    assert_eq!(remembered, unwound);
}

#[test]
fn without_paths_or_with_sampled_ones_the_totals_stay_exact() {
    let Some(bench) = Bench::with_netserver() else { return };
    for (paths, verdict) in [("off", "exact"), ("sample=64", "estimate")] {
        let report = report(&run(&["--json", "--paths", paths], &bench.netperf("UDP_STREAM", 2, &["-m", "8192"])));
        assert_counts_close(&report);
        assert_eq!(report["completeness"]["verdict"], verdict);
        let pages = count(&report, "/pages/pages");
        let unseen =
            report.pointer("/completeness/unseen_pages").and_then(Value::as_i64).expect("compared with vmstat");
        assert!(unseen.unsigned_abs() * 500 <= pages, "{paths}: {unseen} of {pages} pages unseen");
    }
}

/// Names of our programs in the kernel.
fn our_programs() -> usize {
    let output = Command::new("bpftool").args(["prog", "show"]).output().expect("bpftool starts");
    String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.contains("name mm_page_")).count()
}

#[test]
fn a_killed_tracer_leaves_no_program_and_a_recording_that_lacks_a_second_at_most() {
    let Some(bench) = Bench::with_netserver() else { return };
    if !is_there("bpftool") {
        eprintln!("skipped: bpftool is not installed (`cargo xtask setup` installs it)");
        return;
    }
    let before = our_programs();
    let recording = bench.path("killed.db");
    let mut tracer = Command::new(TRACER)
        .args(["run", "--no-tui", "-o"])
        .arg(&recording)
        .arg("--")
        .args(bench.netperf("UDP_STREAM", 20, &["-m", "8192"]))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("tracer starts");
    let until = Instant::now() + Duration::from_secs(20);
    while our_programs() == before || !recording.exists() {
        assert!(Instant::now() < until, "tracer attaches");
        sleep(Duration::from_millis(50));
    }
    let attached = Instant::now();
    sleep(Duration::from_secs(4));
    let lived = attached.elapsed();
    tracer.kill().expect("tracer is ours");
    assert_eq!(tracer.wait().expect("tracer ends").signal(), Some(9));
    let until = Instant::now() + Duration::from_secs(5);
    while our_programs() != before && Instant::now() < until {
        sleep(Duration::from_millis(50));
    }
    assert_eq!(our_programs(), before, "no program of the killed tracer is left");

    let output = Command::new(TRACER).arg("report").arg(&recording).arg("--json").output().expect("tracer starts");
    let report = report(&output);
    assert_counts_close(&report);
    assert!(count(&report, "/pages/events") > 10_000);
    let recorded = report.pointer("/window/duration_s").and_then(Value::as_f64).expect("a window");
    assert!(recorded > lived.as_secs_f64() - 1.6, "{recorded} s of {lived:?} recorded");
    let warnings = report["completeness"]["warnings"].to_string();
    assert!(warnings.contains("cut short"), "{warnings}");
}

#[test]
fn a_signal_ends_the_run_in_good_order_with_a_report_of_what_there_is() {
    let Some(bench) = Bench::new() else { return };
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let marker = bench.path(&format!("{signal}"));
        let script = format!("touch {}; exec sleep 30", marker.display());
        let tracer = Command::new(TRACER)
            .args(["run", "--no-tui", "--json", "--", "sh", "-c", &script])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("tracer starts");
        let until = Instant::now() + Duration::from_secs(20);
        while !marker.exists() {
            assert!(Instant::now() < until, "the command starts");
            sleep(Duration::from_millis(20));
        }
        kill(Pid::from_raw(tracer.id().cast_signed()), signal).expect("tracer is ours");
        let output = tracer.wait_with_output().expect("tracer ends");
        let report = report(&output);
        let warnings = report["completeness"]["warnings"].to_string();
        assert!(warnings.contains(signal.as_str()), "{warnings}");
        let expected = 128 + signal as i32;
        assert_eq!(report["command"]["exit_code"], expected);
        assert_eq!(output.status.code(), Some(expected));
    }
}

#[test]
fn the_commands_exit_status_is_passed_on() {
    let Some(bench) = Bench::new() else { return };
    let not_executable = bench.path("plain");
    fs::write(&not_executable, "text").expect("the folder is ours");
    let plain = not_executable.to_str().expect("a plain name").to_owned();
    let shell = |script: &str| vec!["sh".to_owned(), "-c".to_owned(), script.to_owned()];
    for (command, code) in [
        (shell("exit 0"), 0),
        (shell("exit 7"), 7),
        (shell("kill -9 $$"), 137),
        (vec!["no-such-command-anywhere".to_owned()], 127),
        (vec![plain], 126),
    ] {
        let output = run(&[], &command);
        assert_eq!(output.status.code(), Some(code), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        if code == 126 || code == 127 {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.starts_with("tracer: ") && said.lines().count() == 1, "{said}");
            assert!(output.stdout.is_empty());
        }
    }
}

#[test]
fn under_sudo_the_command_and_the_recording_belong_to_the_user() {
    use std::os::unix::fs::MetadataExt as _;
    let Some(bench) = Bench::new() else { return };
    let recording = bench.path("sudo.db");
    let with_sudo = |arguments: &[&str]| {
        Command::new(TRACER)
            .args(["run", "--no-tui", "--json", "--force", "-o"])
            .arg(&recording)
            .args(arguments)
            .args(["--", "id", "-u"])
            .envs([("SUDO_UID", "65534"), ("SUDO_GID", "65534"), ("SUDO_USER", "nobody")])
            .output()
            .expect("tracer starts")
    };
    let output = with_sudo(&[]);
    assert_eq!(String::from_utf8_lossy(&output.stderr).trim(), "65534");
    assert_eq!(fs::metadata(&recording).expect("the recording").uid(), 65534);
    let output = with_sudo(&["--as-root"]);
    assert_eq!(String::from_utf8_lossy(&output.stderr).trim(), "0");
}

#[test]
fn doctor_names_for_each_signal_its_hook_or_the_reason_against_it() {
    let Some(_bench) = Bench::new() else { return };
    let output = Command::new(TRACER).args(["doctor", "--json"]).output().expect("tracer starts");
    let diagnosis: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let signals = diagnosis["signals"].as_array().expect("signals");
    for name in ["page.alloc", "page.fail", "page.zone_lock", "page.drain", "page.free"] {
        let signal = signals.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("no {name}"));
        let refused = signal["refused"].as_array().expect("a list");
        assert!(signal["hook"].is_string() || !refused.is_empty(), "{signal}");
        assert!(refused.iter().all(|it| !it["reason"].as_str().unwrap_or("").is_empty()), "{signal}");
    }
    let worst = signals.iter().any(|it| it["status"] != "attached") || diagnosis["limits"] != Value::Array(vec![]);
    assert_eq!(output.status.code(), Some(i32::from(worst)));
}

#[test]
fn without_capabilities_the_missing_ones_are_named_with_the_command_that_grants_them() {
    let Some(bench) = Bench::new() else { return };
    let binary = bench.path("tracer");
    fs::copy(TRACER, &binary).expect("the binary can be copied");
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&binary)
        .args(["run", "--no-tui", "--", "true"])
        .output()
        .expect("setpriv is part of every Linux");
    assert_eq!(output.status.code(), Some(125));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.lines().count(), 1, "{said}");
    for part in ["CAP_BPF", "CAP_PERFMON", "sudo setcap cap_bpf,cap_perfmon"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn filters_and_owners_are_decided_in_the_kernel() {
    let Some(bench) = Bench::with_netserver() else { return };
    let command = bench.netperf("UDP_STREAM", 1, &["-m", "8192"]);
    let report_of = |options: &[&str]| report(&run(&[&["--json"], options].concat(), &command));

    let report = report_of(&["--min-order", "2"]);
    let orders = report["pages"]["by_order"].as_array().expect("orders");
    assert!(!orders.is_empty() && orders.iter().all(|row| row["order"].as_u64() >= Some(2)), "{orders:?}");

    let report = report_of(&["--gfp", "__GFP_COMP,__GFP_NOMEMALLOC"]);
    let flags = report["pages"]["by_gfp"].as_array().expect("flags");
    let has = |row: &Value| {
        let mask = row["gfp"].as_str().and_then(|it| u64::from_str_radix(it.trim_start_matches("0x"), 16).ok());
        mask.expect("a mask") & 0xc_0000 == 0xc_0000
    };
    assert!(!flags.is_empty() && flags.iter().all(has), "{flags:?}");

    let report = report_of(&["--by", "comm"]);
    assert_counts_close(&report);
    assert_eq!(
        sum(&report, "/pages/by_owner", "events") + count(&report, "/pages/lost"),
        count(&report, "/pages/events")
    );
    let owners = report["pages"]["by_owner"].as_array().expect("owners");
    assert!(owners.iter().any(|row| row["comm"] == "netperf"), "netperf is among the owners");

    let report = report_of(&["--pid", "1"]);
    assert!(count(&report, "/pages/events") < 10_000, "process 1 allocates little");
}
