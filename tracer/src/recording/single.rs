//! Single page allocations, in their tables, by interval.
//!
//! They are for SQL: a report needs only how they add up, so that is all that is read back.
//! Must not know: files, how events are shown.

use anyhow::{Context, Result};
use rusqlite::{Connection, OptionalExtension, params};

use super::keys::Numbers;
use crate::batch::{Single, SingleEvent};

/// Writes those of one interval. To be called within a transaction.
pub(super) fn write(db: &Connection, numbers: &mut Numbers, interval: u64, single: Option<&Single>) -> Result<()> {
    let Some(Single { events, seen, written, lost }) = single else { return Ok(()) };
    let mut insert = db.prepare_cached("INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?;
    for SingleEvent { time_ns, cpu, pid, tid, comm, order, migratetype, gfp, failed, path } in events {
        let path = (*path != 0).then(|| numbers.path(db, *path)).transpose()?;
        insert.execute(params![interval, time_ns, cpu, pid, tid, comm, order, migratetype, gfp, failed, path])?;
    }
    db.prepare_cached("INSERT INTO event_totals VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![interval, seen, written, lost])?;
    Ok(())
}

/// How those up to the end of an interval add up; `None` unless they were asked for.
pub(super) fn read(db: &Connection, interval: u64) -> Result<Option<Single>> {
    db.prepare_cached("SELECT seen, written, lost FROM event_totals WHERE interval = ?1")?
        .query_row([interval], |row| {
            Ok(Single { events: Vec::new(), seen: row.get(0)?, written: row.get(1)?, lost: row.get(2)? })
        })
        .optional()
        .context("table `event_totals`")
}
