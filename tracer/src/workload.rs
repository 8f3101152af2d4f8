//! The command under test: running it, and reading the score that it prints.
//!
//! Must not know: aya, the terminal, how figures are shown.

pub mod command;
mod netperf;
mod wrapped;

use crate::run::{Benchmark, Score};

/// Reads the score of a benchmark from what it wrote. `argv` is the command run, through whatever started the
/// benchmark (`taskset`, `timeout`, `env`, `sh -c` and their like); a benchmark run by a script of another name is
/// recognised by what it prints. Whatever was run, the outputs are kept as they are.
pub fn parse(argv: &[String], stdout: &str, stderr: &str) -> Benchmark {
    let benchmark = netperf::read(&wrapped::commands(argv), stdout, stderr).unwrap_or_default();
    Benchmark { stdout: stdout.to_owned(), stderr: stderr.to_owned(), ..benchmark }
}

/// A score that a benchmark gives on the way (netperf's `-D`), from one line of its output.
pub fn interim(line: &str) -> Option<Score> {
    netperf::interim(line)
}

/// `text` fit for a line of ours: control characters, which could drive a terminal, replaced.
fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_command_keeps_its_output_and_has_no_score() {
        let benchmark = parse(&["make".into(), "-j2".into()], "CC a.o\n1 2 3 4.00 5.00\n", "warning\n");
        let expected = Benchmark {
            stdout: "CC a.o\n1 2 3 4.00 5.00\n".into(),
            stderr: "warning\n".into(),
            ..Benchmark::default()
        };
        assert_eq!(benchmark, expected);
        assert_eq!(parse(&[], "", ""), Benchmark::default());
    }
}
