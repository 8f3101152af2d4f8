//! `bpf-linker`, built against the nightly's own LLVM, so that both speak the same bitcode.
//!
//! One that is there is kept if it links what this nightly compiles, wherever it came from.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};

use super::{Outcome, Piece, toolchain::Nightly};
use crate::{command, console};

const VERSION: &str = "0.13.0";

/// The smallest crate there is: no `core` to compile, and the linker reads the nightly's bitcode all the same.
const SMALLEST_CRATE: &str = "#![feature(no_core)]\n#![no_core]\n";

/// Finds a linker that works with this nightly, else builds it.
pub(super) fn ensure(nightly: &Nightly, work: &Path) -> Piece {
    Piece::required("bpf-linker", "links the nightly's bitcode into the BPF object", find_or_build(nightly, work))
}

fn find_or_build(nightly: &Nightly, work: &Path) -> anyhow::Result<Outcome> {
    if command::find("bpf-linker").is_some_and(|linker| links(&linker, work).is_ok()) {
        return Ok(Outcome::Present);
    }
    let prefix = llvm_prefix(nightly, work)?;
    let _progress = console::progress(&format!("building bpf-linker {VERSION}, one to three minutes"));
    command::output(&mut build(nightly, &prefix, work))?;
    // Only an interrupted build is of use to the next run. What is left of a finished one shares its file with the
    // program installed, and with whatever may happen to that.
    let _left = fs::remove_dir_all(build_folder(work));
    let linker = command::find("bpf-linker").with_context(|| {
        format!("cargo has installed it where `PATH` does not reach; add `{}` to it", cargo_bin().display())
    })?;
    links(&linker, work).with_context(|| format!("`{}` does not work with this nightly", linker.display()))?;
    Ok(Outcome::Installed)
}

/// Compiles a crate with the nightly and links it.
fn links(linker: &Path, work: &Path) -> anyhow::Result<()> {
    let folder = work.join("probe");
    fs::create_dir_all(&folder).with_context(|| format!("`{}`", folder.display()))?;
    let file = |name: &str| folder.join(name);
    fs::write(file("probe.rs"), SMALLEST_CRATE).with_context(|| format!("`{}`", folder.display()))?;
    let rustc = ["+nightly", "--crate-type", "lib", "--target", "bpfel-unknown-none", "--emit", "llvm-bc", "-o"];
    command::output(command::clean("rustc", rustc).arg(file("probe.bc")).arg(file("probe.rs")))?;
    command::output(command::clean(linker, ["--emit", "obj", "-o"]).arg(file("probe.o")).arg(file("probe.bc")))?;
    Ok(())
}

/// A folder that looks like an LLVM installation, as `bpf-linker`'s build wants one, around the nightly's library.
fn llvm_prefix(nightly: &Nightly, work: &Path) -> anyhow::Result<PathBuf> {
    let library = llvm_library(&nightly.sysroot.join("lib"))?;
    let prefix = work.join(format!("llvm-{}", nightly.llvm_major));
    for folder in [prefix.join("lib"), prefix.join("lib64")] {
        fs::create_dir_all(&folder).with_context(|| format!("`{}`", folder.display()))?;
        let (link, temporary) = (folder.join("libLLVM.so"), folder.join("libLLVM.so.tmp"));
        // What an interrupted run left; the next line tells if it cannot be removed.
        let _absent = fs::remove_file(&temporary);
        symlink(&library, &temporary)
            .and_then(|()| fs::rename(&temporary, &link))
            .with_context(|| format!("link `{}`", link.display()))?;
    }
    Ok(prefix)
}

/// `libLLVM.so.VERSION` of a toolchain, whatever its version.
fn llvm_library(folder: &Path) -> anyhow::Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| format!("`{}`", folder.display()))?;
    let mut found: Vec<_> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libLLVM.so.")))
        .collect();
    found.sort();
    match found.len() {
        1 => Ok(found.remove(0)),
        n => bail!("`{}` has {n} files `libLLVM.so.*`, not one: this toolchain's LLVM is not known", folder.display()),
    }
}

fn build(nightly: &Nightly, prefix: &Path, work: &Path) -> std::process::Command {
    let features = format!("llvm-{}", nightly.llvm_major);
    let mut build = command::cargo(["install", "bpf-linker", "--version", VERSION, "--locked", "--force"]);
    build.args(["--no-default-features", "--features", &features, "--target-dir"]).arg(build_folder(work));
    build.env("LLVM_PREFIX", prefix);
    // The encoded form, as the path may hold a space.
    build.env_remove("RUSTFLAGS");
    build
        .env("CARGO_ENCODED_RUSTFLAGS", format!("-C\x1flink-arg=-Wl,-rpath,{}", nightly.sysroot.join("lib").display()));
    build
}

fn build_folder(work: &Path) -> PathBuf {
    work.join("bpf-linker")
}

/// Where `cargo install` puts programs.
fn cargo_bin() -> PathBuf {
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    let root = ["CARGO_INSTALL_ROOT", "CARGO_HOME"].iter().find_map(env::var_os).map(PathBuf::from);
    root.or_else(home).unwrap_or_default().join("bin")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            fs::write(folder.path().join(name), "").unwrap();
        }
        folder
    }

    #[test]
    fn llvm_is_found_whatever_its_version() {
        let folder = folder_with(&["libLLVM-23-rust.so", "libLLVM.so.23.0-rust-1.99.0-nightly", "librustc_driver.so"]);
        assert_eq!(llvm_library(folder.path()).unwrap(), folder.path().join("libLLVM.so.23.0-rust-1.99.0-nightly"));
    }

    #[test]
    fn no_llvm_or_two_of_them_is_an_error_that_says_so() {
        for (names, found) in [(&[][..], "has 0 files"), (&["libLLVM.so.1", "libLLVM.so.2"][..], "has 2 files")] {
            let error = llvm_library(folder_with(names).path()).unwrap_err().to_string();
            assert!(error.contains(found), "{error}");
        }
    }

    #[test]
    fn a_linker_that_fails_is_not_taken_for_one_that_links() {
        let folder = tempfile::tempdir().unwrap();
        assert!(links(Path::new("false"), folder.path()).is_err());
    }
}
