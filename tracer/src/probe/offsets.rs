//! Where the running kernel keeps the fields of sockets, and how its hooks differ: asked of its types.

use tracer_common::{
    config::facts,
    sock::{ABSENT, Offsets},
};

use super::kernel::Kernel;

/// Where fields lie; what the kernel lacks is [`ABSENT`].
pub fn of(kernel: &Kernel) -> Offsets {
    let of = |structure: &str, path: &[&str]| kernel.offset(structure, path).unwrap_or(ABSENT);
    let sock = |name: &str| of("sock", &[name]);
    let common = |name: &str| of("sock", &["__sk_common", name]);
    Offsets {
        forward_alloc: sock("sk_forward_alloc"),
        rmem_alloc: of("sock", &["sk_backlog", "rmem_alloc"]),
        rcvbuf: sock("sk_rcvbuf"),
        wmem_queued: sock("sk_wmem_queued"),
        wmem_alloc: sock("sk_wmem_alloc"),
        sndbuf: sock("sk_sndbuf"),
        reserved: sock("sk_reserved_mem"),
        protocol: sock("sk_protocol"),
        family: common("skc_family"),
        local_port: common("skc_num"),
        remote_port: common("skc_dport"),
        local4: common("skc_rcv_saddr"),
        remote4: common("skc_daddr"),
        local6: common("skc_v6_rcv_saddr"),
        remote6: common("skc_v6_daddr"),
        skb_truesize: of("sk_buff", &["truesize"]),
        prot: common("skc_prot"),
        proto_limits: of("proto", &["sysctl_mem"]),
        proto_allocated: of("proto", &["memory_allocated"]),
    }
}

/// Bits of [`facts`].
pub fn facts_of(kernel: &Kernel) -> u32 {
    let mut bits = 0;
    if kernel.tracepoint_argument("mm_vmscan_direct_reclaim_begin", 0).as_deref() == Some("gfp_t") {
        bits |= facts::RECLAIM_GFP_FIRST;
    }
    if kernel.tracepoint_argument("kmalloc", 2).as_deref() == Some("*") {
        bits |= facts::KMALLOC_CACHE_ARGUMENT;
    }
    if kernel.tracepoint_arguments("kfree_skb").is_some_and(|n| n >= 3) {
        bits |= facts::DROP_REASON;
    }
    let bulk = ["alloc_pages_bulk_noprof", "__alloc_pages_bulk"];
    if bulk.into_iter().find_map(|name| kernel.arguments(name)).is_some_and(|n| n >= 6) {
        bits |= facts::BULK_PAGE_LIST;
    }
    bits
}
