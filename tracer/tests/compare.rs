//! `tracer diff` as a user runs it, on recordings: published figures must give the published percentages, and nothing
//! may be claimed that the figures do not bear.

#![expect(clippy::print_stderr, reason = "a test that is skipped says why")]

#[path = "compare/recordings.rs"]
mod recordings;
#[path = "compare/tools.rs"]
mod tools;

use std::process::{Command, Output};

use recordings::{Folder, Run, score};
use serde_json::Value;

fn tracer(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tracer"))
        .args(arguments)
        .env("COLUMNS", "100")
        .env_remove("LC_ALL")
        .env_remove("LC_CTYPE")
        .env_remove("LANG")
        .output()
        .expect("tracer runs")
}

fn stdout(arguments: &[&str]) -> String {
    let output = tracer(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn diff(a: &str, b: &str, more: &[&str]) -> Value {
    let arguments: Vec<&str> = ["diff", a, b, "--json"].iter().chain(more).copied().collect();
    serde_json::from_str(&stdout(&arguments)).expect("JSON")
}

/// A throughput of one run.
fn rate(value: f64) -> Run {
    Run { results: vec![score("throughput", "send", value, "Mbit/s")], ..Run::default() }
}

/// A time of one run.
fn seconds(value: f64) -> Run {
    let mut time = score("time", "both", value, "s");
    time.lower_is_better = true;
    Run { results: vec![time], ..Run::default() }
}

/// Two rates with this harmonic mean and this standard deviation.
fn pair(harmonic: f64, stddev: f64) -> [Run; 2] {
    // m - d^2 / m is the harmonic mean of m - d and m + d, whose standard deviation is d times the root of 2.
    let d = stddev / 2f64.sqrt();
    let m = f64::midpoint(harmonic, (harmonic * harmonic + 4.0 * d * d).sqrt());
    [rate(m - d), rate(m + d)]
}

fn gain(diff: &Value, of: &str) -> f64 {
    diff["scores"][0]["gains"][of].as_f64().expect("a gain")
}

fn assert_within(is: f64, published: f64, tolerance: f64) {
    assert!((is - published).abs() <= tolerance, "{is} is not within {tolerance} of {published}");
}

/// 16 KiB datagrams: Linux 6.1 charges 5 pages for each whatever is held, 6.12 the 4 that are missing.
#[test]
fn a_kernel_that_charges_only_what_is_missing_is_told_from_one_that_does_not() {
    let mut folder = Folder::new();
    let run = |kernel, charges| Run { kernel, work: Some(2000.0), charges: Some(charges), ..rate(100.0) };
    let before = folder.group(&[run("6.1.0", [2000, 5, 4096, 4096])]);
    let after = folder.group(&[run("6.12.0", [2000, 4, 0, 4096])]);
    let json = diff(&before, &after, &["--noise", "2%"]);
    let change = |what: &str| {
        let rows = json["sockets"].as_array().expect("socket memory");
        let row = rows.iter().find(|row| row["what"] == what && row["protocol"] == "udp").expect("the figure");
        (row["a"]["mean"].as_f64(), row["b"]["mean"].as_f64())
    };
    assert_eq!(change("charges"), (Some(1.0), Some(1.0)));
    assert_eq!(change("pages_a_charge"), (Some(5.0), Some(4.0)));
    assert_eq!(change("beyond_need_bytes_a_charge"), (Some(4096.0), Some(0.0)));
    let text = stdout(&["diff", &before, &after, "--noise", "2%"]);
    let line = text.lines().find(|line| line.contains("udp receive pages a charge")).expect("a line for it");
    assert!(line.contains("-20.00 %"), "{line}");
    let report = stdout(&["report", &before]);
    assert!(report.contains("charges 1.000 pages beyond need each time"), "{report}");
    assert!(!stdout(&["report", &after]).contains("beyond need each time"));
}

#[test]
fn high_order_per_cpu_lists_gain_what_was_published() {
    let mut folder = Folder::new();
    for (vanilla, patched, published) in [
        (178.38, 263.48, 47.71),
        (351.49, 523.69, 48.99),
        (671.23, 1021.92, 52.24),
        (2663.60, 3909.75, 46.78),
        (5126.53, 7365.98, 43.68),
        (7949.99, 11077.98, 39.35),
        (9433.56, 12715.42, 34.79),
        (15940.64, 22322.39, 40.03),
        (26699.54, 32918.05, 23.29),
        (178.38, 263.46, 47.70),
        (15939.64, 22320.05, 40.03),
        (26698.44, 32913.66, 23.28),
        (87.47, 127.41, 45.67),
        (15081.60, 19418.36, 28.76),
    ] {
        let (a, b) = (folder.group(&[rate(vanilla)]), folder.group(&[rate(patched)]));
        let diff = diff(&a, &b, &[]);
        assert_eq!(diff["scores"][0]["mean"], "hmean");
        assert_within(gain(&diff, "mean"), published, 0.01);
    }
}

#[test]
fn less_is_better_for_times_and_for_spread() {
    let mut folder = Folder::new();
    for (before, after, published) in [(12.9637, 13.1807, -1.67), (24.5690, 23.0550, 6.16)] {
        let (a, b) = (folder.group(&[seconds(before)]), folder.group(&[seconds(after)]));
        let diff = diff(&a, &b, &[]);
        assert_eq!(diff["scores"][0]["mean"], "amean");
        assert_within(gain(&diff, "mean"), published, 0.01);
    }
    // The published deviations were rounded before their change was: it is known to a tenth.
    for (before, after, mean, stddev) in
        [((93.90, 5.32), (92.74, 4.79), Some(-1.23), 9.88), ((500.0, 35.32), (500.0, 74.20), None, -110.06)]
    {
        let (a, b) = (folder.group(&pair(before.0, before.1)), folder.group(&pair(after.0, after.1)));
        let diff = diff(&a, &b, &[]);
        assert_within(gain(&diff, "stddev"), stddev, 0.1);
        if let Some(mean) = mean {
            assert_within(gain(&diff, "mean"), mean, 0.01);
        }
    }
}

#[test]
fn the_sctp_regression_is_what_was_published_for_eight_instances() {
    let mut folder = Folder::new();
    let mut instances = |value: f64, count: u32| {
        // Eight instances around their mean, as the parser of netperf's output gives them.
        let mut results = vec![score("throughput", "both", value, "Mbit/s")];
        results.push(score("throughput_total", "both", value * f64::from(count), "Mbit/s"));
        results.extend((0..count).map(|it| {
            let offset = f64::from(it) - f64::from(count - 1) / 2.0;
            score("throughput_instance", "both", value + offset * 10.0, "Mbit/s")
        }));
        let paths = vec![(SEND, 3, 1000)];
        folder.group(&[Run { test: "SCTP_STREAM_MANY", results, instances: count, paths, ..Run::default() }])
    };
    let commit = instances(2353.31, 8);
    let (prsctp, plain, single) = (instances(3751.46, 8), instances(3838.83, 8), instances(3838.83, 1));
    for (parent, published) in [(&prsctp, "-37.3"), (&plain, "-38.7")] {
        let diff = diff(parent, &commit, &[]);
        assert_eq!(format!("{:.1}", gain(&diff, "mean")), published);
        let metrics: Vec<&Value> = diff["scores"].as_array().expect("rows").iter().map(|row| &row["metric"]).collect();
        assert_eq!(metrics, ["throughput", "throughput_total"]);
        assert_eq!(diff["setup"], Value::Array(Vec::new()));
    }
    let diff = diff(&single, &commit, &[]);
    assert_eq!(diff["setup"][0]["what"], "instances");
}

#[test]
fn three_runs_of_each_sctp_test_show_no_significant_change() {
    let mut folder = Folder::new();
    // Of each three, the p of SciPy's `ttest_ind(equal_var=False)`.
    for (test, unit, before, after, p) in [
        ("SCTP_STREAM", "Mbit/s", [1125.52, 1376.38, 1131.40], [1247.04, 1149.95, 1163.85], 0.804_667),
        ("SCTP_STREAM_MANY", "Mbit/s", [1111.00, 1188.55, 1108.06], [1310.05, 1130.50, 1162.50], 0.368_869),
        ("SCTP_RR", "transactions/s", [45486.98, 45584.18, 45703.86], [46089.43, 45994.21, 45720.84], 0.069_467),
        ("SCTP_RR_MANY", "transactions/s", [40.75, 40.58, 39.98], [40.77, 40.08, 39.97], 0.658_330),
    ] {
        let mut group = |values: [f64; 3]| {
            let run = |value| Run { test, results: vec![score("rate", "both", value, unit)], ..Run::default() };
            folder.group(&values.map(run))
        };
        let (a, b) = (group(before), group(after));
        let diff = diff(&a, &b, &[]);
        assert_eq!(diff["verdict"], "no_significant_change", "{test}");
        assert_eq!(diff["test"]["name"], "welch");
        assert_eq!(diff["test"]["n"], serde_json::json!([3, 3]));
        assert_within(diff["scores"][0]["change"]["welch"]["p"].as_f64().expect("p"), p, 1e-5);
        let text = stdout(&["diff", &a, &b]);
        assert!(text.contains("verdict  no significant change of the score"), "{text}");
    }
}

#[test]
fn three_timed_runs_show_no_significant_change_with_the_fix_fragmented_or_not() {
    let mut folder = Folder::new();
    let mut group = |real: [f64; 3], user: [f64; 3], sys: [f64; 3]| {
        let run = |it: usize| Run { times: [real[it], user[it], sys[it]], ..Run::default() };
        folder.group(&[0, 1, 2].map(run))
    };
    let stock = group([14.715, 14.593, 15.954], [0.954, 0.955, 0.854], [13.388, 12.537, 13.749]);
    let fix = group([14.959, 14.693, 14.762], [0.948, 0.921, 0.929], [13.538, 13.225, 13.217]);
    let fragmented = group([14.159, 15.252, 15.826], [0.839, 1.004, 1.048], [11.827, 14.240, 14.778]);
    // The gains of Python's `statistics.mean`, the p of SciPy.
    for (other, expected) in [
        (&fix, [(1.873_536, 0.584_337), (-1.266_739, 0.764_130), (-0.771_286, 0.807_508)]),
        (&fragmented, [(0.055_234, 0.990_456), (-4.632_645, 0.594_268), (-2.951_555, 0.719_604)]),
    ] {
        let diff = diff(&stock, other, &[]);
        assert_eq!(diff["verdict"], "no_significant_change");
        for (row, (gain, p)) in diff["times"].as_array().expect("rows").iter().zip(expected) {
            assert_within(row["gains"]["mean"].as_f64().expect("a gain"), gain, 1e-5);
            assert_within(row["change"]["welch"]["p"].as_f64().expect("p"), p, 1e-5);
        }
    }
}

#[test]
fn a_fifth_of_a_percent_is_within_a_noise_of_two() {
    let mut folder = Folder::new();
    let run = |packets, kilobytes| {
        let results = vec![score("packets", "both", packets, "packets/s"), score("rate", "both", kilobytes, "kB/s")];
        Run { results, ..Run::default() }
    };
    let (a, b) = (folder.group(&[run(411_073.41, 36_932.38)]), folder.group(&[run(410_308.73, 36_863.81)]));
    let judged = diff(&a, &b, &["--noise", "2%"]);
    assert_eq!(judged["verdict"], "within_noise");
    for row in judged["scores"].as_array().expect("rows") {
        assert_within(row["gains"]["mean"].as_f64().expect("a gain"), -0.19, 0.01);
        assert_eq!(row["change"]["judgement"], "within_noise");
    }
    let text = stdout(&["diff", &a, &b, "--noise", "2%"]);
    assert!(text.contains("within the noise") && !text.contains("no claim"), "{text}");
    assert_eq!(diff(&a, &b, &["--noise", "0.1%"])["verdict"], "worse");
    assert_eq!(diff(&a, &b, &[])["verdict"], "no_claim");
}

const SEND: &[&str] = &["__alloc_pages_noprof", "___kmalloc_large_node", "udp_sendmsg", "__x64_sys_sendto"];
const SEND_BEFORE: &[&str] = &["__alloc_pages", "___kmalloc_large_node.isra.0", "udp_sendmsg", "__x64_sys_sendto"];
const FAULT: &[&str] = &["__alloc_pages_noprof", "do_anonymous_page", "asm_exc_page_fault"];

/// A run that did some messages.
fn counted(work: f64, paths: &[(&'static [&'static str], u8, u64)]) -> Run {
    Run { work: Some(work), paths: paths.to_vec(), ..rate(100.0) }
}

#[test]
fn a_recording_against_itself_shows_no_change_and_no_mark() {
    let mut folder = Folder::new();
    let file = folder.group(&[counted(1000.0, &[(SEND, 3, 900), (FAULT, 0, 7)])]);
    for noise in [&[][..], &["--noise", "0%"]] {
        let arguments: Vec<&str> = ["diff", &file, &file].iter().chain(noise).copied().collect();
        let text = stdout(&arguments);
        let tables: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("scores")).collect();
        let tables = tables.join("\n");
        for line in tables.lines().filter(|line| line.contains('%')) {
            assert!(line.contains(" 0.00 %"), "{line}");
        }
        assert!(tables.matches("0.00 %").count() >= 10, "{text}");
        assert!(!tables.contains('*') && !text.contains("not alike"), "{text}");
        assert!(text.contains("0 paths changed"), "{text}");
    }
    let diff = diff(&file, &file, &["--noise", "0%"]);
    assert_eq!(diff["verdict"], "within_noise");
}

#[test]
fn a_figure_that_says_how_long_the_test_ran_is_no_verdict() {
    let mut folder = Folder::new();
    let run = |elapsed| {
        let results = vec![score("throughput", "send", 100.0, "Mbit/s"), score("elapsed", "send", elapsed, "s")];
        Run { results, ..Run::default() }
    };
    let (a, b) = (folder.group(&[run(60.0)]), folder.group(&[run(30.0)]));
    let diff = diff(&a, &b, &["--noise", "2%"]);
    assert_eq!(diff["verdict"], "within_noise");
    assert_eq!(diff["scores"][1]["gains"]["mean"], -50.0);
}

#[test]
fn none_against_five_is_new_and_five_against_none_gone() {
    let mut folder = Folder::new();
    let without = folder.group(&[counted(1000.0, &[(FAULT, 0, 7)])]);
    let with = folder.group(&[counted(1000.0, &[(FAULT, 0, 7), (SEND, 3, 5)])]);
    let order_3 = |diff: &Value| diff["pages"]["by_order"][1].clone();
    let grown = diff(&without, &with, &[]);
    assert_eq!(order_3(&grown)["order"], 3);
    assert_eq!(order_3(&grown)["events"]["change"]["state"], "new");
    assert_eq!(order_3(&grown)["events"]["change"]["percent"], Value::Null);
    assert_eq!(grown["pages"]["paths"][0]["id_a"], Value::Null);
    let shrunk = diff(&with, &without, &[]);
    assert_eq!(order_3(&shrunk)["events"]["change"]["state"], "gone");
    let text = stdout(&["diff", &without, &with]);
    assert!(text.contains("1 paths changed, 1 of them new and 0 gone"), "{text}");
    assert!(!text.contains("inf") && !text.contains("NaN"), "{text}");
}

#[test]
fn counts_are_compared_per_message_and_not_per_run() {
    let mut folder = Folder::new();
    let (a, b) =
        (folder.group(&[counted(1000.0, &[(SEND, 3, 1500)])]), folder.group(&[counted(4000.0, &[(SEND, 3, 9000)])]));
    let compared = diff(&a, &b, &[]);
    assert_eq!(compared["pages"]["per"]["unit"], "message");
    let path = &compared["pages"]["paths"][0];
    assert_eq!((path["events"]["a"]["mean"].as_f64(), path["events"]["b"]["mean"].as_f64()), (Some(1.5), Some(2.25)));
    assert_eq!(path["events"]["change"]["percent"], 50.0);
    assert_eq!(path["pages"]["b"]["mean"], 18.0);
    assert_eq!(path["bytes"]["b"]["mean"], 18.0 * 4096.0);
    // Without work on one side the window divides them.
    let idle = folder.group(&[Run { work: None, ..counted(1.0, &[(SEND, 3, 1500)]) }]);
    assert_eq!(diff(&a, &idle, &[])["pages"]["per"]["unit"], "second");
}

#[test]
fn a_path_is_the_same_whatever_the_compiler_appended_to_its_names() {
    let mut folder = Folder::new();
    let before = Run { kernel: "6.1.0", ..counted(1000.0, &[(SEND_BEFORE, 3, 1000)]) };
    let (a, b) = (folder.group(&[before]), folder.group(&[counted(1000.0, &[(SEND, 3, 2000)])]));
    let diff = diff(&a, &b, &[]);
    let paths = diff["pages"]["paths"].as_array().expect("rows");
    assert_eq!(paths.len(), 1);
    assert_eq!(paths[0]["events"]["change"]["percent"], 100.0);
    assert!(paths[0]["id_a"].is_string() && paths[0]["id_a"] != paths[0]["id_b"]);
    assert_eq!(diff["setup"][0]["what"], "kernel");
    assert_eq!(diff["setup"][0]["a"], serde_json::json!(["6.1.0"]));
}

#[test]
fn tables_fit_80_columns_and_hold_no_blank_lines() {
    let mut folder = Folder::new();
    let runs = |work: f64| {
        let run = |it: u32| {
            let mut figures = counted(work + f64::from(it), &[(SEND, 3, 900), (FAULT, 0, 7)]);
            let mut slow = score("service_demand_of_everything", "receive", 1234.5 + f64::from(it), "us/KB");
            slow.lower_is_better = true;
            figures.results.push(slow);
            figures
        };
        [0, 1, 2].map(run)
    };
    let (a, b) = (folder.group(&runs(1000.0)), folder.group(&runs(2000.0)));
    let output = Command::new(env!("CARGO_BIN_EXE_tracer")).args(["diff", &a, &b]).env("COLUMNS", "80").output();
    let text = String::from_utf8(output.expect("tracer runs").stdout).expect("UTF-8");
    // What the user named may be of any length.
    for line in text.lines().filter(|line| !line.contains(".db")) {
        assert!(line.chars().count() <= 80 && line == line.trim_end(), "{line:?}");
    }
    for (blank, next) in text.lines().zip(text.lines().skip(1)) {
        assert!(!blank.is_empty() || !next.starts_with(' '), "a blank line within a section:\n{text}");
    }
}

#[test]
fn what_is_not_alike_stands_above_the_figures() {
    let mut folder = Folder::new();
    let other = Run { kernel: "7.2.0", test: "TCP_STREAM", instances: 4, ..rate(200.0) };
    let (a, b) = (folder.group(&[rate(100.0)]), folder.group(&[other]));
    let text = stdout(&["diff", &a, &b]);
    let (warned, figures) = (text.find("! kernel"), text.find("\nscores"));
    assert!(warned.is_some() && warned < figures, "{text}");
    for what in ["! command", "! benchmark", "! instances"] {
        assert!(text.contains(what), "{what} in {text}");
    }
}

#[test]
fn a_loss_that_could_be_the_change_takes_its_mark() {
    let mut folder = Folder::new();
    let lossy = Run { lost: 100, ..counted(1000.0, &[(SEND, 3, 900)]) };
    let (a, b) = (folder.group(&[counted(1000.0, &[(SEND, 3, 1000)])]), folder.group(&[lossy]));
    let diff = diff(&a, &b, &["--noise", "1%"]);
    assert_eq!(diff["pages"]["paths"][0]["could_be_loss"], true);
    // What has no path is in the totals by order all the same: order 3 did fall.
    assert_eq!(diff["pages"]["by_order"][1]["could_be_loss"], false);
    let losses = diff["setup"].as_array().expect("rows").iter().find(|row| row["what"] == "losses");
    assert!(
        losses.expect("a warning")["b"][0].as_str().expect("words").ends_with("10.0 % of all events lost or missed")
    );
}

#[test]
fn two_columns_sum_to_the_totals_of_each_side() {
    let mut folder = Folder::new();
    let (a, b) = (
        folder.group(&[counted(1000.0, &[(SEND, 3, 31), (FAULT, 0, 7)]), counted(1000.0, &[(FAULT, 0, 3)])]),
        folder.group(&[Run { lost: 2, ..counted(1000.0, &[(SEND_BEFORE, 3, 33), (FAULT, 0, 5)]) }]),
    );
    let columns = stdout(&["diff", &a, &b, "--format", "folded", "--weight", "events"]);
    assert_eq!(
        columns,
        "[lost] 0 2\n\
         __x64_sys_sendto;udp_sendmsg;___kmalloc_large_node.isra.0;__alloc_pages 0 33\n\
         __x64_sys_sendto;udp_sendmsg;___kmalloc_large_node;__alloc_pages_noprof 31 0\n\
         asm_exc_page_fault;do_anonymous_page;__alloc_pages_noprof 10 5\n"
    );
}

#[test]
fn a_run_named_twice_in_one_group_is_refused() {
    let mut folder = Folder::new();
    let (one, two) = (folder.group(&[rate(100.0)]), folder.group(&[rate(101.0)]));
    let output = tracer(&["diff", &format!("{one},{one}"), &two]);
    assert_eq!(output.status.code(), Some(2));
    let line = String::from_utf8_lossy(&output.stderr);
    assert!(line.contains("are the same run") && line.lines().count() == 1, "{line}");
    assert_eq!(tracer(&["diff", &one, "/nowhere.db"]).status.code(), Some(2));
    assert_eq!(tracer(&["diff", &one, &format!("{two},")]).status.code(), Some(2));
}

#[test]
fn two_and_two_runs_without_overlap_are_marked_and_overlapping_ones_are_not() {
    let mut folder = Folder::new();
    let base = folder.group(&[rate(100.0), rate(100.5), rate(99.5)]);
    let faster = folder.group(&[rate(110.0), rate(110.5), rate(109.5)]);
    let wild = folder.group(&[rate(90.0), rate(112.0), rate(105.0)]);
    assert_eq!(diff(&base, &faster, &[])["verdict"], "better");
    assert_eq!(diff(&faster, &base, &[])["verdict"], "worse");
    assert_eq!(diff(&base, &wild, &[])["verdict"], "no_significant_change");
    assert_eq!(diff(&base, &faster, &["--noise", "20%"])["verdict"], "within_noise");
}
