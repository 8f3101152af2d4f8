//! What the screens cost: taking a new snapshot in, drawing it, and making the snapshot in the first place.
//!
//! `cargo bench -p tracer --bench screens`

use std::{collections::BTreeMap, hint::black_box, sync::Arc, time::Duration};

use divan::Bencher;
use ratatui::{buffer::Buffer, layout::Rect};
use tracer::{
    batch::{self, Batch, Count, CountKey, OrderTotals},
    gfp,
    model::{Filter, Model},
    run::{Host, PathsMode, Start},
    signal::{Signal, Status},
    snapshot::Snapshot,
    tui::{
        app::{Action, App, Command, Kind, Screen},
        link::{Phase, Picture, Wish},
        view::{self, Theme},
    },
};

const PATHS: [u64; 3] = [100, 2_000, 20_000];

fn main() {
    divan::main();
}

/// So many paths of twenty frames, each with three orders.
fn model(paths: u64) -> Model {
    let signal = Signal {
        name: "page.alloc".into(),
        hook: Some("raw_tracepoint:mm_page_alloc".into()),
        status: Status::Attached,
        refused: Vec::new(),
        note: String::new(),
    };
    let start = Start {
        host: Host { kernel: "6.18.0".into(), machine: "x86_64".into(), cpus: 2, page_size: 4096, max_order: 10 },
        at_unix_ns: 0,
        argv: vec!["netperf".into()],
        signals: vec![signal],
        paths: PathsMode { way: "remembered".into(), one_in: 1, reason: String::new() },
        by: None,
        filters: Vec::new(),
        gfp: gfp::Table::default(),
        migratetypes: BTreeMap::new(),
    };
    let mut model = Model::new(start);
    model.apply(&batch(paths, 1, (1..=paths).map(path).collect()));
    model
}

fn path(key: u64) -> batch::Path {
    // Callers are shared and callees are not, as in a kernel.
    let name = |depth: u64| format!("kernel_function_{depth}_{}", key % (1 << (20 - depth).min(16)));
    let frames = (0..20).map(|depth| batch::Frame { name: name(depth), module: None }).collect();
    batch::Path { key, addresses: Vec::new(), frames, truncated: false }
}

fn batch(paths: u64, second: u64, new: Vec<batch::Path>) -> Batch {
    let count = |path, order| Count {
        key: CountKey { path, order, gfp: 0xcc0, ..CountKey::default() },
        events: path % 1000 + 1,
    };
    let counts = (1..=paths).flat_map(|path| (0..3).map(move |order| count(path, order))).collect();
    let totals = (0..3).map(|order| OrderTotals { order, ..OrderTotals::default() }).collect();
    Batch { at: Duration::from_secs(second), paths: new, counts, totals, ..Batch::default() }
}

fn picture(snapshot: Snapshot) -> Picture {
    Picture {
        snapshot: Arc::new(snapshot),
        before: None,
        filter: Filter::default(),
        free_blocks: None,
        own_cpu: None,
        phase: Phase::Running,
        step: None,
    }
}

/// The screens with two snapshots, a second apart.
fn app(paths: u64, screen: Screen) -> (App, Model) {
    let mut model = model(paths);
    let wish = Wish { filter: Filter::default(), interval: Duration::from_millis(250), paused: false, leave: false };
    let mut app = App::new(model.start().clone(), Kind::Run, wish);
    app.on(Action::Picture(Box::new(picture(model.snapshot()))));
    model.apply(&batch(paths, 2, Vec::new()));
    app.on(Action::Picture(Box::new(picture(model.snapshot()))));
    app.on(Action::Command(Command::Go(screen)));
    (app, model)
}

fn update(bencher: Bencher<'_, '_>, paths: u64, screen: Screen) {
    let (mut app, model) = app(paths, screen);
    let picture = picture(model.snapshot());
    bencher.bench_local(|| app.on(Action::Picture(Box::new(black_box(picture.clone())))));
}

fn draw(bencher: Bencher<'_, '_>, paths: u64, screen: Screen) {
    let (app, _) = app(paths, screen);
    let theme = Theme { color: true, unicode: true };
    let mut cells = Buffer::empty(Rect::new(0, 0, 200, 60));
    bencher.bench_local(|| {
        cells.reset();
        view::draw(&mut cells, black_box(&app), theme);
    });
}

#[divan::bench(args = PATHS)]
fn snapshot(bencher: Bencher<'_, '_>, paths: u64) {
    let model = model(paths);
    bencher.bench_local(|| black_box(&model).snapshot());
}

#[divan::bench(args = PATHS)]
fn update_overview(bencher: Bencher<'_, '_>, paths: u64) {
    update(bencher, paths, Screen::Overview);
}

#[divan::bench(args = PATHS)]
fn update_paths(bencher: Bencher<'_, '_>, paths: u64) {
    update(bencher, paths, Screen::Paths);
}

#[divan::bench(args = PATHS)]
fn update_flame(bencher: Bencher<'_, '_>, paths: u64) {
    update(bencher, paths, Screen::Flame);
}

#[divan::bench(args = PATHS)]
fn draw_overview(bencher: Bencher<'_, '_>, paths: u64) {
    draw(bencher, paths, Screen::Overview);
}

#[divan::bench(args = PATHS)]
fn draw_paths(bencher: Bencher<'_, '_>, paths: u64) {
    draw(bencher, paths, Screen::Paths);
}

#[divan::bench(args = PATHS)]
fn draw_flame(bencher: Bencher<'_, '_>, paths: u64) {
    draw(bencher, paths, Screen::Flame);
}
