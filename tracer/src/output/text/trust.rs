//! How far to trust the report: hooks, losses, audit, what no hook saw, and what the tracing itself cost.

use std::collections::BTreeMap;

use super::sheet::{Column, Sheet, Tone};
use crate::{
    signal::Status,
    snapshot::{Completeness, SignalRow, Snapshot, Verdict, sum},
    units,
};

/// Writes hooks, losses and verdict.
pub(super) fn write(snapshot: &Snapshot, sheet: &mut Sheet) {
    hooks(snapshot, sheet);
    let completeness = &snapshot.completeness;
    sheet.heading("completeness", "");
    verdict(completeness, sheet);
    losses(completeness, sheet);
    events(completeness, sheet);
    lookups(completeness, sheet);
    audit(completeness, sheet);
    unseen(snapshot, sheet);
    cost(snapshot, sheet);
    for warning in &completeness.warnings {
        sheet.toned(Tone::Warning, "warning: ", warning);
    }
}

fn hooks(snapshot: &Snapshot, sheet: &mut Sheet) {
    if snapshot.signals.is_empty() {
        return;
    }
    sheet.heading("hooks", "");
    let optional = |number: Option<u64>| number.map_or_else(|| units::NOT_MEASURED.to_owned(), units::count);
    let rows = snapshot
        .signals
        .iter()
        .map(|row| {
            let missed = optional(row.missed);
            vec![
                sheet.clean(&row.signal),
                optional(row.events),
                if row.missed.is_some_and(|missed| missed > 0) { sheet.paint(Tone::Bad, &missed) } else { missed },
                row.ns_per_event.map_or_else(|| units::NOT_MEASURED.to_owned(), units::nanoseconds),
                sheet.clean(row.hook.as_deref().unwrap_or(match row.status {
                    Status::Missing => "missing",
                    Status::Attached | Status::Degraded => units::NOT_MEASURED,
                })),
            ]
        })
        .collect();
    let columns = [
        Column::Left("signal"),
        Column::Right("events"),
        Column::Right("missed"),
        Column::Right("per event"),
        Column::Left("hook"),
    ];
    sheet.table(&columns, rows);
    for row in snapshot.signals.iter().filter(|row| !row.note.is_empty()) {
        sheet.hanging(&format!("{}: ", sheet.clean(&row.signal)), &row.note);
    }
}

fn verdict(completeness: &Completeness, sheet: &mut Sheet) {
    let disagreed = completeness.audit.as_ref().is_some_and(|audit| audit.disagreed > 0);
    let (tone, word, reason) = match completeness.verdict {
        Verdict::Exact => (Tone::Good, "exact", "nothing that the hooks can see was lost or missed"),
        Verdict::LowerBound => {
            (Tone::Bad, "lower bound", "at least this much happened; what was lost or missed is listed here")
        }
        Verdict::Estimate if disagreed => {
            (Tone::Warning, "estimate", "the audit found paths taken for others; totals by order are not affected")
        }
        Verdict::Estimate => (
            Tone::Warning,
            "estimate",
            "paths were sampled and scaled to the totals by order, which are counted on every event",
        ),
    };
    let paths = if completeness.paths == "off" { "; paths were not taken" } else { "" };
    sheet.toned(tone, "verdict  ", &format!("{word}: {reason}{paths}"));
}

fn losses(completeness: &Completeness, sheet: &mut Sheet) {
    if completeness.lost.is_empty() {
        sheet.line("lost     nothing");
        return;
    }
    for (cause, events) in &completeness.lost {
        sheet.hanging("lost     ", &format!("{} events: {cause}", units::count(*events)));
    }
}

fn events(completeness: &Completeness, sheet: &mut Sheet) {
    let Some(events) = &completeness.events else { return };
    sheet.line(&format!(
        "events   {} single events written of {} seen, {} lost to the full ring buffer",
        units::count(events.written),
        units::count(events.seen),
        units::count(events.lost)
    ));
}

fn lookups(completeness: &Completeness, sheet: &mut Sheet) {
    let Some(lookups) = &completeness.lookups else { return };
    let taken = lookups.hits + lookups.unwound;
    let mut parts = vec![format!(
        "{} of {} remembered ({}), {} unwound",
        units::count(lookups.hits),
        units::count(taken),
        units::percent(lookups.hits, taken),
        units::count(lookups.unwound),
    )];
    if lookups.evicted > 0 {
        parts.push(format!("{} keys thrown out for others", units::count(lookups.evicted)));
    }
    if lookups.unremembered > 0 {
        parts.push(format!("{} on paths that cannot be remembered", units::count(lookups.unremembered)));
    }
    sheet.hanging("paths    ", &parts.join("; "));
}

fn audit(completeness: &Completeness, sheet: &mut Sheet) {
    let text = match &completeness.audit {
        None => "not done".to_owned(),
        Some(audit) => format!(
            "{} of {} paths unwound again were other paths ({})",
            units::count(audit.disagreed),
            units::count(audit.checked),
            units::percent(audit.disagreed, audit.checked)
        ),
    };
    sheet.hanging("audit    ", &text);
}

fn unseen(snapshot: &Snapshot, sheet: &mut Sheet) {
    let seen = snapshot.pages.as_ref().map_or(0, |pages| pages.pages);
    let text = match snapshot.completeness.unseen_pages {
        None => "not compared with /proc/vmstat".to_owned(),
        Some(0) => "no page: /proc/vmstat counted the same".to_owned(),
        Some(unseen) if unseen > 0 => format!(
            "{} pages that /proc/vmstat counted and no hook saw ({} of those seen); bulk allocations fire no hook",
            units::signed_count(unseen),
            units::percent(unseen.unsigned_abs(), seen)
        ),
        Some(more) => {
            format!("none; the hooks saw {} pages more than /proc/vmstat counted", units::count(more.unsigned_abs()))
        }
    };
    sheet.hanging("unseen   ", &text);
}

/// Signals that share a hook share its program: its cost counts once.
fn cost(snapshot: &Snapshot, sheet: &mut Sheet) {
    let mut by_hook: BTreeMap<&str, (f64, u64)> = BTreeMap::new();
    for row in &snapshot.signals {
        if let SignalRow { hook: Some(hook), ns_per_event: Some(ns), events: Some(events), .. } = row {
            let sum = by_hook.entry(hook).or_insert((*ns, 0));
            sum.1 = sum.1.saturating_add(*events);
        }
    }
    if by_hook.is_empty() {
        sheet.hanging("cost     ", "not measured (the kernel measures it with `sysctl kernel.bpf_stats_enabled=1`)");
        return;
    }
    let events = sum(by_hook.values().map(|(_, events)| *events));
    let ns: f64 = by_hook.values().map(|(ns, events)| ns * *events as f64).sum();
    let available_s = snapshot.window.duration_s * f64::from(snapshot.host.cpus);
    let share = if available_s > 0.0 {
        format!(", {} % of {} CPUs over the window", units::decimal(ns / 1e7 / available_s), snapshot.host.cpus)
    } else {
        String::new()
    };
    sheet.hanging(
        "cost     ",
        &format!("{} of the tracer's own programs for {} events{share}", units::nanoseconds(ns), units::count(events)),
    );
}
