//! Flame graphs as SVG, drawn by inferno: of one run, or of what changed between two groups of runs.
//!
//! Owns: title, unit and colours. Must not know: how a flame graph is laid out.

mod color;

use std::io;

use anyhow::{Result, ensure};
use inferno::flamegraph::{self, Direction, Palette, color::BasicPalette};

pub use color::ColorBy;

use super::{Weight, differential::Pairs, stacks, untrusted};
use crate::snapshot::Snapshot;

/// Characters of a command that fit above a flame graph.
const MOST: usize = 110;

/// How a flame graph looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What a frame's width is of.
    pub weight: Weight,
    /// The first frame is `order-N`.
    pub order_root: bool,
    /// Outermost functions on top.
    pub icicle: bool,
    /// What colours mean; `None`: nothing, they only set frames apart.
    pub color_by: Option<ColorBy>,
}

/// Draws one run.
///
/// # Errors
/// There is nothing to draw, or the writer fails.
pub fn write(snapshot: &Snapshot, options: Options, out: &mut dyn io::Write) -> Result<()> {
    let pages = stacks::pages(snapshot)?;
    let page_size = snapshot.host.page_size;
    let mut stacks = stacks::stacks(pages, options.order_root);
    let weight = |order, events| options.weight.of(order, events, page_size);
    let mut lines: Vec<String> = Vec::new();
    let mut palette = None;
    let mut subtitle = Vec::new();
    if let Some(by) = options.color_by {
        let painted = color::paint(&stacks, by);
        subtitle.push(painted.legend);
        palette = Some(painted.palette);
        for (stack, frames) in stacks.iter_mut().zip(painted.frames) {
            stack.frames = frames;
        }
    }
    for stack in &stacks {
        lines.push(format!("{} {}", stack.frames.join(";"), weight(stack.order, stack.events)));
    }
    ensure!(!lines.is_empty(), "no allocation is left to draw");
    let filters = &snapshot.completeness.filters;
    if !filters.is_empty() {
        subtitle.push(format!("only {}", filters.join(", ")));
    }
    if pages.lost > 0 {
        subtitle.push(format!("{} allocations of {} without a path stand as [lost]", pages.lost, pages.events));
    }
    let mut drawn = Vec::new();
    let mut style = style(options);
    style.title = title(snapshot, options.weight);
    style.subtitle = (!subtitle.is_empty()).then(|| untrusted::line(&subtitle.join("; "), false));
    style.palette_map = palette.as_mut();
    draw(&mut style, lines, &mut drawn)?;
    let drawn = if options.color_by.is_some() { color::without_marks(drawn) } else { drawn };
    Ok(out.write_all(&drawn)?)
}

/// Draws B, coloured by what changed from A: red is more, blue less. `scale` is what A's weights are multiplied by so
/// that both stand for the same work.
///
/// # Errors
/// B has nothing to draw, or the writer fails.
pub fn write_differential(
    pairs: &Pairs,
    scale: f64,
    per: &str,
    options: Options,
    out: &mut dyn io::Write,
) -> Result<()> {
    ensure!(pairs.values().any(|(_, b)| *b > 0), "no allocation of B is left to draw");
    let scaled = |weight: u64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, and `as` saturates")]
        let scaled = (weight as f64 * scale).round() as u64;
        scaled
    };
    // A stack of no width would only make the colours of all others pale: the largest change is the full colour.
    let drawn = pairs.iter().filter(|(_, (_, b))| *b > 0);
    let lines: Vec<String> = drawn.map(|(stack, (a, b))| format!("{stack} {} {b}", scaled(*a))).collect();
    let gone = pairs.values().filter(|(a, b)| *a > 0 && *b == 0).count();
    let mut style = style(options);
    style.title = format!("{} of B, coloured by the change from A", options.weight.name());
    style.subtitle = Some(format!(
        "red: more in B, blue: less, for the same work (A x {scale:.6}, per {per}); {gone} stacks of A are gone and have no width"
    ));
    draw(&mut style, lines, out)
}

fn style(options: Options) -> flamegraph::Options<'static> {
    let mut style = flamegraph::Options::default();
    style.colors = Palette::Basic(BasicPalette::Hot);
    // Without this colours are drawn by lot, and no two files are alike.
    style.hash = true;
    style.deterministic = true;
    style.direction = if options.icicle { Direction::Inverted } else { Direction::Straight };
    options.weight.name().clone_into(&mut style.count_name);
    style
}

fn title(snapshot: &Snapshot, weight: Weight) -> String {
    let what = if weight == Weight::Events { "blocks" } else { weight.name() };
    let title = format!("{what} allocated during {}", stacks::subject(snapshot));
    if title.chars().count() > MOST { title.chars().take(MOST).chain("...".chars()).collect() } else { title }
}

fn draw(style: &mut flamegraph::Options<'_>, mut lines: Vec<String>, out: &mut dyn io::Write) -> Result<()> {
    // XML has no place for these two, however they are written.
    for line in &mut lines {
        *line = line.replace(['\u{fffe}', '\u{ffff}'], "?");
    }
    style.title = style.title.replace(['\u{fffe}', '\u{ffff}'], "?");
    style.subtitle = style.subtitle.take().map(|it| it.replace(['\u{fffe}', '\u{ffff}'], "?"));
    Ok(flamegraph::from_lines(style, lines.iter().map(String::as_str), out)?)
}
