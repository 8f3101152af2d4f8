//! The command: how it ended, its score, what a unit of its work costs, and what it wrote.

use ratatui::{layout::Rect, style::Style};

use super::sheet::Sheet;
use crate::{
    run::Score,
    snapshot::{Command, Snapshot},
    tui::app::{App, Kind},
    units,
};

/// Columns of the names at the left.
const NAMES: u16 = 11;

/// Draws the screen.
pub(super) fn draw(sheet: &mut Sheet<'_>, area: Rect, app: &App, seen: &Snapshot) {
    let list = sheet.heading(area, "command", "");
    let Some(command) = &seen.command else {
        let text = "none was run: `tracer run -- COMMAND` runs one";
        sheet.put(list.x, list.y, list.width, text, sheet.theme.faint());
        return;
    };
    let mut y = list.y;
    let mut line = |name: &str, text: &str, style: Style| {
        // The output keeps at least a few lines.
        if y + 5 < area.bottom() {
            sheet.put(list.x, y, NAMES, name, sheet.theme.faint());
            let place = Rect { x: list.x + NAMES, y, width: list.width - NAMES, height: 2.min(area.bottom() - y) };
            y += sheet.wrapped(place, text, style).max(1);
        }
    };
    line("run", &command.argv.join(" "), Style::new());
    let (how, is_bad) = ended(command, app);
    let bad = Style::new().add_modifier(ratatui::style::Modifier::BOLD);
    line("ended", &how, if is_bad { bad } else { Style::new() });
    if let Some(benchmark) = &seen.benchmark {
        let tool = [benchmark.tool.as_deref(), benchmark.test.as_deref()];
        let tool: Vec<&str> = tool.into_iter().flatten().collect();
        let tool = if tool.is_empty() { "none recognised".to_owned() } else { tool.join(" ") };
        line("benchmark", &format!("{tool}, instances {}", benchmark.instances), Style::new());
        for score in &benchmark.results {
            line("score", &scored(score), Style::new());
        }
        for warning in &benchmark.warnings {
            line("warning", warning, bad);
        }
    } else {
        let text = app.score.as_ref().map_or_else(|| "read when the command has ended".to_owned(), scored);
        line("score", &text, Style::new());
    }
    if let Some(unit) = seen.pages.as_ref().and_then(|pages| pages.per_unit.as_ref()) {
        let text = format!("{} allocations, {} pages", units::decimal(unit.events), units::decimal(unit.pages));
        line(&format!("a {}", unit.unit), &text, Style::new());
    }
    output(sheet, Rect { y, height: area.bottom().saturating_sub(y), ..area }, app);
}

fn ended(command: &Command, app: &App) -> (String, bool) {
    let Some(code) = command.exit_code else {
        return (if app.is_running() { "it runs" } else { "not known" }.to_owned(), false);
    };
    let seconds = |time: Option<f64>| time.map_or_else(|| units::NOT_MEASURED.to_owned(), units::seconds);
    let text = format!(
        "exit status {code} after {}, user {}, system {}",
        seconds(command.wall_s),
        seconds(command.user_s),
        seconds(command.system_s)
    );
    (text, code != 0)
}

fn scored(score: &Score) -> String {
    let better = if score.lower_is_better { ", less is better" } else { "" };
    format!("{} {} {} ({}{better})", score.metric, units::score(score.value), score.unit, score.side)
}

fn output(sheet: &mut Sheet<'_>, area: Rect, app: &App) {
    let lines = app.transcript.len();
    let of = if app.kind == Kind::Recording { " of the whole run" } else { "" };
    let mut remark = format!("{} lines{of}", units::count(lines as u64));
    if app.transcript.dropped() > 0 {
        remark = format!("{remark}, the first {} no longer kept", units::count(app.transcript.dropped()));
    }
    if app.output_scroll > 0 {
        remark = format!("{remark}, {} below", units::count(app.output_scroll as u64));
    }
    let list = sheet.heading(area, "output", &remark);
    let height = usize::from(list.height);
    // The line that one is at is the last shown, unless all fits.
    let end = lines.saturating_sub(app.output_scroll).max(height.min(lines));
    let shown = app.transcript.lines().skip(end.saturating_sub(height)).take(height.min(end));
    for (line, y) in shown.zip(list.top()..list.bottom()) {
        let style = if app.is_match(line) { sheet.theme.found() } else { Style::new() };
        sheet.put(list.x, y, list.width, line, style);
    }
    if lines == 0 {
        let text = match app.kind {
            Kind::Recording => "nothing at this moment (a recording has it at its end)",
            Kind::Run | Kind::Top => "nothing yet",
        };
        sheet.put(list.x, list.y, list.width, text, sheet.theme.faint());
    }
}
