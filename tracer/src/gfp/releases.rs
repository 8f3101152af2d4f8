//! The gfp names of known kernels, for when the running one's own table cannot be read.
//!
//! From the `print fmt` of 5.10, 6.1, 6.12, 6.18, 7.2 and 7.3 kernels (x86-64) and, for what lies between them, from
//! the history of `include/linux/gfp_types.h` and `include/trace/events/mmflags.h`. Bits whose meaning depends on
//! the configuration (1 << 24 and up) have no name here and stay hexadecimal.

use super::Table;

/// Named combinations that are the same everywhere, in the order in which kernels print them.
const COMBINED: [(u64, &str); 8] = [
    (0x1c_24ca, "GFP_TRANSHUGE"),
    (0x1c_20ca, "GFP_TRANSHUGE_LIGHT"),
    (0x10_0cca, "GFP_HIGHUSER_MOVABLE"),
    (0x10_0cc2, "GFP_HIGHUSER"),
    (0x10_0cc0, "GFP_USER"),
    (0x40_0cc0, "GFP_KERNEL_ACCOUNT"),
    (0xcc0, "GFP_KERNEL"),
    (0xc40, "GFP_NOFS"),
];

/// What follows the combinations before 6.14.
const SINGLE_BEFORE_6_14: [(u64, &str); 25] = [
    (0x1, "GFP_DMA"),
    (0x2, "__GFP_HIGHMEM"),
    (0x4, "GFP_DMA32"),
    (0x20, "__GFP_HIGH"),
    (0x200, "__GFP_ATOMIC"),
    (0x40, "__GFP_IO"),
    (0x80, "__GFP_FS"),
    (0x2000, "__GFP_NOWARN"),
    (0x4000, "__GFP_RETRY_MAYFAIL"),
    (0x8000, "__GFP_NOFAIL"),
    (0x1_0000, "__GFP_NORETRY"),
    (0x4_0000, "__GFP_COMP"),
    (0x100, "__GFP_ZERO"),
    (0x8_0000, "__GFP_NOMEMALLOC"),
    (0x2_0000, "__GFP_MEMALLOC"),
    (0x10_0000, "__GFP_HARDWALL"),
    (0x20_0000, "__GFP_THISNODE"),
    (0x10, "__GFP_RECLAIMABLE"),
    (0x8, "__GFP_MOVABLE"),
    (0x40_0000, "__GFP_ACCOUNT"),
    (0x1000, "__GFP_WRITE"),
    (0xc00, "__GFP_RECLAIM"),
    (0x400, "__GFP_DIRECT_RECLAIM"),
    (0x800, "__GFP_KSWAPD_RECLAIM"),
    (0x80_0000, "__GFP_ZEROTAGS"),
];

/// What follows the combinations from 6.14 on.
const SINGLE: [(u64, &str); 26] = [
    (0x1, "GFP_DMA"),
    (0x4, "GFP_DMA32"),
    (0xc00, "__GFP_RECLAIM"),
    (0x1, "__GFP_DMA"),
    (0x2, "__GFP_HIGHMEM"),
    (0x4, "__GFP_DMA32"),
    (0x8, "__GFP_MOVABLE"),
    (0x10, "__GFP_RECLAIMABLE"),
    (0x20, "__GFP_HIGH"),
    (0x40, "__GFP_IO"),
    (0x80, "__GFP_FS"),
    (0x100, "__GFP_ZERO"),
    (0x400, "__GFP_DIRECT_RECLAIM"),
    (0x800, "__GFP_KSWAPD_RECLAIM"),
    (0x1000, "__GFP_WRITE"),
    (0x2000, "__GFP_NOWARN"),
    (0x4000, "__GFP_RETRY_MAYFAIL"),
    (0x8000, "__GFP_NOFAIL"),
    (0x1_0000, "__GFP_NORETRY"),
    (0x2_0000, "__GFP_MEMALLOC"),
    (0x4_0000, "__GFP_COMP"),
    (0x8_0000, "__GFP_NOMEMALLOC"),
    (0x10_0000, "__GFP_HARDWALL"),
    (0x20_0000, "__GFP_THISNODE"),
    (0x40_0000, "__GFP_ACCOUNT"),
    (0x80_0000, "__GFP_ZEROTAGS"),
];

/// The table for a release such as `6.1.0-57-cloud-amd64`.
pub(super) fn table(release: &str) -> Table {
    let version = version(release).unwrap_or((u32::MAX, 0));
    let (atomic, nowait, source) = match version {
        (..=4, _) | (5, ..=13) => (0xa20, 0x800, "built-in table of kernels before 5.14"),
        (5, ..=17) => (0xa20, 0x800, "built-in table of kernels 5.14 to 5.17"),
        (5, _) | (6, ..=2) => (0xa20, 0x800, "built-in table of kernels 5.18 to 6.2"),
        (6, ..=6) => (0x820, 0x800, "built-in table of kernels 6.3 to 6.6"),
        (6, ..=13) => (0x820, 0x2800, "built-in table of kernels 6.7 to 6.13"),
        _ => (0x820, 0x2800, "built-in table of kernels from 6.14"),
    };
    let single: &[(u64, &str)] = if version < (6, 14) { &SINGLE_BEFORE_6_14 } else { &SINGLE };
    // For these few releases the bit had its meaning whatever the configuration, and movable user pages bore it.
    let poison = ((5, 14)..(5, 18)).contains(&version).then_some((0x100_0000, "__GFP_SKIP_KASAN_POISON"));
    let names = COMBINED
        .iter()
        .map(|&(mask, name)| (mask | poison.filter(|_| mask & 0x8 != 0).map_or(0, |(bit, _)| bit), name))
        .chain([(atomic, "GFP_ATOMIC"), (0xc00, "GFP_NOIO"), (nowait, "GFP_NOWAIT")])
        .chain(single.iter().copied())
        .filter(|&(_, name)| match name {
            "__GFP_ATOMIC" => version < (6, 3),
            "__GFP_ZEROTAGS" => version >= (5, 14),
            _ => true,
        })
        .chain(poison)
        .map(|(mask, name)| (mask, name.to_owned()))
        .collect();
    Table { source: source.to_owned(), names }
}

/// Major and minor number at the start of a release.
fn version(release: &str) -> Option<(u32, u32)> {
    let (major, rest) = release.trim().split_once('.')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((major.parse().ok()?, rest[..end].parse().ok()?))
}
