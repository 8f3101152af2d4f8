//! The report for programs: the object `tracer.report/1`, pretty-printed.
//!
//! Must not know: anything the snapshot does not say; names and shapes are those of [`crate::snapshot`].

use std::{fmt::Write as _, io};

use super::untrusted;
use crate::snapshot::Snapshot;

/// Writes one object and one newline.
pub fn write(snapshot: &Snapshot, out: &mut dyn io::Write) -> io::Result<()> {
    let json = serde_json::to_string_pretty(snapshot)?;
    let mut safe = String::with_capacity(json.len() + 1);
    // serde_json escapes what JSON demands, U+0000 to U+001F, but leaves DEL and C1, which a terminal may obey. All
    // white space between tokens is spaces and newlines, so whatever else is unfit stands inside a string.
    for c in json.chars() {
        if c != '\n' && untrusted::unfit(c) {
            write!(safe, "\\u{:04x}", u32::from(c)).map_err(io::Error::other)?;
        } else {
            safe.push(c);
        }
    }
    safe.push('\n');
    out.write_all(safe.as_bytes())
}
