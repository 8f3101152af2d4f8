//! The kernel's own file systems.

use std::{fs, path::Path};

use anyhow::{Context as _, bail};
use nix::unistd::geteuid;

use super::{Outcome, Piece};
use crate::command;

/// Type, place, what for.
const MOUNTS: [(&str, &str, &str); 3] = [
    ("tracefs", "/sys/kernel/tracing", "formats of tracepoints, from which the names of gfp flags come"),
    ("bpf", "/sys/fs/bpf", "bpftool and others show our programs by it"),
    ("debugfs", "/sys/kernel/debug", "bpftrace and bcc, which tests compare with, look for tracepoints there"),
];

pub(super) fn ensure() -> Vec<Piece> {
    let mounted = fs::read_to_string("/proc/mounts").unwrap_or_default();
    MOUNTS
        .map(|(kind, place, why)| {
            let outcome = if is_mounted(&mounted, kind, place) { Ok(Outcome::Present) } else { mount(kind, place) };
            Piece::optional(format!("{kind} at {place}"), why, outcome)
        })
        .into()
}

/// Whether a line of `/proc/mounts` says so: device, place, type.
fn is_mounted(mounts: &str, kind: &str, place: &str) -> bool {
    mounts.lines().any(|line| line.split(' ').skip(1).take(2).eq([place, kind]))
}

fn mount(kind: &str, place: &str) -> anyhow::Result<Outcome> {
    if !Path::new(place).is_dir() {
        bail!("this kernel has no `{place}`");
    }
    if !geteuid().is_root() {
        bail!("needs root: sudo mount -t {kind} {kind} {place}");
    }
    command::output(&mut command::clean("mount", ["-t", kind, kind, place])).context("this machine does not let us")?;
    Ok(Outcome::Installed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_counts_as_mounted_only_at_its_place() {
        let mounts = "none / ext4 rw 0 0\nnodev /sys/kernel/debug/tracing tracefs rw 0 0\nbpf /sys/fs/bpf bpf rw 0 0\n";
        assert!(is_mounted(mounts, "bpf", "/sys/fs/bpf"));
        assert!(!is_mounted(mounts, "tracefs", "/sys/kernel/tracing"));
        assert!(!is_mounted("", "bpf", "/sys/fs/bpf"));
    }
}
