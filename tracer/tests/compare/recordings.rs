//! Recordings made by hand, as small as a comparison needs them.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use tempfile::TempDir;
use tracer::{
    batch::{Batch, Count, CountKey, Frame, OrderTotals, Path},
    gfp,
    recording::Writer,
    run::{Benchmark, CommandEnd, End, Host, PathsMode, Score, Start, System, Work},
    signal::{Signal, Status},
    tally::{Distribution, Kind, Sums, Tallies, TallyCount, TallyKey},
};

/// A folder of recordings.
pub(crate) struct Folder {
    folder: TempDir,
    made: i64,
}

/// One recording.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) kernel: &'static str,
    pub(crate) test: &'static str,
    pub(crate) results: Vec<Score>,
    /// Wall, user and system time, s.
    pub(crate) times: [f64; 3],
    pub(crate) instances: u32,
    /// Messages.
    pub(crate) work: Option<f64>,
    /// Frames innermost first, order, events.
    pub(crate) paths: Vec<(&'static [&'static str], u8, u64)>,
    /// Events of order 0 that have no path.
    pub(crate) lost: u64,
    /// UDP charges on the receive side: how many, pages each, bytes beyond need each, held before.
    pub(crate) charges: Option<[u64; 4]>,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            kernel: "6.18.0",
            test: "UDP_STREAM",
            results: Vec::new(),
            times: [60.0, 1.0, 50.0],
            instances: 1,
            work: None,
            paths: Vec::new(),
            lost: 0,
            charges: None,
        }
    }
}

pub(crate) fn score(metric: &str, side: &str, value: f64, unit: &str) -> Score {
    let (metric, side, unit) = (metric.to_owned(), side.to_owned(), unit.to_owned());
    Score { metric, side, value, unit, lower_is_better: false }
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().expect("a folder for recordings"), made: 0 }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Recordings of several runs, as one side of a comparison.
    pub(crate) fn group(&mut self, runs: &[Run]) -> String {
        let paths: Vec<String> = runs.iter().map(|run| self.record(run).display().to_string()).collect();
        paths.join(",")
    }

    /// Writes a recording; each begins a second after the one before.
    pub(crate) fn record(&mut self, run: &Run) -> PathBuf {
        self.made += 1;
        let path = self.path(&format!("{}.db", self.made));
        let counts_pages = !run.paths.is_empty() || run.lost > 0;
        let signal = Signal {
            name: "page.alloc".into(),
            hook: counts_pages.then(|| "raw_tracepoint:mm_page_alloc".into()),
            status: if counts_pages { Status::Attached } else { Status::Missing },
            refused: Vec::new(),
            note: String::new(),
        };
        let start = Start {
            host: Host { kernel: run.kernel.into(), machine: "x86_64".into(), cpus: 2, page_size: 4096, max_order: 10 },
            at_unix_ns: 1_767_225_600_000_000_000 + self.made * 1_000_000_000,
            argv: vec!["netperf".into(), "-t".into(), run.test.into()],
            signals: std::iter::once(signal).chain(charge_signal(run)).collect(),
            paths: PathsMode { way: "remembered".into(), one_in: 1, reason: String::new() },
            by: None,
            filters: Vec::new(),
            gfp: gfp::Table { source: "test".into(), names: Vec::new() },
            migratetypes: BTreeMap::new(),
        };
        let mut writer = Writer::create(&path, &start, false, None).expect("a new recording");
        writer.append(&batch(run)).expect("an interval");
        let [wall_s, user_s, system_s] = run.times;
        let end = End {
            duration: Duration::from_mins(1),
            command: Some(CommandEnd { exit_code: 0, wall_s, user_s, system_s }),
            benchmark: Some(Benchmark {
                tool: "netperf".into(),
                test: run.test.into(),
                instances: run.instances,
                results: run.results.clone(),
                work: run.work.map(|amount| Work { unit: "message".into(), amount }),
                ..Benchmark::default()
            }),
            system: System::default(),
            warnings: Vec::new(),
        };
        writer.finish(&end).expect("the end");
        path
    }
}

fn charge_signal(run: &Run) -> Option<Signal> {
    run.charges.map(|_| Signal {
        name: "sock.charge".into(),
        hook: Some("fexit:__sk_mem_raise_allocated".into()),
        status: Status::Attached,
        refused: Vec::new(),
        note: String::new(),
    })
}

fn charges([events, pages, beyond, held]: [u64; 4]) -> Tallies {
    // Receive side of UDP, as `tracer_common::tally` lays a detail out.
    let udp = 17;
    let detail = udp | 1 << 9;
    let distribution = |what: &str, value: u64| Distribution {
        name: format!("{what}:udp:receive"),
        buckets: vec![(value, events)],
        sum: value * events,
        min: value,
        max: value,
    };
    Tallies {
        counts: vec![TallyCount {
            key: TallyKey { kind: Kind::Charge as u8, detail, path: 0 },
            sums: Sums { events, values: [events * pages, events * 17_152, events * beyond] },
        }],
        distributions: vec![distribution("beyond_need_bytes", beyond), distribution("forward_alloc_bytes", held)],
        ..Tallies::default()
    }
}

fn batch(run: &Run) -> Batch {
    let mut totals: BTreeMap<u8, u64> = BTreeMap::new();
    let mut batch = Batch { at: Duration::from_secs(1), ..Batch::default() };
    for (key, (frames, order, events)) in (1..).zip(&run.paths) {
        let frame = |name: &&str| Frame { name: (*name).to_owned(), module: None };
        let frames: Vec<Frame> = frames.iter().map(frame).collect();
        batch.paths.push(Path { key, addresses: vec![key; frames.len()], frames, truncated: false });
        let key = CountKey { path: key, order: *order, gfp: 0xcc0, ..CountKey::default() };
        batch.counts.push(Count { key, events: *events });
        *totals.entry(*order).or_default() += events;
    }
    if run.lost > 0 {
        *totals.entry(0).or_default() += run.lost;
    }
    batch.totals = totals
        .into_iter()
        .map(|(order, allocated)| OrderTotals { order, allocated, ..OrderTotals::default() })
        .collect();
    batch.tallies = run.charges.map(charges).unwrap_or_default();
    batch
}
