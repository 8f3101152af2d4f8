//! The terminal: taken over and given back, whatever happens.
//!
//! It is given back when the guard is dropped, and by a panic in any thread before its message is printed.
//! Must not know: what is drawn.

use std::{
    io::{self, IsTerminal as _, Write as _},
    os::fd::AsFd as _,
    panic,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context as _, Result, ensure};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, raise, sigaction},
};
use ratatui::{
    Terminal,
    backend::CrosstermBackend,
    crossterm::{
        cursor::Show,
        event::{DisableMouseCapture, EnableMouseCapture},
        execute,
        terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
    },
};

/// Whether the terminal is ours now.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Whether there are a terminal and a keyboard that screens can be shown on.
pub fn is_usable() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    io::stdout().is_terminal() && io::stdin().is_terminal() && !dumb
}

/// The terminal while it is ours.
pub struct Guard {
    /// Where to draw.
    pub terminal: Terminal<CrosstermBackend<io::Stdout>>,
}

impl Guard {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// When it cannot be switched to raw mode or written to.
    pub fn take() -> Result<Self> {
        give_back_on_panic();
        take().inspect_err(|_| give_back())?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))
            .inspect_err(|_| give_back())
            .context("asking the terminal for its size")?;
        Ok(Self { terminal })
    }

    /// Gives the terminal back, stops this process as Ctrl-Z does, and takes the terminal over again once continued.
    /// Where no shell could continue it, the kernel does not stop it.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn suspend(&mut self) -> Result<()> {
        give_back();
        stop_self().context("stopping at Ctrl-Z")?;
        take()?;
        self.terminal.clear().context("drawing anew")?;
        Ok(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        give_back();
    }
}

/// Waits for a key, a signal or the time to be over.
///
/// # Errors
/// When the terminal is gone. crossterm, asked for an event then, would never come back.
pub(super) fn wait_for_key(time: PollTimeout) -> Result<()> {
    let stdin = io::stdin();
    let mut polled = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
    match poll(&mut polled, time) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(error) => return Err(error).context("waiting for a key"),
    }
    let gone = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
    ensure!(!polled[0].revents().is_some_and(|found| found.intersects(gone)), "the terminal is gone");
    Ok(())
}

/// Whether the terminal is still ours: a panic in another thread gives it back.
pub fn is_taken() -> bool {
    TAKEN.load(Ordering::SeqCst)
}

fn take() -> Result<()> {
    enable_raw_mode().context("switching the terminal to raw mode")?;
    TAKEN.store(true, Ordering::SeqCst);
    execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture).context("switching to the alternate screen")
}

/// Does nothing where the terminal was given back before. A terminal that is gone needs nothing.
pub(super) fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _gone = execute!(io::stdout(), DisableMouseCapture, LeaveAlternateScreen, Show);
        let _gone = disable_raw_mode();
        let _gone = io::stdout().flush();
    }
}

fn give_back_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            give_back();
            print(info);
        }));
    });
}

/// Stops as if nobody caught the signal, and puts back whoever does.
fn stop_self() -> nix::Result<()> {
    let stop = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: the default action runs no code of ours.
    let caught = unsafe { sigaction(Signal::SIGTSTP, &stop) }?;
    let stopped = raise(Signal::SIGTSTP);
    // SAFETY: this handler was installed before, by signal-hook, which makes it safe to run at any time.
    unsafe { sigaction(Signal::SIGTSTP, &caught) }?;
    stopped
}
