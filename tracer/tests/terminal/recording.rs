//! A small recording to look at.

use std::{collections::BTreeMap, path::Path, time::Duration};

use tracer::{
    batch::{self, Batch, Count, CountKey, OrderTotals},
    gfp,
    recording::Writer,
    run::{End, Host, PathsMode, Start},
    signal::{Signal, Status},
};

/// Three intervals of a second, in which one path of order 2 allocates 1000, 2000 and 3000 times.
pub(crate) fn write(path: &Path) {
    let signal = Signal {
        name: "page.alloc".into(),
        hook: Some("raw_tracepoint:mm_page_alloc".into()),
        status: Status::Attached,
        refused: Vec::new(),
        note: String::new(),
    };
    let start = Start {
        host: Host { kernel: "6.18.0".into(), machine: "x86_64".into(), cpus: 2, page_size: 4096, max_order: 10 },
        at_unix_ns: 1_767_225_600_000_000_000,
        argv: Vec::new(),
        signals: vec![signal],
        paths: PathsMode { way: "unwound".into(), one_in: 1, reason: String::new() },
        by: None,
        filters: Vec::new(),
        gfp: gfp::Table { source: "test".into(), names: vec![(0xcc0, "GFP_KERNEL".into())] },
        migratetypes: BTreeMap::from([(0, "unmovable".into())]),
    };
    let mut writer = Writer::create(path, &start, false, None).expect("a recording can be made");
    let frame = |name: &str| batch::Frame { name: name.into(), module: None };
    let frames = ["alloc_pages_noprof", "skb_page_frag_refill", "tcp_sendmsg", "__x64_sys_sendto"].map(frame).to_vec();
    let mut paths = vec![batch::Path { key: 1, addresses: vec![1, 2, 3, 4], frames, truncated: false }];
    let mut allocated = 0;
    for second in 1..=3u64 {
        let events = second * 1000;
        allocated += events;
        let key = CountKey { path: 1, order: 2, gfp: 0xcc0, ..CountKey::default() };
        let totals = OrderTotals { order: 2, allocated, ..OrderTotals::default() };
        let batch = Batch {
            at: Duration::from_secs(second),
            paths: std::mem::take(&mut paths),
            counts: vec![Count { key, events }],
            totals: vec![totals],
            ..Batch::default()
        };
        writer.append(&batch).expect("a batch can be written");
    }
    writer.finish(&End { duration: Duration::from_secs(3), ..End::default() }).expect("it can be closed");
}
