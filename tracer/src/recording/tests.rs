//! Tests of the file as a whole: written, read again, queried, damaged, killed.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{Recording, Writer};
use crate::batch::Batch;

mod bad_input;
mod damage;
mod documents;
mod killed;
mod merging;
mod placing;
mod round_trip;
mod sample;
mod speed;

/// A folder for one test, and the path of a recording in it.
fn place() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("r.db");
    (folder, path)
}

/// Writes a sample of `batches` batches with its end.
fn written(path: &Path, batches: usize) -> Vec<Batch> {
    let batches = sample::batches(1, batches);
    let mut writer = Writer::create(path, &sample::start(), false, None).unwrap();
    for batch in &batches {
        writer.append(batch).unwrap();
    }
    writer.finish(&sample::end()).unwrap();
    batches
}

/// All batches of a recording.
fn batches(recording: &Recording) -> Vec<Batch> {
    recording.batches().collect::<anyhow::Result<_>>().unwrap()
}

/// What `Recording::open` or `Writer::create` said.
fn refusal<T>(result: anyhow::Result<T>) -> String {
    let line = format!("{:#}", result.err().expect("it is refused"));
    assert!(!line.contains(char::is_control), "one line without control characters: {line:?}");
    line
}

/// Runs `test` as a user who may write nowhere: root may write everywhere.
fn without_privileges<T: Send>(test: impl FnOnce() -> T + Send) -> T {
    // On Linux the user id for file access, and the capabilities that go with it, belong to the thread.
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if nix::unistd::geteuid().is_root() {
                nix::unistd::setfsuid(nix::unistd::Uid::from_raw(65534));
            }
            test()
        });
        thread.join().unwrap()
    })
}
