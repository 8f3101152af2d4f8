//! Paths sampled or off.

use super::*;

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
