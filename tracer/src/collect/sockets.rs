//! Reading the table of sockets, and keeping room in it.

use std::collections::HashMap;

use anyhow::{Context as _, Result};
use aya::maps::{MapData, PerCpuHashMap};
use tracer_common::sock::SocketRow;

use super::holders::Holders;
use crate::{
    probe::Probe,
    sockets::{address, protocol_of},
    tally::Socket,
};

/// Reads the sockets that changed.
pub(super) struct Sockets {
    table: PerCpuHashMap<MapData, u64, SocketRow>,
    capacity: usize,
    /// When each was last seen by the kernel side.
    seen: HashMap<u64, u64>,
    /// Rows taken out to make room.
    pub(super) left: u64,
    holders: Holders,
}

impl Sockets {
    pub(super) fn new(probe: &mut Probe) -> Result<Self> {
        Ok(Self {
            capacity: probe.sizes.sockets as usize,
            table: probe.take_map("SOCKETS")?.try_into().context("the table of sockets")?,
            seen: HashMap::new(),
            left: 0,
            holders: Holders::default(),
        })
    }

    /// The sockets seen since the last read. Those seen longest ago leave the table when it is three quarters full.
    pub(super) fn read(&mut self) -> Vec<Socket> {
        let mut rows: Vec<(u64, SocketRow)> = self
            .table
            .iter()
            .filter_map(Result::ok)
            .filter_map(|(key, cpus)| Some((key, joined(cpus.iter())?)))
            .collect();
        let mut changed = Vec::new();
        for (key, row) in &rows {
            if self.seen.insert(*key, row.seen_ns) != Some(row.seen_ns) {
                changed.push(self.socket(*key, row));
            }
        }
        changed.sort_unstable_by_key(|socket| socket.key);
        if rows.len() > self.capacity / 4 * 3 {
            rows.sort_unstable_by_key(|(_, row)| row.seen_ns);
            self.make_room(rows.iter().take(rows.len() - self.capacity / 2).map(|(key, _)| *key));
        }
        changed
    }

    fn make_room(&mut self, keys: impl Iterator<Item = u64>) {
        for key in keys {
            if self.table.remove(&key).is_ok() {
                self.seen.remove(&key);
                self.left += 1;
            }
        }
    }

    fn socket(&mut self, key: u64, row: &SocketRow) -> Socket {
        let protocol = protocol_of(row.family, row.protocol);
        let local = address(row.family, row.local, row.local_port);
        let holder = self.holders.of(protocol, &local);
        Socket {
            key,
            protocol: protocol.to_owned(),
            remote: address(row.family, row.remote, row.remote_port),
            pid: holder.as_ref().map(|(pid, _)| *pid),
            comm: holder.map(|(_, comm)| comm).unwrap_or_default(),
            local,
            rmem_alloc: u64::from(row.rmem_alloc),
            rcvbuf: u64::from(row.rcvbuf),
            // A stream's queue, or where there is none what is on its way out; a free socket keeps 1 of it.
            wmem_queued: u64::from(if row.wmem_queued > 0 {
                row.wmem_queued
            } else {
                row.wmem_alloc.saturating_sub(1)
            }),
            sndbuf: u64::from(row.sndbuf),
            forward_alloc: i64::from(row.forward_alloc.cast_signed()),
            reserved: u64::from(row.reserved),
            charges: row.charges,
            refused: row.refused,
            rcvqueue_full: row.rcvqueue_full,
        }
    }
}

/// One row from those of the CPUs: sums of what is counted, the rest from the CPU that saw it last.
fn joined<'a>(rows: impl Iterator<Item = &'a SocketRow>) -> Option<SocketRow> {
    let mut all: Option<SocketRow> = None;
    let (mut charges, mut refused, mut rcvqueue_full) = (0, 0, 0);
    for row in rows.filter(|row| row.seen_ns > 0) {
        charges += row.charges;
        refused += row.refused;
        rcvqueue_full += row.rcvqueue_full;
        if all.is_none_or(|it| it.seen_ns < row.seen_ns) {
            all = Some(*row);
        }
    }
    all.map(|row| SocketRow { charges, refused, rcvqueue_full, ..row })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_cpus_are_added_and_figures_are_the_latest() {
        let early = SocketRow { seen_ns: 1, charges: 2, rmem_alloc: 10, ..SocketRow::default() };
        let late = SocketRow { seen_ns: 5, charges: 3, rmem_alloc: 20, ..SocketRow::default() };
        let idle = SocketRow::default();
        let row = joined([late, idle, early].iter());
        assert_eq!(row.map(|row| (row.charges, row.rmem_alloc, row.seen_ns)), Some((5, 20, 5)));
        assert_eq!(joined([idle].iter()), None);
    }
}
