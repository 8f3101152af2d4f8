//! Text on cells: cleaned, cut to a width, in columns; headings and bars.
//!
//! Owns: how untrusted text gets onto the screen. Must not know: what it says.

use ratatui::{buffer::Buffer, layout::Rect, style::Style};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::theme::Theme;
use crate::output::untrusted;

/// Eighths of a cell, from the left.
const EIGHTHS_ACROSS: [&str; 8] = [" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
/// Eighths of a cell, from the bottom.
pub(super) const EIGHTHS_UP: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Where something is drawn: cells, their area, and what the terminal can show.
pub(super) struct Sheet<'a> {
    /// The cells.
    pub(super) cells: &'a mut Buffer,
    /// What the terminal can show.
    pub(super) theme: Theme,
}

impl Sheet<'_> {
    /// Writes text at a place, cut to `width`; how many columns it took.
    pub(super) fn put(&mut self, x: u16, y: u16, width: u16, text: &str, style: Style) -> u16 {
        let area = self.cells.area;
        if y < area.top() || y >= area.bottom() || x >= area.right() {
            return 0;
        }
        let width = width.min(area.right() - x);
        let clean = self.clean(text);
        let fitted = fit(&clean, width, self.theme);
        let (end, _) = self.cells.set_stringn(x, y, &fitted, usize::from(width), style);
        end - x
    }

    /// Writes text that leans on the right end of a place.
    pub(super) fn put_right(&mut self, x: u16, y: u16, width: u16, text: &str, style: Style) {
        let clean = self.clean(text);
        let used = u16::try_from(clean.width()).unwrap_or(u16::MAX).min(width);
        self.put(x + (width - used), y, used, text, style);
    }

    /// Writes pieces one after the other; where the next would stand.
    pub(super) fn pieces(&mut self, x: u16, y: u16, width: u16, pieces: &[(&str, Style)]) -> u16 {
        let mut at = x;
        for (text, style) in pieces {
            at += self.put(at, y, (x + width).saturating_sub(at), text, *style);
        }
        at
    }

    /// A heading over an area, with a remark; gives what is left of the area.
    pub(super) fn heading(&mut self, area: Rect, title: &str, remark: &str) -> Rect {
        if area.height == 0 {
            return area;
        }
        let mut at = area.x + self.put(area.x, area.y, area.width, title, self.theme.title());
        if !remark.is_empty() {
            let room = (area.right().saturating_sub(at + 1)).min(area.width);
            at += 1 + self.put(at + 1, area.y, room, remark, self.theme.faint());
        }
        let rule = self.theme.rule();
        for x in (at + 1).min(area.right())..area.right() {
            self.cells[(x, area.y)].set_char(rule).set_style(self.theme.faint());
        }
        Rect { y: area.y + 1, height: area.height - 1, ..area }
    }

    /// A bar of a share from 0 to 1.
    pub(super) fn bar(&mut self, x: u16, y: u16, width: u16, share: f64, style: Style) {
        if share <= 0.0 || !share.is_finite() || width == 0 {
            return;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 8 times a u16")]
        let eighths = ((share.min(1.0) * f64::from(width) * 8.0).round() as u32).max(1);
        let full = u16::try_from(eighths / 8).unwrap_or(width).min(width);
        if self.theme.unicode {
            self.put(x, y, width, &"█".repeat(usize::from(full)), style);
            if full < width {
                self.put(x + full, y, 1, EIGHTHS_ACROSS[(eighths % 8) as usize], style);
            }
        } else {
            self.put(x, y, width, &"#".repeat(usize::from(full.max(1))), style);
        }
    }

    /// Text in as many lines as it needs, broken between words; how many.
    pub(super) fn wrapped(&mut self, area: Rect, text: &str, style: Style) -> u16 {
        let lines = wrap(text, area.width);
        for (line, y) in lines.iter().zip(area.top()..area.bottom()) {
            self.put(area.x, y, area.width, line, style);
        }
        u16::try_from(lines.len()).unwrap_or(u16::MAX).min(area.height)
    }

    fn clean(&self, text: &str) -> String {
        untrusted::line(text, !self.theme.unicode)
    }
}

/// Text as it is broken into lines of a width.
pub(super) fn wrap(text: &str, width: u16) -> Vec<String> {
    textwrap::wrap(text, usize::from(width.max(1))).into_iter().map(std::borrow::Cow::into_owned).collect()
}

/// Text cut to a width, with a mark where something is missing.
pub(super) fn fit(text: &str, width: u16, theme: Theme) -> String {
    let width = usize::from(width);
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for letter in text.chars() {
        let needs = letter.width().unwrap_or(0);
        if used + needs + 1 > width {
            break;
        }
        used += needs;
        kept.push(letter);
    }
    if width > 0 {
        kept.push(theme.cut());
    }
    kept
}

/// The first row shown of a list of `of`, so that row `selected` is seen.
pub(super) fn first_row(selected: usize, of: usize, height: u16) -> usize {
    let height = usize::from(height);
    selected.saturating_sub(height / 2).min(of.saturating_sub(height))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASCII: Theme = Theme { color: false, unicode: false };

    fn written(text: &str, width: u16) -> String {
        let mut cells = Buffer::empty(Rect::new(0, 0, 12, 1));
        Sheet { cells: &mut cells, theme: ASCII }.put(0, 0, width, text, Style::new());
        cells.content.iter().map(ratatui::buffer::Cell::symbol).collect::<String>().trim_end().to_owned()
    }

    #[test]
    fn what_does_not_fit_is_marked_as_cut() {
        assert_eq!(written("udp_sendmsg", 12), "udp_sendmsg");
        assert_eq!(written("udp_sendmsg", 6), "udp_s~");
        assert_eq!(written("udp_sendmsg", 0), "");
    }

    #[test]
    fn nothing_that_drives_a_terminal_reaches_a_cell() {
        assert_eq!(written("a\x1b[2Jb\n\u{202e}c", 12), "a?[2Jb??c");
    }

    #[test]
    fn a_list_scrolls_so_that_the_selection_is_seen() {
        assert_eq!(first_row(0, 100, 10), 0);
        assert_eq!(first_row(50, 100, 10), 45);
        assert_eq!(first_row(99, 100, 10), 90);
        assert_eq!(first_row(3, 4, 10), 0);
    }
}
