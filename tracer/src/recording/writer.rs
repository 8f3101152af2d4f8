//! Writing a recording while the run goes on.
//!
//! Must not know: the clock; time comes with the batches.

use std::{path::Path, time::Duration};

use anyhow::{Context, Result, anyhow, bail};
use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::{bounds::Bounds, end, interval, keys::Numbers, merge::Merged, place, rows::words, schema, start};
use crate::{
    batch::Batch,
    run::{End, Start},
};

/// How much a killed tracer may lose.
const INTERVAL: Duration = Duration::from_secs(1);

/// By how much an interval may be longer, so that four batches of 250 ms and some microseconds are one.
const SLACK: Duration = Duration::from_millis(100);

/// How long the end waits for readers: one query of theirs, but not for a screen that shows the recording.
const READER_LEAVES: Duration = Duration::from_millis(500);

/// A recording being written.
///
/// Dropped without [`Writer::finish`], it keeps what was appended and reads as cut short.
pub struct Writer {
    db: Connection,
    /// The path, for messages.
    name: String,
    numbers: Numbers,
    bounds: Bounds,
    pending: Option<Merged>,
    /// When the last batch was read.
    last_at: Duration,
    /// The intervals written, and the end of the last one.
    written: (u64, Duration),
    /// Something could not be written: nothing more is.
    broken: bool,
    finished: bool,
}

impl Writer {
    /// Makes the recording `path`, which must not exist; with `force` it takes the place of an older recording or an
    /// empty file, and of nothing else. A symbolic link is never followed. With `owner` (user and group id) it
    /// belongs to them.
    ///
    /// # Errors
    /// One line: what is in the way, and what to do.
    pub fn create(path: &Path, start: &Start, force: bool, owner: Option<(u32, u32)>) -> Result<Self> {
        // A name may hold anything, so that one plain line is made of the error here.
        Self::made(path, start, force, owner).map_err(|error| anyhow!(words(&error)))
    }

    fn made(path: &Path, start: &Start, force: bool, owner: Option<(u32, u32)>) -> Result<Self> {
        let bounds = Bounds::new(&start.host)?;
        let db = place::create(path, force, owner, |db| {
            db.execute_batch("BEGIN")?;
            schema::create(db)?;
            start::write(db, start)?;
            db.execute_batch("COMMIT")?;
            Ok(())
        })?;
        // The WAL is what others can read meanwhile and what survives a kill. A file system that cannot map shared
        // memory keeps the rollback journal, which is as safe and only slower. In a WAL, `NORMAL` waits for the disk
        // at checkpoints alone.
        db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        db.pragma_update(None, "synchronous", "NORMAL")?;
        // From the first look at it on, SQLite holds its lock on a file in WAL mode: who would replace it sees that.
        db.query_row("SELECT count(*) FROM run", [], |_| Ok(()))?;
        // The reader checks every reference; here that would cost as much as the writing.
        db.pragma_update(None, "foreign_keys", false)?;
        db.set_prepared_statement_cache_capacity(64);
        Ok(Self {
            db,
            name: words(&anyhow!("{}", path.display())),
            numbers: Numbers::default(),
            bounds,
            pending: None,
            last_at: Duration::ZERO,
            written: (0, Duration::ZERO),
            broken: false,
            finished: false,
        })
    }

    /// Takes a batch. About every second what came since is written as one interval: when the next batch, expected
    /// as long after this one as this one after the last, would come too late.
    ///
    /// # Errors
    /// The disk is full, another process holds the file, or the batch has figures that no recording may hold. What
    /// was written before stays readable.
    pub fn append(&mut self, batch: &Batch) -> Result<()> {
        let Self { last_at, written: (_, from), .. } = *self;
        let Some(step) = batch.at.checked_sub(last_at) else {
            bail!("a batch read at {:?} came after one read at {last_at:?}", batch.at)
        };
        self.pending.get_or_insert_default().add(batch);
        self.last_at = batch.at;
        if batch.at + step > from + INTERVAL + SLACK { self.write_interval() } else { Ok(()) }
    }

    /// Writes the rest, what is known at the end, and leaves one plain file.
    ///
    /// # Errors
    /// As for [`Self::append`].
    pub fn finish(mut self, end: &End) -> Result<()> {
        self.write_interval()?;
        let (intervals, bounds) = (self.written.0, self.bounds);
        self.transaction(|db, _| {
            bounds.admit_end(end)?;
            end::write(db, end, intervals)
        })?;
        self.finished = true;
        if !self.leave_one_file()? {
            log::warn!("`{0}` is being read: `{0}-wal` belongs to it until that ends", self.name);
        }
        Ok(())
    }

    fn write_interval(&mut self) -> Result<()> {
        let Some(merged) = self.pending.take() else { return Ok(()) };
        let batch = merged.batch();
        let (last, from) = self.written;
        let mut bounds = self.bounds;
        self.transaction(|db, numbers| {
            bounds.admit(&batch)?;
            interval::write(db, numbers, last + 1, from, &batch)
        })?;
        self.bounds = bounds;
        self.written = (last + 1, batch.at);
        Ok(())
    }

    fn transaction(&mut self, write: impl FnOnce(&Connection, &mut Numbers) -> Result<()>) -> Result<()> {
        let (intervals, until) = self.written;
        if self.broken {
            bail!("recording `{}` ends after {until:?}: an earlier write failed", self.name);
        }
        // Until this has come to its end, the numbers in memory are not those in the file. And what could not be
        // written is missing: counts that go on after a gap would be believed.
        self.broken = true;
        let change = || {
            let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            write(&transaction, &mut self.numbers)?;
            transaction.commit()?;
            anyhow::Ok(())
        };
        change().with_context(|| format!("recording `{}` ends after {until:?}, interval {intervals}", self.name))?;
        self.broken = false;
        Ok(())
    }

    /// Puts all into the file itself; false when a reader is in the way.
    fn leave_one_file(&self) -> Result<bool> {
        self.db.busy_timeout(READER_LEAVES)?;
        match self.db.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(())) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(false),
            other => Ok(other.map(|()| true)?),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        // Nobody is left to tell about a failure; what was written before stays readable.
        let _ = self.write_interval();
        let _ = self.leave_one_file();
    }
}
