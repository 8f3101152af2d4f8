//! What a command wrote, kept within bounds: its beginning and its end.

use std::collections::VecDeque;

/// Bytes kept of the beginning of each output.
const HEAD: usize = 1 << 20;
/// Bytes kept of the end of each output.
const TAIL: usize = 15 << 20;

/// The bytes of one output.
#[derive(Debug)]
pub(super) struct Capture {
    head_limit: usize,
    tail_limit: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    pub(super) fn new() -> Self {
        Self::with_limits(HEAD, TAIL)
    }

    fn with_limits(head_limit: usize, tail_limit: usize) -> Self {
        Self { head_limit, tail_limit, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(self.head_limit - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.tail_limit)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    /// The text with bytes that are no UTF-8 replaced, and how many bytes are missing in it. A cut is made between
    /// lines where there are any, so that no half line is read as a figure.
    pub(super) fn finish(self) -> (String, u64) {
        let (mut head, mut tail) = (self.head, Vec::from(self.tail));
        if head.len() as u64 + tail.len() as u64 == self.total {
            head.append(&mut tail);
            return (String::from_utf8_lossy(&head).into_owned(), 0);
        }
        if let Some(end) = head.iter().rposition(|byte| *byte == b'\n') {
            head.truncate(end + 1);
        }
        if let Some(end) = tail.iter().position(|byte| *byte == b'\n') {
            tail.drain(..=end);
        }
        let cut = self.total - head.len() as u64 - tail.len() as u64;
        let text = format!(
            "{}\n[tracer: {cut} bytes cut]\n{}",
            String::from_utf8_lossy(&head).trim_end_matches('\n'),
            String::from_utf8_lossy(&tail)
        );
        (text, cut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(chunks: &[&[u8]]) -> (String, u64) {
        let mut capture = Capture::with_limits(4, 6);
        for chunk in chunks {
            capture.push(chunk);
        }
        capture.finish()
    }

    #[test]
    fn what_fits_is_kept_whole_however_it_comes() {
        assert_eq!(captured(&[]), (String::new(), 0));
        assert_eq!(captured(&[b"0123456789"]), ("0123456789".into(), 0));
        assert_eq!(captured(&[b"012", b"345", b"6789"]), ("0123456789".into(), 0));
        assert_eq!(captured(&[b"a\xffb"]), ("a\u{fffd}b".into(), 0));
    }

    #[test]
    fn what_does_not_fit_is_cut_between_lines_and_counted() {
        let expected = ("ab\n[tracer: 10 bytes cut]\nij\n".to_owned(), 10);
        assert_eq!(captured(&[b"ab\ncd\nef\n", b"ghi\nij\n"]), expected);
        assert_eq!(captured(&[b"ab\ncd\nef\nghi\nij\n"]), expected);
        assert_eq!(captured(&[b"0123456789x"]), ("0123\n[tracer: 1 bytes cut]\n56789x".into(), 1));
    }
}
