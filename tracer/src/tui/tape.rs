//! A recording on the screens: any moment of it as a picture, and the whole of it over time.
//!
//! A moment is made by replaying all intervals up to it, so that it shows what the screens showed then.
//! Must not know: the terminal.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Result;

use super::{
    app::{
        history::{History, Sample},
        rates::Rates,
    },
    link::{Phase, Picture, Step},
};
use crate::{
    batch::Batch,
    model::{Filter, Model},
    recording::Recording,
    run::{End, Start},
    snapshot::Snapshot,
};

/// Time that the moments of a trend may take to make, s.
const PATIENCE_S: f64 = 1.0;
/// Moments that a trend has at least and at most, where there are as many intervals.
const MOMENTS: (usize, usize) = (40, 1024);

/// A recording held in memory, and the model of one moment of it.
pub(super) struct Tape {
    start: Start,
    batches: Vec<Batch>,
    end: Option<End>,
    incomplete: Option<String>,
    model: Model,
    /// Intervals that `model` holds.
    applied: usize,
}

impl Tape {
    /// Reads a recording.
    ///
    /// # Errors
    /// When it is none, or can no longer be read.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let recording = Recording::open(path)?;
        let batches = recording.batches().collect::<Result<Vec<_>>>()?;
        let model = Model::new(recording.start.clone());
        let (start, end, incomplete) = (recording.start.clone(), recording.end.clone(), recording.incomplete.clone());
        Ok(Self { start, batches, end, incomplete, model, applied: 0 })
    }

    /// What the run began with.
    pub(super) fn start(&self) -> &Start {
        &self.start
    }

    /// Intervals that there are.
    pub(super) fn intervals(&self) -> usize {
        self.batches.len()
    }

    /// What the command wrote.
    pub(super) fn output(&self) -> Option<(&str, &str)> {
        let benchmark = self.end.as_ref()?.benchmark.as_ref()?;
        Some((&benchmark.stdout, &benchmark.stderr))
    }

    /// The number of intervals after which a time is reached.
    pub(super) fn at(&self, time: Duration) -> usize {
        (self.batches.partition_point(|batch| batch.at < time) + 1).min(self.batches.len())
    }

    /// The moment after so many intervals; after the last, the run as it ended.
    pub(super) fn picture(&mut self, at: usize, filter: &Filter) -> Picture {
        let of = self.batches.len();
        let at = at.min(of);
        let before = at.checked_sub(1).map(|before| Arc::new(self.snapshot(before, filter)));
        let snapshot = Arc::new(self.snapshot(at, filter));
        Picture {
            snapshot,
            before,
            filter: filter.clone(),
            free_blocks: None,
            own_cpu: None,
            phase: Phase::Ended,
            step: Some(Step { at, of }),
        }
    }

    /// The whole run over time.
    pub(super) fn trend(&mut self, filter: &Filter) -> (History, Rates) {
        let (mut history, mut rates) = (History::default(), Rates::default());
        let began = Instant::now();
        let last = self.snapshot(self.batches.len(), filter);
        let each_s = began.elapsed().as_secs_f64().max(1e-6);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a small range")]
        let moments = ((PATIENCE_S / each_s) as usize).clamp(MOMENTS.0, MOMENTS.1);
        let step = self.batches.len().div_ceil(moments).max(1);
        for at in (0..self.batches.len()).step_by(step) {
            let snapshot = self.snapshot(at, filter);
            history.push(Sample::of(&snapshot));
            rates.push(&snapshot);
        }
        history.push(Sample::of(&last));
        rates.push(&last);
        (history, rates)
    }

    fn snapshot(&mut self, at: usize, filter: &Filter) -> Snapshot {
        // A finished model cannot go on, and none can go back.
        if at < self.applied || self.model.is_finished() {
            self.model = Model::new(self.start.clone());
            self.applied = 0;
        }
        for batch in &self.batches[self.applied..at] {
            self.model.apply(batch);
        }
        self.applied = at;
        if let Some(end) = self.end.clone().filter(|_| at == self.batches.len()) {
            self.model.finish(end);
        }
        if let Some(what) = self.incomplete.clone() {
            self.model.lacks(what);
        }
        self.model.snapshot_of(filter)
    }
}
