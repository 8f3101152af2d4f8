//! How counts close, whatever was lost, sampled, off or read at another moment.

mod filters;
mod random;
mod rows;
mod ways;

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
