//! The text of `/proc/kallsyms`: one line a symbol, `address type name` and for modules a tab and `[module]`.
//!
//! Takes any bytes. A bad line is skipped and counted, it never costs the others. Must not know where the text came
//! from.

use std::{
    collections::HashMap,
    fs,
    io::{BufRead, Read as _},
};

use anyhow::{Context as _, Result, bail};

/// Longest line taken; the kernel's names have at most 512 bytes (`KSYM_NAME_LEN`), module names 56.
const MAX_LINE: u64 = 1024;

/// The functions and section marks listed, in order of address, then of the file.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) symbols: Vec<Symbol>,
    /// The names, one after the other.
    text: String,
    /// The modules met.
    pub(super) modules: Vec<String>,
    /// Lines that were no symbol.
    pub(super) malformed: usize,
}

/// One function or section mark.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbol {
    pub(super) address: u64,
    /// Index into [`Listing::modules`].
    pub(super) module: Option<u16>,
    start: u32,
    len: u16,
}

impl Listing {
    /// Reads all lines. Data symbols are left out.
    ///
    /// Errors when reading fails, no function is listed, or every function's address is zero.
    pub(super) fn read(mut reader: impl BufRead) -> Result<Self> {
        let mut listing = Self::default();
        let mut modules = HashMap::new();
        let mut hidden = 0_usize;
        let mut line = Vec::new();
        loop {
            line.clear();
            if reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).context("line of kallsyms")? == 0 {
                break;
            }
            if line.last() != Some(&b'\n') && line.len() as u64 == MAX_LINE {
                skip_line(&mut reader)?;
                listing.malformed += 1;
                continue;
            }
            match parse(&line) {
                None => listing.malformed += usize::from(!line.trim_ascii().is_empty()),
                Some(Line { address: 0, text: true, .. }) => hidden += 1,
                Some(symbol) if symbol.address != 0 && (symbol.text || is_mark(symbol.name)) => {
                    listing.push(&symbol, &mut modules);
                }
                Some(_) => {}
            }
        }
        if listing.malformed > 0 {
            log::debug!("kallsyms: {} lines are no symbols", listing.malformed);
        }
        if listing.symbols.is_empty() && hidden > 0 {
            bail!(hidden_addresses());
        }
        if listing.symbols.is_empty() {
            bail!("no function is listed: is this kernel built with `CONFIG_KALLSYMS`?");
        }
        // Stable: of several names at one address the first stays first.
        listing.symbols.sort_by_key(|symbol| symbol.address);
        Ok(listing)
    }

    /// A symbol's name: printable ASCII without blanks.
    pub(super) fn name(&self, symbol: &Symbol) -> &str {
        let start = symbol.start as usize;
        &self.text[start..start + usize::from(symbol.len)]
    }

    fn push(&mut self, line: &Line<'_>, modules: &mut HashMap<String, u16>) {
        let Ok(start) = u32::try_from(self.text.len()) else {
            self.malformed += 1;
            return;
        };
        let module = line.module.and_then(|name| {
            let name = clean(name);
            if let Some(&known) = modules.get(&name) {
                return Some(known);
            }
            let id = u16::try_from(self.modules.len()).ok()?;
            modules.insert(name.clone(), id);
            self.modules.push(name);
            Some(id)
        });
        match str::from_utf8(line.name) {
            Ok(name) if line.name.iter().all(u8::is_ascii_graphic) => self.text.push_str(name),
            _ => self.text.push_str(&clean(line.name)),
        }
        let len = u16::try_from(line.name.len()).expect("a line has at most MAX_LINE bytes");
        self.symbols.push(Symbol { address: line.address, module, start, len });
    }
}

/// Whether a name marks the start or end of a section: no function of its own, but an address that is asked for.
pub(super) fn is_mark(name: impl AsRef<[u8]>) -> bool {
    let name = name.as_ref();
    name.ends_with(b"text_start") || name.ends_with(b"text_end") || name.ends_with(b"text")
}

struct Line<'a> {
    address: u64,
    /// In a text section.
    text: bool,
    name: &'a [u8],
    module: Option<&'a [u8]>,
}

fn parse(line: &[u8]) -> Option<Line<'_>> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let address = u64::from_str_radix(str::from_utf8(words.next()?).ok()?, 16).ok()?;
    let &[kind] = words.next()? else { return None };
    let name = words.next()?;
    let module = match words.next() {
        None => None,
        Some(word) => Some(word.strip_prefix(b"[")?.strip_suffix(b"]")?),
    };
    Some(Line { address, text: matches!(kind, b't' | b'T' | b'w' | b'W'), name, module })
}

/// Reads to the end of an overlong line.
fn skip_line(reader: &mut impl BufRead) -> Result<()> {
    loop {
        let piece = reader.fill_buf().context("line of kallsyms")?;
        let (used, ended) = match piece.iter().position(|&byte| byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (piece.len(), piece.is_empty()),
        };
        reader.consume(used);
        if ended {
            return Ok(());
        }
    }
}

fn clean(name: &[u8]) -> String {
    name.iter().map(|&byte| clean_byte(byte)).collect()
}

/// Symbols are untrusted text; anything but printable ASCII becomes `?`.
fn clean_byte(byte: u8) -> char {
    if byte.is_ascii_graphic() { char::from(byte) } else { '?' }
}

/// Words for a listing of zeros, with what to set (`kallsyms_show_value` in `kernel/ksyms_common.c`).
fn hidden_addresses() -> String {
    let restrict = fs::read_to_string("/proc/sys/kernel/kptr_restrict").unwrap_or_default();
    let cure = match restrict.trim() {
        "0" | "1" => "run as root or grant CAP_SYSLOG",
        "" => "set `kernel.kptr_restrict` to 1 and run as root or with CAP_SYSLOG",
        _ => "run `sysctl kernel.kptr_restrict=1`, and run as root or with CAP_SYSLOG",
    };
    let now = if restrict.trim().is_empty() { "unknown" } else { restrict.trim() };
    format!("every address is shown as zero (`kernel.kptr_restrict` is {now}): {cure}")
}

#[cfg(test)]
mod tests;
