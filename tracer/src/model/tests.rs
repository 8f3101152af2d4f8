//! How counts close, whatever was lost, sampled, off or read at another moment.

use std::{collections::BTreeMap, time::Duration};

use super::{Filter, INVALID_ORDER, Model, UNEXPLAINED};
use crate::{
    batch::{Audit, Batch, Count, CountKey, Frame, Loss, OrderTotals, Owner, Path, ProgramStats},
    gfp,
    run::{Benchmark, End, Host, PathsMode, Start, Work},
    signal::{Signal, Status},
    snapshot::{NOT_SAMPLED, OwnerName, PATHS_OFF, Pages, Snapshot, Verdict},
};

fn start(way: &str, one_in: u64) -> Start {
    let signal = Signal {
        name: "page.alloc".into(),
        hook: Some("raw_tracepoint:mm_page_alloc".into()),
        status: Status::Attached,
        refused: Vec::new(),
        note: String::new(),
    };
    Start {
        host: Host { page_size: 4096, max_order: 10, cpus: 1, ..Host::default() },
        at_unix_ns: 0,
        argv: Vec::new(),
        signals: vec![signal],
        paths: PathsMode { way: way.into(), one_in, reason: String::new() },
        by: None,
        filters: Vec::new(),
        gfp: gfp::Table::default(),
        migratetypes: BTreeMap::new(),
    }
}

fn model(way: &str, one_in: u64) -> Model {
    Model::new(start(way, one_in))
}

fn path(key: u64) -> Path {
    Path { key, frames: vec![Frame { name: format!("path_{key}"), module: None }], ..Path::default() }
}

fn count(path: u64, order: u8, events: u64) -> Count {
    Count { key: CountKey { path, order, ..CountKey::default() }, events }
}

fn failed(path: u64, order: u8, events: u64) -> Count {
    Count { key: CountKey { path, order, failed: true, ..CountKey::default() }, events }
}

fn total(order: u8, allocated: u64) -> OrderTotals {
    OrderTotals { order, allocated, ..OrderTotals::default() }
}

fn pages(snapshot: Snapshot) -> Pages {
    snapshot.pages.expect("page.alloc is attached")
}

/// The rules of the report's contract, whatever the run.
fn assert_closed(snapshot: &Snapshot) {
    let pages = snapshot.pages.as_ref().expect("page.alloc is attached");
    let of_paths: u64 = pages.paths.iter().map(|path| path.events).sum();
    assert_eq!(of_paths + pages.lost, pages.events, "paths and lost make up events");
    assert_eq!(pages.by_order.iter().map(|row| row.events).sum::<u64>(), pages.events);
    assert_eq!(pages.by_order.iter().map(|row| row.pages).sum::<u64>(), pages.pages);
    assert_eq!(pages.by_order.iter().map(|row| row.failed).sum::<u64>(), pages.failed);
    assert_eq!(pages.bytes, pages.pages * snapshot.host.page_size);
    for path in &pages.paths {
        assert_eq!(path.orders.values().sum::<u64>(), path.events);
        assert_eq!(path.orders.iter().map(|(order, events)| events << order).sum::<u64>(), path.pages);
        assert_eq!(path.failed_orders.values().sum::<u64>(), path.failed);
        assert!(path.gfp.values().sum::<u64>() <= path.events);
    }
    let lost: u64 = pages.by_order.iter().map(|row| pages.lost_of(row.order)).sum();
    assert_eq!(lost, pages.lost);
    let of_routes: u64 = pages.by_route.iter().map(|row| row.events).sum();
    let of_known: u64 = pages.paths.iter().filter(|path| path.route.is_some()).map(|path| path.events).sum();
    assert_eq!(of_routes, of_known);
    assert_eq!(pages.by_context.iter().map(|row| row.pages).sum::<u64>(), {
        pages.by_route.iter().map(|row| row.pages).sum::<u64>()
    });
}

#[test]
fn counts_equal_to_the_totals_are_exact() {
    let mut model = model("unwound", 1);
    model.apply(&Batch {
        paths: vec![path(1)],
        counts: vec![count(1, 2, 7)],
        totals: vec![total(2, 7)],
        ..Batch::default()
    });
    model.finish(End::default());
    let snapshot = model.snapshot();
    assert_closed(&snapshot);
    assert_eq!(snapshot.completeness.verdict, Verdict::Exact);
    assert_eq!((snapshot.completeness.lost.len(), pages(snapshot).lost), (0, 0));
}

#[test]
fn what_the_totals_have_more_than_the_paths_is_lost_and_unexplained() {
    let mut model = model("unwound", 1);
    let loss = Loss { events: 2, by_order: BTreeMap::from([(1, 2)]), counted_without_path: true, pages: 4 };
    model.apply(&Batch {
        paths: vec![path(1)],
        counts: vec![count(1, 1, 10), count(0, 1, 2), count(77, 1, 1)],
        totals: vec![total(1, 15), total(4, 1)],
        losses: BTreeMap::from([("counter_table_full".to_owned(), loss)]),
        ..Batch::default()
    });
    model.finish(End::default());
    let snapshot = model.snapshot();
    assert_closed(&snapshot);
    assert_eq!(snapshot.completeness.verdict, Verdict::LowerBound);
    // 16 events, 10 of them with a path; path 77 was never announced.
    assert_eq!(snapshot.completeness.lost["counter_table_full"], 2);
    assert_eq!(snapshot.completeness.lost[UNEXPLAINED], 4);
    assert_eq!(pages(snapshot).lost, 6);
}

#[test]
fn events_between_two_reads_are_not_lost_in_mid_run() {
    let mut model = model("unwound", 1);
    // Counts first, totals a moment later: 3 events fell in between.
    model.apply(&Batch {
        paths: vec![path(1)],
        counts: vec![count(1, 0, 100)],
        totals: vec![total(0, 103)],
        ..Batch::default()
    });
    let snapshot = model.snapshot();
    assert_closed(&snapshot);
    assert_eq!(snapshot.completeness.verdict, Verdict::Exact);
    assert_eq!(pages(snapshot).events, 100);
    // They come with the next batch; here one of them does not, and by now it should have.
    model.apply(&Batch { counts: vec![count(1, 0, 2)], totals: vec![total(0, 103)], ..Batch::default() });
    let snapshot = model.snapshot();
    assert_closed(&snapshot);
    assert_eq!(snapshot.completeness.verdict, Verdict::LowerBound);
    assert_eq!((pages(snapshot.clone()).events, pages(snapshot).lost), (103, 1));
}

#[test]
fn counts_read_after_the_totals_are_believed() {
    let mut model = model("unwound", 1);
    model.apply(&Batch {
        paths: vec![path(1)],
        counts: vec![count(1, 0, 105)],
        totals: vec![total(0, 100)],
        ..Batch::default()
    });
    let snapshot = model.snapshot();
    assert_closed(&snapshot);
    assert_eq!(pages(snapshot).events, 105);
    assert!(model.snapshot().completeness.warnings.is_empty());
    // After the end totals and counts should agree.
    model.finish(End::default());
    assert_closed(&model.snapshot());
    assert_eq!(model.snapshot().completeness.warnings.len(), 1);
}

#[test]
fn the_end_turns_the_last_difference_into_a_loss() {
    let mut model = model("unwound", 1);
    model.apply(&Batch { totals: vec![total(3, 4)], ..Batch::default() });
    assert_eq!(pages(model.snapshot()).events, 0);
    model.finish(End::default());
    assert_closed(&model.snapshot());
    assert_eq!((pages(model.snapshot()).events, pages(model.snapshot()).lost), (4, 4));
}

#[test]
fn without_paths_nothing_is_lost_and_one_row_holds_everything() {
    let mut model = model("off", 1);
    let totals = OrderTotals { failed: 2, ..total(2, 12) };
    // The kernel side may count kinds without paths, or only totals.
    model.apply(&Batch { counts: vec![count(0, 2, 9)], totals: vec![totals], ..Batch::default() });
    model.finish(End::default());
    let snapshot = model.snapshot();
    assert_closed(&snapshot);
    assert_eq!(snapshot.completeness.verdict, Verdict::Exact);
    let pages = pages(snapshot);
    assert_eq!((pages.events, pages.lost, pages.paths.len()), (12, 0, 1));
    let row = &pages.paths[0];
    assert_eq!((row.frames.as_slice(), row.events, row.failed), ([PATHS_OFF.to_owned()].as_slice(), 12, 2));
    assert_eq!((&row.route, &row.context), (&None, &None));
    assert_eq!(row.gfp, BTreeMap::from([("0x0".to_owned(), 9)]));
}

#[test]
fn sampled_paths_are_scaled_to_the_exact_totals_of_each_order() {
    let mut model = model("sampled", 100);
    model.apply(&Batch {
        paths: vec![path(1), path(2)],
        counts: vec![count(1, 0, 2), count(2, 0, 1), count(1, 3, 5)],
        totals: vec![total(0, 1_000), total(3, 499), total(9, 7)],
        ..Batch::default()
    });
    model.finish(End::default());
    let snapshot = model.snapshot();
    assert_closed(&snapshot);
    assert_eq!(snapshot.completeness.verdict, Verdict::Estimate);
    let pages = pages(snapshot);
    let events = |name: &str| {
        pages.paths.iter().find(|path| path.frames == [name]).map(|path| path.orders.clone()).expect("path is shown")
    };
    // 1000 in the ratio 2 to 1: 666.67 and 333.33; the larger remainder is the first.
    assert_eq!(events("path_1"), BTreeMap::from([(0, 667), (3, 499)]));
    assert_eq!(events("path_2"), BTreeMap::from([(0, 333)]));
    assert_eq!(events(NOT_SAMPLED), BTreeMap::from([(9, 7)]));
    assert_eq!(pages.lost, 0);
}

#[test]
fn kinds_counted_on_every_event_stay_exact_when_paths_are_sampled() {
    let kind = |path, gfp, events| Count { key: CountKey { path, gfp, ..CountKey::default() }, events };
    let mut model = model("sampled", 10);
    model.apply(&Batch {
        paths: vec![path(1)],
        counts: vec![kind(0, 0xa, 60), kind(1, 0xa, 4), kind(0, 0xb, 36)],
        totals: vec![total(0, 100)],
        ..Batch::default()
    });
    model.finish(End::default());
    assert_closed(&model.snapshot());
    let pages = pages(model.snapshot());
    assert_eq!(
        pages.by_gfp.iter().map(|row| (row.gfp.as_str(), row.events)).collect::<Vec<_>>(),
        [("0xa", 64), ("0xb", 36)]
    );
    assert_eq!(pages.paths.iter().map(|row| row.events).collect::<Vec<_>>(), [64, 36]);
}

#[test]
fn lost_samples_stand_for_their_share() {
    let loss = Loss { events: 10, by_order: BTreeMap::from([(0, 10)]), counted_without_path: true, pages: 10 };
    let mut model = model("sampled", 10);
    model.apply(&Batch {
        paths: vec![path(1)],
        counts: vec![count(1, 0, 30)],
        totals: vec![total(0, 400)],
        losses: BTreeMap::from([("path_table_full".to_owned(), loss)]),
        ..Batch::default()
    });
    model.finish(End::default());
    let snapshot = model.snapshot();
    assert_closed(&snapshot);
    assert_eq!(snapshot.completeness.lost, BTreeMap::from([("path_table_full".to_owned(), 10)]));
    assert_eq!(pages(snapshot).lost, 100);
}

#[test]
fn every_order_that_a_kernel_can_have_is_counted() {
    let mut model = model("unwound", 1);
    let orders = [0, 10, 11, 13, 15];
    model.apply(&Batch {
        paths: vec![path(1)],
        counts: orders.map(|order| count(1, order, 1)).to_vec(),
        totals: orders.map(|order| total(order, 1)).to_vec(),
        ..Batch::default()
    });
    model.finish(End::default());
    assert_closed(&model.snapshot());
    let pages = pages(model.snapshot());
    assert_eq!(pages.by_order.iter().map(|row| row.order).collect::<Vec<_>>(), orders);
    assert_eq!(pages.pages, 1 + 1_024 + 2_048 + 8_192 + 32_768);
}

#[test]
fn impossible_orders_are_counted_as_invalid_with_their_position() {
    let mut model = model("unwound", 1);
    model.apply(&Batch::default());
    for order in [16, 64, 255] {
        model.apply(&Batch {
            at: Duration::from_millis(250),
            counts: vec![count(0, 0, 0), count(1, order, 2)],
            totals: vec![total(order, 2)],
            ..Batch::default()
        });
    }
    let completeness = model.snapshot().completeness;
    assert_eq!(completeness.lost, BTreeMap::from([(INVALID_ORDER.to_owned(), 6)]));
    assert_eq!(completeness.verdict, Verdict::LowerBound);
    assert!(completeness.warnings[0].starts_with("batch 1 at 0.250 s: count 1 has the impossible order 16"));
    assert_eq!(completeness.warnings.len(), 6);
    assert_eq!(pages(model.snapshot()).events, 0);
}

#[test]
fn many_damaged_records_are_told_in_few_lines() {
    let mut model = model("unwound", 1);
    model.apply(&Batch { counts: vec![count(1, 99, 1); 1_000], ..Batch::default() });
    let completeness = model.snapshot().completeness;
    assert_eq!(completeness.lost[INVALID_ORDER], 1_000);
    assert_eq!(completeness.warnings.len(), 9);
    assert_eq!(completeness.warnings[8], "992 more records with impossible orders");
}

#[test]
fn a_failed_allocation_is_in_no_sum_of_pages() {
    let mut model = model("unwound", 1);
    model.apply(&Batch {
        paths: vec![path(1)],
        counts: vec![failed(1, 9, 3)],
        totals: vec![OrderTotals { failed: 3, ..total(9, 0) }],
        ..Batch::default()
    });
    model.finish(End::default());
    assert_closed(&model.snapshot());
    let pages = pages(model.snapshot());
    assert_eq!((pages.events, pages.pages, pages.bytes, pages.failed), (0, 0, 0, 3));
    assert_eq!(pages.paths[0].failed_orders, BTreeMap::from([(9, 3)]));
    assert!(pages.by_gfp.is_empty() && pages.by_route.is_empty() && pages.by_context.is_empty());
}

#[test]
fn bytes_use_the_page_size_of_the_machine() {
    let mut start = start("unwound", 1);
    start.host.page_size = 65_536;
    let mut model = Model::new(start);
    model.apply(&Batch {
        paths: vec![path(1)],
        counts: vec![count(1, 2, 100)],
        totals: vec![total(2, 100)],
        ..Batch::default()
    });
    model.finish(End::default());
    assert_eq!(pages(model.snapshot()).bytes, 26_214_400);
}

#[test]
fn large_counts_do_not_wrap() {
    let mut big = model("unwound", 1);
    for _ in 0..2 {
        big.apply(&Batch {
            paths: vec![path(1)],
            counts: vec![count(1, 10, 1 << 24)],
            totals: vec![total(10, 1 << 25)],
            ..Batch::default()
        });
    }
    big.finish(End::default());
    assert_closed(&big.snapshot());
    assert_eq!(pages(big.snapshot()).bytes, 1 << (25 + 10 + 12));

    for way in ["unwound", "off", "sampled"] {
        let mut damaged = model(way, 2);
        for _ in 0..2 {
            damaged.apply(&Batch {
                paths: vec![path(1)],
                counts: vec![count(1, 15, u64::MAX), failed(1, 15, u64::MAX), count(0, 15, u64::MAX)],
                totals: vec![OrderTotals {
                    failed: u64::MAX,
                    refilled: Some(u64::MAX),
                    direct: Some(u64::MAX),
                    ..total(15, u64::MAX)
                }],
                ..Batch::default()
            });
        }
        let missed = ProgramStats {
            missed: u64::MAX,
            run_count: Some(u64::MAX),
            run_time_ns: Some(u64::MAX),
            ..ProgramStats::default()
        };
        let loss = Loss { events: u64::MAX, counted_without_path: true, ..Loss::default() };
        let losses = ["a", INVALID_ORDER].map(|cause| (cause.to_owned(), loss.clone())).into();
        damaged.apply(&Batch {
            losses,
            programs: vec![missed; 2],
            counts: vec![count(1, 99, u64::MAX); 2],
            ..Batch::default()
        });
        damaged.finish(End::default());
        assert_eq!(pages(damaged.snapshot()).bytes, u64::MAX);
    }
}

#[test]
fn missed_events_and_audited_errors_decide_the_verdict() {
    let verdict = |missed, audit| {
        let mut model = model("remembered", 1);
        let program = ProgramStats { signal: "page.alloc".into(), missed, ..ProgramStats::default() };
        model.apply(&Batch { programs: vec![program], audit, ..Batch::default() });
        model.snapshot().completeness.verdict
    };
    assert_eq!(verdict(0, Some(Audit { checked: 9, disagreed: 0 })), Verdict::Exact);
    assert_eq!(verdict(1, None), Verdict::LowerBound);
    assert_eq!(verdict(0, Some(Audit { checked: 9, disagreed: 1 })), Verdict::Estimate);
}

#[test]
fn a_signal_shows_the_misses_of_the_program_on_its_hook() {
    let mut start = start("unwound", 1);
    let fail = Signal { name: "page.fail".into(), ..start.signals[0].clone() };
    let missing = Signal { name: "page.bulk".into(), hook: None, status: Status::Missing, ..fail.clone() };
    start.signals.extend([fail, missing]);
    let mut model = Model::new(start);
    let program = ProgramStats {
        signal: "page.alloc".into(),
        hook: "raw_tracepoint:mm_page_alloc".into(),
        run_count: Some(4),
        run_time_ns: Some(600),
        missed: 3,
    };
    model.apply(&Batch { programs: vec![program], ..Batch::default() });
    let rows = model.snapshot().signals;
    let figures: Vec<_> = rows.iter().map(|row| (row.events, row.missed, row.ns_per_event)).collect();
    assert_eq!(figures, [(Some(0), Some(3), Some(150.0)), (Some(0), Some(3), Some(150.0)), (None, None, None)]);
}

#[test]
fn nothing_is_measured_without_a_hook_for_pages() {
    let mut start = start("unwound", 1);
    start.signals[0].status = Status::Missing;
    assert_eq!(Model::new(start).snapshot().pages, None);
}

#[test]
fn a_list_that_was_not_measured_is_not_zero() {
    let mut start = start("unwound", 1);
    start.signals.push(Signal { name: "page.drain".into(), ..start.signals[0].clone() });
    let mut model = Model::new(start);
    model.apply(&Batch {
        paths: vec![path(1)],
        counts: vec![count(1, 0, 1)],
        totals: vec![total(0, 1)],
        ..Batch::default()
    });
    let pages = pages(model.snapshot());
    assert_eq!((pages.zone_locked, pages.drained), (None, Some(0)));
    assert_eq!((pages.by_order[0].zone_locked, pages.by_order[0].drained), (None, Some(0)));
}

#[test]
fn owners_bear_their_names_and_numbers() {
    let owner = |by: &str, name: &str| {
        let mut model = Model::new(Start { by: Some(by.into()), ..start("unwound", 1) });
        let key = CountKey { path: 1, owner: 42, ..CountKey::default() };
        model.apply(&Batch {
            paths: vec![path(1)],
            owners: if name.is_empty() { Vec::new() } else { vec![Owner { key: 42, name: name.into() }] },
            counts: vec![Count { key, events: 1 }],
            totals: vec![total(0, 1)],
            ..Batch::default()
        });
        pages(model.snapshot()).by_owner.remove(0).owner
    };
    assert_eq!(owner("comm", "tmux: server"), OwnerName::Comm("tmux: server".into()));
    assert_eq!(owner("pid", "1234"), OwnerName::Pid(1234));
    assert_eq!(owner("pid", ""), OwnerName::Pid(42));
    assert_eq!(owner("cgroup", "/user.slice"), OwnerName::Cgroup("/user.slice".into()));
    assert_eq!(owner("cgroup", ""), OwnerName::Cgroup("0x2a".into()));
}

#[test]
fn work_divides_the_counts_only_where_there_is_some() {
    let per_unit = |amount| {
        let mut model = model("unwound", 1);
        model.apply(&Batch {
            paths: vec![path(1)],
            counts: vec![count(1, 2, 10)],
            totals: vec![total(2, 10)],
            ..Batch::default()
        });
        let work = Some(Work { unit: "message".into(), amount });
        model.finish(End { benchmark: Some(Benchmark { work, ..Benchmark::default() }), ..End::default() });
        pages(model.snapshot()).per_unit.map(|per| (per.events.to_bits(), per.pages.to_bits()))
    };
    assert_eq!(per_unit(5.0), Some((2.0f64.to_bits(), 8.0f64.to_bits())));
    assert_eq!(per_unit(0.0), None);
    assert_eq!(per_unit(f64::NAN), None);
}

/// Marsaglia's 64-bit xorshift: enough to vary the runs, and the same ones every time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn small(&mut self, bound: u8) -> u8 {
        u8::try_from(self.below(u64::from(bound))).expect("below a u8")
    }
}

/// A run of three batches: a part of what happens is counted under its path, a part is lost, and totals lag or lead.
fn random_run(random: &mut Random, way: &str) -> Vec<Batch> {
    let mut totals: BTreeMap<u8, OrderTotals> = BTreeMap::new();
    let mut batches = Vec::new();
    for second in 0..3 {
        let mut batch = Batch { at: Duration::from_secs(second), ..Batch::default() };
        for _ in 0..random.below(30) {
            let key = CountKey {
                path: random.below(5),
                owner: random.below(3),
                user_path: 0,
                gfp: u32::from(random.small(4)),
                order: random.small(16),
                migratetype: random.small(3),
                failed: random.below(5) == 0,
            };
            let events = random.below(1_000);
            let row = totals.entry(key.order).or_insert_with(|| total(key.order, 0));
            *(if key.failed { &mut row.failed } else { &mut row.allocated }) += events;
            let counted = if way == "sampled" { events / 10 } else { events - events * random.below(2) / 3 };
            batch.counts.push(Count { key, events: counted });
        }
        batch.paths = (1..5).map(path).collect();
        batch.totals = totals.values().copied().collect();
        for row in &mut batch.totals {
            row.allocated = (row.allocated + random.below(3)).saturating_sub(random.below(3));
        }
        batches.push(batch);
    }
    batches
}

#[test]
fn counts_close_whatever_happens() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..40 {
        for way in ["unwound", "sampled", "off"] {
            let mut model = model(way, 10);
            for batch in random_run(&mut random, way) {
                model.apply(&batch);
                assert_closed(&model.snapshot());
            }
            model.finish(End::default());
            let whole = model.snapshot();
            assert_closed(&whole);
            let events = |filter: &Filter| {
                let snapshot = model.snapshot_of(filter);
                assert_closed(&snapshot);
                pages(snapshot).events
            };
            let whole_events = pages(whole.clone()).events;
            let by_order: u64 = (0..16).map(|order| events(&Filter { orders: [order].into(), route: None })).sum();
            assert_eq!(by_order, whole_events, "round {round}, {way}");
            let routed = events(&Filter { route: Some("other".into()), ..Filter::default() });
            assert!(routed <= whole_events, "round {round}, {way}");
        }
    }
}

#[test]
fn a_replayed_run_gives_the_same_picture() {
    let batches = random_run(&mut Random(7), "unwound");
    let replay = |batches: &[Batch]| {
        let mut model = model("unwound", 1);
        for batch in batches {
            model.apply(batch);
        }
        model.finish(End::default());
        model.snapshot()
    };
    let json = serde_json::to_string(&batches).expect("batches are plain data");
    let read: Vec<Batch> = serde_json::from_str(&json).expect("and read back");
    assert_eq!(replay(&read), replay(&batches));
}
