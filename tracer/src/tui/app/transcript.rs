//! What the command under test wrote, as lines fit for a terminal; the last so many of them.
//!
//! Must not know: how lines are drawn, what they mean.

use std::collections::VecDeque;

/// Lines kept.
const KEPT: usize = 5_000;
/// Characters kept of a line.
const LONGEST: usize = 1_000;
/// Columns between two tab stops.
const TAB: usize = 8;

/// Lines, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    lines: VecDeque<String>,
    /// The line that has no end yet.
    open: String,
    /// It ended in a carriage return: what comes next is written over it.
    returned: bool,
    /// Lines that were dropped at the front.
    dropped: u64,
}

impl Transcript {
    /// Adds text as it came; gives the lines that it ended.
    pub fn push(&mut self, text: &str) -> Vec<String> {
        let mut ended = Vec::new();
        for letter in text.chars() {
            if std::mem::replace(&mut self.returned, letter == '\r') && !matches!(letter, '\n' | '\r') {
                self.open.clear();
            }
            match letter {
                '\n' => {
                    let line = std::mem::take(&mut self.open);
                    ended.push(line.clone());
                    self.lines.push_back(line);
                    if self.lines.len() > KEPT {
                        self.lines.pop_front();
                        self.dropped += 1;
                    }
                }
                '\r' => {}
                '\t' => {
                    let used = self.open.chars().count();
                    self.open.extend(std::iter::repeat_n(' ', TAB - used % TAB));
                }
                _ if self.open.len() < LONGEST => self.open.push(letter),
                _ => {}
            }
        }
        ended
    }

    /// All lines, the one without an end last.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.lines.iter().map(String::as_str).chain((!self.open.is_empty()).then_some(self.open.as_str()))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.lines.len() + usize::from(!self.open.is_empty())
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lines no longer kept.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_put_together_from_pieces() {
        let mut transcript = Transcript::default();
        assert!(transcript.push("on").is_empty());
        assert_eq!(transcript.push("e\ntwo\nthr"), ["one", "two"]);
        assert_eq!(transcript.lines().collect::<Vec<_>>(), ["one", "two", "thr"]);
    }

    #[test]
    fn a_carriage_return_begins_the_line_again_unless_it_ends_it() {
        let mut transcript = Transcript::default();
        transcript.push("dos\r\n10 %\r50 %\ta");
        assert_eq!(transcript.lines().collect::<Vec<_>>(), ["dos", "50 %    a"]);
    }

    #[test]
    fn memory_is_bounded_and_what_is_gone_is_counted() {
        let mut transcript = Transcript::default();
        for _ in 0..KEPT + 7 {
            transcript.push(&"x".repeat(3 * LONGEST));
            transcript.push("\n");
        }
        assert_eq!((transcript.len(), transcript.dropped()), (KEPT, 7));
        assert!(transcript.lines().all(|line| line.len() <= LONGEST));
    }
}
