//! Every format of stacks, from runs whose frames bear any text: the files must be valid, and sum to the same totals.
//!
//! Random text is made from fixed seeds, so that a failure can be had again.

use std::{collections::BTreeMap, io::Read as _};

use prost::Message as _;
use serde_json::Value;

use super::{Weight, csv, differential, firefox, flamegraph, folded, pprof, speedscope};
use crate::{
    batch::{Batch, Count, CountKey, Frame, OrderTotals, Path},
    compare::Run,
    gfp,
    model::{Filter, Model},
    run::{End, Host, PathsMode, Start},
    signal::{Signal, Status},
    snapshot::Snapshot,
};

/// What has broken a format somewhere: delimiters, quotes, controls, directions, what XML forbids, our own marks.
const PIECES: [&str; 48] = [
    ";",
    " ",
    "\n",
    "\t",
    "\r",
    "\"",
    "'",
    ",",
    "<",
    ">",
    "&",
    "]]>",
    "\0",
    "\u{1b}[2J",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "\u{202e}",
    "\u{200b}",
    "\u{feff}",
    "\u{fffe}",
    "\u{ffff}",
    "\u{e000}",
    "\u{e01e}",
    "\u{10ffff}",
    "\u{a0}",
    "é",
    "漢",
    "😀",
    "1",
    "-3",
    ".5",
    "1e5",
    "#",
    "# ",
    "=",
    "+",
    "@",
    "_[k]",
    " [veth]",
    "_[",
    "]",
    "--",
    "-",
    "[lost]",
    "udp_sendmsg",
    "\\u0041",
    "%s",
];

/// A small generator (xorshift, 64 bits), enough to mix pieces.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).expect("it is below a usize")
    }

    fn text(&mut self) -> String {
        (0..self.below(5)).map(|_| PIECES[self.below(PIECES.len())]).collect()
    }
}

/// A run with random frames: twenty paths, and events without one.
fn random_model(seed: u64) -> Model {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut batch = Batch::default();
    let mut totals: BTreeMap<u8, u64> = BTreeMap::from([(1, 7)]);
    for key in 1..=20u64 {
        let frames: Vec<Frame> = (0..=random.below(6))
            .map(|_| {
                let module = (random.below(4) == 0).then(|| random.text());
                Frame { name: random.text(), module }
            })
            .collect();
        batch.paths.push(Path { key, addresses: vec![key; frames.len()], frames, truncated: false });
        for order in [0, 3, 9] {
            let events = random.below(1000) as u64;
            let key = CountKey { path: key, order, gfp: 0xcc0, failed: order == 9, ..CountKey::default() };
            batch.counts.push(Count { key, events });
            if order != 9 {
                *totals.entry(order).or_default() += events;
            }
        }
    }
    let totals =
        totals.into_iter().map(|(order, allocated)| OrderTotals { order, allocated, ..OrderTotals::default() });
    batch.totals = totals.collect();
    model(&batch, random.text())
}

fn model(batch: &Batch, argument: String) -> Model {
    let mut model = Model::new(Start {
        host: Host { kernel: "6.18.0".into(), machine: "x86_64".into(), cpus: 2, page_size: 4096, max_order: 10 },
        at_unix_ns: 1_767_225_600_000_000_000,
        argv: vec!["netperf".into(), argument],
        signals: vec![Signal {
            name: "page.alloc".into(),
            hook: Some("raw_tracepoint:mm_page_alloc".into()),
            status: Status::Attached,
            refused: Vec::new(),
            note: String::new(),
        }],
        paths: PathsMode { way: "remembered".into(), one_in: 1, reason: String::new() },
        by: None,
        filters: Vec::new(),
        gfp: gfp::Table { source: "test".into(), names: Vec::new() },
        migratetypes: BTreeMap::new(),
    });
    model.apply(batch);
    model.finish(End { duration: std::time::Duration::from_secs(2), ..End::default() });
    model
}

const WEIGHTS: [Weight; 3] = [Weight::Events, Weight::Pages, Weight::Bytes];

fn whole(snapshot: &Snapshot, weight: Weight) -> u64 {
    let pages = snapshot.pages.as_ref().expect("pages were measured");
    match weight {
        Weight::Events => pages.events,
        Weight::Pages => pages.pages,
        Weight::Bytes => pages.bytes,
    }
}

/// Weights by stack, outermost frame first, joined by `;`.
type Folded = BTreeMap<String, u64>;

fn add(folded: &mut Folded, frames: &[&str], weight: u64) {
    *folded.entry(frames.join(";")).or_default() += weight;
}

fn from_folded(snapshot: &Snapshot, weight: Weight) -> Folded {
    let options = folded::Options { weight, order_root: false, annotate: false };
    let mut out = Vec::new();
    let pages = snapshot.pages.as_ref().expect("pages were measured");
    folded::write(pages, snapshot.host.page_size, options, &mut out).expect("a vector takes everything");
    let text = String::from_utf8(out).expect("UTF-8");
    let mut stacks = Folded::new();
    for line in text.split_terminator('\n') {
        let (stack, weight) = line.rsplit_once(' ').expect("a stack and a weight");
        assert!(!stack.chars().any(|c| c.is_whitespace() || c.is_control()), "{line:?}");
        assert!(stack.split(';').all(|frame| !frame.is_empty()), "{line:?}");
        add(&mut stacks, &[stack], weight.parse().expect("a number"));
    }
    stacks
}

fn from_speedscope(snapshot: &Snapshot, weight: Weight) -> Folded {
    let mut out = Vec::new();
    speedscope::write(snapshot, weight, false, &mut out).expect("it can be written");
    let file: Value = serde_json::from_slice(&out).expect("JSON");
    let frames = file["shared"]["frames"].as_array().expect("frames");
    let active = usize::try_from(file["activeProfileIndex"].as_u64().expect("an index")).expect("a small one");
    let profile = &file["profiles"][active];
    let (samples, weights) = (&profile["samples"], &profile["weights"]);
    let mut stacks = Folded::new();
    let pairs = samples.as_array().expect("samples").iter().zip(weights.as_array().expect("weights"));
    for (sample, weight) in pairs {
        let place = |it: &Value| usize::try_from(it.as_u64().expect("a place")).expect("a small one");
        let names: Vec<&str> = sample
            .as_array()
            .expect("a stack")
            .iter()
            .map(|it| frames[place(it)]["name"].as_str().expect("a name"))
            .collect();
        add(&mut stacks, &names, weight.as_u64().expect("a weight"));
    }
    assert_eq!(profile["endValue"].as_u64(), Some(stacks.values().sum()));
    stacks
}

fn pprof_of(snapshot: &Snapshot, weight: Weight) -> pprof::message::Profile {
    let mut out = Vec::new();
    pprof::write(snapshot, weight, false, &mut out).expect("it can be written");
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(out.as_slice()).read_to_end(&mut bytes).expect("gzip");
    pprof::message::Profile::decode(bytes.as_slice()).expect("a profile")
}

fn from_pprof(snapshot: &Snapshot, weight: Weight) -> Folded {
    let profile = pprof_of(snapshot, weight);
    let place = |id: u64| usize::try_from(id - 1).expect("a small one");
    let text = |at: i64| profile.string_table[usize::try_from(at).expect("a place")].as_str();
    assert_eq!(text(0), "");
    let default = profile.sample_type.iter().position(|it| it.r#type == profile.default_sample_type);
    let default = default.expect("the default is one of them");
    let mut stacks = Folded::new();
    for sample in &profile.sample {
        let name = |id: &u64| {
            let location = &profile.location[place(*id)];
            assert!(profile.mapping.iter().any(|it| it.id == location.mapping_id));
            let function = &profile.function[place(location.line[0].function_id)];
            assert_eq!((location.id, function.id), (*id, location.line[0].function_id));
            text(function.name)
        };
        let names: Vec<&str> = sample.location_id.iter().rev().map(name).collect();
        add(&mut stacks, &names, u64::try_from(sample.value[default]).expect("no negative weight"));
        assert!(sample.label.iter().any(|it| text(it.key) == "order" && text(it.str).starts_with("order-")));
    }
    stacks
}

fn from_firefox(snapshot: &Snapshot, weight: Weight) -> Folded {
    let mut out = Vec::new();
    firefox::write(snapshot, weight, false, &mut out).expect("it can be written");
    let profile: Value = serde_json::from_slice(&out).expect("JSON");
    let thread = &profile["threads"][0];
    let number = |value: &Value| usize::try_from(value.as_u64().expect("a number")).expect("a small one");
    // Since version 56 strings are shared by all threads.
    let strings = [&profile["shared"]["stringArray"], &thread["stringArray"]].into_iter().find_map(Value::as_array);
    let strings = strings.expect("strings");
    let name = |stack: usize| {
        let frame = number(&thread["stackTable"]["frame"][stack]);
        let function = number(&thread["frameTable"]["func"][frame]);
        strings[number(&thread["funcTable"]["name"][function])].as_str().expect("a name")
    };
    let mut stacks = Folded::new();
    let samples = &thread["samples"];
    for (stack, weight) in
        samples["stack"].as_array().expect("stacks").iter().zip(samples["weight"].as_array().expect("weights"))
    {
        let mut names = Vec::new();
        let mut at = stack.as_u64();
        while let Some(stack) = at {
            let stack = usize::try_from(stack).expect("a small one");
            names.push(name(stack));
            at = thread["stackTable"]["prefix"][stack].as_u64();
        }
        names.reverse();
        add(&mut stacks, &names, weight.as_u64().expect("a weight"));
    }
    stacks
}

fn from_csv(snapshot: &Snapshot, weight: Weight) -> Folded {
    let mut out = Vec::new();
    csv::write(snapshot, &mut out).expect("it can be written");
    let mut table = ::csv::Reader::from_reader(out.as_slice());
    let titles = table.headers().expect("titles").clone();
    let column = |title: &str| titles.iter().position(|it| it == title).expect("the column");
    let wanted = column(match weight {
        Weight::Events => "events",
        Weight::Pages => "pages",
        Weight::Bytes => "bytes",
    });
    let mut stacks = Folded::new();
    let mut failed = 0;
    for row in table.records() {
        let row = row.expect("as many fields as titles");
        add(&mut stacks, &[&row[column("stack")]], row[wanted].parse().expect("a number"));
        failed += row[column("failed")].parse::<u64>().expect("a number");
    }
    assert_eq!(failed, snapshot.pages.as_ref().expect("pages were measured").failed);
    stacks.retain(|_, weight| *weight > 0);
    stacks
}

/// The SVG's own count of the whole.
fn drawn(svg: &[u8]) -> u64 {
    let text = std::str::from_utf8(svg).expect("UTF-8");
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..roxmltree::ParsingOptions::default() };
    let document = roxmltree::Document::parse_with_options(text, options).unwrap_or_else(|error| panic!("{error}"));
    let frames = document.descendants().find(|node| node.attribute("total_samples").is_some());
    frames.and_then(|node| node.attribute("total_samples")?.parse().ok()).expect("a count of all samples")
}

fn svg(snapshot: &Snapshot, options: flamegraph::Options) -> Vec<u8> {
    let mut out = Vec::new();
    flamegraph::write(snapshot, options, &mut out).expect("it can be drawn");
    out
}

fn plain(weight: Weight) -> flamegraph::Options {
    flamegraph::Options { weight, order_root: false, icicle: false, color_by: None }
}

#[test]
fn whatever_frames_are_called_all_formats_hold_the_same_stacks() {
    for seed in 0..40 {
        let snapshot = random_model(seed).snapshot();
        for weight in WEIGHTS {
            let folded = from_folded(&snapshot, weight);
            assert_eq!(folded.values().sum::<u64>(), whole(&snapshot, weight), "seed {seed}");
            assert_eq!(from_speedscope(&snapshot, weight), folded, "seed {seed}");
            assert_eq!(from_pprof(&snapshot, weight), folded, "seed {seed}");
            assert_eq!(from_firefox(&snapshot, weight), folded, "seed {seed}");
            assert_eq!(from_csv(&snapshot, weight), folded, "seed {seed}");
        }
    }
}

#[test]
fn whatever_frames_are_called_flame_graphs_are_xml_and_draw_every_event() {
    for seed in 0..40 {
        let snapshot = random_model(seed).snapshot();
        for color_by in [None, Some(flamegraph::ColorBy::Order), Some(flamegraph::ColorBy::Route)] {
            let svg = svg(&snapshot, flamegraph::Options { color_by, icicle: seed % 2 == 0, ..plain(Weight::Pages) });
            assert_eq!(drawn(&svg), whole(&snapshot, Weight::Pages), "seed {seed}");
            let text = String::from_utf8(svg).expect("UTF-8");
            assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "seed {seed}");
        }
    }
}

#[test]
fn whatever_frames_are_called_a_comparison_can_be_folded_and_drawn() {
    for seed in 0..20 {
        let run = |seed: u64| vec![Run::new(format!("run {seed}"), &random_model(seed), &Filter::default())];
        let (a, b) = (run(seed), run(seed + 1));
        let options = folded::Options { weight: Weight::Events, order_root: false, annotate: false };
        let pairs = differential::pairs(&a, &b, options).expect("both have pages");
        let mut out = Vec::new();
        differential::write(&pairs, &mut out).expect("a vector takes everything");
        let (mut sum_a, mut sum_b) = (0, 0);
        for line in String::from_utf8(out).expect("UTF-8").split_terminator('\n') {
            let fields: Vec<&str> = line.rsplitn(3, ' ').collect();
            assert!(!fields[2].is_empty() && !fields[2].contains(' '), "{line:?}");
            sum_b += fields[0].parse::<u64>().expect("a number");
            sum_a += fields[1].parse::<u64>().expect("a number");
        }
        assert_eq!((sum_a, sum_b), (whole(&a[0].snapshot, Weight::Events), whole(&b[0].snapshot, Weight::Events)));
        let mut svg = Vec::new();
        flamegraph::write_differential(&pairs, 0.7, "second", plain(Weight::Events), &mut svg)
            .expect("it can be drawn");
        assert_eq!(drawn(&svg), sum_b);
    }
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let bytes = || {
        let snapshot = random_model(7).snapshot();
        let mut out = vec![Vec::new(), Vec::new(), Vec::new(), Vec::new()];
        speedscope::write(&snapshot, Weight::Pages, true, &mut out[0]).expect("it can be written");
        pprof::write(&snapshot, Weight::Pages, true, &mut out[1]).expect("it can be written");
        firefox::write(&snapshot, Weight::Pages, true, &mut out[2]).expect("it can be written");
        csv::write(&snapshot, &mut out[3]).expect("it can be written");
        out.push(svg(&snapshot, plain(Weight::Pages)));
        let color_by = Some(flamegraph::ColorBy::Order);
        out.push(svg(&snapshot, flamegraph::Options { color_by, ..plain(Weight::Pages) }));
        out
    };
    assert!(bytes() == bytes());
}

/// Two paths of one route that share a caller, of two orders.
fn two_orders() -> Snapshot {
    let path = |key: u64, inner: &str| {
        let frame = |name: &str| Frame { name: name.to_owned(), module: None };
        let frames = vec![frame("__alloc_pages"), frame(inner), frame("udp_sendmsg")];
        Path { key, addresses: vec![key; 3], frames, truncated: false }
    };
    let count = |path, order, events| Count { key: CountKey { path, order, ..CountKey::default() }, events };
    let totals = |order, allocated| OrderTotals { order, allocated, ..OrderTotals::default() };
    let batch = Batch {
        paths: vec![path(1, "skb_page_frag_refill"), path(2, "___kmalloc_large_node")],
        counts: vec![count(1, 3, 10), count(2, 2, 30)],
        totals: vec![totals(2, 30), totals(3, 10)],
        ..Batch::default()
    };
    model(&batch, "-m 8192".to_owned()).snapshot()
}

#[test]
fn a_frame_has_the_colour_of_the_one_order_above_it_and_grey_where_there_are_several() {
    let options = flamegraph::Options { color_by: Some(flamegraph::ColorBy::Order), ..plain(Weight::Events) };
    let svg = String::from_utf8(svg(&two_orders(), options)).expect("UTF-8");
    assert!(svg.contains("colour by order: 2 green, 3 yellow, several light grey<"), "{svg}");
    let document = roxmltree::Document::parse_with_options(
        &svg,
        roxmltree::ParsingOptions { allow_dtd: true, ..roxmltree::ParsingOptions::default() },
    )
    .expect("XML");
    let mut fills: Vec<(String, String)> = document
        .descendants()
        .filter(|node| node.has_tag_name("g") || node.tag_name().name() == "g")
        .filter_map(|group| {
            let child = |name| group.children().find(|node| node.tag_name().name() == name);
            Some((child("title")?.text()?.to_owned(), child("rect")?.attribute("fill")?.to_owned()))
        })
        .collect();
    fills.sort();
    let of = |name: &str| -> Vec<&str> {
        fills.iter().filter(|(title, _)| title.starts_with(name)).map(|(_, fill)| fill.as_str()).collect()
    };
    assert_eq!(of("udp_sendmsg (40 allocations, 100.00%)"), ["rgb(215,215,215)"]);
    // The same function at two places, each in the colour of its own order.
    assert_eq!(of("__alloc_pages (10"), ["rgb(240,228,66)"]);
    assert_eq!(of("__alloc_pages (30"), ["rgb(0,178,130)"]);
}

#[test]
fn an_icicle_has_its_outermost_function_on_top() {
    let y = |icicle| {
        let svg = svg(&two_orders(), flamegraph::Options { icicle, ..plain(Weight::Events) });
        let text = String::from_utf8(svg).expect("UTF-8");
        let outermost = text.split("<g>").find(|part| part.contains("udp_sendmsg (40")).expect("the frame");
        let y = outermost.split("y=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a place");
        y.parse::<f64>().expect("a number")
    };
    assert!(y(true) < y(false));
}

#[test]
fn a_run_without_any_allocation_cannot_be_drawn_but_can_be_written() {
    let snapshot = model(&Batch::default(), String::new()).snapshot();
    let mut out = Vec::new();
    assert!(flamegraph::write(&snapshot, plain(Weight::Pages), &mut out).is_err());
    assert!(out.is_empty());
    assert_eq!(from_speedscope(&snapshot, Weight::Pages), Folded::new());
    assert_eq!(from_pprof(&snapshot, Weight::Pages), Folded::new());
    assert_eq!(from_firefox(&snapshot, Weight::Bytes), Folded::new());
}

#[test]
fn labels_tell_order_route_and_context_apart() {
    let profile = pprof_of(&two_orders(), Weight::Events);
    let text = |at: i64| profile.string_table[usize::try_from(at).expect("a place")].as_str();
    let mut rows: Vec<(i64, Vec<String>)> = profile
        .sample
        .iter()
        .map(|it| (it.value[0], it.label.iter().map(|it| format!("{}={}", text(it.key), text(it.str))).collect()))
        .collect();
    rows.sort();
    assert_eq!(
        rows,
        [
            (10, vec!["order=order-3".to_owned(), "route=page_fragment".into(), "context=other".into()]),
            (30, vec!["order=order-2".to_owned(), "route=kmalloc_large".into(), "context=other".into()]),
        ]
    );
}
