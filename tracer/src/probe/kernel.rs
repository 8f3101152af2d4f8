//! What the running kernel is like, as its BTF tells: types, functions and tracepoint arguments.
//!
//! Presence and argument order are asked here, never derived from a version number.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context as _, Result};
use btf_rs::{Btf, FuncProto, Member, Struct, Type};

/// Where the kernel shows its own types.
pub const BTF: &str = "/sys/kernel/btf/vmlinux";

/// The running kernel's types.
pub struct Kernel {
    btf: Btf,
}

impl Kernel {
    /// Reads the types of the running kernel.
    ///
    /// # Errors
    /// When the kernel has none (`CONFIG_DEBUG_INFO_BTF`), or they cannot be read.
    pub fn read() -> Result<Self> {
        Self::from_file(Path::new(BTF))
    }

    fn from_file(path: &Path) -> Result<Self> {
        // Read as a whole: btf-rs asks a file for its position at every type, a system call each time.
        let bytes = std::fs::read(path).map_err(anyhow::Error::from);
        let btf = bytes.and_then(|bytes| Ok(Btf::from_bytes(&bytes)?)).with_context(|| {
            format!("kernel types in `{}`; a kernel built with CONFIG_DEBUG_INFO_BTF has them", path.display())
        })?;
        Ok(Self { btf })
    }

    /// BTF id of a kernel function that BPF programs may call (a kfunc), or of any function known by this name.
    pub fn function(&self, name: &str) -> Option<u32> {
        self.id(name, |kind| matches!(kind, Type::Func(_)))
    }

    /// BTF id of a structure.
    pub fn structure(&self, name: &str) -> Option<u32> {
        self.id(name, |kind| matches!(kind, Type::Struct(_)))
    }

    fn id(&self, name: &str, is: impl Fn(&Type) -> bool) -> Option<u32> {
        let ids = self.btf.resolve_ids_by_name(name).ok()?;
        ids.into_iter().find(|id| self.btf.resolve_type_by_id(*id).is_ok_and(|kind| is(&kind)))
    }

    /// Number of arguments of a raw tracepoint, from the kernel's `btf_trace_NAME`; `None` when there is no such
    /// event.
    pub fn tracepoint_arguments(&self, event: &str) -> Option<usize> {
        // The first argument is the private pointer of the caller.
        self.tracepoint(event)?.parameters.len().checked_sub(1)
    }

    /// What a raw tracepoint's argument is: the name of its type (`gfp_t`, `int`), `*` for a pointer.
    pub fn tracepoint_argument(&self, event: &str, n: usize) -> Option<String> {
        let prototype = self.tracepoint(event)?;
        let kind = self.btf.resolve_chained_type(prototype.parameters.get(n + 1)?).ok()?;
        if let Type::Ptr(_) = kind {
            return Some("*".to_owned());
        }
        self.btf.resolve_name(kind.as_btf_type()?).ok()
    }

    /// Number of arguments of a function.
    pub fn arguments(&self, function: &str) -> Option<usize> {
        let types = self.btf.resolve_types_by_name(function).ok()?;
        let function = types.into_iter().find_map(|kind| if let Type::Func(it) = kind { Some(it) } else { None })?;
        let Type::FuncProto(prototype) = self.btf.resolve_chained_type(&function).ok()? else { return None };
        Some(prototype.parameters.len())
    }

    fn tracepoint(&self, event: &str) -> Option<FuncProto> {
        let types = self.btf.resolve_types_by_name(&format!("btf_trace_{event}")).ok()?;
        let typedef = types.into_iter().find_map(|kind| if let Type::Typedef(it) = kind { Some(it) } else { None })?;
        let Type::Ptr(pointer) = self.btf.resolve_chained_type(&typedef).ok()? else { return None };
        let Type::FuncProto(prototype) = self.btf.resolve_chained_type(&pointer).ok()? else { return None };
        Some(prototype)
    }

    /// Offset in bytes of a field of a structure. The path names members within members; unnamed ones in between
    /// are looked through. `None` where there is no such field, or where it is a bitfield.
    pub fn offset(&self, structure: &str, path: &[&str]) -> Option<u32> {
        let types = self.btf.resolve_types_by_name(structure).ok()?;
        let structure = types.into_iter().find_map(|kind| if let Type::Struct(it) = kind { Some(it) } else { None })?;
        self.offset_in(&structure, path).filter(|bits| bits.is_multiple_of(8)).map(|bits| bits / 8)
    }

    /// In bits.
    fn offset_in(&self, structure: &Struct, path: &[&str]) -> Option<u32> {
        let (name, rest) = path.split_first()?;
        for member in &structure.members {
            let member_name = self.btf.resolve_name(member).unwrap_or_default();
            if member_name == *name {
                if rest.is_empty() {
                    return member.bitfield_size().is_none_or(|it| it == 0).then(|| member.bit_offset());
                }
                return Some(member.bit_offset() + self.offset_in(&self.structure_of(member)?, rest)?);
            }
            if member_name.is_empty()
                && let Some(inner) = self.structure_of(member)
                && let Some(bits) = self.offset_in(&inner, path)
            {
                return Some(member.bit_offset() + bits);
            }
        }
        None
    }

    /// The structure or union that a member is, seen through type names and qualifiers.
    fn structure_of(&self, member: &Member) -> Option<Struct> {
        let mut kind = self.btf.resolve_chained_type(member).ok()?;
        loop {
            kind = match kind {
                Type::Struct(it) | Type::Union(it) => return Some(it),
                Type::Typedef(it) => self.btf.resolve_chained_type(&it).ok()?,
                Type::Const(it) | Type::Volatile(it) => self.btf.resolve_chained_type(&it).ok()?,
                _ => return None,
            }
        }
    }

    /// Names of the values of an enumeration, without a prefix, in lower case.
    pub fn enumeration(&self, name: &str, prefix: &str) -> BTreeMap<u32, String> {
        let mut names = BTreeMap::new();
        for kind in self.btf.resolve_types_by_name(name).unwrap_or_default() {
            let Type::Enum(values) = kind else { continue };
            for member in &values.members {
                let Ok(name) = self.btf.resolve_name(member) else { continue };
                if let Some(name) = name.strip_prefix(prefix) {
                    names.insert(member.val(), name.to_lowercase());
                }
            }
        }
        names
    }

    /// Names of the migrate types by number, such as `unmovable`: aliases and the count of them left out.
    pub fn migratetypes(&self) -> BTreeMap<u8, String> {
        let mut names = BTreeMap::new();
        let Ok(types) = self.btf.resolve_types_by_name("migratetype") else { return names };
        for kind in types {
            let Type::Enum(values) = kind else { continue };
            for member in &values.members {
                let Ok(name) = self.btf.resolve_name(member) else { continue };
                let Some(name) = name.strip_prefix("MIGRATE_") else { continue };
                // `MIGRATE_PCPTYPES` has the number of `MIGRATE_HIGHATOMIC`, `MIGRATE_TYPES` is their count.
                if name == "PCPTYPES" || name == "TYPES" {
                    continue;
                }
                if let Ok(number) = u8::try_from(member.val()) {
                    names.insert(number, name.to_lowercase());
                }
            }
        }
        names
    }

    /// Bytes of a kernel stack (`THREAD_SIZE`), from the length of `thread_union.stack`.
    pub fn stack_bytes(&self) -> Option<u32> {
        let types = self.btf.resolve_types_by_name("thread_union").ok()?;
        let union = types.into_iter().find_map(|kind| if let Type::Union(it) = kind { Some(it) } else { None })?;
        let stack = union.members.iter().find(|member| self.btf.resolve_name(*member).is_ok_and(|it| it == "stack"))?;
        let Type::Array(array) = self.btf.resolve_chained_type(stack).ok()? else { return None };
        u32::try_from(array.len() * size_of::<libc::c_ulong>()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The running kernel's own types are the input: skipped where it has none.
    fn kernel() -> Option<Kernel> {
        let kernel = Kernel::read();
        if kernel.is_err() {
            eprintln!("skipped: this kernel shows no types in {BTF}");
        }
        kernel.ok()
    }

    #[test]
    fn mm_page_alloc_has_four_arguments_on_every_kernel() {
        let Some(kernel) = kernel() else { return };
        assert_eq!(kernel.tracepoint_arguments("mm_page_alloc"), Some(4));
        assert_eq!(kernel.tracepoint_arguments("mm_page_free"), Some(2));
        assert_eq!(kernel.tracepoint_arguments("no_such_event"), None);
    }

    #[test]
    fn a_field_within_unnamed_members_is_found() {
        let Some(kernel) = kernel() else { return };
        // `skc_daddr` lies in a union in a structure without names, `skc_num` after it in another.
        let at = |path: &[&str]| kernel.offset("sock", path);
        assert_eq!(at(&["__sk_common", "skc_daddr"]), Some(0));
        assert_eq!(at(&["__sk_common", "skc_num"]), Some(14));
        assert_eq!(at(&["__sk_common", "skc_family"]), Some(16));
        assert!(at(&["sk_backlog", "len"]) > at(&["sk_backlog"]));
        assert_eq!(at(&["no_such_field"]), None);
    }

    #[test]
    fn migrate_types_are_named_by_number() {
        let Some(kernel) = kernel() else { return };
        let names = kernel.migratetypes();
        assert_eq!(names.get(&0).map(String::as_str), Some("unmovable"));
        assert_eq!(names.get(&1).map(String::as_str), Some("movable"));
        assert_eq!(names.get(&2).map(String::as_str), Some("reclaimable"));
        assert_eq!(names.get(&3).map(String::as_str), Some("highatomic"));
    }
}
