//! Socket memory, protocol counters and interface traffic, as `/proc/net` shows them in the tracer's network namespace.

use std::{collections::BTreeMap, fs};

use anyhow::{Context as _, Result};

use crate::run::Traffic;

/// Files of lines such as `UDP: inuse 5 mem 2`.
const SOCKSTAT: [&str; 2] = ["/proc/net/sockstat", "/proc/net/sockstat6"];
/// Files of pairs of lines, names over values.
const COUNTERS: [&str; 2] = ["/proc/net/snmp", "/proc/net/netstat"];
/// Three limits each, in pages.
const LIMITS: [&str; 3] = ["net.ipv4.tcp_mem", "net.ipv4.udp_mem", "net.sctp.sctp_mem"];

/// Everything at one moment.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Socket memory and limits, by name such as `UDP.mem`, `SCTP.memory` and `net.ipv4.udp_mem.2`.
    pub sockstat: BTreeMap<String, i64>,
    counters: BTreeMap<String, i64>,
    interfaces: BTreeMap<String, Traffic>,
}

impl Network {
    /// Reads it now.
    ///
    /// # Errors
    /// When `/proc/net/sockstat` cannot be read; what else is missing is left out.
    pub fn read() -> Result<Self> {
        let mut network = Self::default();
        let [sockstat, sockstat6] = SOCKSTAT.map(fs::read_to_string);
        network.sockstat.extend(named_pairs(&sockstat.with_context(|| format!("`{}`", SOCKSTAT[0]))?));
        network.sockstat.extend(named_pairs(&sockstat6.unwrap_or_default()));
        network.sockstat.extend(protocol_memory(&fs::read_to_string("/proc/net/protocols").unwrap_or_default()));
        for name in LIMITS {
            let text = fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).unwrap_or_default();
            let limits = text.split_whitespace().filter_map(|word| word.parse().ok());
            network.sockstat.extend(limits.enumerate().map(|(place, limit)| (format!("{name}.{place}"), limit)));
        }
        for path in COUNTERS {
            network.counters.extend(counters(&fs::read_to_string(path).unwrap_or_default()));
        }
        for (name, it) in procfs::net::dev_status().unwrap_or_default() {
            network.interfaces.insert(
                name,
                Traffic {
                    rx_packets: it.recv_packets,
                    rx_bytes: it.recv_bytes,
                    tx_packets: it.sent_packets,
                    tx_bytes: it.sent_bytes,
                },
            );
        }
        Ok(network)
    }

    /// What the protocols' counters grew by until `after`; what did not change is left out.
    pub fn counters_until(&self, after: &Self) -> BTreeMap<String, i64> {
        super::vmstat_delta(&self.counters, &after.counters)
    }

    /// The traffic of each interface until `after`; those without any are left out.
    pub fn traffic_until(&self, after: &Self) -> BTreeMap<String, Traffic> {
        let mut traffic = BTreeMap::new();
        for (name, now) in &after.interfaces {
            let before = self.interfaces.get(name).copied().unwrap_or_default();
            let delta = Traffic {
                rx_packets: now.rx_packets.saturating_sub(before.rx_packets),
                rx_bytes: now.rx_bytes.saturating_sub(before.rx_bytes),
                tx_packets: now.tx_packets.saturating_sub(before.tx_packets),
                tx_bytes: now.tx_bytes.saturating_sub(before.tx_bytes),
            };
            if delta != Traffic::default() {
                traffic.insert(name.clone(), delta);
            }
        }
        traffic
    }
}

/// `UDP: inuse 5 mem 2` as `UDP.inuse` and `UDP.mem`.
fn named_pairs(text: &str) -> BTreeMap<String, i64> {
    let mut values = BTreeMap::new();
    for (name, rest) in text.lines().filter_map(|line| line.split_once(':')) {
        let words: Vec<&str> = rest.split_whitespace().collect();
        for pair in words.chunks_exact(2) {
            if let Ok(value) = pair[1].parse() {
                values.insert(format!("{name}.{}", pair[0]), value);
            }
        }
    }
    values
}

/// `Udp: InDatagrams RcvbufErrors` over `Udp: 12 3` as `Udp.InDatagrams` and so on.
fn counters(text: &str) -> BTreeMap<String, i64> {
    let mut values = BTreeMap::new();
    let lines: Vec<&str> = text.lines().collect();
    for pair in lines.chunks_exact(2) {
        let (Some((group, names)), Some((same, numbers))) = (pair[0].split_once(':'), pair[1].split_once(':')) else {
            continue;
        };
        if group != same {
            continue;
        }
        for (name, number) in names.split_whitespace().zip(numbers.split_whitespace()) {
            if let Ok(number) = number.parse() {
                values.insert(format!("{group}.{name}"), number);
            }
        }
    }
    values
}

/// Pages of each protocol with a memory account, from `/proc/net/protocols`, as `UDP.memory`.
fn protocol_memory(text: &str) -> BTreeMap<String, i64> {
    let mut lines = text.lines();
    let column = lines.next().and_then(|head| head.split_whitespace().position(|word| word == "memory"));
    let Some(column) = column else { return BTreeMap::new() };
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // Protocols without an account show -1.
        let pages = words.get(column)?.parse().ok().filter(|pages: &i64| *pages >= 0)?;
        Some((format!("{}.memory", words.first()?), pages))
    };
    lines.filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockstat_is_read_by_protocol_and_name() {
        let values = named_pairs("sockets: used 196\nTCP: inuse 5 orphan 0 mem 7\nFRAG: inuse 0 memory 0\n");
        assert_eq!(values["sockets.used"], 196);
        assert_eq!(values["TCP.mem"], 7);
        assert_eq!(values.len(), 6);
    }

    #[test]
    fn counters_are_named_by_the_line_above() {
        let text = "Tcp: MaxConn InSegs\nTcp: -1 20\nUdp: InDatagrams RcvbufErrors\nUdp: 10 3\nodd\n";
        let values = counters(text);
        assert_eq!(values["Tcp.MaxConn"], -1);
        assert_eq!(values["Udp.RcvbufErrors"], 3);
        assert_eq!(values.len(), 4);
    }

    #[test]
    fn protocols_without_an_account_have_no_memory() {
        let text = "protocol  size sockets  memory press maxhdr\nUDP       1344      1      12   NI       0\n\
                    UNIX      1088    105      -1   NI       0\n";
        assert_eq!(protocol_memory(text), BTreeMap::from([("UDP.memory".to_owned(), 12)]));
    }

    #[test]
    fn an_interface_without_traffic_is_left_out() {
        let at = |bytes| Network {
            interfaces: BTreeMap::from([
                ("lo".to_owned(), Traffic { rx_bytes: bytes, ..Traffic::default() }),
                ("eth0".to_owned(), Traffic { rx_bytes: 7, ..Traffic::default() }),
            ]),
            ..Network::default()
        };
        let traffic = at(10).traffic_until(&at(25));
        assert_eq!(traffic, BTreeMap::from([("lo".to_owned(), Traffic { rx_bytes: 15, ..Traffic::default() })]));
    }
}
