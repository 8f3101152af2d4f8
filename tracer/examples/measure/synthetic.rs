//! Synthetic paths and events: as many table keys as wanted, shaped like the path that sends a datagram over loopback.
//!
//! All paths are compared with one synthetic stack, which stays as warm in the cache as a real stack is. Only the
//! tables grow, as they do in the product: one record a path, one remembered key a path, depth and flags.

use anyhow::{Context as _, Result};
use aya::{Ebpf, maps::Array};
use tracer_common::path::{CHECKS, FRAMES, PathRecord};

use crate::bench::{EVENTS, STACK_WORDS};

/// Return addresses of a path, and the words from one to the next: 24 over 1.7 KiB, as `udp_sendmsg` at
/// `UDP_STREAM -m 8192` has on 6.18.
const PATH_FRAMES: u16 = 24;
const SPACING: u16 = 9;
/// The synthetic stack holds these two words by turns, so that a path is found at each of its depths, which are an
/// even number of words apart.
const STACK: [u64; 2] = [0xffff_ffff_8100_0010, 0xffff_ffff_8100_0020];
/// `GFP_KERNEL`; other flags are made by adding bits above it.
const GFP: u64 = 0xcc0;

/// How many of what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Paths.
    pub(crate) paths: usize,
    /// Depths at which each is met, at most 64.
    pub(crate) depths: usize,
    /// Kinds of flags with which each is met.
    pub(crate) flags: usize,
}

impl Shape {
    /// Remembered keys.
    pub(crate) fn keys(self) -> usize {
        self.paths * self.depths * self.flags
    }

    /// Counters.
    pub(crate) fn counters(self) -> usize {
        self.paths * self.flags
    }
}

/// Writes the paths, the stack and a sequence of events in which every key comes up, in no order.
pub(crate) fn write(ebpf: &mut Ebpf, shape: Shape, text: (u64, u64)) -> Result<()> {
    let mut paths = Array::<_, PathRecord>::try_from(ebpf.map_mut("PATHS").context("map `PATHS`")?)?;
    for path in 0..shape.paths {
        paths.set(u32::try_from(path)?, record(path as u64, text), 0).context("write a path")?;
    }
    let mut stack = Array::<_, [u64; STACK_WORDS]>::try_from(ebpf.map_mut("SYNTHETIC_STACK").context("map")?)?;
    stack.set(0, std::array::from_fn(|word| STACK[word % 2]), 0).context("write the stack")?;
    let mut sequence = Array::<_, [u64; 2]>::try_from(ebpf.map_mut("SEQUENCE").context("map `SEQUENCE`")?)?;
    for (n, event) in events(shape).into_iter().enumerate() {
        sequence.set(u32::try_from(n)?, event, 0).context("write an event")?;
    }
    Ok(())
}

/// A path at the slots of the synthetic stack, with addresses spread over kernel text for the sake of names.
fn record(path: u64, text: (u64, u64)) -> PathRecord {
    let mut record = PathRecord {
        hash: mixed(path) | 1,
        frames: u32::from(PATH_FRAMES),
        checks: u32::from(PATH_FRAMES),
        ambiguous: 0,
        truncated: 0,
        words: 0,
        padding: 0,
        slots: [0; CHECKS],
        expected: [0; CHECKS],
        addresses: [0; FRAMES],
        low: [0; FRAMES],
        high: [0; FRAMES],
    };
    // Not all paths have their addresses at the same slots.
    let mut slot = if path.is_multiple_of(2) { 2 } else { 5 };
    for (n, frame) in (0..PATH_FRAMES).zip(0_usize..) {
        record.slots[frame] = slot;
        record.expected[frame] = STACK[usize::from(slot % 2)];
        // The outer half is shared by many paths, the inner half by few, as it is in kernels.
        let shared = if n < PATH_FRAMES / 2 { path } else { path % 50 };
        let place = mixed(shared * u64::from(PATH_FRAMES) + u64::from(n));
        record.addresses[frame] = text.0 + place % (text.1 - text.0).max(1);
        record.words = u32::from(slot) + 1;
        slot += SPACING;
    }
    record
}

/// Each key as often as the others, in an order of chance.
fn events(shape: Shape) -> Vec<[u64; 2]> {
    let mut keys = Vec::with_capacity(shape.keys());
    for path in 0..shape.paths as u64 {
        for depth in 0..shape.depths as u64 {
            for flag in 0..shape.flags as u64 {
                // Without depth nothing but flags and path tells keys apart, and the path is no part of the key: so
                // each path has flags of its own, too.
                let gfp = GFP + ((path * shape.flags as u64 + flag) << 12);
                keys.push([gfp | 2 << 32 | 1 << 63, path | depth << 32]);
            }
        }
    }
    // Each is exchanged with one before it or itself.
    for (at, number) in (1..keys.len()).zip(1_u64..) {
        let other = usize::try_from(mixed(number) % (number + 1)).unwrap_or(at);
        keys.swap(at, other);
    }
    keys.iter().copied().cycle().take(EVENTS).collect()
}

/// A number of chance that is the same in every run (the last steps of `SplitMix64`).
fn mixed(number: u64) -> u64 {
    let mut word = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
