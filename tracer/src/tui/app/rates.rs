//! Path by path: how fast it allocates now, and how it did over the run.
//!
//! Bounded: of each moment the busiest paths are kept, and so many moments.
//! Must not know: how rates are drawn, the clock.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use super::history::Sample;
use crate::snapshot::Snapshot;

/// Moments kept at most; the oldest go.
const MOMENTS: usize = 1024;
/// Paths kept of a moment.
const BUSIEST: usize = 64;
/// Current rates are taken over one to two of these.
const WINDOW: Duration = Duration::from_secs(1);

/// What paths did.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    known: HashMap<String, Track>,
    /// When the three totals of a [`Track`] were taken: reference, candidate, newest.
    at: [Duration; 3],
    taken: u8,
    moments: VecDeque<Moment>,
}

/// One path.
#[derive(Clone, Copy, Debug, Default)]
struct Track {
    number: u32,
    /// Events at the three moments of [`Rates::at`].
    events: [u64; 3],
}

/// What happened between two snapshots.
#[derive(Clone, Debug)]
struct Moment {
    from: Duration,
    until: Duration,
    /// Path number and events, of the busiest.
    events: Vec<(u32, u64)>,
}

impl Rates {
    /// Takes in a snapshot, which must not be earlier than the last.
    pub fn push(&mut self, snapshot: &Snapshot) {
        let now = Sample::of(snapshot).at;
        let rolls = self.taken > 0 && now.saturating_sub(self.at[1]) >= WINDOW;
        let mut changed = Vec::new();
        for path in snapshot.pages.iter().flat_map(|pages| &pages.paths) {
            let next = u32::try_from(self.known.len()).unwrap_or(u32::MAX);
            let track = if let Some(track) = self.known.get_mut(&path.id) {
                track
            } else {
                self.known.entry(path.id.clone()).or_insert(Track { number: next, events: [0; 3] })
            };
            if self.taken == 0 {
                track.events = [path.events; 3];
                continue;
            }
            let new = path.events.saturating_sub(track.events[2]);
            if new > 0 {
                changed.push((track.number, new));
            }
            if rolls {
                track.events = [track.events[1], track.events[2], path.events];
            } else {
                track.events[2] = path.events;
            }
        }
        if self.taken == 0 {
            self.at = [now; 3];
        } else {
            changed.sort_unstable_by_key(|&(_, events)| std::cmp::Reverse(events));
            changed.truncate(BUSIEST);
            if self.moments.len() >= MOMENTS {
                self.moments.pop_front();
            }
            self.moments.push_back(Moment { from: self.at[2], until: now, events: changed });
            self.at = if rolls { [self.at[1], self.at[2], now] } else { [self.at[0], self.at[1], now] };
        }
        self.taken = self.taken.saturating_add(1);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Events a second of a path in the last one to two seconds; `None` before there are two snapshots.
    pub fn of(&self, id: &str) -> Option<f64> {
        let seconds = self.at[2].saturating_sub(self.at[0]).as_secs_f64();
        let track = self.known.get(id)?;
        (seconds > 0.0).then(|| track.events[2].saturating_sub(track.events[0]) as f64 / seconds)
    }

    /// Events a second of a path from moment to moment, oldest first, each with its end. A moment in which others
    /// were so much busier that it was not kept is 0.
    pub fn over_time(&self, id: &str) -> Vec<(Duration, f64)> {
        let Some(track) = self.known.get(id) else { return Vec::new() };
        let rate = |moment: &Moment| {
            let events = moment.events.iter().find(|(number, _)| *number == track.number).map_or(0, |it| it.1);
            let seconds = (moment.until.saturating_sub(moment.from)).as_secs_f64();
            if seconds > 0.0 { events as f64 / seconds } else { 0.0 }
        };
        self.moments.iter().map(|moment| (moment.until, rate(moment))).collect()
    }
}
