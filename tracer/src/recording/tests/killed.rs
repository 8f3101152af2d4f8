//! A tracer that is killed while it writes.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use super::{
    super::{Recording, Writer, merge},
    batches, place, sample, without_privileges,
};

/// Names the recording that [`writes_until_it_is_killed`] is to write.
const PATH: &str = "RECORDING_TO_BE_KILLED";

#[test]
#[ignore = "never ends: started, and killed, by the other tests here"]
fn writes_until_it_is_killed() {
    let path = PathBuf::from(std::env::var_os(PATH).expect("started with a path"));
    let mut writer = Writer::create(&path, &sample::start(), false, None).unwrap();
    for batch in &sample::batches(11, 400) {
        writer.append(batch).unwrap();
        println_to_parent(batch.at);
    }
    loop {
        std::thread::park();
    }
}

/// Standard output proper: the test harness would keep what `println` prints.
fn println_to_parent(at: Duration) {
    use std::io::Write;
    let mut output = std::io::stdout().lock();
    writeln!(output, "at {}", at.as_millis()).unwrap();
    output.flush().unwrap();
}

/// Has a process of its own write `path` and kills it after `lines` batches; the time of the last batch it reported.
fn killed(path: &Path, lines: usize) -> Duration {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "recording::tests::killed::writes_until_it_is_killed"])
        .env(PATH, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let mut at = output.lines().map_while(Result::ok).filter_map(|line| {
        let at = line.split_once("at ").and_then(|(_, at)| at.parse().ok())?;
        Some(Duration::from_millis(at))
    });
    at.nth(lines - 1).expect("it writes as many batches");
    child.kill().unwrap();
    let last = at.last();
    let status = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "it was killed in the middle");
    last.unwrap_or(Duration::from_millis(250) * u32::try_from(lines).unwrap())
}

/// Checks that `recording` is what was written of a run that was killed after `last`.
fn lacks_a_second_at_most(path: &Path, last: Duration) {
    let recording = Recording::open(path).unwrap();
    assert_eq!((&recording.start, &recording.end), (&sample::start(), &None));
    let read = batches(&recording);
    let until = read.last().map_or(Duration::ZERO, |batch| batch.at);
    assert!(until + Duration::from_secs(1) >= last, "{until:?} are there of {last:?}");
    assert!(recording.incomplete.unwrap().contains("cut short after"));
    let appended = sample::batches(11, 400);
    assert_eq!(read, appended.chunks(4).take(read.len()).map(merge).collect::<Vec<_>>());
}

#[test]
fn a_killed_tracer_loses_its_last_second_at_most() {
    // The last ones after the log has been taken into the file at least once.
    for lines in [1, 5, 40, 150, 350] {
        let (_folder, path) = place();
        let last = killed(&path, lines);
        lacks_a_second_at_most(&path, last);
        // Reading has not changed that.
        lacks_a_second_at_most(&path, last);
    }
}

#[test]
fn without_its_index_and_where_nothing_may_be_written_a_private_copy_is_read() {
    let (folder, path) = place();
    let last = killed(&path, 100);
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    for name in ["r.db", "r.db-wal"] {
        fs::copy(folder.path().join(name), elsewhere.join(name)).unwrap();
        fs::set_permissions(elsewhere.join(name), PermissionsExt::from_mode(0o444)).unwrap();
    }
    fs::set_permissions(&elsewhere, PermissionsExt::from_mode(0o555)).unwrap();
    without_privileges(|| lacks_a_second_at_most(&elsewhere.join("r.db"), last));
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 2);

    // Where it lies, with its index, but not writable either.
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o555)).unwrap();
    without_privileges(|| lacks_a_second_at_most(&path, last));
}

#[test]
fn without_its_log_the_file_of_a_killed_tracer_still_has_its_beginning() {
    let (folder, path) = place();
    killed(&path, 20);
    let alone = folder.path().join("alone.db");
    fs::copy(&path, &alone).unwrap();
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o555)).unwrap();
    let start = without_privileges(|| Recording::open(&alone).map(|recording| recording.start));
    assert_eq!(start.unwrap(), sample::start());
}

#[test]
fn a_killed_recording_is_replaced_with_force() {
    let (folder, path) = place();
    killed(&path, 20);
    Writer::create(&path, &sample::start(), true, None).unwrap().finish(&sample::end()).unwrap();
    assert_eq!(Recording::open(&path).unwrap().end, Some(sample::end()));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
