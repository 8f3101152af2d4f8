//! Paths by the names of their frames.
//!
//! Owns: which path keys are one path, its identity across runs, and its route and context. Two keys are one path
//! when their frames bear the same names: the kernel may have inlined the same call at several addresses.
//! Must not know: counts.

use std::collections::HashMap;

use crate::{
    batch::{Frame, Path},
    routes,
};

/// A frame without a name, or the only one of a path whose stack could not be read at all.
const UNKNOWN: &str = "[unknown]";

/// Keeps the keys of joined paths apart from those of their parts.
const JOINED: u64 = 0x6a6f_696e_6564_0001;

/// All paths met.
#[derive(Debug, Default)]
pub(super) struct Paths {
    by_key: HashMap<u64, usize>,
    by_frames: HashMap<Vec<Frame>, usize>,
    known: Vec<Known>,
}

/// One path as it is shown.
#[derive(Debug)]
pub(super) struct Known {
    /// 16 hexadecimal digits, the same for the same names in every run.
    pub(super) id: String,
    /// As shown, innermost first.
    pub(super) frames: Vec<String>,
    pub(super) route: String,
    pub(super) context: String,
    /// Some stack with these names was deeper than what was read.
    pub(super) truncated: bool,
}

impl Paths {
    /// Takes up a path; announcing a key again replaces its names, as when a module was loaded late.
    pub(super) fn announce(&mut self, path: &Path) {
        let named = if path.frames.is_empty() { unnamed(&path.addresses) } else { path.frames.clone() };
        let trimmed = routes::trim(&named);
        let frames = if trimmed.is_empty() { named } else { trimmed.to_vec() };
        let index = if let Some(&index) = self.by_frames.get(&frames) {
            index
        } else {
            self.known.push(Known::new(&frames));
            self.by_frames.insert(frames, self.known.len() - 1);
            self.known.len() - 1
        };
        self.known[index].truncated |= path.truncated;
        self.by_key.insert(path.key, index);
    }

    /// The key of a kernel path with a user path outside of it; the kernel's own where there is none.
    pub(super) fn joined(&mut self, kernel: u64, user: u64) -> u64 {
        let (Some(inner), Some(outer)) = (self.index(kernel), self.index(user)) else { return kernel };
        let key = kernel ^ user.rotate_left(32) ^ JOINED;
        if !self.by_key.contains_key(&key) {
            let (inner, outer) = (&self.known[inner], &self.known[outer]);
            let frames: Vec<String> = inner.frames.iter().chain(&outer.frames).cloned().collect();
            let known = Known {
                id: id(&frames),
                route: inner.route.clone(),
                context: inner.context.clone(),
                truncated: inner.truncated || outer.truncated,
                frames,
            };
            let same = self.known.iter().position(|it| it.id == known.id);
            let index = same.unwrap_or_else(|| {
                self.known.push(known);
                self.known.len() - 1
            });
            self.by_key.insert(key, index);
        }
        key
    }

    /// Where the path of a key stands; `None` for a key never announced, among them 0.
    pub(super) fn index(&self, key: u64) -> Option<usize> {
        if key == 0 { None } else { self.by_key.get(&key).copied() }
    }

    /// The path that stands at an index from [`Paths::index`].
    pub(super) fn at(&self, index: usize) -> &Known {
        &self.known[index]
    }
}

impl Known {
    fn new(frames: &[Frame]) -> Self {
        let shown: Vec<String> = frames.iter().map(show).collect();
        Self {
            id: id(&shown),
            route: routes::route(frames).to_string(),
            context: routes::context(frames).to_string(),
            frames: shown,
            truncated: false,
        }
    }
}

/// Names for addresses that were never looked up.
fn unnamed(addresses: &[u64]) -> Vec<Frame> {
    if addresses.is_empty() {
        return vec![Frame { name: UNKNOWN.to_owned(), module: None }];
    }
    addresses.iter().map(|address| Frame { name: format!("{address:#x}"), module: None }).collect()
}

fn show(frame: &Frame) -> String {
    let name = if frame.name.trim().is_empty() { UNKNOWN } else { &frame.name };
    match &frame.module {
        Some(module) => format!("{name} [{module}]"),
        None => name.to_owned(),
    }
}

/// FNV-1a, 64 bits, over the frames as shown, innermost first, each ended by a zero byte. Part of the report's
/// contract: it must never change, or runs of different versions could not be compared.
pub fn id(frames: &[String]) -> String {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let hash = frames
        .iter()
        .flat_map(|frame| frame.bytes().chain([0]))
        .fold(OFFSET_BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::{Paths, id};
    use crate::batch::{Frame, Path};

    fn path(key: u64, names: &[&str]) -> Path {
        let frames = names.iter().map(|name| Frame { name: (*name).to_owned(), module: None }).collect();
        Path { key, addresses: vec![key], frames, truncated: false }
    }

    #[test]
    fn keys_with_the_same_names_are_one_path() {
        let mut paths = Paths::default();
        paths.announce(&path(1, &["a", "b"]));
        paths.announce(&path(2, &["a", "b"]));
        paths.announce(&path(3, &["ab"]));
        assert_eq!(paths.index(1), paths.index(2));
        assert_ne!(paths.index(1), paths.index(3));
    }

    #[test]
    fn a_path_named_late_takes_its_new_names() {
        let mut paths = Paths::default();
        paths.announce(&path(0x10, &[]));
        let before = paths.index(0x10).map(|index| paths.at(index).frames.clone());
        paths.announce(&path(0x10, &["udp_sendmsg"]));
        let after = paths.index(0x10).map(|index| paths.at(index).frames.clone());
        assert_eq!(before, Some(vec!["0x10".to_owned()]));
        assert_eq!(after, Some(vec!["udp_sendmsg".to_owned()]));
    }

    #[test]
    fn a_module_is_part_of_the_identity() {
        let in_module = Frame { name: "xmit".to_owned(), module: Some("veth".to_owned()) };
        let mut paths = Paths::default();
        paths.announce(&path(1, &["xmit"]));
        paths.announce(&Path { key: 2, frames: vec![in_module], ..Path::default() });
        let known = paths.index(2).map(|index| paths.at(index));
        assert_ne!(paths.index(1), paths.index(2));
        assert_eq!(known.map(|known| known.frames.join(";")), Some("xmit [veth]".to_owned()));
    }

    #[test]
    fn a_user_path_stands_outside_of_the_kernels() {
        let mut paths = Paths::default();
        paths.announce(&path(1, &["do_anonymous_page", "asm_exc_page_fault"]));
        paths.announce(&path(2, &["memset", "main"]));
        let joined = paths.joined(1, 2);
        let known = paths.index(joined).map(|index| paths.at(index)).expect("joined");
        assert_eq!(known.frames, ["do_anonymous_page", "asm_exc_page_fault", "memset", "main"]);
        assert_eq!(known.context, "page_fault");
        assert_eq!(paths.joined(1, 2), joined);
        assert_eq!(paths.joined(1, 0), 1);
        assert_eq!(paths.joined(1, 3), 1, "a user path never announced");
    }

    #[test]
    fn an_empty_path_is_shown_as_unknown() {
        let mut paths = Paths::default();
        paths.announce(&Path { key: 9, ..Path::default() });
        assert_eq!(paths.index(9).map(|index| paths.at(index).frames.join(";")), Some("[unknown]".to_owned()));
    }

    #[test]
    fn the_identity_is_fnv_1a() {
        // The published 85944171f73967e8 of "foobar", and one more zero byte.
        assert_eq!(id(&["foobar".to_owned()]), "34531ca7168b8f38");
        // Nothing hashed: the offset basis.
        assert_eq!(id(&[]), "cbf29ce484222325");
    }
}
