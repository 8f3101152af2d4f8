//! The report or comparison for programs: the object `tracer.report/1` or `tracer.diff/1`, pretty-printed.
//!
//! Must not know: anything that what is written does not say; names and shapes are those of [`crate::snapshot`] and
//! [`crate::compare`].

use std::{fmt::Write as _, io};

use serde::Serialize;

use super::untrusted;

/// Writes one object and one newline.
pub fn write(object: &impl Serialize, out: &mut dyn io::Write) -> io::Result<()> {
    let json = serde_json::to_string_pretty(object)?;
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
