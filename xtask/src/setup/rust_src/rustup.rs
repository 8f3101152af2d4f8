//! rustup's component `rust-src`, and rustup's beliefs about it.

use std::{
    fs,
    path::{Component, Path},
};

use anyhow::Context as _;

use crate::{command, console};

/// Whether rustup believes that it has installed the component; the files may be gone all the same.
pub(super) fn has(rustlib: &Path) -> bool {
    let components = fs::read_to_string(rustlib.join("components")).unwrap_or_default();
    components.lines().any(|component| component == "rust-src")
}

/// Has rustup install the component.
pub(super) fn add() -> anyhow::Result<()> {
    component("add")
}

/// Has rustup forget the component and remove its files.
pub(super) fn remove(sysroot: &Path) -> anyhow::Result<()> {
    complete(sysroot)?;
    component("remove")
}

fn component(verb: &str) -> anyhow::Result<()> {
    let _progress = console::progress(&format!("rustup component {verb} rust-src"));
    let arguments = ["component", verb, "rust-src", "--toolchain", "nightly"];
    command::output(&mut command::clean("rustup", arguments)).map(drop)
}

/// Puts an empty file where one of rustup's list is missing: it refuses to remove a component that is not whole.
fn complete(sysroot: &Path) -> anyhow::Result<()> {
    let list = fs::read_to_string(sysroot.join("lib/rustlib/manifest-rust-src")).unwrap_or_default();
    for file in list.lines().filter_map(|line| line.strip_prefix("file:")).map(Path::new) {
        // A list that leads out of the toolchain is not rustup's.
        if !file.components().all(|part| matches!(part, Component::Normal(_))) {
            continue;
        }
        let file = sysroot.join(file);
        if file.symlink_metadata().is_err() {
            let folder = file.parent().unwrap_or(sysroot);
            fs::create_dir_all(folder)
                .and_then(|()| fs::write(&file, ""))
                .with_context(|| format!("`{}`, which rustup misses", file.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_files_of_rustups_list_are_made_and_none_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let sysroot = folder.path().join("sysroot");
        fs::create_dir_all(sysroot.join("lib/rustlib")).unwrap();
        let list = "file:lib/a/there\nfile:lib/a/gone\nfile:../outside\nfile:/tmp/../etc/outside\n";
        fs::write(sysroot.join("lib/rustlib/manifest-rust-src"), list).unwrap();
        fs::create_dir_all(sysroot.join("lib/a")).unwrap();
        fs::write(sysroot.join("lib/a/there"), "text").unwrap();

        complete(&sysroot).unwrap();

        assert_eq!(fs::read_to_string(sysroot.join("lib/a/there")).unwrap(), "text");
        assert!(sysroot.join("lib/a/gone").exists());
        assert!(!folder.path().join("outside").exists());
    }

    #[test]
    fn a_component_counts_only_by_its_whole_name() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("components"), "rust-src-extra\nrustc\n").unwrap();
        assert!(!has(folder.path()));
        fs::write(folder.path().join("components"), "rustc\nrust-src\n").unwrap();
        assert!(has(folder.path()));
    }
}
