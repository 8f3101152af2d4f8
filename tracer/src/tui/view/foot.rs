//! The foot: what is asked, what there is to tell, or which keys there are.

use ratatui::{layout::Rect, style::Style};

use super::sheet::Sheet;
use crate::tui::app::{
    App, Kind, Screen, filter,
    prompt::{Format, Prompt},
};

/// Draws the line.
pub(super) fn draw(sheet: &mut Sheet<'_>, area: Rect, app: &App) {
    if let Some(prompt) = &app.prompt {
        asked(sheet, area, app, prompt);
    } else if let Some(message) = &app.message {
        sheet.put(area.x, area.y, area.width, message, sheet.theme.warning());
    } else {
        hints(sheet, area, app);
    }
}

fn asked(sheet: &mut Sheet<'_>, area: Rect, app: &App, prompt: &Prompt) {
    match prompt {
        Prompt::Search(text) => typed(sheet, area, "search", text, None, "Enter finds, Esc leaves it"),
        Prompt::Filter { text, error } => typed(sheet, area, "only", text, error.as_deref(), filter::FORM),
        Prompt::Jump { text, error } => {
            typed(sheet, area, "to", text, error.as_deref(), "seconds such as 2.5, or a share such as 50%");
        }
        Prompt::Export(choice) => {
            let mut pieces = vec![("export as ", sheet.theme.title())];
            for (at, format) in Format::ALL.iter().enumerate() {
                let style = if at == *choice { sheet.theme.selected() } else { Style::new() };
                pieces.push((format.name(), style));
                pieces.push(("  ", Style::new()));
            }
            pieces.push(("arrows, Enter", sheet.theme.faint()));
            sheet.pieces(area.x, area.y, area.width, &pieces);
        }
        Prompt::Leave => {
            let command = app.start.argv.first().map_or("the command", |name| name.rsplit('/').next().unwrap_or(name));
            let text = format!("{command} still runs: end it, report and leave? y or q: yes, n: no");
            sheet.put(area.x, area.y, area.width, &text, sheet.theme.warning());
        }
    }
}

fn typed(sheet: &mut Sheet<'_>, area: Rect, label: &str, text: &str, error: Option<&str>, hint: &str) {
    // The end of a long text is where one types.
    let room = usize::from(area.width / 2);
    let from = text.char_indices().rev().nth(room.saturating_sub(1)).map_or(0, |(at, _)| at);
    let remark = error.unwrap_or(hint);
    let style = if error.is_some() { sheet.theme.bad() } else { sheet.theme.faint() };
    let (title, selected) = (sheet.theme.title(), sheet.theme.selected());
    let pieces = [
        (label, title),
        (": ", title),
        (&text[from..], Style::new()),
        (" ", selected),
        ("  ", Style::new()),
        (remark, style),
    ];
    sheet.pieces(area.x, area.y, area.width, &pieces);
}

/// As many keys as fit whole, those that are always there first.
fn hints(sheet: &mut Sheet<'_>, area: Rect, app: &App) {
    let mut hints: Vec<(&str, &str)> = vec![("?", "keys"), ("q", "leave")];
    hints.extend_from_slice(match app.screen {
        _ if app.help => &[("any key", "back")],
        Screen::Overview => &[("Enter", "paths"), ("w", "weight")],
        Screen::Paths if app.paths.open.is_some() => &[("Esc", "back"), ("arrows", "frames")],
        Screen::Paths => &[("Enter", "open"), ("s", "sort"), ("g", "group"), ("/", "search")],
        Screen::Flame => &[("Enter", "zoom"), ("Esc", "out"), ("w", "weight"), ("/", "search"), ("a", "allocator")],
        Screen::Sockets | Screen::Memory => &[],
        Screen::Benchmark => &[("arrows", "scroll"), ("/", "search")],
        Screen::Hooks => &[("arrows", "select"), ("/", "search")],
    });
    if !app.help {
        hints.extend(match app.kind {
            Kind::Recording => [(", .", "in time"), ("t", "jump")],
            Kind::Run | Kind::Top => [("space", "pause"), ("z", "zero")],
        });
        hints.extend([("f", "filter"), ("e", "export")]);
    }
    let mut x = area.x;
    for (key, meaning) in hints {
        let width = u16::try_from(key.len() + 1 + meaning.len()).unwrap_or(u16::MAX);
        if width > area.right().saturating_sub(x) {
            break;
        }
        let pieces = [(key, sheet.theme.title()), (" ", Style::new()), (meaning, sheet.theme.faint())];
        x = sheet.pieces(x, area.y, width, &pieces) + 2;
    }
}
