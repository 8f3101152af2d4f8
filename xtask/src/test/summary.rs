//! How many tests passed, failed and were skipped, from what the runners print.

use std::{
    fmt,
    ops::{Add, AddAssign},
};

use crate::console::without_colours;

/// A count of outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
}

impl Summary {
    /// Reads one line: cargo test's `test result: ...` (one for each binary) or nextest's `Summary [...] ...`.
    /// `None` for any other line.
    pub(super) fn from_line(line: &str) -> Option<Self> {
        let line = without_colours(line);
        let line = line.trim();
        let counts = match line.strip_prefix("test result: ") {
            Some(result) => result.split_once(". ")?.1,
            None => line.strip_prefix("Summary [")?.split_once(" run: ")?.1,
        };
        let mut summary = Self::default();
        for part in counts.split([',', ';']) {
            // `2 passed (1 slow)`, `1 timed out`, `0 filtered out`.
            let Some((number, word)) = part.trim().split_once(' ') else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match word.split(' ').next().unwrap_or_default() {
                "passed" => summary.passed += number,
                "failed" | "timed" | "exec" => summary.failed += number,
                "skipped" | "ignored" => summary.skipped += number,
                _ => {}
            }
        }
        Some(summary)
    }

    pub(super) fn total(&self) -> u64 {
        self.passed + self.failed + self.skipped
    }

    /// A test that the runner counted as passed said that it had skipped.
    pub(super) fn skip_one_passed(&mut self) {
        if self.passed > 0 {
            self.passed -= 1;
            self.skipped += 1;
        }
    }
}

impl Add for Summary {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl AddAssign for Summary {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped } = self;
        write!(out, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(line: &str) -> Option<(u64, u64, u64)> {
        Summary::from_line(line).map(|summary| (summary.passed, summary.failed, summary.skipped))
    }

    #[test]
    fn cargo_tests_line_is_read() {
        let passed = "test result: ok. 27 passed; 0 failed; 2 ignored; 0 measured; 5 filtered out; finished in 0.11s";
        assert_eq!(counted(passed), Some((27, 0, 2)));
        let failed = "test result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0s";
        assert_eq!(counted(failed), Some((1, 3, 0)));
    }

    #[test]
    fn nextests_line_is_read() {
        assert_eq!(counted("     Summary [   0.123s] 10 tests run: 10 passed, 2 skipped"), Some((10, 0, 2)));
        let bad =
            "     Summary [ 61.0s] 9/12 tests run: 5 passed (1 slow), 2 failed, 1 timed out, 1 exec failed, 0 skipped";
        assert_eq!(counted(bad), Some((5, 4, 0)));
        assert_eq!(counted("     Summary [   0.004s] 1 test run: 1 passed, 0 skipped"), Some((1, 0, 0)));
    }

    #[test]
    fn colours_do_not_hide_a_summary() {
        let line = "\x1b[32;1m     Summary\x1b[0m [   0.1s] \x1b[1m3\x1b[0m tests run: \x1b[1m3\x1b[0m \x1b[32;1mpassed\x1b[0m, 0 skipped";
        assert_eq!(counted(line), Some((3, 0, 0)));
    }

    #[test]
    fn other_lines_are_no_summary() {
        for line in ["", "test a::b ... ok", "running 3 tests", "Summary of the day: 3 passed", "test result: "] {
            assert_eq!(counted(line), None, "{line}");
        }
    }
}
