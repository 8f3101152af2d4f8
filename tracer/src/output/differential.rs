//! Folded stacks of two groups of runs, as inferno and `flamegraph.pl` read them: `outermost;...;innermost A B`.
//!
//! The weights are what was counted, summed over each group's runs and not divided by the work done, so that the
//! columns sum to the recordings' own figures.
//! Must not know: what a change means.

use std::{collections::BTreeMap, io};

use anyhow::{Result, bail};

use super::folded::{self, Options};
use crate::compare::Run;

/// Stacks with their weights in A and in B.
pub type Pairs = BTreeMap<String, (u64, u64)>;

/// Sums up both groups.
///
/// # Errors
/// A run did not measure page allocations.
pub fn pairs(a: &[Run], b: &[Run], options: Options) -> Result<Pairs> {
    let mut pairs = Pairs::new();
    for (run, is_b) in a.iter().map(|run| (run, false)).chain(b.iter().map(|run| (run, true))) {
        let Some(pages) = &run.snapshot.pages else {
            bail!("`{}` holds no page allocations: no hook for them was attached", run.name);
        };
        for (stack, weight) in folded::stacks(pages, run.snapshot.host.page_size, options) {
            let (of_a, of_b) = pairs.entry(stack).or_default();
            let sum = if is_b { of_b } else { of_a };
            *sum = sum.saturating_add(weight);
        }
    }
    Ok(pairs)
}

/// Writes one line a stack; what one side has not is 0 there.
pub fn write(pairs: &Pairs, out: &mut dyn io::Write) -> io::Result<()> {
    for (stack, (a, b)) in pairs {
        writeln!(out, "{stack} {a} {b}")?;
    }
    Ok(())
}
