//! Debian's packages: installing them, and fetching one from another release without touching the machine's sources.
//!
//! Must not know what the packages are for.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};

use crate::command;

/// Releases that may have a newer package than the machine's, the smallest first.
const SUITES: [&str; 3] = ["trixie-backports", "forky", "sid"];
/// Where Debian is when the machine's own sources do not say.
const DEFAULT_MIRROR: &str = "http://deb.debian.org/debian";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Our own source for the section non-free.
const NON_FREE: &str = "/etc/apt/sources.list.d/tracer-nonfree.sources";

/// Give up soon without a network, and say so: `update` warns and ends with 0 otherwise.
const NETWORK: [&str; 3] = ["Acquire::Retries=1", "Acquire::http::Timeout=20", "APT::Update::Error-Mode=any"];

/// Whether this machine has apt at all.
pub(super) fn is_there() -> bool {
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
    // Finishes what an interrupted installation left half done; if it cannot, apt says why below.
    let mut finish = command::clean("dpkg", ["--configure", "-a"]);
    let _told_by_apt = command::output(finish.env("DEBIAN_FRONTEND", "noninteractive"));
    // Another apt may be at work; a package may be there and lack the file that is wanted of it.
    let options = ["-oDPkg::Lock::Timeout=120", "--reinstall", "--yes", "--no-install-recommends", "--no-remove"];
    apt("apt-get", ["install"].iter().chain(&options).chain(packages)).map(drop)
}

/// Whether apt knows a version of this package that it could install.
pub(super) fn has_candidate(package: &str) -> bool {
    apt("apt-cache", ["policy", package]).is_ok_and(|policy| candidate(&policy))
}

/// Reads `apt-cache policy`: nothing at all for an unknown package, `(none)` for one without a version.
fn candidate(policy: &str) -> bool {
    policy.lines().any(|line| line.trim().strip_prefix("Candidate: ").is_some_and(|version| version != "(none)"))
}

/// Adds the section non-free of this Debian as a source of our own, and reads it.
pub(super) fn add_non_free() -> anyhow::Result<()> {
    let system = fs::read_to_string("/etc/os-release").context("`/etc/os-release`")?;
    let source = non_free_source(&system, &machine_sources())?;
    // apt skips files whose names begin with a dot, so an interrupted run leaves nothing that it reads.
    let temporary = Path::new(NON_FREE).with_file_name(".tracer-nonfree");
    fs::write(&temporary, source)
        .and_then(|()| fs::rename(&temporary, NON_FREE))
        .with_context(|| format!("write `{NON_FREE}`"))?;
    update()
}

fn non_free_source(os_release: &str, sources: &str) -> anyhow::Result<String> {
    let field = |name: &str| {
        let line = os_release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.map(|value| value.trim_matches('"').to_owned())
    };
    if field("ID").as_deref() != Some("debian") {
        bail!("only Debian's section non-free is known here: add the section that has it to the apt sources");
    }
    let suite = field("VERSION_CODENAME").context("`/etc/os-release` has no VERSION_CODENAME")?;
    let mirror = mirror(sources);
    let signed = if Path::new(KEYRING).exists() { format!("Signed-By: {KEYRING}\n") } else { String::new() };
    Ok(format!("Types: deb\nURIs: {mirror}\nSuites: {suite}\nComponents: non-free\n{signed}"))
}

/// All the machine's sources, in both of apt's forms.
fn machine_sources() -> String {
    let parts = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten().map(|entry| entry.path());
    let parts = parts.filter(|file| file.extension().is_some_and(|kind| kind == "sources" || kind == "list"));
    let files = std::iter::once(PathBuf::from("/etc/apt/sources.list")).chain(parts);
    files.filter_map(|file| fs::read_to_string(file).ok()).collect::<Vec<_>>().join("\n")
}

/// The first address in the sources that ends in `/debian`, which leaves out security and third parties.
fn mirror(sources: &str) -> String {
    let words = sources.lines().filter(|line| !line.trim_start().starts_with('#')).flat_map(str::split_whitespace);
    let mut mirrors = words.filter(|word| word.starts_with("http") && word.trim_end_matches('/').ends_with("/debian"));
    mirrors.next().map_or(DEFAULT_MIRROR, |mirror| mirror.trim_end_matches('/')).to_owned()
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
    let mirror = mirror(&machine_sources());
    let mut refused = Vec::new();
    for suite in SUITES {
        let private = Private { folder: folder.join(suite) };
        match private.versions(package, &mirror, suite) {
            Ok(versions) => match versions.iter().find(|found| found.starts_with(version)) {
                Some(found) => return private.fetch(package, found),
                None => refused.push(format!("{suite} has {}", versions.join(", "))),
            },
            // Its first line names the command, its second says why, the others say it again.
            Err(error) => refused.push(format!("{suite}: {error:#}").lines().take(2).collect::<Vec<_>>().join("\n")),
        }
    }
    bail!("no `{package}` {version}* at `{mirror}`\n    {}", refused.join("\n    "))
}

/// An apt of our own.
struct Private {
    folder: PathBuf,
}

impl Private {
    fn apt(&self, program: &str, args: &[&str]) -> anyhow::Result<String> {
        let mut apt = command::clean(program, args);
        command::output(apt.current_dir(&self.folder).env("APT_CONFIG", self.settings()).env("LC_ALL", "C"))
    }

    fn settings(&self) -> PathBuf {
        self.folder.join("apt.conf")
    }

    /// Settings, the one source, and the folders that apt wants.
    fn prepare(&self, mirror: &str, suite: &str) -> anyhow::Result<()> {
        let folder = self.folder.display();
        let ours = [
            format!("Dir::Etc::SourceList={folder}/sources.list"),
            "Dir::Etc::SourceParts=/dev/null".to_owned(),
            format!("Dir::State::Lists={folder}/lists"),
            format!("Dir::Cache={folder}/cache"),
            "Acquire::Languages=none".to_owned(),
            // As root apt would drop to a user that cannot write here.
            "APT::Sandbox::User=".to_owned(),
        ];
        let settings = ours.into_iter().chain(NETWORK.map(str::to_owned)).map(|setting| {
            let (name, value) = setting.split_once('=').unwrap_or((&setting, ""));
            format!("{name} \"{value}\";\n")
        });
        let signed = if Path::new(KEYRING).exists() { format!("[signed-by={KEYRING}] ") } else { String::new() };
        let source = format!("deb {signed}{mirror} {suite} main\n");
        fs::create_dir_all(self.folder.join("lists/partial"))
            .and_then(|()| fs::create_dir_all(self.folder.join("cache/archives/partial")))
            .and_then(|()| fs::write(self.settings(), settings.collect::<String>()))
            .and_then(|()| fs::write(self.folder.join("sources.list"), source))
            .with_context(|| format!("prepare `{folder}` for apt"))
    }

    /// The versions that a suite has, newest first.
    fn versions(&self, package: &str, mirror: &str, suite: &str) -> anyhow::Result<Vec<String>> {
        self.prepare(mirror, suite)?;
        self.apt("apt-get", &["update"])?;
        Ok(versions(&self.apt("apt-cache", &["madison", package])?))
    }

    fn fetch(&self, package: &str, version: &str) -> anyhow::Result<PathBuf> {
        self.apt("apt-get", &["download", &format!("{package}={version}")])?;
        let entries = fs::read_dir(&self.folder).with_context(|| format!("`{}`", self.folder.display()))?;
        let start = format!("{package}_{}", version.replace(':', "%3a"));
        let mut files = entries.flatten().map(|entry| entry.path());
        files
            .find(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start)))
            .with_context(|| format!("apt has not put `{start}*.deb` into `{}`", self.folder.display()))
    }
}

/// Reads `apt-cache madison`: package, version and source between bars, newest first.
fn versions(madison: &str) -> Vec<String> {
    madison.lines().filter_map(|line| Some(line.split('|').nth(1)?.trim().to_owned())).collect()
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
        assert_eq!(mirror(old), "https://ftp.example/debian");
        assert_eq!(mirror(new), "http://mirror.example/debian");
        assert_eq!(mirror(""), "http://deb.debian.org/debian");
    }

    #[test]
    fn the_source_for_non_free_names_this_release_and_this_mirror() {
        let source = non_free_source(BOOKWORM, "deb http://ftp.example/debian bookworm main\n").unwrap();
        assert!(
            source.starts_with("Types: deb\nURIs: http://ftp.example/debian\nSuites: bookworm\nComponents: non-free\n"),
            "{source}"
        );
    }

    #[test]
    fn no_source_is_made_up_for_another_distribution() {
        let error = non_free_source("ID=ubuntu\nVERSION_CODENAME=noble\n", "").unwrap_err().to_string();
        assert!(error.contains("only Debian's"), "{error}");
    }

    #[test]
    fn a_package_without_a_version_to_install_has_no_candidate() {
        assert!(candidate("netperf:\n  Installed: (none)\n  Candidate: 2.7.0-0.1\n  Version table:\n"));
        assert!(!candidate("netperf:\n  Installed: (none)\n  Candidate: (none)\n  Version table:\n"));
        assert!(!candidate(""));
    }

    #[test]
    fn versions_are_read_in_the_order_in_which_apt_gives_them() {
        let madison = "  rust-src | 1.97.1+dfsg1-1~bpo13+1 | http://m trixie-backports/main amd64 Packages\n\
                       \x20 rust-src | 1.96.1+dfsg1-2~bpo13+1 | http://m trixie-backports/main amd64 Packages\n";
        assert_eq!(versions(madison), ["1.97.1+dfsg1-1~bpo13+1", "1.96.1+dfsg1-2~bpo13+1"]);
        assert_eq!(versions(""), Vec::<String>::new());
    }
}
