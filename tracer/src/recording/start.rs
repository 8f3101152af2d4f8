//! What a run began with, in its tables.
//!
//! Must not know: files, intervals.

use anyhow::{Context, Result, bail};
use rusqlite::{Connection, params};

use super::rows;
use crate::{
    gfp,
    run::{Host, PathsMode, Start},
    signal::{Refused, Signal, Status},
};

/// Writes everything into empty tables.
pub(super) fn write(db: &Connection, start: &Start) -> Result<()> {
    // Every field is named so that a new one cannot be forgotten here.
    let Start { host, at_unix_ns, argv, signals, paths, by, filters, gfp, migratetypes } = start;
    let Host { kernel, machine, cpus, page_size, max_order } = host;
    let PathsMode { way, one_in, reason } = paths;
    let gfp::Table { source, names } = gfp;

    db.execute("INSERT INTO host VALUES (?1, ?2, ?3, ?4, ?5)", params![kernel, machine, cpus, page_size, max_order])?;
    db.execute(
        "INSERT INTO run VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![at_unix_ns, by, way, one_in, reason, source],
    )?;
    for (position, argument) in argv.iter().enumerate() {
        db.execute("INSERT INTO argv VALUES (?1, ?2)", params![position, argument])?;
    }
    for (position, filter) in filters.iter().enumerate() {
        db.execute("INSERT INTO filters VALUES (?1, ?2)", params![position, filter])?;
    }
    for (id, Signal { name, hook, status, refused, note }) in signals.iter().enumerate() {
        db.execute(
            "INSERT INTO signals VALUES (?1, ?2, ?3, ?4, ?5)",
            params![id, name, hook, status_word(*status), note],
        )?;
        for (position, Refused { hook, reason }) in refused.iter().enumerate() {
            db.execute("INSERT INTO refused VALUES (?1, ?2, ?3, ?4)", params![id, position, hook, reason])?;
        }
    }
    for (position, (mask, name)) in names.iter().enumerate() {
        // A mask is bits, not a number: bit 63 becomes the sign.
        db.execute("INSERT INTO gfp_flags VALUES (?1, ?2, ?3)", params![position, mask.cast_signed(), name])?;
    }
    for (number, name) in migratetypes {
        db.execute("INSERT INTO migratetypes VALUES (?1, ?2)", params![number, name])?;
    }
    Ok(())
}

/// Reads everything.
pub(super) fn read(db: &Connection) -> Result<Start> {
    let host = db
        .query_row("SELECT kernel, machine, cpus, page_size, max_order FROM host", [], |row| {
            Ok(Host {
                kernel: row.get(0)?,
                machine: row.get(1)?,
                cpus: row.get(2)?,
                page_size: row.get(3)?,
                max_order: row.get(4)?,
            })
        })
        .context("table `host`")?;
    let (at_unix_ns, by, paths, source) = db
        .query_row(
            "SELECT started_unix_ns, by, paths_way, paths_one_in, paths_reason, gfp_source FROM run",
            [],
            |row| {
                let paths = PathsMode { way: row.get(2)?, one_in: row.get(3)?, reason: row.get(4)? };
                Ok((row.get(0)?, row.get(1)?, paths, row.get(5)?))
            },
        )
        .context("table `run`")?;
    let argv = rows::list(db, "argv", "SELECT position, argument FROM argv ORDER BY 1", [], |row| Ok(row.get(1)?))?;
    let filters =
        rows::list(db, "filters", "SELECT position, filter FROM filters ORDER BY 1", [], |row| Ok(row.get(1)?))?;
    let signals =
        rows::list(db, "signals", "SELECT id, name, hook, status, note FROM signals ORDER BY 1", [], |row| {
            let (id, status): (usize, String) = (row.get(0)?, row.get(3)?);
            Ok(Signal {
                name: row.get(1)?,
                hook: row.get(2)?,
                status: status_of(&status)?,
                refused: refused(db, id)?,
                note: row.get(4)?,
            })
        })?;
    let names = rows::list(db, "gfp_flags", "SELECT position, mask, name FROM gfp_flags ORDER BY 1", [], |row| {
        Ok((row.get::<_, i64>(1)?.cast_unsigned(), row.get(2)?))
    })?;
    let mut migratetypes = std::collections::BTreeMap::new();
    rows::each(db, "SELECT number, name FROM migratetypes ORDER BY 1", [], |row| {
        match migratetypes.insert(row.get(0)?, row.get(1)?) {
            None => Ok(()),
            Some(_) => bail!("a migrate type is named twice"),
        }
    })
    .context("table `migratetypes`")?;
    Ok(Start { host, at_unix_ns, argv, signals, paths, by, filters, gfp: gfp::Table { source, names }, migratetypes })
}

fn refused(db: &Connection, signal: usize) -> Result<Vec<Refused>> {
    let sql = "SELECT position, hook, reason FROM refused WHERE signal = ?1 ORDER BY 1";
    rows::list(db, "refused", sql, params![signal], |row| Ok(Refused { hook: row.get(1)?, reason: row.get(2)? }))
}

fn status_word(status: Status) -> &'static str {
    match status {
        Status::Attached => "attached",
        Status::Degraded => "degraded",
        Status::Missing => "missing",
    }
}

fn status_of(word: &str) -> Result<Status> {
    Ok(match word {
        "attached" => Status::Attached,
        "degraded" => Status::Degraded,
        "missing" => Status::Missing,
        other => bail!("`{other}` is no status of a signal"),
    })
}
