//! Where a recording is put: never over anything that is not one, never through a symbolic link, and under its name
//! only once it is whole.
//!
//! Must not know: tables.

use std::{
    ffi::OsString,
    fs::{self, File, Permissions},
    io::ErrorKind,
    os::unix::fs::{MetadataExt, PermissionsExt, fchown},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use nix::fcntl::{FcntlArg, fcntl};
use rusqlite::{Connection, OpenFlags};

use super::{
    header::{self, Header},
    schema::APPLICATION_ID,
};

/// What SQLite puts beside a file while it is in use, and leaves there when killed.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Makes the file `path` with what `fill` writes into it, and opens it for writing.
///
/// It is made beside under another name first, so that an old recording goes only when the new one is there. With
/// `owner` (user and group id) the file is theirs; SQLite gives its companions the same owner when it runs as root.
pub(super) fn create(
    path: &Path,
    force: bool,
    owner: Option<(u32, u32)>,
    fill: impl FnOnce(&Connection) -> Result<()>,
) -> Result<Connection> {
    let target = resolve(path)?;
    refuse_what_is_there(&target, path, force)?;

    let folder = target.parent().context("a file is in a folder")?;
    // The mode is cut down by the umask.
    let made = tempfile::Builder::new()
        .prefix(".tracer-")
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder)
        // The error would name the file that was tried, which nobody asked for.
        .map_err(|error| anyhow!("no file can be made in folder `{}`: {}", folder.display(), error.kind()))?;
    if let Some((user, group)) = owner {
        fchown(made.as_file(), Some(user), Some(group))
            .with_context(|| format!("`{}` cannot be given to user {user}, group {group}", path.display()))?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let db = Connection::open_with_flags(made.path(), flags)?;
    // Nobody else knows the file yet: no journal beside it.
    db.pragma_update(None, "journal_mode", "MEMORY")?;
    fill(&db)?;
    db.close().map_err(|(_, error)| error)?;

    if force {
        for companion in COMPANIONS {
            match fs::remove_file(beside(&target, companion)) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("`{}{companion}` cannot be removed", path.display()));
                }
                _ => {}
            }
        }
    }
    let placed = if force { made.persist(&target) } else { made.persist_noclobber(&target) };
    let placed = placed.map_err(|error| error.error).with_context(|| format!("`{}` cannot be made", path.display()))?;
    let ours = placed.metadata()?;
    // Closing a file drops all POSIX locks that this process has on it, SQLite's too: before SQLite takes any.
    drop(placed);
    let db = Connection::open_with_flags(&target, flags)?;
    let opened = fs::symlink_metadata(&target)?;
    ensure!(
        (opened.dev(), opened.ino()) == (ours.dev(), ours.ino()),
        "`{}` was replaced by something else while it was made",
        path.display()
    );
    Ok(db)
}

/// The path with the links in its folder followed, but not the last part's.
fn resolve(path: &Path) -> Result<PathBuf> {
    let shown = path.display();
    let name = path.file_name().with_context(|| format!("`{shown}` names no file"))?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    match folder.canonicalize() {
        Ok(folder) => Ok(folder.join(name)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("`{shown}` cannot be made: there is no folder `{}`", folder.display())
        }
        Err(error) => Err(error).with_context(|| format!("`{shown}` cannot be made")),
    }
}

/// The path with `companion` behind the name.
pub(super) fn beside(path: &Path, companion: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(companion);
    PathBuf::from(name)
}

fn refuse_what_is_there(target: &Path, path: &Path, force: bool) -> Result<()> {
    let shown = path.display();
    let there = match fs::symlink_metadata(target) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let left = COMPANIONS.iter().find(|companion| fs::symlink_metadata(beside(target, companion)).is_ok());
            return match left {
                Some(companion) if !force => bail!(
                    "`{shown}{companion}` is left of an older recording: move it away or give `--force` to replace it"
                ),
                _ => Ok(()),
            };
        }
        other => other.with_context(|| format!("`{shown}` cannot be made"))?.file_type(),
    };
    if there.is_symlink() {
        bail!("`{shown}` is a symbolic link, and recordings are not written through one: name the file itself");
    }
    if there.is_dir() {
        bail!("`{shown}` is a folder: name a file in it");
    }
    ensure!(there.is_file(), "`{shown}` is no regular file: name one");
    ensure!(force, "`{shown}` is already there: give `--force` to replace it");

    let file = header::open(target, libc::O_NOFOLLOW)?;
    match header::read(&file).with_context(|| format!("`{shown}` cannot be read"))? {
        Header::Empty => {}
        Header::Sqlite(sqlite) if sqlite.application_id == APPLICATION_ID => {}
        _ => bail!("`{shown}` is not a recording: `--force` replaces recordings and empty files only"),
    }
    if let Some(process) = user_of(&file) {
        bail!("`{shown}` is in use by process {process}: end that first, or name another file");
    }
    Ok(())
}

/// A process that holds any of SQLite's locks on a file, as a tracer does for as long as it writes one.
pub(super) fn user_of(file: &File) -> Option<i32> {
    // The bytes that SQLite locks on every file: PENDING_BYTE and the 511 behind it.
    let mut lock = libc::flock {
        l_type: i16::try_from(libc::F_WRLCK).ok()?,
        l_whence: i16::try_from(libc::SEEK_SET).ok()?,
        l_start: 0x4000_0000,
        l_len: 512,
        l_pid: 0,
    };
    // Of an open file description, so that the locks of this very process are seen too.
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut lock)).ok()?;
    (i32::from(lock.l_type) != libc::F_UNLCK).then_some(lock.l_pid)
}
