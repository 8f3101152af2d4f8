//! netperf's output for people: a banner, a header, rows of figures.
//!
//! Instances that run at once write their lines into each other's, so nothing is read by its place: a row is known by
//! its figures, whole ones and those with a fraction, which no two kinds of row have alike.

use std::collections::{BTreeSet, VecDeque};

use super::{
    instance::{Instance, sides},
    options::Options,
    unit::Unit,
};

/// How the banners of netperf 2.4 to 2.7 begin (`print_top_test_header` and its callers), with the test meant. Those
/// carried over to the omni code have `MIGRATED` before them.
const BANNERS: &[(&str, &str)] = &[
    ("OMNI ", "OMNI"),
    ("SCTP 1-TO-MANY REQUEST/RESPONSE TEST", "SCTP_RR_MANY"),
    ("SCTP 1-TO-MANY STREAM TEST", "SCTP_STREAM_MANY"),
    ("SCTP REQUEST/RESPONSE TEST", "SCTP_RR"),
    ("SCTP STREAM TEST", "SCTP_STREAM"),
    ("TCP Connect/Request/Response TEST", "TCP_CRR"),
    ("TCP MAERTS TEST", "TCP_MAERTS"),
    ("TCP REQUEST/RESPONSE TEST", "TCP_RR"),
    ("TCP SENDFILE TEST", "TCP_SENDFILE"),
    ("TCP STREAM TEST", "TCP_STREAM"),
    ("UDP REQUEST/RESPONSE TEST", "UDP_RR"),
    ("UDP STREAM TEST", "UDP_STREAM"),
    ("UDP UNIDIRECTIONAL SEND TEST", "UDP_STREAM"),
];

/// The test that a banner announces.
pub(super) fn banner(line: &str) -> Option<&'static str> {
    let line = line.trim_start();
    let line = line.strip_prefix("MIGRATED ").unwrap_or(line);
    let (_, test) = BANNERS.iter().find(|(start, _)| line.starts_with(start))?;
    // Long ones may be folded after their first words.
    line.contains(" TEST").then_some(*test)
}

/// What was read.
#[derive(Default)]
pub(super) struct Classic {
    pub(super) instances: Vec<Instance>,
    /// How processor time was measured, netperf's letters.
    pub(super) cpu_methods: BTreeSet<char>,
    /// Places in `instances` of datagram tests whose receiver's row is still to come.
    senders: VecDeque<usize>,
    /// Places of request and response tests whose details, if any, are still to come.
    brief: VecDeque<usize>,
    has_header: bool,
    unit: Option<Unit>,
    detail_unit: Option<Unit>,
}

struct Row {
    /// `i` for a whole number, `d` for one with a fraction.
    shape: String,
    figures: Vec<f64>,
}

impl Classic {
    /// Takes a line; `test` is what the banners before it said.
    pub(super) fn take(&mut self, line: &str, test: &str, options: &Options) {
        match line.split_whitespace().next() {
            Some("bytes") => return self.take_header(line),
            Some("Local") if line.contains("Latency") => {
                self.detail_unit = Unit::named_in(line);
                return;
            }
            _ => {}
        }
        if options.is_terse && self.take_bare(line, test, options) {
            return;
        }
        if let Some(row) = Row::read(line, options.is_branded)
            && (self.has_header || options.is_headless)
        {
            self.take_row(&row, test, options);
        }
    }

    fn take_header(&mut self, line: &str) {
        self.has_header = true;
        let rate = line.split('%').next().unwrap_or(line);
        self.unit = Unit::named_in(rate).or(self.unit);
        let methods = line.split('%').skip(1).filter_map(|after| after.split_whitespace().next());
        self.cpu_methods
            .extend(methods.filter(|word| word.len() <= 2).flat_map(str::chars).filter(char::is_ascii_uppercase));
    }

    fn take_row(&mut self, row: &Row, test: &str, options: &Options) {
        let data_unit = self.unit.or(options.unit).unwrap_or(Unit::MEGABIT);
        let transaction_unit = self.unit.or(options.unit).unwrap_or(Unit::Transactions);
        match (row.shape.as_str(), row.figures.as_slice()) {
            // Receive and send buffer, message, seconds, rate; use and demand of both ends.
            ("iiidd" | "iiidddddd", [_, _, _, elapsed, rate, cpu @ ..]) => {
                self.take_rate(test, *elapsed, *rate, data_unit, cpu, "us/KB");
                if let Some(instance) = self.instances.last_mut() {
                    instance.carried(*rate, data_unit, *elapsed);
                }
            }
            // Send and receive buffer, request, response, seconds, rate; use of both ends, demand of both.
            ("iiiidd" | "iiiidddddd", [_, _, request, response, elapsed, rate, cpu @ ..]) => {
                self.brief.push_back(self.instances.len());
                self.take_rate(test, *elapsed, *rate, transaction_unit, cpu, "us/transaction");
                if let Some(instance) = self.instances.last_mut() {
                    instance.answered(*rate, transaction_unit, Some(request + response), *elapsed);
                }
            }
            // Send buffer, message, seconds, messages, errors, rate; use, demand.
            ("iidiid" | "iidiiddd", [_, size, elapsed, messages, errors, rate, cpu @ ..]) => {
                let mut instance = Instance::of(test);
                instance.rate("send", *rate, data_unit);
                instance.sent(count(*messages));
                instance.score("message_errors", "send", *errors, "messages");
                instance.message_size = Some(count(*size));
                if let [utilisation, demand] = cpu {
                    instance.cpu("send", *utilisation, *demand, "us/KB");
                }
                instance.score("elapsed", "send", *elapsed, "s");
                self.senders.push_back(self.instances.len());
                self.instances.push(instance);
            }
            // Receive buffer, seconds, messages, rate; use, demand.
            ("idid" | "ididdd", [buffer, elapsed, messages, rate, cpu @ ..]) => {
                // Without one its sender's row was lost, as in an output that begins in mid-run.
                let waiting = self.senders.pop_front().unwrap_or_else(|| {
                    self.instances.push(Instance::of(test));
                    self.instances.len() - 1
                });
                let instance = &mut self.instances[waiting];
                instance.rate("receive", *rate, data_unit);
                instance.received(count(*messages));
                instance.receive_buffer = Some(count(*buffer));
                if let [utilisation, demand] = cpu {
                    instance.cpu("receive", *utilisation, *demand, "us/KB");
                }
                instance.score("elapsed", "receive", *elapsed, "s");
            }
            // `-v 2` of request and response: alignments, offsets, latency, rate, data out and in.
            ("iiiidddd", [_, _, _, _, latency, _, outbound, inbound]) => {
                let unit = self.detail_unit.unwrap_or(Unit::MEGABIT);
                if let Some(instance) = self.brief.pop_front().map(|waiting| &mut self.instances[waiting]) {
                    instance.score("round_trip_latency", "both", *latency, "us");
                    instance.rate("send", *outbound, unit);
                    instance.rate("receive", *inbound, unit);
                }
            }
            _ => {}
        }
    }

    fn take_rate(&mut self, test: &str, elapsed: f64, rate: f64, unit: Unit, cpu: &[f64], demand_unit: &str) {
        let mut instance = Instance::of(test);
        instance.rate("both", rate, unit);
        if let [local, remote, local_demand, remote_demand] = cpu {
            let (local_side, remote_side) = sides(test);
            instance.cpu(local_side, *local, *local_demand, demand_unit);
            instance.cpu(remote_side, *remote, *remote_demand, demand_unit);
        }
        instance.score("elapsed", "both", elapsed, "s");
        self.instances.push(instance);
    }

    /// `-v 0`: the rate alone, or with `-c` or `-C` the service demand and the method's letter.
    fn take_bare(&mut self, line: &str, test: &str, options: &Options) -> bool {
        let words: Vec<_> = line.split_whitespace().collect();
        let is_transactions = test.ends_with("RR");
        let mut instance = Instance::of(test);
        let is_taken = match words[..] {
            [rate] => figure(rate).filter(|(is_whole, _)| !is_whole).is_some_and(|(_, rate)| {
                let unit = if is_transactions { Unit::Transactions } else { Unit::MEGABIT };
                let side = if test == "UDP_STREAM" { "send" } else { "both" };
                instance.rate(side, rate, options.unit.unwrap_or(unit))
            }),
            [demand, method] if method.len() == 1 && method.chars().all(|letter| letter.is_ascii_uppercase()) => {
                figure(demand).is_some_and(|(_, demand)| {
                    self.cpu_methods.extend(method.chars());
                    let unit = if is_transactions { "us/transaction" } else { "us/KB" };
                    instance.score("service_demand", sides(test).0, demand, unit)
                })
            }
            _ => false,
        };
        if is_taken {
            self.instances.push(instance);
        }
        is_taken
    }
}

impl Row {
    /// `None` when the line holds anything but figures, or at its end anything but a brand.
    fn read(line: &str, is_branded: bool) -> Option<Self> {
        let mut row = Self { shape: String::new(), figures: Vec::new() };
        for word in line.split_whitespace() {
            match figure(word) {
                Some((is_whole, value)) => {
                    row.shape.push(if is_whole { 'i' } else { 'd' });
                    row.figures.push(value);
                }
                None if is_branded && !row.figures.is_empty() => break,
                None => return None,
            }
        }
        Some(row)
    }
}

/// A number and whether it is whole; `-nan` and `inf` are numbers with a fraction.
fn figure(word: &str) -> Option<(bool, f64)> {
    let is_whole = !word.contains('.') && word.ends_with(|letter: char| letter.is_ascii_digit());
    word.parse().ok().map(|value| (is_whole, value))
}

/// A whole number that was read as a figure; netperf's stay far below 2^53.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, and a cast from f64 saturates")]
pub(super) fn count(figure: f64) -> u64 {
    figure as u64
}
