//! The files of a guest: cpio archives that are put one behind the other, uncompressed, since unpacking under
//! emulation takes longer than reading.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context as _, bail};

use super::modules::Module;
use crate::command;

const INIT: &str = include_str!("init.sh");
const FOLDERS: [&str; 12] =
    ["bin", "dev", "etc", "job", "modules", "out", "proc", "root", "run", "sys", "tmp", "usr/bin"];
const FILES: [(&str, &str); 3] = [
    ("etc/hosts", "127.0.0.1 localhost guest\n::1 localhost\n"),
    ("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"),
    ("etc/group", "root:x:0:\nnogroup:x:65534:\n"),
];

/// A folder that becomes an archive.
pub(super) struct Tree {
    folder: PathBuf,
}

impl Tree {
    fn new(folder: PathBuf) -> anyhow::Result<Self> {
        let _absent = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).with_context(|| format!("`{}`", folder.display()))?;
        Ok(Self { folder })
    }

    fn write(&self, path: &str, content: &[u8]) -> anyhow::Result<()> {
        let file = self.place(path)?;
        fs::write(&file, content).with_context(|| format!("`{}`", file.display()))
    }

    /// Where a file of the guest goes, its folder made.
    fn place(&self, path: &str) -> anyhow::Result<PathBuf> {
        let file = self.folder.join(path.trim_start_matches('/'));
        let folder = file.parent().context("a file at the root of nothing")?;
        fs::create_dir_all(folder).with_context(|| format!("`{}`", folder.display()))?;
        Ok(file)
    }

    /// A program at `/bin`, without what only a debugger reads, and the libraries that it loads.
    fn add_program(&self, program: &Path) -> anyhow::Result<()> {
        let name = program.file_name().with_context(|| format!("`{}` is no program", program.display()))?;
        let to = self.place(&format!("bin/{}", name.to_string_lossy()))?;
        let stripped = command::output(command::clean("strip", ["-o"]).arg(&to).arg(program));
        if stripped.is_err() {
            // No strip here, or a script.
            fs::copy(program, &to).with_context(|| format!("`{}`", program.display()))?;
        }
        for library in libraries(program) {
            let to = self.place(&library.to_string_lossy())?;
            if !to.exists() {
                fs::copy(&library, &to).with_context(|| format!("`{}`", library.display()))?;
            }
        }
        Ok(())
    }

    /// Packs everything, owned by root, into `archive`, and removes the folder.
    fn pack(self, archive: &Path) -> anyhow::Result<()> {
        let mut paths = BTreeSet::new();
        list(&self.folder, Path::new(""), &mut paths)?;
        let names: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
        let list = self.folder.with_extension("list");
        fs::write(&list, names.join("\n") + "\n").with_context(|| format!("`{}`", list.display()))?;

        let mut cpio = command::clean("cpio", ["--create", "--format=newc", "--owner=0:0", "--quiet"]);
        cpio.current_dir(&self.folder).stdin(File::open(&list)?);
        cpio.stdout(File::create(archive).with_context(|| format!("`{}`", archive.display()))?).stderr(Stdio::piped());
        let shown = command::shown(&cpio);
        let out = cpio.spawn().and_then(std::process::Child::wait_with_output);
        let out = out.with_context(|| format!("`{shown}` cannot be started"))?;
        if !out.status.success() {
            bail!("`{shown}` ended with {}\n    {}", out.status, String::from_utf8_lossy(&out.stderr).trim_end());
        }
        fs::remove_dir_all(&self.folder).with_context(|| format!("`{}`", self.folder.display()))?;
        fs::remove_file(&list).with_context(|| format!("`{}`", list.display()))
    }
}

/// Packs what all guests have: busybox, these programs with their libraries, and the first process.
pub(super) fn pack_base(archive: &Path, programs: &[PathBuf]) -> anyhow::Result<()> {
    let tree = Tree::new(archive.with_extension("tree"))?;
    for folder in FOLDERS {
        let folder = tree.folder.join(folder);
        fs::create_dir_all(&folder).with_context(|| format!("`{}`", folder.display()))?;
    }
    for (path, content) in FILES {
        tree.write(path, content.as_bytes())?;
    }
    tree.write("init", INIT.as_bytes())?;
    make_executable(&tree.folder.join("init"))?;
    tree.write("modules/order", b"")?;
    let busybox = command::find("busybox").context("no `busybox` here: `cargo xtask setup` installs it")?;
    tree.add_program(&busybox)?;
    for program in programs {
        tree.add_program(program)?;
    }
    tree.pack(archive)
}

/// Packs what one run has of its own: a shell script and modules to load before it.
pub(super) fn pack_job(archive: &Path, script: &str, interactive: bool, modules: &[Module]) -> anyhow::Result<()> {
    let tree = Tree::new(archive.with_extension("tree"))?;
    tree.write("job/command", script.as_bytes())?;
    if interactive {
        tree.write("job/interactive", b"")?;
    }
    for module in modules {
        tree.write(&format!("modules/{}.ko", module.name), &module.object)?;
    }
    // The shell reads a line only where it ends.
    let order = modules.iter().flat_map(|module| [module.name.as_str(), "\n"]).collect::<String>();
    tree.write("modules/order", order.as_bytes())?;
    tree.pack(archive)
}

fn make_executable(file: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).with_context(|| format!("`{}`", file.display()))
}

/// Every path below a folder, the folders before what is in them.
fn list(root: &Path, below: &Path, paths: &mut BTreeSet<PathBuf>) -> anyhow::Result<()> {
    let folder = root.join(below);
    for entry in fs::read_dir(&folder).with_context(|| format!("`{}`", folder.display()))? {
        let entry = entry.with_context(|| format!("`{}`", folder.display()))?;
        let path = below.join(entry.file_name());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list(root, &path, paths)?;
        }
        paths.insert(path);
    }
    Ok(())
}

/// The libraries of a program and what loads them, at the places where it looks for them.
fn libraries(program: &Path) -> Vec<PathBuf> {
    // `ldd` ends with 1 for a program without any.
    let said = command::output(command::clean("ldd", [program]).env("LC_ALL", "C")).unwrap_or_default();
    libraries_in(&said)
}

/// Reads `libm.so.6 => /lib/libm.so.6 (0x...)` and `/lib64/ld-linux-x86-64.so.2 (0x...)`.
fn libraries_in(said: &str) -> Vec<PathBuf> {
    let words = said.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    words.map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_their_loader_are_read_from_what_ldd_says() {
        let said = "\tlinux-vdso.so.1 (0x00007f)\n\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let expected = ["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(libraries_in(said), expected.map(PathBuf::from));
        assert!(libraries_in("\tnot a dynamic executable\n").is_empty());
    }

    #[test]
    fn folders_are_listed_before_what_is_in_them() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        fs::write(folder.path().join("a/b/c"), "").unwrap();
        fs::write(folder.path().join("a-file"), "").unwrap();
        let mut paths = BTreeSet::new();
        list(folder.path(), Path::new(""), &mut paths).unwrap();
        assert_eq!(paths.into_iter().collect::<Vec<_>>(), ["a", "a/b", "a/b/c", "a-file"].map(PathBuf::from));
    }
}
