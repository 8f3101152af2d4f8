//! Debian's packages: installing them, adding a source of our own for them, fetching one from another release.
//!
//! Must not know what the packages are for.

pub(crate) mod private;

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use private::Private;

use crate::command;

/// Releases that may have a newer package than the machine's, the smallest first.
const SUITES: [&str; 3] = ["trixie-backports", "forky", "sid"];
/// Where Debian is when the machine's own sources do not say.
const DEFAULT_MIRROR: &str = "http://deb.debian.org/debian";
/// Where its security updates are, likewise.
const DEFAULT_SECURITY_MIRROR: &str = "http://deb.debian.org/debian-security";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Where sources of our own are added.
const SOURCES: &str = "/etc/apt/sources.list.d";

/// Give up soon without a network, and say so: `update` warns and ends with 0 otherwise.
const NETWORK: [&str; 3] = ["Acquire::Retries=1", "Acquire::http::Timeout=20", "APT::Update::Error-Mode=any"];

/// Whether this machine has apt at all.
pub(crate) fn is_there() -> bool {
    command::find("apt-get").is_some()
}

/// Runs one of apt's programs as this machine has set it up.
fn apt<S: AsRef<OsStr>>(program: &str, args: impl IntoIterator<Item = S>) -> anyhow::Result<String> {
    let mut apt = command::clean(program, NETWORK.map(|option| format!("-o{option}")));
    command::output(apt.args(args).env("DEBIAN_FRONTEND", "noninteractive").env("LC_ALL", "C"))
}

/// Reads the package lists anew.
pub(super) fn update() -> anyhow::Result<()> {
    apt("apt-get", ["update"]).map(drop)
}

/// Installs packages.
pub(super) fn install(packages: &[&str]) -> anyhow::Result<()> {
    install_with(&[], packages)
}

/// Installs packages, and what they need, from a suite that is not taken by default.
pub(super) fn install_from(suite: &str, packages: &[&str]) -> anyhow::Result<()> {
    install_with(&["--target-release", suite], packages)
}

fn install_with(from: &[&str], packages: &[&str]) -> anyhow::Result<()> {
    // Finishes what an interrupted installation left half done; if it cannot, apt says why below.
    let mut finish = command::clean("dpkg", ["--configure", "-a"]);
    let _told_by_apt = command::output(finish.env("DEBIAN_FRONTEND", "noninteractive"));
    // Another apt may be at work; a package may be there and lack the file that is wanted of it.
    let options = ["-oDPkg::Lock::Timeout=120", "--reinstall", "--yes", "--no-install-recommends", "--no-remove"];
    apt("apt-get", ["install"].iter().chain(&options).chain(from).chain(packages)).map(drop)
}

/// Whether apt knows a version of this package that it could install.
pub(super) fn has_candidate(package: &str) -> bool {
    candidate(package).is_some()
}

/// The version of this package that apt would install.
pub(super) fn candidate(package: &str) -> Option<String> {
    candidate_in(&apt("apt-cache", ["policy", package]).ok()?)
}

/// Reads `apt-cache policy`: nothing at all for an unknown package, `(none)` for one without a version.
fn candidate_in(policy: &str) -> Option<String> {
    let version = policy.lines().find_map(|line| line.trim().strip_prefix("Candidate: "))?;
    (version != "(none)").then(|| version.to_owned())
}

/// Adds the section non-free of this Debian as a source of our own, and reads it.
pub(super) fn add_non_free() -> anyhow::Result<()> {
    let debian = Debian::here("section non-free")?;
    add_source("nonfree", &debian.source(&debian.codename, "non-free"))
}

/// Adds the backports of this Debian as a source of our own, reads it, and gives the suite's name. apt takes nothing
/// from it without being told to.
pub(super) fn add_backports() -> anyhow::Result<String> {
    let debian = Debian::here("backports")?;
    let suite = format!("{}-backports", debian.codename);
    add_source("backports", &debian.source(&suite, "main"))?;
    Ok(suite)
}

fn add_source(name: &str, source: &str) -> anyhow::Result<()> {
    let file = Path::new(SOURCES).join(format!("tracer-{name}.sources"));
    // apt skips files whose names begin with a dot, so an interrupted run leaves nothing that it reads.
    let temporary = file.with_file_name(format!(".tracer-{name}"));
    fs::write(&temporary, source)
        .and_then(|()| fs::rename(&temporary, &file))
        .with_context(|| format!("write `{}`", file.display()))?;
    update()
}

/// The Debian release that this machine runs.
struct Debian {
    codename: String,
    mirror: String,
}

impl Debian {
    /// # Errors
    /// This is another distribution, or one without a name: then there is no `what` of it to be known.
    fn here(what: &str) -> anyhow::Result<Self> {
        let system = fs::read_to_string("/etc/os-release").context("`/etc/os-release`")?;
        Self::new(what, &system, &machine_sources())
    }

    fn new(what: &str, os_release: &str, sources: &str) -> anyhow::Result<Self> {
        let field = |name: &str| {
            let line = os_release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            line.map(|value| value.trim_matches('"').to_owned())
        };
        if field("ID").as_deref() != Some("debian") {
            bail!("only Debian's {what} is known here: add what has it to the apt sources");
        }
        let codename = field("VERSION_CODENAME").context("`/etc/os-release` has no VERSION_CODENAME")?;
        Ok(Self { codename, mirror: mirror(sources, "/debian", DEFAULT_MIRROR) })
    }

    fn source(&self, suite: &str, components: &str) -> String {
        let signed = if Path::new(KEYRING).exists() { format!("Signed-By: {KEYRING}\n") } else { String::new() };
        format!("Types: deb\nURIs: {}\nSuites: {suite}\nComponents: {components}\n{signed}", self.mirror)
    }
}

/// All the machine's sources, in both of apt's forms.
fn machine_sources() -> String {
    let parts = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten().map(|entry| entry.path());
    let parts = parts.filter(|file| file.extension().is_some_and(|kind| kind == "sources" || kind == "list"));
    let files = std::iter::once(PathBuf::from("/etc/apt/sources.list")).chain(parts);
    files.filter_map(|file| fs::read_to_string(file).ok()).collect::<Vec<_>>().join("\n")
}

/// Where a suite's packages are: security updates have a place of their own.
pub(crate) fn mirror_of(suite: &str) -> String {
    let (end, default) = if suite.ends_with("-security") {
        ("/debian-security", DEFAULT_SECURITY_MIRROR)
    } else {
        ("/debian", DEFAULT_MIRROR)
    };
    mirror(&machine_sources(), end, default)
}

/// The first address in the sources with this end, which tells Debian's packages from third parties'.
fn mirror(sources: &str, end: &str, default: &str) -> String {
    let words = sources.lines().filter(|line| !line.trim_start().starts_with('#')).flat_map(str::split_whitespace);
    let mut mirrors = words.filter(|word| word.starts_with("http") && word.trim_end_matches('/').ends_with(end));
    mirrors.next().map_or(default, |mirror| mirror.trim_end_matches('/')).to_owned()
}

/// Fetches a package whose version begins as told, from the first suite that has one, with lists and settings below
/// `folder`: needs no root and leaves the machine's apt alone. Returns the file.
///
/// # Errors
/// No suite has one; with what each of them has, or why it could not be asked.
pub(super) fn download(package: &str, version: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    if !is_there() {
        bail!("no apt on this machine");
    }
    let mut refused = Vec::new();
    for suite in SUITES {
        let private = Private::new(folder.join(suite), &mirror_of(suite), suite);
        match private.versions(package) {
            Ok(versions) => match versions.iter().find(|found| found.starts_with(version)) {
                Some(found) => return private.fetch(package, found),
                None => refused.push(format!("{suite} has {}", versions.join(", "))),
            },
            // Its first line names the command, its second says why, the others say it again.
            Err(error) => refused.push(format!("{suite}: {error:#}").lines().take(2).collect::<Vec<_>>().join("\n")),
        }
    }
    bail!("no `{package}` {version}* at `{}`\n    {}", mirror_of(SUITES[0]), refused.join("\n    "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOKWORM: &str = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_CODENAME=bookworm\nID=debian\n";

    #[test]
    fn the_mirror_is_the_machines_own_in_either_form_and_never_the_security_one() {
        let old = "# deb http://no.example/debian bookworm main\n\
                   deb [arch=amd64] https://security.example/debian-security bookworm-security main\n\
                   deb [arch=amd64] https://ftp.example/debian/ bookworm main\n";
        let new = "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\n";
        let main = |sources| mirror(sources, "/debian", DEFAULT_MIRROR);
        assert_eq!(main(old), "https://ftp.example/debian");
        assert_eq!(main(new), "http://mirror.example/debian");
        assert_eq!(main(""), "http://deb.debian.org/debian");
        assert_eq!(mirror(old, "/debian-security", ""), "https://security.example/debian-security");
    }

    #[test]
    fn a_source_names_this_releases_suite_and_this_mirror() {
        let debian = Debian::new("backports", BOOKWORM, "deb http://ftp.example/debian bookworm main\n").unwrap();
        let source = debian.source("bookworm-backports", "main");
        let expected = "Types: deb\nURIs: http://ftp.example/debian\nSuites: bookworm-backports\nComponents: main\n";
        assert!(source.starts_with(expected), "{source}");
    }

    #[test]
    fn no_source_is_made_up_for_another_distribution() {
        let error = Debian::new("backports", "ID=ubuntu\nVERSION_CODENAME=noble\n", "").err().unwrap().to_string();
        assert!(error.contains("only Debian's backports"), "{error}");
    }

    #[test]
    fn a_package_without_a_version_to_install_has_no_candidate() {
        let policy = "netperf:\n  Installed: (none)\n  Candidate: 2.7.0-0.1\n  Version table:\n";
        assert_eq!(candidate_in(policy).as_deref(), Some("2.7.0-0.1"));
        assert_eq!(candidate_in("netperf:\n  Installed: (none)\n  Candidate: (none)\n  Version table:\n"), None);
        assert_eq!(candidate_in(""), None);
    }
}
