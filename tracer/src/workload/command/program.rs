//! Where a command's program is, and why one cannot be started.

use std::{
    env,
    ffi::OsStr,
    fmt, io,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::{Path, PathBuf},
};

use crate::workload::printable;

/// Where the C library looks without `PATH` (`_CS_PATH` of glibc).
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Why a command was not started.
#[derive(Debug)]
pub struct StartError {
    kind: StartErrorKind,
    message: String,
}

/// Kinds of [`StartError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartErrorKind {
    /// There is no such program.
    NotFound,
    /// There is one, but it cannot be executed.
    NotExecutable,
    /// The tracer could not start anything.
    Other,
}

impl StartError {
    pub(super) fn not_found(command: &OsStr) -> Self {
        let searched = if command.as_bytes().contains(&b'/') { "" } else { " in `PATH`" };
        Self::new(StartErrorKind::NotFound, format!("command `{}` not found{searched}", shown(command)))
    }

    pub(super) fn not_executable(program: &OsStr, reason: &str) -> Self {
        Self::new(StartErrorKind::NotExecutable, format!("cannot execute `{}`: {reason}", shown(program)))
    }

    pub(super) fn other(command: &OsStr, reason: &str) -> Self {
        Self::new(StartErrorKind::Other, format!("cannot start `{}`: {reason}", shown(command)))
    }

    fn new(kind: StartErrorKind, message: String) -> Self {
        Self { kind, message }
    }

    /// What went wrong, in kind.
    pub fn kind(&self) -> StartErrorKind {
        self.kind
    }

    /// The exit status that tells a shell the same: 127, 126 or 125.
    pub fn exit_code(&self) -> i32 {
        match self.kind {
            StartErrorKind::NotFound => 127,
            StartErrorKind::NotExecutable => 126,
            StartErrorKind::Other => 125,
        }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for StartError {}

fn shown(text: &OsStr) -> String {
    printable(&text.to_string_lossy())
}

/// The files that `command` may mean, in the order to try them; never empty. The kernel decides among them with the
/// rights of the user who runs it.
pub(super) fn candidates(command: &OsStr) -> Result<Vec<PathBuf>, StartError> {
    candidates_along(command, env::var_os("PATH").as_deref().unwrap_or(OsStr::new(DEFAULT_PATH)))
}

fn candidates_along(command: &OsStr, path: &OsStr) -> Result<Vec<PathBuf>, StartError> {
    if command.as_bytes().contains(&b'/') {
        let file = PathBuf::from(command);
        return examine(&file)?.map_or_else(|| Err(StartError::not_found(command)), |()| Ok(vec![file]));
    }
    if command.is_empty() {
        return Err(StartError::not_found(command));
    }
    let mut found = Vec::new();
    let mut refused = None;
    for folder in env::split_paths(path) {
        // An empty element is the working directory.
        let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
        let file = folder.join(command);
        // A folder that we may not search is none of ours, whatever it holds; shells see it so too.
        if folder.join(".").metadata().is_err() {
            continue;
        }
        match examine(&file) {
            Ok(Some(())) => found.push(file),
            Ok(None) => {}
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    if found.is_empty() { Err(refused.unwrap_or_else(|| StartError::not_found(command))) } else { Ok(found) }
}

/// `None` when there is no such file, an error when it is there and nobody could execute it.
fn examine(file: &Path) -> Result<Option<()>, StartError> {
    let refuse = |reason: &str| StartError::not_executable(file.as_os_str(), reason);
    match file.metadata() {
        Ok(metadata) if metadata.is_dir() => Err(refuse("it is a directory")),
        Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => {
            Err(refuse("it is not marked executable (`chmod +x`)"))
        }
        Ok(_) => Ok(Some(())),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
            _ => Err(refuse(&error.to_string())),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder_with(files: &[(&str, u32)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, mode) in files {
            fs::write(folder.path().join(name), "").unwrap();
            fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(*mode)).unwrap();
        }
        folder
    }

    #[test]
    fn a_file_that_is_not_executable_does_not_hide_a_later_one() {
        let (first, second) = (folder_with(&[("tool", 0o644)]), folder_with(&[("tool", 0o755)]));
        let path = env::join_paths([first.path(), second.path()]).unwrap();
        assert_eq!(candidates_along(OsStr::new("tool"), &path).unwrap(), [second.path().join("tool")]);
        let error = candidates_along(OsStr::new("tool"), first.path().as_os_str()).unwrap_err();
        assert_eq!(error.exit_code(), 126);
    }

    #[test]
    fn folders_are_no_programs_and_missing_names_are_not_found() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tool")).unwrap();
        let path = folder.path().as_os_str();
        assert_eq!(candidates_along(OsStr::new("tool"), path).unwrap_err().exit_code(), 126);
        assert_eq!(candidates_along(path, path).unwrap_err().exit_code(), 126);
        for missing in ["", "tools", "/nowhere/tool", "/dev/null/tool"] {
            let error = candidates_along(OsStr::new(missing), path).unwrap_err();
            assert_eq!(error.exit_code(), 127, "{missing}");
            assert_eq!(error.kind(), StartErrorKind::NotFound);
        }
    }

    #[test]
    fn a_folder_that_may_not_be_searched_does_not_turn_a_wrong_name_into_a_refusal() {
        // Root may search everything, but nobody can look into a file.
        let folder = folder_with(&[("closed", 0o644)]);
        let closed = folder.path().join("closed");
        let path = env::join_paths([&closed, Path::new("/proc/1/cwd"), Path::new("/no/where")]).unwrap();
        assert_eq!(candidates_along(OsStr::new("no-such-tool"), &path).unwrap_err().exit_code(), 127);
    }

    #[test]
    fn messages_name_the_command_without_control_characters() {
        let error = candidates_along(OsStr::new("to\x1b[31mol"), OsStr::new("")).unwrap_err();
        assert_eq!(error.to_string(), "command `to\u{fffd}[31mol` not found in `PATH`");
    }
}
