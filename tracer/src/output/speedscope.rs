//! The file format of speedscope.app: one sampled profile each for events, pages and bytes.
//!
//! Must not know: how it is shown. The format is described by
//! <https://www.speedscope.app/file-format-schema.json>.

use std::{collections::HashMap, io};

use anyhow::Result;
use serde::Serialize;

use super::{
    Weight, json,
    stacks::{self, Stack},
};
use crate::snapshot::{Snapshot, sum};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(rename = "$schema")]
    schema: &'static str,
    shared: Shared,
    profiles: Vec<Profile>,
    name: String,
    active_profile_index: usize,
    exporter: &'static str,
}

#[derive(Serialize)]
struct Shared {
    frames: Vec<Frame>,
}

#[derive(Serialize)]
struct Frame {
    name: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Profile {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    /// Frames by their place in `shared`, outermost first.
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

/// Writes one file; the profile of `weight` is shown first.
///
/// # Errors
/// Page allocations were not measured, or the writer fails.
pub fn write(snapshot: &Snapshot, weight: Weight, order_root: bool, out: &mut dyn io::Write) -> Result<()> {
    let stacks = stacks::stacks(stacks::pages(snapshot)?, order_root);
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut frames = Vec::new();
    let mut samples = Vec::new();
    for stack in &stacks {
        let sample = stack.frames.iter().map(|frame| {
            *places.entry(frame).or_insert_with(|| {
                frames.push(Frame { name: frame.clone() });
                frames.len() - 1
            })
        });
        samples.push(sample.collect::<Vec<_>>());
    }
    let all = [Weight::Events, Weight::Pages, Weight::Bytes];
    let page_size = snapshot.host.page_size;
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        shared: Shared { frames },
        profiles: all.map(|weight| profile(weight, &stacks, &samples, page_size)).into(),
        name: stacks::subject(snapshot),
        active_profile_index: all.iter().position(|it| *it == weight).unwrap_or(0),
        exporter: concat!("tracer@", env!("CARGO_PKG_VERSION")),
    };
    Ok(json::write(&file, out)?)
}

fn profile(weight: Weight, stacks: &[Stack<'_>], samples: &[Vec<usize>], page_size: u64) -> Profile {
    let weights: Vec<u64> = stacks.iter().map(|stack| weight.of(stack.order, stack.events, page_size)).collect();
    Profile {
        kind: "sampled",
        name: weight.name(),
        unit: if weight == Weight::Bytes { "bytes" } else { "none" },
        start_value: 0,
        end_value: sum(weights.iter().copied()),
        samples: samples.to_vec(),
        weights,
    }
}
