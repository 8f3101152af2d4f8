//! A snapshot written out: for people, for programs, for flame graphs.
//!
//! One file a format, each a function from a [`crate::snapshot::Snapshot`] to a writer. What they share stands here.
//! Must not know: aya, probes, the kernel, where the bytes go.

pub mod csv;
pub mod differential;
pub mod event;
pub mod firefox;
pub mod flamegraph;
pub mod folded;
pub mod json;
pub mod pprof;
pub mod speedscope;
mod stacks;
pub mod text;
pub(crate) mod untrusted;

use std::{collections::BTreeMap, str::FromStr};

use anyhow::bail;

use crate::snapshot::sum;

/// What a path weighs: by this it is ranked, and by this its share is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Successful allocations.
    Events,
    /// Their pages.
    Pages,
    /// Their bytes.
    Bytes,
}

impl FromStr for Weight {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> anyhow::Result<Self> {
        match name {
            "events" => Ok(Self::Events),
            "pages" => Ok(Self::Pages),
            "bytes" => Ok(Self::Bytes),
            _ => bail!("weight `{name}` is none of `events`, `pages`, `bytes`"),
        }
    }
}

impl Weight {
    /// Of so many events of an order, in events, pages or bytes.
    pub fn of(self, order: u8, events: u64, page_size: u64) -> u64 {
        let pages = || events.saturating_mul(1u64.checked_shl(u32::from(order)).unwrap_or(u64::MAX));
        match self {
            Self::Events => events,
            Self::Pages => pages(),
            Self::Bytes => pages().saturating_mul(page_size),
        }
    }

    /// Of events by order, likewise.
    pub fn of_all(self, by_order: &BTreeMap<u8, u64>, page_size: u64) -> u64 {
        sum(by_order.iter().map(|(&order, &events)| self.of(order, events, page_size)))
    }

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Events => "allocations",
            Self::Pages => "pages",
            Self::Bytes => "bytes",
        }
    }
}

#[cfg(test)]
mod tests;
