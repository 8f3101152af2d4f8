//! Folded stacks, as inferno and `flamegraph.pl` read them: `outermost;...;innermost WEIGHT`, sorted.
//!
//! Failed allocations have no weight. What was counted without a path stands as a frame `[lost]`, so that the weights
//! sum to the snapshot's own `events`, `pages` or `bytes`.
//! Must not know: how a flame graph is drawn.

use std::{collections::BTreeMap, io};

pub use super::stacks::LOST;
use super::{Weight, untrusted};
use crate::snapshot::Pages;

/// How stacks are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What a stack weighs.
    pub weight: Weight,
    /// The first frame is `order-N`, and a path has a line for each of its orders.
    pub order_root: bool,
    /// Kernel functions end in `_[k]`.
    pub annotate: bool,
}

/// Writes one line a stack; `page_size` is the host's. Filters are the model's: what is in `pages` is written.
pub fn write(pages: &Pages, page_size: u64, options: Options, out: &mut dyn io::Write) -> io::Result<()> {
    for (stack, weight) in stacks(pages, page_size, options) {
        writeln!(out, "{stack} {weight}")?;
    }
    Ok(())
}

/// Stacks with their weights, none of them 0. Paths that differ only in what a folded line cannot hold are one.
pub fn stacks(pages: &Pages, page_size: u64, options: Options) -> BTreeMap<String, u64> {
    let mut stacks = BTreeMap::new();
    let mut add = |order: u8, frames: &str, events: u64| {
        let weight = options.weight.of(order, events, page_size);
        if weight > 0 {
            let stack = if options.order_root { format!("order-{order};{frames}") } else { frames.to_owned() };
            let sum: &mut u64 = stacks.entry(stack).or_default();
            *sum = sum.saturating_add(weight);
        }
    };
    for path in &pages.paths {
        let frames: Vec<String> = path.frames.iter().rev().map(|name| frame(name, options.annotate)).collect();
        let frames = frames.join(";");
        for (&order, &events) in &path.orders {
            add(order, &frames, events);
        }
    }
    for row in &pages.by_order {
        add(row.order, LOST, pages.lost_of(row.order));
    }
    stacks
}

/// Names in brackets alone are our own marks, not functions.
fn frame(name: &str, annotate: bool) -> String {
    let frame = untrusted::frame(name);
    if annotate && !frame.starts_with('[') { frame + "_[k]" } else { frame }
}
