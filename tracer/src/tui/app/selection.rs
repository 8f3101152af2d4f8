//! Moving among what is listed: the selection is a thing, by its id, and goes where the thing goes.

use super::{
    App, Effect, Kind, Move, Screen, filter,
    rows::{Group, LOST},
};

/// Rows of the terminal that hold no rows of a list.
const AROUND: u16 = 6;

impl App {
    /// The place of the selected row among the rows of the Paths screen.
    pub fn selected_row(&self) -> usize {
        let Some(id) = &self.paths.selected else { return 0 };
        self.paths.rows.iter().position(|row| row.id == *id).unwrap_or(0)
    }

    /// The place of the selected signal on the Hooks screen.
    pub fn selected_hook(&self) -> usize {
        let Some(name) = &self.hook else { return 0 };
        self.start.signals.iter().position(|signal| signal.name == *name).unwrap_or(0)
    }

    /// A screenful of rows.
    fn page(&self) -> usize {
        usize::from(self.height.saturating_sub(AROUND).max(1))
    }

    pub(super) fn move_by(&mut self, way: Move) -> Effect {
        match self.screen {
            Screen::Flame => self.move_in_flame(way),
            _ if matches!(way, Move::Left | Move::Right) => {
                return if self.kind == Kind::Recording { self.step(way == Move::Right) } else { Effect::None };
            }
            Screen::Paths if self.paths.open.is_some() => {
                let frames = self.open_path().map_or(0, |path| path.frames.len());
                self.paths.scroll = moved(way, self.paths.scroll, frames, self.page());
            }
            Screen::Paths => self.select(moved(way, self.selected_row(), self.paths.rows.len(), self.page())),
            Screen::Hooks => self.select(moved(way, self.selected_hook(), self.start.signals.len(), self.page())),
            Screen::Benchmark => {
                // From the end: what is newest is what one wants to see.
                let lines = self.transcript.len();
                let from_top = lines.saturating_sub(self.output_scroll + 1);
                self.output_scroll = lines.saturating_sub(moved(way, from_top, lines, self.page()) + 1);
            }
            Screen::Overview | Screen::Sockets | Screen::Memory => {}
        }
        Effect::None
    }

    /// Selects a row of the list on screen by its place.
    pub(super) fn select(&mut self, row: usize) {
        match self.screen {
            Screen::Paths if self.paths.open.is_none() => {
                if let Some(row) = self.paths.rows.get(row) {
                    self.paths.selected = Some(row.id.clone());
                }
            }
            Screen::Hooks => {
                if let Some(signal) = self.start.signals.get(row) {
                    self.hook = Some(signal.name.clone());
                }
            }
            _ => {}
        }
    }

    fn move_in_flame(&mut self, way: Move) {
        let flame = &mut self.flame;
        // Frames may be gone since they were selected: what is left of the way counts.
        while flame.tree.at(&flame.selected).is_none() && flame.selected.pop().is_some() {}
        while flame.tree.at(&flame.zoom).is_none() && flame.zoom.pop().is_some() {}
        if !flame.selected.starts_with(&flame.zoom) {
            flame.selected.clone_from(&flame.zoom);
        }
        match way {
            Move::Down | Move::PageDown => {
                let callee = flame.tree.at(&flame.selected).and_then(|node| node.heaviest());
                let name = callee.map(|callee| callee.name.clone());
                flame.selected.extend(name);
            }
            Move::Up | Move::PageUp => {
                if flame.selected.len() > flame.zoom.len() {
                    flame.selected.pop();
                }
            }
            Move::Home => flame.selected.clone_from(&flame.zoom),
            Move::End => {
                while let Some(callee) = flame.tree.at(&flame.selected).and_then(|node| node.heaviest()) {
                    flame.selected.push(callee.name.clone());
                }
            }
            Move::Left | Move::Right => {
                if flame.selected.len() <= flame.zoom.len() {
                    return;
                }
                let Some((name, way_up)) = flame.selected.split_last() else { return };
                let Some(caller) = flame.tree.at(way_up) else { return };
                let Some(at) = caller.callees.iter().position(|callee| callee.name == *name) else { return };
                let to = if way == Move::Right { at + 1 } else { at.wrapping_sub(1) };
                if let Some(sibling) = caller.callees.get(to) {
                    let name = sibling.name.clone();
                    flame.selected.pop();
                    flame.selected.push(name);
                }
            }
        }
    }

    /// Opens what is selected: a path whole, a sum as the paths that it is of, a frame as wide as the screen.
    pub(super) fn open(&mut self) -> Effect {
        match self.screen {
            Screen::Flame => self.flame.zoom.clone_from(&self.flame.selected),
            Screen::Paths if self.paths.open.is_some() => self.paths.open = None,
            Screen::Paths => {
                let Some(row) = self.paths.rows.get(self.selected_row()) else { return Effect::None };
                let (id, title) = (row.id.clone(), row.title.clone());
                if id == LOST {
                    self.message = Some("these events have no path; why stands on the Hooks screen (8)".to_owned());
                } else if self.paths.group == Group::Path {
                    (self.paths.open, self.paths.scroll, self.paths.selected) = (Some(id.clone()), 0, Some(id));
                } else {
                    return self.narrow(title);
                }
            }
            Screen::Overview => self.go(Screen::Paths),
            Screen::Sockets | Screen::Memory | Screen::Benchmark | Screen::Hooks => {}
        }
        Effect::None
    }

    /// Filters by the group selected, and lists its paths.
    fn narrow(&mut self, title: String) -> Effect {
        if title.is_empty() || title.starts_with('[') {
            self.message = Some("nothing names these events, so nothing can be narrowed down to them".to_owned());
            return Effect::None;
        }
        let filter = &mut self.wish.filter;
        match self.paths.group {
            Group::Path => return Effect::None,
            Group::Caller => filter.frames.push(title),
            Group::Route => filter.route = Some(title),
            Group::Context => filter.context = Some(title),
            Group::Owner => filter.owner = Some(title),
        }
        self.paths.group = Group::Path;
        self.paths.selected = None;
        self.message = Some(format!("only {}; f changes that", filter::show(&self.wish.filter, &self.start)));
        self.refresh();
        Effect::Wish
    }

    /// One step back out of what is open, zoomed, searched or selected.
    pub(super) fn back(&mut self) {
        match self.screen {
            Screen::Paths if self.paths.open.take().is_some() => {}
            Screen::Flame if !self.flame.zoom.is_empty() => {
                self.flame.zoom.pop();
            }
            _ if !self.search.is_empty() => self.search.clear(),
            Screen::Paths => self.paths.selected = None,
            Screen::Flame => self.flame.selected.clear(),
            Screen::Hooks => self.hook = None,
            Screen::Benchmark => self.output_scroll = 0,
            Screen::Overview | Screen::Sockets | Screen::Memory => {}
        }
    }
}

/// Where a move leads among `of` places.
fn moved(way: Move, from: usize, of: usize, page: usize) -> usize {
    let last = of.saturating_sub(1);
    match way {
        Move::Up => from.saturating_sub(1),
        Move::Down => (from + 1).min(last),
        Move::PageUp => from.saturating_sub(page),
        Move::PageDown => (from + page).min(last),
        Move::Home => 0,
        Move::End => last,
        Move::Left | Move::Right => from,
    }
}
