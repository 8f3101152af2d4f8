//! What is counted beside page allocations, in its tables, by interval.
//!
//! Must not know: files, what the details mean.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use rusqlite::{Connection, params};

use super::{
    keys::{Names, Numbers},
    rows::{self, hex, unhex},
};
use crate::tally::{Distribution, KINDS, Kind, Socket, Sums, Tallies, TallyCount, TallyKey};

/// Writes those of one interval. To be called within a transaction.
pub(super) fn write(db: &Connection, numbers: &mut Numbers, interval: u64, tallies: &Tallies) -> Result<()> {
    // Every field is named so that a new one cannot be forgotten here.
    let Tallies { counts, distributions, sockets, drops, losses } = tallies;
    for TallyCount { key, sums: Sums { events, values: [first, second, third] } } in counts {
        let tally = numbers.tally(db, key)?;
        db.prepare_cached("INSERT INTO tally_counts VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
            .execute(params![interval, tally, events, first, second, third])?;
    }
    for Distribution { name, buckets, sum, min, max } in distributions {
        db.prepare_cached("INSERT INTO distributions VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![interval, name, sum, min, max])?;
        for (lowest, values) in buckets {
            db.prepare_cached("INSERT INTO distribution_buckets VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![interval, name, lowest, values])?;
        }
    }
    for socket in sockets {
        write_socket(db, interval, socket)?;
    }
    for (sql, events) in
        [("INSERT INTO drops VALUES (?1, ?2, ?3)", drops), ("INSERT INTO tally_losses VALUES (?1, ?2, ?3)", losses)]
    {
        for (name, events) in events {
            db.prepare_cached(sql)?.execute(params![interval, name, events])?;
        }
    }
    Ok(())
}

fn write_socket(db: &Connection, interval: u64, socket: &Socket) -> Result<()> {
    let Socket {
        key,
        protocol,
        local,
        remote,
        pid,
        comm,
        rmem_alloc,
        rcvbuf,
        wmem_queued,
        sndbuf,
        forward_alloc,
        reserved,
        charges,
        refused,
        rcvqueue_full,
    } = socket;
    db.prepare_cached(
        "INSERT INTO sockets VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
    )?
    .execute(params![
        interval,
        hex(*key),
        protocol,
        local,
        remote,
        pid,
        comm,
        rmem_alloc,
        rcvbuf,
        wmem_queued,
        sndbuf,
        forward_alloc,
        reserved,
        charges,
        refused,
        rcvqueue_full
    ])?;
    Ok(())
}

/// Reads those of one interval.
pub(super) fn read(db: &Connection, names: &Names, interval: u64) -> Result<Tallies> {
    Ok(Tallies {
        counts: counts(db, names, interval).context("table `tally_counts`")?,
        distributions: distributions(db, interval).context("table `distributions`")?,
        sockets: sockets(db, interval).context("table `sockets`")?,
        drops: named(db, "SELECT reason, events FROM drops WHERE interval = ?1", interval).context("table `drops`")?,
        losses: named(db, "SELECT cause, events FROM tally_losses WHERE interval = ?1", interval)
            .context("table `tally_losses`")?,
    })
}

fn counts(db: &Connection, names: &Names, interval: u64) -> Result<Vec<TallyCount>> {
    let mut counts = Vec::new();
    let sql = "SELECT tally, events, first, second, third FROM tally_counts WHERE interval = ?1 ORDER BY 1";
    rows::each(db, sql, [interval], |row| {
        let sums = Sums { events: row.get(1)?, values: [row.get(2)?, row.get(3)?, row.get(4)?] };
        counts.push(TallyCount { key: names.tally(row.get(0)?)?, sums });
        Ok(())
    })?;
    counts.sort_unstable_by_key(|count| count.key);
    ensure!(counts.is_sorted_by(|one, next| one.key < next.key), "a tally is there twice");
    Ok(counts)
}

fn distributions(db: &Connection, interval: u64) -> Result<Vec<Distribution>> {
    let mut distributions = Vec::new();
    let sql = "SELECT name, sum, least, largest FROM distributions WHERE interval = ?1 ORDER BY 1";
    rows::each(db, sql, [interval], |row| {
        distributions.push(Distribution {
            name: row.get(0)?,
            buckets: Vec::new(),
            sum: row.get(1)?,
            min: row.get(2)?,
            max: row.get(3)?,
        });
        Ok(())
    })?;
    let sql = "SELECT name, lowest, events FROM distribution_buckets WHERE interval = ?1 ORDER BY 1, 2";
    rows::each(db, sql, [interval], |row| {
        let name: String = row.get(0)?;
        let there = distributions.iter_mut().find(|it| it.name == name);
        there.context("a bucket of no distribution")?.buckets.push((row.get(1)?, row.get(2)?));
        Ok(())
    })?;
    Ok(distributions)
}

fn sockets(db: &Connection, interval: u64) -> Result<Vec<Socket>> {
    let mut sockets = Vec::new();
    let sql = "SELECT key, protocol, local, remote, pid, comm, rmem_alloc, rcvbuf, wmem_queued, sndbuf, forward_alloc, \
               reserved, charges, refused, rcvqueue_full FROM sockets WHERE interval = ?1";
    rows::each(db, sql, [interval], |row| {
        sockets.push(Socket {
            key: unhex(&row.get::<_, String>(0)?)?,
            protocol: row.get(1)?,
            local: row.get(2)?,
            remote: row.get(3)?,
            pid: row.get(4)?,
            comm: row.get(5)?,
            rmem_alloc: row.get(6)?,
            rcvbuf: row.get(7)?,
            wmem_queued: row.get(8)?,
            sndbuf: row.get(9)?,
            forward_alloc: row.get(10)?,
            reserved: row.get(11)?,
            charges: row.get(12)?,
            refused: row.get(13)?,
            rcvqueue_full: row.get(14)?,
        });
        Ok(())
    })?;
    sockets.sort_unstable_by_key(|socket| socket.key);
    Ok(sockets)
}

fn named(db: &Connection, sql: &str, interval: u64) -> Result<BTreeMap<String, u64>> {
    let mut events = BTreeMap::new();
    rows::each(db, sql, [interval], |row| {
        events.insert(row.get(0)?, row.get(1)?);
        Ok(())
    })?;
    Ok(events)
}

/// The number of a kind by its name.
pub(super) fn kind(name: &str) -> Result<u8> {
    let kind = KINDS.into_iter().find(|kind| kind.name() == name);
    kind.map(|kind| kind as u8).with_context(|| format!("there are no tallies of kind `{}`", name.escape_debug()))
}

/// The name of a kind by its number.
pub(super) fn kind_name(key: &TallyKey) -> Result<&'static str> {
    key.kind().map(Kind::name).with_context(|| format!("there are no tallies of kind {}", key.kind))
}
