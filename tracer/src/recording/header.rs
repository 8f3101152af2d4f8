//! The first hundred bytes of an SQLite file, read without SQLite: is it ours, and is all of it there.
//!
//! Layout: <https://www.sqlite.org/fileformat2.html#the_database_header>.
//! Must not know: tables.

use std::{
    fs::{File, OpenOptions},
    io::{ErrorKind, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use anyhow::{Context, Result, bail};

const LENGTH: usize = 100;
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Opens a regular file for reading; anything else (a folder, a pipe, which would wait for a writer) is refused.
pub(super) fn open(path: &Path, more_flags: i32) -> Result<File> {
    let shown = path.display();
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | more_flags).open(path);
    let file = match file {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!("there is no file `{shown}`"),
        other => other.with_context(|| format!("`{shown}` cannot be read"))?,
    };
    let kind = file.metadata().with_context(|| format!("`{shown}` cannot be read"))?.file_type();
    if kind.is_dir() {
        bail!("`{shown}` is a folder, not a recording");
    }
    if !kind.is_file() {
        bail!("`{shown}` is no regular file, so not a recording");
    }
    Ok(file)
}

/// What a file begins with.
pub(super) enum Header {
    /// Nothing: the file has no bytes.
    Empty,
    /// An SQLite file.
    Sqlite(Sqlite),
    /// The beginning of an SQLite file, cut within its first hundred bytes.
    Cut,
    /// Something else.
    Other,
}

/// The fields that matter.
pub(super) struct Sqlite {
    /// `PRAGMA application_id`.
    pub(super) application_id: i32,
    /// `PRAGMA user_version`.
    pub(super) user_version: i32,
    /// Bytes of a page.
    pub(super) page_size: u64,
    /// Bytes that the file must have; `None` where the header does not tell.
    pub(super) bytes: Option<u64>,
}

/// Reads it.
pub(super) fn read(file: &File) -> std::io::Result<Header> {
    let mut bytes = Vec::with_capacity(LENGTH);
    file.take(LENGTH as u64).read_to_end(&mut bytes)?;
    if bytes.is_empty() {
        return Ok(Header::Empty);
    }
    let known = bytes.len().min(MAGIC.len());
    if bytes[..known] != MAGIC[..known] {
        return Ok(Header::Other);
    }
    let Ok(bytes) = <[u8; LENGTH]>::try_from(bytes) else { return Ok(Header::Cut) };
    let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let page_size = match u16::from_be_bytes([bytes[16], bytes[17]]) {
        1 => 65536,
        other => u64::from(other),
    };
    let (pages, change_counter, valid_for) = (word(28), word(24), word(92));
    Ok(Header::Sqlite(Sqlite {
        application_id: word(68).cast_signed(),
        user_version: word(60).cast_signed(),
        page_size,
        bytes: (pages != 0 && change_counter == valid_for).then(|| u64::from(pages) * page_size),
    }))
}
