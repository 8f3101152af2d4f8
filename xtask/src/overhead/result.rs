//! The figures: collected by test and row, summed up as medians, and what of them is believed.

use serde_json::{Value, json};

use super::{
    kernel,
    load::{Load, Score},
    rows::Row,
    scaling::Scaling,
    tool::Account,
};

/// A run under a tool and the one beside it without.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) traced: Score,
    pub(super) alone: Score,
    /// `None` for the row of nothing.
    pub(super) account: Option<Account>,
}

/// All rounds of one row in one test.
pub(super) struct Cell {
    pub(super) row: Row,
    pairs: Vec<Pair>,
    /// ns an event; `None` where there is no program, or it was not measured.
    pub(super) ns_per_event: Option<f64>,
    /// Why runs failed or are not believed, each once.
    pub(super) reasons: Vec<String>,
}

/// Median, least and most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Spread {
    /// Of some values; `None` of none.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_unstable_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let median = f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(Self { median, min, max })
    }
}

/// One test under all rows.
pub(super) struct Section {
    pub(super) test: Load,
    pub(super) cells: Vec<Cell>,
}

/// Everything measured, and where.
pub(super) struct Results {
    pub(super) sections: Vec<Section>,
    pub(super) machine: Value,
    pub(super) load_average: (f64, f64),
    pub(super) seconds: u64,
    pub(super) rounds: u32,
    pub(super) dev: bool,
}

impl Results {
    pub(super) fn new(seconds: u64, rounds: u32, dev: bool) -> Self {
        let load = kernel::load_average();
        Self { sections: Vec::new(), machine: kernel::machine(), load_average: (load, load), seconds, rounds, dev }
    }

    /// Nothing more will be measured.
    pub(super) fn end(&mut self) {
        self.load_average.1 = kernel::load_average();
    }

    /// A pair of runs, or why there is none.
    pub(super) fn add(&mut self, test: &Load, row: Row, outcome: Result<Pair, String>) {
        let cell = self.cell(test, row);
        match outcome.and_then(|pair| believed(row, pair)) {
            Ok(pair) => cell.pairs.push(pair),
            Err(reason) => cell.doubt(reason),
        }
    }

    /// What an event costs, or why that is not known.
    pub(super) fn add_cost(&mut self, test: &Load, row: Row, outcome: Result<f64, String>) {
        let cell = self.cell(test, row);
        match outcome {
            Ok(cost) => cell.ns_per_event = Some(cost),
            Err(reason) => cell.doubt(reason),
        }
    }

    fn cell(&mut self, test: &Load, row: Row) -> &mut Cell {
        let section = index_or_push(
            &mut self.sections,
            |it| it.test == *test,
            || Section { test: test.clone(), cells: Vec::new() },
        );
        let cells = &mut self.sections[section].cells;
        let cell = index_or_push(
            cells,
            |it| it.row == row,
            || Cell { row, pairs: Vec::new(), ns_per_event: None, reasons: Vec::new() },
        );
        &mut cells[cell]
    }

    /// Everything as JSON.
    pub(super) fn json(&self, scaling: &Scaling) -> Value {
        json!({
            "schema": "tracer.overhead/1",
            "machine": self.machine,
            "load_average": { "start": self.load_average.0, "end": self.load_average.1 },
            "rounds": self.rounds,
            "seconds": self.seconds,
            "build": if self.dev { "dev" } else { "release" },
            "tests": self.sections.iter().map(Section::json).collect::<Vec<_>>(),
            "scaling": scaling.scaling,
            "user_space": scaling.user_space,
        })
    }
}

fn index_or_push<T>(list: &mut Vec<T>, is: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> usize {
    list.iter().position(is).unwrap_or_else(|| {
        list.push(make());
        list.len() - 1
    })
}

/// The share of pages that a tool of ours must have counted, of those that the kernel counted meanwhile. The two are
/// not read at the same moment, and bulk allocations are in the kernel's sum alone.
const COUNTED_AT_LEAST: f64 = 0.8;
const COUNTED_AT_MOST: f64 = 1.2;

/// A run whose tool counted nothing, or in the tracer's case not nearly all, says nothing of what counting costs.
fn believed(row: Row, pair: Pair) -> Result<Pair, String> {
    let Some(account) = pair.account else { return Ok(pair) };
    if account.counted.events == Some(0) {
        return Err("it counted nothing".to_owned());
    }
    let share = account.counted.pages.map(|pages| pages as f64 / account.pages.max(1) as f64);
    if row.is_tracer() && !share.is_some_and(|share| (COUNTED_AT_LEAST..=COUNTED_AT_MOST).contains(&share)) {
        return Err(format!("it counted {:?} pages, the kernel {}", account.counted.pages, account.pages));
    }
    Ok(pair)
}

impl Section {
    /// The row of this name.
    pub(super) fn named(&self, name: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.row.name == name)
    }

    /// How many times what the other row keeps this one keeps.
    pub(super) fn against(&self, cell: &Cell, other: &str) -> Option<f64> {
        Some(cell.kept()?.median / self.named(other)?.kept()?.median)
    }

    /// Throughput without any tool.
    pub(super) fn alone(&self) -> Option<Spread> {
        Spread::of(self.cells.iter().flat_map(|cell| &cell.pairs).map(|pair| pair.alone.sent))
    }

    /// By how much two runs without a tool beside each other differed at the most, 0 for not at all.
    pub(super) fn noise(&self) -> Option<f64> {
        let kept = self.named("nothing")?.kept()?;
        Some((1.0 - kept.min).abs().max((kept.max - 1.0).abs()))
    }

    /// Pages an event, as the rows that count both tell.
    fn pages_per_event(&self) -> Option<f64> {
        let accounts = self.cells.iter().flat_map(Cell::accounts);
        let both =
            accounts.filter_map(|it| Some(it.counted.pages? as f64 / it.counted.events.filter(|n| *n > 0)? as f64));
        Some(Spread::of(both)?.median)
    }

    /// The share of the events that a row's tool counted, 1 for all: by pages against the kernel's sum, else by events
    /// against what the other rows lead to expect.
    pub(super) fn counted(&self, cell: &Cell) -> Option<f64> {
        let share = |account: &Account| {
            let pages = account.counted.pages.map(|pages| pages as f64);
            let pages = pages.or_else(|| Some(account.counted.events? as f64 * self.pages_per_event()?))?;
            Some(pages / account.pages.max(1) as f64)
        };
        Some(Spread::of(cell.accounts().filter_map(share))?.median)
    }

    fn json(&self) -> Value {
        json!({
            "test": self.test.test,
            "message_bytes": self.test.size,
            "unit": self.test.unit(),
            "alone": spread_json(self.alone()),
            "noise": self.noise(),
            "rows": self.cells.iter().map(|cell| self.cell_json(cell)).collect::<Vec<_>>(),
        })
    }

    fn cell_json(&self, cell: &Cell) -> Value {
        json!({
            "row": cell.row.name,
            "kept": spread_json(cell.kept()),
            "against_empty": self.against(cell, "empty"),
            "against_bpftrace_stack": self.against(cell, "bpftrace-stack"),
            "against_perf": self.against(cell, "perf"),
            "ns_per_event": cell.ns_per_event,
            "counted": self.counted(cell),
            "cpu_percent": cell.cpu_percent(),
            "resident_kib": cell.resident_kib(),
            "reasons": cell.reasons,
            "rounds": cell.pairs.iter().map(pair_json).collect::<Vec<_>>(),
        })
    }
}

fn spread_json(spread: Option<Spread>) -> Value {
    spread.map_or(Value::Null, |it| json!({ "median": it.median, "min": it.min, "max": it.max }))
}

fn pair_json(pair: &Pair) -> Value {
    let score = |score: Score| json!({ "sent": score.sent, "arrived": score.arrived });
    json!({
        "traced": score(pair.traced),
        "alone": score(pair.alone),
        "events": pair.account.and_then(|it| it.counted.events),
        "pages": pair.account.and_then(|it| it.counted.pages),
        "kernel_pages": pair.account.map(|it| it.pages),
    })
}

impl Cell {
    fn doubt(&mut self, reason: String) {
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
    }

    fn accounts(&self) -> impl Iterator<Item = &Account> {
        self.pairs.iter().filter_map(|pair| pair.account.as_ref())
    }

    /// Throughput under the tool, 1 for that of the run beside it.
    pub(super) fn kept(&self) -> Option<Spread> {
        Spread::of(self.pairs.iter().map(|pair| pair.traced.sent / pair.alone.sent))
    }

    /// CPU time of the tool's process, percent of one CPU.
    pub(super) fn cpu_percent(&self) -> Option<f64> {
        Some(Spread::of(self.accounts().map(|it| it.cpu_percent))?.median)
    }

    /// The tool's highest resident memory, KiB.
    pub(super) fn resident_kib(&self) -> Option<u64> {
        self.accounts().map(|it| it.resident_kib).max()
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{counted::Counted, rows},
        *,
    };

    fn pair(traced: f64, alone: f64, events: u64, pages: Option<u64>) -> Pair {
        let score = |sent| Score { sent, arrived: sent / 2.0 };
        let counted = Counted { events: Some(events), pages };
        let account = Account { counted, pages: 1000, cpu_percent: 1.0, resident_kib: 100 };
        Pair { traced: score(traced), alone: score(alone), account: Some(account) }
    }

    fn results(pairs: &[(&str, Pair)]) -> Results {
        let mut results = Results::new(1, 1, false);
        for (row, pair) in pairs {
            results.add(&"TCP_RR".parse().unwrap(), rows::named(row).unwrap(), Ok(*pair));
        }
        results
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert_eq!(Spread::of([4.0, 1.0, 3.0, 2.0]), Some(Spread { median: 2.5, min: 1.0, max: 4.0 }));
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Some(Spread { median: 2.0, min: 1.0, max: 3.0 }));
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn throughput_kept_is_against_the_run_beside_it_and_not_against_the_mean() {
        let results =
            results(&[("exact", pair(90.0, 100.0, 9, Some(1000))), ("exact", pair(45.0, 50.0, 9, Some(1000)))]);
        let kept = results.sections[0].cells[0].kept().unwrap();
        assert_eq!(kept, Spread { median: 0.9, min: 0.9, max: 0.9 });
    }

    #[test]
    fn a_row_that_counted_nothing_or_too_little_of_ours_is_not_believed() {
        let results = results(&[
            ("perf", pair(1.0, 1.0, 0, None)),
            ("exact", pair(1.0, 1.0, 9, Some(799))),
            ("off", pair(1.0, 1.0, 9, Some(1201))),
            ("sample", pair(1.0, 1.0, 9, None)),
        ]);
        for cell in &results.sections[0].cells {
            assert!(cell.kept().is_none() && cell.reasons.len() == 1, "{}", cell.row.name);
        }
    }

    #[test]
    fn noise_is_the_largest_difference_either_way() {
        let runs = [("nothing", pair(80.0, 100.0, 9, None)), ("nothing", pair(110.0, 100.0, 9, None))];
        let noise = results(&runs).sections[0].noise().unwrap();
        assert!((noise - 0.2).abs() < 1e-9, "{noise}");
        assert_eq!(results(&[("perf", pair(1.0, 1.0, 9, None))]).sections[0].noise(), None);
    }

    #[test]
    fn events_alone_are_compared_with_the_pages_an_event_of_the_other_rows() {
        // 10 events of 100 pages each in one row; 5 events in the other are half of what the kernel counted.
        let results = results(&[("exact", pair(1.0, 1.0, 10, Some(1000))), ("perf", pair(1.0, 1.0, 5, None))]);
        let section = &results.sections[0];
        assert_eq!(section.counted(section.named("perf").unwrap()), Some(0.5));
    }

    #[test]
    fn rows_are_compared_by_their_medians_and_not_at_all_without_the_other() {
        let results = results(&[("exact", pair(90.0, 100.0, 9, Some(1000))), ("perf", pair(30.0, 100.0, 9, None))]);
        let section = &results.sections[0];
        let exact = section.named("exact").unwrap();
        assert!((section.against(exact, "perf").unwrap() - 3.0).abs() < 1e-9);
        assert_eq!(section.against(exact, "empty"), None);
    }
}
