//! How costs grow with the tables, and what user space takes: measured by the example `measure` with synthetic paths.

use serde_json::Value;

use super::{measured, process::Interrupt, rows::Built};
use crate::console;

/// What the example printed; null where it failed.
pub(super) struct Scaling {
    pub(super) scaling: Value,
    pub(super) user_space: Value,
}

/// Measures both. What fails is left out, with the reason as a note.
///
/// # Errors
/// The user wants to end.
pub(super) fn measure(built: &Built, interrupt: &Interrupt) -> anyhow::Result<Scaling> {
    let take = |what: &str| match measured(built, interrupt, what) {
        Err(error) if interrupt.came() => Err(error),
        Err(error) => {
            console::note(&format!("{what}: {error:#}"));
            Ok(Value::Null)
        }
        Ok(value) => Ok(value),
    };
    Ok(Scaling { scaling: take("scaling")?, user_space: take("user-space")? })
}

impl Scaling {
    /// As text.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let table = &self.scaling["table"];
        if let Some(rows) = self.scaling["rows"].as_array() {
            lines.push(String::new());
            lines.push(format!(
                "tables: {} keys and {} counters a CPU, {} paths, {} MiB of kernel memory at {} possible CPUs",
                table["keys_per_cpu"],
                table["counters_per_cpu"],
                table["paths"],
                table["bytes"].as_u64().unwrap_or(0) >> 20,
                table["cpus"],
            ));
            lines.push(
                "  a key is a path at one stack depth with one kind of flags; a path from a system call has up to 64 depths"
                    .to_owned(),
            );
            lines.push(format!(
                "  (RANDOMIZE_KSTACK_OFFSET), so the keys hold {} such paths at once, and more with fewer depths met",
                table["keys_per_cpu"].as_u64().unwrap_or(0) / 64
            ));
            lines.push(format!(
                "{:>7}{:>7}{:>8}{:>10}{:>10}{:>11}{:>13}{:>10}{:>10}",
                "keys", "paths", "depths", "counters", "ns/event", "unwound", "first read", "read", "idle read"
            ));
            lines.extend(rows.iter().map(line));
        }
        if let Some(cpu) = self.user_space["cpu_percent"].as_f64() {
            let of = |name: &str| self.user_space[name].as_f64().unwrap_or(f64::NAN);
            lines.push(String::new());
            lines.push(format!(
                "user space, {} reads a second with {} paths: {cpu:.1} % of a CPU; {:.0} ms of CPU to meet and name them; {:.0} MiB \
                 resident, {:.0} at the most",
                of("reads_per_second"),
                of("paths"),
                of("first_read_ms"),
                of("resident_kib") / 1024.0,
                of("resident_highest_kib") / 1024.0,
            ));
        }
        lines
    }

    /// ns an event with this many keys of as many paths.
    pub(super) fn ns_with(&self, keys: u64) -> Option<f64> {
        let mut rows = self.scaling["rows"].as_array()?.iter();
        rows.find(|row| row["keys"] == keys && row["paths"] == keys)?["ns_per_event"].as_f64()
    }
}

fn line(row: &Value) -> String {
    let of = |name: &str| row[name].as_f64().unwrap_or(f64::NAN);
    format!(
        "{:>7}{:>7}{:>8}{:>10}{:>10.0}{:>11}{:>13}{:>10}{:>10}",
        of("keys"),
        of("paths"),
        of("depths"),
        of("counters"),
        of("ns_per_event"),
        format!("{:.2} %", of("unwound_per_mille") / 10.0),
        format!("{:.2} ms", of("first_read_us") / 1e3),
        format!("{:.2} ms", of("read_us") / 1e3),
        format!("{:.2} ms", of("idle_read_us") / 1e3),
    )
}
