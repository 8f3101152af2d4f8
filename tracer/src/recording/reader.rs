//! Reading a recording, believing nothing in it.
//!
//! Must not know: how it came to be damaged.

use std::{path::Path, time::Duration};

use anyhow::{Context, Result, bail};

use super::{
    bounds::Bounds,
    end,
    interval::{self, Interval},
    keys::Names,
    rows::words,
    schema, source, start, tallies,
};
use crate::{
    batch::Batch,
    run::{End, Start},
};

/// A recording that was read and checked.
pub struct Recording {
    /// What the run began with.
    pub start: Start,
    /// What it ended with; `None` where the recording was cut short or is damaged before its end.
    pub end: Option<End>,
    /// What is missing, in words; `None` where the recording is whole.
    pub incomplete: Option<String>,
    source: source::Source,
    names: Names,
    /// Those that can be read.
    intervals: Vec<Interval>,
    /// How many of them have what is counted beside page allocations. It lies in tables that grow slowly, whose first
    /// rows may lie late in the file, so that a cut takes it before it takes the rest.
    with_tallies: usize,
}

impl Recording {
    /// Opens `path` and checks all that is in it. What comes before the first damage can be read.
    ///
    /// # Errors
    /// One line: there is no such file, it may not be read, it is no recording, it needs a newer tracer, or it is
    /// damaged so near its beginning that nothing of it can be shown.
    pub fn open(path: &Path) -> Result<Self> {
        // Errors of SQLite may quote the file; one plain line is made of them here.
        Self::checked(path).map_err(|error| anyhow::anyhow!(words(&error)))
    }

    fn checked(path: &Path) -> Result<Self> {
        let source = source::open(path)?;
        let db = &source.db;
        // One state of the file for all that is read here: a tracer may be writing it.
        let reading = db.unchecked_transaction()?;
        let cut = source.cut.clone();
        let damaged = || format!("`{}` is damaged: {cut}nothing of it can be shown", path.display());
        schema::check(db).with_context(damaged)?;
        let start = start::read(db).with_context(damaged)?;
        let mut bounds = Bounds::new(&start.host).with_context(damaged)?;

        let (names, names_damage) = Names::read(db);
        let (mut intervals, intervals_end) = interval::list(db);
        let listed = intervals.len();
        let mut damage = names_damage.or(intervals_end.err());
        let mut with_tallies = intervals.len();
        let mut tallies_damage = None;
        for (index, interval) in intervals.iter().enumerate() {
            let batch = interval::read(db, &names, interval);
            if let Err(error) = batch.and_then(|batch| bounds.admit(&batch)) {
                // A gap in the names shows first in an interval that needs them; it is the cause.
                damage.get_or_insert(error);
                intervals.truncate(index);
                break;
            }
            if tallies_damage.is_none()
                && let Err(error) = tallies::read(db, &names, interval.id)
            {
                tallies_damage = Some(error);
                with_tallies = index;
            }
        }
        let end = end::read(db).and_then(|end| {
            let Some((end, written)) = end else { return Ok(None) };
            bounds.admit_end(&end)?;
            if written != listed as u64 {
                bail!("{listed} intervals where {written} should be");
            }
            Ok(Some(end))
        });
        let (end, end_damage) = match end {
            Ok(end) => (end, None),
            Err(error) => (None, Some(error)),
        };
        let damage = damage.or(end_damage);
        let until = seconds(intervals.last().map_or(Duration::ZERO, |interval| interval.to));
        let beside = tallies_damage.map(|error| {
            let until = seconds(with_tallies.checked_sub(1).map_or(Duration::ZERO, |last| intervals[last].to));
            format!("what is not of page allocations is damaged after {until}: {cut}{}", words(&error))
        });
        let incomplete = match (&damage, &end) {
            (None, Some(_)) if beside.is_some() => beside.clone(),
            (None, Some(_)) => None,
            (None, None) => Some(match source.user {
                Some(process) => format!("{until} so far: process {process} is still at it"),
                None => format!("cut short after {until}: tracer was ended before it could finish"),
            }),
            (Some(error), end) => {
                let whole = end.as_ref().map_or(String::new(), |end| format!(" of {}", seconds(end.duration)));
                Some(format!("damaged after {until}{whole}, {} intervals: {cut}{}", intervals.len(), words(error)))
            }
        };
        drop(reading);
        // Figures of the whole run beside the counts of a part would be divided by one another.
        let end = end.filter(|_| damage.is_none() && beside.is_none());
        Ok(Self { start, end, incomplete, source, names, intervals, with_tallies })
    }

    /// The intervals, each as one batch, in the order in which they happened. They replay to the report that the run
    /// itself gave.
    pub fn batches(&self) -> Batches<'_> {
        Batches { recording: self, intervals: self.intervals.iter().enumerate() }
    }
}

/// Reads one interval after the other.
pub struct Batches<'a> {
    recording: &'a Recording,
    intervals: std::iter::Enumerate<std::slice::Iter<'a, Interval>>,
}

impl Iterator for Batches<'_> {
    /// An error where the file is no longer what it was when it was checked.
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        let (index, interval) = self.intervals.next()?;
        let Recording { source, names, with_tallies, .. } = self.recording;
        let read = || {
            let mut batch = interval::read(&source.db, names, interval)?;
            if index < *with_tallies {
                batch.tallies = tallies::read(&source.db, names, interval.id)?;
            }
            Ok(batch)
        };
        let batch = read()
            .map_err(|error| anyhow::anyhow!("interval {} can no longer be read: {}", interval.id, words(&error)));
        Some(batch)
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
