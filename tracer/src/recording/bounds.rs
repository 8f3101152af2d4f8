//! Which numbers a recording may hold: those whose sums still fit 64 bits when they are turned into bytes.
//!
//! Asked before writing and again when reading, so that no sum made from a recording can wrap, and what one tracer
//! wrote another one reads.
//! Must not know: SQLite, files.

use anyhow::{Result, ensure};

use crate::{
    batch::{Batch, Count, Loss, OrderTotals, ProgramStats},
    run::{BeforeAfter, End, Host},
};

/// No kernel has a larger order: `MAX_PAGE_ORDER` is 10 on most and 13 on arm64 with 64 KB pages, and a block of this
/// one has 2^30 pages.
pub(super) const MAX_ORDER: u8 = 30;

/// No machine has larger pages: 1 GiB.
const MAX_PAGE_SIZE: u64 = 1 << 30;

/// What the batches so far add up to.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    page_size: u64,
    /// Of all events counted so far; at most `u64::MAX`.
    bytes: u128,
    /// The same in events, since a page size of 0 says nothing of bytes.
    events: u128,
}

impl Bounds {
    pub(super) fn new(host: &Host) -> Result<Self> {
        let Host { page_size, max_order, .. } = host;
        ensure!(*page_size <= MAX_PAGE_SIZE, "a page size of {page_size} bytes is no machine's");
        ensure!(*max_order <= MAX_ORDER, "a largest order of {max_order} is no kernel's");
        Ok(Self { page_size: *page_size, bytes: 0, events: 0 })
    }

    /// Adds a batch; leaves everything as it was where the batch is refused.
    pub(super) fn admit(&mut self, batch: &Batch) -> Result<()> {
        let mut next = *self;
        for Count { key, events } in &batch.counts {
            next.add(key.order, *events)?;
        }
        let mut totals = Self { page_size: self.page_size, bytes: 0, events: 0 };
        for OrderTotals { order, allocated, failed, freed, refilled, direct, drained } in &batch.totals {
            for events in [Some(*allocated), Some(*failed), *freed, *refilled, *direct, *drained].into_iter().flatten()
            {
                totals.add(*order, events)?;
            }
        }
        let mut lost = Self { page_size: self.page_size, bytes: 0, events: 0 };
        for Loss { events, pages, by_order, .. } in batch.losses.values() {
            lost.add(0, *events)?;
            lost.add(0, *pages)?;
            for (order, events) in by_order {
                lost.add(*order, *events)?;
            }
        }
        let mut sums = [0_u128; 3];
        for ProgramStats { run_count, run_time_ns, missed, .. } in &batch.programs {
            for (sum, value) in sums.iter_mut().zip([run_count.unwrap_or(0), run_time_ns.unwrap_or(0), *missed]) {
                *sum += u128::from(value);
                fits(*sum, "program figures")?;
            }
        }
        *self = next;
        Ok(())
    }

    /// Refuses an end whose figures do not fit.
    pub(super) fn admit_end(self, end: &End) -> Result<()> {
        if let Some(BeforeAfter { before, after }) = &end.system.buddyinfo {
            for zones in [before, after] {
                let mut free = Self { page_size: self.page_size, bytes: 0, events: 0 };
                for blocks in zones.values() {
                    for (order, blocks) in blocks.iter().enumerate() {
                        free.add(u8::try_from(order).unwrap_or(u8::MAX), *blocks)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, order: u8, events: u64) -> Result<()> {
        ensure!(order <= MAX_ORDER, "order {order} is no kernel's");
        // At most 2^64 * 2^30 * 2^30 each, and sums stay below 2^64: no overflow.
        let events = u128::from(events);
        self.events += events;
        self.bytes += (events << order) * u128::from(self.page_size.max(1));
        fits(self.bytes, "bytes")?;
        fits(self.events, "events")
    }
}

fn fits(sum: u128, what: &str) -> Result<()> {
    ensure!(sum <= u128::from(u64::MAX), "{what} add up to {sum}, more than 64 bits hold");
    Ok(())
}
