//! A run in one SQLite file: written while it happens, read again on any machine by anyone.
//!
//! Owns the file: where it is put, its tables, how it is written and read, and what is said when it is damaged.
//! Must not know: aya, the terminal, how numbers are shown.
//!
//! # The file
//!
//! `PRAGMA application_id` is [`APPLICATION_ID`] and `PRAGMA user_version` is [`VERSION`]. While a run is recorded
//! the file is in WAL mode and one interval is committed about every second, so that a tracer killed by whatever
//! loses at most its last second; `FILE`, `FILE-wal` and `FILE-shm` then belong together. At a clean end one plain
//! file remains that even those can read who may not write beside it.
//!
//! # The tables
//!
//! `sqlite3 FILE .schema` shows every table with its columns, units and meaning (the text of `recording/schema.sql`,
//! which makes the tables); `docs/recording.md` has ready questions to put to it. In short:
//!
//! | tables | hold | written |
//! |---|---|---|
//! | `meta` | the version of tracer that wrote the file | at the start |
//! | `host`, `run`, `argv`, `filters`, `signals`, `refused`, `gfp_flags`, `migratetypes` | [`Start`] | at the start |
//! | `frames`, `paths`, `path_frames`, `owners`, `kinds`, `programs` | names for what is counted | when first met |
//! | `intervals`, `counts` | events by kind, from interval to interval | every second |
//! | `order_totals`, `losses`, `loss_orders`, `program_stats`, `audit` | running totals | every second |
//! | `run_end`, `command_end`, `benchmark`, `results`, `warnings`, `buddyinfo`, `vmstat` | [`End`] | at the end |
//!
//! The views `allocations`, `pages_by_order`, `timeline`, `stacks`, `folded` and `lost` answer the usual questions.
//!
//! A kind (a row of `kinds`) is a [`CountKey`]: path, owner, flags, order, migrate type, failed or not. Kinds are
//! numbered as they are met, so that a row of `counts` is three small integers. Hashes and addresses have all 64
//! bits and are text (`0x` and 16 digits); every other number is an integer that fits SQLite's 63 bits, or a
//! `REAL` where a program printed a fraction (`NULL`: not a number).
//!
//! Text is kept as it came. Whoever shows it must take the control characters out.
//!
//! # Damage
//!
//! [`Recording::open`] believes nothing: tables must be ours to the letter, ids must follow one another, every
//! interval must add up to the sums noted with it, and totals must fit 64 bits when turned into bytes. It gives what
//! comes before the first damage, and says in [`Recording::incomplete`] where that is.
//!
//! [`CountKey`]: crate::batch::CountKey
//! [`Start`]: crate::run::Start
//! [`End`]: crate::run::End

#![allow(clippy::doc_markdown, reason = "`SQLite` is a name, not an item")]

mod bounds;
mod end;
mod header;
mod interval;
mod keys;
mod merge;
mod place;
mod reader;
mod rows;
mod schema;
mod single;
mod source;
mod start;
mod tallies;
mod writer;

#[cfg(test)]
mod tests;

pub use merge::merge;
pub use reader::{Batches, Recording};
pub use schema::{APPLICATION_ID, VERSION};
pub use writer::Writer;
