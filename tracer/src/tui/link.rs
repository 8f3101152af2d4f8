//! What passes between a session and its screens: pictures up, wishes down.
//!
//! Both ways only the newest counts, so a slow terminal never makes the session wait and never gets old pictures.
//! Must not know: the terminal, the model's insides.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::{model::Filter, run::BeforeAfter, snapshot::Snapshot};

/// Free blocks by `node/zone` and order, as in `/proc/buddyinfo`.
pub type FreeBlocks = BTreeMap<String, Vec<u64>>;

/// One moment of a run.
#[derive(Clone, Debug)]
pub struct Picture {
    /// All that was counted until then, through `filter`.
    pub snapshot: Arc<Snapshot>,
    /// A moment before, from which rates are taken where pictures do not follow one another (time stepping).
    pub before: Option<Arc<Snapshot>>,
    /// The filter that `snapshot` was made with.
    pub filter: Filter,
    /// Free blocks at the start and now; `None` where not read.
    pub free_blocks: Option<BeforeAfter<FreeBlocks>>,
    /// CPU time that the tracer's own process has used; `None` for a recording.
    pub own_cpu: Option<Duration>,
    /// Where the run stands.
    pub phase: Phase,
    /// Which interval of how many a recording shows; `None` while live.
    pub step: Option<Step>,
}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It goes on.
    Running,
    /// It is to end, for this reason.
    Stopping(String),
    /// It has ended: these are the final numbers.
    Ended,
}

/// A place in a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Intervals applied, from 0.
    pub at: usize,
    /// Intervals that there are.
    pub of: usize,
}

/// What whoever sits before the screens wants of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// What pictures are to show.
    pub filter: Filter,
    /// How often the maps are to be read.
    pub interval: Duration,
    /// No pictures for now.
    pub paused: bool,
    /// To leave: the command, if it still runs, is to be stopped.
    pub leave: bool,
}
