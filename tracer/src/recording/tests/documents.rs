//! What the documents say of the file is so.

use rusqlite::Connection;

use super::{super::schema::SQL, place, sample, written};
use crate::batch::Count;

const GUIDE: &str = include_str!("../../../docs/recording.md");

fn names(db: &Connection, kind: &str) -> Vec<String> {
    let mut statement = db.prepare("SELECT name FROM sqlite_schema WHERE type = ?1 ORDER BY rowid").unwrap();
    statement.query_map([kind], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn the_guide_lists_every_table_and_view_and_no_other() {
    let db = Connection::open_in_memory().unwrap();
    db.execute_batch(SQL).unwrap();
    let listed: Vec<&str> = GUIDE
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .filter_map(|line| line.split_once('`'))
        .map(|(name, _)| name)
        .collect();
    let mut there = names(&db, "table");
    there.extend(["allocations", "pages_by_order", "timeline", "stacks", "folded", "lost"].map(String::from));
    let views = names(&db, "view");
    assert!(views.iter().all(|view| there.contains(view)), "{views:?}");
    assert_eq!(listed, there);
}

#[test]
fn every_table_says_in_the_file_what_it_holds() {
    let (_folder, path) = place();
    written(&path, 4);
    let db = Connection::open(&path).unwrap();
    for name in names(&db, "table").into_iter().chain(names(&db, "view")) {
        let sql: String =
            db.query_row("SELECT sql FROM sqlite_schema WHERE name = ?1", [&name], |row| row.get(0)).unwrap();
        assert!(sql.lines().nth(1).unwrap().trim().starts_with("-- "), "{sql}");
    }
}

#[test]
fn every_question_of_the_guide_has_an_answer() {
    let (_folder, path) = place();
    written(&path, 40);
    let db = Connection::open(&path).unwrap();
    let mut asked = 0;
    for block in GUIDE.split("```sql\n").skip(1) {
        let block = block.split("```").next().unwrap();
        for question in block.split_terminator(";\n") {
            let mut statement = db.prepare(question).unwrap_or_else(|error| panic!("{question}: {error}"));
            let rows = statement.query([]).unwrap();
            let answers = rusqlite::fallible_iterator::FallibleIterator::count(rows.map(|_| Ok(()))).unwrap();
            assert!(answers > 0, "`{question}` finds nothing in a run that has everything");
            asked += 1;
        }
    }
    assert!(asked > 12, "{asked}");
}

#[test]
fn the_views_agree_with_the_batches() {
    let (_folder, path) = place();
    let appended = written(&path, 40);
    let db = Connection::open(&path).unwrap();
    let number = |sql: &str| db.query_row(sql, [], |row| row.get::<_, u64>(0)).unwrap();
    let sum = |of: fn(&Count) -> u64| appended.iter().flat_map(|batch| &batch.counts).map(of).sum::<u64>();
    let succeeded = |count: &Count| if count.key.failed { 0 } else { count.events };

    assert_eq!(number("SELECT sum(events) FROM allocations"), sum(|count| count.events));
    assert_eq!(number("SELECT sum(events) FROM intervals"), sum(|count| count.events));
    assert_eq!(number("SELECT sum(events) FROM folded"), sum(succeeded));
    assert_eq!(number("SELECT sum(events) FROM timeline"), sum(succeeded));
    let pages = sum(|count| if count.key.failed { 0 } else { count.events << count.key.order });
    for view in ["allocations", "folded", "timeline"] {
        assert_eq!(number(&format!("SELECT sum(pages) FROM {view}")), pages, "{view}");
    }
    let last = &appended.last().unwrap().totals;
    let bytes: u64 =
        last.iter().map(|totals| (totals.allocated << totals.order) * sample::start().host.page_size).sum();
    assert_eq!(number("SELECT sum(bytes) FROM pages_by_order"), bytes);
    assert_eq!(number("SELECT events FROM lost WHERE cause = 'path table full'"), 40);
}

#[test]
fn a_stack_is_folded_text_from_the_outermost_frame_on() {
    let db = Connection::open_in_memory().unwrap();
    db.execute_batch(SQL).unwrap();
    db.execute_batch(
        "PRAGMA foreign_keys = OFF;
         INSERT INTO frames VALUES (1, 'inner;most', NULL), (2, 'xmit', 'driver');
         INSERT INTO paths VALUES (1, '0x0000000000000001', 1, 0), (2, '0x0000000000000002', 1, 0);
         INSERT INTO path_frames VALUES (1, 0, '0x00000000000000aa', 1), (1, 1, '0x00000000000000bb', 2),
             (1, 2, '0x00000000000000cc', NULL)",
    )
    .unwrap();
    let stack = |path: i64| -> Option<String> {
        db.query_row("SELECT stack FROM stacks WHERE path = ?1", [path], |row| row.get(0)).unwrap()
    };
    assert_eq!(stack(1).as_deref(), Some("0x00000000000000cc;xmit_[driver];inner:most"));
    assert_eq!(stack(2), None, "a path without frames");
}
