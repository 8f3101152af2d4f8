//! One interval in its tables: events by kind, and the running totals at its end.
//!
//! Must not know: files, how long an interval is.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    bounds,
    keys::{Names, Numbers},
    rows, single, tallies,
};
use crate::{
    batch::{Audit, Batch, Count, Lookups, Loss, OrderTotals, ProgramStats},
    tally::Tallies,
};

/// A row of `intervals`.
#[derive(Clone, Copy)]
pub(super) struct Interval {
    pub(super) id: u64,
    pub(super) to: Duration,
    paths: u64,
    owners: u64,
    kinds: u64,
    events: u64,
}

/// Writes a merged batch as interval `id`, which began at `from`. To be called within a transaction.
pub(super) fn write(db: &Connection, numbers: &mut Numbers, id: u64, from: Duration, batch: &Batch) -> Result<()> {
    // Every field is named so that a new one cannot be forgotten here.
    let Batch { at, paths, owners, counts, totals, losses, programs, lookups, audit, tallies, single } = batch;
    let (mut new_paths, mut new_owners) = (0, 0);
    for path in paths {
        new_paths += i64::from(numbers.announce_path(db, id, path)?);
    }
    for owner in owners {
        new_owners += i64::from(numbers.announce_owner(db, id, owner)?);
    }
    let events: u64 = counts.iter().map(|count| count.events).sum();
    let (from_ns, to_ns) = (nanoseconds(from)?, nanoseconds(*at)?);
    db.prepare_cached("INSERT INTO intervals VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?.execute(params![
        id,
        from_ns,
        to_ns,
        new_paths,
        new_owners,
        counts.len(),
        events
    ])?;
    let mut rows =
        counts.iter().map(|Count { key, events }| Ok((numbers.kind(db, key)?, *events))).collect::<Result<Vec<_>>>()?;
    // In the order of the primary key, so that pages fill one after the other.
    rows.sort_unstable();
    let mut insert = db.prepare_cached("INSERT INTO counts VALUES (?1, ?2, ?3)")?;
    for (kind, events) in rows {
        insert.execute(params![id, kind, events])?;
    }
    for OrderTotals { order, allocated, failed, freed, refilled, direct, drained } in totals {
        db.prepare_cached("INSERT INTO order_totals VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?
            .execute(params![id, order, allocated, failed, freed, refilled, direct, drained])?;
    }
    for (cause, Loss { events, pages, by_order, counted_without_path }) in losses {
        db.prepare_cached("INSERT INTO losses VALUES (?1, ?2, ?3, ?4, ?5)")?.execute(params![
            id,
            cause,
            events,
            pages,
            counted_without_path
        ])?;
        for (order, events) in by_order {
            db.prepare_cached("INSERT INTO loss_orders VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![id, cause, order, events])?;
        }
    }
    for (position, ProgramStats { signal, hook, run_count, run_time_ns, missed }) in programs.iter().enumerate() {
        let program = numbers.program(db, signal, hook)?;
        db.prepare_cached("INSERT INTO program_stats VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(params![
            id,
            position,
            program,
            run_count,
            run_time_ns,
            missed
        ])?;
    }
    if let Some(Lookups { hits, unwound, evicted, unremembered }) = lookups {
        db.prepare_cached("INSERT INTO lookups VALUES (?1, ?2, ?3, ?4, ?5)")?.execute(params![
            id,
            hits,
            unwound,
            evicted,
            unremembered
        ])?;
    }
    if let Some(Audit { checked, disagreed }) = audit {
        db.prepare_cached("INSERT INTO audit VALUES (?1, ?2, ?3)")?.execute(params![id, checked, disagreed])?;
    }
    tallies::write(db, numbers, id, tallies)?;
    single::write(db, numbers, id, single.as_ref())
}

/// The rows of `intervals` up to the first that is damaged, and what is wrong with that one.
pub(super) fn list(db: &Connection) -> (Vec<Interval>, Result<()>) {
    let mut intervals: Vec<Interval> = Vec::new();
    let sql = "SELECT id, from_ns, to_ns, paths, owners, kinds, events FROM intervals ORDER BY 1";
    let end = rows::each(db, sql, [], |row| {
        let (from, to) = (Duration::from_nanos(row.get(1)?), Duration::from_nanos(row.get(2)?));
        let interval = Interval {
            id: row.get(0)?,
            to,
            paths: row.get(3)?,
            owners: row.get(4)?,
            kinds: row.get(5)?,
            events: row.get(6)?,
        };
        let (last, at) = intervals.last().map_or((0, Duration::ZERO), |last| (last.id, last.to));
        ensure!(interval.id == last + 1, "interval {} follows {last}", interval.id);
        ensure!(from == at && to >= from, "interval {} is not where the one before ends", interval.id);
        intervals.push(interval);
        Ok(())
    });
    (intervals, end.context("table `intervals`"))
}

/// Reads an interval as the merged batch that it was, but for what is counted beside page allocations.
pub(super) fn read(db: &Connection, names: &Names, interval: &Interval) -> Result<Batch> {
    let id = interval.id;
    let paths = names.paths.get(&id).cloned().unwrap_or_default();
    let owners = names.owners.get(&id).cloned().unwrap_or_default();
    ensure!(paths.len() as u64 == interval.paths, "{} new paths where {} should be", paths.len(), interval.paths);
    ensure!(owners.len() as u64 == interval.owners, "{} new owners where {} should be", owners.len(), interval.owners);
    Ok(Batch {
        at: interval.to,
        paths,
        owners,
        counts: counts(db, names, interval).context("table `counts`")?,
        totals: totals(db, id).context("table `order_totals`")?,
        losses: losses(db, id).context("table `losses`")?,
        programs: programs(db, names, id)?,
        lookups: db
            .prepare_cached("SELECT hits, unwound, evicted, unremembered FROM lookups WHERE interval = ?1")?
            .query_row([id], |row| {
                Ok(Lookups { hits: row.get(0)?, unwound: row.get(1)?, evicted: row.get(2)?, unremembered: row.get(3)? })
            })
            .optional()
            .context("table `lookups`")?,
        audit: db
            .prepare_cached("SELECT checked, disagreed FROM audit WHERE interval = ?1")?
            .query_row([id], |row| Ok(Audit { checked: row.get(0)?, disagreed: row.get(1)? }))
            .optional()
            .context("table `audit`")?,
        tallies: Tallies::default(),
        single: single::read(db, id)?,
    })
}

fn counts(db: &Connection, names: &Names, interval: &Interval) -> Result<Vec<Count>> {
    let mut counts = Vec::new();
    let mut sum = 0_u64;
    let mut last_kind = 0;
    let sql = "SELECT kind, events FROM counts WHERE interval = ?1 ORDER BY kind";
    rows::each(db, sql, [interval.id], |row| {
        let (kind, events): (u64, u64) = (row.get(0)?, row.get(1)?);
        ensure!(kind > last_kind, "kind {kind} follows {last_kind}");
        last_kind = kind;
        sum = sum.checked_add(events).context("its events do not fit 64 bits")?;
        counts.push(Count { key: names.kind(kind)?, events });
        Ok(())
    })?;
    ensure!(
        counts.len() as u64 == interval.kinds && sum == interval.events,
        "{} rows with {sum} events where {} with {} should be",
        counts.len(),
        interval.kinds,
        interval.events
    );
    counts.sort_unstable_by_key(|count| count.key);
    Ok(counts)
}

fn totals(db: &Connection, interval: u64) -> Result<Vec<OrderTotals>> {
    let mut totals: Vec<OrderTotals> = Vec::new();
    let sql = "SELECT page_order, allocated, failed, freed, refilled, direct, drained FROM order_totals \
               WHERE interval = ?1 ORDER BY 1";
    rows::each(db, sql, [interval], |row| {
        let order = row.get(0)?;
        ensure!(totals.last().is_none_or(|last| last.order < order), "order {order} is there twice");
        totals.push(OrderTotals {
            order,
            allocated: row.get(1)?,
            failed: row.get(2)?,
            freed: row.get(3)?,
            refilled: row.get(4)?,
            direct: row.get(5)?,
            drained: row.get(6)?,
        });
        Ok(())
    })?;
    Ok(totals)
}

fn losses(db: &Connection, interval: u64) -> Result<BTreeMap<String, Loss>> {
    let mut losses = BTreeMap::new();
    let sql = "SELECT cause, events, pages, without_path FROM losses WHERE interval = ?1 ORDER BY 1";
    rows::each(db, sql, [interval], |row| {
        let loss = Loss {
            events: row.get(1)?,
            pages: row.get(2)?,
            by_order: BTreeMap::new(),
            counted_without_path: row.get(3)?,
        };
        match losses.insert(row.get(0)?, loss) {
            None => Ok(()),
            Some(_) => bail!("a cause is there twice"),
        }
    })?;
    let sql = "SELECT cause, page_order, events FROM loss_orders WHERE interval = ?1 ORDER BY 1, 2";
    rows::each(db, sql, [interval], |row| {
        let (cause, order): (String, u8) = (row.get(0)?, row.get(1)?);
        let loss: &mut Loss = losses.get_mut(&cause).context("an order of no cause")?;
        ensure!(order <= bounds::MAX_ORDER, "order {order} is no kernel's");
        ensure!(loss.by_order.insert(order, row.get(2)?).is_none(), "order {order} is there twice");
        Ok(())
    })?;
    Ok(losses)
}

fn programs(db: &Connection, names: &Names, interval: u64) -> Result<Vec<ProgramStats>> {
    let sql = "SELECT position, program, run_count, run_time_ns, missed FROM program_stats \
               WHERE interval = ?1 ORDER BY 1";
    rows::list(db, "program_stats", sql, [interval], |row| {
        let (signal, hook) = names.program(row.get(1)?)?;
        Ok(ProgramStats { signal, hook, run_count: row.get(2)?, run_time_ns: row.get(3)?, missed: row.get(4)? })
    })
}

fn nanoseconds(time: Duration) -> Result<i64> {
    i64::try_from(time.as_nanos()).context("a run longer than 292 years")
}
