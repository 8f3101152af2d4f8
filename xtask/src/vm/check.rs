//! The check of a kernel: the tracer loads, attaches, counts every allocation of a netperf and remembers its paths.
//!
//! The truth comes from elsewhere: netperf says how many messages it has sent, each of which takes one block of order
//! 2 (8,192 bytes and what the kernel adds are more than two pages), and `/proc/vmstat` how many pages were taken.
//! Knows of the tracer its command line and its JSON.

use std::{
    fs,
    num::NonZero,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use super::{
    beside::{self, Beside},
    kernel::Kernel,
    machine::{End, Job, Machine, Outcome, Output},
    trouble::Kind,
};
use crate::console;

const SCRIPT: &str = include_str!("check.sh");
/// Some ten times what it takes on an idle host.
const LIMIT: Duration = Duration::from_mins(15);
/// Part of the pages that may be seen by the kernel or us alone: those of the moment between the two readings.
const PAGES_APART: f64 = 0.01;
/// As many may be apart on however short a run.
const PAGES_APART_AT_LEAST: f64 = 32.0;

/// What was found on one kernel.
pub(crate) struct Finding {
    /// Host seconds from the start of qemu to the command.
    pub(crate) boot: Option<f64>,
    /// Host seconds of everything.
    pub(crate) seconds: f64,
    pub(crate) figures: Option<Figures>,
    /// Why the check failed, each reason; empty when it passed.
    pub(crate) failures: Vec<String>,
}

/// What the tracer measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    /// Guest seconds from the start of `tracer run` to the start of the traced command: kernel types, symbols,
    /// self-test, verification.
    pub(crate) load: f64,
    pub(crate) paths: String,
    pub(crate) events: u64,
    pub(crate) pages: u64,
    /// By `/proc/vmstat` minus what we saw.
    pub(crate) unseen_pages: Option<i64>,
    pub(crate) messages: u64,
    pub(crate) order_2: u64,
    pub(crate) audited: u64,
    pub(crate) disagreed: u64,
    /// Signal and the hook taken, of all that doctor knows.
    pub(crate) hooks: Vec<(String, String)>,
    /// Socket memory and known numbers.
    pub(super) beside: Beside,
}

/// Checks the tracer on each kernel, as many at a time as this computer has processors for; tells of each when it is
/// done. The findings are in the order of the kernels.
///
/// # Errors
/// Of a kernel there is nothing to boot with.
pub(crate) fn run(machine: &Machine, kernels: &[Kernel]) -> Vec<anyhow::Result<Finding>> {
    let at_once = thread::available_parallelism().map_or(1, NonZero::get).min(kernels.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(kernel) = kernels.get(at) else { return found };
            let finding = check(machine, kernel);
            match &finding {
                Ok(finding) => finding.tell(kernel),
                Err(error) => console::note(&format!("kernel {}: {error:#}", kernel.label)),
            }
            found.push((at, finding));
        }
    };
    let mut findings: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    findings.sort_by_key(|(at, _)| *at);
    findings.into_iter().map(|(_, finding)| finding).collect()
}

fn check(machine: &Machine, kernel: &Kernel) -> anyhow::Result<Finding> {
    let outcome = machine.run(kernel, &Job { script: SCRIPT, limit: Some(LIMIT), output: Output::Kept })?;
    Ok(judge(&outcome))
}

impl Finding {
    fn tell(&self, kernel: &Kernel) {
        let Kernel { label, release, .. } = kernel;
        let word = if self.failures.is_empty() { "passed" } else { "failed" };
        console::note(&format!("kernel {label} ({release}): {word} in {:.0} s", self.seconds));
        for failure in &self.failures {
            console::note(&format!("    {failure}"));
        }
    }
}

fn judge(outcome: &Outcome) -> Finding {
    let mut failures = Vec::new();
    match outcome.end {
        End::Status(0) => {}
        End::Status(status) => failures.push(format!("the guest's script ended with {status}")),
        End::TimeLimit => failures.push(format!("not done after {} s", LIMIT.as_secs())),
        End::Died => failures.push("the guest died".to_owned()),
        End::NoBoot => failures.push("the guest did not boot".to_owned()),
    }
    // A loaded host makes guests stall; what the tracer has found out shows whether it did harm.
    let harmful = |kind: Kind| kind != Kind::Lockup;
    failures.extend(outcome.troubles.iter().filter(|it| harmful(it.kind)).map(ToString::to_string));
    let mut figures = None;
    match read(&outcome.files) {
        Ok(found) => {
            failures.extend(found.failures());
            failures.extend(found.beside.failures());
            figures = Some(found);
        }
        Err(error) => failures.push(format!("{error:#}")),
    }
    if !failures.is_empty() {
        failures.push(format!("see `{}` and `{}`", outcome.console.display(), outcome.files.display()));
    }
    Finding { boot: outcome.boot, seconds: outcome.seconds, figures, failures }
}

/// Reads what the guest's script left.
fn read(folder: &Path) -> anyhow::Result<Figures> {
    let text =
        |name: &str| fs::read_to_string(folder.join(name)).with_context(|| format!("the guest left no `{name}`"));
    let seconds = |name: &str| text(name)?.trim().parse::<f64>().with_context(|| format!("time in `{name}`"));
    for name in ["doctor", "run", "sockets"] {
        let status = text(&format!("{name}.status"))?;
        // Doctor tells by 1 that this kernel lacks something.
        if status.trim() != "0" && (name, status.trim()) != ("doctor", "1") {
            let said = text(&format!("{name}.err")).unwrap_or_default();
            bail!("`tracer {name}` ended with {}: {}", status.trim(), said.lines().next_back().unwrap_or("no word"));
        }
    }
    let doctor: Value = serde_json::from_str(&text("doctor.json")?).context("`tracer doctor --json`")?;
    let report: Value = serde_json::from_str(&text("run.json")?).context("`tracer run --json`")?;
    let mut figures = figures(&doctor, &report)?;
    figures.load = seconds("run.attached")? - seconds("run.from")?;
    let report: Value = serde_json::from_str(&text("sockets.json")?).context("`tracer run --json` of sockets")?;
    let [from, to] = [text("hugepages.from")?, text("hugepages.to")?];
    figures.beside = beside::read(&report, &text("kprobes").unwrap_or_default(), [&from, &to])?;
    Ok(figures)
}

/// What the two objects say.
///
/// # Errors
/// One of them lacks what the check is about.
fn figures(doctor: &Value, report: &Value) -> anyhow::Result<Figures> {
    let way = doctor.pointer("/paths/way").and_then(Value::as_str).context("doctor names no way to take paths")?;
    let reason = doctor.pointer("/paths/reason").and_then(Value::as_str).unwrap_or_default();
    ensure!(way == "remembered" && reason.is_empty(), "paths are {way}, not remembered: {reason}");
    let text =
        |at: &str| report.pointer(at).and_then(Value::as_str).with_context(|| format!("no `{at}` in the report"));
    let count =
        |at: &str| report.pointer(at).and_then(Value::as_u64).with_context(|| format!("no `{at}` in the report"));
    let rows = |at: &str| report.pointer(at).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let sum = |at: &str| -> u64 { rows(at).iter().filter_map(|row| row["events"].as_u64()).sum() };

    let verdict = text("/completeness/verdict")?;
    ensure!(verdict != "estimate", "the report calls itself an estimate");
    let (events, lost) = (count("/pages/events")?, count("/pages/lost")?);
    let (by_order, by_path) = (sum("/pages/by_order"), sum("/pages/paths"));
    ensure!(by_order == events, "{by_order} events by order, {events} in all");
    ensure!(by_path + lost == events, "{by_path} events by path and {lost} lost, {events} in all");

    let order_2 = rows("/pages/by_order").iter().find(|row| row["order"] == 2).and_then(|row| row["events"].as_u64());
    let sent = |row: &&Value| row["metric"] == "messages" && row["side"] == "send";
    let sent = rows("/benchmark/results").iter().find(sent).and_then(|row| row["value"].as_f64());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "netperf prints a whole number")]
    let messages = sent.context("the report has no messages sent by netperf")? as u64;
    let hooks = doctor["signals"].as_array().map_or(&[][..], Vec::as_slice).iter().map(|row| {
        let word = |key: &str| row[key].as_str().unwrap_or("missing").to_owned();
        (word("name"), word("hook"))
    });
    Ok(Figures {
        load: 0.0,
        paths: text("/completeness/paths")?.to_owned(),
        events,
        pages: count("/pages/pages")?,
        unseen_pages: report.pointer("/completeness/unseen_pages").and_then(Value::as_i64),
        messages,
        order_2: order_2.unwrap_or(0),
        audited: count("/completeness/audit/checked")?,
        disagreed: count("/completeness/audit/disagreed")?,
        hooks: hooks.collect(),
        beside: Beside::default(),
    })
}

impl Figures {
    /// What is not as it must be.
    fn failures(&self) -> Vec<String> {
        let Self { paths, pages, messages, order_2, audited, disagreed, .. } = self;
        let mut failures = Vec::new();
        if paths != "remembered" {
            failures.push(format!("paths of the run are {paths}, not remembered"));
        }
        if *audited == 0 || *disagreed > 0 {
            failures.push(format!("audit: {disagreed} of {audited} remembered paths were wrong"));
        }
        // Others may take blocks of order 2, too: forks do.
        if *messages == 0 || order_2 < messages || order_2 - messages > messages / 100 + 64 {
            failures.push(format!("{order_2} allocations of order 2 for {messages} messages"));
        }
        match self.unseen_pages {
            None => failures.push("pages were not compared with `/proc/vmstat`".to_owned()),
            Some(unseen) if unseen.abs() as f64 > PAGES_APART_AT_LEAST.max(*pages as f64 * PAGES_APART) => {
                failures.push(format!("{pages} pages seen, {unseen} more by `/proc/vmstat`"));
            }
            Some(_) => {}
        }
        failures
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn doctor() -> Value {
        json!({ "paths": { "way": "remembered", "one_in": 1, "reason": "" },
                "signals": [ { "name": "page.alloc", "hook": "raw_tracepoint:mm_page_alloc" },
                             { "name": "reclaim", "hook": null } ] })
    }

    fn report() -> Value {
        json!({ "completeness": { "verdict": "exact", "unseen_pages": -3, "paths": "remembered",
                                  "audit": { "checked": 9, "disagreed": 0 } },
                "benchmark": { "results": [ { "metric": "messages", "side": "receive", "value": 80.0 },
                                            { "metric": "messages", "side": "send", "value": 100.0 } ] },
                "pages": { "events": 141, "pages": 440, "lost": 1,
                           "by_order": [ { "order": 0, "events": 40 }, { "order": 2, "events": 101 } ],
                           "paths": [ { "events": 100 }, { "events": 40 } ] } })
    }

    fn with(at: &str, value: Value) -> Value {
        let mut report = report();
        *report.pointer_mut(at).unwrap() = value;
        report
    }

    #[test]
    fn a_report_that_closes_and_agrees_passes() {
        let figures = figures(&doctor(), &report()).unwrap();
        assert_eq!((figures.messages, figures.order_2, figures.unseen_pages), (100, 101, Some(-3)));
        let hooks = [("page.alloc", "raw_tracepoint:mm_page_alloc"), ("reclaim", "missing")];
        assert_eq!(figures.hooks, hooks.map(|(name, hook)| (name.to_owned(), hook.to_owned())));
        assert!(figures.failures().is_empty(), "{:?}", figures.failures());
    }

    #[test]
    fn counts_that_do_not_close_are_refused() {
        for (at, value) in [("/pages/events", 142), ("/pages/lost", 0), ("/pages/by_order/0/events", 39)] {
            assert!(figures(&doctor(), &with(at, json!(value))).is_err(), "{at}");
        }
        assert!(figures(&doctor(), &with("/completeness/verdict", json!("estimate"))).is_err());
    }

    #[test]
    fn a_self_test_that_failed_is_refused_with_its_reason() {
        let doctor = json!({ "paths": { "way": "unwound", "reason": "self-test: 0 of 1024" } });
        let error = figures(&doctor, &report()).unwrap_err().to_string();
        assert_eq!(error, "paths are unwound, not remembered: self-test: 0 of 1024");
    }

    #[test]
    fn each_disagreement_fails_the_check() {
        let cases = [
            ("/completeness/paths", json!("unwound")),
            ("/completeness/audit/disagreed", json!(1)),
            ("/completeness/audit/checked", json!(0)),
            ("/completeness/unseen_pages", json!(33)),
            ("/completeness/unseen_pages", json!(-33)),
            ("/completeness/unseen_pages", json!(null)),
            ("/benchmark/results/1/value", json!(102)),
            ("/benchmark/results/1/value", json!(30)),
        ];
        for (at, value) in cases {
            let figures = figures(&doctor(), &with(at, value.clone())).unwrap();
            assert_eq!(figures.failures().len(), 1, "{at} {value}: {:?}", figures.failures());
        }
    }
}
