//! What became of each signal: which hook serves it, and why no better one.
//!
//! Plain data, made by `probe`, shown by `doctor` and every report, kept in every recording.

use serde::{Deserialize, Serialize};

/// One signal of the hook table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    /// The signal's name, such as `page.alloc`.
    pub name: String,
    /// The hook taken, such as `raw_tracepoint:mm_page_alloc`; `None` when missing.
    pub hook: Option<String>,
    /// How well it is served.
    pub status: Status,
    /// Better hooks, best first, each with the reason why it was not taken.
    pub refused: Vec<Refused>,
    /// What is lost on the hook taken, or why there is none, in one line; empty when nothing is.
    pub note: String,
}

/// How well a signal is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// By its best hook, or by one that loses nothing.
    Attached,
    /// By a hook that tells less; the note says what.
    Degraded,
    /// Not at all.
    Missing,
}

/// A hook that was not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The hook, such as `tp_btf:mm_page_alloc`.
    pub hook: String,
    /// Why, in words that say what to do.
    pub reason: String,
}
