//! What was written is what is read.

use std::{collections::BTreeMap, time::Duration};

use super::{
    super::{Recording, Writer, merge},
    batches, place, refusal, sample, written,
};
use crate::{
    batch::{Batch, Count, CountKey, Frame, Owner, Path},
    gfp,
    run::{Benchmark, End, Host, PathsMode, Score, Start, System},
};

#[test]
fn a_run_comes_back_merged_by_interval() {
    for seed in 0..20 {
        let (_folder, path) = place();
        let appended = sample::batches(seed, 21);
        let mut writer = Writer::create(&path, &sample::start(), false, None).unwrap();
        for batch in &appended {
            writer.append(batch).unwrap();
        }
        writer.finish(&sample::end()).unwrap();

        let recording = Recording::open(&path).unwrap();
        assert_eq!(recording.incomplete, None);
        assert_eq!(recording.start, sample::start());
        assert_eq!(recording.end, Some(sample::end()));
        // 21 batches of 250 ms: five whole seconds, and the rest at the end.
        let whole_seconds: Vec<_> = appended.chunks(4).map(merge).collect();
        assert_eq!(batches(&recording), whole_seconds, "seed {seed}");
    }
}

#[test]
fn a_run_with_nothing_in_it_comes_back() {
    let (_folder, path) = place();
    let start = Start {
        host: Host::default(),
        at_unix_ns: -1,
        argv: vec![],
        signals: vec![],
        paths: PathsMode::default(),
        by: None,
        filters: vec![],
        gfp: gfp::Table::default(),
        migratetypes: BTreeMap::new(),
    };
    Writer::create(&path, &start, false, None).unwrap().finish(&End::default()).unwrap();
    let recording = Recording::open(&path).unwrap();
    assert_eq!((recording.start.clone(), recording.end.clone()), (start, Some(End::default())));
    assert_eq!(batches(&recording), []);
    assert_eq!(recording.incomplete, None);
}

#[test]
fn a_figure_that_is_no_number_stays_none() {
    let (_folder, path) = place();
    let score = Score { value: f64::NAN, ..Score::default() };
    let end = End {
        benchmark: Some(Benchmark { results: vec![score], ..Benchmark::default() }),
        system: System { unseen_pages: Some(0), ..System::default() },
        ..End::default()
    };
    Writer::create(&path, &sample::start(), false, None).unwrap().finish(&end).unwrap();
    let read = Recording::open(&path).unwrap().end.unwrap();
    assert!(read.benchmark.unwrap().results[0].value.is_nan());
    assert_eq!(read.system.unseen_pages, Some(0), "none unseen is not the same as not compared");
}

#[test]
fn a_path_counted_before_it_is_announced_or_never_announced_keeps_its_events() {
    let (_folder, path) = place();
    let count = |path| Count { key: CountKey { path, owner: path, ..CountKey::default() }, events: path };
    let late = Path { key: 1, frames: vec![Frame { name: "late".into(), module: None }], ..Path::default() };
    let first = Batch { at: Duration::from_secs(1), counts: vec![count(1), count(2)], ..Batch::default() };
    let second = Batch {
        at: Duration::from_secs(2),
        paths: vec![late],
        owners: vec![Owner { key: 1, name: "late".into() }],
        counts: vec![count(1)],
        ..Batch::default()
    };
    let mut writer = Writer::create(&path, &sample::start(), false, None).unwrap();
    writer.append(&first).unwrap();
    writer.append(&second).unwrap();
    writer.finish(&End::default()).unwrap();
    assert_eq!(batches(&Recording::open(&path).unwrap()), [first, second]);
}

#[test]
fn a_path_announced_again_gets_the_new_frames_where_it_was_first_met() {
    let (_folder, path) = place();
    let named = |name: &str, depth: usize| Path {
        key: u64::MAX,
        addresses: vec![u64::MAX; depth],
        frames: vec![Frame { name: name.into(), module: None }; depth],
        truncated: false,
    };
    let at = Duration::from_secs;
    let mut writer = Writer::create(&path, &sample::start(), false, None).unwrap();
    writer.append(&Batch { at: at(1), paths: vec![named("0x1", 3)], ..Batch::default() }).unwrap();
    writer.append(&Batch { at: at(2), paths: vec![named("found", 2)], ..Batch::default() }).unwrap();
    writer.finish(&End::default()).unwrap();
    let read = batches(&Recording::open(&path).unwrap());
    assert_eq!(read[0].paths, [named("found", 2)]);
    assert_eq!(read[1].paths, []);
}

#[test]
fn an_interval_is_a_second_whatever_the_batches() {
    let intervals = |step: u64, number: u32| {
        let (_folder, path) = place();
        let mut writer = Writer::create(&path, &sample::start(), false, None).unwrap();
        for index in 1..=number {
            writer.append(&Batch { at: Duration::from_micros(step) * index, ..Batch::default() }).unwrap();
        }
        writer.finish(&End::default()).unwrap();
        batches(&Recording::open(&path).unwrap()).iter().map(|batch| batch.at.as_micros()).collect::<Vec<_>>()
    };
    assert_eq!(intervals(250_010, 8), [1_000_040, 2_000_080], "a little late is not another interval");
    assert_eq!(intervals(999_000, 3), [999_000, 1_998_000, 2_997_000], "a little early is not two seconds");
    assert_eq!(intervals(700_000, 2), [700_000, 1_400_000], "two would be too long");
    assert_eq!(intervals(5_000_000, 2), [5_000_000, 10_000_000]);
}

#[test]
fn a_writer_that_is_dropped_keeps_what_was_appended_in_one_file() {
    let (folder, path) = place();
    let appended = sample::batches(3, 6);
    let mut writer = Writer::create(&path, &sample::start(), false, None).unwrap();
    for batch in &appended {
        writer.append(batch).unwrap();
    }
    drop(writer);
    let recording = Recording::open(&path).unwrap();
    assert_eq!(recording.end, None);
    let incomplete = recording.incomplete.as_deref().unwrap();
    assert!(incomplete.contains("cut short after 1.5 s"), "{incomplete}");
    assert_eq!(merge(&batches(&recording)), merge(&appended));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_recording_can_be_read_while_it_is_written() {
    let (_folder, path) = place();
    let appended = sample::batches(4, 9);
    let mut writer = Writer::create(&path, &sample::start(), false, None).unwrap();
    for batch in &appended {
        writer.append(batch).unwrap();
    }
    let recording = Recording::open(&path).unwrap();
    assert_eq!(batches(&recording), [merge(&appended[..4]), merge(&appended[4..8])]);
    let so_far = format!("2.0 s so far: process {} is still at it", std::process::id());
    assert_eq!(recording.incomplete.as_ref(), Some(&so_far));
    // The reader is in the way of one plain file, but not of finishing.
    writer.finish(&sample::end()).unwrap();
    drop(recording);
    assert_eq!(Recording::open(&path).unwrap().end, Some(sample::end()));
}

#[test]
fn a_reader_never_sees_half_an_interval() {
    let (_folder, path) = place();
    let appended = sample::batches(6, 4 * 60);
    let all: Vec<_> = appended.chunks(4).map(merge).collect();
    let mut writer = Writer::create(&path, &sample::start(), false, None).unwrap();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| appended.iter().for_each(|batch| writer.append(batch).unwrap()));
        let mut seen = 0;
        while !writing.is_finished() {
            let recording = Recording::open(&path).unwrap();
            let incomplete = recording.incomplete.as_deref().unwrap();
            assert!(!incomplete.contains("damaged"), "{incomplete}");
            let read = batches(&recording);
            assert!(read == all[..read.len()] && read.len() >= seen);
            seen = read.len();
        }
    });
}

#[test]
fn figures_that_no_recording_may_hold_are_refused_and_what_was_before_stays() {
    let count = |order, events| Count { key: CountKey { order, ..CountKey::default() }, events };
    for (bad, word) in [
        (count(200, 1), "order 200"),
        (count(0, u64::MAX), "more than 64 bits"),
        // 2^43 blocks of 2^10 pages of 2^12 bytes are 2^65 bytes.
        (count(10, 1 << 43), "more than 64 bits"),
    ] {
        let (_folder, path) = place();
        let mut writer = Writer::create(&path, &sample::start(), false, None).unwrap();
        writer.append(&Batch { at: Duration::from_secs(1), counts: vec![count(0, 1)], ..Batch::default() }).unwrap();
        let bad = Batch { at: Duration::from_secs(2), counts: vec![bad], ..Batch::default() };
        let line = refusal(writer.append(&bad));
        assert!(line.contains(word), "{line}");
        let later = Batch { at: Duration::from_secs(3), counts: vec![count(0, 1)], ..Batch::default() };
        let line = refusal(writer.append(&later));
        assert!(line.contains("ends after 1s"), "no gap in the counts: {line}");
        drop(writer);
        assert_eq!(batches(&Recording::open(&path).unwrap()).len(), 1);
    }
}

#[test]
fn a_finished_recording_is_one_file_that_anyone_may_read() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, path) = place();
    written(&path, 8);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o555)).unwrap();
    let read = super::without_privileges(|| Recording::open(&path).map(|recording| batches(&recording).len()));
    assert_eq!(read.unwrap(), 2);
}
