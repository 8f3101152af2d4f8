//! What is asked at the foot of the screen, and what is typed there.

use std::time::Duration;

use super::{App, Effect, filter, search};

/// Characters that a prompt takes.
const LONGEST: usize = 400;

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// What to search for.
    Search(String),
    /// What to show.
    Filter {
        /// As typed so far.
        text: String,
        /// What is wrong with it.
        error: Option<String>,
    },
    /// To which time of the recording to go.
    Jump {
        /// As typed so far.
        text: String,
        /// What is wrong with it.
        error: Option<String>,
    },
    /// In which form to write what is seen: the place in [`Format::ALL`].
    Export(usize),
    /// Whether to stop the command and leave.
    Leave,
}

/// A form in which what is seen can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The report that a person reads.
    Text,
    /// The report as JSON.
    Json,
    /// Folded stacks.
    Folded,
    /// Flame graph, for browsers.
    Svg,
    /// For `go tool pprof`.
    Pprof,
    /// For speedscope.app.
    Speedscope,
    /// For profiler.firefox.com.
    Firefox,
    /// A table.
    Csv,
}

impl Format {
    /// All.
    pub const ALL: [Self; 8] =
        [Self::Text, Self::Json, Self::Folded, Self::Svg, Self::Pprof, Self::Speedscope, Self::Firefox, Self::Csv];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Folded => "folded",
            Self::Svg => "svg",
            Self::Pprof => "pprof",
            Self::Speedscope => "speedscope",
            Self::Firefox => "firefox",
            Self::Csv => "csv",
        }
    }

    /// The end of its file's name.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Text => "txt",
            Self::Pprof => "pb.gz",
            Self::Speedscope => "speedscope.json",
            Self::Firefox => "firefox.json",
            Self::Json | Self::Folded | Self::Svg | Self::Csv => self.name(),
        }
    }
}

/// How keys are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As commands.
    Commands,
    /// All keys are shown: any key takes them away.
    Help,
    /// As text.
    Text,
    /// As a choice among few.
    Choice,
    /// As yes or no.
    Question,
}

/// A key at a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A letter of a text.
    Letter(char),
    /// Take the last letter away.
    Erase,
    /// Take all away.
    EraseAll,
    /// The choice before.
    Before,
    /// The next choice.
    After,
    /// Done.
    Accept,
    /// Never mind.
    Cancel,
    /// Yes.
    Yes,
    /// Leave without any question.
    Interrupt,
}

impl App {
    /// How the next key is read.
    pub fn mode(&self) -> Mode {
        match self.prompt {
            None if self.help => Mode::Help,
            None => Mode::Commands,
            Some(Prompt::Search(_) | Prompt::Filter { .. } | Prompt::Jump { .. }) => Mode::Text,
            Some(Prompt::Export(_)) => Mode::Choice,
            Some(Prompt::Leave) => Mode::Question,
        }
    }

    pub(super) fn type_in(&mut self, key: Key) -> Effect {
        let Some(prompt) = &mut self.prompt else { return Effect::None };
        match (prompt, key) {
            (_, Key::Interrupt) | (Prompt::Leave, Key::Yes | Key::Accept) => return self.leave(),
            (_, Key::Cancel) => self.prompt = None,
            (Prompt::Export(choice), Key::Before) => *choice = choice.saturating_sub(1),
            (Prompt::Export(choice), Key::After) => *choice = (*choice + 1).min(Format::ALL.len() - 1),
            (_, Key::Accept) => return self.accept(),
            (Prompt::Search(text), _) => edit(text, key),
            (Prompt::Filter { text, error } | Prompt::Jump { text, error }, _) => {
                *error = None;
                edit(text, key);
            }
            (Prompt::Leave | Prompt::Export(_), _) => {}
        }
        Effect::None
    }

    fn accept(&mut self) -> Effect {
        match self.prompt.take() {
            Some(Prompt::Search(text)) => {
                if !text.is_empty() {
                    self.search = text;
                    self.find(search::Way::Here);
                }
            }
            Some(Prompt::Export(choice)) => {
                return Format::ALL.get(choice).map_or(Effect::None, |&it| Effect::Export(it));
            }
            Some(Prompt::Filter { text, .. }) => match filter::parse(&text, &self.start) {
                Ok(filter) => {
                    self.wish.filter = filter;
                    return Effect::Wish;
                }
                Err(error) => self.prompt = Some(Prompt::Filter { text, error: Some(format!("{error:#}")) }),
            },
            Some(Prompt::Jump { text, .. }) => {
                if let Some(time) = self.jump(&text) {
                    return Effect::SeekTo(time);
                }
                let error = Some("a time in seconds such as 2.5, or a share such as 50%".to_owned());
                self.prompt = Some(Prompt::Jump { text, error });
            }
            Some(Prompt::Leave) | None => {}
        }
        Effect::None
    }

    /// The time of the recording that was typed.
    fn jump(&self, text: &str) -> Option<Duration> {
        let text = text.trim();
        let seconds = match text.strip_suffix('%') {
            Some(percent) => self.history.span()?.1.as_secs_f64() * percent.trim().parse::<f64>().ok()? / 100.0,
            None => text.trim_end_matches('s').trim().parse::<f64>().ok()?,
        };
        Duration::try_from_secs_f64(seconds).ok()
    }
}

fn edit(text: &mut String, key: Key) {
    match key {
        Key::Letter(letter) if text.chars().count() < LONGEST && !letter.is_control() => text.push(letter),
        Key::Erase => drop(text.pop()),
        Key::EraseAll => text.clear(),
        _ => {}
    }
}
