//! An apt of our own: packages of any suite, with lists and settings in a folder, so that the machine's own sources
//! stay as they are. Needs no root.
//!
//! Must not know what the packages are for.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;

use super::{KEYRING, NETWORK};
use crate::command;

/// One suite of one mirror, in a folder.
pub(crate) struct Private {
    folder: PathBuf,
    source: String,
}

impl Private {
    /// Nothing is asked and nothing written yet.
    pub(crate) fn new(folder: PathBuf, mirror: &str, suite: &str) -> Self {
        let signed = if Path::new(KEYRING).exists() { format!(" signed-by={KEYRING}") } else { String::new() };
        // Packages only: the machine's settings may ask for more lists, which are as large again.
        Self { folder, source: format!("deb [target=Packages{signed}] {mirror} {suite} main\n") }
    }

    fn apt(&self, program: &str, args: &[&str]) -> anyhow::Result<String> {
        let mut apt = command::clean(program, args);
        command::output(apt.current_dir(&self.folder).env("APT_CONFIG", self.settings()).env("LC_ALL", "C"))
    }

    fn settings(&self) -> PathBuf {
        self.folder.join("apt.conf")
    }

    /// Settings, the one source, and the folders that apt wants.
    fn prepare(&self) -> anyhow::Result<()> {
        let folder = self.folder.display();
        let ours = [
            format!("Dir::Etc::SourceList={folder}/sources.list"),
            "Dir::Etc::SourceParts=/dev/null".to_owned(),
            format!("Dir::State::Lists={folder}/lists"),
            format!("Dir::Cache={folder}/cache"),
            "Acquire::Languages=none".to_owned(),
            // As root apt would drop to a user that cannot write here.
            "APT::Sandbox::User=".to_owned(),
        ];
        let settings = ours.into_iter().chain(NETWORK.map(str::to_owned)).map(|setting| {
            let (name, value) = setting.split_once('=').unwrap_or((&setting, ""));
            format!("{name} \"{value}\";\n")
        });
        fs::create_dir_all(self.folder.join("lists/partial"))
            .and_then(|()| fs::create_dir_all(self.folder.join("cache/archives/partial")))
            .and_then(|()| fs::write(self.settings(), settings.collect::<String>()))
            .and_then(|()| fs::write(self.folder.join("sources.list"), &self.source))
            .with_context(|| format!("prepare `{folder}` for apt"))
    }

    /// Reads the suite's lists anew.
    pub(crate) fn update(&self) -> anyhow::Result<()> {
        self.prepare()?;
        self.apt("apt-get", &["update"]).map(drop)
    }

    /// The versions that the suite has of a package, newest first, after reading its lists.
    pub(super) fn versions(&self, package: &str) -> anyhow::Result<Vec<String>> {
        self.update()?;
        Ok(versions(&self.apt("apt-cache", &["madison", package])?))
    }

    /// The names of all packages that begin like this, in no order.
    pub(crate) fn names(&self, start: &str) -> anyhow::Result<Vec<String>> {
        Ok(self.apt("apt-cache", &["pkgnames", start])?.lines().map(str::to_owned).collect())
    }

    /// Downloads this version of a package; gives the file.
    pub(super) fn fetch(&self, package: &str, version: &str) -> anyhow::Result<PathBuf> {
        self.download(&format!("{package}={version}"))?;
        self.file(&format!("{package}_{}", version.replace(':', "%3a")))
    }

    /// Downloads the newest version of a package that the suite has; gives the file.
    pub(crate) fn fetch_newest(&self, package: &str) -> anyhow::Result<PathBuf> {
        self.download(package)?;
        self.file(&format!("{package}_"))
    }

    fn download(&self, package: &str) -> anyhow::Result<()> {
        self.apt("apt-get", &["download", package]).map(drop)
    }

    fn file(&self, start: &str) -> anyhow::Result<PathBuf> {
        let entries = fs::read_dir(&self.folder).with_context(|| format!("`{}`", self.folder.display()))?;
        let mut files = entries.flatten().map(|entry| entry.path());
        files
            .find(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start)))
            .with_context(|| format!("apt has not put `{start}*.deb` into `{}`", self.folder.display()))
    }
}

/// Reads `apt-cache madison`: package, version and source between bars, newest first.
fn versions(madison: &str) -> Vec<String> {
    madison.lines().filter_map(|line| Some(line.split('|').nth(1)?.trim().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_in_the_order_in_which_apt_gives_them() {
        let madison = "  rust-src | 1.97.1+dfsg1-1~bpo13+1 | http://m trixie-backports/main amd64 Packages\n\
                       \x20 rust-src | 1.96.1+dfsg1-2~bpo13+1 | http://m trixie-backports/main amd64 Packages\n";
        assert_eq!(versions(madison), ["1.97.1+dfsg1-1~bpo13+1", "1.96.1+dfsg1-2~bpo13+1"]);
        assert_eq!(versions(""), Vec::<String>::new());
    }
}
