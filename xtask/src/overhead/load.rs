//! The load: one netperf test on loopback, and what it achieved.

use std::{fmt, path::Path, str::FromStr, time::Duration};

use anyhow::{Context as _, bail};

use super::process::{Interrupt, Process};
use crate::command;

/// A netperf test, as `UDP_STREAM:8192` or `TCP_RR`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Load {
    /// netperf's name of the test.
    pub(super) test: String,
    /// Bytes of a message; netperf's own choice without.
    pub(super) size: Option<u32>,
}

impl FromStr for Load {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let (test, size) = word.split_once(':').map_or((word, None), |(test, size)| (test, Some(size)));
        if !["UDP_STREAM", "TCP_STREAM", "UDP_RR", "TCP_RR"].contains(&test) {
            return Err("one of UDP_STREAM, TCP_STREAM, UDP_RR, TCP_RR, with `:SIZE` where wanted".to_owned());
        }
        let size = size.map(str::parse).transpose().map_err(|_no_number| format!("`{word}`: no message size"))?;
        if size.is_some_and(|size| !(1..=65_507).contains(&size)) {
            return Err(format!("`{word}`: a message has 1 to 65507 bytes"));
        }
        Ok(Self { test: test.to_owned(), size })
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.test)?;
        self.size.map_or(Ok(()), |size| write!(f, " {size}"))
    }
}

/// What netperf achieved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Score {
    /// What was sent, Mbit/s; transactions/s for the request-response tests. What is compared.
    pub(super) sent: f64,
    /// What arrived, in the same unit.
    pub(super) arrived: f64,
}

impl Load {
    /// Unit of its scores.
    pub(super) fn unit(&self) -> &'static str {
        if self.is_stream() { "Mbit/s" } else { "trans/s" }
    }

    fn is_stream(&self) -> bool {
        self.test.ends_with("_STREAM")
    }

    /// Runs it once.
    pub(super) fn run(&self, port: u16, seconds: u64, place: &Path, interrupt: &Interrupt) -> anyhow::Result<Score> {
        let (port, seconds_text) = (port.to_string(), seconds.to_string());
        let mut netperf = command::clean(
            "netperf",
            ["-4", "-H", "127.0.0.1", "-p", &port, "-t", &self.test, "-l", &seconds_text, "-P", "0", "--"],
        );
        let request_response = if self.is_stream() { "-m" } else { "-r" };
        if let Some(size) = self.size {
            netperf.args([request_response, &size.to_string()]);
        }
        netperf.args(["-k", "THROUGHPUT,LOCAL_SEND_THROUGHPUT"]);
        let mut netperf = Process::start(netperf, place, "netperf", interrupt)?;
        let status = netperf.wait(Duration::from_secs(seconds + 30))?;
        if !status.success() {
            bail!("netperf ended with {status}: {}", netperf.last_words());
        }
        let out = std::fs::read_to_string(&netperf.out).context("netperf's output")?;
        score(&out, self.is_stream())
            .with_context(|| format!("netperf printed no throughput: {}", netperf.last_words()))
    }
}

/// The figures among netperf's `KEY=value` lines. What a stream test calls its throughput is what arrived.
fn score(out: &str, is_stream: bool) -> Option<Score> {
    let of = |key: &str| {
        let value = out.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
        value.trim().parse::<f64>().ok().filter(|it| it.is_finite() && *it > 0.0)
    };
    let arrived = of("THROUGHPUT")?;
    Some(Score { sent: if is_stream { of("LOCAL_SEND_THROUGHPUT")? } else { arrived }, arrived })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_named_with_the_size_of_a_message() {
        assert_eq!("UDP_STREAM:64".parse(), Ok(Load { test: "UDP_STREAM".to_owned(), size: Some(64) }));
        assert_eq!("TCP_RR".parse(), Ok(Load { test: "TCP_RR".to_owned(), size: None }));
        for bad in ["", "udp", "UDP_STREAM:", "UDP_STREAM:0", "UDP_STREAM:65508", "UDP_STREAM:x", "-t"] {
            assert!(bad.parse::<Load>().is_err(), "{bad}");
        }
    }

    /// As netperf 2.7.0 printed them.
    #[test]
    fn a_stream_is_compared_by_what_was_sent_and_transactions_by_their_rate() {
        let stream = "THROUGHPUT=4221.92\nTHROUGHPUT_UNITS=10^6bits/s\nLOCAL_SEND_THROUGHPUT=9119.56\n";
        assert_eq!(score(stream, true), Some(Score { sent: 9119.56, arrived: 4221.92 }));
        let transactions = "THROUGHPUT=35285.53\nTHROUGHPUT_UNITS=Trans/s\nLOCAL_SEND_THROUGHPUT=0.28\n";
        assert_eq!(score(transactions, false), Some(Score { sent: 35285.53, arrived: 35285.53 }));
    }

    #[test]
    fn a_throughput_of_nothing_is_no_score() {
        for out in ["", "THROUGHPUT=0.00\nLOCAL_SEND_THROUGHPUT=1.0", "THROUGHPUT=nan\nLOCAL_SEND_THROUGHPUT=1"] {
            assert_eq!(score(out, true), None, "{out}");
        }
    }
}
