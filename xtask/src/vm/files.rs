//! The files on this side of a guest: what it boots from, what it says, what it leaves behind.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;

use crate::command;

/// The files of one boot.
pub(super) struct Files {
    /// What this run has of its own.
    pub(super) job: PathBuf,
    /// Everything that the guest has.
    pub(super) initrd: PathBuf,
    /// The kernel's own words.
    pub(super) console: PathBuf,
    /// The command's.
    pub(super) output: PathBuf,
    pub(super) result: PathBuf,
    /// The folder for what the guest has left in its `/out`.
    pub(super) out: PathBuf,
}

impl Files {
    pub(super) fn new(folder: &Path) -> anyhow::Result<Self> {
        let _absent = fs::remove_dir_all(folder);
        let out = folder.join("out");
        fs::create_dir_all(&out).with_context(|| format!("`{}`", out.display()))?;
        let at = |name: &str| folder.join(name);
        let (console, output) = (at("console.log"), at("output.log"));
        Ok(Self { job: at("job.cpio"), initrd: at("initrd"), console, output, result: at("result"), out })
    }
}

/// Puts archives one behind the other.
pub(super) fn join(into: &Path, parts: &[&Path]) -> anyhow::Result<()> {
    let mut all = fs::File::create(into).with_context(|| format!("`{}`", into.display()))?;
    for part in parts {
        let mut part = fs::File::open(part).with_context(|| format!("`{}`", part.display()))?;
        std::io::copy(&mut part, &mut all).with_context(|| format!("`{}`", into.display()))?;
    }
    Ok(())
}

/// What `init.sh` has written to the third line so far.
#[derive(Default, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) started: bool,
    pub(super) status: Option<u8>,
    pub(super) archive: Vec<u8>,
}

impl Progress {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut lines = bytes.splitn(3, |byte| *byte == b'\n');
        let (start, end, archive) = (lines.next(), lines.next(), lines.next());
        let (start, end) = (start.unwrap_or_default(), end.unwrap_or_default());
        let text = String::from_utf8_lossy(end);
        let status = text.strip_prefix("end ").and_then(|rest| rest.split(' ').next()?.parse().ok());
        // Without a third part the line has not ended yet.
        let whole = archive.is_some();
        Self {
            started: start.starts_with(b"start"),
            status: status.filter(|_| whole),
            archive: archive.unwrap_or_default().to_vec(),
        }
    }
}

pub(super) fn unpack(archive: &[u8], into: &Path) -> anyhow::Result<()> {
    let file = into.with_extension("tar.gz");
    fs::write(&file, archive).with_context(|| format!("`{}`", file.display()))?;
    let mut tar = command::clean("tar", ["--extract", "--gzip", "--no-same-owner", "--file"]);
    command::output(tar.arg(&file).arg("--directory").arg(into)).context("the files that the guest left in `/out`")?;
    fs::remove_file(&file).with_context(|| format!("`{}`", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_read_as_far_as_it_has_come() {
        let read = |bytes: &[u8]| {
            let Progress { started, status, archive } = Progress::read(bytes);
            (started, status, archive)
        };
        assert_eq!(read(b""), (false, None, vec![]));
        assert_eq!(read(b"start 3.1\n"), (true, None, vec![]));
        assert_eq!(read(b"start 3.1\nend 12"), (true, None, vec![]));
        assert_eq!(read(b"start 3.1\nend 12 9.5\n"), (true, Some(12), vec![]));
        assert_eq!(read(b"start 3.1\nend 0 9.5\n\x1f\x8b\n\n\0"), (true, Some(0), b"\x1f\x8b\n\n\0".to_vec()));
    }
}
