//! Debian's kernels for virtual machines: fetched once by package, kept unpacked below `target/vm`.
//!
//! Must not know how they are booted.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};

use super::modules::Modules;
use crate::{
    command, console,
    setup::apt::{self, private::Private},
};

/// The kernels of the matrix by version, and the suites that have them, the smallest lists first: those of security
/// updates are the newest, too.
pub(crate) const KNOWN: [(&str, &[&str]); 5] = [
    ("5.10", &["bullseye-security"]),
    ("6.1", &["bookworm-security", "bookworm"]),
    ("6.12", &["trixie-security", "trixie"]),
    ("7.2", &["trixie-backports", "forky", "sid"]),
    ("7.3", &["trixie-backports", "forky", "sid"]),
];
/// The build for virtual machines: fewer drivers, much smaller.
const FLAVOUR: &str = "-cloud-amd64";

/// A kernel, unpacked.
pub(crate) struct Kernel {
    /// As in [`KNOWN`].
    pub(crate) label: &'static str,
    /// As `uname -r` gives it.
    pub(crate) release: String,
    folder: PathBuf,
}

impl Kernel {
    /// The kernel of this version: the one that is there, else, or if told to `update`, the newest that Debian has.
    ///
    /// # Errors
    /// No suite has one, or it could not be fetched; with each suite's answer.
    pub(crate) fn ensure(place: &Path, label: &'static str, update: bool) -> anyhow::Result<Self> {
        let folder = place.join("kernels").join(label);
        match (Self::open(label, folder.clone()), update) {
            (Ok(kernel), false) => Ok(kernel),
            (there, _) => Self::fetch(place, label, &folder).or_else(|error| {
                // Without a network the one that is there will do.
                let kernel = there.map_err(|_not_there| error)?;
                console::note(&format!("kernel {label}: nothing newer to be had than {}", kernel.release));
                Ok(kernel)
            }),
        }
    }

    fn open(label: &'static str, folder: PathBuf) -> anyhow::Result<Self> {
        let release = fs::read_to_string(folder.join("release")).with_context(|| format!("no kernel {label} here"))?;
        Ok(Self { label, release: release.trim().to_owned(), folder })
    }

    /// The compressed image.
    pub(crate) fn image(&self) -> PathBuf {
        self.folder.join("vmlinuz")
    }

    /// Its modules.
    pub(crate) fn modules(&self) -> anyhow::Result<Modules> {
        Modules::read(&self.folder.join("modules"))
    }

    fn fetch(place: &Path, label: &'static str, folder: &Path) -> anyhow::Result<Self> {
        if !apt::is_there() {
            bail!("no apt on this machine to fetch kernel {label} with");
        }
        let suites = KNOWN.iter().find(|(known, _)| *known == label).map_or(&[][..], |(_, suites)| suites);
        let _progress = console::progress(&format!("fetching kernel {label}"));
        let mut refused = Vec::new();
        for suite in suites {
            let lists = place.join("apt").join(suite);
            let private = Private::new(lists.clone(), &apt::mirror_of(suite), suite);
            match private.update().and_then(|()| packages(&private, label)) {
                Ok(packages) if packages.is_empty() => refused.push(format!("{suite} has none")),
                Ok(packages) => {
                    let kernel = Self::unpack(&private, label, &packages, folder)?;
                    // Tens of MiB that the next call would read anew.
                    let _absent = fs::remove_dir_all(lists);
                    return Ok(kernel);
                }
                Err(error) => {
                    refused.push(format!("{suite}: {error:#}").lines().take(2).collect::<Vec<_>>().join("\n"));
                }
            }
        }
        bail!("no kernel {label} to be had from Debian\n    {}", refused.join("\n    "))
    }

    /// Downloads the packages and unpacks what is needed of them. Until all of it is there, none is: an interrupted
    /// run leaves nothing that looks complete.
    fn unpack(private: &Private, label: &'static str, packages: &[String], folder: &Path) -> anyhow::Result<Self> {
        let work = folder.with_extension("new");
        let tree = work.join("tree");
        let _absent = fs::remove_dir_all(&work);
        fs::create_dir_all(&tree).with_context(|| format!("`{}`", tree.display()))?;
        for package in packages {
            let archive = private.fetch_newest(package)?;
            command::output(command::clean("dpkg-deb", ["--extract"]).arg(&archive).arg(&tree))?;
            fs::remove_file(&archive).with_context(|| format!("`{}`", archive.display()))?;
        }
        let (modules, release) = modules_folder(&tree)?;
        let images = [tree.join("boot").join(format!("vmlinuz-{release}")), modules.join("vmlinuz")];
        let image = images.iter().find(|image| image.is_file());
        let image = image.with_context(|| format!("no vmlinuz in {}", packages.join(", ")))?;
        fs::rename(image, work.join("vmlinuz"))
            .and_then(|()| fs::rename(&modules, work.join("modules")))
            .and_then(|()| fs::remove_dir_all(&tree))
            .and_then(|()| fs::write(work.join("release"), format!("{release}\n")))
            .with_context(|| format!("`{}`", work.display()))?;
        let _absent = fs::remove_dir_all(folder);
        fs::rename(&work, folder).with_context(|| format!("`{}`", folder.display()))?;
        Self::open(label, folder.to_path_buf())
    }
}

/// The packages of the newest kernel of this version: one that has all, or from 7.x on image and modules apart.
fn packages(private: &Private, label: &str) -> anyhow::Result<Vec<String>> {
    let names: Vec<_> = ["linux-image-", "linux-binary-", "linux-modules-"]
        .iter()
        .map(|start| private.names(&format!("{start}{label}.")))
        .collect::<anyhow::Result<Vec<_>>>()?
        .concat();
    Ok(newest(&names))
}

fn newest(names: &[String]) -> Vec<String> {
    let release = |start: &str| {
        let releases = names.iter().filter_map(|name| name.strip_prefix(start)?.strip_suffix(FLAVOUR));
        releases.max_by_key(|release| numbers(release))
    };
    let (parts, whole) = (release("linux-binary-"), release("linux-image-"));
    match (parts, whole) {
        (Some(release), _) => {
            ["binary", "modules"].iter().map(|part| format!("linux-{part}-{release}{FLAVOUR}")).collect()
        }
        (None, Some(release)) => vec![format!("linux-image-{release}{FLAVOUR}")],
        (None, None) => Vec::new(),
    }
}

/// The numbers in a release such as `6.12.118+deb13`, which sort as releases do.
fn numbers(release: &str) -> Vec<u64> {
    release.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

/// Where the modules lie in an unpacked package, and the release that names their folder.
fn modules_folder(tree: &Path) -> anyhow::Result<(PathBuf, String)> {
    for place in ["usr/lib/modules", "lib/modules"] {
        let Ok(entries) = fs::read_dir(tree.join(place)) else { continue };
        if let Some(entry) = entries.flatten().next() {
            return Ok((entry.path(), entry.file_name().to_string_lossy().into_owned()));
        }
    }
    bail!("no modules in the packages of the kernel")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newest_of(names: &[&str]) -> Vec<String> {
        newest(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_newest_release_is_taken_by_number_and_only_of_the_cloud_flavour() {
        let names = [
            "linux-image-6.1.0-9-cloud-amd64",
            "linux-image-6.1.0-57-cloud-amd64",
            "linux-image-6.1.0-58-cloud-amd64-unsigned",
            "linux-image-6.1.0-59-amd64",
            "linux-image-6.1.0-60-cloud-amd64-dbg",
        ];
        assert_eq!(newest_of(&names), ["linux-image-6.1.0-57-cloud-amd64"]);
    }

    #[test]
    fn where_image_and_modules_are_apart_both_are_taken() {
        let names = [
            "linux-image-7.2.13+deb14-cloud-amd64",
            "linux-binary-7.2.9+deb13-cloud-amd64",
            "linux-binary-7.2.13+deb14-cloud-amd64",
            "linux-modules-7.2.13+deb14-cloud-amd64",
        ];
        let expected = ["linux-binary-7.2.13+deb14-cloud-amd64", "linux-modules-7.2.13+deb14-cloud-amd64"];
        assert_eq!(newest_of(&names), expected);
        assert!(newest_of(&[]).is_empty());
    }
}
