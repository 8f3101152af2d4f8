//! A command's lines as they come, for those who watch it.

use std::mem;

use tokio::sync::mpsc;

/// Lines that may wait to be read before more are dropped.
const WAITING: usize = 256;
/// Bytes of a line that are passed on; no score is longer.
const LONGEST: usize = 4096;

/// One line without its end, bytes that are no UTF-8 replaced, cut at 4096 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Which output it came from.
    pub source: Source,
    /// Its text, as untrusted as all that a command writes.
    pub text: String,
}

/// An output of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

pub(super) fn channel() -> (mpsc::Sender<Line>, mpsc::Receiver<Line>) {
    mpsc::channel(WAITING)
}

/// Cuts one output into lines.
pub(super) struct Splitter {
    source: Source,
    sender: mpsc::Sender<Line>,
    pending: Vec<u8>,
    dropped: u64,
}

impl Splitter {
    pub(super) fn new(source: Source, sender: mpsc::Sender<Line>) -> Self {
        Self { source, sender, pending: Vec::new(), dropped: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        // Nobody listens (any more).
        if self.sender.is_closed() {
            return;
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            self.pending.extend_from_slice(&text[..text.len().min(LONGEST - self.pending.len())]);
            if text.len() < piece.len() {
                self.send();
            }
        }
    }

    /// Passes on a last line without an end, and says how many lines were dropped.
    pub(super) fn finish(mut self) -> u64 {
        if !self.pending.is_empty() {
            self.send();
        }
        self.dropped
    }

    fn send(&mut self) {
        let text = mem::take(&mut self.pending);
        match self.sender.try_reserve() {
            Ok(place) => place.send(Line { source: self.source, text: String::from_utf8_lossy(&text).into_owned() }),
            Err(mpsc::error::TrySendError::Full(())) => self.dropped += 1,
            Err(mpsc::error::TrySendError::Closed(())) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_put_together_cut_and_dropped_when_nobody_reads() {
        let (sender, mut receiver) = mpsc::channel(2);
        let mut splitter = Splitter::new(Source::Stdout, sender);
        splitter.push(b"on");
        splitter.push(b"e\n");
        splitter.push(&[b'x'; LONGEST]);
        splitter.push(b"yz\nthree\nfour");
        assert_eq!(splitter.finish(), 2);
        assert_eq!(receiver.try_recv().unwrap().text, "one");
        assert_eq!(receiver.try_recv().unwrap().text, "x".repeat(LONGEST));
        assert!(receiver.try_recv().is_err());
    }
}
