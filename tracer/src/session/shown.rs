//! What the screens are shown of a run: a picture after each read, but never so often that making them costs much.
//!
//! Must not know: what the screens look like.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Result;
use nix::sys::resource::{UsageWho, getrusage};

use super::Signals;
use crate::{
    model::Model,
    run::{BeforeAfter, Start},
    system,
    tui::{
        Look,
        app::Kind,
        link::{FreeBlocks, Phase, Picture, Wish},
        live::Screens,
    },
};

/// Making pictures takes at most one part in so many of the time.
const SHARE: u32 = 10;
/// How often free blocks are read: the kernel takes the zone lock for it.
const FREE_BLOCKS_EVERY: Duration = Duration::from_secs(1);

/// The screens, if there are any.
#[derive(Default)]
pub(super) struct Shown {
    screens: Option<Screens>,
    /// When the next picture may be made.
    due: Option<Instant>,
    own_cpu_before: Duration,
    free_blocks: Option<BeforeAfter<FreeBlocks>>,
    free_blocks_at: Option<Instant>,
    /// Why the run is to end before its time.
    ending: Option<String>,
}

impl Shown {
    /// Opens the screens, if any are wanted.
    ///
    /// # Errors
    /// When the terminal cannot be taken over.
    pub(super) fn open(look: Option<Look>, start: &Start, kind: Kind, interval: Duration) -> Result<Self> {
        let screens = look.map(|look| Screens::open(start, kind, look, interval)).transpose()?;
        let free_blocks = screens.as_ref().and_then(|_| system::buddyinfo().ok());
        let free_blocks = free_blocks.map(|now| BeforeAfter { before: now.clone(), after: now });
        Ok(Self { screens, own_cpu_before: own_cpu(), free_blocks, ..Self::default() })
    }

    /// The run is to end, for this reason: nobody is waited for any more.
    pub(super) fn end_because(&mut self, reason: String) {
        self.ending = Some(reason);
    }

    /// Shows the run as it is now, if anybody looks and the last picture is old enough.
    pub(super) fn show(&mut self, model: &Model) {
        let Some(wish) = self.screens.as_ref().map(Screens::wish) else { return };
        let began = Instant::now();
        if wish.paused || self.due.is_some_and(|due| began < due) {
            return;
        }
        self.read_free_blocks(began);
        let phase = self.ending.clone().map_or(Phase::Running, Phase::Stopping);
        let picture = self.picture(model, wish, phase);
        if let Some(screens) = &self.screens {
            screens.show(picture);
        }
        self.due = Some(began + began.elapsed() * SHARE);
    }

    /// What is wished from now on; `None` when the screens have ended. Never comes where there are none.
    pub(super) async fn wished(&mut self) -> Option<Wish> {
        let Some(screens) = &mut self.screens else { return std::future::pending().await };
        let wish = screens.changed().await;
        // Whoever asks for something else is answered at once.
        self.due = None;
        wish
    }

    /// Gives the terminal back; what went wrong with it before.
    pub(super) fn close(&mut self) -> Option<String> {
        let error = self.screens.take()?.close().err()?;
        Some(format!("the screens ended before the run: {error:#}"))
    }

    /// Shows the final numbers until one leaves or a signal comes; not at all where the run was made to end.
    pub(super) async fn stay(mut self, model: &Model, signals: &mut Signals) {
        while let Some(screens) = self.screens.as_mut().filter(|_| self.ending.is_none()) {
            let wish = screens.wish();
            if wish.leave {
                break;
            }
            let picture = self.picture(model, wish, Phase::Ended);
            let Some(screens) = &mut self.screens else { break };
            screens.show(picture);
            tokio::select! {
                wish = screens.changed() => if wish.is_none() { break },
                _ = signals.next() => break,
            }
        }
        // The report is what counts now.
        let _ended_before = self.close();
    }

    fn picture(&self, model: &Model, wish: Wish, phase: Phase) -> Picture {
        Picture {
            snapshot: Arc::new(model.snapshot_of(&wish.filter)),
            before: None,
            filter: wish.filter,
            free_blocks: self.free_blocks.clone(),
            own_cpu: Some(own_cpu().saturating_sub(self.own_cpu_before)),
            phase,
            step: None,
        }
    }

    fn read_free_blocks(&mut self, now: Instant) {
        if self.free_blocks_at.is_some_and(|at| now - at < FREE_BLOCKS_EVERY) {
            return;
        }
        self.free_blocks_at = Some(now);
        if let (Some(blocks), Ok(now)) = (&mut self.free_blocks, system::buddyinfo()) {
            blocks.after = now;
        }
    }
}

/// CPU time that this process has used, without its children.
fn own_cpu() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Duration::ZERO };
    [usage.user_time(), usage.system_time()]
        .into_iter()
        .map(|time| {
            let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
            Duration::from_secs(seconds) + Duration::from_micros(u64::try_from(time.tv_usec()).unwrap_or(0))
        })
        .sum()
}
