//! What differs between runs beside what was measured: where it is more than the one thing under test, the comparison
//! is not fair.
//!
//! Must not know: figures.

use serde::Serialize;

use super::Run;
use crate::snapshot::Snapshot;

/// Windows whose lengths differ by more than this are no longer the same kind of run.
const DURATION_RATIO: f64 = 1.1;

/// A loss above this may explain what is compared.
const LOSS_PERCENT: f64 = 1.0;

/// Something that is not the same in all runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What it is.
    pub what: String,
    /// What is found in A, each once; several where A's own runs differ.
    pub a: Vec<String>,
    /// What is found in B.
    pub b: Vec<String>,
    /// What that means for the comparison.
    pub meaning: String,
}

/// Everything that is not the same in all runs, or that is wrong with one of them.
pub(super) fn differences(a: &[Run], b: &[Run]) -> Vec<Difference> {
    let mut found = Found { a, b, differences: Vec::new() };
    found.unequal("kernel", "allocation paths and their names may differ", |it| it.host.kernel.clone());
    found.unequal("machine", "figures of different machines", |it| it.host.machine.clone());
    found.unequal("cpus", "figures of different machines", |it| it.host.cpus.to_string());
    found.unequal("page size", "a page is not the same amount: compare bytes", |it| it.host.page_size.to_string());
    found.unequal("largest order", "figures of differently configured kernels", |it| it.host.max_order.to_string());
    found.unequal("command", "different work", |it| it.command.as_ref().map_or(none(), |it| it.argv.join(" ")));
    found.unequal("benchmark", "different work", benchmark);
    found.unequal("instances", "the number of instances is part of the result", |it| {
        it.benchmark.as_ref().map_or(none(), |it| it.instances.to_string())
    });
    found.unequal("filters", "different events are counted", |it| match it.completeness.filters.as_slice() {
        [] => none(),
        filters => filters.join(", "),
    });
    found.unequal("paths", "they are not equally exact, and cost differently", |it| it.completeness.paths.clone());
    hooks(&mut found);
    found.unequal("exit status", "a command that failed did other work", |it| match &it.command {
        Some(command) => command.exit_code.map_or("not ended".to_owned(), |code| code.to_string()),
        None => none(),
    });
    found.unequal("owners", "counting by owner costs", |it| {
        let by_owner = it.pages.as_ref().is_some_and(|pages| !pages.by_owner.is_empty());
        if by_owner { "counted".to_owned() } else { none() }
    });
    durations(&mut found);
    found.each("losses", "they may explain a change of this size", losses);
    found.each("not measured", "page allocations cannot be compared", |run| {
        run.snapshot.pages.is_none().then(|| "page allocations".to_owned())
    });
    found.differences
}

fn none() -> String {
    "none".to_owned()
}

struct Found<'runs> {
    a: &'runs [Run],
    b: &'runs [Run],
    differences: Vec<Difference>,
}

impl Found<'_> {
    /// Something that should be the same in every run.
    fn unequal(&mut self, what: &str, meaning: &str, value: impl Fn(&Snapshot) -> String) {
        let distinct = |runs: &[Run]| {
            let mut values: Vec<String> = runs.iter().map(|run| value(&run.snapshot)).collect();
            values.sort();
            values.dedup();
            values
        };
        let (a, b) = (distinct(self.a), distinct(self.b));
        if a != b || a.len() > 1 {
            self.push(what, meaning, a, b);
        }
    }

    /// Something that no run should have.
    fn each(&mut self, what: &str, meaning: &str, value: impl Fn(&Run) -> Option<String>) {
        let of = |runs: &[Run]| -> Vec<String> {
            runs.iter().filter_map(|run| Some(format!("{}: {}", run.name, value(run)?))).collect()
        };
        let (a, b) = (of(self.a), of(self.b));
        if !a.is_empty() || !b.is_empty() {
            self.push(what, meaning, a, b);
        }
    }

    fn push(&mut self, what: &str, meaning: &str, a: Vec<String>, b: Vec<String>) {
        self.differences.push(Difference { what: what.to_owned(), a, b, meaning: meaning.to_owned() });
    }
}

fn benchmark(snapshot: &Snapshot) -> String {
    let Some(benchmark) = &snapshot.benchmark else { return none() };
    let words: Vec<&str> = [&benchmark.tool, &benchmark.test].into_iter().filter_map(Option::as_deref).collect();
    if words.is_empty() { none() } else { words.join(" ") }
}

/// One difference a signal; a signal that a run does not list was not asked for.
fn hooks(found: &mut Found<'_>) {
    let runs = found.a.iter().chain(found.b);
    let mut signals: Vec<String> =
        runs.flat_map(|run| run.snapshot.signals.iter().map(|row| row.signal.clone())).collect();
    signals.sort();
    signals.dedup();
    for signal in signals {
        found.unequal(&format!("hook of {signal}"), "hooks cost differently and may see different events", |it| {
            let row = it.signals.iter().find(|row| row.signal == signal);
            row.and_then(|row| row.hook.clone()).unwrap_or_else(none)
        });
    }
}

fn durations(found: &mut Found<'_>) {
    let durations = |runs: &[Run]| -> Vec<f64> { runs.iter().map(|run| run.snapshot.window.duration_s).collect() };
    let (a, b) = (durations(found.a), durations(found.b));
    let all = || a.iter().chain(&b).copied();
    let (shortest, longest) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    if longest > shortest * DURATION_RATIO {
        let words = |durations: &[f64]| durations.iter().map(|it| format!("{it:.1} s")).collect();
        let (a, b) = (words(&a), words(&b));
        found.push("duration", "set-up and warm-up weigh differently", a, b);
    }
}

fn losses(run: &Run) -> Option<String> {
    let events = run.counted()?;
    let lost = run.losses.without_path.saturating_add(run.losses.uncounted);
    let happened = events.saturating_add(run.losses.uncounted);
    (lost as f64 * 100.0 > LOSS_PERCENT * happened as f64)
        .then(|| format!("{:.1} % of all events lost or missed", lost as f64 * 100.0 / happened as f64))
}
