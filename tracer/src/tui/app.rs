//! The state of the screens, and the one function that changes it.
//!
//! Owns: which screen is shown, what is selected, asked and wished, and what is derived from the newest snapshot.
//! An [`Action`] goes in, an [`Effect`] comes out; nothing here draws, waits or touches a file.
//! Must not know: ratatui, keys, the clock.

pub mod filter;
pub mod flame;
pub mod frames;
pub mod history;
pub mod prompt;
pub mod rates;
pub mod rows;
pub mod search;
pub mod seen;
mod selection;
pub mod transcript;

use std::{sync::Arc, time::Duration};

use self::{
    flame::Node,
    history::{History, Recent, Sample},
    prompt::Prompt,
    rates::Rates,
    rows::{Group, Row, Sort},
    seen::Shape,
    transcript::Transcript,
};
use super::link::{Phase, Picture, Wish};
use crate::{
    model::Filter,
    output::Weight,
    run::{Score, Start},
    snapshot::{PathRow, Snapshot},
    workload,
};

/// Lengths of an interval that `+` and `-` go through, ms.
const INTERVALS_MS: [u64; 8] = [50, 100, 250, 500, 1_000, 2_000, 5_000, 10_000];

/// Filters whose samples are kept.
const SHELF: usize = 8;

/// Why time stands still while live.
const ONLY_RECORDED: &str = "only a recording can be stepped through: tracer view FILE";

/// A screen. Its number is its key; numbers without a screen are kept for what is not measured yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Screen {
    /// The run at a glance.
    #[default]
    Overview,
    /// Who allocates.
    Paths,
    /// The stacks as a picture.
    Flame,
    /// Socket memory.
    Sockets,
    /// The page allocator's own state.
    Memory,
    /// The command and its score.
    Benchmark,
    /// What is attached, and what it costs.
    Hooks,
}

impl Screen {
    /// All, in order.
    pub const ALL: [Self; 7] =
        [Self::Overview, Self::Paths, Self::Flame, Self::Sockets, Self::Memory, Self::Benchmark, Self::Hooks];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Paths => "Paths",
            Self::Flame => "Flame",
            Self::Sockets => "Sockets",
            Self::Memory => "Memory",
            Self::Benchmark => "Benchmark",
            Self::Hooks => "Hooks",
        }
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        match self {
            Self::Overview => 1,
            Self::Paths => 2,
            Self::Flame => 3,
            Self::Sockets => 4,
            Self::Memory => 5,
            Self::Benchmark => 7,
            Self::Hooks => 8,
        }
    }
}

/// What a key means when nothing is being typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Show this screen.
    Go(Screen),
    /// Show the next screen.
    NextScreen,
    /// Show the one before.
    PreviousScreen,
    /// Move the selection.
    Move(Move),
    /// Open what is selected.
    Open,
    /// Close what is open, clear what is searched or selected.
    Back,
    /// Ask what to search for.
    Search,
    /// To the next match.
    NextMatch,
    /// To the match before.
    PreviousMatch,
    /// Ask what to show.
    Filter,
    /// Sort by the next column.
    Sort,
    /// Turn the order round.
    Reverse,
    /// Sum up by something else.
    Group,
    /// Weigh in events, pages or bytes.
    Weight,
    /// Leave out the allocators' own frames.
    Allocator,
    /// Merge `_noprof`, `.isra.0` and the like.
    Variants,
    /// Hold the picture.
    Pause,
    /// Read the maps more often.
    Faster,
    /// Read the maps less often.
    Slower,
    /// Count from here on.
    Zero,
    /// Ask in which form to write what is seen.
    Export,
    /// One interval back in a recording.
    StepBack,
    /// One interval on in a recording.
    StepForward,
    /// Ask to which time of a recording to go.
    Jump,
    /// Show all keys.
    Help,
    /// Draw everything anew.
    Redraw,
    /// Stop until the shell continues us.
    Suspend,
    /// Leave without a question.
    Interrupt,
    /// Leave.
    Quit,
}

/// A way to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// One up.
    Up,
    /// One down.
    Down,
    /// One to the left.
    Left,
    /// One to the right.
    Right,
    /// A screenful up.
    PageUp,
    /// A screenful down.
    PageDown,
    /// To the first.
    Home,
    /// To the last.
    End,
}

/// What may happen to the state.
#[derive(Clone, Debug)]
pub enum Action {
    /// A key that means something.
    Command(Command),
    /// What is typed into a prompt.
    Prompt(prompt::Key),
    /// A row of the list on screen was pointed at.
    Select(usize),
    /// A new moment of the run.
    Picture(Box<Picture>),
    /// A recording's whole history.
    Trend(Box<(History, Rates)>),
    /// The command wrote this.
    Output(String),
    /// Something to tell.
    Message(String),
    /// How long no picture has come although one was due; `None` when all is well.
    Quiet(Option<Duration>),
    /// The terminal has so many rows.
    Resized(u16),
}

/// What is to be done outside of the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing but to draw.
    None,
    /// Tell the session what is wished now.
    Wish,
    /// Draw everything anew.
    Redraw,
    /// Give back the terminal and stop until continued.
    Suspend,
    /// Write what is seen to a file.
    Export(prompt::Format),
    /// Show the recording after so many intervals.
    Seek(usize),
    /// Show the recording as it was at this time.
    SeekTo(Duration),
    /// Give back the terminal for good.
    Leave,
}

/// What is shown live or from a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A command under tracing.
    Run,
    /// The system, until one leaves.
    Top,
    /// A recording.
    Recording,
}

/// The Paths screen.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// What is listed, sorted.
    pub rows: Vec<Row>,
    /// What a row stands for.
    pub group: Group,
    /// What they are sorted by.
    pub sort: Sort,
    /// Least first.
    pub reverse: bool,
    /// The id of the row selected; `None`: the first, whichever it is.
    pub selected: Option<String>,
    /// The id of the path shown whole.
    pub open: Option<String>,
    /// Lines that the open path is scrolled by.
    pub scroll: usize,
}

/// The Flame screen.
#[derive(Clone, Debug, Default)]
pub struct Flame {
    /// The stacks.
    pub tree: Node,
    /// The way to the frame that fills the width.
    pub zoom: Vec<String>,
    /// The way to the frame selected.
    pub selected: Vec<String>,
}

/// All that the screens show and know.
#[derive(Clone, Debug)]
pub struct App {
    /// What the run began with.
    pub start: Start,
    /// Live or not.
    pub kind: Kind,
    /// Which screen is shown.
    pub screen: Screen,
    /// All keys are shown instead.
    pub help: bool,
    /// Something is being asked.
    pub prompt: Option<Prompt>,
    /// What to tell, until the next key.
    pub message: Option<String>,
    /// What is searched for; empty: nothing.
    pub search: String,
    /// The newest picture taken; `None` before the first.
    pub picture: Option<Picture>,
    /// What is seen of it; `None` before the first picture.
    pub seen: Option<Arc<Snapshot>>,
    /// What the counters are zeroed by.
    pub base: Option<Arc<Snapshot>>,
    /// How frames are shown.
    pub shape: Shape,
    /// What bars and flames show.
    pub weight: Weight,
    /// The run over time.
    pub history: History,
    /// Path by path.
    pub rates: Rates,
    /// Path by path over a whole recording; `None` while live, where [`App::rates`] knows it.
    pub trend: Option<Rates>,
    /// What was sampled through other filters, oldest first.
    pub shelf: Vec<(Filter, History, Rates)>,
    /// Current rates; `None` where not known.
    pub recent: Option<Recent>,
    /// The Paths screen.
    pub paths: Paths,
    /// The Flame screen.
    pub flame: Flame,
    /// The signal selected on the Hooks screen; `None`: the first.
    pub hook: Option<String>,
    /// Lines that the command's output is scrolled up from its end.
    pub output_scroll: usize,
    /// What the command wrote.
    pub transcript: Transcript,
    /// The command's score so far.
    pub score: Option<Score>,
    /// How long no picture has come although one was due.
    pub quiet: Option<Duration>,
    /// What the session is asked for.
    pub wish: Wish,
    /// Rows of the terminal.
    pub height: u16,
}

impl App {
    /// The screens of a run that has begun, before the first picture.
    pub fn new(start: Start, kind: Kind, wish: Wish) -> Self {
        Self {
            start,
            kind,
            screen: Screen::default(),
            help: false,
            prompt: None,
            message: None,
            search: String::new(),
            picture: None,
            seen: None,
            base: None,
            shape: Shape::default(),
            weight: Weight::Bytes,
            history: History::default(),
            rates: Rates::default(),
            trend: None,
            shelf: Vec::new(),
            recent: None,
            paths: Paths::default(),
            flame: Flame::default(),
            hook: None,
            output_scroll: 0,
            transcript: Transcript::default(),
            score: None,
            quiet: None,
            wish,
            height: 24,
        }
    }

    /// Changes the state; what is to be done outside of it comes back.
    pub fn on(&mut self, action: Action) -> Effect {
        match action {
            Action::Command(command) => {
                self.message = None;
                return self.obey(command);
            }
            Action::Prompt(key) => return self.type_in(key),
            Action::Select(row) => self.select(row),
            Action::Picture(picture) => self.take(*picture),
            Action::Trend(trend) => {
                let (history, rates) = *trend;
                (self.history, self.trend) = (history, Some(rates));
            }
            Action::Output(text) => {
                let ended = self.transcript.push(&text);
                // A recording does not tell when a line was written.
                if self.kind != Kind::Recording {
                    self.score = ended.iter().rev().find_map(|line| workload::interim(line)).or(self.score.take());
                }
                // What one is reading stands still while more is written.
                if self.output_scroll > 0 {
                    self.output_scroll += ended.len();
                }
            }
            Action::Message(text) => self.message = Some(text),
            Action::Quiet(quiet) => self.quiet = quiet,
            Action::Resized(rows) => self.height = rows,
        }
        Effect::None
    }

    /// Whether the run goes on.
    pub fn is_running(&self) -> bool {
        self.kind != Kind::Recording && self.picture.as_ref().is_none_or(|it| it.phase == Phase::Running)
    }

    /// The path shown whole.
    pub fn open_path(&self) -> Option<&PathRow> {
        let open = self.paths.open.as_ref()?;
        self.seen.as_ref()?.pages.as_ref()?.paths.iter().find(|path| path.id == *open)
    }

    /// Events a second of a path over the run.
    pub fn over_time(&self, id: &str) -> Vec<(Duration, f64)> {
        self.trend.as_ref().unwrap_or(&self.rates).over_time(id)
    }

    fn obey(&mut self, command: Command) -> Effect {
        if std::mem::take(&mut self.help) && !matches!(command, Command::Interrupt | Command::Suspend) {
            return Effect::None;
        }
        match command {
            Command::Go(screen) => self.go(screen),
            Command::NextScreen => self.go(self.neighbour(1)),
            Command::PreviousScreen => self.go(self.neighbour(Screen::ALL.len() - 1)),
            Command::Move(way) => return self.move_by(way),
            Command::Open => return self.open(),
            Command::Back => self.back(),
            Command::Search => self.prompt = Some(Prompt::Search(String::new())),
            Command::NextMatch => self.find(search::Way::Next),
            Command::PreviousMatch => self.find(search::Way::Previous),
            Command::Filter => {
                let text = filter::show(&self.wish.filter, &self.start);
                self.prompt = Some(Prompt::Filter { text, error: None });
            }
            Command::Sort => {
                self.paths.sort = next(&Sort::ALL, self.paths.sort);
                self.refresh();
            }
            Command::Reverse => {
                self.paths.reverse = !self.paths.reverse;
                self.refresh();
            }
            Command::Group => {
                self.paths.group = next(&Group::ALL, self.paths.group);
                (self.paths.selected, self.paths.open) = (None, None);
                self.refresh();
            }
            Command::Weight => {
                self.weight = next(&[Weight::Bytes, Weight::Pages, Weight::Events], self.weight);
                self.refresh();
            }
            Command::Allocator => {
                self.shape.no_allocator = !self.shape.no_allocator;
                self.refresh();
            }
            Command::Variants => {
                self.shape.no_variants = !self.shape.no_variants;
                self.refresh();
            }
            Command::Pause => return self.pause(),
            Command::Faster => return self.change_interval(false),
            Command::Slower => return self.change_interval(true),
            Command::Zero => self.zero(),
            Command::Export => self.prompt = Some(Prompt::Export(0)),
            Command::StepBack => return self.step(false),
            Command::StepForward => return self.step(true),
            Command::Jump if self.kind == Kind::Recording => {
                self.prompt = Some(Prompt::Jump { text: String::new(), error: None });
            }
            Command::Jump => self.message = Some(ONLY_RECORDED.to_owned()),
            Command::Help => self.help = true,
            Command::Redraw => return Effect::Redraw,
            Command::Suspend => return Effect::Suspend,
            Command::Quit if self.kind == Kind::Run && self.is_running() => self.prompt = Some(Prompt::Leave),
            Command::Quit | Command::Interrupt => return self.leave(),
        }
        Effect::None
    }

    fn leave(&mut self) -> Effect {
        self.wish.leave = true;
        Effect::Leave
    }

    fn neighbour(&self, by: usize) -> Screen {
        let at = Screen::ALL.iter().position(|it| *it == self.screen).unwrap_or(0);
        Screen::ALL[(at + by) % Screen::ALL.len()]
    }

    fn go(&mut self, screen: Screen) {
        self.screen = screen;
        self.refresh();
    }

    fn pause(&mut self) -> Effect {
        if self.kind == Kind::Recording {
            self.message = Some("a recording stands still: arrows and t move in time".to_owned());
            return Effect::None;
        }
        self.wish.paused = !self.wish.paused;
        Effect::Wish
    }

    fn change_interval(&mut self, slower: bool) -> Effect {
        if self.kind == Kind::Recording {
            self.message = Some("a recording keeps the intervals that it was made with".to_owned());
            return Effect::None;
        }
        let now = self.wish.interval;
        let mut all = INTERVALS_MS.map(Duration::from_millis).into_iter();
        let next = if slower { all.find(|it| *it > now) } else { all.rfind(|it| *it < now) };
        if let Some(next) = next {
            self.wish.interval = next;
        }
        self.message = Some(format!("the maps are read every {} ms", self.wish.interval.as_millis()));
        Effect::Wish
    }

    /// Counts from here on; once more, from the beginning again.
    fn zero(&mut self) {
        if self.base.take().is_some() {
            self.message = Some("counters are those of the whole run again".to_owned());
        } else if let Some(picture) = &self.picture {
            self.base = Some(Arc::clone(&picture.snapshot));
            self.message =
                Some("counters begin here; z again shows the whole run, losses are always the run's".to_owned());
        }
        self.refresh();
    }

    /// A moment of a recording, one interval away.
    fn step(&mut self, on: bool) -> Effect {
        let Some(step) = self.picture.as_ref().and_then(|picture| picture.step) else {
            self.message = Some(ONLY_RECORDED.to_owned());
            return Effect::None;
        };
        let at = if on { (step.at + 1).min(step.of) } else { step.at.saturating_sub(1) };
        if at == step.at { Effect::None } else { Effect::Seek(at) }
    }

    fn take(&mut self, picture: Picture) {
        let is_final = picture.phase == Phase::Ended;
        if self.wish.paused && !is_final {
            return;
        }
        self.quiet = None;
        if is_final && self.wish.paused {
            self.wish.paused = false;
        }
        if let Some(last) = self.picture.as_ref().map(|last| last.filter.clone()).filter(|it| *it != picture.filter) {
            self.shelve(last, &picture.filter);
        }
        if let Some(before) = &picture.before {
            self.rates.clear();
            self.rates.push(before);
            self.rates.push(&picture.snapshot);
            let mut two = History::default();
            two.push(Sample::of(before));
            two.push(Sample::of(&picture.snapshot));
            self.recent = two.recent();
        } else if picture.step.is_none() {
            self.rates.push(&picture.snapshot);
            self.history.push(Sample::of(&picture.snapshot));
            self.recent = self.history.recent();
        } else {
            self.recent = None;
        }
        self.picture = Some(picture);
        self.refresh();
    }

    /// Lays what was sampled through the last filter aside, and takes up what there is of the new one: since samples
    /// are totals, a gap between them costs resolution alone.
    fn shelve(&mut self, last: Filter, new: &Filter) {
        // What was counted before was seen through another filter.
        self.base = None;
        let known = self.shelf.iter().position(|(filter, ..)| filter == new).map(|at| self.shelf.remove(at));
        let (history, rates) = known.map(|(_, history, rates)| (history, rates)).unwrap_or_default();
        // Of a recording, the whole history through the new filter has come before the picture.
        if self.kind != Kind::Recording {
            let history = std::mem::replace(&mut self.history, history);
            let rates = std::mem::replace(&mut self.rates, rates);
            self.shelf.push((last, history, rates));
            if self.shelf.len() > SHELF {
                // The first is most likely the one without a filter, to which one comes back.
                self.shelf.remove(1);
            }
        }
    }

    /// Derives anew what the screen on show needs.
    fn refresh(&mut self) {
        let Some(picture) = &self.picture else { return };
        let snapshot = &picture.snapshot;
        let zeroed = self.base.as_ref().map(|base| seen::since(snapshot, base));
        let seen = match (zeroed, self.shape == Shape::default()) {
            (None, true) => Arc::clone(snapshot),
            (None, false) => Arc::new(seen::shaped(snapshot.as_ref().clone(), self.shape)),
            (Some(zeroed), _) => Arc::new(seen::shaped(zeroed, self.shape)),
        };
        match self.screen {
            Screen::Paths => {
                let Paths { group, sort, reverse, .. } = self.paths;
                self.paths.rows = rows::rows(&seen, &self.rates, group, sort, reverse);
            }
            Screen::Flame => self.flame.tree = flame::tree(&seen, self.weight),
            Screen::Overview | Screen::Sockets | Screen::Memory | Screen::Benchmark | Screen::Hooks => {}
        }
        self.seen = Some(seen);
    }
}

/// The one after `now`, the first after the last.
fn next<T: Copy + PartialEq>(all: &[T], now: T) -> T {
    let at = all.iter().position(|it| *it == now).unwrap_or(0);
    all[(at + 1) % all.len()]
}
