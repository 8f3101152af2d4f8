//! The distribution's packages: the benchmark, and what tests run or compare with.
//!
//! None is required: without netperf the demonstration has a load of its own, and a test that lacks a program skips
//! with that as its reason.

use std::path::Path;

use nix::unistd::geteuid;

use super::{Outcome, Piece, apt};
use crate::{command, console};

struct Package {
    name: &'static str,
    /// A program or, with a leading slash, a file that shows it is there.
    proof: &'static str,
    why: &'static str,
    /// Needed by tests only.
    tests_only: bool,
}

const PACKAGES: [Package; 13] = [
    Package { name: "netperf", proof: "netserver", why: "the benchmark that is traced", tests_only: false },
    Package { name: "iproute2", proof: "ip", why: "tests look at addresses and sockets with it", tests_only: true },
    Package { name: "bpftrace", proof: "bpftrace", why: "tests compare our counts with its counts", tests_only: true },
    Package { name: "bpftool", proof: "bpftool", why: "tests look for programs left behind", tests_only: true },
    Package { name: "linux-perf", proof: "perf", why: "tests compare our cost with its cost", tests_only: true },
    Package {
        name: "bpfcc-tools",
        proof: "stackcount-bpfcc",
        why: "tests compare our paths with its",
        tests_only: true,
    },
    Package {
        name: "libdevel-nytprof-perl",
        proof: "/usr/share/perl5/Devel/NYTProf/flamegraph.pl",
        why: "has flamegraph.pl, which must take our folded stacks",
        tests_only: true,
    },
    Package { name: "sqlite3", proof: "sqlite3", why: "tests read recordings with it", tests_only: true },
    Package { name: "sudo", proof: "sudo", why: "tests run as a user behind it", tests_only: true },
    Package { name: "busybox-static", proof: "busybox", why: "is the system of a virtual machine", tests_only: true },
    Package { name: "cpio", proof: "cpio", why: "packs a virtual machine's files", tests_only: true },
    Package { name: "xz-utils", proof: "xz", why: "unpacks kernel modules", tests_only: true },
    Package { name: "tmux", proof: "tmux", why: "tests give the tracer a terminal with it", tests_only: true },
];

impl Package {
    fn is_there(&self) -> bool {
        if self.proof.starts_with('/') { Path::new(self.proof).exists() } else { command::find(self.proof).is_some() }
    }

    fn piece(&self, outcome: Outcome) -> Piece {
        Piece::new(self.name, self.why, outcome)
    }
}

/// Finds the packages and has apt install the missing ones, all at once or else one by one.
pub(super) fn ensure(with_tests: bool) -> Vec<Piece> {
    let wanted = PACKAGES.iter().filter(|package| with_tests || !package.tests_only);
    let (there, missing): (Vec<_>, Vec<_>) = wanted.partition(|package| package.is_there());
    let mut pieces: Vec<_> = there.iter().map(|package| package.piece(Outcome::Present)).collect();
    if missing.is_empty() {
        return pieces;
    }
    let names: Vec<_> = missing.iter().map(|package| package.name).collect();
    let lacking = |reason: String| {
        // The reason is the same for all: in full once.
        let reasons = std::iter::once(reason).chain((1..missing.len()).map(|_| "for the same reason".to_owned()));
        missing.iter().zip(reasons).map(|(package, reason)| package.piece(Outcome::Lacking(reason))).collect::<Vec<_>>()
    };
    if let Some(reason) = obstacle(&names) {
        pieces.extend(lacking(reason));
        return pieces;
    }
    // An error here may be one source of several that is down: installing tells more.
    let read = read_lists(&names);
    let _progress = console::progress(&format!("installing {}", names.join(" ")));
    let together = apt::install(&names);
    if let (Err(_), Err(error)) = (&read, &together) {
        pieces.extend(lacking(format!("{error:#}")));
        return pieces;
    }
    pieces.extend(missing.iter().map(|package| {
        let alone = if together.is_ok() { Ok(()) } else { apt::install(&[package.name]) };
        match alone {
            Ok(()) if package.is_there() => package.piece(Outcome::Installed),
            Ok(()) => package.piece(Outcome::Lacking(format!("installed, but it has no `{}`", package.proof))),
            Err(error) => package.piece(Outcome::Lacking(format!("{error:#}"))),
        }
    }));
    pieces
}

/// Why nothing can be installed at all.
fn obstacle(names: &[&str]) -> Option<String> {
    if !apt::is_there() {
        return Some(format!("no apt here: install what this distribution calls {}", names.join(", ")));
    }
    if !geteuid().is_root() {
        let section = if names.contains(&"netperf") { " (netperf is in Debian's section non-free)" } else { "" };
        return Some(format!("needs root: sudo apt-get install {}{section}", names.join(" ")));
    }
    None
}

/// Reads apt's lists, and adds the section that has netperf where none of them knows it.
fn read_lists(names: &[&str]) -> anyhow::Result<()> {
    let _progress = console::progress("reading the package lists");
    let read = apt::update();
    if names.contains(&"netperf") && !apt::has_candidate("netperf") {
        return read.and(apt::add_non_free());
    }
    read
}
