//! A processed profile for profiler.firefox.com, made by the crate of samply's authors.
//!
//! One sample a stack, all at the beginning of the window: a snapshot does not know when in it they happened. Categories
//! are routes. Must not know: how it is shown.

use std::{collections::BTreeMap, io};

use anyhow::{Result, bail};
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile, ReferenceTimestamp,
    SamplingInterval, Timestamp, WeightType,
};

use super::{Weight, json, stacks};
use crate::snapshot::Snapshot;

/// A sample's weight has 31 bits; a stack may have so many samples before the file is of no use to anyone.
const SAMPLES_A_STACK: u64 = 4096;

const COLORS: [CategoryColor; 12] = [
    CategoryColor::Orange,
    CategoryColor::Blue,
    CategoryColor::Green,
    CategoryColor::Yellow,
    CategoryColor::Purple,
    CategoryColor::Red,
    CategoryColor::Brown,
    CategoryColor::LightBlue,
    CategoryColor::LightGreen,
    CategoryColor::Magenta,
    CategoryColor::LightRed,
    CategoryColor::DarkGray,
];

/// Writes one profile of one process with one thread.
///
/// # Errors
/// Page allocations were not measured, a stack weighs more than the format holds, or the writer fails.
pub fn write(snapshot: &Snapshot, weight: Weight, order_root: bool, out: &mut dyn io::Write) -> Result<()> {
    let stacks = stacks::stacks(stacks::pages(snapshot)?, order_root);
    let start = snapshot.window.start.parse::<jiff::Timestamp>();
    let start_ms = start.map_or(0, jiff::Timestamp::as_millisecond) as f64;
    let begin = Timestamp::from_millis_since_reference(0.0);
    let end = Timestamp::from_millis_since_reference(snapshot.window.duration_s * 1000.0);
    // The one interval is the window.
    let interval = std::time::Duration::try_from_secs_f64(snapshot.window.duration_s).unwrap_or_default();
    let interval = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(1);
    let mut profile = Profile::new(
        "tracer",
        ReferenceTimestamp::from_millis_since_unix_epoch(start_ms),
        SamplingInterval::from_nanos(interval),
    );
    profile.set_os_name(&format!("Linux {}", snapshot.host.kernel));
    // Names are all there is: nothing is left to look up.
    profile.set_symbolicated(true);
    let process = profile.add_process(&stacks::subject(snapshot), 0, begin);
    profile.set_process_end_time(process, end);
    let thread = profile.add_thread(process, 0, begin, true);
    profile.set_thread_name(thread, &format!("page allocations, by {}", weight.name()));
    profile.set_thread_end_time(thread, end);
    let kind = if weight == Weight::Bytes { WeightType::Bytes } else { WeightType::Samples };
    profile.set_thread_samples_weight_type(thread, kind);

    let mut categories: BTreeMap<&str, CategoryHandle> = BTreeMap::new();
    for stack in &stacks {
        let category = match stack.route {
            None => CategoryHandle::OTHER,
            Some(route) => {
                let color = COLORS[categories.len() % COLORS.len()];
                *categories.entry(route).or_insert_with(|| profile.add_category(route, color))
            }
        };
        let mut place = None;
        for frame in &stack.frames {
            let frame = Frame::Label(profile.intern_string(frame));
            let info = FrameInfo { frame, category_pair: category.into(), flags: FrameFlags::empty() };
            let frame = profile.intern_frame(thread, info);
            place = Some(profile.intern_stack(thread, place, frame));
        }
        for part in parts(weight.of(stack.order, stack.events, snapshot.host.page_size))? {
            profile.add_sample(thread, begin, place, CpuDelta::ZERO, part);
        }
    }
    Ok(json::write(&profile, out)?)
}

/// A weight in as many parts as samples can hold.
fn parts(weight: u64) -> Result<Vec<i32>> {
    const MOST: u64 = i32::MAX as u64;
    if weight / MOST >= SAMPLES_A_STACK {
        bail!("a stack weighs {weight}, more than a Firefox profile holds: `--weight events` weighs less");
    }
    let mut rest = weight;
    let mut parts = Vec::new();
    while rest > 0 {
        let part = i32::try_from(rest).unwrap_or(i32::MAX);
        parts.push(part);
        rest -= u64::from(part.unsigned_abs());
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn a_weight_beyond_31_bits_is_several_samples_that_sum_to_it() {
        for weight in [1, i32::MAX as u64, i32::MAX as u64 + 1, 33_000_000_000] {
            let parts = parts(weight).expect("it fits");
            assert_eq!(parts.iter().map(|part| u64::try_from(*part).expect("positive")).sum::<u64>(), weight);
        }
        assert!(parts(u64::MAX).is_err());
    }
}
