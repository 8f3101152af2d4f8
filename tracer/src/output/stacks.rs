//! The stacks of a snapshot as every stack format wants them: outermost first, one for each order of a path.
//!
//! Owns: their order, which is the same for the same recording, and that what was lost stands among them, so that
//! weights sum to the snapshot's own figures. Must not know: formats.

use anyhow::{Context as _, Result};

use super::untrusted;
use crate::snapshot::{Pages, PathRow, Snapshot};

/// The frame under which events without a path stand.
pub const LOST: &str = "[lost]";

/// A snapshot's page allocations.
///
/// # Errors
/// They were not measured.
pub(super) fn pages(snapshot: &Snapshot) -> Result<&Pages> {
    snapshot.pages.as_ref().context("page allocations were not measured: no hook for them was attached")
}

/// What was traced: the command, or the whole system.
pub(super) fn subject(snapshot: &Snapshot) -> String {
    let command = snapshot.command.as_ref().map(|command| command.argv.join(" "));
    command.map_or_else(|| "the whole system".to_owned(), |command| untrusted::line(&command, false))
}

/// Successful allocations of one order by one path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stack<'pages> {
    /// Outermost first, fit for a folded line.
    pub(super) frames: Vec<String>,
    pub(super) order: u8,
    /// `None` where the path was lost or not taken.
    pub(super) route: Option<&'pages str>,
    pub(super) context: Option<&'pages str>,
    pub(super) events: u64,
}

/// Every stack with events, sorted by its frames; with `order_root` the first of them is `order-N`.
pub(super) fn stacks(pages: &Pages, order_root: bool) -> Vec<Stack<'_>> {
    let mut stacks: Vec<Stack<'_>> = pages.paths.iter().flat_map(of_path).collect();
    for row in &pages.by_order {
        let events = pages.lost_of(row.order);
        stacks.push(Stack { frames: vec![LOST.to_owned()], order: row.order, route: None, context: None, events });
    }
    stacks.retain(|stack| stack.events > 0);
    if order_root {
        for stack in &mut stacks {
            stack.frames.insert(0, format!("order-{}", stack.order));
        }
    }
    stacks.sort();
    stacks
}

fn of_path(path: &PathRow) -> impl Iterator<Item = Stack<'_>> {
    let frames: Vec<String> = path.frames.iter().rev().map(|frame| untrusted::frame(frame)).collect();
    path.orders.iter().map(move |(&order, &events)| Stack {
        frames: frames.clone(),
        order,
        route: path.route.as_deref(),
        context: path.context.as_deref(),
        events,
    })
}
