//! What must be on a machine to build, run and test the tracer: found, else installed, one line each.
//!
//! Every piece looks first and does nothing when it is there, so a second run is quick; whatever an interrupted run
//! left half done does not pass the look and is done again. Must not know what the pieces are used for.

pub(crate) mod apt;
mod bpf_linker;
mod inferno;
mod mounts;
mod packages;
pub(crate) mod qemu;
mod rust_src;
mod toolchain;

use std::{path::Path, time::Instant};

use anyhow::bail;
use clap::Args;
use rust_src::Way;

use crate::console;

/// Options of `cargo xtask setup`.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Also show what is there already
    #[arg(long)]
    verbose: bool,
    /// Take the sources of the nightly's standard library in this way only, even if they are there: `rustup`,
    /// `distribution`, or a folder or archive of them
    #[arg(long, value_name = "WAY")]
    rust_src: Option<Way>,
    /// Only what building and the demonstration need, not what the tests need besides
    #[arg(long)]
    no_tests: bool,
}

impl Options {
    /// For the demonstration: what only tests need can wait.
    pub(crate) fn for_demo() -> Self {
        Self { no_tests: true, ..Self::default() }
    }
}

/// What became of one piece.
struct Piece {
    name: String,
    /// What it is needed for.
    why: &'static str,
    outcome: Outcome,
}

enum Outcome {
    /// It was there.
    Present,
    /// It is now.
    Installed,
    /// It is not; something is left out without it. With the reason and what to do.
    Lacking(String),
    /// It is not, and nothing can be built without it. With the reason and what to do.
    Missing(String),
}

impl Piece {
    fn new(name: impl Into<String>, why: &'static str, outcome: Outcome) -> Self {
        Self { name: name.into(), why, outcome }
    }

    /// A piece without which nothing can be built.
    fn required(name: impl Into<String>, why: &'static str, outcome: anyhow::Result<Outcome>) -> Self {
        Self::new(name, why, outcome.unwrap_or_else(|error| Outcome::Missing(format!("{error:#}"))))
    }

    /// A piece without which something is left out.
    fn optional(name: impl Into<String>, why: &'static str, outcome: anyhow::Result<Outcome>) -> Self {
        Self::new(name, why, outcome.unwrap_or_else(|error| Outcome::Lacking(format!("{error:#}"))))
    }

    fn line(&self) -> String {
        let (word, reason) = match &self.outcome {
            Outcome::Present => ("ok", None),
            Outcome::Installed => ("installed", None),
            Outcome::Lacking(reason) => ("without", Some(reason)),
            Outcome::Missing(reason) => ("missing", Some(reason)),
        };
        let line = format!("{word:<10}{}: {}", self.name, self.why);
        reason.map_or(line.clone(), |reason| format!("{line}\n          {}", reason.replace('\n', "\n      ")))
    }
}

/// Pieces as they are found, each shown at once.
struct Progress {
    verbose: bool,
    present: usize,
    installed: usize,
    lacking: usize,
    missing: Vec<String>,
}

impl Progress {
    fn add(&mut self, piece: &Piece) {
        match &piece.outcome {
            Outcome::Present => self.present += 1,
            Outcome::Installed => self.installed += 1,
            Outcome::Lacking(_) => self.lacking += 1,
            Outcome::Missing(_) => self.missing.push(piece.name.clone()),
        }
        if self.verbose || !matches!(piece.outcome, Outcome::Present) {
            console::note(&piece.line());
        }
    }

    fn add_all(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            self.add(piece);
        }
    }
}

/// Finds every piece and installs what is missing.
///
/// # Errors
/// A piece without which nothing can be built is missing; what to do stands in its line.
pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<()> {
    let start = Instant::now();
    let work = root.join("target/setup");
    let mut progress = Progress { verbose: options.verbose, present: 0, installed: 0, lacking: 0, missing: Vec::new() };

    let (piece, nightly) = toolchain::ensure_nightly();
    progress.add(&piece);
    if let Some(nightly) = &nightly {
        progress.add(&rust_src::ensure(nightly, options.rust_src.as_ref(), &work));
        progress.add(&bpf_linker::ensure(nightly, &work));
    }
    if !options.no_tests {
        progress.add_all(&toolchain::ensure_components());
        progress.add(&inferno::ensure(&work));
    }
    progress.add_all(&packages::ensure(!options.no_tests));
    if !options.no_tests {
        progress.add(&qemu::ensure());
    }
    progress.add_all(&mounts::ensure());

    if !progress.missing.is_empty() {
        bail!("nothing can be built without {}: see above", progress.missing.join(", "));
    }
    let Progress { present, installed, lacking, .. } = progress;
    let took = start.elapsed().as_secs_f64();
    console::note(&format!("setup: {present} there, {installed} installed, {lacking} left out, in {took:.1} s"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_left_out_says_what_it_is_for_and_why_it_is_not_there() {
        let piece = Piece::optional("perf", "compares figures", Err(anyhow::anyhow!("no network\n    try later")));
        assert_eq!(piece.line(), "without   perf: compares figures\n          no network\n          try later");
    }

    #[test]
    fn an_error_makes_a_required_piece_missing_and_an_optional_one_lacking() {
        let error = || Err(anyhow::anyhow!("gone"));
        assert!(matches!(Piece::required("a", "b", error()).outcome, Outcome::Missing(_)));
        assert!(matches!(Piece::optional("a", "b", error()).outcome, Outcome::Lacking(_)));
    }
}
