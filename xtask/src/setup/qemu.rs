//! qemu, which runs other kernels. It has to be a certain one, so it is no plain package of the list.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use nix::unistd::geteuid;

use super::{Outcome, Piece, apt};
use crate::{command, console};

/// The emulator of the machine that the kernels are for.
const PROGRAM: &str = "qemu-system-x86_64";
const PACKAGE: &str = "qemu-system-x86";
/// Debian 12's own, 7.2, corrupts its guests now and then where it emulates the processor: of one kernel's boots half
/// ended in a panic. None has been seen to with 10.0.
const LEAST: u32 = 10;

pub(super) fn ensure() -> Piece {
    let outcome = if find().is_ok() { Ok(Outcome::Present) } else { install() };
    Piece::optional("qemu", "tests run the tracer on other kernels with it", outcome)
}

/// Where the right one lies.
///
/// # Errors
/// It is not, or an older one is.
pub(crate) fn find() -> anyhow::Result<PathBuf> {
    let program = command::find(PROGRAM).with_context(|| format!("no `{PROGRAM}` here"))?;
    let said = command::output(&mut command::clean(&program, ["--version"]))?;
    match major(&said) {
        Some(version) if version >= LEAST => Ok(program),
        Some(version) => bail!("`{PROGRAM}` is version {version}, which may corrupt its guests; {LEAST} does not"),
        None => bail!("`{PROGRAM} --version` does not tell its version"),
    }
}

/// Reads `QEMU emulator version 10.0.2 (...)`.
fn major(said: &str) -> Option<u32> {
    said.split_once(" version ")?.1.split('.').next()?.parse().ok()
}

fn install() -> anyhow::Result<Outcome> {
    if !apt::is_there() {
        bail!("no apt here: install qemu {LEAST} or later for x86-64");
    }
    if !geteuid().is_root() {
        bail!(
            "needs root: sudo apt-get install {PACKAGE} (version {LEAST} or later; Debian 12 has it in its backports)"
        );
    }
    let _progress = console::progress("installing qemu");
    // One source of several may be down: whether there is a package to install tells more.
    let read = apt::update();
    if apt::candidate(PACKAGE).as_deref().and_then(of_package).is_some_and(|version| version >= LEAST) {
        apt::install(&[PACKAGE])?;
    } else {
        read?;
        let suite = apt::add_backports()?;
        apt::install_from(&suite, &[PACKAGE])?;
    }
    find().map(|_| Outcome::Installed)
}

/// The first number of a Debian version such as `1:10.0.2+ds-2`.
fn of_package(version: &str) -> Option<u32> {
    let version = version.split_once(':').map_or(version, |(_epoch, version)| version);
    version.split(['.', '+', '-']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_what_qemu_says_and_from_its_package() {
        assert_eq!(major("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)\nCopyright"), Some(10));
        assert_eq!(major("QEMU emulator version 7.2.19"), Some(7));
        assert_eq!(major("no such thing"), None);
        assert_eq!(of_package("1:7.2+dfsg-7+deb12u18+b3"), Some(7));
        assert_eq!(of_package("1:10.0.2+ds-2+deb13u1~bpo12+1"), Some(10));
        assert_eq!(of_package("11.1-1"), Some(11));
    }
}
