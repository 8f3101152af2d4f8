//! What the kernel tells: which programs sit on the hook and what they cost, pages allocated, the machine.

use std::{
    fs,
    os::fd::{FromRawFd as _, OwnedFd, RawFd},
};

use anyhow::{Context as _, bail};
use nix::{errno::Errno, libc};
use serde_json::{Value, json};

use crate::command;

/// The tracepoint that all rows sit on.
pub(super) const HOOK: &str = "mm_page_alloc";

/// The program that the process `pid` has on the hook, as `bpftool perf` tells (`BPF_TASK_FD_QUERY`).
///
/// # Errors
/// bpftool is missing or fails.
pub(super) fn program_of(pid: u32) -> anyhow::Result<Option<u64>> {
    let attached = bpftool(&["perf", "show"])?;
    let mut attached = attached.as_array().into_iter().flatten();
    let ours = attached.find(|it| it["pid"] == pid && it["tracepoint"] == HOOK);
    Ok(ours.and_then(|it| it["prog_id"].as_u64()))
}

/// ns and runs of a program since statistics were switched on.
///
/// # Errors
/// The program is gone, or was not run meanwhile.
pub(super) fn cost_of(program: u64) -> anyhow::Result<(u64, u64)> {
    let shown = bpftool(&["prog", "show", "id", &program.to_string()])?;
    let time = shown["run_time_ns"].as_u64().context("the program did not run")?;
    Ok((time, shown["run_cnt"].as_u64().context("the program did not run")?))
}

fn bpftool(words: &[&str]) -> anyhow::Result<Value> {
    let bpftool = command::find("bpftool").context("`bpftool`, which tells who is attached, is not on this machine")?;
    let out = command::output(&mut command::clean(bpftool, [&["--json"], words].concat()))?;
    serde_json::from_str(&out).context("what bpftool printed")
}

/// The statistics of `kernel.bpf_stats_enabled`, on for as long as this lives: the file descriptor is the switch, so
/// they are off again even if this program is killed, and what the sysctl says stays as it is.
pub(super) struct Statistics {
    _switch: OwnedFd,
}

impl Statistics {
    /// Switches them on (`BPF_ENABLE_STATS`, 5.8 and later).
    ///
    /// # Errors
    /// What the kernel answers.
    pub(super) fn enable() -> anyhow::Result<Self> {
        const BPF_ENABLE_STATS: libc::c_int = 32;
        const BPF_STATS_RUN_TIME: u32 = 0;
        let attributes = BPF_STATS_RUN_TIME;
        // SAFETY: for this command the kernel reads 4 bytes of `attributes`, the kind of statistics.
        let fd = unsafe { libc::syscall(libc::SYS_bpf, BPF_ENABLE_STATS, &raw const attributes, size_of::<u32>()) };
        let fd = Errno::result(fd).context("switch on the statistics of BPF programs (BPF_ENABLE_STATS)")?;
        // SAFETY: a file descriptor just made and owned by nobody else.
        Ok(Self { _switch: unsafe { OwnedFd::from_raw_fd(RawFd::try_from(fd).context("a file descriptor")?) } })
    }
}

/// Pages allocated since boot: the sum of `pgalloc_*`.
pub(super) fn pages_allocated() -> anyhow::Result<u64> {
    let text = fs::read_to_string("/proc/vmstat").context("`/proc/vmstat`")?;
    let counts = text.lines().filter_map(|line| line.strip_prefix("pgalloc_")?.split_once(' ')?.1.parse::<u64>().ok());
    let pages = counts.sum();
    if pages == 0 {
        bail!("`/proc/vmstat` has no `pgalloc_*`");
    }
    Ok(pages)
}

/// CPU time, s, and the highest resident memory, KiB, of a process.
pub(super) fn usage(pid: u32) -> anyhow::Result<(f64, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).context("the process's times")?;
    // The name in parentheses may hold anything; utime and stime are the 12th and 13th fields after it.
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |n: usize| fields.get(n).and_then(|it| it.parse::<f64>().ok());
    let (user, system) = ticks(11).zip(ticks(12)).context("the process's times")?;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).context("the process's memory")?;
    let highest = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
    // USER_HZ, which is 100 on every architecture that is left.
    Ok(((user + system) / 100.0, highest.context("the process's memory")?))
}

/// The machine that figures were taken on.
pub(super) fn machine() -> Value {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    json!({
        "kernel": read("/proc/sys/kernel/osrelease"),
        "cpu": model.map(|(_, name)| name.trim()),
        "cpus": std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
    })
}

/// Processes ready to run, mean over the last minute.
pub(super) fn load_average() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_used_time_and_memory() {
        let (seconds, highest) = usage(std::process::id()).unwrap();
        assert!((0.0..1000.0).contains(&seconds) && highest > 100, "{seconds} {highest}");
    }

    #[test]
    fn pages_are_allocated_all_the_time() {
        let before = pages_allocated().unwrap();
        let block = vec![1_u8; 4 << 20];
        // 4 MiB touched are 1024 pages of 4 KiB or at least one huge one.
        assert!(pages_allocated().unwrap() > before, "{}", block.len());
    }
}
