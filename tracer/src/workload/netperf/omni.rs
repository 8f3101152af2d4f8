//! The output of netperf's omni code by named fields: `KEY=value` lines (`-k`), comma separated (`-o`), and columns
//! under a header of several lines (`-O`, and a plain omni test).

use std::collections::BTreeMap;

use super::{
    classic::{banner, count},
    instance::{Instance, sides},
    options::Options,
    unit::Unit,
};

/// Fields that are read: key, and title in the two other forms (netperf 2.7, `nettest_omni.c`).
const FIELDS: &[(&str, &str)] = &[
    ("CONFIDENCE_INTERVAL", "Confidence Width Target"),
    ("DIRECTION", "Direction"),
    ("ELAPSED_TIME", "Elapsed Time (sec)"),
    ("LOCAL_CPU_METHOD", "Local CPU Util Method"),
    ("LOCAL_CPU_UTIL", "Local CPU Util %"),
    ("LOCAL_RECV_CALLS", "Local Recv Calls"),
    ("LOCAL_RECV_THROUGHPUT", "Local Recv Throughput"),
    ("LOCAL_SD", "Local Service Demand"),
    ("LOCAL_SEND_CALLS", "Local Send Calls"),
    ("LOCAL_SEND_SIZE", "Local Send Size"),
    ("LOCAL_SEND_THROUGHPUT", "Local Send Throughput"),
    ("MAX_LATENCY", "Maximum Latency Microseconds"),
    ("MEAN_LATENCY", "Mean Latency Microseconds"),
    ("MIN_LATENCY", "Minimum Latency Microseconds"),
    ("P50_LATENCY", "50th Percentile Latency Microseconds"),
    ("P90_LATENCY", "90th Percentile Latency Microseconds"),
    ("P99_LATENCY", "99th Percentile Latency Microseconds"),
    ("PROTOCOL", "Protocol"),
    ("REMOTE_CPU_METHOD", "Remote CPU Util Method"),
    ("REMOTE_CPU_UTIL", "Remote CPU Util %"),
    ("REMOTE_RECV_CALLS", "Remote Recv Calls"),
    ("REMOTE_RECV_THROUGHPUT", "Remote Recv Throughput"),
    ("REMOTE_SD", "Remote Service Demand"),
    ("REMOTE_SEND_CALLS", "Remote Send Calls"),
    ("REMOTE_SEND_SIZE", "Remote Send Size"),
    ("REMOTE_SEND_THROUGHPUT", "Remote Send Throughput"),
    ("REQUEST_SIZE", "Request Size Bytes"),
    ("RESPONSE_SIZE", "Response Size Bytes"),
    ("RSR_SIZE_END", "Remote Recv Socket Size Final"),
    ("RT_LATENCY", "Round Trip Latency usec/tran"),
    ("SD_UNITS", "Service Demand Units"),
    ("STDDEV_LATENCY", "Stddev Latency Microseconds"),
    ("THROUGHPUT", "Throughput"),
    ("THROUGHPUT_CONFID", "Throughput Confidence Width (%)"),
    ("THROUGHPUT_UNITS", "Throughput Units"),
    ("TRANSACTION_RATE", "Transaction Rate Tran/s"),
];

/// Latencies, as metrics.
const LATENCIES: &[(&str, &str)] = &[
    ("RT_LATENCY", "round_trip_latency"),
    ("MIN_LATENCY", "latency_min"),
    ("MEAN_LATENCY", "latency_mean"),
    ("P50_LATENCY", "latency_p50"),
    ("P90_LATENCY", "latency_p90"),
    ("P99_LATENCY", "latency_p99"),
    ("MAX_LATENCY", "latency_max"),
    ("STDDEV_LATENCY", "latency_stddev"),
];

/// Bytes of a line of columns; all fields that netperf has come to a third of that.
const LONGEST: usize = 16 << 10;

/// The named fields of one instance.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Fields(BTreeMap<&'static str, String>);

/// The fields of every instance in an output.
pub(super) fn read(lines: &[&str]) -> Vec<Fields> {
    let keyed = read_keyed(lines);
    if !keyed.is_empty() {
        return keyed;
    }
    let separated = read_separated(lines);
    if separated.is_empty() { read_columns(lines) } else { separated }
}

/// `KEY=value`; a key met again begins the next instance.
fn read_keyed(lines: &[&str]) -> Vec<Fields> {
    let mut instances: Vec<Fields> = Vec::new();
    for (key, value) in lines.iter().filter_map(|line| line.trim().split_once('=')) {
        let Some((key, _)) = FIELDS.iter().find(|(known, _)| *known == key) else { continue };
        if instances.last().is_none_or(|last| last.0.contains_key(key)) {
            instances.push(Fields::default());
        }
        if let Some(last) = instances.last_mut() {
            last.0.insert(key, value.to_owned());
        }
    }
    instances
}

/// A line of titles and the one after it.
fn read_separated(lines: &[&str]) -> Vec<Fields> {
    let pairs = lines.windows(2).map(|pair| (separate(pair[0]), separate(pair[1])));
    let rows = pairs.filter(|(titles, values)| titles.len() == values.len());
    rows.filter_map(|(titles, values)| Fields::titled(titles.into_iter().zip(values))).collect()
}

/// Titles of several lines above a row of left-aligned values: where a value begins, its title does.
fn read_columns(lines: &[&str]) -> Vec<Fields> {
    let is_apart = |line: &&str| line.trim().is_empty() || banner(line).is_some() || line.starts_with("Interim result");
    let blocks = lines.split(is_apart).filter(|block| block.len() > 1);
    blocks
        .filter(|block| block.iter().all(|line| line.len() <= LONGEST))
        .filter_map(|block| {
            let (row, header) = block.split_last()?;
            let values = columns(row);
            let ends = values.iter().skip(1).map(|(start, _)| *start).chain([usize::MAX]);
            let titled = values.iter().zip(ends).map(|((start, value), end)| {
                let parts = header.iter().map(|line| cut(line, *start, end).trim());
                let title: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
                (title.join(" "), value.clone())
            });
            Fields::titled(titled)
        })
        .collect()
}

/// The part of a line between two places, counted in characters.
fn cut(line: &str, start: usize, end: usize) -> &str {
    let at = |place: usize| line.char_indices().nth(place).map_or(line.len(), |(byte, _)| byte);
    &line[at(start)..at(end)]
}

/// Words with where they begin, in characters; a quoted text is one word.
fn columns(row: &str) -> Vec<(usize, String)> {
    let mut words: Vec<(usize, String)> = Vec::new();
    let (mut is_quoted, mut is_between) = (false, true);
    for (place, letter) in row.chars().enumerate() {
        is_quoted ^= letter == '"';
        if letter.is_whitespace() && !is_quoted {
            is_between = true;
        } else if std::mem::take(&mut is_between) {
            words.push((place, letter.into()));
        } else if let Some((_, word)) = words.last_mut() {
            word.push(letter);
        }
    }
    words
}

/// Values between commas, quotes taken off.
fn separate(line: &str) -> Vec<String> {
    let (mut values, mut value) = (Vec::new(), String::new());
    let mut is_quoted = false;
    for letter in line.trim().chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => values.push(std::mem::take(&mut value)),
            _ => value.push(letter),
        }
    }
    values.push(value);
    values
}

impl Fields {
    /// `None` when no title is known.
    fn titled(fields: impl Iterator<Item = (String, String)>) -> Option<Self> {
        let known = fields.filter_map(|(title, value)| {
            let (key, _) = FIELDS.iter().find(|(_, known)| *known == title.trim())?;
            Some((*key, value.trim().to_owned()))
        });
        let fields: BTreeMap<_, _> = known.collect();
        (!fields.is_empty()).then_some(Self(fields))
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// `None` too where netperf did not measure, which it writes as a negative number, or as `-nan`.
    fn number(&self, key: &str) -> Option<f64> {
        self.text(key)?.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
    }

    /// The widths in percent of the throughput's confidence interval: reached, and wanted where that is given.
    pub(super) fn confidence(&self) -> Option<(f64, Option<f64>)> {
        Some((self.number("THROUGHPUT_CONFID")?, self.number("CONFIDENCE_INTERVAL")))
    }

    /// The letters of the methods that measured processor time.
    pub(super) fn cpu_methods(&self) -> impl Iterator<Item = char> {
        let keys = ["LOCAL_CPU_METHOD", "REMOTE_CPU_METHOD"];
        keys.into_iter().filter_map(|key| self.text(key)).flat_map(str::chars)
    }

    /// Whether the test ended before its clock moved, so that its rates mean nothing.
    pub(super) fn took_no_time(&self) -> bool {
        self.number("ELAPSED_TIME") == Some(0.0)
    }

    /// The figures as a result; `None` when there is no rate among them.
    pub(super) fn instance(&self, test: &str, options: &Options) -> Option<Instance> {
        let is_answered =
            test.ends_with("RR") || self.text("DIRECTION").is_some_and(|direction| direction.contains('|'));
        let unit = self.text("THROUGHPUT_UNITS").and_then(Unit::named_in).or(options.unit);
        let unit = unit.unwrap_or(if is_answered { Unit::Transactions } else { Unit::MEGABIT });
        let protocol = self.text("PROTOCOL").or(options.protocol.as_deref());
        let is_udp = protocol.map_or(test.starts_with("UDP"), |protocol| protocol == "UDP");
        let is_datagram = is_udp && !is_answered && unit != Unit::Transactions;
        let is_backwards = self.text("DIRECTION").map_or(test.ends_with("MAERTS"), |direction| direction == "Recv");
        let (local, remote) = if is_backwards { sides("MAERTS") } else { sides(test) };

        let mut instance = Instance::of(test);
        let elapsed = self.number("ELAPSED_TIME");
        if elapsed != Some(0.0) {
            if is_datagram {
                self.datagrams(&mut instance, unit, is_backwards);
            } else if let Some(rate) = self.number("THROUGHPUT") {
                instance.rate("both", rate, unit);
                let bytes = self.number("REQUEST_SIZE").zip(self.number("RESPONSE_SIZE"));
                let bytes = bytes.map(|(request, response)| request + response);
                match elapsed {
                    Some(elapsed) if is_answered || unit == Unit::Transactions => {
                        instance.answered(rate, unit, bytes, elapsed);
                    }
                    Some(elapsed) => instance.carried(rate, unit, elapsed),
                    None => {}
                }
            }
            if let Some(rate) = self.number("TRANSACTION_RATE").filter(|_| is_answered && unit != Unit::Transactions) {
                instance.rate("both", rate, Unit::Transactions);
                if let Some(elapsed) = elapsed {
                    instance.answered(rate, Unit::Transactions, None, elapsed);
                }
            }
        }
        if instance.scores.is_empty() {
            return None;
        }
        let demand_unit = match self.text("SD_UNITS") {
            Some(unit) if !unit.ends_with("Tran") => "us/KB",
            None if !is_answered => "us/KB",
            Some(_) | None => "us/transaction",
        };
        let ends = [(local, "LOCAL_CPU_UTIL", "LOCAL_SD"), (remote, "REMOTE_CPU_UTIL", "REMOTE_SD")];
        for (side, utilisation, demand) in ends {
            let figure = |key| self.number(key).unwrap_or(f64::NAN);
            instance.cpu(side, figure(utilisation), figure(demand), demand_unit);
        }
        for (key, metric) in LATENCIES {
            if let Some(latency) = self.number(key) {
                instance.score(metric, "both", latency, "us");
            }
        }
        if let Some(elapsed) = elapsed {
            instance.score("elapsed", "both", elapsed, "s");
        }
        Some(instance)
    }

    /// Both sides of a datagram test. Its plain throughput is the receiver's.
    fn datagrams(&self, instance: &mut Instance, unit: Unit, is_backwards: bool) {
        let (sender, receiver) = if is_backwards { ("REMOTE", "LOCAL") } else { ("LOCAL", "REMOTE") };
        let figure = |end: &str, field: &str| self.number(&format!("{end}_{field}"));
        if let Some(rate) = figure(sender, "SEND_THROUGHPUT") {
            instance.rate("send", rate, unit);
        }
        if let Some(rate) = figure(receiver, "RECV_THROUGHPUT").or(self.number("THROUGHPUT")) {
            instance.rate("receive", rate, unit);
        }
        if let Some(calls) = figure(sender, "SEND_CALLS") {
            instance.sent(count(calls));
        }
        if let Some(calls) = figure(receiver, "RECV_CALLS") {
            instance.received(count(calls));
        }
        instance.message_size = figure(sender, "SEND_SIZE").map(count);
        instance.receive_buffer = self.number("RSR_SIZE_END").filter(|_| !is_backwards).map(count);
    }
}
