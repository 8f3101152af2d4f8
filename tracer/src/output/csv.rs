//! A table for spreadsheets and data frames (RFC 4180): one row for each order of each path.
//!
//! Must not know: what is done with it. Rows sum to the snapshot's own figures: what was lost has rows of its own.

use std::{collections::BTreeSet, io};

use anyhow::Result;

use super::stacks::{self, LOST};
use super::{Weight, untrusted};
use crate::snapshot::Snapshot;

const TITLES: [&str; 9] = ["path", "order", "events", "pages", "bytes", "failed", "route", "context", "stack"];

/// Writes a row of titles, then the rows, in the order of the snapshot's paths. The stack is outermost first.
///
/// # Errors
/// Page allocations were not measured, or the writer fails.
pub fn write(snapshot: &Snapshot, out: &mut dyn io::Write) -> Result<()> {
    let pages = stacks::pages(snapshot)?;
    let page_size = snapshot.host.page_size;
    let mut table = ::csv::Writer::from_writer(out);
    table.write_record(TITLES)?;
    let mut row = |path: &str, order: u8, events: u64, failed: u64, words: [&str; 3]| {
        let weight = |weight: Weight| weight.of(order, events, page_size).to_string();
        let numbers = [weight(Weight::Events), weight(Weight::Pages), weight(Weight::Bytes), failed.to_string()];
        let order = order.to_string();
        table.write_record([path, &order].into_iter().chain(numbers.iter().map(String::as_str)).chain(words))
    };
    for path in &pages.paths {
        let frames: Vec<String> = path.frames.iter().rev().map(|frame| untrusted::frame(frame)).collect();
        let words = [path.route.as_deref().unwrap_or(""), path.context.as_deref().unwrap_or("")]
            .map(|it| untrusted::line(it, false));
        let orders: BTreeSet<u8> = path.orders.keys().chain(path.failed_orders.keys()).copied().collect();
        for order in orders {
            let of = |counts: &std::collections::BTreeMap<u8, u64>| counts.get(&order).copied().unwrap_or(0);
            let (events, failed) = (of(&path.orders), of(&path.failed_orders));
            row(&path.id, order, events, failed, [&words[0], &words[1], &frames.join(";")])?;
        }
    }
    for order in &pages.by_order {
        let failed_with_path =
            crate::snapshot::sum(pages.paths.iter().filter_map(|path| path.failed_orders.get(&order.order)).copied());
        let (lost, failed) = (pages.lost_of(order.order), order.failed.saturating_sub(failed_with_path));
        if lost > 0 || failed > 0 {
            row("", order.order, lost, failed, ["", "", LOST])?;
        }
    }
    Ok(table.flush()?)
}
