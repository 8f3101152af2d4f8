//! The figures as text.

use super::result::{Cell, Results, Section, Spread};

/// The whole table.
pub(super) fn lines(results: &Results) -> Vec<String> {
    let machine = &results.machine;
    let text = |name: &str| machine[name].as_str().unwrap_or("-").to_owned();
    let (before, after) = results.load_average;
    let mut lines = vec![
        format!("kernel {}, {}, {} CPUs", text("kernel"), text("cpu"), machine["cpus"]),
        format!("load average {before:.2} at the start, {after:.2} at the end"),
    ];
    if results.dev {
        lines.push("dev build of the tracer: user space is slower than in a release".to_owned());
    }
    if !results.sections.is_empty() {
        lines.push(format!(
            "throughput kept: netperf of {} s under a tool / netperf beside it without, {} rounds",
            results.seconds, results.rounds
        ));
    }
    lines.extend(results.sections.iter().flat_map(section));
    lines
}

fn section(section: &Section) -> Vec<String> {
    let alone = section.alone();
    let spread = |it: Spread| format!("{:.0} {} ({:.0} to {:.0})", it.median, section.test.unit(), it.min, it.max);
    let mut lines = vec![
        String::new(),
        format!("{}, without a tool {}", section.test, alone.map_or_else(|| "-".to_owned(), spread)),
        format!(
            "{:<26}{:>7}{:>7}{:>7}{:>8}{:>9}{:>7}{:>9}{:>9}{:>7}{:>8}",
            "under", "kept", "min", "max", "/empty", "/bt-stk", "/perf", "ns/event", "counted", "CPU %", "MiB"
        ),
    ];
    lines.extend(section.cells.iter().map(|cell| line(section, cell)));
    let reasons = |cell: &Cell| {
        let shown = cell.row.shown;
        cell.reasons.iter().map(move |reason| format!("  {shown}: {reason}")).collect::<Vec<_>>()
    };
    lines.extend(section.cells.iter().flat_map(reasons));
    lines
}

fn line(section: &Section, cell: &Cell) -> String {
    let kept = cell.kept();
    let number =
        |value: Option<f64>, digits: usize| value.map_or_else(|| "-".to_owned(), |it| format!("{it:.digits$}"));
    let counted = section.counted(cell).map(|it| it * 100.0);
    format!(
        "{:<26}{:>7}{:>7}{:>7}{:>8}{:>9}{:>7}{:>9}{:>9}{:>7}{:>8}",
        cell.row.shown,
        number(kept.map(|it| it.median), 3),
        number(kept.map(|it| it.min), 3),
        number(kept.map(|it| it.max), 3),
        number(section.against(cell, "empty"), 3),
        number(section.against(cell, "bpftrace-stack"), 2),
        number(section.against(cell, "perf"), 2),
        number(cell.ns_per_event, 0),
        number(counted, 1) + if counted.is_some() { " %" } else { "" },
        number(cell.cpu_percent(), 1),
        number(cell.resident_kib().map(|it| it as f64 / 1024.0), 0),
    )
}
