//! By which route an allocation came to the page allocator, and in which context, told from its frames.
//!
//! Which function names mean what stands in `rules`. Must not know: files, aya, how a route is shown beyond its word.

mod rules;

use std::{fmt, str::FromStr};

use anyhow::{Error, bail};
use serde::{Deserialize, Serialize};

use self::rules::{
    CONTEXTS, PLUMBING, RECEIVE_BUFFERS, ROUTES, SYSCALL_BODIES, SYSCALL_DISPATCH, SYSCALL_ENTRIES, SYSCALL_NAMES,
    bears,
};
use crate::batch::Frame;

/// How a request came to the page allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// A slab cache had no free object left.
    SlabRefill,
    /// `kmalloc` of more than the largest slab cache holds.
    KmallocLarge,
    /// A socket's or network device's page fragment cache was used up.
    PageFragment,
    /// Pages taken for a socket buffer's data.
    SkbData,
    /// Page cache and shared memory.
    PageCache,
    /// Anonymous memory, touched first, copied, or brought in from swap.
    AnonymousFault,
    /// Page tables.
    PageTable,
    /// `vmalloc`, kernel stacks included.
    Vmalloc,
    /// Buffers of a pipe.
    Pipe,
    /// Receive buffers of a network driver.
    DriverReceive,
    /// BPF maps and programs, where they take pages themselves.
    Bpf,
    /// None of these.
    Other,
}

impl Route {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 12] = [
        Self::SlabRefill,
        Self::KmallocLarge,
        Self::PageFragment,
        Self::SkbData,
        Self::PageCache,
        Self::AnonymousFault,
        Self::PageTable,
        Self::Vmalloc,
        Self::Pipe,
        Self::DriverReceive,
        Self::Bpf,
        Self::Other,
    ];

    /// Its word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::SlabRefill => "slab_refill",
            Self::KmallocLarge => "kmalloc_large",
            Self::PageFragment => "page_fragment",
            Self::SkbData => "skb_data",
            Self::PageCache => "page_cache",
            Self::AnonymousFault => "anonymous_fault",
            Self::PageTable => "page_table",
            Self::Vmalloc => "vmalloc",
            Self::Pipe => "pipe",
            Self::DriverReceive => "driver_receive",
            Self::Bpf => "bpf",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Route {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        match Self::ALL.into_iter().find(|route| route.word() == word) {
            Some(route) => Ok(route),
            None => bail!(
                "unknown route `{}`: name one of `{}`",
                word.escape_debug(),
                Self::ALL.map(Self::word).join("`, `")
            ),
        }
    }
}

/// What the kernel was doing when it asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// A system call, by the kernel's name for it without `sys_`; `unknown` where no frame names it.
    Syscall(String),
    /// A softirq, wherever it ran.
    Softirq,
    /// An interrupt's handler.
    Interrupt,
    /// A page fault, of user space or of the kernel touching user memory.
    PageFault,
    /// A kernel thread.
    KernelThread,
    /// The frames do not tell.
    Other,
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syscall(name) => f.pad(&format!("syscall:{name}")),
            Self::Softirq => f.pad("softirq"),
            Self::Interrupt => f.pad("interrupt"),
            Self::PageFault => f.pad("page_fault"),
            Self::KernelThread => f.pad("kernel_thread"),
            Self::Other => f.pad("other"),
        }
    }
}

/// The route of a path, innermost frame first. Frames of what was interrupted do not count.
pub fn route(frames: &[Frame]) -> Route {
    let own = own_frames(frames);
    for (index, frame) in own.iter().enumerate() {
        let stem = stem(&frame.name);
        if let Some(&(route, _)) = ROUTES.iter().find(|(_, names)| bears(stem, names)) {
            let receives = || own[index..].iter().any(|frame| bears(self::stem(&frame.name), RECEIVE_BUFFERS));
            return if route == Route::PageFragment && receives() { Route::DriverReceive } else { route };
        }
    }
    Route::Other
}

/// The context of a path, innermost frame first: the innermost entry into the kernel, since that is the cause; what
/// it interrupted is chance.
pub fn context(frames: &[Frame]) -> Context {
    let Some((entry, entered)) = frames.iter().enumerate().find_map(|(at, frame)| Some((entry(&frame.name)?, at)))
    else {
        return Context::Other;
    };
    match entry {
        Entry::Known(context) => context,
        Entry::Syscall(name) => Context::Syscall(syscall_name(name).unwrap_or(name).to_owned()),
        Entry::UnnamedSyscall => {
            // The outermost body is the system call's own; those further in serve several.
            let body = frames[..entered].iter().rev().find_map(|frame| {
                let stem = stem(&frame.name);
                let body = || SYSCALL_BODIES.iter().find_map(|prefix| stem.strip_prefix(prefix));
                syscall_name(stem).or_else(|| body().map(|name| syscall_name(name).unwrap_or(name)))
            });
            Context::Syscall(body.unwrap_or("unknown").to_owned())
        }
    }
}

/// A path without the innermost frames that the tracer itself put there: its BPF programs and what runs them.
/// Never empty unless `frames` is.
pub fn trim(frames: &[Frame]) -> &[Frame] {
    let kept = frames.iter().position(|frame| !bears(stem(&frame.name), PLUMBING));
    kept.map_or(frames, |first| &frames[first..])
}

/// How a frame enters the kernel.
enum Entry<'a> {
    Known(Context),
    Syscall(&'a str),
    UnnamedSyscall,
}

/// What kind of entry a function is, if it is one.
fn entry(name: &str) -> Option<Entry<'_>> {
    let stem = stem(name);
    if let Some((context, _)) = CONTEXTS.iter().find(|(_, names)| bears(stem, names)) {
        return Some(Entry::Known(context.clone()));
    }
    if let Some(name) = SYSCALL_ENTRIES.iter().find_map(|prefix| stem.strip_prefix(prefix)) {
        return Some(Entry::Syscall(name));
    }
    bears(stem, SYSCALL_DISPATCH).then_some(Entry::UnnamedSyscall)
}

/// The frames up to the innermost entry, that entry included.
fn own_frames(frames: &[Frame]) -> &[Frame] {
    let end = frames.iter().position(|frame| entry(&frame.name).is_some());
    end.map_or(frames, |end| &frames[..=end])
}

/// The system call that this function is known to be, where its name tells otherwise.
fn syscall_name(function: &str) -> Option<&'static str> {
    SYSCALL_NAMES.iter().find(|(known, _)| *known == function).map(|&(_, name)| name)
}

/// A symbol's name as written in the source: without what the compiler appended (`.isra.0`, `.constprop.0`,
/// `.part.0`, `.cold`) and without `_noprof`, which allocation profiling appends from 6.10 on.
pub(crate) fn stem(name: &str) -> &str {
    let source = name.split('.').next().unwrap_or(name);
    source.strip_suffix("_noprof").unwrap_or(source)
}

#[cfg(test)]
mod tests;
