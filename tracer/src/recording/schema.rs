//! The tables of a recording, and whether a file has them.
//!
//! Must not know: what is written into them.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use rusqlite::{Connection, params};

/// Marks an SQLite file as a recording (`trac`).
pub const APPLICATION_ID: i32 = 0x7472_6163;

/// The form of the tables. A reader takes every form up to its own, except for 1, which no released tracer wrote.
pub const VERSION: i32 = 2;

/// Makes every table and view. Comments inside the parentheses travel in the file. Nothing newer than SQLite 3.26
/// is used: one view that an older `sqlite3` cannot parse makes the whole file unreadable to it.
pub(super) const SQL: &str = include_str!("schema.sql");

/// Makes the tables in an empty database and marks it as ours.
pub(super) fn create(db: &Connection) -> Result<()> {
    db.execute_batch(SQL)?;
    db.execute("INSERT INTO meta VALUES ('tracer', ?1)", params![env!("CARGO_PKG_VERSION")])?;
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    db.pragma_update(None, "user_version", VERSION)?;
    Ok(())
}

/// Refuses a file whose tables are not ours to the letter: a damaged or forged one might have a view that never ends
/// where a table should be. What users add beside them (views, indexes) does not matter.
pub(super) fn check(db: &Connection) -> Result<()> {
    let found = tables(db).context("its list of tables cannot be read")?;
    // SQLite keeps the text of a statement as it was given.
    for sql in SQL.split_terminator(";\n").map(str::trim) {
        let Some((name, _)) = sql.strip_prefix("CREATE TABLE ").and_then(|rest| rest.split_once(' ')) else { continue };
        match found.get(name) {
            None => bail!("it has no table `{name}`"),
            Some(found) if found != sql => bail!("its table `{name}` is not as tracer makes it"),
            Some(_) => {}
        }
    }
    Ok(())
}

fn tables(db: &Connection) -> Result<BTreeMap<String, String>> {
    let mut statement = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql IS NOT NULL")?;
    let tables = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    Ok(tables)
}

/// The version of tracer that wrote a file of whatever form; `None` where the file does not tell.
pub(super) fn written_by(db: &Connection) -> Option<String> {
    db.query_row("SELECT substr(value, 1, 40) FROM meta WHERE key = 'tracer'", [], |row| row.get(0)).ok()
}
