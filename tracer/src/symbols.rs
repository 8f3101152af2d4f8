//! Names for kernel addresses, and addresses for kernel names.
//!
//! Names come through blazesym; what it does not tell (modules, zeroed addresses, the end of what is known) from our
//! own reading of `/proc/kallsyms`. blazesym alone keeps the names: we keep addresses, modules and a hash of each
//! name, and hand it only the functions that can stand on a path.
//! Must not know: aya, what a path is used for, how a name is shown.

mod index;
mod kallsyms;
mod names;
pub mod user;

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io::{BufReader, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

use self::{index::Index, kallsyms::Listing, names::Names};
use crate::batch::Frame;

/// A map older than this is read again when an address is met that it may not know. Reading takes some 100 ms, so
/// short-lived BPF programs must not make us read without end.
const REREAD_AFTER: Duration = Duration::from_secs(1);

/// The kernel's symbols as last read, and the frames named so far. Bound to one thread (not `Send`): blazesym's
/// symbolizer holds `Rc`s.
pub struct Symbols {
    /// Kept open: the right to see addresses is that of whoever opened it, so a later reading works without the
    /// capabilities given up since.
    kallsyms: File,
    modules_path: PathBuf,
    modules: Vec<ModuleRange>,
    index: Index,
    names: Names,
    read_at: Instant,
    /// By return address and whether it was the innermost.
    cache: HashMap<(u64, bool), Frame>,
}

impl Symbols {
    /// Reads the running kernel's symbols.
    ///
    /// Errors when `/proc/kallsyms` cannot be read, holds no function, or shows every address as zero; then the
    /// sysctl or capability to set is named.
    pub fn new() -> Result<Self> {
        Self::open(Path::new("/proc/kallsyms"), Path::new("/proc/modules"))
    }

    fn open(kallsyms_path: &Path, modules_path: &Path) -> Result<Self> {
        let kallsyms =
            File::open(kallsyms_path).with_context(|| format!("kernel symbols `{}`", kallsyms_path.display()))?;
        let modules = module_ranges(modules_path);
        let (index, names) = read(&kallsyms, &modules)?;
        Ok(Self {
            kallsyms,
            modules_path: modules_path.to_owned(),
            modules,
            index,
            names,
            read_at: Instant::now(),
            cache: HashMap::new(),
        })
    }

    /// The frames of a path given as return addresses, innermost first, one frame an address. An address in no known
    /// function is named `0x...`.
    ///
    /// A call as a function's last instruction returns to the next function, so an address is looked up one byte
    /// before itself; not so where the innermost is the very start of a function, as at a kprobe.
    pub fn name(&mut self, addresses: &[u64]) -> Vec<Frame> {
        let keys: Vec<(u64, bool)> = addresses.iter().enumerate().map(|(at, &address)| (address, at == 0)).collect();
        let fresh: HashSet<(u64, bool)> = keys.iter().copied().filter(|key| !self.cache.contains_key(key)).collect();
        if !fresh.is_empty() {
            self.reread_if_stale(&fresh);
            self.look_up(fresh.into_iter().collect());
        }
        keys.iter()
            .map(|key| self.cache.get(key).cloned().unwrap_or_else(|| Frame { name: hex(key.0), module: None }))
            .collect()
    }

    /// The address of a function or section mark of this very name; the lowest where several bear it.
    pub fn address_of(&self, name: &str) -> Option<u64> {
        self.index.address_of(name)
    }

    /// From one symbol to another, the second exclusive, such as `__irqentry_text_start` to `__irqentry_text_end`.
    /// `None` when either is unknown or they are in the wrong order.
    pub fn range(&self, start_symbol: &str, end_symbol: &str) -> Option<(u64, u64)> {
        let range = (self.address_of(start_symbol)?, self.address_of(end_symbol)?);
        (range.0 < range.1).then_some(range)
    }

    /// The extent of a function: from its start to the next symbol, exclusive. `None` when it is unknown or the last.
    pub fn extent_of(&self, name: &str) -> Option<(u64, u64)> {
        let start = self.address_of(name)?;
        Some((start, self.index.next_after(start)?))
    }

    /// Reads the symbols again when one of these addresses may be newer than they are.
    fn reread_if_stale(&mut self, fresh: &HashSet<(u64, bool)>) {
        // What lies in the kernel image never changes.
        if fresh.iter().all(|&(address, _)| self.index.in_image(address)) {
            return;
        }
        let modules = module_ranges(&self.modules_path);
        if modules == self.modules {
            // BPF programs and trampolines come and go without a mark; so an address among them that is new to us
            // may have had another owner when we read.
            let settled = |address| self.index.in_image(address) || self.index.in_listed_module(address);
            if fresh.iter().all(|&(address, _)| settled(address)) || self.read_at.elapsed() < REREAD_AFTER {
                return;
            }
        }
        self.read_at = Instant::now();
        match read(&self.kallsyms, &modules) {
            Ok((index, names)) => {
                self.cache.retain(|&(address, _), _| index.in_image(address));
                (self.index, self.names) = (index, names);
            }
            Err(error) => log::warn!("kernel symbols stay as read before: {error:#}"),
        }
        self.modules = modules;
    }

    /// Names these addresses and remembers those that have a name.
    fn look_up(&mut self, keys: Vec<(u64, bool)>) {
        let found: Vec<(u64, bool, u64)> = keys
            .into_iter()
            .filter_map(|(address, innermost)| {
                let exact = innermost && self.index.is_start(address);
                let inside = if exact { address } else { address.saturating_sub(1) };
                self.index.knows(inside).then_some((address, innermost, inside))
            })
            .collect();
        let inside: Vec<u64> = found.iter().map(|&(_, _, inside)| inside).collect();
        let names = match self.names.look_up(&inside) {
            Ok(names) => names,
            Err(error) => {
                log::warn!("{} kernel addresses stay without a name: {error:#}", inside.len());
                return;
            }
        };
        for ((address, innermost, inside), name) in found.into_iter().zip(names) {
            if let Some(name) = name {
                let module = self.index.module_of(inside).map(str::to_owned);
                self.cache.insert((address, innermost), Frame { name, module });
            }
        }
    }
}

/// One reading of `kallsyms`, from its start.
fn read(mut kallsyms: &File, modules: &[ModuleRange]) -> Result<(Index, Names)> {
    kallsyms.seek(SeekFrom::Start(0)).context("kernel symbols: back to the start")?;
    let listing = Listing::read(BufReader::with_capacity(1 << 16, kallsyms)).context("kernel symbols")?;
    let index = Index::new(&listing, modules);
    let names = Names::new(&listing)?;
    Ok((index, names))
}

/// A loaded module: name, first address and first address beyond.
type ModuleRange = (String, u64, u64);

/// What `/proc/modules` says; empty where the kernel has no loadable modules.
fn module_ranges(path: &Path) -> Vec<ModuleRange> {
    let text = fs::read(path).unwrap_or_default();
    // Lines are `name size references users state address [taints]`; references change without meaning to us.
    let range = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let size: u64 = words.get(1)?.parse().ok()?;
        let start = u64::from_str_radix(words.get(5)?.strip_prefix("0x")?, 16).ok()?;
        Some(((*words.first()?).to_owned(), start, start.saturating_add(size)))
    };
    String::from_utf8_lossy(&text).lines().filter_map(range).collect()
}

fn hex(address: u64) -> String {
    format!("{address:#x}")
}

#[cfg(test)]
mod tests;
