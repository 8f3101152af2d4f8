//! Rows of any table: reading them one after the other, and the forms of values that SQLite has no type for.
//!
//! Must not know: which tables there are.

use anyhow::{Context, Result, ensure};
use rusqlite::{Connection, Params, Row};

/// Hands every row of `sql` to `each` until one is refused or cannot be read.
pub(super) fn each(
    db: &Connection,
    sql: &str,
    parameters: impl Params,
    mut each: impl FnMut(&Row) -> Result<()>,
) -> Result<()> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(parameters)?;
    while let Some(row) = rows.next()? {
        each(row)?;
    }
    Ok(())
}

/// The rows of a list with `position` as its first column, which must run from 0 on.
pub(super) fn list<T>(
    db: &Connection,
    table: &str,
    sql: &str,
    parameters: impl Params,
    mut item: impl FnMut(&Row) -> Result<T>,
) -> Result<Vec<T>> {
    let mut items = Vec::new();
    each(db, sql, parameters, |row| {
        let position: usize = row.get(0)?;
        ensure!(position == items.len(), "row {position} where {} should be", items.len());
        items.push(item(row)?);
        Ok(())
    })
    .with_context(|| format!("table `{table}`"))?;
    Ok(items)
}

/// All 64 bits as text: SQLite's integers have a sign.
pub(super) fn hex(value: u64) -> String {
    format!("{value:#018x}")
}

/// The reverse of [`hex`].
pub(super) fn unhex(text: &str) -> Result<u64> {
    let value = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let value = value.with_context(|| format!("`{text}` is no 64-bit number"))?;
    ensure!(hex(value) == text, "`{text}` is not written as tracer does");
    Ok(value)
}

/// A fraction; SQLite stores NaN as `NULL`.
pub(super) fn real(value: Option<f64>) -> f64 {
    value.unwrap_or(f64::NAN)
}

/// An error as one line without control characters: SQLite quotes names out of the file.
pub(super) fn words(error: &anyhow::Error) -> String {
    // What rusqlite wraps says the same again.
    let causes = error.chain().filter(|cause| !cause.is::<rusqlite::ffi::Error>());
    let line = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
    line.replace(char::is_control, "?")
}
