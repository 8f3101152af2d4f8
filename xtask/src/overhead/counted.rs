//! What a tool says it has counted, so that one that counted nothing is not believed.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::command;

/// Where and how a tool says what it has counted.
pub(super) enum Output {
    /// It counts nothing.
    None,
    /// The tracer's own report of its recording.
    Tracer { tracer: PathBuf, recording: PathBuf },
    /// A map as JSON, whose keys end in the order and, by stack, the gfp flags.
    Bpftrace,
    /// Stacks, each followed by a line with its count.
    Stackcount,
    /// perf's last line has the number of samples.
    Perf { data: PathBuf },
}

/// What was counted; `None` where the tool does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) events: Option<u64>,
    pub(super) pages: Option<u64>,
}

impl Output {
    /// Reads it, with the tool's standard output in `out` and its errors in `err`.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub(super) fn read(&self, out: &Path, err: &Path) -> anyhow::Result<Counted> {
        let text = |path: &Path| {
            let bytes = fs::read(path).with_context(|| format!("`{}`", path.display()))?;
            anyhow::Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        match self {
            Self::None => Ok(Counted::default()),
            Self::Tracer { tracer, recording } => {
                let mut report = command::clean(tracer, ["report"]);
                report.arg(recording).arg("--json");
                of_report(&command::output(&mut report)?)
            }
            Self::Bpftrace => of_bpftrace(&text(out)?),
            Self::Stackcount => Ok(of_stackcount(&text(out)?)),
            Self::Perf { data } => {
                // Some hundred MB that nobody wants.
                let _gone = fs::remove_file(data);
                of_perf(&text(err)?)
            }
        }
    }
}

fn of_report(json: &str) -> anyhow::Result<Counted> {
    let report: Value = serde_json::from_str(json).context("the report")?;
    let of = |name: &str| report["pages"][name].as_u64();
    if of("events").is_none() {
        bail!("the report has no events");
    }
    Ok(Counted { events: of("events"), pages: of("pages") })
}

fn of_bpftrace(out: &str) -> anyhow::Result<Counted> {
    let mut lines = out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let map = lines.rfind(|line| line["type"] == "map").context("bpftrace printed no map")?;
    let counts = map["data"]["@"].as_object().context("bpftrace printed no map `@`")?;
    let (mut events, mut pages) = (0, 0);
    for (key, count) in counts {
        let count = count.as_u64().context("a count")?;
        // By order: `2`. By stack: `...stack...,2,789696`, and a stack has no comma.
        let mut parts = key.rsplit(',');
        let last = parts.next().unwrap_or_default();
        let order = parts.next().unwrap_or(last);
        let order: u32 = order.trim().parse().with_context(|| format!("no order in the key `{key}`"))?;
        events += count;
        pages += count << order.min(20);
    }
    Ok(Counted { events: Some(events), pages: Some(pages) })
}

fn of_stackcount(out: &str) -> Counted {
    let events = out.lines().filter_map(|line| line.trim().parse::<u64>().ok()).sum();
    Counted { events: Some(events), pages: None }
}

fn of_perf(err: &str) -> anyhow::Result<Counted> {
    let samples = err.rsplit('(').find_map(|part| part.split_once(" samples)")?.0.trim_start_matches('~').parse().ok());
    Ok(Counted { events: Some(samples.context("perf told no number of samples")?), pages: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As bpftrace 0.17 printed it on 6.18, shortened.
    #[test]
    fn a_map_of_bpftrace_is_summed_by_order_with_and_without_stacks() {
        let by_order = "{\"type\": \"attached_probes\", \"data\": {\"probes\": 1}}\n\n\
                        {\"type\": \"map\", \"data\": {\"@\": {\"3\": 2, \"0\": 100}}}\n";
        let counted = Counted { events: Some(102), pages: Some(116) };
        assert_eq!(of_bpftrace(by_order).unwrap(), counted);
        let by_stack = r#"{"type": "map", "data": {"@": {"\n    do_fault+126\n    asm_exc_page_fault+34\n,3,1313994": 2,
            "\n    alloc_pages_mpol+134\n,0,1314250": 100}}}"#;
        assert_eq!(of_bpftrace(&by_stack.replace("\n            ", " ")).unwrap(), counted);
    }

    #[test]
    fn a_tool_that_printed_nothing_is_an_error_not_a_zero() {
        assert!(of_bpftrace("").is_err());
        assert!(of_bpftrace(r#"{"type": "map", "data": {}}"#).is_err());
        assert!(of_perf("").is_err());
        assert!(of_report("{}").is_err());
    }

    /// As perf 6.1 printed it.
    #[test]
    fn perf_tells_its_samples_in_its_last_line() {
        let said = "[ perf record: Woken up 85 times to write data ]\nWarning:\nProcessed 106540 events and lost 2 \
                    chunks!\n\n[ perf record: Captured and wrote 21.983 MB /tmp/perf.data (105340 samples) ]\n";
        assert_eq!(of_perf(said).unwrap().events, Some(105_340));
    }

    #[test]
    fn stacks_of_stackcount_are_followed_by_their_counts() {
        let out = "Tracing 1 functions for \"t:kmem:mm_page_alloc\"... Hit Ctrl-C to end.\n\n  b'__alloc_pages'\n  \
                   b'alloc_pages'\n    7\n\n  b'__alloc_pages'\n    5\n\nDetaching...\n";
        assert_eq!(of_stackcount(out), Counted { events: Some(12), pages: None });
    }
}
