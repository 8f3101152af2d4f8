//! From a model to the snapshot that is shown.
//!
//! Owns: verdict, signals and everything else beside the page counts, which `pages` sums up.

mod beside;
mod findings;
mod lists;
mod pages;

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Filter, Model, UNEXPLAINED, page::Way};
use crate::{
    batch::ProgramStats,
    run::Traffic,
    signal::{Signal, Status},
    snapshot::{
        Audit, Benchmark, Command, Completeness, Interface, Lookups, SCHEMA, SignalRow, Snapshot, System, Verdict,
        Window, sum,
    },
};

/// The picture of the part of a model that the filter lets through.
pub(super) fn snapshot(model: &Model, filter: &Filter) -> Snapshot {
    let way = Way::from(&model.start.paths);
    let cells = model.ledger.cells(&model.paths, way, model.is_finished(), &model.losses);
    let whole = pages::Sums::new(model, &cells, way, &Filter::default());
    let signals = model.start.signals.iter().map(|signal| signal_row(model, signal, &whole)).collect();
    let completeness = completeness(model, filter, way, whole.lost());
    let pages = model.counts_pages().then(|| {
        let shown = if *filter == Filter::default() { whole } else { pages::Sums::new(model, &cells, way, filter) };
        shown.into_pages(model)
    });
    Snapshot {
        schema: SCHEMA.to_owned(),
        host: model.start.host.clone(),
        window: window(model),
        command: command(model),
        benchmark: benchmark(model),
        signals,
        completeness,
        pages,
        kmalloc_large: beside::kmalloc_large(model),
        fragmentation: beside::fragmentation(model),
        bulk: beside::bulk(model),
        reclaim: beside::reclaim(model),
        sockets: beside::sockets(model),
        system: system(model),
    }
}

fn window(model: &Model) -> Window {
    let start = Timestamp::from_nanosecond(i128::from(model.start.at_unix_ns))
        .expect("an i64 of nanoseconds lies between the years 1677 and 2262");
    Window { start: start.to_string(), duration_s: model.elapsed().as_secs_f64() }
}

fn command(model: &Model) -> Option<Command> {
    if model.start.argv.is_empty() {
        return None;
    }
    let end = model.end.as_ref().and_then(|end| end.command.as_ref());
    Some(Command {
        argv: model.start.argv.clone(),
        exit_code: end.map(|end| end.exit_code),
        wall_s: end.map(|end| end.wall_s),
        user_s: end.map(|end| end.user_s),
        system_s: end.map(|end| end.system_s),
    })
}

fn benchmark(model: &Model) -> Option<Benchmark> {
    let benchmark = model.end.as_ref()?.benchmark.as_ref()?;
    let known = |name: &String| (!name.is_empty()).then(|| name.clone());
    Some(Benchmark {
        tool: known(&benchmark.tool),
        test: known(&benchmark.test),
        instances: benchmark.instances,
        results: benchmark.results.clone(),
        warnings: benchmark.warnings.clone(),
    })
}

/// A signal's events are those of the whole run, whatever the filter shows: they say what the hook did.
fn signal_row(model: &Model, signal: &Signal, whole: &pages::Sums) -> SignalRow {
    let served = signal.status != Status::Missing;
    // Signals that share a hook share its program, which is listed under one of them.
    let programs: Vec<&ProgramStats> = model
        .programs
        .iter()
        .filter(|program| program.signal == signal.name || signal.hook.as_ref() == Some(&program.hook))
        .collect();
    SignalRow {
        signal: signal.name.clone(),
        hook: signal.hook.clone(),
        status: signal.status,
        refused: signal.refused.clone(),
        note: signal.note.clone(),
        events: served
            .then(|| whole.signal_events(&signal.name).or_else(|| beside::signal_events(model, signal)))
            .flatten(),
        missed: (served && !programs.is_empty()).then(|| sum(programs.iter().map(|program| program.missed))),
        ns_per_event: ns_per_event(&programs),
    }
}

fn ns_per_event(programs: &[&ProgramStats]) -> Option<f64> {
    let runs = sum(programs.iter().filter_map(|program| program.run_count));
    let times_ns: Option<Vec<u64>> = programs.iter().map(|program| program.run_time_ns).collect();
    (runs > 0).then_some(())?;
    Some(sum(times_ns?) as f64 / runs as f64)
}

fn completeness(model: &Model, filter: &Filter, way: Way, without_path: u64) -> Completeness {
    let mut lost = model.lost_by_cause();
    let owned_up = sum(model.losses.values().filter(|loss| loss.counted_without_path).map(|loss| loss.events));
    // A sample's losses are scaled like the sample: they are no basis for a difference.
    if way == Way::Every && without_path > owned_up {
        lost.insert(UNEXPLAINED.to_owned(), without_path - owned_up);
    }
    let missed = model.programs.iter().any(|program| program.missed > 0);
    let disagreed = model.audit.is_some_and(|audit| audit.disagreed > 0);
    let verdict = if way == Way::Sampled || disagreed {
        Verdict::Estimate
    } else if missed || without_path > 0 || !lost.is_empty() {
        Verdict::LowerBound
    } else {
        Verdict::Exact
    };
    let end = model.end.as_ref();
    Completeness {
        verdict,
        lost,
        unseen_pages: end.and_then(|end| end.system.unseen_pages),
        lookups: model.lookups.map(|it| Lookups {
            hits: it.hits,
            unwound: it.unwound,
            evicted: it.evicted,
            unremembered: it.unremembered,
        }),
        audit: model.audit.map(|audit| Audit { checked: audit.checked, disagreed: audit.disagreed }),
        events: model.single,
        paths: model.start.paths.way.clone(),
        filters: model.start.filters.iter().cloned().chain(filter.options()).collect(),
        warnings: warnings(model),
    }
}

fn warnings(model: &Model) -> Vec<String> {
    let mut warnings: Vec<String> = model.incomplete.iter().map(|it| format!("the recording is {it}")).collect();
    warnings.extend(model.end.iter().flat_map(|end| end.warnings.clone()));
    let paths = &model.start.paths;
    if !paths.reason.is_empty() {
        warnings.push(format!("paths are {}: {}", paths.way, paths.reason));
    }
    let excess = if model.is_finished() { model.ledger.excess() } else { 0 };
    if excess > 0 {
        warnings
            .push(format!("{excess} events are counted by kind but not in the totals by order, which should be exact"));
    }
    warnings.extend(model.damage.warnings());
    warnings
}

fn system(model: &Model) -> System {
    let Some(end) = &model.end else { return System::default() };
    let vmstat = &end.system.vmstat_delta;
    System {
        buddyinfo: end.system.buddyinfo.clone(),
        vmstat_delta: (!vmstat.is_empty()).then(|| vmstat.clone()),
        sockstat: end.system.sockstat.clone(),
        netstat_delta: end.system.sockstat.is_some().then(|| end.system.netstat_delta.clone()),
        interfaces: end.system.sockstat.is_some().then(|| interfaces(model, &end.system.interfaces)),
    }
}

fn interfaces(model: &Model, interfaces: &BTreeMap<String, Traffic>) -> Vec<Interface> {
    let seconds = model.elapsed().as_secs_f64();
    let rate = |bytes: u64| if seconds > 0.0 { bytes as f64 / seconds } else { 0.0 };
    let row = |(name, traffic): (&String, &Traffic)| Interface {
        name: name.clone(),
        traffic: *traffic,
        rx_bytes_per_s: rate(traffic.rx_bytes),
        tx_bytes_per_s: rate(traffic.tx_bytes),
    };
    interfaces.iter().map(row).collect()
}
