//! Fixed states of the screens.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tracer::{
    model::{Filter, Model},
    run::Start,
    snapshot::{PathRow, Snapshot, Verdict},
    tui::{
        app::{
            Action, App, Kind,
            history::{History, Sample},
            rates::Rates,
        },
        link::{Phase, Picture, Wish},
    },
};

use crate::runs;

/// A run before anything was counted.
pub(crate) fn empty() -> App {
    let start = runs::clean().start().clone();
    app(&start, Model::new(start.clone()).snapshot(), History::default())
}

/// A clean run under way.
pub(crate) fn ordinary() -> App {
    let model = runs::clean();
    let mut app = app(model.start(), model.snapshot(), wave());
    app.on(Action::Output("MIGRATED UDP STREAM TEST\nSocket  Message  Elapsed\n212992    8192   5.00\n".to_owned()));
    app
}

/// A run in which socket memory is in trouble.
pub(crate) fn sockets() -> App {
    let model = runs::sockets();
    app(model.start(), model.snapshot(), History::default())
}

/// A run with losses, filters and names that would break a careless writer.
pub(crate) fn lost() -> App {
    let model = runs::lossy();
    app(model.start(), model.snapshot(), wave())
}

/// A run whose every number is as large as it can be.
pub(crate) fn huge() -> App {
    let model = runs::clean();
    let mut snapshot = model.snapshot();
    snapshot.window.duration_s = 359_999.0;
    for row in &mut snapshot.signals {
        (row.events, row.missed, row.ns_per_event) = (Some(u64::MAX), Some(u64::MAX), Some(1e12));
    }
    snapshot.completeness.lost.insert("path_table_full".into(), u64::MAX);
    snapshot.completeness.verdict = Verdict::LowerBound;
    let pages = snapshot.pages.as_mut().expect("pages are counted");
    (pages.events, pages.failed, pages.pages, pages.bytes) = (u64::MAX, u64::MAX, u64::MAX, u64::MAX);
    for row in &mut pages.by_order {
        (row.events, row.pages, row.bytes, row.failed) = (u64::MAX, u64::MAX, u64::MAX, u64::MAX);
        row.zone_locked = Some(u64::MAX);
        (row.zone_refilled, row.drained) = (Some(u64::MAX / 2), Some(u64::MAX));
    }
    for row in &mut pages.by_route {
        (row.events, row.pages) = (u64::MAX, u64::MAX);
    }
    for row in &mut pages.by_context {
        (row.events, row.pages) = (u64::MAX, u64::MAX);
    }
    for path in &mut pages.paths {
        (path.events, path.pages, path.bytes, path.failed) = (u64::MAX, u64::MAX, u64::MAX, u64::MAX);
        path.orders.values_mut().for_each(|events| *events = u64::MAX);
    }
    if let Some(blocks) = &mut snapshot.system.buddyinfo {
        blocks.after.values_mut().flatten().for_each(|count| *count = u64::MAX);
    }
    app(model.start(), snapshot, wave())
}

/// A run of many paths with names that are too long, too wide, or drive terminals.
pub(crate) fn long() -> App {
    let model = runs::clean();
    let mut start = model.start().clone();
    start.argv = vec!["/usr/bin/a_command_with_a_name_that_goes_on_and_on".into(), "x\x1b[2J".repeat(60)];
    let mut snapshot = model.snapshot();
    snapshot.command.as_mut().expect("a command").argv.clone_from(&start.argv);
    snapshot.completeness.warnings = vec!["a warning of many words ".repeat(20), "\x1b]0;title\x07 bell".into()];
    let pages = snapshot.pages.as_mut().expect("pages are counted");
    pages.paths = (0..100).map(named).collect();
    pages.by_route[0].route = "r\u{202e}oute".repeat(20);
    pages.by_context[0].context = "syscall:\u{7}".repeat(20);
    let mut app = app(&start, snapshot, wave());
    app.on(Action::Output("\x1b[31mred\x1b[0m and so on ".repeat(30) + "\n"));
    app
}

fn named(number: u64) -> PathRow {
    let frames = vec![
        format!("{}_{number}", "very_long_function_name".repeat(8)),
        "漢字の名前".repeat(9),
        "tab\there\x1b[1mbold".to_owned(),
    ];
    PathRow {
        id: format!("{number:016x}"),
        events: 1000 - number,
        events_error: None,
        pages: 1000 - number,
        bytes: (1000 - number) * 4096,
        failed: 0,
        orders: BTreeMap::from([(0, 1000 - number)]),
        failed_orders: BTreeMap::new(),
        gfp: BTreeMap::from([("0xffffffff".into(), 1000 - number)]),
        route: Some("a_route_of_a_name_beyond_all_columns".into()),
        context: Some("syscall:a_system_call_that_nobody_has".into()),
        frames,
        truncated: true,
    }
}

/// A minute of samples up to just below the clean run's totals: order 2 in triangles over a floor of orders 0 and 3.
fn wave() -> History {
    let mut history = History::default();
    let mut sample = Sample::default();
    for second in 0..61u64 {
        history.push(sample);
        sample.at = Duration::from_secs(second + 1);
        let new = [(0, 15), (2, 6_600 * (10 - (second % 20).abs_diff(10))), (3, 80)];
        for (order, events) in new {
            sample.events[order] += events;
            sample.bytes += (events << order) * 4096;
        }
    }
    history
}

fn app(start: &Start, snapshot: Snapshot, history: History) -> App {
    let wish = Wish { filter: Filter::default(), interval: Duration::from_millis(250), paused: false, leave: false };
    let mut app = App::new(start.clone(), Kind::Run, wish);
    app.on(Action::Trend(Box::new((history, Rates::default()))));
    let mut picture = Picture {
        snapshot: Arc::new(snapshot),
        before: None,
        filter: Filter::default(),
        free_blocks: None,
        own_cpu: Some(Duration::from_millis(50)),
        phase: Phase::Running,
        step: None,
    };
    // The moment follows the samples.
    if app.history.span().is_some() {
        Arc::make_mut(&mut picture.snapshot).window.duration_s += 60.0;
    }
    app.on(Action::Picture(Box::new(picture)));
    app
}
