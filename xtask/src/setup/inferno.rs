//! `inferno-flamegraph`: tests feed it what the tracer exports.

use std::{fs, path::Path};

use super::{Outcome, Piece};
use crate::{command, console};

/// The releases whose reading of folded stacks the tests were made with.
const VERSION: &str = "~0.12";

pub(super) fn ensure(work: &Path) -> Piece {
    let outcome = if command::find("inferno-flamegraph").is_some() {
        Ok(Outcome::Present)
    } else {
        let _progress = console::progress("building inferno, about a minute");
        // Unoptimised and on one thread: quicker to build, and quick enough for what tests give it.
        let features =
            ["--bin", "inferno-flamegraph", "--debug", "--no-default-features", "--features", "cli", "--target-dir"];
        let mut install = command::cargo(["install", "inferno", "--version", VERSION, "--locked"]);
        let build = work.join("inferno");
        let installed = command::output(install.args(features).arg(&build)).map(|_said| Outcome::Installed);
        if installed.is_ok() {
            let _left = fs::remove_dir_all(build);
        }
        installed
    };
    Piece::optional("inferno-flamegraph", "tests that it takes the folded stacks we export", outcome)
}
