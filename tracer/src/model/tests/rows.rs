//! What stands in the rows beside the page counts.

use super::*;

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
