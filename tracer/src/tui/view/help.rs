//! All keys, from the table that decodes them.

use ratatui::{layout::Rect, style::Style};

use super::sheet::Sheet;
use crate::tui::keys::{BINDINGS, Topic};

/// Columns of the keys themselves.
const KEYS: u16 = 10;

/// Draws the help, in as many columns of text as there are topics.
pub(super) fn draw(sheet: &mut Sheet<'_>, area: Rect) {
    let half = area.width / 2;
    let left = Rect { width: half - 1, ..area };
    let right = Rect { x: area.x + half + 1, width: area.width - half - 1, ..area };
    topic(sheet, left, Topic::Look);
    let below = topic(sheet, right, Topic::Show);
    let rest = Rect { y: below, height: area.bottom().saturating_sub(below), ..right };
    topic(sheet, rest, Topic::Run);
}

/// Draws one topic; the first line after it.
fn topic(sheet: &mut Sheet<'_>, area: Rect, topic: Topic) -> u16 {
    let list = sheet.heading(area, topic.title(), "");
    let bindings = BINDINGS.iter().filter(|binding| binding.topic == topic && !binding.help.is_empty());
    let mut y = list.top();
    for binding in bindings {
        if y >= list.bottom() {
            break;
        }
        sheet.put(list.x, y, KEYS, binding.shown, sheet.theme.title());
        sheet.put(list.x + KEYS, y, list.width.saturating_sub(KEYS), binding.help, Style::new());
        y += 1;
    }
    y
}
