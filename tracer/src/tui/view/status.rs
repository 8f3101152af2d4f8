//! The line that is always there: what runs, how much happens, and how far to believe it.
//!
//! Where it does not fit, words are shortened before anything goes; hooks, losses, verdict and cost never go.

use ratatui::{layout::Rect, style::Style};
use unicode_width::UnicodeWidthStr as _;

use super::sheet::{Sheet, fit};
use crate::{
    signal::Status,
    snapshot::{Snapshot, Verdict, sum},
    tui::{
        app::{App, Kind},
        link::Phase,
    },
    units,
};

/// Columns of the command at most.
const COMMAND: u16 = 44;
/// Columns of its name that are kept, and all of the time.
const NAME: usize = 3;

/// A part of the line.
struct Part {
    long: String,
    short: String,
    style: Style,
    /// May go where the line is too short.
    optional: bool,
}

/// Draws the line.
pub(super) fn draw(sheet: &mut Sheet<'_>, area: Rect, app: &App) {
    let parts = parts(app, sheet);
    let (texts, between) = arranged(&parts, area.width, sheet);
    let mut x = area.x;
    for (text, style) in texts {
        if x > area.x {
            x += sheet.put(x, area.y, area.right().saturating_sub(x), between, sheet.theme.faint());
        }
        x += sheet.put(x, area.y, area.right().saturating_sub(x), &text, style);
    }
}

/// The texts that fit, and what stands between them.
fn arranged(parts: &[Part], width: u16, sheet: &Sheet<'_>) -> (Vec<(String, Style)>, &'static str) {
    let width = usize::from(width);
    let room = |texts: &[(String, Style)], between: &str| {
        texts.iter().map(|(text, _)| text.width()).sum::<usize>() + between.width() * texts.len().saturating_sub(1)
    };
    let text = |part: &Part, short: bool| (if short { &part.short } else { &part.long }.clone(), part.style);
    let wide = sheet.theme.between();
    // From the right on, words become short; then what is optional goes; then the command is cut.
    for shortened in 0..=parts.len() {
        let from = parts.len() - shortened;
        let texts: Vec<_> = parts.iter().enumerate().map(|(at, part)| text(part, at >= from)).collect();
        if room(&texts, wide) <= width {
            return (texts, wide);
        }
    }
    let needed = |part: &&Part| !part.optional;
    let mut texts: Vec<_> = parts.iter().filter(needed).map(|part| text(part, true)).collect();
    if room(&texts, wide) <= width {
        return (texts, wide);
    }
    let narrow = "  ";
    let excess = room(&texts, narrow).saturating_sub(width);
    if let Some((command, _)) = texts.first_mut() {
        // The time stays whole.
        let (name, time) = command.rsplit_once(' ').unwrap_or((command, ""));
        let left = u16::try_from(name.width().saturating_sub(excess).max(NAME)).unwrap_or(u16::MAX);
        *command = format!("{} {time}", fit(name, left, sheet.theme));
    }
    (texts, narrow)
}

fn parts(app: &App, sheet: &Sheet<'_>) -> Vec<Part> {
    let plain = Style::new();
    let theme = sheet.theme;
    let seen = app.picture.as_ref().map(|picture| picture.snapshot.as_ref());
    let elapsed = seen.map_or_else(|| units::NOT_MEASURED.to_owned(), |it| units::clock(it.window.duration_s));
    let part = |long: String, short: String, style| Part { long, short, style, optional: false };
    let mut parts = vec![part(
        format!("{} {elapsed}", fit(&what(app), COMMAND, theme)),
        format!("{} {elapsed}", fit(what(app).split(' ').next().unwrap_or_default(), COMMAND, theme)),
        theme.title(),
    )];
    if let Some(score) = score(app) {
        parts.push(Part { long: score.clone(), short: score, style: plain, optional: true });
    }
    parts.push(rates(app));
    parts.push(hooks(app, sheet));
    parts.extend(trust(seen, sheet));
    parts.push(cost(app, seen));
    parts
}

/// Events and bytes a second: now, or over the whole run once it has ended.
fn rates(app: &App) -> Part {
    let phase = app.picture.as_ref().map(|picture| &picture.phase);
    let is_over = app.kind != Kind::Recording && phase == Some(&Phase::Ended);
    let whole_run = || {
        let seen = app.seen.as_ref().filter(|_| is_over)?;
        let pages = seen.pages.as_ref().filter(|_| seen.window.duration_s > 0.0)?;
        let seconds = seen.window.duration_s;
        Some((pages.events as f64 / seconds, pages.bytes as f64 / seconds))
    };
    let now = || app.recent.as_ref().map(|recent| (recent.events_per_s, recent.bytes_per_s));
    let Some((events, bytes)) = (if is_over { whole_run() } else { now() }) else {
        let none = format!("{} events/s", units::NOT_MEASURED);
        return Part { long: none.clone(), short: none, style: Style::new(), optional: false };
    };
    let (events, bytes) = (per_second(events), format!("{}/s", units::bytes(whole(bytes))));
    let mean = if is_over { "mean " } else { "" };
    Part {
        long: format!("{mean}{events} events/s {bytes}"),
        short: format!("{mean}{events}/s {bytes}"),
        style: Style::new(),
        optional: false,
    }
}

/// What runs.
fn what(app: &App) -> String {
    if app.start.argv.is_empty() {
        return if app.kind == Kind::Recording { "recording" } else { "system" }.to_owned();
    }
    // The folder of the program says least.
    let (program, arguments) =
        app.start.argv.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let name = program.rsplit('/').next().unwrap_or(program);
    [&[name.to_owned()], arguments].concat().join(" ")
}

fn score(app: &App) -> Option<String> {
    let benchmark = app.seen.as_ref().and_then(|seen| seen.benchmark.as_ref());
    let last = benchmark.and_then(|benchmark| benchmark.results.first());
    let score = last.or(app.score.as_ref())?;
    Some(format!("{} {}", units::score(score.value), score.unit))
}

fn hooks(app: &App, sheet: &Sheet<'_>) -> Part {
    let signals = &app.start.signals;
    let there = signals.iter().filter(|signal| signal.status != Status::Missing).count();
    let text = format!("hooks {there}/{}", signals.len());
    let style = if there < signals.len() { sheet.theme.warning() } else { Style::new() };
    Part { long: text.clone(), short: text, style, optional: false }
}

fn trust(seen: Option<&Snapshot>, sheet: &Sheet<'_>) -> [Part; 2] {
    let theme = sheet.theme;
    let part = |text: String, style| Part { long: text.clone(), short: text, style, optional: false };
    let Some(seen) = seen else {
        return [part("lost -".to_owned(), Style::new()), part("no verdict".to_owned(), Style::new())];
    };
    let lost = lost(seen);
    let losses = if lost == 0 {
        part("lost 0".to_owned(), Style::new())
    } else {
        part(format!("LOST {}", units::short_count(lost)), theme.bad())
    };
    let (word, style) = match seen.completeness.verdict {
        Verdict::Exact => ("exact", theme.good()),
        Verdict::LowerBound => ("lower bound", theme.bad()),
        Verdict::Estimate => ("estimate", theme.warning()),
    };
    [losses, part(word.to_owned(), style)]
}

/// Events lost by any cause, and those at which a program did not run; signals that share a hook share its misses.
pub(super) fn lost(seen: &Snapshot) -> u64 {
    let mut hooks: Vec<(&str, u64)> =
        seen.signals.iter().filter_map(|row| Some((row.hook.as_deref()?, row.missed?))).collect();
    hooks.sort_unstable();
    hooks.dedup_by_key(|(hook, _)| *hook);
    sum(seen.completeness.lost.values().copied().chain(hooks.into_iter().map(|(_, missed)| missed)))
}

/// What the tracing itself costs.
fn cost(app: &App, seen: Option<&Snapshot>) -> Part {
    let (ns, share) = match seen {
        None => (None, None),
        Some(seen) => {
            let kernel = kernel_cost(seen);
            let own = app.picture.as_ref().and_then(|picture| picture.own_cpu).map(|it| it.as_secs_f64());
            let spent = match (kernel.map(|(ns, _)| ns / 1e9), own) {
                (None, None) => None,
                (kernel, own) => Some(kernel.unwrap_or(0.0) + own.unwrap_or(0.0)),
            };
            let share = spent.filter(|_| seen.window.duration_s > 0.0).map(|it| it / seen.window.duration_s);
            (kernel.map(|(ns, events)| ns / events as f64), share)
        }
    };
    let ns = ns.map_or_else(|| units::NOT_MEASURED.to_owned(), units::nanoseconds);
    let share = match share {
        None => units::NOT_MEASURED.to_owned(),
        Some(share) if share < 9.995 => format!("{:.1} %", share * 100.0),
        Some(_) => ">999 %".to_owned(),
    };
    Part {
        long: format!("cost {ns} an event, {share} of a CPU"),
        short: format!("cost {ns} {share}"),
        style: Style::new(),
        optional: false,
    }
}

/// Time that our programs took, ns, and the events that they ran at; `None` unless the kernel measured it.
pub(super) fn kernel_cost(seen: &Snapshot) -> Option<(f64, u64)> {
    let mut hooks: Vec<(&str, f64, u64)> = Vec::new();
    for row in &seen.signals {
        if let (Some(hook), Some(ns), Some(events)) = (row.hook.as_deref(), row.ns_per_event, row.events) {
            match hooks.iter_mut().find(|(known, ..)| *known == hook) {
                Some((.., sum)) => *sum = sum.saturating_add(events),
                None => hooks.push((hook, ns, events)),
            }
        }
    }
    let events = sum(hooks.iter().map(|(.., events)| *events));
    (events > 0).then(|| (hooks.iter().map(|(_, ns, events)| ns * *events as f64).sum(), events))
}

/// A rate as `412 k`.
pub(super) fn per_second(rate: f64) -> String {
    units::short_count(whole(rate))
}

/// The nearest whole number; nothing is negative here.
pub(super) fn whole(number: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, and NaN becomes 0")]
    let whole = number.round() as u64;
    whole
}
