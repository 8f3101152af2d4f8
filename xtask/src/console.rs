//! Where lines go: results to standard output, everything on the way to them to standard error.
//!
//! A closed pipe is not an error. Must not know what the lines are about.

use std::io::{IsTerminal, Write, stderr, stdout};

/// A line of a result.
pub(crate) fn result(line: &str) {
    let _closed = writeln!(stdout(), "{line}");
}

/// A line about what is going on.
pub(crate) fn note(line: &str) {
    let _closed = writeln!(stderr(), "{line}");
}

/// Says what is being done until the returned value is dropped. Only on a terminal: a log wants results.
pub(crate) fn progress(what: &str) -> Progress {
    let shown = stderr().is_terminal();
    if shown {
        let mut err = stderr();
        let _closed = write!(err, "... {what}").and_then(|()| err.flush());
    }
    Progress { shown }
}

/// A progress line on the screen.
pub(crate) struct Progress {
    shown: bool,
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            // Back to the first column and erase: the result takes the line.
            let mut err = stderr();
            let _closed = write!(err, "\r\x1b[K").and_then(|()| err.flush());
        }
    }
}

/// The line without `ESC [ ... m`.
pub(crate) fn without_colours(line: &str) -> String {
    let mut parts = line.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or(part, |(_, after)| after))
}
