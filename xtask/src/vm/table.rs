//! Tables of what happened on several kernels: columns as wide as they must be.

use super::{check::Finding, ended, kernel::Kernel, machine::Outcome};

/// One line a kernel, then one a signal with the hook taken on each kernel.
pub(crate) fn of_checks(findings: &[(&Kernel, Finding)]) -> Vec<String> {
    let head = [
        "kernel",
        "release",
        "boot",
        "load",
        "paths",
        "events",
        "pages",
        "unseen",
        "messages",
        "order 2",
        "disagreed",
        "pages/16 KiB",
        "beyond",
        "result",
    ];
    let rows = findings.iter().map(|(kernel, finding)| {
        let result = if finding.failures.is_empty() { "passed" } else { "failed" };
        let figures = finding.figures.as_ref();
        let number = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        vec![
            kernel.label.to_owned(),
            kernel.release.clone(),
            seconds(finding.boot),
            seconds(figures.map(|it| it.load)),
            figures.map_or_else(|| "-".to_owned(), |it| it.paths.clone()),
            number(figures.map(|it| it.events)),
            number(figures.map(|it| it.pages)),
            figures.and_then(|it| it.unseen_pages).map_or_else(|| "-".to_owned(), |pages| pages.to_string()),
            number(figures.map(|it| it.messages)),
            number(figures.map(|it| it.order_2)),
            figures.map_or_else(|| "-".to_owned(), |it| format!("{} of {}", it.disagreed, it.audited)),
            figures.and_then(|it| it.beside.pages_each).map_or_else(|| "-".to_owned(), |pages| format!("{pages:.2}")),
            figures.and_then(|it| it.beside.beyond).map_or_else(|| "-".to_owned(), |bytes| format!("{bytes:.0} B")),
            format!("{result} in {}", seconds(Some(finding.seconds))),
        ]
    });
    let mut lines = lines(&std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect::<Vec<_>>());
    let hooks = hooks(findings);
    if !hooks.is_empty() {
        lines.push(String::new());
        lines.extend(self::lines(&hooks));
    }
    lines
}

/// The hook of each signal on each kernel.
fn hooks(findings: &[(&Kernel, Finding)]) -> Vec<Vec<String>> {
    let found: Vec<_> = findings.iter().filter_map(|(kernel, it)| Some((kernel.label, it.figures.as_ref()?))).collect();
    let mut signals: Vec<&String> = Vec::new();
    for (signal, _) in found.iter().flat_map(|(_, figures)| &figures.hooks) {
        if !signals.contains(&signal) {
            signals.push(signal);
        }
    }
    if signals.is_empty() {
        return Vec::new();
    }
    let head = std::iter::once("signal".to_owned()).chain(found.iter().map(|(label, _)| (*label).to_owned()));
    let rows = signals.into_iter().map(|signal| {
        let hook = |hooks: &[(String, String)]| {
            hooks.iter().find(|(name, _)| name == signal).map_or_else(|| "-".to_owned(), |(_, hook)| hook.clone())
        };
        std::iter::once(signal.clone()).chain(found.iter().map(|(_, figures)| hook(&figures.hooks))).collect()
    });
    std::iter::once(head.collect()).chain(rows).collect()
}

/// One line a kernel.
pub(super) fn of_runs(outcomes: &[(&Kernel, Outcome)]) -> Vec<String> {
    let head = ["kernel", "release", "boot", "all", "end", "trouble"];
    let rows = outcomes.iter().map(|(kernel, outcome)| {
        let troubles: Vec<_> = outcome.troubles.iter().map(ToString::to_string).collect();
        vec![
            kernel.label.to_owned(),
            kernel.release.clone(),
            seconds(outcome.boot),
            seconds(Some(outcome.seconds)),
            ended(outcome.end),
            if troubles.is_empty() { "none".to_owned() } else { troubles.join("; ") },
        ]
    });
    lines(&std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect::<Vec<_>>())
}

fn seconds(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1} s"))
}

/// Rows of cells as lines: two spaces between columns, none at the end.
fn lines(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0);
    let widths: Vec<_> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "bb", "c"], ["aaa", "b", ""]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(lines(&rows), ["a    bb  c", "aaa  b"]);
    }
}
