//! A kernel's modules: which file a name means, and which others it needs before it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};

use crate::command;

/// The modules of one kernel.
pub(crate) struct Modules {
    /// By name, with `_` for `-`.
    files: BTreeMap<String, PathBuf>,
    /// Those that the kernel has in itself.
    built_in: Vec<String>,
}

/// A module ready to be loaded.
pub(crate) struct Module {
    /// With `_` for `-`.
    pub(crate) name: String,
    /// The object, not compressed.
    pub(crate) object: Vec<u8>,
}

impl Modules {
    /// Looks through the folder that holds `kernel/` and `modules.builtin`.
    pub(super) fn read(folder: &Path) -> anyhow::Result<Self> {
        let built_in = fs::read_to_string(folder.join("modules.builtin")).unwrap_or_default();
        let built_in = built_in.lines().filter_map(|line| name(Path::new(line))).collect();
        let mut modules = Self { files: BTreeMap::new(), built_in };
        modules.add(folder)?;
        Ok(modules)
    }

    fn add(&mut self, folder: &Path) -> anyhow::Result<()> {
        for entry in fs::read_dir(folder).with_context(|| format!("`{}`", folder.display()))? {
            let entry = entry.with_context(|| format!("`{}`", folder.display()))?;
            // A symbolic link would lead to the sources of the kernel.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.add(&entry.path())?;
            } else if let Some(name) = name(&entry.path()) {
                self.files.insert(name, entry.path());
            }
        }
        Ok(())
    }

    /// These modules and all they need, in the order in which they can be loaded. What is built in is left out.
    ///
    /// # Errors
    /// The kernel does not have one of them, or its file cannot be read.
    pub(super) fn with_needed(&self, names: &[String]) -> anyhow::Result<Vec<Module>> {
        let mut order = Vec::new();
        for name in names {
            let name = name.replace('-', "_");
            if !self.files.contains_key(&name) && !self.built_in.contains(&name) {
                bail!("this kernel has no module `{name}`");
            }
            self.load(&name, &mut order)?;
        }
        Ok(order)
    }

    /// Depth first, so that what is needed comes before what needs it.
    fn load(&self, name: &str, order: &mut Vec<Module>) -> anyhow::Result<()> {
        let Some(file) = self.files.get(name) else { return Ok(()) };
        if order.iter().any(|module| module.name == name) {
            return Ok(());
        }
        let object = object(file)?;
        for needed in needed(&object) {
            self.load(&needed, order)?;
        }
        order.push(Module { name: name.to_owned(), object });
        Ok(())
    }
}

/// `kernel/net/sctp/sctp.ko.xz` is `sctp`.
fn name(file: &Path) -> Option<String> {
    let (name, compressed) = file.file_name()?.to_str()?.split_once(".ko")?;
    ["", ".xz", ".zst", ".gz"].contains(&compressed).then(|| name.replace('-', "_"))
}

fn object(file: &Path) -> anyhow::Result<Vec<u8>> {
    let program = match file.extension().and_then(|end| end.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        Some("gz") => "gzip",
        _ => return fs::read(file).with_context(|| format!("`{}`", file.display())),
    };
    command::bytes(command::clean(program, ["-dc"]).arg(file))
}

/// The modules named by `depends=` in the section `.modinfo`, whose entries end with a zero byte.
fn needed(object: &[u8]) -> Vec<String> {
    const FIELD: &[u8] = b"depends=";
    let starts = object.windows(FIELD.len()).enumerate().filter(|(_, bytes)| *bytes == FIELD);
    // The field's own name, not the end of another.
    let mut starts = starts.map(|(at, _)| at).filter(|at| *at == 0 || !object[at - 1].is_ascii_alphanumeric());
    let Some(start) = starts.next().map(|at| at + FIELD.len()) else { return Vec::new() };
    let names = object[start..].split(|byte| *byte == 0).next().unwrap_or_default();
    let names = String::from_utf8_lossy(names);
    names.split(',').filter(|name| !name.is_empty()).map(|name| name.replace('-', "_")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needed_modules_are_read_from_the_modules_own_description() {
        let sctp = b"\x7fELF\0softdepends=no\0license=GPL\0depends=libcrc32c,udp_tunnel,ip6-udp-tunnel\0name=sctp\0";
        assert_eq!(needed(sctp), ["libcrc32c", "udp_tunnel", "ip6_udp_tunnel"]);
        assert!(needed(b"license=GPL\0depends=\0name=dummy\0").is_empty());
        assert!(needed(b"").is_empty());
    }

    #[test]
    fn modules_come_after_what_they_need_and_once() {
        let folder = tempfile::tempdir().unwrap();
        let net = folder.path().join("kernel/net");
        fs::create_dir_all(&net).unwrap();
        for (name, depends) in [("a", "b-1,c"), ("b-1", "c"), ("c", "built_in")] {
            fs::write(net.join(format!("{name}.ko")), format!("\0depends={depends}\0")).unwrap();
        }
        fs::write(folder.path().join("modules.builtin"), "kernel/lib/built-in.ko\n").unwrap();
        let modules = Modules::read(folder.path()).unwrap();

        let order = modules.with_needed(&["a".to_owned(), "built-in".to_owned()]).unwrap();
        assert_eq!(order.iter().map(|module| module.name.as_str()).collect::<Vec<_>>(), ["c", "b_1", "a"]);
        let error = modules.with_needed(&["nonesuch".to_owned()]).err().unwrap().to_string();
        assert_eq!(error, "this kernel has no module `nonesuch`");
    }

    #[test]
    fn a_module_is_known_by_its_name_however_it_is_compressed() {
        for file in ["x/ip6-udp-tunnel.ko", "x/ip6-udp-tunnel.ko.xz", "x/ip6-udp-tunnel.ko.zst"] {
            assert_eq!(name(Path::new(file)).as_deref(), Some("ip6_udp_tunnel"), "{file}");
        }
        assert_eq!(name(Path::new("x/modules.builtin")), None);
        assert_eq!(name(Path::new("x/a.koala")), None);
    }
}
