//! The command under test: running it, and reading the score that it prints.
//!
//! Must not know: aya, the terminal, how figures are shown.

pub mod command;

/// `text` fit for a line of ours: control characters, which could drive a terminal, replaced.
fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}
