//! What the figures of socket memory say, in words, each with the figures that it rests on.
//!
//! Must not know: how the figures came to be.

use std::collections::BTreeMap;

use crate::{
    run::BeforeAfter,
    snapshot::beside::{ProtocolRow, SocketRow, Sockets},
    units,
};

/// Charges below which a mean says nothing.
const ENOUGH: u64 = 100;
/// Sockets named one by one.
const SOCKETS: usize = 3;

/// Everything worth saying, the worst first. `sockstat` are socket memory and limits at the start and at the end.
pub(super) fn of(
    sockets: &Sockets,
    sockstat: Option<&BeforeAfter<BTreeMap<String, i64>>>,
    page_size: u64,
) -> Vec<String> {
    let mut findings = Vec::new();
    for socket in sockets.sockets.iter().filter(|it| it.rcvqueue_full.unwrap_or(0) > 0).take(SOCKETS) {
        findings.push(overflow(socket, sockets));
    }
    let dropped_for = |reason: &str| {
        let drops = sockets.receive_drops.iter().flatten().filter(|it| it.reason == reason);
        crate::snapshot::sum(drops.map(|it| it.events))
    };
    let without_memory = dropped_for("protocol_memory");
    if without_memory > 0 {
        findings.push(format!(
            "{} datagrams were dropped because the protocol's memory was used up{}; `sysctl net.ipv4.udp_mem` sets it",
            units::count(without_memory),
            limit(sockstat, "UDP.mem", "net.ipv4.udp_mem.2")
        ));
    }
    for row in sockets.refused.iter().flatten() {
        findings.push(refusal(row, sockstat));
    }
    findings.extend(sockets.protocols.iter().filter_map(|row| over_charge(row, page_size)));
    findings.extend(pressure(sockstat));
    findings
}

/// `1,234 datagrams were dropped at udp 0.0.0.0:5001 (netserver, 77): ...`
fn overflow(socket: &SocketRow, sockets: &Sockets) -> String {
    let holder = match (&socket.comm, socket.pid) {
        (Some(comm), Some(pid)) => format!(" ({comm}, process {pid})"),
        _ => String::new(),
    };
    let charged = sockets.protocols.iter().find(|it| it.protocol == socket.protocol && it.direction == "receive");
    let size = charged.and_then(|it| Some((it.need_bytes?, it.charges?))).filter(|(_, charges)| *charges >= ENOUGH);
    let holds = size.map_or_else(String::new, |(need, charges)| {
        let one = need / charges;
        let many = socket.rcvbuf.checked_div(one).unwrap_or(0);
        format!(" of {} each with their overhead, so that it holds {}", units::bytes(one), units::count(many))
    });
    format!(
        "{} datagrams were dropped at {} {}{holder}: its receive buffer of {} was full{holds}; the receiver is slower than \
         the sender, and a larger buffer (SO_RCVBUF up to net.core.rmem_max) only helps against bursts",
        units::count(socket.rcvqueue_full.unwrap_or(0)),
        socket.protocol,
        socket.local,
        units::bytes(socket.rcvbuf),
    )
}

fn refusal(row: &crate::snapshot::beside::Reasoned, sockstat: Option<&BeforeAfter<BTreeMap<String, i64>>>) -> String {
    let upper = row.protocol.to_uppercase();
    let why = match row.reason.as_str() {
        "protocol_limit" => format!(
            "the protocol was at its hard limit{}",
            limit(sockstat, &format!("{upper}.mem"), &format!("net.ipv4.{}_mem.2", row.protocol))
        ),
        "memory_cgroup" => "the memory cgroup refused, since the protocol was below its first limit".to_owned(),
        "memory_pressure" => {
            "the protocol was under memory pressure and the socket above its share, or the memory cgroup refused"
                .to_owned()
        }
        _ => "the limits of the protocol could not be read".to_owned(),
    };
    format!("{} {} charges of {} were refused: {why}", units::count(row.events), row.direction, row.protocol)
}

/// A protocol that charges whole pages for what it already holds.
fn over_charge(row: &ProtocolRow, page_size: u64) -> Option<String> {
    let beyond = row.beyond_need_bytes.as_ref()?;
    let pages = beyond.mean / page_size as f64;
    (beyond.count >= ENOUGH && pages >= 0.5).then(|| {
        let held = row.forward_alloc_bytes.as_ref().map_or(0.0, |it| it.mean);
        format!(
            "{} {} charges {} pages beyond need each time ({} bytes on average over {} charges) although \
             `sk_forward_alloc` held {} bytes: it is charged for the whole message whatever is held",
            row.protocol,
            row.direction,
            units::decimal(pages),
            units::decimal(beyond.mean),
            units::count(beyond.count),
            units::decimal(held)
        )
    })
}

/// Protocols whose memory is above the limit at which pressure begins.
fn pressure(sockstat: Option<&BeforeAfter<BTreeMap<String, i64>>>) -> Vec<String> {
    let Some(both) = sockstat else { return Vec::new() };
    let above = |(name, begins): (&str, &str)| {
        let (pages, begins) = (both.after.get(name)?, both.after.get(begins)?);
        (pages > begins)
            .then(|| format!("{name} ended at {pages} pages, above the {begins} at which memory pressure begins"))
    };
    [("TCP.mem", "net.ipv4.tcp_mem.1"), ("UDP.mem", "net.ipv4.udp_mem.1")].into_iter().filter_map(above).collect()
}

/// ` (12 of at most 34 pages at the end)`; empty where it was not read.
fn limit(sockstat: Option<&BeforeAfter<BTreeMap<String, i64>>>, used: &str, most: &str) -> String {
    let after = sockstat.map(|it| &it.after);
    let both = after.and_then(|after| Some((after.get(used)?, after.get(most)?)));
    both.map_or_else(String::new, |(used, most)| format!(" ({used} of at most {most} pages at the end)"))
}
