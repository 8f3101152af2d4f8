//! What recording costs. To be run with `--release`: `cargo test --release -p tracer --lib speed -- --ignored`.

use std::time::{Duration, Instant};

use super::{
    super::{Recording, Writer},
    place,
    sample::{self, Chance},
};
use crate::batch::{Batch, Count, CountKey, Frame, OrderTotals, Path, ProgramStats};

const KINDS: u64 = 5000;

/// A busy second: every one of 5,000 kinds, each of a path of its own with 20 frames, has changed.
fn second(index: u32, chance: &mut Chance) -> Batch {
    let path = |key| Path {
        key,
        addresses: (0..20).map(|_| u64::MAX - key % 977).collect(),
        frames: (0..20).map(|at| Frame { name: format!("function_{}", (key * 7 + at) % 2000), module: None }).collect(),
        truncated: false,
    };
    Batch {
        at: Duration::from_secs(1) * index,
        paths: if index == 1 { (1..=KINDS).map(path).collect() } else { Vec::new() },
        counts: (1..=KINDS)
            .map(|path| Count {
                key: CountKey { path, gfp: 0xcc0, order: 3, ..CountKey::default() },
                events: 1 + chance.below(1000),
            })
            .collect(),
        totals: (0..11).map(|order| OrderTotals { order, allocated: 1 << 40, ..OrderTotals::default() }).collect(),
        programs: (0..8).map(|number| ProgramStats { hook: format!("{number}"), ..ProgramStats::default() }).collect(),
        ..Batch::default()
    }
}

/// What it took to write and read `seconds` of that.
struct Cost {
    /// Of each second but the first, ascending.
    appends: Vec<Duration>,
    first_append: Duration,
    finish: Duration,
    bytes: u64,
    open: Duration,
    replay: Duration,
}

fn measured(seconds: u32) -> Cost {
    let (_folder, path) = place();
    let mut chance = Chance(1);
    let mut writer = Writer::create(&path, &sample::start(), false, None).unwrap();
    let mut appends: Vec<_> = (1..=seconds)
        .map(|index| {
            let batch = second(index, &mut chance);
            timed(|| writer.append(&batch).unwrap()).1
        })
        .collect();
    let first_append = appends.remove(0);
    appends.sort_unstable();
    let ((), finish) = timed(|| writer.finish(&sample::end()).unwrap());
    let (recording, open) = timed(|| Recording::open(&path).unwrap());
    let (events, replay) = timed(|| {
        let counts = recording.batches().flat_map(|batch| batch.unwrap().counts);
        counts.map(|count| count.events).sum::<u64>()
    });
    assert!(events > 0);
    Cost { appends, first_append, finish, bytes: std::fs::metadata(&path).unwrap().len(), open, replay }
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let before = Instant::now();
    let result = work();
    (result, before.elapsed())
}

#[test]
#[ignore = "measures time, which means something in a release build on a quiet machine only"]
fn a_busy_second_is_written_in_less_than_20_ms_and_a_busy_hour_takes_less_than_300_mb() {
    let (short, long) = (measured(10), measured(120));
    let hour = (long.bytes - short.bytes) / 110 * 3600;
    let (median, most) = (long.appends[long.appends.len() / 2], long.appends[long.appends.len() - 1]);
    let figures = format!(
        "append {median:?} (median), {most:?} (most), {:?} (first, with 5,000 paths), finish {:?}, {} MB an hour; \
         120 s open in {:?}, replay in {:?}",
        long.first_append,
        long.finish,
        hour / 1_000_000,
        long.open,
        long.replay,
    );
    std::io::Write::write_all(&mut std::io::stdout(), format!("{figures}\n").as_bytes()).unwrap();
    assert!(median < Duration::from_millis(20) && hour < 300_000_000, "{figures}");
}
