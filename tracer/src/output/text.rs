//! The report that a person reads: score first, then what was allocated, by whom, and how far to trust it.
//!
//! Owns: the order of the sections. Every section is a function from the snapshot to lines on a `Sheet`.
//! Must not know: whether the writer is a terminal; `Style` says what it can show.

mod beside;
pub mod diff;
pub mod doctor;
mod paths;
mod score;
mod sheet;
mod tables;
mod trust;

use std::io;

use super::Weight;
use crate::snapshot::Snapshot;
use sheet::Sheet;

/// What the reader's terminal or file can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Colours and bold; no meaning rests on them alone.
    pub color: bool,
    /// Columns. Below [`MIN_WIDTH`] lines are longer than this.
    pub width: u16,
    /// Characters other than ASCII.
    pub unicode: bool,
}

/// The narrowest report.
pub const MIN_WIDTH: u16 = 60;

/// What is written and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What can be shown.
    pub style: Style,
    /// So many paths, flags and owners at most; how many more there are is said.
    pub top: usize,
    /// By what paths are ranked and shares taken.
    pub weight: Weight,
}

/// Writes the whole report.
pub fn write(snapshot: &Snapshot, options: &Options, out: &mut dyn io::Write) -> io::Result<()> {
    let mut sheet = Sheet::new(options.style);
    score::write(snapshot, &mut sheet);
    if let Some(pages) = &snapshot.pages {
        tables::summary(snapshot, pages, &mut sheet);
        tables::orders(snapshot, pages, options, &mut sheet);
        tables::routes(snapshot, pages, options, &mut sheet);
        tables::contexts(pages, options, &mut sheet);
        paths::write(snapshot, pages, options, &mut sheet);
        tables::flags(pages, options, &mut sheet);
        tables::owners(snapshot, pages, options, &mut sheet);
    } else {
        sheet.heading("pages", "");
        sheet.line("page allocations were not measured: no hook for them is attached");
    }
    beside::write(snapshot, options, &mut sheet);
    tables::free_blocks(snapshot, &mut sheet);
    trust::write(snapshot, &mut sheet);
    sheet.write(out)
}
