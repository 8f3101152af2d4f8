//! gfp flags by the running kernel's own names.

use serde::{Deserialize, Serialize};

/// The names a kernel prints for gfp flags, in the order in which it tries them, with where they came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// `tracefs` when read from the running kernel's tracepoint format, else the table's kernel range.
    pub source: String,
    /// Mask and name; greedy: an earlier mask that fits takes its bits.
    pub names: Vec<(u64, String)>,
}
