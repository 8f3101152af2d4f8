//! Socket memory of both groups, by protocol and direction: charges per unit of work, and what each charged beyond need.
//!
//! Must not know: how rows are shown.

use serde::Serialize;

use super::{
    Base, Measure, Run,
    judge::{Change, Judge},
};
use crate::{
    snapshot::beside::ProtocolRow,
    stats::{MeanKind, Summary},
};

/// One figure of one protocol in one direction.
#[derive(Clone, Debug, Serialize)]
pub struct SocketChange {
    /// Such as `udp`.
    pub protocol: String,
    /// `send` or `receive`.
    pub direction: String,
    /// `charges`, `pages_charged`, `refused` (each per unit of work), `pages_a_charge`, `beyond_need_bytes_a_charge`
    /// or `held_bytes_a_charge`.
    pub what: &'static str,
    /// How it changed.
    #[serde(flatten)]
    pub measure: Measure,
}

/// A figure of a row; the second argument divides what is counted.
type Figure = fn(&ProtocolRow, f64) -> Option<f64>;

const FIGURES: [(&str, Figure); 6] = [
    ("charges", |row, units| Some(row.charges? as f64 / units)),
    ("pages_charged", |row, units| Some(row.pages_charged? as f64 / units)),
    ("pages_a_charge", |row, _| each(row.pages_charged?, row.charges?)),
    ("beyond_need_bytes_a_charge", |row, _| row.beyond_need_bytes.as_ref().filter(|it| it.count > 0).map(|it| it.mean)),
    ("held_bytes_a_charge", |row, _| row.forward_alloc_bytes.as_ref().filter(|it| it.count > 0).map(|it| it.mean)),
    ("refused", |row, units| Some(row.refused? as f64 / units)),
];

fn each(sum: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| sum as f64 / of as f64)
}

/// Compares the protocols that both groups have; empty where charges were not seen in every run.
pub(super) fn compare(a: &[Run], b: &[Run], per: &Base, judge: Judge) -> Vec<SocketChange> {
    let rows = |run: &Run| run.snapshot.sockets.as_ref().map_or_else(Vec::new, |it| it.protocols.clone());
    let mut names: Vec<(String, String)> =
        a.iter().chain(b).flat_map(rows).map(|row| (row.protocol, row.direction)).collect();
    names.sort();
    names.dedup();
    let mut changes = Vec::new();
    for (protocol, direction) in names {
        for (what, figure) in FIGURES {
            let of = |runs: &[Run], units: &[f64]| {
                let value = |(run, units): (&Run, &f64)| {
                    let sockets = run.snapshot.sockets.as_ref()?;
                    let is_this = |row: &&ProtocolRow| row.protocol == protocol && row.direction == direction;
                    figure(sockets.protocols.iter().find(is_this)?, *units)
                };
                let values: Option<Vec<f64>> = runs.iter().zip(units).map(value).collect();
                Summary::new(values?, MeanKind::Amean)
            };
            let (a, b) = (of(a, &per.a), of(b, &per.b));
            if a.is_some() && b.is_some() {
                let change: Change = judge.change(a.as_ref(), b.as_ref());
                let (protocol, direction) = (protocol.clone(), direction.clone());
                changes.push(SocketChange { protocol, direction, what, measure: Measure { a, b, change } });
            }
        }
    }
    changes
}
