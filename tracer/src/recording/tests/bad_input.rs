//! Files that are no recording, or one that this tracer cannot read.

use std::{
    fs::{self, File},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use rusqlite::Connection;

use super::{
    super::{Recording, schema::VERSION},
    batches, place, refusal, without_privileges, written,
};

fn said(path: &Path) -> String {
    refusal(Recording::open(path))
}

#[test]
fn each_kind_of_wrong_file_gets_its_own_line() {
    let (folder, path) = place();
    assert!(said(&path).contains("there is no file"), "{}", said(&path));
    assert!(said(folder.path()).contains("is a folder"), "{}", said(folder.path()));
    assert!(said(&path.join("deeper")).contains("there is no file"), "{}", said(&path.join("deeper")));
    assert!(said(Path::new("/dev/null")).contains("no regular file"));
    for (content, word) in [
        ("", "is empty"),
        ("SQLite form", "ends within its first 100 bytes"),
        ("outermost;innermost 5\n", "is not a recording of tracer"),
        (&"\0".repeat(5000), "is not a recording of tracer"),
    ] {
        fs::write(&path, content).unwrap();
        assert!(said(&path).contains(word), "{}", said(&path));
        assert_eq!(fs::read(&path).unwrap(), content.as_bytes());
    }
}

#[test]
fn a_pipe_without_a_writer_is_refused_rather_than_waited_for() {
    let (_folder, path) = place();
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(said(&path).contains("no regular file"), "{}", said(&path));
}

#[test]
fn another_programs_database_is_named_as_such() {
    let (folder, path) = place();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE host (kernel)").unwrap();
    assert!(said(&path).contains("is an SQLite file, but not a recording"), "{}", said(&path));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_form_of_the_future_says_which_tracer_is_needed() {
    let (_folder, path) = place();
    written(&path, 4);
    let db = Connection::open(&path).unwrap();
    let future = VERSION + 1;
    db.execute_batch(&format!(
        "PRAGMA user_version = {future}; DROP VIEW folded; DROP TABLE counts;
         UPDATE meta SET value = '9.8.7' || char(27) || '[31m' WHERE key = 'tracer'"
    ))
    .unwrap();
    let line = said(&path);
    assert!(line.contains("written by tracer 9.8.7") && line.contains(&format!("in form {future}")), "{line}");
    assert!(line.contains(&format!("this is tracer {}", env!("CARGO_PKG_VERSION"))), "{line}");

    db.execute_batch("DROP TABLE meta").unwrap();
    assert!(said(&path).contains("use a newer tracer"), "{}", said(&path));
    db.execute_batch("PRAGMA user_version = 0").unwrap();
    assert!(said(&path).contains("no tracer writes form 0"), "{}", said(&path));
}

#[test]
fn a_file_that_may_not_be_read_is_named() {
    let (_folder, path) = place();
    written(&path, 4);
    fs::set_permissions(&path, PermissionsExt::from_mode(0o000)).unwrap();
    let line = without_privileges(|| said(&path));
    assert!(line.contains("cannot be read") && line.to_lowercase().contains("permission denied"), "{line}");
}

#[test]
fn ten_gigabytes_of_nothing_behind_a_recording_do_not_matter() {
    let (_folder, path) = place();
    written(&path, 8);
    let file = File::options().write(true).open(&path).unwrap();
    file.set_len(10 << 30).unwrap();
    assert_eq!(batches(&Recording::open(&path).unwrap()).len(), 2);
    // And ten that are nothing at all.
    let file = File::create(&path).unwrap();
    file.set_len(10 << 30).unwrap();
    assert!(said(&path).contains("is not a recording"), "{}", said(&path));
}

#[test]
fn what_users_add_beside_the_tables_does_not_matter() {
    let (_folder, path) = place();
    written(&path, 8);
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "CREATE INDEX mine ON counts (kind); CREATE VIEW my_view AS SELECT * FROM folded; CREATE TABLE notes (a);
         DROP VIEW lost; ANALYZE; VACUUM",
    )
    .unwrap();
    drop(db);
    let recording = Recording::open(&path).unwrap();
    assert_eq!((batches(&recording).len(), &recording.incomplete), (2, &None));
}
