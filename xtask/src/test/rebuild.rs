//! Whether cargo rebuilds what it must and no more: nothing when nothing has changed, the BPF object when the shapes
//! it shares with user space have.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

use anyhow::{Context as _, bail};

use crate::command;

/// Builds, builds again, touches `tracer-common` and builds once more.
pub(super) fn check(root: &Path) -> anyhow::Result<()> {
    build(root)?;
    let said = build(root)?;
    let again = compiled(&said);
    if !again.is_empty() {
        bail!("`cargo build` with nothing changed compiles again: {}", again.join(", "));
    }

    let source = root.join("tracer-common/src/lib.rs");
    let touched = SystemTime::now();
    let file = fs::File::options().append(true).open(&source);
    file.and_then(|file| file.set_modified(touched)).with_context(|| format!("touch `{}`", source.display()))?;
    build(root)?;
    let newest = newest_object(&root.join("target/debug/build"))?;
    if newest < touched {
        bail!("`cargo build` after a change in `{}` does not rebuild the BPF object", source.display());
    }
    Ok(())
}

/// Builds the workspace and returns what cargo says.
fn build(root: &Path) -> anyhow::Result<String> {
    let mut build: Command = command::cargo(["build"]);
    let shown = command::shown(&build);
    let out = build.current_dir(root).output().with_context(|| format!("`{shown}` cannot be started"))?;
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    if !out.status.success() {
        bail!("`{shown}` ended with {}\n{said}", out.status);
    }
    Ok(said)
}

/// The packages that cargo says it compiled.
fn compiled(said: &str) -> Vec<&str> {
    said.lines().filter_map(|line| line.trim().strip_prefix("Compiling ")).collect()
}

/// When the newest of the BPF objects below cargo's build folder was written: one for each set of flags that the
/// tracer was ever built with.
fn newest_object(folder: &Path) -> anyhow::Result<SystemTime> {
    let entries = fs::read_dir(folder).with_context(|| format!("`{}`", folder.display()))?;
    let objects = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("tracer-"));
    let objects = objects.map(|entry| entry.path().join("out/tracer"));
    let written = objects.filter_map(|object: PathBuf| object.metadata().ok()?.modified().ok());
    written.max().with_context(|| format!("no BPF object below `{}`", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_compiles_is_read_from_what_it_says() {
        let said = "   Compiling tracer-common v0.1.0 (/w/tracer-common)\n    Finished `dev` profile in 0.05s\n";
        assert_eq!(compiled(said), ["tracer-common v0.1.0 (/w/tracer-common)"]);
        assert!(compiled("    Finished `dev` profile in 0.05s\n").is_empty());
    }
}
