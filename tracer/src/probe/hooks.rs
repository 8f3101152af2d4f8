//! The hook table: for each signal its rungs, best first, each with what is lost on it.
//!
//! A signal is what we want to know, a rung a way to get it.

/// A signal and its ways.
#[derive(Debug)]
pub struct Row {
    /// The signal's name, as on the command line and in reports.
    pub signal: &'static str,
    /// What it tells, for `doctor`.
    pub tells: &'static str,
    /// Attached without being asked for.
    pub default: bool,
    /// Best first.
    pub rungs: &'static [Rung],
}

/// One way to a signal.
#[derive(Clone, Copy, Debug)]
pub struct Rung {
    /// The hooks that it takes, the one that names it first.
    pub parts: &'static [Part],
    /// What is lost on this rung; empty when nothing is.
    pub lost: &'static str,
}

/// One hook of a rung.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// What kind of hook.
    pub kind: Kind,
    /// The kernel's names of the hook, which differ between kernels; the first that is there is taken.
    pub names: &'static [&'static str],
    /// The program in the BPF object.
    pub program: &'static str,
    /// Whether the rung does without it where the kernel lacks it.
    pub optional: bool,
}

/// What kind of hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A raw tracepoint: runs unless the same program is running already on that CPU.
    RawTracepoint,
    /// Entry of a function, by a trampoline.
    FEntry,
    /// Return of a function, by a trampoline: arguments and result.
    FExit,
    /// Entry of a function, by a breakpoint or ftrace.
    KProbe,
    /// Return of a function, likewise.
    KRetProbe,
}

impl Kind {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RawTracepoint => "raw_tracepoint",
            Self::FEntry => "fentry",
            Self::FExit => "fexit",
            Self::KProbe => "kprobe",
            Self::KRetProbe => "kretprobe",
        }
    }
}

impl Part {
    /// `kind:hook`, as reports show it.
    pub fn name(&self, hook: &str) -> String {
        format!("{}:{hook}", self.kind.name())
    }
}

impl Rung {
    /// `kind:hook` under the newest name.
    pub fn name(&self) -> String {
        self.parts[0].name(self.parts[0].names[0])
    }
}

const fn part(kind: Kind, names: &'static [&'static str], program: &'static str) -> Part {
    Part { kind, names, program, optional: false }
}

/// The same, where the rung can do without it.
const fn spare(kind: Kind, names: &'static [&'static str], program: &'static str) -> Part {
    Part { kind, names, program, optional: true }
}

/// A raw tracepoint whose program bears its name.
const fn event(names: &'static [&'static str]) -> Part {
    part(Kind::RawTracepoint, names, names[0])
}

const fn spare_event(names: &'static [&'static str]) -> Part {
    spare(Kind::RawTracepoint, names, names[0])
}

const fn whole(parts: &'static [Part]) -> Rung {
    Rung { parts, lost: "" }
}

const KMALLOC_LARGE: &[&str] = &["___kmalloc_large_node", "__kmalloc_large_node", "kmalloc_large_node"];
const RAISE: &[&str] = &["__sk_mem_raise_allocated"];
const REDUCE: &[&str] = &["__sk_mem_reduce_allocated"];
const FORCED: &[&str] = &["sk_forced_mem_schedule"];
const WAIT: &[&str] = &["sk_stream_wait_memory"];
const BULK: &[&str] = &["alloc_pages_bulk_noprof", "__alloc_pages_bulk"];
const COMPACT: &[&str] = &["try_to_compact_pages"];
/// What socket samples need.
const MESSAGES: &[Part] = &[event(&["sock_recv_length"]), event(&["sock_send_length"])];
/// What tells of charges and of refusals at the funnel.
const CHARGES: &[Part] = &[
    part(Kind::FExit, RAISE, "raise_returned"),
    part(Kind::FEntry, &["__sk_mem_schedule"], "schedule_entered"),
    spare(Kind::FEntry, &["__udp_enqueue_schedule_skb"], "udp_enqueue_entered"),
    part(Kind::FEntry, FORCED, "forced_entered"),
    part(Kind::FExit, FORCED, "forced_returned"),
];

/// Every signal. Those that share a hook share its program.
pub const TABLE: &[Row] = &[
    Row {
        signal: "page.alloc",
        tells: "every page allocation: order, gfp flags, migrate type, path",
        default: true,
        rungs: &[whole(&[event(&["mm_page_alloc"])])],
    },
    Row {
        signal: "page.fail",
        tells: "failed page allocations: order, gfp flags, migrate type, path",
        default: true,
        rungs: &[whole(&[event(&["mm_page_alloc"])])],
    },
    Row {
        signal: "page.zone_lock",
        tells: "pages taken under the zone lock, per-CPU refills and direct ones apart, by order",
        default: true,
        rungs: &[whole(&[event(&["mm_page_alloc_zone_locked"])])],
    },
    Row {
        signal: "page.drain",
        tells: "pages drained from per-CPU lists, by order",
        default: true,
        rungs: &[whole(&[event(&["mm_page_pcpu_drain"])])],
    },
    Row {
        signal: "page.fragment",
        tells: "fallbacks to another migrate type: order wanted, order taken, path",
        default: true,
        rungs: &[whole(&[event(&["mm_page_alloc_extfrag"])])],
    },
    Row {
        signal: "page.bulk",
        tells: "pages taken by bulk allocations, for which mm_page_alloc does not fire, by path",
        default: true,
        rungs: &[whole(&[part(Kind::FExit, BULK, "bulk_returned"), part(Kind::FEntry, BULK, "bulk_entered")])],
    },
    Row {
        signal: "page.free",
        tells: "frees by order; as many events again as allocations",
        default: false,
        rungs: &[whole(&[event(&["mm_page_free"])])],
    },
    Row {
        signal: "kmalloc.large",
        tells: "large kmalloc: bytes asked for, bytes given, path",
        default: true,
        rungs: &[
            whole(&[
                part(Kind::FExit, KMALLOC_LARGE, "kmalloc_large_returned"),
                spare(Kind::FExit, &["kmalloc_order"], "kmalloc_order_returned"),
            ]),
            Rung {
                parts: &[
                    part(Kind::KProbe, KMALLOC_LARGE, "kmalloc_large_entered"),
                    spare(Kind::KProbe, &["kmalloc_order"], "kmalloc_order_entered"),
                ],
                lost: "whether an allocation failed is not told",
            },
            Rung {
                parts: &[event(&["kmalloc"]), spare_event(&["kmalloc_node"])],
                lost: "every kmalloc of the system passes the program, which costs some time",
            },
        ],
    },
    Row {
        signal: "reclaim",
        tells: "direct reclaim: latency, pages reclaimed, order, path",
        default: true,
        rungs: &[whole(&[event(&["mm_vmscan_direct_reclaim_end"]), event(&["mm_vmscan_direct_reclaim_begin"])])],
    },
    Row {
        signal: "compaction",
        tells: "compaction: latency, order, path",
        default: true,
        rungs: &[
            whole(&[
                part(Kind::FExit, COMPACT, "compaction_returned"),
                part(Kind::FEntry, COMPACT, "compaction_entered"),
            ]),
            Rung {
                parts: &[
                    event(&["mm_compaction_end"]),
                    event(&["mm_compaction_begin"]),
                    event(&["mm_compaction_try_to_compact_pages"]),
                ],
                lost: "each zone counts by itself, and so does compaction in the background",
            },
        ],
    },
    Row {
        signal: "sock.charge",
        tells: "socket memory charged by the slow path: need, pages, bytes beyond need, held before, path",
        default: true,
        rungs: &[
            whole(CHARGES),
            Rung {
                parts: &[part(Kind::KProbe, RAISE, "raise_entered")],
                lost: "need and forced charges are not told, and refused charges count as charged",
            },
            Rung {
                parts: MESSAGES,
                lost: "no charge is seen: the figures of sockets are samples, taken at one message in 16",
            },
        ],
    },
    Row {
        signal: "sock.uncharge",
        tells: "socket memory given back: pages, path",
        default: true,
        rungs: &[
            whole(&[part(Kind::FEntry, REDUCE, "reduce_entered")]),
            whole(&[part(Kind::KProbe, REDUCE, "reduce_probed")]),
        ],
    },
    Row {
        signal: "sock.limit",
        tells: "charges refused: by the protocol's limit, the memory cgroup or under pressure; path",
        default: true,
        rungs: &[
            whole(CHARGES),
            Rung {
                parts: &[event(&["sock_exceed_buf_limit"])],
                lost: "a memory cgroup's refusal on the receive side is not told",
            },
        ],
    },
    Row {
        signal: "sock.rcvqueue",
        tells: "datagrams dropped at a socket: receive buffer full, or no protocol memory",
        default: true,
        rungs: &[whole(&[event(&["udp_fail_queue_rcv_skb"]), spare_event(&["sock_rcvqueue_full"])])],
    },
    Row {
        signal: "sock.drop",
        tells: "packets dropped, by the kernel's reason",
        default: true,
        rungs: &[whole(&[event(&["kfree_skb"])])],
    },
    Row {
        signal: "sock.wait",
        tells: "time that senders wait for send memory",
        default: true,
        rungs: &[
            whole(&[part(Kind::FExit, WAIT, "wait_returned"), part(Kind::FEntry, WAIT, "wait_entered")]),
            whole(&[part(Kind::KRetProbe, WAIT, "wait_probe_returned"), part(Kind::KProbe, WAIT, "wait_probed")]),
        ],
    },
    Row {
        signal: "sock.sample",
        tells: "queues, buffers and sk_forward_alloc of live sockets, taken at messages",
        default: false,
        rungs: &[whole(MESSAGES)],
    },
];

/// The rows that a `--signals` list selects, by name or first part of a name (`page`, `page.alloc`); the default
/// set for an empty list.
///
/// # Errors
/// The word that selects nothing.
pub fn select(list: &[String]) -> Result<Vec<&'static Row>, String> {
    if list.is_empty() {
        return Ok(TABLE.iter().filter(|row| row.default).collect());
    }
    let selects = |word: &str, row: &Row| {
        row.signal == word || row.signal.strip_prefix(word).is_some_and(|it| it.starts_with('.'))
    };
    for word in list {
        if !TABLE.iter().any(|row| selects(word, row)) {
            return Err(word.clone());
        }
    }
    Ok(TABLE.iter().filter(|row| list.iter().any(|word| selects(word, row))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Result<Vec<&'static str>, String> {
        let list: Vec<String> = list.iter().map(|word| (*word).to_owned()).collect();
        Ok(select(&list)?.iter().map(|row| row.signal).collect())
    }

    #[test]
    fn without_a_list_frees_and_samples_are_left_out() {
        let names = names(&[]).unwrap_or_default();
        assert!(names.contains(&"page.alloc") && names.contains(&"sock.charge"));
        assert!(!names.contains(&"page.free") && !names.contains(&"sock.sample"));
    }

    #[test]
    fn a_first_part_selects_all_of_its_signals() {
        assert_eq!(names(&["page"]).map(|it| it.len()), Ok(7));
        assert_eq!(names(&["page.free", "page.alloc"]), Ok(vec!["page.alloc", "page.free"]));
    }

    #[test]
    fn a_word_that_selects_nothing_is_named() {
        assert_eq!(names(&["page.alloc", "pag"]), Err("pag".to_owned()));
    }
}
