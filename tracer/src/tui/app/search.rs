//! Searching on the screen that is shown: the next thing whose text holds what is searched for.
//!
//! Upper and lower case are told apart, as symbols do.

use super::{App, Screen};

/// In which direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The selection itself, or the first after it.
    Here,
    /// The first after it.
    Next,
    /// The last before it.
    Previous,
}

impl App {
    /// Whether a text holds what is searched for.
    pub fn is_match(&self, text: &str) -> bool {
        !self.search.is_empty() && text.contains(&self.search)
    }

    /// Selects a match and says which of how many it is.
    pub(super) fn find(&mut self, way: Way) {
        if self.search.is_empty() {
            self.message = Some("nothing to search for; / asks".to_owned());
            return;
        }
        if self.screen == Screen::Flame {
            self.find_in_flame(way);
            return;
        }
        let (places, now): (Vec<usize>, usize) = match self.screen {
            Screen::Paths => (self.matching_rows(), self.selected_row()),
            Screen::Hooks => {
                let matching = |name: &str, hook: Option<&String>| {
                    self.is_match(name) || hook.is_some_and(|hook| self.is_match(hook))
                };
                let signals = self.start.signals.iter().enumerate();
                let places = signals.filter(|(_, it)| matching(&it.name, it.hook.as_ref())).map(|(at, _)| at);
                (places.collect(), self.selected_hook())
            }
            Screen::Benchmark => {
                let lines = self.transcript.lines().enumerate();
                let now = self.transcript.len().saturating_sub(self.output_scroll + 1);
                (lines.filter(|(_, line)| self.is_match(line)).map(|(at, _)| at).collect(), now)
            }
            Screen::Overview | Screen::Sockets | Screen::Memory | Screen::Flame => {
                self.message = Some("nothing to search on this screen".to_owned());
                return;
            }
        };
        let Some(index) = pick(&places, way, |place| place.cmp(&now)) else {
            self.message = Some(format!("`{}`: no match", self.search));
            return;
        };
        if self.screen == Screen::Benchmark {
            self.output_scroll = self.transcript.len().saturating_sub(places[index] + 1);
        } else {
            self.select(places[index]);
        }
        self.tell(index, places.len());
    }

    fn find_in_flame(&mut self, way: Way) {
        let found = self.flame.tree.find(&self.search);
        let now = self.flame.selected.clone();
        let Some(index) = pick(&found, way, |place| place.cmp(&now)) else {
            self.message = Some(format!("`{}`: no match", self.search));
            return;
        };
        // A match outside of what is zoomed into would not be seen.
        if !found[index].starts_with(&self.flame.zoom) {
            self.flame.zoom.clear();
        }
        self.flame.selected.clone_from(&found[index]);
        self.tell(index, found.len());
    }

    /// Rows whose title, or any frame of whose path, matches.
    fn matching_rows(&self) -> Vec<usize> {
        let paths = self.seen.as_ref().and_then(|seen| seen.pages.as_ref()).map_or(&[][..], |pages| &pages.paths);
        let matching: std::collections::HashSet<&str> = paths
            .iter()
            .filter(|path| path.frames.iter().any(|frame| self.is_match(frame)))
            .map(|path| path.id.as_str())
            .collect();
        let rows = self.paths.rows.iter().enumerate();
        rows.filter(|(_, row)| self.is_match(&row.title) || matching.contains(row.id.as_str()))
            .map(|(at, _)| at)
            .collect()
    }

    fn tell(&mut self, index: usize, of: usize) {
        self.message = Some(format!("`{}`: match {} of {of}", self.search, index + 1));
    }
}

/// The index of the place to go to, round the end and the beginning; places ascend.
fn pick<T>(places: &[T], way: Way, compared: impl Fn(&T) -> std::cmp::Ordering) -> Option<usize> {
    let last = places.len().checked_sub(1)?;
    Some(match way {
        Way::Here => places.iter().position(|place| compared(place).is_ge()).unwrap_or(0),
        Way::Next => places.iter().position(|place| compared(place).is_gt()).unwrap_or(0),
        Way::Previous => places.iter().rposition(|place| compared(place).is_lt()).unwrap_or(last),
    })
}
