//! What a run ended with, in its tables.
//!
//! Must not know: files, what intervals hold.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use rusqlite::{Connection, OptionalExtension, params};

use super::rows::{self, real};
use crate::run::{BeforeAfter, Benchmark, CommandEnd, End, Score, System, Traffic, Work};

/// Free blocks by zone, then by order.
type Zones = BTreeMap<String, Vec<u64>>;

/// Writes everything into empty tables, with the number of intervals before it.
pub(super) fn write(db: &Connection, end: &End, intervals: u64) -> Result<()> {
    // Every field is named so that a new one cannot be forgotten here.
    let End { duration, command, benchmark, system, warnings } = end;
    let System { buddyinfo, vmstat_delta, sockstat, netstat_delta, interfaces, unseen_pages } = system;

    let duration_ns = i64::try_from(duration.as_nanos()).context("a run longer than 292 years")?;
    db.execute("INSERT INTO run_end VALUES (?1, ?2, ?3)", params![duration_ns, intervals, unseen_pages])?;
    if let Some(CommandEnd { exit_code, wall_s, user_s, system_s }) = command {
        db.execute("INSERT INTO command_end VALUES (?1, ?2, ?3, ?4)", params![exit_code, wall_s, user_s, system_s])?;
    }
    let mut caveats: Vec<_> = warnings.iter().map(|warning| ("run", warning)).collect();
    if let Some(Benchmark { tool, test, instances, results, work, warnings, stdout, stderr }) = benchmark {
        let (unit, amount) = work.as_ref().map(|Work { unit, amount }| (unit, amount)).unzip();
        db.execute(
            "INSERT INTO benchmark VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![tool, test, instances, unit, amount, stdout, stderr],
        )?;
        for (position, Score { metric, side, value, unit, lower_is_better }) in results.iter().enumerate() {
            db.execute(
                "INSERT INTO results VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![position, metric, side, value, unit, lower_is_better],
            )?;
        }
        caveats.extend(warnings.iter().map(|warning| ("benchmark", warning)));
    }
    for (position, (about, warning)) in caveats.into_iter().enumerate() {
        db.execute("INSERT INTO warnings VALUES (?1, ?2, ?3)", params![position, about, warning])?;
    }
    if let Some(BeforeAfter { before, after }) = buddyinfo {
        for (column, zones) in [("before", before), ("after", after)] {
            let sql = format!(
                "INSERT INTO buddyinfo (zone, page_order, {column}) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (zone, page_order) DO UPDATE SET {column} = excluded.{column}"
            );
            for (zone, blocks) in zones {
                for (order, blocks) in blocks.iter().enumerate() {
                    db.execute(&sql, params![zone, order, blocks])?;
                }
            }
        }
    }
    for (name, delta) in vmstat_delta {
        db.execute("INSERT INTO vmstat VALUES (?1, ?2)", params![name, delta])?;
    }
    if let Some(BeforeAfter { before, after }) = sockstat {
        for name in before.keys().chain(after.keys().filter(|name| !before.contains_key(*name))) {
            db.execute("INSERT INTO sockstat VALUES (?1, ?2, ?3)", params![name, before.get(name), after.get(name)])?;
        }
    }
    for (name, delta) in netstat_delta {
        db.execute("INSERT INTO netstat VALUES (?1, ?2)", params![name, delta])?;
    }
    for (name, Traffic { rx_packets, rx_bytes, tx_packets, tx_bytes }) in interfaces {
        db.execute(
            "INSERT INTO interfaces VALUES (?1, ?2, ?3, ?4, ?5)",
            params![name, rx_packets, rx_bytes, tx_packets, tx_bytes],
        )?;
    }
    Ok(())
}

/// Reads everything, with the number of intervals there must be; `None` where the recording was cut short.
pub(super) fn read(db: &Connection) -> Result<Option<(End, u64)>> {
    let run = db
        .query_row("SELECT duration_ns, intervals, unseen_pages FROM run_end", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()
        .context("table `run_end`")?;
    let Some((duration_ns, intervals, unseen_pages)) = run else { return Ok(None) };
    let command = db
        .query_row("SELECT exit_code, wall_s, user_s, system_s FROM command_end", [], |row| {
            Ok(CommandEnd {
                exit_code: row.get(0)?,
                wall_s: real(row.get(1)?),
                user_s: real(row.get(2)?),
                system_s: real(row.get(3)?),
            })
        })
        .optional()
        .context("table `command_end`")?;
    let end = End {
        duration: Duration::from_nanos(duration_ns),
        command,
        benchmark: benchmark(db)?,
        system: System {
            buddyinfo: buddyinfo(db)?,
            vmstat_delta: deltas(db, "vmstat", "SELECT name, delta FROM vmstat ORDER BY 1")?,
            sockstat: sockstat(db)?,
            netstat_delta: deltas(db, "netstat", "SELECT name, delta FROM netstat ORDER BY 1")?,
            interfaces: interfaces(db)?,
            unseen_pages,
        },
        warnings: warnings(db, "run")?,
    };
    Ok(Some((end, intervals)))
}

fn benchmark(db: &Connection) -> Result<Option<Benchmark>> {
    let sql = "SELECT tool, test, instances, work_unit, work_amount, stdout, stderr FROM benchmark";
    let benchmark = db
        .query_row(sql, [], |row| {
            let unit: Option<String> = row.get(3)?;
            let amount = real(row.get(4)?);
            Ok(Benchmark {
                tool: row.get(0)?,
                test: row.get(1)?,
                instances: row.get(2)?,
                results: Vec::new(),
                work: unit.map(|unit| Work { unit, amount }),
                warnings: Vec::new(),
                stdout: row.get(5)?,
                stderr: row.get(6)?,
            })
        })
        .optional()
        .context("table `benchmark`")?;
    let Some(benchmark) = benchmark else { return Ok(None) };
    let sql = "SELECT position, metric, side, value, unit, lower_is_better FROM results ORDER BY 1";
    let results = rows::list(db, "results", sql, [], |row| {
        Ok(Score {
            metric: row.get(1)?,
            side: row.get(2)?,
            value: real(row.get(3)?),
            unit: row.get(4)?,
            lower_is_better: row.get(5)?,
        })
    })?;
    Ok(Some(Benchmark { results, warnings: warnings(db, "benchmark")?, ..benchmark }))
}

fn warnings(db: &Connection, wanted: &str) -> Result<Vec<String>> {
    let sql = "SELECT position, about, warning FROM warnings ORDER BY 1";
    let all = rows::list(db, "warnings", sql, [], |row| Ok((row.get::<_, String>(1)?, row.get(2)?)))?;
    Ok(all.into_iter().filter_map(|(about, warning)| (about == wanted).then_some(warning)).collect())
}

fn buddyinfo(db: &Connection) -> Result<Option<BeforeAfter<Zones>>> {
    let mut both = BeforeAfter { before: Zones::new(), after: Zones::new() };
    let sql = "SELECT zone, page_order, before, after FROM buddyinfo ORDER BY 1, 2";
    rows::each(db, sql, [], |row| {
        let (zone, order): (String, usize) = (row.get(0)?, row.get(1)?);
        for (zones, blocks) in [(&mut both.before, row.get(2)?), (&mut both.after, row.get(3)?)] {
            let Some(blocks) = blocks else { continue };
            let zone = zones.entry(zone.clone()).or_default();
            ensure!(zone.len() == order, "order {order} where {} should be", zone.len());
            zone.push(blocks);
        }
        Ok(())
    })
    .context("table `buddyinfo`")?;
    let read = !both.before.is_empty() || !both.after.is_empty();
    Ok(read.then_some(both))
}

fn deltas(db: &Connection, table: &str, sql: &str) -> Result<BTreeMap<String, i64>> {
    let mut delta = BTreeMap::new();
    rows::each(db, sql, [], |row| match delta.insert(row.get(0)?, row.get(1)?) {
        None => Ok(()),
        Some(_) => bail!("a counter is there twice"),
    })
    .with_context(|| format!("table `{table}`"))?;
    Ok(delta)
}

fn sockstat(db: &Connection) -> Result<Option<BeforeAfter<BTreeMap<String, i64>>>> {
    let mut both = BeforeAfter { before: BTreeMap::new(), after: BTreeMap::new() };
    rows::each(db, "SELECT name, before, after FROM sockstat ORDER BY 1", [], |row| {
        let name: String = row.get(0)?;
        for (values, value) in [(&mut both.before, row.get(1)?), (&mut both.after, row.get(2)?)] {
            if let Some(value) = value {
                values.insert(name.clone(), value);
            }
        }
        Ok(())
    })
    .context("table `sockstat`")?;
    let read = !both.before.is_empty() || !both.after.is_empty();
    Ok(read.then_some(both))
}

fn interfaces(db: &Connection) -> Result<BTreeMap<String, Traffic>> {
    let mut interfaces = BTreeMap::new();
    let sql = "SELECT name, rx_packets, rx_bytes, tx_packets, tx_bytes FROM interfaces ORDER BY 1";
    rows::each(db, sql, [], |row| {
        let traffic =
            Traffic { rx_packets: row.get(1)?, rx_bytes: row.get(2)?, tx_packets: row.get(3)?, tx_bytes: row.get(4)? };
        interfaces.insert(row.get(0)?, traffic);
        Ok(())
    })
    .context("table `interfaces`")?;
    Ok(interfaces)
}
