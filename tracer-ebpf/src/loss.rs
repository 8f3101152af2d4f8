//! Counting what is lost.

use tracer_common::{cpu::CpuState, loss::Cause, page::ORDERS};

/// Counts one event of `order` as lost to `cause` on this CPU.
#[inline(always)]
pub(crate) fn lose(state: *mut CpuState, cause: Cause, order: u32) {
    // SAFETY: `state` points into a map value, the order is masked.
    unsafe { (*state).losses[cause as usize][order as usize & (ORDERS - 1)] += 1 }
}
