//! Small runs replayed through the model into every output, compared with golden files in `tests/data/replay/`.
//!
//! `BLESS=1 cargo test -p tracer --test replay` rewrites the golden files; a missing one fails.

#[path = "replay/runs.rs"]
mod runs;

use std::{env, fs, path::PathBuf};

use tracer::{
    model::Filter,
    output::{Weight, folded, json, text},
    snapshot::Snapshot,
};

const EVENTS: folded::Options = folded::Options { weight: Weight::Events, order_root: false, annotate: false };

/// Compares with a golden file, or rewrites it.
fn golden(name: &str, actual: &str) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/replay").join(name);
    if env::var_os("BLESS").is_some() {
        fs::write(&file, actual).expect("golden file can be written");
        return;
    }
    let expected =
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}; `BLESS=1` writes it", file.display()));
    for (number, (is, should)) in actual.lines().zip(expected.lines()).enumerate() {
        assert_eq!(is, should, "{name}, line {}", number + 1);
    }
    assert_eq!(actual, expected, "{name} has another length");
}

fn text_of(snapshot: &Snapshot, style: text::Style) -> String {
    let options = text::Options { style, top: 5, weight: Weight::Pages };
    let mut out = Vec::new();
    text::write(snapshot, &options, &mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("the report is text")
}

fn plain(width: u16) -> text::Style {
    text::Style { color: false, width, unicode: false }
}

fn json_of(snapshot: &Snapshot) -> String {
    let mut out = Vec::new();
    json::write(snapshot, &mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("JSON is text")
}

fn folded_of(snapshot: &Snapshot, options: folded::Options) -> String {
    let pages = snapshot.pages.as_ref().expect("pages were measured");
    let mut out = Vec::new();
    folded::write(pages, snapshot.host.page_size, options, &mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("folded stacks are text")
}

#[test]
fn a_clean_run_reads_the_same_at_80_columns_in_ascii() {
    golden("clean-80.txt", &text_of(&runs::clean().snapshot(), plain(80)));
}

#[test]
fn a_clean_run_reads_the_same_at_120_columns_in_colour() {
    let style = text::Style { color: true, width: 120, unicode: true };
    golden("clean-120.txt", &text_of(&runs::clean().snapshot(), style));
}

#[test]
fn a_clean_run_gives_the_same_json_and_folded_stacks() {
    let snapshot = runs::clean().snapshot();
    golden("clean.json", &json_of(&snapshot));
    golden("clean.folded", &folded_of(&snapshot, EVENTS));
    let by_order = folded::Options { weight: Weight::Bytes, order_root: true, annotate: true };
    golden("clean-by-order.folded", &folded_of(&snapshot, by_order));
}

#[test]
fn socket_memory_reads_the_same_at_80_columns() {
    golden("sockets-80.txt", &text_of(&runs::sockets().snapshot(), plain(80)));
}

#[test]
fn socket_memory_gives_the_same_json() {
    golden("sockets.json", &json_of(&runs::sockets().snapshot()));
}

#[test]
fn a_lossy_run_reads_the_same_at_80_columns() {
    golden("lossy-80.txt", &text_of(&runs::lossy().snapshot(), plain(80)));
}

#[test]
fn a_lossy_run_gives_the_same_json_and_folded_stacks() {
    let snapshot = runs::lossy().snapshot();
    golden("lossy.json", &json_of(&snapshot));
    golden("lossy.folded", &folded_of(&snapshot, EVENTS));
}

#[test]
fn no_line_is_wider_than_asked_and_none_drives_the_terminal() {
    for snapshot in [runs::clean().snapshot(), runs::lossy().snapshot()] {
        for width in [80, 100, 120] {
            let style = text::Style { color: false, width, unicode: true };
            for line in text_of(&snapshot, style).lines() {
                assert!(line.chars().count() <= usize::from(width), "{} columns: {line}", line.chars().count());
                assert!(!line.chars().any(char::is_control), "{line:?}");
                assert_eq!(line, line.trim_end());
            }
        }
    }
}

#[test]
fn ascii_reports_hold_nothing_else() {
    for snapshot in [runs::clean().snapshot(), runs::lossy().snapshot()] {
        assert!(text_of(&snapshot, plain(80)).is_ascii());
    }
}

#[test]
fn colour_changes_nothing_but_the_colours() {
    for snapshot in [runs::clean().snapshot(), runs::lossy().snapshot()] {
        let coloured = text_of(&snapshot, text::Style { color: true, ..plain(80) });
        let mut bare = String::new();
        for (index, piece) in coloured.split("\x1b[").enumerate() {
            bare += if index == 0 { piece } else { piece.split_once('m').expect("a colour ends in `m`").1 };
        }
        assert_eq!(bare, text_of(&snapshot, plain(80)));
    }
}

#[test]
fn json_reads_back_as_the_snapshot_it_was_made_from() {
    for snapshot in [runs::clean().snapshot(), runs::lossy().snapshot()] {
        let json = json_of(&snapshot);
        assert!(json.ends_with("}\n") && !json.ends_with("\n\n"));
        assert!(!json.chars().any(|c| c.is_control() && c != '\n'));
        assert_eq!(serde_json::from_str::<Snapshot>(&json).expect("the JSON parses"), snapshot);
    }
}

#[test]
fn folded_weights_sum_to_the_reports_own_figures() {
    for snapshot in [runs::clean().snapshot(), runs::lossy().snapshot()] {
        let pages = snapshot.pages.as_ref().expect("pages were measured");
        for (weight, expected) in
            [(Weight::Events, pages.events), (Weight::Pages, pages.pages), (Weight::Bytes, pages.bytes)]
        {
            for order_root in [false, true] {
                let folded = folded_of(&snapshot, folded::Options { weight, order_root, annotate: false });
                let weights = folded.lines().map(|line| {
                    let (_, weight) = line.rsplit_once(' ').expect("a stack and a weight");
                    weight.parse::<u64>().expect("a whole weight")
                });
                assert_eq!(weights.sum::<u64>(), expected);
            }
        }
    }
}

#[test]
fn a_filtered_report_closes_and_says_that_it_is_filtered() {
    let filter = Filter { orders: [3].into(), route: Some("page_fragment".into()), ..Filter::default() };
    let snapshot = runs::lossy().snapshot_of(&filter);
    assert!(text_of(&snapshot, plain(80)).contains("--min-order 1, --order 3, --route page_fragment"));
    let pages = snapshot.pages.expect("pages were measured");
    assert_eq!((pages.events, pages.lost, pages.pages), (30, 0, 240));
    assert_eq!(pages.by_order.iter().map(|row| row.events).sum::<u64>(), 30);
    assert_eq!(pages.paths.iter().map(|row| row.events).sum::<u64>(), 30);
    assert_eq!(pages.zone_locked, None);
}

#[test]
fn a_run_without_paths_says_so_and_keeps_its_totals() {
    let snapshot = runs::without_paths().snapshot();
    let text = text_of(&snapshot, plain(80));
    assert!(text.contains("paths were not taken (--paths off)"), "{text}");
    assert!(text.contains("verdict  exact: nothing that the hooks can see was lost or missed; paths were"), "{text}");
    assert!(!text.contains("routes"), "{text}");
    assert_eq!(folded_of(&snapshot, EVENTS), "[paths_off] 12\n");
}
