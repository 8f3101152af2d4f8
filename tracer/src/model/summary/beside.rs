//! From tallies to what is shown beside page allocations.
//!
//! Must not know: how tallies came to be.

use std::{cmp::Reverse, collections::BTreeMap};

use hdrhistogram::Histogram as Hdr;

use super::{
    super::{Model, path::id},
    findings,
};
use crate::{
    signal::Signal,
    snapshot::{
        PATHS_OFF,
        beside::{
            BesidePath, Bulk, Fallback, Fragmentation, Histogram, KmallocLarge, ProtocolRow, Reasoned, Reclaim,
            SocketRow, Sockets, Uncharged,
        },
        sum,
    },
    sockets::protocol_name,
    tally::{Distribution, Kind, Sums, TallyKey},
};

use tracer_common::tally::{PROTOCOL, RECEIVE, drop, refusal};

/// Names of what the values of a kind add up to.
fn names(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::KmallocLarge => &["bytes_requested", "bytes_allocated"],
        Kind::Reclaim => &["ns", "pages_reclaimed"],
        Kind::Compaction | Kind::Wait => &["ns"],
        Kind::Charge | Kind::Forced => &["pages_charged", "need_bytes", "beyond_need_bytes"],
        Kind::Bulk | Kind::Uncharge => &["pages"],
        Kind::Fragment | Kind::Limit | Kind::RcvQueue => &[],
    }
}

/// Events of a signal that is none of pages; `None` where its hook counts none.
pub(super) fn signal_events(model: &Model, signal: &Signal) -> Option<u64> {
    let events = |kinds: &[Kind]| Some(sum(kinds.iter().map(|kind| model.tallies.events(*kind))));
    match signal.name.as_str() {
        "page.fragment" => events(&[Kind::Fragment]),
        "page.bulk" => events(&[Kind::Bulk]),
        "kmalloc.large" => events(&[Kind::KmallocLarge]),
        "reclaim" => events(&[Kind::Reclaim]),
        "compaction" => events(&[Kind::Compaction]),
        "sock.charge" if charges_seen(model).0 => events(&[Kind::Charge, Kind::Forced]),
        "sock.uncharge" => events(&[Kind::Uncharge]),
        "sock.limit" => events(&[Kind::Limit]),
        "sock.rcvqueue" => events(&[Kind::RcvQueue]),
        "sock.drop" => Some(sum(model.tallies.drops.values().copied())),
        "sock.wait" => events(&[Kind::Wait]),
        _ => None,
    }
}

/// Large kmalloc; `None` when not measured.
pub(super) fn kmalloc_large(model: &Model) -> Option<KmallocLarge> {
    model.attached("kmalloc.large").then(|| {
        let mut all = KmallocLarge {
            events: 0,
            failed: 0,
            bytes_requested: 0,
            bytes_allocated: 0,
            by_order: BTreeMap::new(),
            paths: paths(model, &[Kind::KmallocLarge], |sums| sums.values[1]),
        };
        for (key, sums) in model.tallies.of(Kind::KmallocLarge) {
            if key.detail & 0x10 != 0 {
                all.failed = all.failed.saturating_add(sums.events);
                continue;
            }
            all.events = all.events.saturating_add(sums.events);
            all.bytes_requested = all.bytes_requested.saturating_add(sums.values[0]);
            all.bytes_allocated = all.bytes_allocated.saturating_add(sums.values[1]);
            let order = u8::try_from(key.detail & 0xf).unwrap_or(0);
            *all.by_order.entry(order).or_default() += sums.events;
        }
        all
    })
}

/// Fallbacks; `None` when not measured.
pub(super) fn fragmentation(model: &Model) -> Option<Fragmentation> {
    model.attached("page.fragment").then(|| {
        let mut kinds: BTreeMap<u64, u64> = BTreeMap::new();
        for (key, sums) in model.tallies.of(Kind::Fragment) {
            *kinds.entry(key.detail & 0xffff).or_default() += sums.events;
        }
        let part = |detail: u64, at: u32| u8::try_from(detail >> at & 0xf).unwrap_or(0);
        let migratetype = |number: u8| {
            model.start.migratetypes.get(&number).cloned().unwrap_or_else(|| format!("migrate type {number}"))
        };
        let mut kinds: Vec<Fallback> = kinds
            .into_iter()
            .map(|(detail, events)| Fallback {
                order: part(detail, 0),
                fallback_order: part(detail, 4),
                migratetype: migratetype(part(detail, 8)),
                fallback_migratetype: migratetype(part(detail, 12)),
                events,
            })
            .collect();
        kinds.sort_by_key(|kind| Reverse(kind.events));
        Fragmentation {
            events: model.tallies.events(Kind::Fragment),
            kinds,
            paths: paths(model, &[Kind::Fragment], |sums| sums.events),
        }
    })
}

/// Bulk allocations; `None` when not measured.
pub(super) fn bulk(model: &Model) -> Option<Bulk> {
    model.attached("page.bulk").then(|| Bulk {
        events: model.tallies.events(Kind::Bulk),
        pages: sum(model.tallies.of(Kind::Bulk).map(|(_, sums)| sums.values[0])),
        paths: paths(model, &[Kind::Bulk], |sums| sums.values[0]),
    })
}

/// Reclaim and compaction; `None` when neither is measured.
pub(super) fn reclaim(model: &Model) -> Option<Reclaim> {
    let (reclaim, compaction) = (model.attached("reclaim"), model.attached("compaction"));
    let by_order = |kind: Kind| {
        let mut by_order: BTreeMap<String, u64> = BTreeMap::new();
        for (key, sums) in model.tallies.of(kind) {
            let order = if key.detail & 0x10 != 0 { "-".to_owned() } else { (key.detail & 0xf).to_string() };
            *by_order.entry(order).or_default() += sums.events;
        }
        by_order
    };
    (reclaim || compaction).then(|| Reclaim {
        direct_reclaim: reclaim.then(|| histogram_of(model, "reclaim_ns")),
        reclaimed_pages: reclaim.then(|| sum(model.tallies.of(Kind::Reclaim).map(|(_, sums)| sums.values[1]))),
        direct_reclaim_by_order: by_order(Kind::Reclaim),
        compaction: compaction.then(|| histogram_of(model, "compaction_ns")),
        compaction_by_order: by_order(Kind::Compaction),
        paths: paths(model, &[Kind::Reclaim, Kind::Compaction], |sums| sums.values[0]),
    })
}

/// Socket memory; `None` when no signal of it is served.
pub(super) fn sockets(model: &Model) -> Option<Sockets> {
    let is_any = model.start.signals.iter().any(|it| it.name.starts_with("sock.") && model.attached(&it.name));
    is_any.then(|| {
        let kinds = [Kind::Charge, Kind::Forced, Kind::Uncharge, Kind::Limit, Kind::RcvQueue, Kind::Wait];
        let mut sockets = Sockets {
            findings: Vec::new(),
            protocols: protocols(model),
            uncharged: model.attached("sock.uncharge").then(|| uncharged(model)),
            refused: model.attached("sock.limit").then(|| reasoned(model, Kind::Limit, refusal_name)),
            receive_drops: model.attached("sock.rcvqueue").then(|| reasoned(model, Kind::RcvQueue, drop_name)),
            send_waits: model.attached("sock.wait").then(|| histogram_of(model, "send_wait_ns")),
            packet_drops: model.attached("sock.drop").then(|| model.tallies.drops.clone()),
            sockets: socket_rows(model),
            paths: paths(model, &kinds, |sums| sums.events),
        };
        let sockstat = model.end.as_ref().and_then(|end| end.system.sockstat.as_ref());
        sockets.findings = findings::of(&sockets, sockstat, model.start.host.page_size);
        sockets
    })
}

/// Whether single charges are seen, and whether what they needed is.
fn charges_seen(model: &Model) -> (bool, bool) {
    let hook = model.start.signals.iter().find(|it| it.name == "sock.charge").and_then(|it| it.hook.as_deref());
    let seen = hook.is_some_and(|hook| !hook.starts_with("raw_tracepoint:"));
    (seen, hook.is_some_and(|hook| hook.starts_with("fexit:")))
}

fn protocols(model: &Model) -> Vec<ProtocolRow> {
    let (seen, need_seen) = charges_seen(model);
    let limits = model.attached("sock.limit");
    let mut rows: BTreeMap<(String, bool), ProtocolRow> = BTreeMap::new();
    let mut row = |key: &TallyKey, add: &mut dyn FnMut(&mut ProtocolRow)| {
        let receive = key.detail & RECEIVE != 0;
        let protocol = protocol(key);
        add(rows.entry((protocol.clone(), receive)).or_insert_with(|| {
            let at = format!("{protocol}:{}", direction(key));
            ProtocolRow {
                protocol,
                direction: direction(key),
                charges: seen.then_some(0),
                forced: need_seen.then_some(0),
                pages_charged: seen.then_some(0),
                need_bytes: need_seen.then_some(0),
                beyond_need_bytes: need_seen.then(|| histogram_of(model, &format!("beyond_need_bytes:{at}"))),
                forward_alloc_bytes: need_seen.then(|| histogram_of(model, &format!("forward_alloc_bytes:{at}"))),
                refused: limits.then_some(0),
            }
        }));
    };
    for kind in [Kind::Charge, Kind::Forced] {
        for (key, sums) in model.tallies.of(kind) {
            row(key, &mut |row| {
                increase(&mut row.charges, sums.events);
                increase(&mut row.pages_charged, sums.values[0]);
                increase(&mut row.need_bytes, sums.values[1]);
                if kind == Kind::Forced {
                    increase(&mut row.forced, sums.events);
                }
            });
        }
    }
    for (key, sums) in model.tallies.of(Kind::Limit) {
        row(key, &mut |row| increase(&mut row.refused, sums.events));
    }
    rows.into_values().collect()
}

fn increase(sum: &mut Option<u64>, by: u64) {
    if let Some(sum) = sum {
        *sum = sum.saturating_add(by);
    }
}

fn uncharged(model: &Model) -> Vec<Uncharged> {
    let mut rows: BTreeMap<String, Uncharged> = BTreeMap::new();
    for (key, sums) in model.tallies.of(Kind::Uncharge) {
        let protocol = protocol(key);
        let row = rows.entry(protocol.clone()).or_insert_with(|| Uncharged { protocol, events: 0, pages: 0 });
        row.events = row.events.saturating_add(sums.events);
        row.pages = row.pages.saturating_add(sums.values[0]);
    }
    rows.into_values().collect()
}

fn reasoned(model: &Model, kind: Kind, name: fn(u64) -> &'static str) -> Vec<Reasoned> {
    let mut rows: BTreeMap<(String, String, &str), u64> = BTreeMap::new();
    for (key, sums) in model.tallies.of(kind) {
        let events = rows.entry((protocol(key), direction(key), name(key.detail >> 16 & 3))).or_default();
        *events = events.saturating_add(sums.events);
    }
    let row = |((protocol, direction, reason), events): ((String, String, &str), u64)| Reasoned {
        protocol,
        direction,
        reason: reason.to_owned(),
        events,
    };
    rows.into_iter().map(row).collect()
}

fn refusal_name(reason: u64) -> &'static str {
    match reason {
        refusal::PROTOCOL => "protocol_limit",
        refusal::CGROUP => "memory_cgroup",
        refusal::PRESSURE => "memory_pressure",
        _ => "unknown",
    }
}

fn drop_name(reason: u64) -> &'static str {
    match reason {
        drop::BUFFER_FULL => "receive_buffer_full",
        drop::PROTOCOL_MEMORY => "protocol_memory",
        drop::QUEUE_FULL => "receive_queue_full",
        _ => "other",
    }
}

fn socket_rows(model: &Model) -> Vec<SocketRow> {
    let (seen, _) = charges_seen(model);
    let (limits, drops) = (model.attached("sock.limit"), model.attached("sock.rcvqueue"));
    let mut rows: Vec<SocketRow> = model
        .tallies
        .sockets
        .values()
        .map(|it| SocketRow {
            protocol: it.protocol.clone(),
            local: it.local.clone(),
            remote: it.remote.clone(),
            comm: (!it.comm.is_empty()).then(|| it.comm.clone()),
            pid: it.pid,
            rmem_alloc: it.rmem_alloc,
            rcvbuf: it.rcvbuf,
            wmem_queued: it.wmem_queued,
            sndbuf: it.sndbuf,
            forward_alloc: it.forward_alloc,
            reserved: it.reserved,
            charges: seen.then_some(it.charges),
            rcvqueue_full: drops.then_some(it.rcvqueue_full),
            refused: limits.then_some(it.refused),
        })
        .collect();
    let trouble = |row: &SocketRow| row.rcvqueue_full.unwrap_or(0).saturating_add(row.refused.unwrap_or(0));
    rows.sort_by(|one, other| {
        let key = |row: &SocketRow| (Reverse(trouble(row)), Reverse(row.charges), Reverse(row.rmem_alloc));
        key(one).cmp(&key(other)).then_with(|| (&one.protocol, &one.local).cmp(&(&other.protocol, &other.local)))
    });
    rows
}

fn protocol(key: &TallyKey) -> String {
    protocol_name(u32::try_from(key.detail & PROTOCOL).unwrap_or(0)).to_owned()
}

fn direction(key: &TallyKey) -> String {
    if key.detail & RECEIVE != 0 { "receive" } else { "send" }.to_owned()
}

/// Paths of some kinds, those with most weight first, ties by id.
fn paths(model: &Model, kinds: &[Kind], weight: fn(&Sums) -> u64) -> Vec<BesidePath> {
    let mut rows: BTreeMap<(u8, Option<usize>), Sums> = BTreeMap::new();
    for kind in kinds {
        for (key, sums) in model.tallies.of(*kind) {
            rows.entry((key.kind, model.paths.index(key.path))).or_default().add(sums);
        }
    }
    let mut rows: Vec<(u64, BesidePath)> = rows
        .into_iter()
        .filter_map(|((kind, path), sums)| {
            let kind = TallyKey { kind, ..TallyKey::default() }.kind()?;
            let known = path.map(|path| model.paths.at(path));
            let frames = known.map_or_else(|| vec![PATHS_OFF.to_owned()], |known| known.frames.clone());
            let sums_by_name = names(kind).iter().zip(sums.values).map(|(name, sum)| ((*name).to_owned(), sum));
            let row = BesidePath {
                id: known.map_or_else(|| id(&frames), |known| known.id.clone()),
                what: kind.name().to_owned(),
                events: sums.events,
                sums: sums_by_name.collect(),
                context: known.map(|known| known.context.clone()),
                frames,
            };
            Some((weight(&sums), row))
        })
        .collect();
    rows.sort_by(|(one_weight, one), (other_weight, other)| {
        other_weight.cmp(one_weight).then_with(|| (&one.id, &one.what).cmp(&(&other.id, &other.what)))
    });
    rows.into_iter().map(|(_, row)| row).collect()
}

/// A distribution by its name; all zero where nothing came.
fn histogram_of(model: &Model, name: &str) -> Histogram {
    model.tallies.distributions.get(name).map_or_else(|| histogram(&Distribution::default()), histogram)
}

fn histogram(distribution: &Distribution) -> Histogram {
    // Three digits tell the buckets apart, which differ by an eighth.
    let mut values = Hdr::<u64>::new(3).expect("three digits are few enough");
    for (lowest, events) in &distribution.buckets {
        // Grows by itself, so that no value is too large.
        let _ = values.record_n(*lowest, *events);
    }
    let count = distribution.count();
    let quantile = |quantile: f64| {
        let value = values.lowest_equivalent(values.value_at_quantile(quantile));
        value.clamp(distribution.min.min(distribution.max), distribution.max)
    };
    Histogram {
        count,
        min: distribution.min,
        p50: quantile(0.5),
        p90: quantile(0.9),
        p99: quantile(0.99),
        p999: quantile(0.999),
        max: distribution.max,
        mean: if count == 0 { 0.0 } else { distribution.sum as f64 / count as f64 },
    }
}
