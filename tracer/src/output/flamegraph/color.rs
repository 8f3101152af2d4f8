//! Colours that mean something: the order or the route of what a frame allocated.
//!
//! inferno takes the colour of a frame from its name, but the same function is on paths of several orders. So while it
//! draws, every name ends in a mark of its colour, a character from Unicode's private use area that no other text may
//! hold, and the marks are taken out of the drawing.

use std::{cmp::Reverse, collections::BTreeMap};

use inferno::flamegraph::color::{Color, PaletteMap};

use crate::{output::stacks::Stack, routes::Route};

/// What colours mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorBy {
    /// The order of the block.
    Order,
    /// How the request came to the page allocator.
    Route,
}

/// Stacks ready to be drawn.
pub(super) struct Painted {
    /// The frames of each stack, each with its mark.
    pub(super) frames: Vec<Vec<String>>,
    pub(super) palette: PaletteMap,
    /// Which colour is what.
    pub(super) legend: String,
}

/// By class: an order, or a route's place in [`Route::ALL`].
const COLORS: [(&str, [u8; 3]); 16] = [
    ("orange", [230, 159, 0]),
    ("sky blue", [86, 180, 233]),
    ("green", [0, 178, 130]),
    ("yellow", [240, 228, 66]),
    ("blue", [80, 140, 210]),
    ("vermilion", [224, 108, 40]),
    ("pink", [224, 140, 187]),
    ("olive", [170, 170, 60]),
    ("teal", [70, 180, 180]),
    ("brown", [180, 130, 90]),
    ("violet", [160, 130, 220]),
    ("lime", [160, 215, 80]),
    ("coral", [240, 130, 120]),
    ("sand", [220, 200, 150]),
    ("lilac", [205, 170, 230]),
    ("aqua", [110, 220, 200]),
];

/// Of a frame under which blocks of several classes were allocated.
const MIXED: u8 = 30;
/// Of what has no class.
const NONE: u8 = 31;

/// So many colours are named above the graph, where there is room for one line.
const IN_LEGEND: usize = 5;

const FIRST_MARK: u32 = 0xe000;
const PRIVATE_USE: std::ops::RangeInclusive<char> = '\u{e000}'..='\u{f8ff}';

/// A frame at its place in the graph.
#[derive(Default)]
struct Node<'stacks> {
    class: Option<u8>,
    children: BTreeMap<&'stacks str, Node<'stacks>>,
}

impl Node<'_> {
    fn meet(&mut self, class: u8) {
        self.class = Some(match self.class {
            None => class,
            Some(known) if known == class => class,
            Some(_) => MIXED,
        });
    }
}

/// Gives every frame the colour of what lies above it.
pub(super) fn paint(stacks: &[Stack<'_>], by: ColorBy) -> Painted {
    let mut root = Node::default();
    for stack in stacks {
        let class = class(stack, by);
        let mut node = &mut root;
        for frame in &stack.frames {
            node = node.children.entry(frame).or_default();
            node.meet(class);
        }
    }
    let mut palette = PaletteMap::default();
    palette.insert("", color(NONE));
    let frames = stacks
        .iter()
        .map(|stack| {
            let mut node = &root;
            let mut marked = Vec::with_capacity(stack.frames.len());
            for frame in &stack.frames {
                let Some(child) = node.children.get(frame.as_str()) else { break };
                node = child;
                let class = node.class.unwrap_or(NONE);
                let name = format!("{}{}", frame.replace(|c| PRIVATE_USE.contains(&c), "?"), mark(class));
                palette.insert(&name, color(class));
                marked.push(name);
            }
            marked
        })
        .collect();
    let what = match by {
        ColorBy::Order => "order",
        ColorBy::Route => "route",
    };
    Painted { frames, palette, legend: format!("colour by {what}: {}", legend(stacks, by)) }
}

/// The colours of the classes with most events, and that of frames with several.
fn legend(stacks: &[Stack<'_>], by: ColorBy) -> String {
    let mut events: BTreeMap<u8, u64> = BTreeMap::new();
    for stack in stacks {
        let sum = events.entry(class(stack, by)).or_default();
        *sum = sum.saturating_add(stack.events);
    }
    let mut classes: Vec<(u8, u64)> = events.into_iter().collect();
    classes.sort_by_key(|(class, events)| (Reverse(*events), *class));
    let named = classes.iter().take(IN_LEGEND).map(|(class, _)| *class).chain((classes.len() > 1).then_some(MIXED));
    let mut words: Vec<String> = named.map(|class| format!("{} {}", name(class, by), color_name(class))).collect();
    if classes.len() > IN_LEGEND {
        words.push(format!("and {} more", classes.len() - IN_LEGEND));
    }
    words.join(", ")
}

/// The drawing without marks.
pub(super) fn without_marks(drawn: Vec<u8>) -> Vec<u8> {
    match String::from_utf8(drawn) {
        Ok(text) => text.replace(|c| PRIVATE_USE.contains(&c), "").into_bytes(),
        Err(other) => other.into_bytes(),
    }
}

fn class(stack: &Stack<'_>, by: ColorBy) -> u8 {
    match by {
        ColorBy::Order => stack.order.min(15),
        ColorBy::Route => {
            let place = Route::ALL.iter().position(|route| Some(route.word()) == stack.route);
            place.and_then(|place| u8::try_from(place).ok()).unwrap_or(NONE)
        }
    }
}

fn name(class: u8, by: ColorBy) -> String {
    match (class, by) {
        (MIXED, _) => "several".to_owned(),
        (NONE, _) => "none".to_owned(),
        (order, ColorBy::Order) => order.to_string(),
        (place, ColorBy::Route) => Route::ALL.get(usize::from(place)).map_or("none", |route| route.word()).to_owned(),
    }
}

fn color_name(class: u8) -> &'static str {
    COLORS.get(usize::from(class)).map_or(if class == MIXED { "light grey" } else { "grey" }, |(name, _)| name)
}

fn color(class: u8) -> Color {
    let [r, g, b] = COLORS.get(usize::from(class)).map_or(if class == MIXED { [215; 3] } else { [180; 3] }, |it| it.1);
    Color::new(r, g, b)
}

fn mark(class: u8) -> char {
    char::from_u32(FIRST_MARK + u32::from(class)).unwrap_or('\u{e000}')
}
