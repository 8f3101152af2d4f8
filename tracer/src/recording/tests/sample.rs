//! Runs to record: the same on every machine, with everything in them that a recording can hold.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    batch::{Audit, Batch, Count, CountKey, Frame, Lookups, Loss, OrderTotals, Owner, Path, ProgramStats},
    gfp,
    run::{BeforeAfter, Benchmark, CommandEnd, End, Host, PathsMode, Score, Start, System, Traffic, Work},
    signal::{Refused, Signal, Status},
    tally::{Distribution, KINDS, Socket, Sums, Tallies, TallyCount, TallyKey},
};

/// Text as a hostile program, module or benchmark might print it.
pub(super) const HOSTILE: &str = "'); DROP TABLE counts;--\u{1b}[2J\0\r\n\u{202e};`\u{fffd}";

pub(super) fn start() -> Start {
    let refused = vec![Refused { hook: "tp_btf:mm_page_alloc".into(), reason: HOSTILE.into() }];
    let signal = |name: &str, hook: Option<&str>, status, refused| Signal {
        name: name.into(),
        hook: hook.map(Into::into),
        status,
        refused,
        note: String::new(),
    };
    Start {
        host: Host { kernel: "6.18.0".into(), machine: "x86_64".into(), cpus: 2, page_size: 4096, max_order: 10 },
        at_unix_ns: 1_700_000_000_123_456_789,
        argv: vec!["load".into(), String::new(), HOSTILE.into()],
        signals: vec![
            signal("page.alloc", Some("raw_tracepoint:mm_page_alloc"), Status::Attached, vec![]),
            signal("kmalloc.large", Some("tracepoint:kmalloc"), Status::Degraded, refused),
            signal("page.bulk", None, Status::Missing, vec![]),
        ],
        paths: PathsMode { way: "unwound".into(), one_in: 1, reason: "no stack pointer".into() },
        by: Some("comm".into()),
        filters: vec!["--min-order 2".into()],
        gfp: gfp::Table {
            source: "tracefs".into(),
            names: vec![(0xcc0, "GFP_KERNEL".into()), (1 << 63, "LAST_BIT".into()), (u64::MAX, "ALL".into())],
        },
        migratetypes: BTreeMap::from([(0, "unmovable".into()), (1, "movable".into()), (255, "odd".into())]),
    }
}

pub(super) fn end() -> End {
    let zones = |blocks: u64| BTreeMap::from([("0/DMA".into(), vec![1, 0, blocks]), ("0/Normal".into(), vec![blocks])]);
    let score = |metric: &str, value| Score {
        metric: metric.into(),
        side: "send".into(),
        value,
        unit: "Mbit/s".into(),
        lower_is_better: false,
    };
    End {
        duration: Duration::new(61, 123_456_789),
        command: Some(CommandEnd { exit_code: 137, wall_s: 60.25, user_s: 0.0, system_s: 1e-9 }),
        benchmark: Some(Benchmark {
            tool: "netperf".into(),
            test: "UDP_STREAM".into(),
            instances: 2,
            results: vec![score("throughput", 63577.2), score("errors", -0.5), score("most", f64::INFINITY)],
            work: Some(Work { unit: "message".into(), amount: 36_395_320.0 }),
            warnings: vec!["messages were lost".into(), HOSTILE.into()],
            stdout: format!("{HOSTILE}\n{}", "long ".repeat(4000)),
            stderr: HOSTILE.into(),
        }),
        system: System {
            buddyinfo: Some(BeforeAfter { before: zones(7), after: zones(0) }),
            vmstat_delta: BTreeMap::from([("nr_free_pages".into(), i64::MIN), ("pgalloc_normal".into(), i64::MAX)]),
            sockstat: Some(BeforeAfter {
                before: BTreeMap::from([("UDP.mem".into(), 3)]),
                after: BTreeMap::from([("UDP.mem".into(), i64::MAX), (HOSTILE.into(), -1)]),
            }),
            netstat_delta: BTreeMap::from([("Udp.RcvbufErrors".into(), 9429), ("Tcp.CurrEstab".into(), -2)]),
            interfaces: BTreeMap::from([(
                "lo".into(),
                Traffic { rx_packets: 1, rx_bytes: 2, tx_packets: 3, tx_bytes: 4 },
            )]),
            unseen_pages: Some(-3),
        },
        warnings: vec!["page.bulk is missing".into()],
    }
}

/// `number` batches, one every 250 ms; every `seed` gives others.
pub(super) fn batches(seed: u64, number: usize) -> Vec<Batch> {
    let mut chance = Chance(seed);
    let mut keys: Vec<CountKey> = Vec::new();
    let mut paths: Vec<u64> = Vec::new();
    let mut owners: Vec<u64> = Vec::new();
    let mut allocated = [0; 11];
    (1..=number)
        .map(|index| {
            let mut batch =
                Batch { at: Duration::from_millis(250) * u32::try_from(index).unwrap(), ..Batch::default() };
            for _ in 0..chance.below(4) {
                let path = path(&mut chance);
                paths.push(path.key);
                batch.paths.push(path);
            }
            if chance.below(3) == 0 {
                let key = chance.next();
                owners.push(key);
                batch.owners.push(Owner { key, name: format!("task{}{HOSTILE}", owners.len()) });
            }
            for _ in 0..chance.below(6) {
                keys.push(CountKey {
                    path: chance.one_of(&paths),
                    owner: chance.one_of(&owners),
                    user_path: chance.one_of(&paths),
                    gfp: chance.word(),
                    order: u8::try_from(chance.below(11)).unwrap(),
                    migratetype: u8::try_from(chance.below(4)).unwrap(),
                    failed: chance.below(4) == 0,
                });
            }
            for key in &keys {
                if chance.below(2) == 0 {
                    continue;
                }
                let events = 1 + chance.below(1 << 20);
                allocated[usize::from(key.order)] += events;
                batch.counts.push(Count { key: *key, events });
            }
            batch.totals = (0..11_u8)
                .filter(|order| allocated[usize::from(*order)] > 0)
                .map(|order| OrderTotals {
                    order,
                    allocated: allocated[usize::from(order)],
                    failed: 0,
                    freed: None,
                    refilled: Some(u64::from(order)),
                    direct: Some(0),
                    drained: (order > 3).then_some(5),
                })
                .collect();
            if index > number / 2 {
                let lost = index as u64;
                let known =
                    Loss { events: lost, pages: 8 * lost, by_order: [(3, lost)].into(), counted_without_path: true };
                batch.losses.insert("path table full".into(), known);
                batch.losses.insert(HOSTILE.into(), Loss { events: 1, ..Loss::default() });
            }
            let program = |hook: &str, run_count, missed| ProgramStats {
                signal: "page.alloc".into(),
                hook: hook.into(),
                run_count,
                run_time_ns: run_count.map(|count| count * 97),
                missed,
            };
            batch.programs = vec![program("raw_tracepoint:b", Some(index as u64), 0), program("kprobe:a", None, 7)];
            batch.lookups =
                (index > 1).then_some(Lookups { hits: index as u64, unwound: 7, evicted: 1, unremembered: 2 });
            batch.audit = (index > 2).then_some(Audit { checked: index as u64, disagreed: 0 });
            batch.tallies = tallies(&mut Chance(seed ^ index as u64), &paths, index as u64);
            batch
        })
        .collect()
}

/// Every other batch has none.
fn tallies(chance: &mut Chance, paths: &[u64], index: u64) -> Tallies {
    if index.is_multiple_of(2) {
        return Tallies::default();
    }
    let mut tallies = Tallies {
        counts: KINDS
            .into_iter()
            .map(|kind| TallyCount {
                key: TallyKey { kind: kind as u8, detail: chance.below(1 << 41), path: chance.one_of(paths) },
                sums: Sums { events: 1 + chance.below(9), values: [chance.below(1 << 40), chance.below(9), 0] },
            })
            .collect(),
        distributions: vec![Distribution {
            name: "beyond_need_bytes:udp:receive".into(),
            buckets: vec![(0, 1 + chance.below(5)), (4096, 2)],
            sum: 9000,
            min: 0,
            max: 4100 + index,
        }],
        sockets: vec![Socket {
            key: chance.next(),
            protocol: "udp".into(),
            local: "127.0.0.1:9".into(),
            pid: (index > 3).then_some(7),
            comm: HOSTILE.into(),
            forward_alloc: -4096,
            charges: index,
            ..Socket::default()
        }],
        drops: BTreeMap::from([("socket_rcvbuff".into(), index), (HOSTILE.into(), 1)]),
        losses: BTreeMap::from([("nested".into(), index)]),
    };
    tallies.counts.sort_unstable_by_key(|count| count.key);
    tallies
}

fn path(chance: &mut Chance) -> Path {
    let depth = chance.below(12);
    let frame = |number| Frame {
        name: format!("function_{number}"),
        module: (number % 3 == 0).then(|| format!("module{number}")),
    };
    let addresses: Vec<u64> = (0..depth).map(|_| chance.next()).collect();
    // One in four has not been named.
    let named = chance.below(4) > 0;
    let frames = if named { (0..depth).map(|_| frame(chance.below(20))).collect() } else { Vec::new() };
    Path { key: chance.next(), addresses, frames, truncated: chance.below(5) == 0 }
}

/// Numbers that look random and are the same every time (splitmix64).
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// From 0 to `limit - 1`.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn word(&mut self) -> u32 {
        u32::try_from(self.next() >> 32).unwrap()
    }

    /// One of the keys, or 0 for none.
    fn one_of(&mut self, keys: &[u64]) -> u64 {
        let index = usize::try_from(self.below(keys.len() as u64 + 1)).unwrap();
        keys.get(index).copied().unwrap_or(0)
    }
}
