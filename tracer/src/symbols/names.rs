//! Function names by address, through blazesym.
//!
//! blazesym reads a kallsyms file of its own; given the kernel's it stops at the first byte that is no UTF-8 and
//! keeps data symbols and paddings too. So it gets a cleaned copy in anonymous memory, whose pages are given back as
//! soon as it is read. Must not know: modules, when symbols change.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    os::fd::AsRawFd as _,
    path::PathBuf,
    time::SystemTime,
};

use anyhow::{Context as _, Result};
use blazesym::{
    MaybeDefault,
    symbolize::{
        Input, Symbolized, Symbolizer,
        source::{Kernel, Source},
    },
};
use nix::{
    fcntl::{FallocateFlags, fallocate},
    sys::memfd::{MFdFlags, memfd_create},
};

use super::kallsyms::{Listing, Symbol, is_mark};

pub(super) struct Names {
    symbolizer: Symbolizer,
    source: Source<'static>,
    /// The copy, empty but for its size; `source` names it by descriptor.
    file: File,
}

impl Names {
    /// Errors when there is no memory for the copy, or blazesym refuses it.
    pub(super) fn new(listing: &Listing) -> Result<Self> {
        let fd = memfd_create("kallsyms", MFdFlags::MFD_CLOEXEC).context("anonymous file for kernel symbols")?;
        let file = File::from(fd);
        let mut writer = BufWriter::with_capacity(1 << 16, &file);
        for symbol in chosen(listing) {
            writeln!(writer, "{:x} t {}", symbol.address, listing.name(symbol)).context("copy of kernel symbols")?;
        }
        writer.flush().context("copy of kernel symbols")?;
        drop(writer);
        let kernel = Kernel {
            kallsyms: MaybeDefault::Some(PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))),
            // A vmlinux file on disk may be of another build, and says nothing that kallsyms does not.
            vmlinux: MaybeDefault::None,
            kaslr_offset: None,
            debug_syms: false,
            ..Kernel::default()
        };
        let symbolizer = Symbolizer::builder()
            .enable_auto_reload(false)
            .enable_code_info(false)
            .enable_inlined_fns(false)
            .enable_demangling(false)
            .build();
        let names = Self { symbolizer, source: Source::Kernel(kernel), file };
        // blazesym reads a file again when its size or time changes, so both are kept while the pages are given back.
        let length = names.file.metadata().context("copy of kernel symbols")?.len();
        names.file.set_modified(SystemTime::UNIX_EPOCH).context("copy of kernel symbols")?;
        names.look_up(&[0])?;
        let hole = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        fallocate(&names.file, hole, 0, i64::try_from(length)?)
            .context("copy of kernel symbols: give its pages back")?;
        names.file.set_modified(SystemTime::UNIX_EPOCH).context("copy of kernel symbols")?;
        Ok(names)
    }

    /// The name of the function at or before each address; `None` where there is none.
    pub(super) fn look_up(&self, addresses: &[u64]) -> Result<Vec<Option<String>>> {
        let found = self
            .symbolizer
            .symbolize(&self.source, Input::AbsAddr(addresses))
            .context("look-up of kernel addresses")?;
        let name = |symbolized| match symbolized {
            Symbolized::Sym(sym) => Some(sym.name.into_owned()),
            Symbolized::Unknown(_) => None,
        };
        Ok(found.into_iter().map(name).collect())
    }
}

/// One symbol an address: the first that is no section mark, else the first. Paddings before functions (`__pfx_*`)
/// are never executed and left out.
fn chosen(listing: &Listing) -> impl Iterator<Item = &Symbol> {
    listing.symbols.chunk_by(|a, b| a.address == b.address).filter_map(|aliases| {
        let mut real = aliases.iter().filter(|symbol| !listing.name(symbol).starts_with("__pfx_"));
        let first = real.clone().next();
        real.find(|symbol| !is_mark(listing.name(symbol))).or(first)
    })
}
