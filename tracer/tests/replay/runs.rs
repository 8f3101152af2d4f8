//! Small hand-made runs: one in which nothing is lost, one with every kind of loss and with hostile names.

use std::{collections::BTreeMap, time::Duration};

use tracer::{
    batch::{Audit, Batch, Count, CountKey, Frame, Loss, OrderTotals, Owner, Path, ProgramStats},
    gfp,
    model::Model,
    run::{BeforeAfter, Benchmark, CommandEnd, End, Host, PathsMode, Score, Start, System, Traffic, Work},
    signal::{Refused, Signal, Status},
    tally::{Distribution, Kind, Socket, Sums, Tallies, TallyCount, TallyKey},
};

/// The stack of `UDP_STREAM -m 8192`, innermost first, with the plumbing of a raw tracepoint in front.
const LARGE_KMALLOC: [&str; 16] = [
    "bpf_trace_run4",
    "__traceiter_mm_page_alloc",
    "__alloc_frozen_pages_noprof",
    "alloc_pages_mpol",
    "___kmalloc_large_node",
    "__kmalloc_large_node_noprof",
    "__kmalloc_node_track_caller_noprof",
    "kmalloc_reserve",
    "__alloc_skb",
    "alloc_skb_with_frags",
    "sock_alloc_send_pskb",
    "__ip_append_data",
    "udp_sendmsg",
    "__sys_sendto",
    "__x64_sys_sendto",
    "entry_SYSCALL_64_after_hwframe",
];

const PAGE_FRAGMENT: [&str; 8] = [
    "__alloc_frozen_pages_noprof",
    "skb_page_frag_refill",
    "sk_page_frag_refill",
    "tcp_sendmsg_locked",
    "tcp_sendmsg",
    "__sys_sendto",
    "__x64_sys_sendto",
    "entry_SYSCALL_64_after_hwframe",
];

fn path(key: u64, names: &[&str]) -> Path {
    let frame = |name: &&str| Frame { name: (*name).to_owned(), module: None };
    Path { key, addresses: Vec::new(), frames: names.iter().map(frame).collect(), truncated: false }
}

fn count(path: u64, order: u8, gfp: u32, events: u64) -> Count {
    Count { key: CountKey { path, order, gfp, ..CountKey::default() }, events }
}

fn totals(order: u8, allocated: u64, failed: u64) -> OrderTotals {
    OrderTotals {
        order,
        allocated,
        failed,
        freed: None,
        refilled: Some(allocated / 10),
        direct: Some(if order > 3 { allocated } else { 0 }),
        drained: Some(allocated / 20),
    }
}

fn program(run: Option<(u64, u64)>, missed: u64) -> ProgramStats {
    ProgramStats {
        signal: "page.alloc".into(),
        hook: "raw_tracepoint:mm_page_alloc".into(),
        run_count: run.map(|(count, _)| count),
        run_time_ns: run.map(|(_, time_ns)| time_ns),
        missed,
    }
}

fn signal(name: &str, hook: Option<&str>) -> Signal {
    Signal {
        name: name.to_owned(),
        hook: hook.map(str::to_owned),
        status: if hook.is_some() { Status::Attached } else { Status::Missing },
        refused: Vec::new(),
        note: String::new(),
    }
}

fn start() -> Start {
    let alloc = Some("raw_tracepoint:mm_page_alloc");
    let refused = Refused { hook: "fexit:alloc_pages_bulk_noprof".into(), reason: "`bpf(2)` says EPERM".into() };
    let bulk = Signal {
        refused: vec![refused],
        note: "bulk allocations are not seen: the total is a lower bound".into(),
        ..signal("page.bulk", None)
    };
    Start {
        host: Host { kernel: "6.18.0".into(), machine: "x86_64".into(), cpus: 2, page_size: 4096, max_order: 10 },
        at_unix_ns: 1_767_225_600_000_000_000,
        argv: ["netperf", "-t", "UDP_STREAM", "-l", "5", "--", "-m", "8192"].map(str::to_owned).to_vec(),
        signals: vec![
            signal("page.alloc", alloc),
            signal("page.fail", alloc),
            signal("page.zone_lock", Some("raw_tracepoint:mm_page_alloc_zone_locked")),
            signal("page.drain", Some("raw_tracepoint:mm_page_pcpu_drain")),
            bulk,
        ],
        paths: PathsMode { way: "unwound".into(), one_in: 1, reason: String::new() },
        by: None,
        filters: Vec::new(),
        gfp: gfp::Table {
            source: "test".into(),
            names: vec![(0xcc0, "GFP_KERNEL".into()), (0x4_0000, "__GFP_COMP".into())],
        },
        migratetypes: BTreeMap::from([(0, "unmovable".into()), (1, "movable".into())]),
    }
}

fn end() -> End {
    let score = |metric: &str, side: &str, value, unit: &str| Score {
        metric: metric.into(),
        side: side.into(),
        value,
        unit: unit.into(),
        lower_is_better: false,
    };
    let blocks = |counts: [u64; 11]| BTreeMap::from([("0/Normal".to_owned(), counts.to_vec())]);
    End {
        duration: Duration::from_millis(5_030),
        command: Some(CommandEnd { exit_code: 0, wall_s: 5.02, user_s: 0.31, system_s: 4.6 }),
        benchmark: Some(Benchmark {
            tool: "netperf".into(),
            test: "UDP_STREAM".into(),
            instances: 1,
            results: vec![
                score("throughput", "send", 26_314.8, "Mbit/s"),
                score("throughput", "receive", 25_531.02, "Mbit/s"),
                score("messages", "send", 2_007_661.0, "messages"),
            ],
            work: Some(Work { unit: "message".into(), amount: 2_007_661.0 }),
            warnings: vec!["59,795 messages lost (2.98 %): the send rate is not what arrived".into()],
            stdout: String::new(),
            stderr: String::new(),
        }),
        system: System {
            buddyinfo: Some(BeforeAfter {
                before: blocks([551, 422, 160, 204, 193, 34, 15, 7, 22, 19, 6956]),
                after: blocks([40_773, 37, 34, 29, 0, 0, 0, 0, 0, 0, 0]),
            }),
            vmstat_delta: BTreeMap::from([("pgalloc_normal".to_owned(), 8_069_306)]),
            unseen_pages: Some(306),
            ..System::default()
        },
        warnings: Vec::new(),
    }
}

/// Two batches of a run in which nothing was lost; two keys of one path, and failures of a large order.
pub(crate) fn clean() -> Model {
    let mut model = Model::new(start());
    model.apply(&Batch {
        at: Duration::from_secs(1),
        paths: vec![path(1, &LARGE_KMALLOC), path(2, &LARGE_KMALLOC)],
        counts: vec![count(1, 2, 0x4_0cc0, 1_000_000), count(2, 2, 0x4_0cc0, 7_000)],
        totals: vec![totals(2, 1_007_000, 0)],
        programs: vec![program(Some((1_007_000, 100_000_000)), 0)],
        ..Batch::default()
    });
    let failed = CountKey { path: 3, order: 9, gfp: 0x4_0cc0, failed: true, ..CountKey::default() };
    model.apply(&Batch {
        at: Duration::from_secs(5),
        paths: vec![path(3, &PAGE_FRAGMENT)],
        counts: vec![
            count(1, 2, 0x4_0cc0, 1_000_000),
            count(3, 3, 0x5_28c0, 5_000),
            count(3, 0, 0xcc0, 1_000),
            Count { key: failed, events: 3 },
        ],
        totals: vec![totals(0, 1_000, 0), totals(2, 2_007_000, 0), totals(3, 5_000, 0), totals(9, 0, 3)],
        programs: vec![program(Some((2_013_003, 200_000_000)), 0)],
        ..Batch::default()
    });
    model.finish(end());
    model
}

/// A run with every kind of loss, by process name, with names that would break a careless writer.
pub(crate) fn lossy() -> Model {
    let mut start = start();
    start.argv = vec!["sh".into(), "-c".into(), "echo \x1b[31mred".into()];
    start.by = Some("comm".into());
    start.filters = vec!["--min-order 1".into()];
    start.paths = PathsMode { way: "remembered".into(), one_in: 1, reason: String::new() };
    let frame = |name: &str, module: Option<&str>| Frame { name: name.into(), module: module.map(str::to_owned) };
    let hostile = Path {
        frames: ["a;b", " lead", "tab\tend", "call 12", "", "größe"]
            .map(|name| frame(name, None))
            .into_iter()
            .chain([frame("veth_xmit", Some("veth"))])
            .collect(),
        truncated: true,
        ..path(4, &[])
    };
    let owned = |path, owner, events| Count {
        key: CountKey { path, owner, order: 3, gfp: 0xcc0, migratetype: 7, ..CountKey::default() },
        events,
    };
    let names = ["kworker/0:1", "tmux: server", "(sd-pam)", "", "semi;colon\x1b[2J"];
    let loss = Loss { events: 12, pages: 96, by_order: BTreeMap::from([(3, 12)]), counted_without_path: true };
    let mut model = Model::new(start);
    model.apply(&Batch {
        at: Duration::from_secs(2),
        paths: vec![hostile, path(5, &PAGE_FRAGMENT)],
        owners: (1..).zip(names).map(|(key, name)| Owner { key, name: name.to_owned() }).collect(),
        counts: vec![
            owned(4, 1, 40),
            owned(4, 2, 30),
            owned(5, 3, 20),
            owned(5, 4, 6),
            owned(5, 5, 3),
            owned(5, 99, 1),
            Count { key: CountKey { order: 64, ..CountKey::default() }, events: 5 },
        ],
        totals: vec![totals(3, 120, 0), totals(200, 1, 0)],
        losses: BTreeMap::from([("path_table_full".to_owned(), loss)]),
        programs: vec![program(None, 7)],
        audit: Some(Audit { checked: 4_000, disagreed: 0 }),
        ..Batch::default()
    });
    model.finish(End { duration: Duration::from_secs(2), ..End::default() });
    model
}

/// A run with `--paths off`.
pub(crate) fn without_paths() -> Model {
    let mut model =
        Model::new(Start { paths: PathsMode { way: "off".into(), one_in: 1, reason: String::new() }, ..start() });
    model.apply(&Batch { counts: vec![count(0, 3, 0xcc0, 12)], totals: vec![totals(3, 12, 0)], ..Batch::default() });
    model.finish(End { duration: Duration::from_secs(1), ..End::default() });
    model
}

/// A run on a kernel that shows every charge: datagrams that overflow a socket, charges beyond need as on 6.1, one
/// refusal, large kmalloc, a fallback, bulk pages, one direct reclaim.
pub(crate) fn sockets() -> Model {
    let mut start = start();
    let signal = |name: &str, hook: &str| Signal {
        name: name.to_owned(),
        hook: Some(hook.to_owned()),
        status: Status::Attached,
        refused: Vec::new(),
        note: String::new(),
    };
    start.signals = vec![
        signal("page.alloc", "raw_tracepoint:mm_page_alloc"),
        signal("page.fragment", "raw_tracepoint:mm_page_alloc_extfrag"),
        signal("page.bulk", "fexit:__alloc_pages_bulk"),
        signal("kmalloc.large", "fexit:__kmalloc_large_node"),
        signal("reclaim", "raw_tracepoint:mm_vmscan_direct_reclaim_end"),
        signal("sock.charge", "fexit:__sk_mem_raise_allocated"),
        signal("sock.uncharge", "fentry:__sk_mem_reduce_allocated"),
        signal("sock.limit", "fexit:__sk_mem_raise_allocated"),
        signal("sock.rcvqueue", "raw_tracepoint:udp_fail_queue_rcv_skb"),
        signal("sock.drop", "raw_tracepoint:kfree_skb"),
        signal("sock.wait", "fexit:sk_stream_wait_memory"),
    ];
    let mut model = Model::new(start);
    model.apply(&socket_batch());
    model.finish(End {
        duration: Duration::from_secs(2),
        system: System {
            sockstat: Some(BeforeAfter {
                before: BTreeMap::from([("TCP.mem".to_owned(), 3), ("net.ipv4.tcp_mem.2".to_owned(), 900)]),
                after: BTreeMap::from([("TCP.mem".to_owned(), 880), ("net.ipv4.tcp_mem.2".to_owned(), 900)]),
            }),
            netstat_delta: BTreeMap::from([("Udp.RcvbufErrors".to_owned(), 104)]),
            interfaces: BTreeMap::from([(
                "lo".to_owned(),
                Traffic { rx_packets: 2410, rx_bytes: 39_505_920, tx_packets: 2410, tx_bytes: 39_505_920 },
            )]),
            ..System::default()
        },
        ..End::default()
    });
    model
}

/// All that was counted in it.
fn socket_batch() -> Batch {
    let udp = 17;
    let (receive, charged) = (1 << 9, 0x51);
    let count = |kind: Kind, detail: u64, path: u64, events: u64, values: [u64; 3]| TallyCount {
        key: TallyKey { kind: kind as u8, detail, path },
        sums: Sums { events, values },
    };
    let distribution = |name: &str, buckets: &[(u64, u64)], sum: u64, min: u64, max: u64| Distribution {
        name: name.to_owned(),
        buckets: buckets.to_vec(),
        sum,
        min,
        max,
    };
    let path = |key: u64, names: &[&str]| Path {
        key,
        addresses: vec![key],
        frames: names.iter().map(|name| Frame { name: (*name).to_owned(), module: None }).collect(),
        truncated: false,
    };
    Batch {
        at: Duration::from_secs(1),
        paths: vec![
            path(charged, &["__sk_mem_raise_allocated", "__udp_enqueue_schedule_skb", "handle_softirqs"]),
            path(0x52, &["__kmalloc_large_node", "__alloc_skb", "__x64_sys_sendto", "do_syscall_64"]),
        ],
        tallies: Tallies {
            counts: vec![
                count(Kind::KmallocLarge, 2, 0x52, 1000, [9_000_000, 16_384_000, 0]),
                count(Kind::Fragment, 0x1a3 | 1 << 12, 0x52, 5, [0; 3]),
                count(Kind::Bulk, 0, 0x52, 10, [340, 0, 0]),
                count(Kind::Reclaim, 3, 0x52, 2, [3_000_000, 64, 0]),
                // 16 KiB datagrams on 6.1: five pages each for the whole of it, of which one was held.
                count(Kind::Charge, udp | receive, charged, 2306, [11_530, 39_552_512, 9_445_376]),
                count(Kind::Uncharge, udp, charged, 2303, [11_530, 0, 0]),
                count(Kind::Limit, 6, charged, 7, [700, 0, 0]),
                count(Kind::RcvQueue, udp | receive, charged, 104, [0; 3]),
            ],
            distributions: vec![
                distribution("reclaim_ns", &[(917_504, 1), (1_966_080, 1)], 3_000_000, 1_000_000, 2_000_000),
                distribution("beyond_need_bytes:udp:receive", &[(4096, 2306)], 9_445_376, 4096, 4096),
                distribution("forward_alloc_bytes:udp:receive", &[(4096, 2306)], 9_445_376, 4096, 4096),
            ],
            sockets: vec![
                Socket {
                    key: 1,
                    protocol: "udp".to_owned(),
                    local: "127.0.0.1:5001".to_owned(),
                    pid: Some(116),
                    comm: "netserver".to_owned(),
                    rmem_alloc: 212_000,
                    rcvbuf: 212_992,
                    sndbuf: 212_992,
                    forward_alloc: 4096,
                    charges: 2306,
                    rcvqueue_full: 104,
                    ..Socket::default()
                },
                Socket {
                    key: 2,
                    protocol: "tcp".to_owned(),
                    local: "127.0.0.1:12865".to_owned(),
                    remote: "127.0.0.1:40000".to_owned(),
                    rcvbuf: 131_072,
                    wmem_queued: 2_000_000,
                    sndbuf: 2_626_560,
                    forward_alloc: -4096,
                    refused: 7,
                    ..Socket::default()
                },
            ],
            drops: BTreeMap::from([("socket_rcvbuff".to_owned(), 104), ("no_socket".to_owned(), 2)]),
            losses: BTreeMap::new(),
        },
        ..Batch::default()
    }
}
