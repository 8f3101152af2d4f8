//! The check of what is counted beside ordinary page allocations: socket memory, large kmalloc, huge pages.
//!
//! The truth comes from elsewhere: netperf's messages, `/proc/net/snmp`, the kernel's own kprobes on the same functions
//! in the same window, protocol memory in `/proc/net/sockstat`, and the number of huge pages.
//! Knows of the tracer its JSON.

use anyhow::Context as _;
use serde_json::Value;

/// Part by which charges may differ from what kprobes counted: they are enabled a moment later.
const HITS_APART: f64 = 0.01;
/// As many may differ however few there are.
const HITS_APART_AT_LEAST: u64 = 16;
/// Pages that each CPU may keep of a protocol's memory without showing it (`SK_MEMORY_PCPU_RESERVE`, 1 MiB).
const RESERVE_PAGES: i64 = 256;

/// Pages of a charge of this load at the most.
const PAGES_EACH: i64 = 17;

/// What the run told, and what others did.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Beside {
    /// Charges of the slow path, forced ones left out: they do not pass the funnel; `None` where not seen.
    charges: Option<u64>,
    uncharges: Option<u64>,
    /// By kprobes: charges, refused ones among them, and uncharges.
    hits: Option<[u64; 2]>,
    refused: u64,
    /// Events that the tracer says it has not counted: nested ones, and those at which a program ran already.
    owned_up: u64,
    /// Pages charged and given back by UDP, and the change of `UDP.mem`.
    udp_pages: Option<[i64; 3]>,
    cpus: i64,
    /// Bytes charged beyond need by a UDP charge on average.
    pub(super) beyond: Option<f64>,
    /// UDP charges for a datagram of 16 KiB, pages each.
    pub(super) pages_each: Option<f64>,
    overflows: u64,
    /// `RcvbufErrors`.
    rcvbuf_errors: i64,
    /// Of the socket with most of them.
    socket_overflows: u64,
    socket_comm: String,
    order_9: u64,
    huge_pages: u64,
}

/// Reads the report, `kprobe_profile` and the huge pages before and after.
///
/// # Errors
/// The report lacks what the check is about.
pub(super) fn read(report: &Value, kprobes: &str, huge_pages: [&str; 2]) -> anyhow::Result<Beside> {
    let rows = |at: &str| report.pointer(at).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let sum = |at: &str, key: &str| -> u64 { rows(at).iter().filter_map(|row| row[key].as_u64()).sum() };
    report.pointer("/sockets/protocols").context("the report has no sockets")?;
    let optional = |at: &str, key: &str| {
        let seen = rows(at).iter().all(|row| row[key].is_u64()) && !rows(at).is_empty();
        seen.then(|| sum(at, key))
    };
    let hits = |name: &str| {
        let line = kprobes.lines().find(|line| line.split_whitespace().next() == Some(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    let udp = rows("/sockets/protocols").iter().find(|row| row["protocol"] == "udp" && row["direction"] == "receive");
    let back = rows("/sockets/uncharged").iter().find(|row| row["protocol"] == "udp");
    let memory = |when: &str| report.pointer(&format!("/system/sockstat/{when}/UDP.mem")).and_then(Value::as_i64);
    let udp_pages = (|| {
        let charged = udp?["pages_charged"].as_i64()?;
        Some([charged, back?["pages"].as_i64()?, memory("after")? - memory("before")?])
    })();
    let beyond = udp.and_then(|row| row["beyond_need_bytes"]["mean"].as_f64());
    let each = udp.and_then(|row| Some((row["pages_charged"].as_f64()?, row["charges"].as_f64()?)));
    let worst = rows("/sockets/sockets").first();
    // Whoever writes `nr_hugepages` comes through here on every kernel; transparent huge pages do not.
    let is_asked = |row: &&Value| {
        let frames = row["frames"].as_array().map_or(&[][..], Vec::as_slice);
        frames.iter().any(|frame| frame.as_str().is_some_and(|it| it.contains("hugetlb_sysctl_handler")))
    };
    let order_9 = rows("/pages/paths").iter().filter(is_asked).filter_map(|row| row["orders"]["9"].as_u64()).sum();
    let [from, to] = huge_pages.map(|text| text.trim().parse::<u64>().unwrap_or(0));
    Ok(Beside {
        charges: optional("/sockets/protocols", "charges")
            .map(|charges| charges.saturating_sub(sum("/sockets/protocols", "forced"))),
        uncharges: report
            .pointer("/sockets/uncharged")
            .filter(|it| it.is_array())
            .map(|_| sum("/sockets/uncharged", "events")),
        hits: hits("charge").zip(hits("uncharge")).map(|(charge, uncharge)| [charge, uncharge]),
        refused: sum("/sockets/refused", "events"),
        owned_up: report.pointer("/completeness/lost/other_nested").and_then(Value::as_u64).unwrap_or(0)
            + rows("/signals")
                .iter()
                .filter(|row| row["signal"] == "sock.charge" || row["signal"] == "sock.uncharge")
                .filter_map(|row| row["missed"].as_u64())
                .sum::<u64>(),
        udp_pages,
        cpus: report.pointer("/host/cpus").and_then(Value::as_i64).unwrap_or(1),
        beyond,
        pages_each: each.filter(|(_, charges)| *charges > 0.0).map(|(pages, charges)| pages / charges),
        overflows: rows("/sockets/receive_drops")
            .iter()
            .filter(|row| row["reason"] == "receive_buffer_full")
            .filter_map(|row| row["events"].as_u64())
            .sum(),
        rcvbuf_errors: report.pointer("/system/netstat_delta/Udp.RcvbufErrors").and_then(Value::as_i64).unwrap_or(0),
        socket_overflows: worst.and_then(|row| row["rcvqueue_full"].as_u64()).unwrap_or(0),
        socket_comm: worst.and_then(|row| row["comm"].as_str()).unwrap_or_default().to_owned(),
        order_9,
        huge_pages: to.saturating_sub(from),
    })
}

impl Beside {
    /// What is not as it must be.
    pub(super) fn failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        for (what, ours, theirs) in [
            ("charges", self.charges.map(|it| it + self.refused), self.hits.map(|it| it[0])),
            ("uncharges", self.uncharges, self.hits.map(|it| it[1])),
        ] {
            match (ours, theirs) {
                (Some(ours), Some(theirs)) => {
                    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
                    let apart = ours.abs_diff(theirs) as f64 > (theirs as f64 * HITS_APART);
                    let bound = HITS_APART_AT_LEAST + self.owned_up;
                    if theirs == 0 || (apart && ours.abs_diff(theirs) > bound) {
                        let owned_up = self.owned_up;
                        failures.push(format!("{ours} {what}, {theirs} by kprobes, {owned_up} not counted as said"));
                    }
                }
                (ours, theirs) => failures.push(format!("{what} were not compared: {ours:?} and {theirs:?}")),
            }
        }
        match self.udp_pages {
            None => failures.push("UDP's pages were not counted".to_owned()),
            Some([charged, back, grown]) => {
                if charged == 0
                    || (charged - back - grown).abs()
                        > RESERVE_PAGES * self.cpus + self.owned_up.cast_signed() * PAGES_EACH
                {
                    failures.push(format!("UDP: {charged} pages charged, {back} given back, {grown} more in use"));
                }
            }
        }
        if u64::try_from(self.rcvbuf_errors) != Ok(self.overflows) || self.overflows == 0 {
            failures.push(format!("{} overflows, RcvbufErrors {}", self.overflows, self.rcvbuf_errors));
        }
        // A slow guest may not have got round to looking for the holder while the socket lived; a wrong one is a fault.
        let is_wrong = !self.socket_comm.is_empty() && self.socket_comm != "netserver";
        if self.socket_overflows != self.overflows || is_wrong {
            failures.push(format!(
                "{} of {} overflows at the socket of `{}`",
                self.socket_overflows, self.overflows, self.socket_comm
            ));
        }
        if self.huge_pages == 0 || self.order_9 != self.huge_pages {
            failures.push(format!("{} allocations of order 9 for {} huge pages", self.order_9, self.huge_pages));
        }
        failures
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KPROBES: &str = "  charge                                 2307               0\n  uncharge   2303   0\n";

    fn report() -> Value {
        json!({
            "host": { "cpus": 2 },
            "sockets": {
                "protocols": [
                    { "protocol": "tcp", "direction": "send", "charges": 12, "forced": 12, "pages_charged": 12 },
                    { "protocol": "udp", "direction": "receive", "charges": 2300, "forced": 0, "pages_charged": 11500,
                      "beyond_need_bytes": { "mean": 4096.0 } } ],
                "uncharged": [ { "protocol": "udp", "events": 2300, "pages": 11490 } ],
                "refused": [ { "events": 7 } ],
                "receive_drops": [ { "reason": "receive_buffer_full", "events": 104 } ],
                "sockets": [ { "comm": "netserver", "rcvqueue_full": 104 } ] },
            "system": { "sockstat": { "before": { "UDP.mem": 1 }, "after": { "UDP.mem": 3 } },
                        "netstat_delta": { "Udp.RcvbufErrors": 104 } },
            "pages": { "paths": [
                { "orders": { "9": 12 }, "frames": [ "alloc_buddy_hugetlb_folio", "hugetlb_sysctl_handler_common" ] },
                { "orders": { "9": 7 }, "frames": [ "do_huge_pmd_anonymous_page" ] } ] } })
    }

    #[test]
    fn figures_that_agree_pass() {
        let beside = read(&report(), KPROBES, ["0\n", "12\n"]).unwrap();
        assert_eq!(beside.failures(), Vec::<String>::new());
        assert_eq!((beside.beyond, beside.pages_each), (Some(4096.0), Some(5.0)));
    }

    #[test]
    fn each_disagreement_fails_the_check() {
        let cases = [
            ("/sockets/protocols/1/charges", json!(2500)),
            ("/sockets/protocols/1/charges", json!(null)),
            ("/sockets/uncharged/0/events", json!(2000)),
            ("/sockets/protocols/1/pages_charged", json!(12_500)),
            ("/sockets/receive_drops/0/events", json!(103)),
            ("/system/netstat_delta/Udp.RcvbufErrors", json!(0)),
            ("/sockets/sockets/0/comm", json!("netperf")),
            ("/pages/paths/0/orders/9", json!(13)),
        ];
        for (at, value) in cases {
            let mut report = report();
            *report.pointer_mut(at).unwrap() = value.clone();
            let failures = read(&report, KPROBES, ["0", "12"]).unwrap().failures();
            assert!(!failures.is_empty(), "{at} {value}");
        }
        assert!(!read(&report(), "", ["0", "12"]).unwrap().failures().is_empty(), "without kprobes");
        assert!(!read(&report(), KPROBES, ["12", "12"]).unwrap().failures().is_empty(), "without huge pages");
    }
}
