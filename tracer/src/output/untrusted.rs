//! Text that others chose (process names, arguments, symbols, what a benchmark printed), made safe to write.
//!
//! Owns: which characters may leave. A control character could drive the reader's terminal, an invisible one could
//! make a line read as another.

/// Stands where a character was not fit to be shown.
const REPLACEMENT: char = '?';

/// One line of text for a terminal: control, line-separating and direction-changing characters are replaced, and so
/// is all but ASCII when `ascii` is asked for.
pub(crate) fn line(text: &str, ascii: bool) -> String {
    text.chars().map(|c| if unfit(c) || (ascii && !c.is_ascii()) { REPLACEMENT } else { c }).collect()
}

/// A frame of a folded stack: as [`line()`], without `;` and white space, not empty and no bare number, which readers
/// would take for a weight. Nor is it `#`, which would make a comment of the line that it begins.
pub(crate) fn frame(text: &str) -> String {
    let text = text.trim();
    let frame: String = text
        .chars()
        .map(|c| match c {
            ';' => ':',
            _ if c.is_whitespace() => '_',
            _ if unfit(c) => REPLACEMENT,
            _ => c,
        })
        .collect();
    if frame.is_empty() {
        "[unknown]".to_owned()
    } else if frame.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) && frame.parse::<f64>().is_ok() {
        format!("_{frame}")
    } else if frame == "#" {
        "_#".to_owned()
    } else {
        frame
    }
}

/// Control characters (C0, DEL, C1), line and paragraph separators, and the format characters that have no width or
/// turn the direction of writing (Unicode's `Bidi_Control`, zero-width ones and the byte order mark).
pub(crate) fn unfit(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::{frame, line};

    #[test]
    fn nothing_that_drives_a_terminal_gets_through() {
        assert_eq!(line("a\x1b[31mb\r\n\tc\u{9b}2J\u{7f}", false), "a?[31mb???c?2J?");
        assert_eq!(line("good\u{202e}live\u{200b}", false), "good?live?");
    }

    #[test]
    fn letters_of_any_script_stay_unless_ascii_is_asked_for() {
        assert_eq!(line("größe", false), "größe");
        assert_eq!(line("größe", true), "gr??e");
    }

    #[test]
    fn ordinary_frames_are_left_alone() {
        for name in
            ["ttwu_do_wakeup.isra.20", "__pfx_x", "x.cold", "0xffffffff81000000", "[lost]", "größe", "in", "inf"]
        {
            assert_eq!(frame(name), name);
        }
    }

    #[test]
    fn no_frame_breaks_the_line() {
        for (text, expected) in [
            ("a;b", "a:b"),
            ("  lead", "lead"),
            ("trail \t", "trail"),
            ("two words", "two_words"),
            ("xmit [veth]", "xmit_[veth]"),
            ("tab\tand\nline", "tab_and_line"),
            ("\x1b[2J", "?[2J"),
            ("call 12", "call_12"),
            ("12", "_12"),
            ("-3", "_-3"),
            ("10.7", "_10.7"),
            ("1e5", "_1e5"),
            ("#", "_#"),
            ("", "[unknown]"),
            (" \n", "[unknown]"),
        ] {
            assert_eq!(frame(text), expected);
        }
    }
}
