//! An existing recording, opened for reading and never written to.
//!
//! Must not know: what the tables hold.

use std::{fs, io::ErrorKind, path::Path};

use anyhow::{Context, Result, bail};
use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};
use tempfile::TempDir;

use super::{
    header::{self, Header},
    place::{COMPANIONS, beside},
    rows::words,
    schema::{self, APPLICATION_ID, VERSION},
};

/// A recording that can be asked.
pub(super) struct Source {
    pub(super) db: Connection,
    /// Where the private copy lies, for as long as it is needed.
    _copy: Option<TempDir>,
    /// Bytes there and bytes that should be, when the file was cut.
    pub(super) cut: Option<(u64, u64)>,
}

/// Opens the recording `path`.
///
/// A killed tracer leaves `-wal` and `-shm` beside it, which SQLite reads where they lie. Where it cannot (`-shm` is
/// missing and may not be made, or a half-written change must be taken back), a private copy is made and recovered.
pub(super) fn open(path: &Path) -> Result<Source> {
    let shown = path.display();
    let file = header::open(path, 0)?;
    let cannot_read = || format!("`{shown}` cannot be read");
    let sqlite = match header::read(&file).with_context(cannot_read)? {
        Header::Sqlite(sqlite) => sqlite,
        Header::Empty => bail!("`{shown}` is empty, not a recording"),
        Header::Cut => bail!("`{shown}` is damaged: it ends within its first 100 bytes"),
        Header::Other => bail!("`{shown}` is not a recording of tracer"),
    };
    if sqlite.application_id != APPLICATION_ID {
        bail!("`{shown}` is an SQLite file, but not a recording of tracer");
    }
    let there = file.metadata().with_context(cannot_read)?.len();
    drop(file);
    // SQLite takes some names for more than a name (`:memory:`), which no absolute path is; and what belongs to the
    // file lies beside it, not beside a link to it.
    let path = &path.canonicalize().with_context(cannot_read)?;
    let has_wal = fs::metadata(beside(path, "-wal")).is_ok_and(|wal| wal.len() > 0);
    // While there is a log, pages may be in it that are not in the file yet.
    let cut = sqlite.bytes.filter(|whole| *whole > there && !has_wal).map(|whole| (there, whole));

    let (db, copy) = match asked(path, OpenFlags::SQLITE_OPEN_READ_ONLY, cut.is_some()) {
        Ok(db) => (db, None),
        Err(error) if wants_copy(&error) => {
            let copy = TempDir::new().context("no folder for a private copy can be made")?;
            let db = copied(path, &copy, cut.is_some())
                .with_context(|| format!("`{shown}` can only be read as a private copy"))?;
            (db, Some(copy))
        }
        Err(error) => bail!("`{shown}` is damaged: {}", words(&error.into())),
    };
    if sqlite.user_version > VERSION {
        let tracer = schema::written_by(&db).map_or("a newer tracer".to_owned(), |version| format!("tracer {version}"));
        bail!(
            "`{shown}` was written by {tracer} in form {}; this is tracer {}, which reads up to form {VERSION}: use {tracer}",
            sqlite.user_version,
            env!("CARGO_PKG_VERSION"),
        );
    }
    if sqlite.user_version != VERSION {
        bail!("`{shown}` is damaged: no tracer writes form {}", sqlite.user_version);
    }
    Ok(Source { db, _copy: copy, cut })
}

fn copied(path: &Path, folder: &TempDir, cut: bool) -> Result<Connection> {
    let copy = folder.path().join("recording");
    fs::copy(path, &copy)?;
    // The -shm is an index of the -wal that SQLite makes anew.
    for companion in COMPANIONS.into_iter().filter(|companion| *companion != "-shm") {
        match fs::copy(beside(path, companion), beside(&copy, companion)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(asked(&copy, OpenFlags::SQLITE_OPEN_READ_WRITE, cut)?)
}

/// Opens a file and has SQLite read it for the first time, which is when it says whether it can.
fn asked(path: &Path, access: OpenFlags, cut: bool) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    if cut {
        // Named for another use, this has SQLite read what there is of a file shorter than its header says. Nothing
        // is ever written.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, true)?;
    }
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    db.pragma_update(None, "cell_size_check", true)?;
    db.pragma_update(None, "query_only", true)?;
    db.set_prepared_statement_cache_capacity(64);
    db.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(db)
}

fn wants_copy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied))
}
