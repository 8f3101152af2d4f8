//! Whether this process may attach at all: everything that is missing, at once, each with what it is for and the
//! command that grants it.

use std::{fs, path::Path};

use anyhow::{Result, bail};

const CAP_SYS_ADMIN: u8 = 21;
const CAP_PERFMON: u8 = 38;
const CAP_BPF: u8 = 39;

/// What stands in the way of attaching; empty when nothing does.
pub fn obstacles() -> Vec<String> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let lockdown = fs::read_to_string("/sys/kernel/security/lockdown").ok();
    let mut obstacles = missing_capabilities(effective(&status));
    obstacles.extend(lockdown.as_deref().and_then(refusing_lockdown));
    obstacles
}

/// Fails with all obstacles in one line.
pub fn check() -> Result<()> {
    let obstacles = obstacles();
    if !obstacles.is_empty() {
        bail!("cannot attach to the kernel: {}", obstacles.join("; "));
    }
    Ok(())
}

/// The effective capabilities as a mask, from `/proc/self/status`.
fn effective(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn missing_capabilities(effective: u64) -> Vec<String> {
    let has = |capability: u8| effective & (1 << capability) != 0;
    // CAP_SYS_ADMIN still stands for both.
    if has(CAP_SYS_ADMIN) {
        return Vec::new();
    }
    let mut missing = Vec::new();
    if !has(CAP_BPF) {
        missing.push("CAP_BPF (to load BPF programs)");
    }
    if !has(CAP_PERFMON) {
        missing.push("CAP_PERFMON (to attach them and read kernel stacks)");
    }
    if missing.is_empty() {
        return Vec::new();
    }
    let binary = std::env::current_exe().unwrap_or_else(|_| Path::new("tracer").to_path_buf());
    vec![format!(
        "missing {}; run it with `sudo`, or grant it once: `sudo setcap cap_bpf,cap_perfmon,cap_dac_read_search,cap_syslog+ep {}`",
        missing.join(" and "),
        binary.display()
    )]
}

/// What lockdown refuses, when it refuses everything: `confidentiality` forbids BPF to read kernel memory.
fn refusing_lockdown(text: &str) -> Option<String> {
    text.contains("[confidentiality]").then(|| {
        "the kernel is in lockdown mode `confidentiality`, which forbids BPF programs to read kernel memory; boot with \
         `lockdown=integrity` or less"
            .to_owned()
    })
}

/// The lockdown mode, `none` where the kernel has no lockdown; for `doctor`.
pub fn lockdown() -> String {
    let text = fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
    let mode = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    mode.map_or_else(|| "none".to_owned(), |(mode, _)| mode.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_missing_capability_is_named_with_its_purpose_and_the_command_that_grants_it() {
        let message = missing_capabilities(0).join("");
        for part in ["CAP_BPF (to load", "CAP_PERFMON (to attach", "sudo setcap cap_bpf,cap_perfmon"] {
            assert!(message.contains(part), "{message}");
        }
        let message = missing_capabilities(1 << CAP_BPF).join("");
        assert!(message.contains("CAP_PERFMON (") && !message.contains("CAP_BPF ("), "{message}");
    }

    #[test]
    fn bpf_and_perfmon_are_enough_and_so_is_sys_admin() {
        assert!(missing_capabilities(1 << CAP_BPF | 1 << CAP_PERFMON).is_empty());
        assert!(missing_capabilities(1 << CAP_SYS_ADMIN).is_empty());
    }

    #[test]
    fn the_mask_is_read_from_the_status_file() {
        assert_eq!(effective("Name:\tx\nCapPrm:\t00\nCapEff:\t000001fffeffffff\n"), 0x1ff_feff_ffff);
        assert_eq!(effective("no such line"), 0);
    }

    #[test]
    fn only_confidentiality_refuses_everything() {
        assert!(refusing_lockdown("none integrity [confidentiality]\n").is_some());
        assert!(refusing_lockdown("none [integrity] confidentiality\n").is_none());
        assert!(refusing_lockdown("[none] integrity confidentiality\n").is_none());
    }
}
