//! The screens: one loop over keys, pictures and signals.
//!
//! State and its changes are in `app`, drawing in `view`, the terminal itself in `terminal`. Live runs are shown from
//! [`live::Screens`], recordings by [`view_file`]; either way from a thread of their own.
//! Must not know: aya, hooks, maps.

pub mod app;
mod export;
pub mod keys;
pub mod link;
pub mod live;
mod tape;
pub mod terminal;
pub mod view;

use std::{
    panic,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow, bail};
use nix::{
    poll::PollTimeout,
    sys::signal::{Signal, killpg},
    unistd::getpgrp,
};
use ratatui::{
    crossterm::event::{self, Event, MouseButton, MouseEventKind},
    layout::{Rect, Size},
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use tokio::sync::watch;

use self::{
    app::{Action, App, Command, Effect, Kind, Move},
    link::{Phase, Picture, Wish},
    tape::Tape,
    view::Theme,
};
use crate::{model::Filter, output::Weight};

/// How long the loop waits for a key before it looks at everything else.
const WAIT_MS: u8 = 50;
/// How often a signal that ends the screens of a recording is looked for.
const WAIT: Duration = Duration::from_millis(100);
/// How long the screens may take to end: a terminal that is gone may hold them for ever.
const PATIENCE: Duration = Duration::from_secs(1);
/// Events taken before the next picture is drawn, so that a storm of them cannot stop it.
const EVENTS_AT_ONCE: usize = 256;
/// Rows that a turn of the mouse wheel moves by.
const WHEEL: usize = 3;
/// How long no picture may come before it is said: those of many paths take a while to make.
const QUIET: Duration = Duration::from_secs(3);
/// Pictures that may fail to come before it is said.
const MISSED_PICTURES: u32 = 4;

/// How screens look and what they show at first.
pub struct Look {
    /// What the terminal can show.
    pub theme: Theme,
    /// What is shown at first.
    pub filter: Filter,
    /// What bars and flames show at first.
    pub weight: Weight,
    /// The command's output as it comes; `None` without a command.
    pub output: Option<live::Output>,
}

/// The terminal taken over, and the signals that concern it.
struct Stage {
    guard: terminal::Guard,
    theme: Theme,
    stop: Arc<AtomicBool>,
    closed: Arc<AtomicBool>,
}

/// Where pictures come from and wishes go.
enum Feed {
    /// A run that goes on.
    Live { pictures: watch::Receiver<Option<Picture>>, wishes: watch::Sender<Wish>, output: Option<live::Output> },
    /// A recording; the flag is set by the signals that end it.
    Recorded { tape: Box<Tape>, filter: Filter, ended: Arc<AtomicBool> },
}

/// Shows a recording until one leaves or a signal comes.
///
/// # Errors
/// When the file is no recording, or there is no terminal to show it on.
pub fn view_file(path: &Path, look: Look) -> Result<()> {
    if !terminal::is_usable() {
        bail!("`view` needs a terminal; `tracer report {}` writes the same as text", path.display());
    }
    let mut tape = Tape::open(path)?;
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGHUP, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&ended)).context("listening for signals")?;
    }
    let wish = Wish { filter: look.filter.clone(), interval: Duration::ZERO, paused: false, leave: false };
    let mut app = App { weight: look.weight, ..App::new(tape.start().clone(), Kind::Recording, wish) };
    app.on(Action::Trend(Box::new(tape.trend(&look.filter))));
    app.on(Action::Picture(Box::new(tape.picture(tape.intervals(), &look.filter))));
    if let Some((stdout, stderr)) = tape.output() {
        app.on(Action::Output(stdout.to_owned()));
        app.on(Action::Output(stderr.to_owned()));
    }
    let stage = Stage::take(look.theme)?;
    let feed = Feed::Recorded { tape: Box::new(tape), filter: look.filter, ended: Arc::clone(&ended) };
    let screens = spawn(stage, app, feed)?;
    loop {
        match screens.recv_timeout(WAIT) {
            // A terminal that is gone is no error of ours.
            Ok(result) => return if ended.load(Ordering::Relaxed) { Ok(()) } else { result },
            Err(RecvTimeoutError::Timeout) if !ended.load(Ordering::Relaxed) => {}
            Err(_) => {
                let _ended = screens.recv_timeout(PATIENCE);
                terminal::give_back();
                return Ok(());
            }
        }
    }
}

/// Shows the screens in a thread of their own; how they ended comes back.
fn spawn(mut stage: Stage, mut app: App, mut feed: Feed) -> Result<mpsc::Receiver<Result<()>>> {
    let (finish, ended) = mpsc::sync_channel(1);
    thread::Builder::new()
        .name("screens".into())
        .spawn(move || {
            // The message of a panic has been printed by now, on a terminal given back.
            let result = panic::catch_unwind(panic::AssertUnwindSafe(|| run(&mut stage, &mut app, &mut feed)))
                .unwrap_or_else(|_| Err(anyhow!("drawing panicked")));
            drop(stage);
            let _nobody_waits = finish.send(result);
        })
        .context("starting the thread of the screens")?;
    Ok(ended)
}

impl Stage {
    fn take(theme: Theme) -> Result<Self> {
        let (stop, closed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        // Once the terminal is given back, the signal does again what it does by default.
        signal_hook::flag::register_conditional_default(SIGTSTP, Arc::clone(&closed))
            .context("listening for Ctrl-Z")?;
        signal_hook::flag::register(SIGTSTP, Arc::clone(&stop)).context("listening for Ctrl-Z")?;
        Ok(Self { guard: terminal::Guard::take()?, theme, stop, closed })
    }

    fn size(&self) -> Size {
        self.guard.terminal.size().unwrap_or_default()
    }

    fn draw(&mut self, app: &App) -> Result<()> {
        let theme = self.theme;
        self.guard
            .terminal
            .draw(|frame| view::draw(frame.buffer_mut(), app, theme))
            .map(|_| ())
            .context("drawing on the terminal")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::SeqCst);
    }
}

/// Until one leaves, or nothing is left to show.
fn run(stage: &mut Stage, app: &mut App, source: &mut Feed) -> Result<()> {
    app.on(Action::Resized(stage.size().height));
    stage.draw(app)?;
    let mut came_at = Instant::now();
    loop {
        let mut changed = take_events(stage, app, source)?;
        if stage.stop.swap(false, Ordering::SeqCst) {
            stage.guard.suspend()?;
            app.on(Action::Resized(stage.size().height));
            changed = true;
        }
        match take_feed(app, source, &mut came_at) {
            Some(came) => changed |= came,
            None => return Ok(()),
        }
        if app.wish.leave || !terminal::is_taken() {
            return Ok(());
        }
        if changed {
            stage.draw(app)?;
        }
    }
}

/// Takes the keys and clicks that are there, or waits a little for one; whether there is something to draw.
fn take_events(stage: &mut Stage, app: &mut App, feed: &mut Feed) -> Result<bool> {
    let mut changed = false;
    terminal::wait_for_key(WAIT_MS.into())?;
    for _ in 0..EVENTS_AT_ONCE {
        if !event::poll(Duration::ZERO).context("waiting for a key")? {
            break;
        }
        let event = event::read().context("reading a key")?;
        for action in meant(&event, stage, app) {
            let effect = app.on(action);
            act(effect, stage, app, feed)?;
        }
        changed = true;
        if app.wish.leave {
            break;
        }
        terminal::wait_for_key(PollTimeout::ZERO)?;
    }
    Ok(changed)
}

/// What an event means, in order.
fn meant(event: &Event, stage: &Stage, app: &App) -> Vec<Action> {
    match event {
        Event::Key(key) => keys::decode(*key, app.mode()).into_iter().collect(),
        Event::Resize(_, rows) => vec![Action::Resized(*rows)],
        Event::Mouse(mouse) if app.prompt.is_none() => {
            let size = stage.size();
            let area = Rect::new(0, 0, size.width, size.height);
            match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => {
                    view::at(area, app, mouse.column, mouse.row).into_iter().collect()
                }
                MouseEventKind::ScrollUp => vec![Action::Command(Command::Move(Move::Up)); WHEEL],
                MouseEventKind::ScrollDown => vec![Action::Command(Command::Move(Move::Down)); WHEEL],
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// Does outside of the state what it asks for.
fn act(effect: Effect, stage: &mut Stage, app: &mut App, feed: &mut Feed) -> Result<()> {
    match effect {
        Effect::None | Effect::Leave => {
            if let (Effect::Leave, Feed::Live { wishes, .. }) = (effect, feed) {
                wishes.send_replace(app.wish.clone());
            }
        }
        Effect::Redraw => stage.guard.terminal.clear().context("drawing anew")?,
        Effect::Suspend => {
            // To all of the foreground job, as the terminal does when it is not ours.
            killpg(getpgrp(), Signal::SIGTSTP).context("stopping at Ctrl-Z")?;
        }
        Effect::Export(format) => {
            let Some(seen) = &app.seen else { return Ok(()) };
            let message = match export::write(seen, format, app.weight) {
                Ok(name) => format!("written to {name}"),
                Err(error) => format!("not written: {error:#}"),
            };
            app.on(Action::Message(message));
        }
        Effect::Wish | Effect::Seek(_) | Effect::SeekTo(_) => match feed {
            Feed::Live { wishes, .. } => {
                wishes.send_replace(app.wish.clone());
            }
            Feed::Recorded { tape, filter, .. } => {
                let step = app.picture.as_ref().and_then(|picture| picture.step).unwrap_or_default();
                let at = match effect {
                    Effect::Seek(at) => at,
                    Effect::SeekTo(time) => tape.at(time),
                    _ => step.at,
                };
                if *filter != app.wish.filter {
                    filter.clone_from(&app.wish.filter);
                    app.on(Action::Trend(Box::new(tape.trend(filter))));
                }
                app.on(Action::Picture(Box::new(tape.picture(at, filter))));
            }
        },
    }
    Ok(())
}

/// Takes what has come from the run; whether there is something to draw, `None` when the run is over.
fn take_feed(app: &mut App, feed: &mut Feed, came: &mut Instant) -> Option<bool> {
    let (pictures, output) = match feed {
        Feed::Recorded { ended, .. } => return (!ended.load(Ordering::Relaxed)).then_some(false),
        Feed::Live { pictures, output, .. } => (pictures, output),
    };
    let mut changed = false;
    for bytes in output.iter().flat_map(|output| output.0.try_iter()) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        app.on(Action::Output(text));
        changed = true;
    }
    if pictures.has_changed().ok()? {
        let picture = pictures.borrow_and_update().clone();
        if let Some(picture) = picture {
            app.on(Action::Picture(Box::new(picture)));
            *came = Instant::now();
            changed = true;
        }
    }
    let is_due = app.picture.as_ref().is_some_and(|picture| picture.phase == Phase::Running) && !app.wish.paused;
    let late = Some(came.elapsed()).filter(|since| {
        // Whole seconds, so that waiting draws once a second.
        is_due && *since > (app.wish.interval * MISSED_PICTURES).max(QUIET)
    });
    let late = late.map(|since| Duration::from_secs(since.as_secs()));
    if late != app.quiet {
        app.on(Action::Quiet(late));
        changed = true;
    }
    Some(changed)
}
