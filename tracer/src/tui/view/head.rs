//! The head: the screens that there are, and what makes the numbers differ from the plain ones.

use ratatui::layout::Rect;

use super::sheet::Sheet;
use crate::{
    tui::{
        app::{App, Kind, Screen, filter},
        link::Phase,
    },
    units,
};

/// Name and place of each tab: first column and width.
fn places() -> impl Iterator<Item = (Screen, u16, u16)> {
    let mut x = 0;
    Screen::ALL.into_iter().map(move |screen| {
        let width = u16::try_from(screen.name().len() + 4).unwrap_or(u16::MAX);
        let at = x;
        x += width;
        (screen, at, width)
    })
}

/// Draws the tabs.
pub(super) fn tabs(sheet: &mut Sheet<'_>, area: Rect, app: &App) {
    for (screen, x, width) in places() {
        let style = if screen == app.screen { sheet.theme.selected() } else { ratatui::style::Style::new() };
        sheet.put(area.x + x, area.y, width, &format!(" {} {} ", screen.number(), screen.name()), style);
    }
    let (name, style) = (concat!("tracer ", env!("CARGO_PKG_VERSION")), sheet.theme.faint());
    let used = places().last().map_or(0, |(_, x, width)| x + width);
    let room = area.width.saturating_sub(used);
    if usize::from(room) > name.len() {
        sheet.put_right(area.x + used, area.y, room, name, style);
    }
}

/// The screen whose tab is at a column.
pub(super) fn tab_at(x: u16) -> Option<Screen> {
    places().find(|(_, from, width)| (*from..from + width).contains(&x)).map(|(screen, ..)| screen)
}

/// Whether there is anything to say.
pub(super) fn has_state(app: &App) -> bool {
    !words(app).is_empty()
}

/// Draws what makes the numbers differ from the plain ones.
pub(super) fn state(sheet: &mut Sheet<'_>, area: Rect, app: &App) {
    if area.height > 0 {
        let text = words(app).join(sheet.theme.between());
        sheet.put(area.x, area.y, area.width, &text, sheet.theme.warning());
    }
}

fn words(app: &App) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(quiet) = app.quiet {
        words.push(format!("no data for {}", units::seconds(quiet.as_secs_f64())));
    }
    if let Some(picture) = &app.picture {
        match &picture.phase {
            Phase::Stopping(why) => words.push(format!("ending: {why}")),
            Phase::Ended if app.kind == Kind::Run => words.push(ended(app)),
            Phase::Running | Phase::Ended => {}
        }
        if let Some(step) = picture.step.filter(|step| step.at < step.of) {
            words.push(format!("interval {} of {}: as it was then", step.at, step.of));
        }
    }
    if app.wish.paused {
        words.push("PAUSED".to_owned());
    }
    let filter = filter::show(&app.wish.filter, &app.start);
    if !filter.is_empty() {
        words.push(format!("only {filter}"));
    }
    let counting: Vec<&str> = app.start.filters.iter().map(String::as_str).collect();
    if !counting.is_empty() {
        words.push(format!("counted with {}", counting.join(" ")));
    }
    if let (Some(base), Some(seen)) = (&app.base, &app.seen) {
        let (from, over) = (units::seconds(base.window.duration_s), units::seconds(seen.window.duration_s));
        words.push(format!("zeroed at {from}: the last {over}"));
    }
    if app.shape.no_allocator {
        words.push("without allocator frames".to_owned());
    }
    if app.shape.no_variants {
        words.push("variants merged".to_owned());
    }
    words
}

fn ended(app: &App) -> String {
    let code = app.seen.as_ref().and_then(|seen| seen.command.as_ref()).and_then(|command| command.exit_code);
    let how = match code {
        Some(0) => "the command has ended".to_owned(),
        Some(code) => format!("the command has ended with exit status {code}"),
        None => "the run has ended".to_owned(),
    };
    format!("{how}: final numbers, q shows the report")
}
