//! Several batches as one.

use std::time::Duration;

use super::{super::merge, sample};
use crate::batch::{Audit, Batch, Count, CountKey, Loss, OrderTotals, Owner, Path, ProgramStats};

fn count(path: u64, events: u64) -> Count {
    Count { key: CountKey { path, ..CountKey::default() }, events }
}

#[test]
fn events_add_up_and_come_sorted() {
    let first = Batch { counts: vec![count(2, 5), count(1, 1), count(3, 0)], ..Batch::default() };
    let second = Batch { counts: vec![count(2, 7)], ..Batch::default() };
    assert_eq!(merge(&[first, second]).counts, [count(1, 1), count(2, 12)]);
}

#[test]
fn events_stop_at_the_top_instead_of_wrapping() {
    let batch = Batch { counts: vec![count(1, u64::MAX)], ..Batch::default() };
    assert_eq!(merge(&[batch.clone(), batch]).counts, [count(1, u64::MAX)]);
}

#[test]
fn of_running_totals_the_latest_of_each_counts() {
    let totals = |order, allocated| OrderTotals { order, allocated, ..OrderTotals::default() };
    let loss = |events| Loss { events, ..Loss::default() };
    let program = |hook: &str, missed| ProgramStats { hook: hook.into(), missed, ..ProgramStats::default() };
    let first = Batch {
        at: Duration::from_secs(1),
        totals: vec![totals(3, 10), totals(0, 1)],
        losses: [("full".into(), loss(1)), ("once".into(), loss(9))].into(),
        programs: vec![program("b", 1), program("a", 2)],
        audit: Some(Audit { checked: 1, disagreed: 0 }),
        ..Batch::default()
    };
    let second = Batch {
        at: Duration::from_secs(2),
        totals: vec![totals(3, 30)],
        losses: [("full".into(), loss(4))].into(),
        programs: vec![program("a", 5), program("c", 0)],
        ..Batch::default()
    };
    let merged = merge(&[first, second]);
    assert_eq!(merged.at, Duration::from_secs(2));
    assert_eq!(merged.totals, [totals(0, 1), totals(3, 30)]);
    assert_eq!(merged.losses, [("full".into(), loss(4)), ("once".into(), loss(9))].into());
    assert_eq!(merged.programs, [program("b", 1), program("a", 5), program("c", 0)]);
    assert_eq!(merged.audit, Some(Audit { checked: 1, disagreed: 0 }));
}

#[test]
fn what_is_announced_again_takes_the_first_place() {
    let path = |key, truncated| Path { key, truncated, ..Path::default() };
    let owner = |key, name: &str| Owner { key, name: name.into() };
    let first =
        Batch { paths: vec![path(9, false), path(4, false)], owners: vec![owner(1, "old")], ..Batch::default() };
    let second = Batch { paths: vec![path(9, true)], owners: vec![owner(1, "new")], ..Batch::default() };
    let merged = merge(&[first, second]);
    assert_eq!(merged.paths, [path(9, true), path(4, false)]);
    assert_eq!(merged.owners, [owner(1, "new")]);
}

#[test]
fn it_does_not_matter_in_what_portions_batches_are_merged() {
    for seed in 0..50 {
        let batches = sample::batches(seed, 20);
        let (first, second) = batches.split_at(usize::try_from(seed % 21).unwrap());
        assert_eq!(merge(&[merge(first), merge(second)]), merge(&batches), "seed {seed}");
    }
}

#[test]
fn nothing_merges_to_nothing() {
    assert_eq!(merge(&[]), Batch::default());
}
