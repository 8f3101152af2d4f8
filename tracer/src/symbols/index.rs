//! Which addresses are known, to which module they belong, and where a name lies. Holds no names, only their hashes.
//!
//! Must not know: blazesym, files.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::kallsyms::Listing;

/// Farthest from its symbol's start that an address is still taken to lie in it where no end is known. kallsyms
/// gives no sizes; a BPF program has at most some hundred KiB.
const MAX_DISTANCE: u64 = 1 << 20;

pub(super) struct Index {
    /// Start and module of each symbol, by address, one element an address.
    starts: Vec<u64>,
    module_ids: Vec<Option<u16>>,
    modules: Vec<Module>,
    /// Hash of each name, ascending, and beside it the position in `starts`.
    hashes: Vec<u64>,
    positions: Vec<u32>,
    /// The kernel's text and its text for booting, first address and first beyond.
    image: [(u64, u64); 2],
}

struct Module {
    name: String,
    /// Where it lies by `/proc/modules`; `None` for what is no loadable module (`bpf`, `__builtin__ftrace`).
    range: Option<(u64, u64)>,
}

impl Index {
    /// `ranges` gives name, first address and first beyond of the loaded modules.
    pub(super) fn new(listing: &Listing, ranges: &[(String, u64, u64)]) -> Self {
        let mut starts = Vec::with_capacity(listing.symbols.len());
        let mut module_ids = Vec::with_capacity(listing.symbols.len());
        let mut named: Vec<(u64, u32)> = Vec::with_capacity(listing.symbols.len());
        for symbol in &listing.symbols {
            if starts.last() != Some(&symbol.address) {
                starts.push(symbol.address);
                module_ids.push(symbol.module);
            }
            // More than 2^32 symbols cannot be: the listing's text is shorter than that.
            if let Ok(position) = u32::try_from(starts.len() - 1) {
                named.push((hash(listing.name(symbol)), position));
            }
        }
        named.sort_unstable();
        let modules = listing.modules.iter().map(|name| {
            let range = ranges.iter().find(|(known, ..)| known == name).map(|&(_, start, end)| (start, end));
            Module { name: name.clone(), range }
        });
        let mut index = Self {
            modules: modules.collect(),
            image: [(0, 0); 2],
            hashes: named.iter().map(|&(hash, _)| hash).collect(),
            positions: named.iter().map(|&(_, position)| position).collect(),
            starts,
            module_ids,
        };
        index.image = index.image_ranges();
        index
    }

    /// The lowest address with this name.
    pub(super) fn address_of(&self, name: &str) -> Option<u64> {
        let hash = hash(name);
        let at = self.hashes.partition_point(|&known| known < hash);
        (self.hashes.get(at) == Some(&hash)).then(|| self.starts[self.positions[at] as usize])
    }

    /// The first symbol beyond this address.
    pub(super) fn next_after(&self, address: u64) -> Option<u64> {
        self.starts.get(self.starts.partition_point(|&start| start <= address)).copied()
    }

    /// Whether a symbol starts here.
    pub(super) fn is_start(&self, address: u64) -> bool {
        self.starts.binary_search(&address).is_ok()
    }

    /// Whether this address lies in the kernel's own text.
    pub(super) fn in_image(&self, address: u64) -> bool {
        self.image.iter().any(|&(start, end)| (start..end).contains(&address))
    }

    /// Whether this address lies in a module that `/proc/modules` lists.
    pub(super) fn in_listed_module(&self, address: u64) -> bool {
        self.module(address).is_some_and(|module| module.range.is_some()) && self.knows(address)
    }

    /// Whether this address lies in a known function.
    pub(super) fn knows(&self, address: u64) -> bool {
        let Some(position) = self.position(address) else { return false };
        match (self.in_image(address), self.module(address)) {
            (true, _) => true,
            (false, Some(Module { range: Some((start, end)), .. })) => (*start..*end).contains(&address),
            (false, Some(_)) => address - self.starts[position] < MAX_DISTANCE,
            (false, None) => false,
        }
    }

    /// The module of the function at this address; `None` for the kernel image.
    pub(super) fn module_of(&self, address: u64) -> Option<&str> {
        self.module(address).map(|module| module.name.as_str())
    }

    fn module(&self, address: u64) -> Option<&Module> {
        self.modules.get(usize::from(self.module_ids[self.position(address)?]?))
    }

    /// The last symbol at or before this address.
    fn position(&self, address: u64) -> Option<usize> {
        self.starts.partition_point(|&start| start <= address).checked_sub(1)
    }

    /// `_stext` to `_etext`, or what the symbols without module span; and `_sinittext` to `_einittext`.
    fn image_ranges(&self) -> [(u64, u64); 2] {
        let marked = |start, end| Some((self.address_of(start)?, self.address_of(end)?));
        let spanned = || {
            let own = self.starts.iter().zip(&self.module_ids).filter(|(_, id)| id.is_none());
            let mut own = own.map(|(&start, _)| start);
            let first = own.next().unwrap_or_default();
            (first, own.next_back().unwrap_or(first).saturating_add(MAX_DISTANCE))
        };
        [marked("_stext", "_etext").unwrap_or_else(spanned), marked("_sinittext", "_einittext").unwrap_or_default()]
    }
}

fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}
