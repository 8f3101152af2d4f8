//! What the screens filter by, beside order and route.

use super::{
    Batch, Count, CountKey, Filter, Frame, Model, Owner, Path, assert_closed, count, model, pages, path, start, total,
};

fn events(model: &Model, filter: &Filter) -> u64 {
    let snapshot = model.snapshot_of(filter);
    assert_closed(&snapshot);
    pages(snapshot).events
}

fn named(key: u64, names: &[&str]) -> Path {
    let frame = |name: &&str| Frame { name: (*name).to_owned(), module: None };
    Path { key, frames: names.iter().map(frame).collect(), ..Path::default() }
}

#[test]
fn every_word_must_be_part_of_some_frame_of_the_path() {
    let mut model = model("unwound", 1);
    let paths = vec![named(1, &["__alloc_skb", "udp_sendmsg"]), named(2, &["__alloc_skb", "tcp_sendmsg"])];
    model.apply(&Batch { paths, counts: vec![count(1, 0, 5), count(2, 3, 7)], ..Batch::default() });
    let of = |words: &[&str]| {
        let frames = words.iter().map(|&word| word.to_owned()).collect();
        events(&model, &Filter { frames, ..Filter::default() })
    };
    assert_eq!(of(&["sendmsg"]), 12);
    assert_eq!(of(&["skb", "udp_"]), 5);
    assert_eq!(of(&["udp_", "tcp_"]), 0);
}

#[test]
fn a_context_leaves_out_what_has_no_path() {
    let mut model = model("unwound", 1);
    let paths = vec![named(1, &["handle_softirqs"])];
    let counts = vec![count(1, 0, 5), count(0, 0, 2)];
    model.apply(&Batch { paths, counts, totals: vec![total(0, 7)], ..Batch::default() });
    assert_eq!(events(&model, &Filter { context: Some("softirq".into()), ..Filter::default() }), 5);
    assert_eq!(events(&model, &Filter { context: Some("interrupt".into()), ..Filter::default() }), 0);
}

#[test]
fn all_gfp_flags_asked_for_must_be_set() {
    let mut model = model("unwound", 1);
    let with = |gfp, events| Count { key: CountKey { path: 1, gfp, ..CountKey::default() }, events };
    model.apply(&Batch { paths: vec![path(1)], counts: vec![with(0b11, 5), with(0b01, 7)], ..Batch::default() });
    assert_eq!(events(&model, &Filter { gfp: 0b01, ..Filter::default() }), 12);
    assert_eq!(events(&model, &Filter { gfp: 0b11, ..Filter::default() }), 5);
}

#[test]
fn an_owner_is_meant_by_name() {
    let mut model = Model::new(super::Start { by: Some("comm".into()), ..start("unwound", 1) });
    let of = |owner, events| Count { key: CountKey { path: 1, owner, ..CountKey::default() }, events };
    let owner = |key, name: &str| Owner { key, name: name.into() };
    let owners = vec![owner(8, "first"), owner(9, "second"), owner(10, "first")];
    let counts = vec![of(8, 1), of(9, 2), of(10, 4)];
    model.apply(&Batch { paths: vec![path(1)], owners, counts, ..Batch::default() });
    assert_eq!(events(&model, &Filter { owner: Some("first".into()), ..Filter::default() }), 5);
    assert_eq!(events(&model, &Filter { owner: Some("third".into()), ..Filter::default() }), 0);
}
