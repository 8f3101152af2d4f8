//! Single events out of the ring buffer.

use anyhow::{Context as _, Result};
use aya::maps::{MapData, RingBuf};
use tracer_common::event::PageEvent;

use crate::probe::Probe;

/// Reads events in the order in which they were written.
pub struct Stream {
    ring: RingBuf<MapData>,
}

impl Stream {
    /// The ring buffer of a probe attached with [`crate::config::Config::events`].
    ///
    /// # Errors
    /// When the object has none.
    pub fn new(probe: &mut Probe) -> Result<Self> {
        let ring = RingBuf::try_from(probe.take_map("EVENTS")?).context("the ring buffer of events")?;
        Ok(Self { ring })
    }

    /// The next event; `None` when there is none now.
    pub fn take(&mut self) -> Option<PageEvent> {
        let item = self.ring.next()?;
        if item.len() != size_of::<PageEvent>() {
            return None;
        }
        // SAFETY: the item has the size of the record that the kernel side wrote, every bit pattern is a value of
        // it, and it is read unaligned.
        Some(unsafe { item.as_ptr().cast::<PageEvent>().read_unaligned() })
    }
}
