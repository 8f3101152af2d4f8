//! What one netperf printed as its result.

use super::unit::Unit;
use crate::run::{Score, Work};

/// One result.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Instance {
    /// Its test by netperf's name, such as `UDP_STREAM`; empty when nothing told it.
    pub(super) test: String,
    pub(super) scores: Vec<Score>,
    pub(super) work: Option<Work>,
    /// Messages that went out.
    pub(super) sent: Option<u64>,
    /// Messages that came in.
    pub(super) received: Option<u64>,
    /// Bytes of a message.
    pub(super) message_size: Option<u64>,
    /// Bytes of the receiver's socket buffer.
    pub(super) receive_buffer: Option<u64>,
}

/// The sides that netperf's local and remote columns stand for.
pub(super) fn sides(test: &str) -> (&'static str, &'static str) {
    // MAERTS is STREAM backwards: the local end receives.
    if test.ends_with("MAERTS") { ("receive", "send") } else { ("send", "receive") }
}

impl Instance {
    pub(super) fn of(test: &str) -> Self {
        Self { test: test.to_owned(), ..Self::default() }
    }

    /// Takes a figure as printed, unless netperf had none: `-nan`, or the negative that stands for not measured.
    pub(super) fn score(&mut self, metric: &str, side: &str, value: f64, unit: &str) -> bool {
        let is_measured = value.is_finite() && value >= 0.0;
        if is_measured {
            let lower_is_better = !matches!(metric, "throughput" | "transactions" | "messages" | "elapsed");
            let (metric, side, unit) = (metric.to_owned(), side.to_owned(), unit.to_owned());
            self.scores.push(Score { metric, side, value, unit, lower_is_better });
        }
        is_measured
    }

    pub(super) fn rate(&mut self, side: &str, value: f64, unit: Unit) -> bool {
        self.score(unit.metric(), side, value, unit.word())
    }

    /// Utilisation in percent and service demand of one side.
    pub(super) fn cpu(&mut self, side: &str, utilisation: f64, demand: f64, demand_unit: &str) {
        self.score("cpu_utilisation", side, utilisation, "%");
        self.score("service_demand", side, demand, demand_unit);
    }

    pub(super) fn sent(&mut self, messages: u64) {
        self.score("messages", "send", messages as f64, "messages");
        self.sent = Some(messages);
        self.works("message", messages as f64);
    }

    pub(super) fn received(&mut self, messages: u64) {
        self.score("messages", "receive", messages as f64, "messages");
        self.received = Some(messages);
    }

    /// Gigabits from a rate of data.
    pub(super) fn carried(&mut self, rate: f64, unit: Unit, elapsed_s: f64) {
        if let Unit::Data { bits, .. } = unit {
            self.works("gigabit", rate * bits * elapsed_s / 1e9);
        }
    }

    /// Transactions from their rate, or from a rate of data and the bytes of a request with its response.
    pub(super) fn answered(&mut self, rate: f64, unit: Unit, bytes: Option<f64>, elapsed_s: f64) {
        let transactions = match (unit, bytes) {
            (Unit::Transactions, _) => rate,
            (Unit::Data { bits, .. }, Some(bytes)) if bytes > 0.0 => rate * bits / (8.0 * bytes),
            (Unit::Data { .. }, _) => return,
        };
        self.works("transaction", transactions * elapsed_s);
    }

    fn works(&mut self, unit: &str, amount: f64) {
        if amount.is_finite() && amount > 0.0 {
            self.work = Some(Work { unit: unit.to_owned(), amount });
        }
    }
}
