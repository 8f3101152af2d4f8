//! What the terminal can show, and what each kind of thing looks like on it.
//!
//! Sixteen colours at most, so that the terminal's own palette decides; and no meaning rests on a colour alone.
//! Must not know: what is drawn.

use ratatui::style::{Color, Modifier, Style};

/// What the terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    /// Colours.
    pub color: bool,
    /// Characters other than ASCII.
    pub unicode: bool,
}

/// Colours of the orders from 0 on.
const ORDERS: [Color; 12] = [
    Color::Blue,
    Color::Cyan,
    Color::Green,
    Color::Yellow,
    Color::Magenta,
    Color::Red,
    Color::LightBlue,
    Color::LightCyan,
    Color::LightGreen,
    Color::LightYellow,
    Color::LightMagenta,
    Color::LightRed,
];

impl Theme {
    fn with(self, color: Color, otherwise: Modifier) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new().add_modifier(otherwise) }
    }

    /// Of a heading.
    pub fn title(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Of what is there to hold the rest together.
    pub fn faint(self) -> Style {
        self.with(Color::DarkGray, Modifier::DIM)
    }

    /// Of what is as it should be.
    pub fn good(self) -> Style {
        self.with(Color::Green, Modifier::empty())
    }

    /// Of what is to be read before the numbers are believed.
    pub fn warning(self) -> Style {
        self.with(Color::Yellow, Modifier::BOLD)
    }

    /// Of what failed or was lost.
    pub fn bad(self) -> Style {
        self.with(Color::Red, Modifier::empty()).add_modifier(Modifier::BOLD | Modifier::REVERSED)
    }

    /// Of what is selected.
    pub fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Of what was searched for.
    pub fn found(self) -> Style {
        self.with(Color::Yellow, Modifier::empty()).add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
    }

    /// Of the filled part of a bar.
    pub fn bar(self) -> Style {
        self.with(Color::Cyan, Modifier::empty())
    }

    /// Of an order; its digit stands beside it wherever it is used.
    pub fn order(self, order: usize) -> Style {
        if self.color { Style::new().fg(ORDERS[order % ORDERS.len()]) } else { Style::new() }
    }

    /// Of an area of an order, with text on it.
    pub fn order_area(self, order: usize) -> Style {
        if self.color {
            Style::new().bg(ORDERS[order % ORDERS.len()]).fg(Color::Black)
        } else {
            Style::new().add_modifier(Modifier::UNDERLINED)
        }
    }

    /// What stands for what was cut off.
    pub fn cut(self) -> char {
        if self.unicode { '…' } else { '~' }
    }

    /// A line across.
    pub fn rule(self) -> char {
        if self.unicode { '─' } else { '-' }
    }

    /// Between two things on one line.
    pub fn between(self) -> &'static str {
        if self.unicode { " │ " } else { " | " }
    }

    /// What points at what is selected.
    pub fn pointer(self) -> &'static str {
        if self.unicode { "▸" } else { ">" }
    }

    /// The digit of an order: 0 to 9, then a, b, ...
    pub fn digit(order: usize) -> char {
        u32::try_from(order).ok().and_then(|order| char::from_digit(order, 36)).unwrap_or('+')
    }
}
