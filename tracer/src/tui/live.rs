//! The screens of a run that goes on: a thread of their own, so that a slow terminal makes nobody wait.
//!
//! Must not know: the model's insides, what is drawn.

use std::{
    io::{self, Write},
    sync::mpsc,
    time::Duration,
};

use anyhow::Result;
use tokio::sync::watch;

use super::{
    Feed, Look, PATIENCE, Stage,
    app::{App, Kind},
    link::{Picture, Wish},
    spawn, terminal,
};
use crate::run::Start;

/// Pieces of the command's output that may wait to be shown.
const WAITING: usize = 256;

/// The session's side of live screens. Dropping it gives the terminal back.
pub struct Screens {
    pictures: Option<watch::Sender<Option<Picture>>>,
    wishes: watch::Receiver<Wish>,
    ended: mpsc::Receiver<Result<()>>,
}

/// Where the command's output goes to be shown.
pub struct OutputPipe(mpsc::SyncSender<Vec<u8>>);

/// What comes out of an [`OutputPipe`].
pub struct Output(pub(super) mpsc::Receiver<Vec<u8>>);

/// A way for the command's output onto the screens.
pub fn output() -> (OutputPipe, Output) {
    let (sender, receiver) = mpsc::sync_channel(WAITING);
    (OutputPipe(sender), Output(receiver))
}

impl Write for OutputPipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Waits while the screens are busy; whoever writes here counts what it must leave out.
        self.0.send(bytes.to_vec()).map_err(|closed| io::Error::new(io::ErrorKind::BrokenPipe, closed))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Screens {
    /// Takes the terminal over and shows a run that has begun.
    ///
    /// # Errors
    /// When the terminal cannot be taken over.
    pub fn open(start: &Start, kind: Kind, look: Look, interval: Duration) -> Result<Self> {
        let stage = Stage::take(look.theme)?;
        let wish = Wish { filter: look.filter, interval, paused: false, leave: false };
        let app = App { weight: look.weight, ..App::new(start.clone(), kind, wish.clone()) };
        let (pictures, newest) = watch::channel(None);
        let (teller, wishes) = watch::channel(wish);
        let feed = Feed::Live { pictures: newest, wishes: teller, output: look.output };
        Ok(Self { pictures: Some(pictures), wishes, ended: spawn(stage, app, feed)? })
    }

    /// Shows a picture in place of the last.
    pub fn show(&self, picture: Picture) {
        if let Some(pictures) = &self.pictures {
            pictures.send_replace(Some(picture));
        }
    }

    /// What is wished now.
    pub fn wish(&self) -> Wish {
        self.wishes.borrow().clone()
    }

    /// Waits until something else is wished; `None` when the screens have ended.
    pub async fn changed(&mut self) -> Option<Wish> {
        self.wishes.changed().await.ok()?;
        Some(self.wishes.borrow_and_update().clone())
    }

    /// Ends the screens and gives the terminal back.
    ///
    /// # Errors
    /// What made them end before.
    pub fn close(mut self) -> Result<()> {
        self.pictures = None;
        let result = self.ended.recv_timeout(PATIENCE);
        terminal::give_back();
        result.unwrap_or(Ok(()))
    }
}

impl Drop for Screens {
    fn drop(&mut self) {
        if self.pictures.take().is_some() {
            let _ended = self.ended.recv_timeout(PATIENCE);
            terminal::give_back();
        }
    }
}
