//! Which layer must not know what: a table of rules over the paths that source files name, checked by parsing them.
//!
//! Only product code is looked at: what is compiled for tests alone may use what it likes. What a macro is given is
//! looked at too. Methods are not seen: `path.exists()` touches a file without naming one.

mod paths;

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;

/// What one layer must not know.
struct Rule {
    layer: &'static str,
    /// Source files and folders from the workspace's folder, without `.rs`: `tracer/src/model` is `model.rs` and all
    /// in `model/`.
    files: &'static [&'static str],
    /// Groups of paths, each with a word for it.
    must_not_know: &'static [&'static Group],
    /// Longer paths that are allowed all the same.
    except: &'static [&'static str],
}

/// Paths that stand for one thing.
struct Group {
    what: &'static str,
    paths: &'static [&'static str],
}

const AYA: Group = Group { what: "aya", paths: &["aya", "aya_log", "aya_obj"] };
const TOKIO: Group = Group { what: "tokio", paths: &["tokio"] };
const RATATUI: Group = Group { what: "ratatui", paths: &["ratatui"] };
const STD: Group = Group { what: "std", paths: &["std"] };
const FILES: Group = Group {
    what: "files",
    paths: &[
        "std::fs",
        "std::io::stdin",
        "std::io::stdout",
        "std::io::stderr",
        "tokio::fs",
        "memmap2",
        "procfs",
        "rusqlite",
        "tempfile",
        "nix::fcntl",
        "nix::sys::stat",
    ],
};
const CLOCK: Group = Group {
    what: "the clock",
    paths: &[
        "std::time::Instant",
        "std::time::SystemTime",
        "tokio::time",
        "jiff::Timestamp::now",
        "jiff::Zoned::now",
        "nix::time",
    ],
};
const TERMINAL: Group = Group {
    what: "the terminal",
    paths: &[
        "ratatui",
        "crossterm",
        "anstream",
        "anstyle",
        "std::io::IsTerminal",
        "std::print",
        "std::println",
        "std::eprint",
        "std::eprintln",
        "crate::tui",
        "crate::output",
    ],
};
const MODEL: Group = Group { what: "the model", paths: &["crate::model"] };
const KERNEL_SIDE: Group = Group { what: "hooks and maps", paths: &["crate::probe", "crate::collect"] };
const FORMATTING: Group = Group { what: "formatting", paths: &["crate::output", "crate::tui::view", "crate::units"] };
const SHOWN: Group = Group { what: "how numbers are shown", paths: &["core::fmt"] };

/// One direction: kernel hook, record, batch, model, snapshot, view. A layer names only what comes before it.
const RULES: [Rule; 12] = [
    Rule {
        layer: "the shared shapes",
        files: &["tracer-common/src"],
        must_not_know: &[&STD, &AYA],
        // User space marks the shapes as plain old data.
        except: &["aya::Pod"],
    },
    Rule { layer: "the kernel side", files: &["tracer-ebpf/src"], must_not_know: &[&STD, &AYA, &SHOWN], except: &[] },
    Rule { layer: "probe", files: &["tracer/src/probe"], must_not_know: &[&MODEL, &TERMINAL], except: &[] },
    Rule { layer: "collect", files: &["tracer/src/collect"], must_not_know: &[&MODEL, &TERMINAL], except: &[] },
    Rule {
        layer: "the contracts between the layers",
        files: &["tracer/src/batch", "tracer/src/run", "tracer/src/signal", "tracer/src/snapshot"],
        must_not_know: &[&AYA, &TOKIO, &TERMINAL, &FILES, &CLOCK, &KERNEL_SIDE],
        except: &[],
    },
    Rule {
        layer: "the model",
        files: &[
            "tracer/src/model",
            "tracer/src/stats",
            "tracer/src/compare",
            "tracer/src/units",
            "tracer/src/gfp",
            "tracer/src/routes",
        ],
        must_not_know: &[&AYA, &TOKIO, &TERMINAL, &FILES, &CLOCK, &KERNEL_SIDE],
        except: &[],
    },
    Rule { layer: "symbols", files: &["tracer/src/symbols"], must_not_know: &[&AYA, &TERMINAL], except: &[] },
    Rule {
        layer: "workload",
        files: &["tracer/src/workload"],
        must_not_know: &[&AYA, &TERMINAL],
        // A command must not read the keyboard from under the tracer, so it is asked whether there is one.
        except: &["std::io::IsTerminal"],
    },
    Rule { layer: "recording", files: &["tracer/src/recording"], must_not_know: &[&AYA, &TERMINAL], except: &[] },
    Rule { layer: "the screens' state", files: &["tracer/src/tui/app"], must_not_know: &[&RATATUI], except: &[] },
    Rule {
        layer: "what is shown",
        files: &["tracer/src/tui/view", "tracer/src/output"],
        must_not_know: &[&AYA, &KERNEL_SIDE],
        except: &[],
    },
    Rule { layer: "session", files: &["tracer/src/session"], must_not_know: &[&FORMATTING], except: &[] },
];

/// A path named where it must not be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    file: PathBuf,
    line: usize,
    path: String,
    layer: &'static str,
    what: &'static str,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, path, layer, what } = self;
        write!(out, "{}:{line}: {layer} must not know {what}, names `{path}`", file.display())
    }
}

/// What the check found.
pub(crate) struct Findings {
    /// Files that a rule speaks of.
    pub(crate) files: usize,
    pub(crate) violations: Vec<Violation>,
}

/// Checks the whole workspace.
///
/// # Errors
/// A file that cannot be read or is no Rust.
pub(crate) fn check(root: &Path) -> anyhow::Result<Findings> {
    let mut findings = Findings { files: 0, violations: Vec::new() };
    for package in ["tracer-common/src", "tracer-ebpf/src", "tracer/src"] {
        for file in sources(&root.join(package))? {
            let relative = file.strip_prefix(root).unwrap_or(&file).to_path_buf();
            if rules_for(&relative).next().is_some() {
                findings.files += 1;
                let text = fs::read_to_string(&file).with_context(|| format!("`{}`", file.display()))?;
                findings.violations.extend(check_file(&relative, &text)?);
            }
        }
    }
    Ok(findings)
}

/// All Rust files below a folder, in the order of their names.
fn sources(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut entries: Vec<_> =
        entries.with_context(|| format!("`{}`", folder.display()))?.iter().map(fs::DirEntry::path).collect();
    entries.sort();
    let mut files = Vec::new();
    for entry in entries {
        if entry.is_dir() {
            files.extend(sources(&entry)?);
        } else if entry.extension().is_some_and(|kind| kind == "rs") {
            files.push(entry);
        }
    }
    Ok(files)
}

fn rules_for(file: &Path) -> impl Iterator<Item = &'static Rule> {
    let bare = file.with_extension("");
    RULES.iter().filter(move |rule| rule.files.iter().any(|start| bare.starts_with(start)))
}

fn check_file(file: &Path, text: &str) -> anyhow::Result<Vec<Violation>> {
    let named = paths::named(&module(file), text).with_context(|| format!("`{}`", file.display()))?;
    let mut violations = Vec::new();
    for rule in rules_for(file) {
        for path in &named {
            let Some(group) = rule.must_not_know.iter().find(|group| forbids(group, rule, path)) else { continue };
            let (path, line) = (path.to_string(), path.line);
            violations.push(Violation { file: file.into(), line, path, layer: rule.layer, what: group.what });
        }
    }
    Ok(violations)
}

fn forbids(group: &Group, rule: &Rule, path: &paths::Named) -> bool {
    let begins = |start: &&str| path.begins_with(start);
    // A glob brings in all below it, so one above a forbidden path is as good as naming it.
    let brings = |forbidden: &&str| path.glob && path.is_above(forbidden);
    group.paths.iter().any(|forbidden| begins(forbidden) || brings(forbidden)) && !rule.except.iter().any(begins)
}

/// The module a file is: `crate`, then folders and the file's name; `lib.rs` and `main.rs` are the crate itself.
fn module(file: &Path) -> Vec<String> {
    let bare = file.with_extension("");
    let below_src = bare.iter().skip_while(|name| *name != "src").skip(1).map(|name| name.to_string_lossy());
    let names = below_src.filter(|name| name != "lib" && name != "main").map(std::borrow::Cow::into_owned);
    std::iter::once("crate".to_owned()).chain(names).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The violations of a snippet in this file, as `line: path`.
    fn found(file: &str, text: &str) -> Vec<String> {
        let violations = check_file(Path::new(file), text).unwrap();
        violations.iter().map(|violation| format!("{}: {}", violation.line, violation.path)).collect()
    }

    const MODEL: &str = "tracer/src/model/page.rs";

    #[test]
    fn this_workspace_keeps_its_layers_apart() {
        let findings = check(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))).unwrap();
        let lines: Vec<_> = findings.violations.iter().map(Violation::to_string).collect();
        assert!(lines.is_empty(), "\n{}", lines.join("\n"));
        assert!(findings.files >= 15, "the rules speak of {} files only: have folders been renamed?", findings.files);
    }

    #[test]
    fn a_plain_import_is_seen() {
        assert_eq!(found(MODEL, "use std::fs;"), ["1: std::fs"]);
        assert_eq!(found(MODEL, "\nuse ::tokio::time::sleep as nap;"), ["2: tokio::time::sleep"]);
        assert_eq!(found(MODEL, "extern crate aya;"), ["1: aya"]);
    }

    #[test]
    fn imports_in_groups_are_told_apart() {
        let text = "use std::{collections::BTreeMap, io::{self, Read}, time::{Duration, Instant}};";
        assert_eq!(found(MODEL, text), ["1: std::time::Instant"]);
    }

    #[test]
    fn a_path_without_an_import_is_seen() {
        assert_eq!(found(MODEL, "fn f() { std::fs::read(\"x\"); }"), ["1: std::fs::read"]);
        assert_eq!(found(MODEL, "fn f(map: &aya::maps::MapData) {}"), ["1: aya::maps::MapData"]);
        assert_eq!(found(MODEL, "#[derive(ratatui::Thing)] struct S;"), ["1: ratatui::Thing"]);
    }

    #[test]
    fn a_path_below_an_imported_name_is_seen_whole() {
        assert_eq!(found(MODEL, "use std::time;\nfn f() { time::Instant::now(); }"), ["2: std::time::Instant::now"]);
        assert_eq!(found(MODEL, "use jiff::Timestamp as T;\nfn f() { T::now(); }"), ["2: jiff::Timestamp::now"]);
        assert_eq!(found(MODEL, "use std as s;\nfn f() { s::fs::read(\"x\"); }"), ["2: std::fs::read"]);
    }

    #[test]
    fn what_a_macro_is_given_is_seen() {
        assert_eq!(found(MODEL, "fn f() { assert!(g(std::fs::read(\"x\"))); }"), ["1: std::fs::read"]);
        assert_eq!(found(MODEL, "fn f() { if a { println!(\"x\"); } }"), ["1: std::println"]);
    }

    #[test]
    fn a_glob_above_a_forbidden_path_brings_it_in() {
        assert_eq!(found(MODEL, "use std::*;"), ["1: std::*"]);
        assert_eq!(found(MODEL, "use std::collections::*;"), Vec::<String>::new());
        assert_eq!(found("tracer/src/output/text.rs", "use crate::*;"), ["1: crate::*"]);
    }

    #[test]
    fn our_own_modules_are_seen_by_every_name_they_have() {
        let output = "tracer/src/output/text.rs";
        for text in ["use crate::probe::Hook;", "use super::super::probe::Hook;", "use tracer::probe::Hook;"] {
            assert_eq!(found(output, text), ["1: crate::probe::Hook"], "{text}");
        }
        assert_eq!(found("tracer/src/output.rs", "use super::collect;"), ["1: crate::collect"]);
        assert_eq!(found("tracer/src/session.rs", "use crate::output::text;"), ["1: crate::output::text"]);
    }

    #[test]
    fn words_in_comments_strings_and_longer_names_are_no_paths() {
        let text =
            "//! Must not know std::fs.\n/// aya\nconst A: &str = \"std::fs\";\nuse ayatollah::x;\nstruct aya_like;";
        assert_eq!(found(MODEL, text), Vec::<String>::new());
    }

    #[test]
    fn code_for_tests_may_use_anything() {
        let text = "#[cfg(test)]\nmod tests { use std::fs; }\n#[cfg(test)]\nuse aya::Ebpf;\n#[test]\nfn t() { std::fs::read(\"x\"); }";
        assert_eq!(found(MODEL, text), Vec::<String>::new());
        assert_eq!(found(MODEL, "#[cfg(not(test))]\nuse std::fs;"), ["2: std::fs"]);
    }

    #[test]
    fn the_shared_shapes_may_name_pod_and_no_more_of_aya() {
        let file = "tracer-common/src/page.rs";
        assert_eq!(found(file, "#[cfg(feature = \"user\")]\nunsafe impl aya::Pod for u8 {}"), Vec::<String>::new());
        assert_eq!(found(file, "use aya::{Pod, Ebpf};\nuse std::vec::Vec;"), ["1: aya::Ebpf", "2: std::vec::Vec"]);
    }

    #[test]
    fn every_layer_of_the_table_refuses_what_it_must_not_know() {
        for rule in &RULES {
            for (file, group) in rule.files.iter().flat_map(|file| rule.must_not_know.iter().map(move |g| (file, g))) {
                for path in group.paths.iter().filter(|path| !rule.except.contains(path)) {
                    let file = format!("{file}/x.rs");
                    assert!(!found(&file, &format!("use {path};")).is_empty(), "{file} may `use {path}`");
                }
            }
        }
    }

    #[test]
    fn a_file_that_no_rule_speaks_of_may_use_anything() {
        assert_eq!(found("tracer/src/main.rs", "use std::fs;"), Vec::<String>::new());
        assert_eq!(found("tracer/src/modelling.rs", "use std::fs;"), Vec::<String>::new());
    }

    #[test]
    fn a_file_that_is_no_rust_is_named() {
        let error = format!("{:#}", check_file(Path::new(MODEL), "use ;").unwrap_err());
        assert!(error.starts_with("`tracer/src/model/page.rs`: 1:"), "{error}");
    }
}
