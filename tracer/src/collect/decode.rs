//! From the CPUs' states to totals, losses and the audit's figures: sums, nothing else.

use std::collections::BTreeMap;

use tracer_common::{cpu::CpuState, loss::Cause, page::ORDERS};

use crate::{
    batch::{Audit, Lookups, Loss, OrderTotals},
    signal::{Signal, Status},
};

/// Which totals are measured: those whose signal is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Measured {
    free: bool,
    zone_lock: bool,
    drain: bool,
}

impl Measured {
    pub(super) fn of(signals: &[Signal]) -> Self {
        let has = |name: &str| signals.iter().any(|it| it.name == name && it.status != Status::Missing);
        Self { free: has("page.free"), zone_lock: has("page.zone_lock"), drain: has("page.drain") }
    }
}

/// Totals of every order that was met, over all CPUs.
pub(super) fn totals(states: &[CpuState], measured: Measured) -> Vec<OrderTotals> {
    let mut totals = Vec::new();
    for (order, number) in (0..ORDERS).zip(0_u8..) {
        let sum = |of: &dyn Fn(&CpuState) -> u64| states.iter().map(of).sum::<u64>();
        let row = OrderTotals {
            order: number,
            allocated: sum(&|state| state.pages.allocated[order]),
            failed: sum(&|state| state.pages.failed[order]),
            freed: measured.free.then(|| sum(&|state| state.pages.freed[order])),
            refilled: measured.zone_lock.then(|| sum(&|state| state.pages.refilled[order].iter().sum())),
            direct: measured.zone_lock.then(|| sum(&|state| state.pages.direct[order].iter().sum())),
            drained: measured.drain.then(|| sum(&|state| state.pages.drained[order].iter().sum())),
        };
        let optional = [row.freed, row.refilled, row.direct, row.drained];
        if row.allocated + row.failed + optional.into_iter().flatten().sum::<u64>() > 0 {
            totals.push(row);
        }
    }
    totals
}

/// Losses by cause; causes never met are absent.
pub(super) fn losses(states: &[CpuState]) -> BTreeMap<String, Loss> {
    let mut losses = BTreeMap::new();
    for cause in Cause::ALL {
        let mut loss = Loss { counted_without_path: cause.counted_without_path(), ..Loss::default() };
        for (order, number) in (0..ORDERS).zip(0_u8..) {
            let events: u64 = states.iter().map(|state| state.losses[cause as usize][order]).sum();
            if events == 0 {
                continue;
            }
            loss.events += events;
            // The order of these is not known: the kernel side counts them under 0.
            if cause != Cause::InvalidOrder {
                loss.pages += events << order;
                loss.by_order.insert(number, events);
            }
        }
        if loss.events > 0 {
            losses.insert(cause.name().to_owned(), loss);
        }
    }
    losses
}

/// How paths were found.
pub(super) fn lookups(states: &[CpuState]) -> Lookups {
    let mut lookups = Lookups::default();
    for state in states {
        lookups.hits += state.paths.hits;
        lookups.unwound += state.paths.unwound;
        lookups.evicted += state.paths.evicted;
        lookups.unremembered += state.paths.unremembered;
    }
    lookups
}

/// What the audit found.
pub(super) fn audit(states: &[CpuState]) -> Audit {
    let mut audit = Audit::default();
    for state in states {
        audit.checked += state.paths.audited;
        audit.disagreed += state.paths.disagreed;
    }
    audit
}
