//! The user behind sudo, whom a command runs as.

use std::{ffi::OsString, os::unix::ffi::OsStringExt as _, path::PathBuf};

use anyhow::{Context as _, bail};
use nix::unistd::{self, Gid, Uid};

/// A user with all that a process of his has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// User id.
    pub uid: Uid,
    /// Primary group id.
    pub gid: Gid,
    /// All groups, the primary one among them.
    pub groups: Vec<Gid>,
    /// Login name; the number where the system knows none.
    pub name: String,
    /// Home directory.
    pub home: PathBuf,
    /// Login shell.
    pub shell: PathBuf,
}

impl User {
    /// The user who called sudo, from its variables (`variable` is [`std::env::var`] or stands for it); `None` when
    /// we are not root, not under sudo, or root called it.
    ///
    /// # Errors
    /// When the variables are there and make no sense: then running as root would be the wrong guess.
    pub fn behind_sudo(variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Option<Self>> {
        if !unistd::geteuid().is_root() {
            return Ok(None);
        }
        let Some(uid) = variable("SUDO_UID") else { return Ok(None) };
        let uid = Uid::from_raw(id("SUDO_UID", &uid)?);
        if uid.is_root() {
            return Ok(None);
        }
        let known = unistd::User::from_uid(uid).with_context(|| format!("user of `SUDO_UID` {uid}"))?;
        let gid = match (variable("SUDO_GID"), &known) {
            (Some(gid), _) => Gid::from_raw(id("SUDO_GID", &gid)?),
            (None, Some(known)) => known.gid,
            (None, None) => {
                bail!("no group of user {uid}: set `SUDO_GID`, or run the command as root with `--as-root`")
            }
        };
        let Some(known) = known else {
            let name = variable("SUDO_USER").filter(|name| !name.is_empty()).unwrap_or_else(|| uid.to_string());
            let (home, shell) = ("/".into(), "/bin/sh".into());
            return Ok(Some(Self { uid, gid, groups: vec![gid], name, home, shell }));
        };
        let name = std::ffi::CString::new(known.name.as_str()).context("user name")?;
        let groups = unistd::getgrouplist(&name, gid).with_context(|| format!("groups of user `{}`", known.name))?;
        Ok(Some(Self { uid, gid, groups, name: known.name, home: known.dir, shell: known.shell }))
    }

    /// An environment as this user would have it, made from `ours`.
    pub(super) fn environment(&self, ours: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
        let own: [(&str, OsString); 4] = [
            ("HOME", self.home.clone().into()),
            ("LOGNAME", self.name.clone().into()),
            ("SHELL", self.shell.clone().into()),
            ("USER", self.name.clone().into()),
        ];
        let theirs = ours.filter(|(name, _)| {
            let name = name.clone().into_vec();
            !name.starts_with(b"SUDO_") && own.iter().all(|(known, _)| known.as_bytes() != name)
        });
        let mut environment: Vec<_> = theirs.collect();
        environment.extend(own.map(|(name, value)| (name.into(), value)));
        environment
    }
}

fn id(variable: &str, value: &str) -> anyhow::Result<u32> {
    value.parse().ok().filter(|id| *id != u32::MAX).with_context(|| {
        let value = crate::workload::printable(value);
        format!("`{variable}` is `{value}`, which is no id: correct it, or run the command as root with `--as-root`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alice() -> User {
        User {
            uid: Uid::from_raw(1000),
            gid: Gid::from_raw(100),
            groups: vec![Gid::from_raw(100)],
            name: "alice".into(),
            home: "/home/alice".into(),
            shell: "/bin/zsh".into(),
        }
    }

    #[test]
    fn the_environment_is_the_users_and_tells_nothing_of_sudo() {
        let ours = [("HOME", "/root"), ("PATH", "/bin"), ("SUDO_COMMAND", "x"), ("SUDOKU", "9"), ("USER", "root")];
        let mut environment = alice().environment(ours.iter().map(|(name, value)| (name.into(), value.into())));
        environment.sort();
        let expected = [
            ("HOME", "/home/alice"),
            ("LOGNAME", "alice"),
            ("PATH", "/bin"),
            ("SHELL", "/bin/zsh"),
            ("SUDOKU", "9"),
            ("USER", "alice"),
        ];
        assert_eq!(environment, expected.map(|(name, value)| (OsString::from(name), OsString::from(value))));
    }

    #[test]
    fn sudo_variables_that_make_no_sense_are_no_reason_to_run_as_root() {
        if !unistd::geteuid().is_root() {
            return;
        }
        let sudo = |uid: &'static str, gid: &'static str| {
            User::behind_sudo(move |name| match name {
                "SUDO_UID" => Some(uid.into()),
                "SUDO_GID" => Some(gid.into()),
                _ => None,
            })
        };
        assert_eq!(sudo("0", "0").unwrap(), None);
        for (uid, gid) in [("", "0"), ("me", "0"), ("-1", "0"), ("4294967295", "0"), ("1000", "x")] {
            assert!(sudo(uid, gid).is_err(), "{uid}:{gid}");
        }
        assert_eq!(User::behind_sudo(|_| None).unwrap(), None);
    }
}
