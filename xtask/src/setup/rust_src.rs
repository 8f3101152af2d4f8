//! The sources of the nightly's standard library: `core` is compiled for BPF from them.
//!
//! Three ways, in this order: rustup's component, the distribution's package of the same minor version, what
//! `TRACER_RUST_SRC` names. They end at `library` below the sysroot, which is rustup's folder or a symbolic link of
//! ours. Must not know how apt fetches a package.

mod rustup;

use std::{
    convert::Infallible,
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Stdio,
    str::FromStr,
};

use anyhow::{Context as _, bail};

use super::{Outcome, Piece, apt, toolchain::Nightly};
use crate::{command, console};

/// Folder or archive of the sources, for machines that can fetch neither component nor package.
const VARIABLE: &str = "TRACER_RUST_SRC";

/// How the sources get there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// `rustup component add rust-src`.
    Rustup,
    /// The package `rust-src` of a Debian suite.
    Distribution,
    /// A folder or an archive.
    Path(PathBuf),
}

impl FromStr for Way {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "rustup" => Self::Rustup,
            "distribution" => Self::Distribution,
            path => Self::Path(path.into()),
        })
    }
}

/// Finds the sources, else takes the first way that works.
pub(super) fn ensure(nightly: &Nightly, forced: Option<&Way>, work: &Path) -> Piece {
    const WHY: &str = "`core` is compiled for BPF from source, as no toolchain ships it compiled";
    let place = Place { nightly, work };
    if forced.is_none() && is_library(&place.library()) {
        return Piece::new("rust-src (nightly)", WHY, Outcome::Present);
    }
    let mut refused = Vec::new();
    for way in ways(forced, env::var_os(VARIABLE).map(PathBuf::from)) {
        let (name, done) = match &way {
            Way::Rustup => ("by rustup".to_owned(), place.ask_rustup()),
            Way::Distribution => {
                let _progress = console::progress("fetching the distribution's rust-src");
                ("from the distribution".to_owned(), place.take_package())
            }
            Way::Path(path) => (format!("from `{}`", path.display()), place.take_path(path)),
        };
        match done {
            Ok(()) => return Piece::new(format!("rust-src (nightly), {name}"), WHY, Outcome::Installed),
            Err(error) => refused.push(format!("{name}: {error:#}")),
        }
    }
    let todo = format!("or set {VARIABLE} to a folder or archive of Rust 1.{}'s `library`", nightly.minor);
    if forced.is_none() {
        refused.push(todo);
    }
    Piece::new("rust-src (nightly)", WHY, Outcome::Missing(refused.join("\n    ")))
}

/// The ways to try: the forced one alone, else all.
fn ways(forced: Option<&Way>, named: Option<PathBuf>) -> Vec<Way> {
    match forced {
        Some(way) => vec![way.clone()],
        None => [Way::Rustup, Way::Distribution].into_iter().chain(named.map(Way::Path)).collect(),
    }
}

/// Whether this folder holds what `-Z build-std=core` reads, as far as files from all over it tell.
fn is_library(folder: &Path) -> bool {
    ["Cargo.lock", "core/src/lib.rs", "sysroot/Cargo.toml", "test/Cargo.toml"]
        .iter()
        .all(|file| folder.join(file).is_file())
}

/// Where the sources go.
struct Place<'a> {
    nightly: &'a Nightly,
    /// For what is fetched and unpacked on the way.
    work: &'a Path,
}

impl Place<'_> {
    fn rustlib(&self) -> PathBuf {
        self.nightly.sysroot.join("lib/rustlib")
    }

    fn library(&self) -> PathBuf {
        self.rustlib().join("src/rust/library")
    }

    fn ask_rustup(&self) -> anyhow::Result<()> {
        // rustup refuses to install over a file it has not put there, and believes its list of components even when
        // the files are gone.
        if self.library().is_symlink() {
            remove(&self.library())?;
        }
        if rustup::has(&self.rustlib()) && !is_library(&self.library()) {
            rustup::remove(&self.nightly.sysroot)?;
        }
        rustup::add()?;
        check(&self.library())
    }

    fn take_package(&self) -> anyhow::Result<()> {
        let package = apt::download("rust-src", &format!("1.{}.", self.nightly.minor), &self.work.join("apt"))?;
        self.unpack(|folder| {
            // The package holds all of Rust's sources, ten times the library.
            let mut open = command::clean("dpkg-deb", ["--fsys-tarfile"]);
            let mut open = open.arg(&package).stdout(Stdio::piped()).spawn().context("`dpkg-deb`")?;
            let mut tar = command::clean("tar", ["-x", "-C"]);
            tar.arg(folder).args(["--wildcards", "--no-wildcards-match-slash", "./usr/src/*/library"]);
            let unpacked = command::output(tar.stdin(open.stdout.take().map_or(Stdio::null(), Into::into)));
            let opened = open.wait().with_context(|| format!("`dpkg-deb --fsys-tarfile {}`", package.display()))?;
            unpacked?;
            if !opened.success() {
                bail!("`dpkg-deb --fsys-tarfile {}` ended with {opened}", package.display());
            }
            Ok(())
        })?;
        remove(&package)
    }

    fn take_path(&self, path: &Path) -> anyhow::Result<()> {
        let path = fs::canonicalize(path).with_context(|| format!("`{}`", path.display()))?;
        if path.is_dir() {
            return self.link(&library_in(&path)?);
        }
        self.unpack(|folder| {
            command::output(command::clean("tar", ["-x", "-f"]).arg(&path).arg("-C").arg(folder)).map(drop)
        })
    }

    /// Unpacks a library beside the sysroot's other sources, where `cargo clean` does not reach, under a temporary
    /// name; then puts it in place and links to it.
    fn unpack(&self, into: impl Fn(&Path) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let kept = self.rustlib().join(format!("src/library-1.{}", self.nightly.minor));
        let unpacked = self.rustlib().join("src/library.tmp");
        remove(&unpacked)?;
        fs::create_dir_all(&unpacked).with_context(|| format!("`{}`", unpacked.display()))?;
        let placed = into(&unpacked).and_then(|()| library_in(&unpacked)).and_then(|library| {
            remove(&kept)?;
            fs::rename(library, &kept).with_context(|| format!("`{}`", kept.display()))
        });
        remove(&unpacked)?;
        placed.and_then(|()| self.link(&kept))
    }

    /// Makes `library` a link to this folder, in one step where it is a link or absent.
    fn link(&self, target: &Path) -> anyhow::Result<()> {
        check(target)?;
        if rustup::has(&self.rustlib()) {
            rustup::remove(&self.nightly.sysroot)?;
        }
        let library = self.library();
        if library.is_dir() && !library.is_symlink() {
            remove(&library)?;
        }
        let link = library.with_extension("tmp");
        remove(&link)?;
        let folder = self.rustlib().join("src/rust");
        fs::create_dir_all(&folder).with_context(|| format!("`{}`", folder.display()))?;
        symlink(target, &link)
            .and_then(|()| fs::rename(&link, &library))
            .with_context(|| format!("link `{}` to `{}`", library.display(), target.display()))
    }
}

fn check(library: &Path) -> anyhow::Result<()> {
    if !is_library(library) {
        bail!("`{}` is not the whole `library` of Rust's sources", library.display());
    }
    Ok(())
}

/// The library in a folder: the folder itself, `library` in it, or where Debian's package has it.
fn library_in(folder: &Path) -> anyhow::Result<PathBuf> {
    let debian = fs::read_dir(folder.join("usr/src")).into_iter().flatten().flatten().map(|entry| entry.path());
    [folder.to_path_buf()]
        .into_iter()
        .chain([folder.to_path_buf()].into_iter().chain(debian).map(|parent| parent.join("library")))
        .find(|library| is_library(library))
        .with_context(|| format!("`{}` holds no whole `library` of Rust's sources", folder.display()))
}

/// Removes a file, link or folder, there or not.
fn remove(path: &Path) -> anyhow::Result<()> {
    let removed = match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
    removed.with_context(|| format!("`{}` is in the way and cannot be removed", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(folder: &Path) -> PathBuf {
        for file in ["Cargo.lock", "core/src/lib.rs", "sysroot/Cargo.toml", "test/Cargo.toml"] {
            let file = folder.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        folder.to_path_buf()
    }

    fn scratch(name: &str) -> (tempfile::TempDir, Nightly) {
        let folder = tempfile::Builder::new().prefix(name).tempdir().unwrap();
        let sysroot = folder.path().join("sysroot");
        fs::create_dir_all(sysroot.join("lib/rustlib")).unwrap();
        (folder, Nightly { sysroot, minor: 97, llvm_major: 22 })
    }

    #[test]
    fn rustup_comes_first_and_the_named_path_last() {
        let named = Some(PathBuf::from("/s.tar.xz"));
        assert_eq!(ways(None, named.clone()), [Way::Rustup, Way::Distribution, Way::Path("/s.tar.xz".into())]);
        assert_eq!(ways(None, None), [Way::Rustup, Way::Distribution]);
        assert_eq!(ways(Some(&Way::Distribution), named), [Way::Distribution]);
    }

    #[test]
    fn a_half_copied_library_is_none() {
        let (folder, _) = scratch("half");
        let library = library(&folder.path().join("library"));
        assert!(is_library(&library));
        fs::remove_file(library.join("test/Cargo.toml")).unwrap();
        assert!(!is_library(&library));
    }

    #[test]
    fn a_folder_is_linked_to_and_a_dangling_link_replaced() {
        let (folder, nightly) = scratch("link");
        let place = Place { nightly: &nightly, work: folder.path() };
        fs::create_dir_all(place.library().parent().unwrap()).unwrap();
        symlink("/nonexistent", place.library()).unwrap();
        let source = library(&folder.path().join("rust/library"));

        place.take_path(&folder.path().join("rust")).unwrap();

        assert_eq!(fs::read_link(place.library()).unwrap(), source);
        assert!(is_library(&place.library()));
    }

    #[test]
    fn an_archive_is_unpacked_beside_the_sysroot_and_what_was_left_half_done_is_redone() {
        let (folder, nightly) = scratch("archive");
        let place = Place { nightly: &nightly, work: &folder.path().join("work") };
        library(&folder.path().join("in/library"));
        let archive = folder.path().join("library.tar");
        command::output(
            command::clean("tar", ["-c", "-f"]).arg(&archive).arg("-C").arg(folder.path().join("in")).arg("library"),
        )
        .unwrap();
        let half = nightly.sysroot.join("lib/rustlib/src/library.tmp");
        fs::create_dir_all(half.join("core")).unwrap();

        place.take_path(&archive).unwrap();

        assert!(is_library(&place.library()));
        assert!(place.library().is_symlink());
        assert!(!half.exists());
    }

    #[test]
    fn an_archive_of_something_else_leaves_the_library_as_it_was() {
        let (folder, nightly) = scratch("other");
        let place = Place { nightly: &nightly, work: &folder.path().join("work") };
        let before = library(&folder.path().join("before"));
        place.link(&before).unwrap();
        let archive = folder.path().join("other.tar");
        command::output(
            command::clean("tar", ["-c", "-f"]).arg(&archive).arg("-C").arg(folder.path()).arg("before/core"),
        )
        .unwrap();

        let error = format!("{:#}", place.take_path(&archive).unwrap_err());

        assert!(error.ends_with("holds no whole `library` of Rust's sources"), "{error}");
        assert_eq!(fs::read_link(place.library()).unwrap(), before);
    }

    #[test]
    fn debians_package_has_its_library_below_usr_src() {
        let (folder, _) = scratch("debian");
        let inside = library(&folder.path().join("usr/src/rustc-1.97.1/library"));
        assert_eq!(library_in(folder.path()).unwrap(), inside);
    }
}
