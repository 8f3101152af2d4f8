//! An existing recording, opened for reading and never written to.
//!
//! Must not know: what the tables hold.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

use anyhow::{Context, Result, bail, ensure};
use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};
use tempfile::TempDir;

use super::{
    header::{self, Header},
    place::{self, beside},
    schema::{self, APPLICATION_ID, VERSION},
};

/// A recording that can be asked.
pub(super) struct Source {
    pub(super) db: Connection,
    /// How much of the file is there, in words; empty unless it was cut.
    pub(super) cut: String,
    /// A process that has the file open too, perhaps the tracer that writes it.
    pub(super) user: Option<i32>,
    /// Where the private copy lies, for as long as it is needed.
    _copy: Option<TempDir>,
}

/// Opens the recording `path`.
///
/// A killed tracer leaves `-wal` and `-shm` beside it, which SQLite reads where they lie. Where it cannot (`-shm` is
/// missing and may not be made, or a half-written change must be taken back), a private copy is made and recovered;
/// so it is with a file that was cut.
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
    // SQLite takes some names for more than a name (`:memory:`), which no absolute path is; and what belongs to the
    // file lies beside it, not beside a link to it.
    let path = path.canonicalize().with_context(cannot_read)?;
    // While there is a log, pages may be in it that are not in the file yet.
    let has_log = fs::metadata(beside(&path, "-wal")).is_ok_and(|log| log.len() > 0);
    // Asked for after the log, which goes only when all of it is in the file.
    let there = file.metadata().with_context(cannot_read)?.len();
    let user = place::user_of(&file);
    drop(file);

    let (db, copy, cut) = match sqlite.bytes {
        Some(whole) if there < whole && !has_log => {
            let cut = format!("cut to {there} of {whole} bytes, ");
            // SQLite would take a page of which a part is there for one that ends in zeros.
            let (db, copy) = copied(&path, Some(there - there % sqlite.page_size))
                .with_context(|| format!("`{shown}` is damaged: {cut}nothing of it can be shown"))?;
            (db, Some(copy), cut)
        }
        _ => match asked(&path, OpenFlags::SQLITE_OPEN_READ_ONLY, false) {
            Ok(db) => (db, None, String::new()),
            Err(error) if wants_copy(&error) => {
                let (db, copy) =
                    copied(&path, None).with_context(|| format!("`{shown}` cannot be read as a private copy"))?;
                (db, Some(copy), String::new())
            }
            Err(error) => return Err(error).with_context(|| format!("`{shown}` is damaged")),
        },
    };
    check_form(&db, sqlite.user_version).with_context(cannot_read)?;
    Ok(Source { db, cut, user, _copy: copy })
}

fn check_form(db: &Connection, form: i32) -> Result<()> {
    if form > VERSION {
        let tracer = schema::written_by(db).map_or("a newer tracer".to_owned(), |version| format!("tracer {version}"));
        let ours = env!("CARGO_PKG_VERSION");
        bail!(
            "it was written by {tracer} in form {form}, and this is tracer {ours}, which reads up to form {VERSION}: \
             use {tracer}"
        );
    }
    ensure!(form != 1, "it is of form 1, which was given up before the first release: record anew");
    ensure!(form == VERSION, "it is damaged: no tracer writes form {form}");
    Ok(())
}

/// Opens a private copy, or one of the first `cut_to` bytes.
fn copied(path: &Path, cut_to: Option<u64>) -> Result<(Connection, TempDir)> {
    let folder = TempDir::new().context("no folder for a private copy can be made")?;
    let copy = folder.path().join("recording");
    copy_bytes(path, &copy, cut_to.unwrap_or(u64::MAX))?;
    // The -shm is an index of the -wal that SQLite makes anew.
    for companion in ["-wal", "-journal"] {
        let (from, to) = (beside(path, companion), beside(&copy, companion));
        if from.is_file() {
            copy_bytes(&from, &to, u64::MAX)?;
        }
    }
    Ok((asked(&copy, OpenFlags::SQLITE_OPEN_READ_WRITE, cut_to.is_some())?, folder))
}

/// Copies what is in a file but not its mode, which may forbid writing.
fn copy_bytes(from: &Path, to: &Path, limit: u64) -> Result<()> {
    io::copy(&mut header::open(from, 0)?.take(limit), &mut File::create_new(to)?)?;
    Ok(())
}

/// Opens a file and has SQLite read it for the first time, which is when it says whether it can.
fn asked(path: &Path, access: OpenFlags, cut: bool) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    // Named for another use, this has SQLite read what there is of a file shorter than its header says. Nothing is
    // written.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, cut)?;
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
