//! The toolchains: the nightly that builds for BPF, and the components that the checks need of both.
//!
//! Must not know how the standard library's sources or the linker get there.

use std::path::PathBuf;

use anyhow::Context as _;

use super::{Outcome, Piece};
use crate::{command, console};

/// The nightly, as its compiler describes itself.
pub(super) struct Nightly {
    /// Its folder.
    pub(super) sysroot: PathBuf,
    /// The 97 of 1.97.0: sources of the standard library fit where this is the same.
    pub(super) minor: u32,
    /// The 22 of LLVM 22.1.4.
    pub(super) llvm_major: u32,
}

/// Finds the nightly, else has rustup install it.
pub(super) fn ensure_nightly() -> (Piece, Option<Nightly>) {
    const WHY: &str = "compiles the kernel side for BPF, which stable Rust does not";
    let name = "nightly toolchain";
    let found = nightly().map(|nightly| (Outcome::Present, nightly)).or_else(|_absent| {
        let _progress = console::progress("installing the nightly toolchain");
        let arguments = ["toolchain", "install", "nightly", "--profile", "minimal", "--component", "clippy,rust-src"];
        command::output(&mut command::clean("rustup", arguments))
            .context("neither there nor to be had; put a Rust nightly there under the name `nightly`")?;
        nightly().map(|nightly| (Outcome::Installed, nightly))
    });
    match found {
        Ok((outcome, nightly)) => (Piece::new(name, WHY, outcome), Some(nightly)),
        Err(error) => (Piece::required(name, WHY, Err(error)), None),
    }
}

fn nightly() -> anyhow::Result<Nightly> {
    let rustc = |args: &[&str]| command::output(&mut command::clean("rustc", [&["+nightly"], args].concat()));
    let (minor, llvm_major) = versions(&rustc(&["-vV"])?)?;
    Ok(Nightly { sysroot: rustc(&["--print", "sysroot"])?.trim_end().into(), minor, llvm_major })
}

/// rustc's minor and LLVM's major version from `rustc -vV`.
fn versions(described: &str) -> anyhow::Result<(u32, u32)> {
    let part = |field: &str, part: usize| {
        let line = described.lines().find_map(|line| line.strip_prefix(field));
        line.and_then(|version| version.split('.').nth(part)?.parse().ok())
            .with_context(|| format!("`rustc +nightly -vV` has no usable line `{field}`"))
    };
    Ok((part("release: ", 1)?, part("LLVM version: ", 0)?))
}

/// Finds rustfmt and clippy, else has rustup add them.
pub(super) fn ensure_components() -> Vec<Piece> {
    [
        ("rustfmt", "fmt", "stable", "checks the formatting"),
        ("clippy", "clippy", "stable", "checks the user side"),
        ("clippy", "clippy", "nightly", "checks the kernel side"),
    ]
    .map(|(component, subcommand, toolchain, why)| {
        // The stable that matters is the one which runs the checks, whatever its name.
        let asked = match toolchain {
            "nightly" => command::output(&mut command::nightly_cargo(&[subcommand, "--version"])),
            _ => command::output(&mut command::cargo([subcommand, "--version"])),
        };
        let outcome = asked.map(|_version| Outcome::Present).or_else(|_absent| {
            let mut add = command::clean("rustup", ["component", "add", component]);
            if toolchain == "nightly" {
                add.args(["--toolchain", "nightly"]);
            }
            command::output(&mut add).map(|_said| Outcome::Installed)
        });
        Piece::optional(format!("{component} ({toolchain})"), why, outcome)
    })
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_rustc_says() {
        let said = "rustc 1.97.0-nightly (e50aa6fba 2026-05-19)\nbinary: rustc\nrelease: 1.97.0-nightly\n\
                    LLVM version: 22.1.4\n";
        assert_eq!(versions(said).unwrap(), (97, 22));
    }

    #[test]
    fn a_rustc_that_names_no_llvm_is_refused_by_the_missing_line() {
        let error = versions("release: 1.97.0-nightly\n").unwrap_err().to_string();
        assert_eq!(error, "`rustc +nightly -vV` has no usable line `LLVM version: `");
    }
}
