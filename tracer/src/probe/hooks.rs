//! The hook table: for each signal its rungs, best first, each with what is lost on it.
//!
//! A signal is what we want to know, a rung a way to get it.

/// A signal and its ways.
#[derive(Debug)]
pub struct Row {
    /// The signal's name, as on the command line and in reports.
    pub signal: &'static str,
    /// What it tells, for `doctor`.
    pub tells: &'static str,
    /// Attached without being asked for.
    pub default: bool,
    /// Best first.
    pub rungs: &'static [Rung],
}

/// One way to a signal.
#[derive(Clone, Copy, Debug)]
pub struct Rung {
    /// What kind of hook.
    pub kind: Kind,
    /// The kernel's name of the hook.
    pub hook: &'static str,
    /// The program in the BPF object.
    pub program: &'static str,
    /// What is lost on this rung; empty when nothing is.
    pub lost: &'static str,
}

/// What kind of hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A raw tracepoint: runs unless the same program is running already on that CPU.
    RawTracepoint,
}

impl Rung {
    /// `kind:hook`, as reports show it.
    pub fn name(&self) -> String {
        let Kind::RawTracepoint = self.kind;
        format!("raw_tracepoint:{}", self.hook)
    }
}

const fn raw_tracepoint(hook: &'static str) -> Rung {
    Rung { kind: Kind::RawTracepoint, hook, program: hook, lost: "" }
}

/// Every signal. `page.alloc` and `page.fail` share a hook, so they share a program.
pub const TABLE: &[Row] = &[
    Row {
        signal: "page.alloc",
        tells: "every page allocation: order, gfp flags, migrate type, path",
        default: true,
        rungs: &[raw_tracepoint("mm_page_alloc")],
    },
    Row {
        signal: "page.fail",
        tells: "failed page allocations: order, gfp flags, migrate type, path",
        default: true,
        rungs: &[raw_tracepoint("mm_page_alloc")],
    },
    Row {
        signal: "page.zone_lock",
        tells: "pages taken under the zone lock, per-CPU refills and direct ones apart, by order",
        default: true,
        rungs: &[raw_tracepoint("mm_page_alloc_zone_locked")],
    },
    Row {
        signal: "page.drain",
        tells: "pages drained from per-CPU lists, by order",
        default: true,
        rungs: &[raw_tracepoint("mm_page_pcpu_drain")],
    },
    Row {
        signal: "page.free",
        tells: "frees by order; as many events again as allocations",
        default: false,
        rungs: &[raw_tracepoint("mm_page_free")],
    },
];

/// The rows that a `--signals` list selects, by name or first part of a name (`page`, `page.alloc`); the default
/// set for an empty list.
///
/// # Errors
/// The word that selects nothing.
pub fn select(list: &[String]) -> Result<Vec<&'static Row>, String> {
    if list.is_empty() {
        return Ok(TABLE.iter().filter(|row| row.default).collect());
    }
    let selects = |word: &str, row: &Row| {
        row.signal == word || row.signal.strip_prefix(word).is_some_and(|it| it.starts_with('.'))
    };
    for word in list {
        if !TABLE.iter().any(|row| selects(word, row)) {
            return Err(word.clone());
        }
    }
    Ok(TABLE.iter().filter(|row| list.iter().any(|word| selects(word, row))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Result<Vec<&'static str>, String> {
        let list: Vec<String> = list.iter().map(|word| (*word).to_owned()).collect();
        Ok(select(&list)?.iter().map(|row| row.signal).collect())
    }

    #[test]
    fn without_a_list_frees_are_left_out() {
        assert_eq!(names(&[]), Ok(vec!["page.alloc", "page.fail", "page.zone_lock", "page.drain"]));
    }

    #[test]
    fn a_first_part_selects_all_of_its_signals() {
        assert_eq!(names(&["page"]).map(|it| it.len()), Ok(5));
        assert_eq!(names(&["page.free", "page.alloc"]), Ok(vec!["page.alloc", "page.free"]));
    }

    #[test]
    fn a_word_that_selects_nothing_is_named() {
        assert_eq!(names(&["page.alloc", "pag"]), Err("pag".to_owned()));
    }
}
