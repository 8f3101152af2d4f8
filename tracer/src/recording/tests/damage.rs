//! Recordings that were whole once.

use std::{
    fs::{self, File},
    path::Path,
    time::{Duration, Instant},
};

use rusqlite::Connection;

use super::{
    super::{Recording, merge},
    batches, place, refusal,
    sample::{self, Chance},
    written,
};
use crate::{batch::Batch, tally::Tallies};

/// Whether one of the changes was noticed, and what was said and still there.
fn changed(path: &Path, sql: &str) -> (usize, String) {
    let whole = fs::read(path).unwrap();
    let db = Connection::open(path).unwrap();
    db.execute_batch(&format!("PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON; {sql}")).unwrap();
    assert!(db.changes() > 0 || sql.contains("TABLE"), "`{sql}` changes something");
    drop(db);
    let result = match Recording::open(path) {
        Ok(recording) => {
            let line = recording.incomplete.clone().unwrap_or_default();
            assert!(!line.contains(char::is_control), "{line:?}");
            assert!(line.is_empty() || recording.end.is_none(), "the end does not belong to a part");
            (batches(&recording).len(), line)
        }
        Err(error) => (0, format!("{error:#}")),
    };
    fs::write(path, whole).unwrap();
    result
}

#[test]
fn values_that_cannot_be_are_damage_from_their_interval_on() {
    let (_folder, path) = place();
    written(&path, 16);
    let third = "(SELECT min(kind) FROM counts WHERE interval = 3)";
    let first_in_third = "(SELECT min(id) FROM kinds WHERE id NOT IN (SELECT kind FROM counts WHERE interval < 3))";
    for (sql, intervals, word) in [
        (format!("UPDATE kinds SET page_order = 200 WHERE id = {first_in_third}"), 2, "order 200"),
        (format!("UPDATE kinds SET page_order = 1e300 WHERE id = {first_in_third}"), 2, "kinds"),
        (format!("UPDATE kinds SET gfp = -1 WHERE id = {first_in_third}"), 2, "kinds"),
        (format!("UPDATE kinds SET path = 99999 WHERE id = {first_in_third}"), 2, "no path or owner 99999"),
        (format!("DELETE FROM kinds WHERE id = {first_in_third}"), 2, "kinds"),
        (format!("UPDATE counts SET events = -5 WHERE interval = 3 AND kind = {third}"), 2, "counts"),
        (format!("UPDATE counts SET events = 'many' WHERE interval = 3 AND kind = {third}"), 2, "counts"),
        (format!("UPDATE counts SET events = events + 1 WHERE interval = 3 AND kind = {third}"), 2, "should be"),
        (format!("DELETE FROM counts WHERE interval = 3 AND kind = {third}"), 2, "should be"),
        // With all sums right: 2^63 - 1 events do not fit when they become bytes.
        (
            format!(
                "UPDATE intervals SET events = 9223372036854775807 WHERE id = 3;
                 UPDATE counts SET events = 9223372036854775807 - (SELECT sum(events) FROM counts WHERE interval = 3)
                 + events WHERE interval = 3 AND kind = {third}"
            ),
            2,
            "more than 64 bits",
        ),
        ("UPDATE order_totals SET allocated = 9223372036854775807 WHERE interval = 3".into(), 2, "more than 64 bits"),
        ("UPDATE order_totals SET page_order = page_order + 200 WHERE interval = 3".into(), 2, "order 2"),
        ("UPDATE order_totals SET freed = -1 WHERE interval = 3".into(), 2, "order_totals"),
        ("UPDATE losses SET pages = 'x' WHERE interval = 3".into(), 2, "losses"),
        ("UPDATE loss_orders SET page_order = 31 WHERE interval = 3".into(), 2, "order 31"),
        ("UPDATE loss_orders SET cause = 'no such' WHERE interval = 3".into(), 2, "no cause"),
        ("UPDATE program_stats SET missed = 9223372036854775807 WHERE interval = 3".into(), 4, ""),
        ("UPDATE program_stats SET program = 3 WHERE interval = 3".into(), 2, "no program 3"),
        ("UPDATE lookups SET hits = -1 WHERE interval = 3".into(), 2, "lookups"),
        ("UPDATE audit SET checked = x'00' WHERE interval = 3".into(), 2, "audit"),
        ("DELETE FROM path_frames WHERE position = 0 AND path = (SELECT max(path) FROM path_frames WHERE path IN (SELECT id FROM paths WHERE interval = 3) AND position > 0)".into(), 2, "path_frames"),
        ("UPDATE paths SET interval = 4 WHERE interval = 3".into(), 2, "new paths"),
        ("UPDATE owners SET interval = NULL WHERE interval IN (2, 3)".into(), 1, "new owners"),
        ("UPDATE intervals SET to_ns = 1 WHERE id = 3".into(), 2, "not where the one before ends"),
        ("UPDATE intervals SET from_ns = from_ns + 1 WHERE id = 3".into(), 2, "not where the one before ends"),
        ("UPDATE intervals SET to_ns = -1 WHERE id = 3".into(), 2, "intervals"),
        ("DELETE FROM intervals WHERE id = 3".into(), 2, "interval 4 follows 2"),
        ("DELETE FROM intervals WHERE id = 4".into(), 3, "3 intervals where 4 should be"),
        ("UPDATE run_end SET duration_ns = -1".into(), 4, "run_end"),
        ("UPDATE vmstat SET delta = 'x'".into(), 4, "vmstat"),
        ("UPDATE buddyinfo SET before = 9223372036854775807".into(), 4, "more than 64 bits"),
        ("DELETE FROM buddyinfo WHERE page_order = 1".into(), 4, "buddyinfo"),
        ("UPDATE results SET position = 5 WHERE position = 1".into(), 4, "results"),
    ] {
        let (left, line) = changed(&path, &sql);
        assert_eq!(left, intervals, "after `{sql}`: {line}");
        assert!(line.contains(word) && line.contains("damaged after") != word.is_empty(), "after `{sql}`: {line}");
    }
}

#[test]
fn a_beginning_that_cannot_be_is_refused() {
    let (_folder, path) = place();
    written(&path, 8);
    for (sql, word) in [
        ("UPDATE host SET max_order = 200", "order of 200"),
        ("UPDATE host SET max_order = 300", "host"),
        ("UPDATE host SET page_size = 1 << 62", "page size"),
        ("UPDATE host SET cpus = -1", "host"),
        ("DELETE FROM run", "run"),
        ("UPDATE signals SET status = 'fine' || char(27)", "no status"),
        ("UPDATE signals SET id = 9 WHERE id = 1", "signals"),
        ("UPDATE refused SET position = 4", "refused"),
        ("DROP TABLE argv", "no table `argv`"),
        ("DROP TABLE argv; CREATE VIEW argv AS SELECT 0 AS position, 'x' AS argument", "no table `argv`"),
        ("DROP TABLE argv; CREATE TABLE argv (position, argument)", "not as tracer makes it"),
    ] {
        let (left, line) = changed(&path, sql);
        assert!(left == 0 && line.contains("is damaged") && line.contains(word), "after `{sql}`: {line}");
    }
}

#[test]
fn every_table_is_asked_for() {
    let (_folder, path) = place();
    written(&path, 4);
    let db = Connection::open(&path).unwrap();
    let mut statement = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let tables: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    drop(statement);
    drop(db);
    assert!(tables.len() > 20);
    for table in tables {
        let (left, line) = changed(&path, &format!("DROP TABLE {table}"));
        assert!(left == 0 && line.contains(&format!("it has no table `{table}`")), "without {table}: {line}");
    }
}

#[test]
fn a_file_cut_short_gives_what_comes_before_the_cut() {
    let (_folder, path) = place();
    let appended = written(&path, 4 * 100);
    let all: Vec<_> = appended.chunks(4).map(merge).collect();
    let whole = fs::read(&path).unwrap();
    let mut most = 0;
    for tenths in 1..10 {
        let there = whole.len() / 10 * tenths;
        fs::write(&path, &whole[..there]).unwrap();
        match Recording::open(&path) {
            Ok(recording) => {
                let line = recording.incomplete.clone().unwrap();
                assert!(line.contains(&format!("cut to {there} of {} bytes", whole.len())), "{line}");
                assert_eq!((&recording.start, &recording.end), (&sample::start(), &None));
                let read = batches(&recording);
                let pages = |batch: &Batch| Batch { tallies: Tallies::default(), ..batch.clone() };
                let same = read.iter().zip(&all).all(|(read, written)| pages(read) == pages(written));
                let beside =
                    read.iter().zip(&all).take_while(|(read, written)| read.tallies == written.tallies).count();
                assert!(same && read[beside..].iter().all(|it| it.tallies.is_empty()), "with {tenths} tenths: {line}");
                most = most.max(read.len());
                if tenths == 5 {
                    assert!(read.len() >= 20, "half a file holds a fifth of the run at least, not {}", read.len());
                }
            }
            Err(error) => {
                let line = format!("{error:#}");
                assert!(tenths == 1, "with {tenths} tenths: {line}");
                assert!(line.contains(&format!("cut to {there} of {} bytes", whole.len())), "{line}");
            }
        }
    }
    assert!(most >= 60, "nine tenths of a file hold {most} intervals of 100");
}

#[test]
fn a_zeroed_page_in_the_middle_is_where_the_recording_ends() {
    let (_folder, path) = place();
    let appended = written(&path, 4 * 50);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 4096 * 3 / 4 * 4096;
    bytes[middle..middle + 4096].fill(0);
    fs::write(&path, bytes).unwrap();
    let recording = Recording::open(&path).unwrap();
    let line = recording.incomplete.clone().unwrap();
    assert!(line.contains("damaged after") && line.contains("of 61.1 s"), "{line}");
    let read = batches(&recording);
    assert!(read == appended.chunks(4).map(merge).take(read.len()).collect::<Vec<_>>(), "{line}");
    assert!((1..50).contains(&read.len()), "{line}");
}

#[test]
fn two_thousand_random_changes_are_read_or_refused_and_never_more() {
    let (folder, path) = place();
    written(&path, 12);
    let whole = fs::read(&path).unwrap();
    let mut chance = Chance(7);
    let began = Instant::now();
    let (mut refused, mut partial, mut slowest) = (0, 0, Duration::ZERO);
    for round in 0..2000 {
        let mut bytes = whole.clone();
        let place = |chance: &mut Chance, bytes: &[u8]| usize::try_from(chance.below(bytes.len() as u64)).unwrap();
        if round % 4 == 0 {
            bytes.truncate(place(&mut chance, &whole));
        }
        // Every other round near the beginning of a page, where its structure is.
        for _ in 0..chance.below(4) + u64::from(round % 4 != 0) {
            if !bytes.is_empty() {
                let anywhere = place(&mut chance, &bytes);
                let at = if round % 2 == 0 { anywhere } else { anywhere / 4096 * 4096 + anywhere % 16 };
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << chance.below(8);
                }
            }
        }
        fs::write(&path, &bytes).unwrap();
        let before = Instant::now();
        match Recording::open(&path) {
            Err(error) => {
                refused += 1;
                assert!(!format!("{error:#}").contains(char::is_control));
            }
            Ok(recording) => {
                for batch in recording.batches() {
                    batch.unwrap();
                }
                partial += usize::from(recording.incomplete.is_some());
            }
        }
        slowest = slowest.max(before.elapsed());
        assert_eq!(fs::read(&path).unwrap(), bytes, "reading changes nothing");
        // A changed bit can make SQLite take the file for one in WAL mode.
        for companion in ["r.db-wal", "r.db-shm"] {
            let _ = fs::remove_file(folder.path().join(companion));
        }
    }
    assert!(refused > 200 && partial > 200, "{refused} refused, {partial} partial");
    assert!(slowest < Duration::from_secs(5) && began.elapsed() < Duration::from_mins(5), "slowest {slowest:?}");
}

#[test]
fn a_log_that_was_cut_ends_the_recording_earlier() {
    let (folder, path) = place();
    let copy = folder.path().join("copy.db");
    let mut writer = super::Writer::create(&path, &sample::start(), false, None).unwrap();
    let appended = sample::batches(5, 4 * 20);
    for batch in &appended {
        writer.append(batch).unwrap();
    }
    fs::copy(&path, &copy).unwrap();
    let log = folder.path().join("copy.db-wal");
    fs::copy(folder.path().join("r.db-wal"), &log).unwrap();
    drop(writer);
    let length = fs::metadata(&log).unwrap().len();
    File::options().write(true).open(&log).unwrap().set_len(length / 2).unwrap();
    let recording = Recording::open(&copy).unwrap();
    let read = batches(&recording);
    assert!((1..20).contains(&read.len()), "{}", read.len());
    assert_eq!(read, appended.chunks(4).map(merge).take(read.len()).collect::<Vec<_>>());
    assert!(recording.incomplete.unwrap().contains("cut short after"));
}

#[test]
fn a_line_about_a_forged_file_has_no_control_characters() {
    let (_folder, path) = place();
    written(&path, 4);
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET name = char(27) || '[2J', rootpage = 99999",
    )
    .unwrap();
    drop(db);
    refusal(Recording::open(&path));
}
