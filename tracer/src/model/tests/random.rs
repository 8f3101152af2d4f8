//! Random runs close after every batch.

use super::*;

/// Marsaglia's 64-bit xorshift: enough to vary the runs, and the same ones every time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn small(&mut self, bound: u8) -> u8 {
        u8::try_from(self.below(u64::from(bound))).expect("below a u8")
    }
}

/// A run of three batches: a part of what happens is counted under its path, a part is lost, and totals lag or lead.
fn random_run(random: &mut Random, way: &str) -> Vec<Batch> {
    let mut totals: BTreeMap<u8, OrderTotals> = BTreeMap::new();
    let mut batches = Vec::new();
    for second in 0..3 {
        let mut batch = Batch { at: Duration::from_secs(second), ..Batch::default() };
        for _ in 0..random.below(30) {
            let key = CountKey {
                path: random.below(5),
                owner: random.below(3),
                user_path: 0,
                gfp: u32::from(random.small(4)),
                order: random.small(16),
                migratetype: random.small(3),
                failed: random.below(5) == 0,
            };
            let events = random.below(1_000);
            let row = totals.entry(key.order).or_insert_with(|| total(key.order, 0));
            *(if key.failed { &mut row.failed } else { &mut row.allocated }) += events;
            let counted = if way == "sampled" { events / 10 } else { events - events * random.below(2) / 3 };
            batch.counts.push(Count { key, events: counted });
        }
        batch.paths = (1..5).map(path).collect();
        batch.totals = totals.values().copied().collect();
        for row in &mut batch.totals {
            row.allocated = (row.allocated + random.below(3)).saturating_sub(random.below(3));
        }
        batches.push(batch);
    }
    batches
}

#[test]
fn counts_close_whatever_happens() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..40 {
        for way in ["unwound", "sampled", "off"] {
            let mut model = model(way, 10);
            for batch in random_run(&mut random, way) {
                model.apply(&batch);
                assert_closed(&model.snapshot());
            }
            model.finish(End::default());
            let whole = model.snapshot();
            assert_closed(&whole);
            let events = |filter: &Filter| {
                let snapshot = model.snapshot_of(filter);
                assert_closed(&snapshot);
                pages(snapshot).events
            };
            let whole_events = pages(whole.clone()).events;
            let by_order: u64 =
                (0..16).map(|order| events(&Filter { orders: [order].into(), ..Filter::default() })).sum();
            assert_eq!(by_order, whole_events, "round {round}, {way}");
            let routed = events(&Filter { route: Some("other".into()), ..Filter::default() });
            assert!(routed <= whole_events, "round {round}, {way}");
        }
    }
}

#[test]
fn a_replayed_run_gives_the_same_picture() {
    let batches = random_run(&mut Random(7), "unwound");
    let replay = |batches: &[Batch]| {
        let mut model = model("unwound", 1);
        for batch in batches {
            model.apply(batch);
        }
        model.finish(End::default());
        model.snapshot()
    };
    let json = serde_json::to_string(&batches).expect("batches are plain data");
    let read: Vec<Batch> = serde_json::from_str(&json).expect("and read back");
    assert_eq!(replay(&read), replay(&batches));
}
