//! The machine's own figures: what it is, its counters, its free memory, its flag names.
//!
//! Owns: reading `/proc`, tracefs and `uname`. Must not know: aya, the model, how numbers are shown.

pub mod network;

use std::{collections::BTreeMap, fs};

use anyhow::{Context as _, Result};

use crate::{gfp, run::Host};

/// Where tracefs and, for kernels before 4.1's separate mount, debugfs show the event's format.
const FORMATS: [&str; 2] = [
    "/sys/kernel/tracing/events/kmem/mm_page_alloc/format",
    "/sys/kernel/debug/tracing/events/kmem/mm_page_alloc/format",
];

/// What machine this is.
pub fn host() -> Host {
    let uname = nix::sys::utsname::uname();
    let text = |of: fn(&nix::sys::utsname::UtsName) -> &std::ffi::OsStr| {
        uname.as_ref().map(|it| of(it).to_string_lossy().into_owned()).unwrap_or_default()
    };
    let orders = buddyinfo().ok().and_then(|zones| zones.values().map(Vec::len).max()).unwrap_or(11);
    Host {
        kernel: text(nix::sys::utsname::UtsName::release),
        machine: text(nix::sys::utsname::UtsName::machine),
        cpus: cpus_online(),
        page_size: page_size(),
        max_order: u8::try_from(orders.saturating_sub(1)).unwrap_or(u8::MAX),
    }
}

/// CPUs online, whether or not this process may run on them.
fn cpus_online() -> u32 {
    let online = nix::unistd::sysconf(nix::unistd::SysconfVar::_NPROCESSORS_ONLN).ok().flatten();
    online.and_then(|it| u32::try_from(it).ok()).unwrap_or(1)
}

/// Bytes of a page.
pub fn page_size() -> u64 {
    let size = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok().flatten();
    size.and_then(|it| u64::try_from(it).ok()).unwrap_or(4096)
}

/// The running kernel's gfp flag names: its own, or by its version where tracefs cannot be read; then also why.
pub fn gfp_table(release: &str) -> (gfp::Table, Option<String>) {
    let mut reason = String::new();
    for path in FORMATS {
        match fs::read_to_string(path).map_err(anyhow::Error::from).and_then(|text| gfp::Table::from_format(&text)) {
            Ok(table) => return (table, None),
            Err(error) if reason.is_empty() => {
                reason = format!(
                    "gfp flags are named by kernel version, since `{path}` cannot be read ({error:#}); mount tracefs: \
                     `mount -t tracefs tracefs /sys/kernel/tracing`"
                );
            }
            Err(_) => {}
        }
    }
    (gfp::Table::for_release(release), Some(reason))
}

/// `/proc/vmstat`, after asking the kernel to fold its per-CPU counters into it (root only; else up to a second old).
///
/// # Errors
/// When it cannot be read.
pub fn vmstat() -> Result<BTreeMap<String, i64>> {
    // Without the right to refresh, the figures are a little older: no reason to fail.
    let _ = fs::write("/proc/sys/vm/stat_refresh", "1");
    Ok(procfs::vmstat().context("`/proc/vmstat`")?.into_iter().collect())
}

/// Pages allocated since boot by a reading of `/proc/vmstat`: the sum of `pgalloc_*` over the zones.
pub fn pages_allocated(vmstat: &BTreeMap<String, i64>) -> i64 {
    vmstat.iter().filter(|(name, _)| name.starts_with("pgalloc_")).map(|(_, value)| value).sum()
}

/// What changed between two readings of `/proc/vmstat`; what did not is left out.
pub fn vmstat_delta(before: &BTreeMap<String, i64>, after: &BTreeMap<String, i64>) -> BTreeMap<String, i64> {
    after
        .iter()
        .filter_map(|(name, value)| {
            let delta = value - before.get(name)?;
            (delta != 0).then(|| (name.clone(), delta))
        })
        .collect()
}

/// `/proc/buddyinfo`: free blocks by `node/zone`, then by order. The procfs crate does not read this file.
///
/// # Errors
/// When it cannot be read.
pub fn buddyinfo() -> Result<BTreeMap<String, Vec<u64>>> {
    Ok(parse_buddyinfo(&fs::read_to_string("/proc/buddyinfo").context("`/proc/buddyinfo`")?))
}

/// Lines are `Node 0, zone   Normal    551    422 ...`; a line of another form is passed over.
fn parse_buddyinfo(text: &str) -> BTreeMap<String, Vec<u64>> {
    let line = |line: &str| {
        let (node, rest) = line.strip_prefix("Node ")?.split_once(", zone")?;
        let mut words = rest.split_whitespace();
        let zone = words.next()?;
        let blocks: Option<Vec<u64>> = words.map(|it| it.parse().ok()).collect();
        Some((format!("{}/{zone}", node.trim()), blocks?))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buddyinfo_is_read_by_node_zone_and_order() {
        let text = "Node 0, zone      DMA      1      0\nNode 1, zone   Normal  40773     37 \nsomething else\n";
        let zones = parse_buddyinfo(text);
        assert_eq!(zones["0/DMA"], [1, 0]);
        assert_eq!(zones["1/Normal"], [40773, 37]);
        assert_eq!(zones.len(), 2);
    }

    #[test]
    fn a_vmstat_gauge_may_fall_and_what_did_not_change_is_left_out() {
        let before = BTreeMap::from([("nr_free_pages".to_owned(), 10), ("pgfault".to_owned(), 3)]);
        let after = BTreeMap::from([("nr_free_pages".to_owned(), 7), ("pgfault".to_owned(), 3)]);
        assert_eq!(vmstat_delta(&before, &after), BTreeMap::from([("nr_free_pages".to_owned(), -3)]));
    }

    #[test]
    fn pages_allocated_are_summed_over_the_zones() {
        let vmstat = BTreeMap::from([
            ("pgalloc_dma".to_owned(), 1),
            ("pgalloc_normal".to_owned(), 20),
            ("pgfree".to_owned(), 300),
        ]);
        assert_eq!(pages_allocated(&vmstat), 21);
    }
}
