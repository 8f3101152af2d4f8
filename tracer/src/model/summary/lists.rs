//! What the kernel does around allocations, by order: per-CPU lists refilled and drained, the zone lock taken, frees.
//!
//! Must not know: paths, which these events do not have.

use std::collections::BTreeMap;

use tracer_common::page::ORDERS;

use super::super::{Filter, Model};
use crate::batch::OrderTotals;

/// What became of an order beside its allocations, in blocks; `None` for what is not measured.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lists {
    pub(super) refilled: Option<u64>,
    pub(super) direct: Option<u64>,
    pub(super) drained: Option<u64>,
    pub(super) freed: Option<u64>,
}

/// The lists' figures by order. A signal that is attached and saw nothing of an order saw 0 of it.
pub(super) fn by_order(model: &Model, filter: &Filter) -> BTreeMap<u8, Lists> {
    // All else comes from a path or an allocation's flags, which refills, drains and frees do not have here.
    if !filter.asks_orders_only() {
        return BTreeMap::new();
    }
    let zone_lock = model.attached("page.zone_lock").then_some(0);
    let drain = model.attached("page.drain").then_some(0);
    let free = model.attached("page.free").then_some(0);
    let nothing_met = Lists { refilled: zone_lock, direct: zone_lock, drained: drain, freed: free };
    let mut lists: BTreeMap<u8, Lists> = (0..ORDERS)
        .filter_map(|order| u8::try_from(order).ok())
        .filter(|&order| filter.takes_order(order))
        .map(|order| (order, nothing_met))
        .collect();
    let wanted = |totals: &&OrderTotals| filter.takes_order(totals.order);
    for totals in model.ledger.totals().filter(wanted) {
        let read = Lists {
            refilled: totals.refilled.or(zone_lock),
            direct: totals.direct.or(zone_lock),
            drained: totals.drained.or(drain),
            freed: totals.freed.or(free),
        };
        lists.insert(totals.order, read);
    }
    lists
}

impl Lists {
    pub(super) fn zone_locked(&self) -> Option<u64> {
        match (self.refilled, self.direct) {
            (None, None) => None,
            (refilled, direct) => Some(refilled.unwrap_or(0).saturating_add(direct.unwrap_or(0))),
        }
    }
}
