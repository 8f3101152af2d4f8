//! Socket memory accounting: charges, what they were needed for, refusals, drops and waits.
//!
//! `sk_rmem_schedule` and `sk_wmem_schedule` are inline and touch no function while `sk_forward_alloc` holds enough:
//! what is seen here is the slow path, at the funnel that every protocol goes through.

use core::{
    ffi::c_void,
    ptr::{addr_of, addr_of_mut, read_volatile, write_volatile},
};

use aya_ebpf::{
    EbpfContext as _,
    helpers::{bpf_get_smp_processor_id, generated::bpf_get_prandom_u32},
    macros::{fentry, fexit, kprobe, kretprobe, raw_tracepoint},
    programs::{FEntryContext, FExitContext, ProbeContext, RawTracePointContext, RetProbeContext},
};
use tracer_common::{
    config::facts,
    cpu::CpuState,
    histogram::place,
    sock::{ABSENT, REASONS, class},
    tally::{Kind, PROTOCOL, RECEIVE, drop, refusal},
};

use crate::{
    filter,
    maps::DROPS,
    settings::config,
    socket,
    start::{self, What},
    tally, word,
};

/// `SK_MEM_RECV`: the other kind is a send.
const SK_MEM_RECV: u64 = 1;
/// Bits of a detail where the reason of a refusal or a drop stands.
const REASON: u64 = 16;

/// `__udp_enqueue_schedule_skb(sk, skb)` was entered: the datagram's size is what will be needed.
#[fentry]
fn udp_enqueue_entered(ctx: FEntryContext) -> i32 {
    let [sk, skb] = word::arguments(ctx.as_ptr());
    let Some((_, state)) = tally::state() else { return 0 };
    // SAFETY: `state` points into a map value.
    unsafe {
        write_volatile(addr_of_mut!((*state).datagram), u64::from(word::u32_at(skb, config!(sock.skb_truesize))));
        write_volatile(addr_of_mut!((*state).datagram_sock), sk);
    }
    0
}

/// `__sk_mem_schedule(sk, size, kind)` was entered: it adds the pages to `sk_forward_alloc` before it charges them.
#[fentry]
fn schedule_entered(ctx: FEntryContext) -> i32 {
    let [sk] = word::arguments(ctx.as_ptr());
    let Some((_, state)) = tally::state() else { return 0 };
    // SAFETY: `state` points into a map value.
    unsafe { write_volatile(addr_of_mut!((*state).scheduling), sk) };
    0
}

/// `__sk_mem_raise_allocated(sk, size, amt, kind)` has returned whether it charged `amt` pages.
#[fexit]
fn raise_returned(ctx: FExitContext) -> i32 {
    let [sk, size, amt, kind, result] = word::arguments(ctx.as_ptr());
    raised(ctx.as_ptr(), sk, size, amt & 0xffff_ffff, kind & 0xffff_ffff, result & 0xffff_ffff != 0);
    0
}

#[inline(always)]
fn raised(ctx: *mut c_void, sk: u64, size: u64, amt: u64, kind: u64, charged: bool) {
    let Some((_, state)) = tally::state() else { return };
    let detail = detail(sk, kind);
    // SAFETY: `state` points into a map value.
    let (scheduled, datagram) = unsafe {
        let scheduled = read_volatile(addr_of!((*state).scheduling)) == sk;
        write_volatile(addr_of_mut!((*state).scheduling), 0);
        let is_datagram = kind == SK_MEM_RECV && read_volatile(addr_of!((*state).datagram_sock)) == sk;
        (scheduled, if is_datagram { read_volatile(addr_of!((*state).datagram)) } else { 0 })
    };
    if !charged {
        refused(
            ctx,
            sk,
            detail,
            word::u64_at(word::u64_at(sk, config!(sock.prot)), config!(sock.proto_allocated)),
            amt,
        );
        return;
    }
    let page = 1_u64 << config!(page_shift);
    let charged = amt.wrapping_mul(page);
    let now = i64::from(word::u32_at(sk, config!(sock.forward_alloc)) as i32);
    let held = if scheduled { now - charged as i64 } else { now };
    let held = if held > 0 { held as u64 } else { 0 };
    // SAFETY: as above.
    let (need, missing) = unsafe { needed(state, size & 0xffff_ffff, held, datagram) };
    account(ctx, Kind::Charge, sk, detail, amt, [need, missing, held]);
}

/// How many bytes were needed, and how many of them were missing.
///
/// Callers of `__sk_mem_schedule` pass either all that they need or, on kernels that were mended, only what is
/// missing. One call with no more than what is held shows that this kernel passes what is missing: the others would
/// not have called.
#[inline(always)]
unsafe fn needed(state: *mut CpuState, size: u64, held: u64, datagram: u64) -> (u64, u64) {
    if datagram != 0 {
        return (datagram, datagram.saturating_sub(held));
    }
    // SAFETY: `state` points into a map value.
    unsafe {
        if size <= held {
            (*state).deficits += 1;
        }
        if (*state).deficits > 0 { (size + held, size) } else { (size, size.saturating_sub(held)) }
    }
}

/// Counts a charge of `pages` for `[need, missing, held]` bytes.
#[inline(always)]
fn account(ctx: *mut c_void, kind: Kind, sk: u64, detail: u64, pages: u64, [need, missing, held]: [u64; 3]) {
    let page = 1_u64 << config!(page_shift);
    let rounded = (missing + page - 1) & !(page - 1);
    let beyond = pages.wrapping_mul(page).saturating_sub(rounded);
    if tally::add(ctx, kind, detail, [pages, need, beyond]) {
        let at = 2 * class((detail & PROTOCOL) as u32) + u32::from(detail & RECEIVE != 0);
        tally::distribute(place::BEYOND_NEED + at, beyond);
        tally::distribute(place::FORWARD_ALLOC + at, held);
        socket::charged(sk);
    }
}

/// `__sk_mem_raise_allocated` was entered, where its return is not seen: what it needed is not known.
#[kprobe]
fn raise_entered(ctx: ProbeContext) -> u32 {
    let [sk, amt, kind] = [0, 2, 3].map(|n| ctx.arg::<u64>(n).unwrap_or(0));
    if tally::add(ctx.as_ptr(), Kind::Charge, detail(sk, kind & 0xffff_ffff), [amt & 0xffff_ffff, 0, 0]) {
        socket::charged(sk);
    }
    0
}

/// `sk_forced_mem_schedule(sk, size)` was entered.
#[fentry]
fn forced_entered(ctx: FEntryContext) -> i32 {
    let [sk] = word::arguments(ctx.as_ptr());
    let Some((_, state)) = tally::state() else { return 0 };
    // SAFETY: `state` points into a map value.
    unsafe {
        write_volatile(addr_of_mut!((*state).forced_held), word::u32_at(sk, config!(sock.forward_alloc)));
        write_volatile(addr_of_mut!((*state).forcing), sk);
    }
    0
}

/// ... and has returned.
#[fexit]
fn forced_returned(ctx: FExitContext) -> i32 {
    let [sk, size] = word::arguments(ctx.as_ptr());
    forced(ctx.as_ptr(), sk, size);
    0
}

#[inline(always)]
fn forced(ctx: *mut c_void, sk: u64, size: u64) {
    let Some((_, state)) = tally::state() else { return };
    // SAFETY: `state` points into a map value.
    let held = unsafe {
        if read_volatile(addr_of!((*state).forcing)) != sk {
            return;
        }
        write_volatile(addr_of_mut!((*state).forcing), 0);
        i64::from(read_volatile(addr_of!((*state).forced_held)) as i32)
    };
    let now = i64::from(word::u32_at(sk, config!(sock.forward_alloc)) as i32);
    let added = now - held;
    if added <= 0 {
        return;
    }
    let held = if held > 0 { held as u64 } else { 0 };
    let size = size & 0xffff_ffff;
    let pages = added as u64 >> config!(page_shift);
    account(ctx, Kind::Forced, sk, detail(sk, 0), pages, [size, size.saturating_sub(held), held]);
}

/// `__sk_mem_reduce_allocated(sk, amount)`
#[fentry]
fn reduce_entered(ctx: FEntryContext) -> i32 {
    let [sk, amount] = word::arguments(ctx.as_ptr());
    reduced(ctx.as_ptr(), sk, amount);
    0
}

/// The same by a kprobe.
#[kprobe]
fn reduce_probed(ctx: ProbeContext) -> u32 {
    let [sk, amount] = [0, 1].map(|n| ctx.arg::<u64>(n).unwrap_or(0));
    reduced(ctx.as_ptr(), sk, amount);
    0
}

#[inline(always)]
fn reduced(ctx: *mut c_void, sk: u64, amount: u64) {
    tally::add(ctx, Kind::Uncharge, detail(sk, 0), [amount & 0xffff_ffff, 0, 0]);
}

/// `(struct sock *sk, struct proto *prot, long allocated, int kind)`
#[raw_tracepoint(tracepoint = "sock_exceed_buf_limit")]
fn sock_exceed_buf_limit(ctx: RawTracePointContext) -> i32 {
    let sk: u64 = ctx.arg(0);
    refuse(ctx.as_ptr(), sk, detail(sk, ctx.arg::<u64>(3) & 0xffff_ffff), ctx.arg(2));
    0
}

/// A refused charge whose pages were taken back already; `counter` is where the protocol's pages are counted.
#[inline(always)]
fn refused(ctx: *mut c_void, sk: u64, detail: u64, counter: u64, amt: u64) {
    refuse(ctx, sk, detail, word::u64_at(counter, 0).wrapping_add(amt));
}

#[inline(always)]
fn refuse(ctx: *mut c_void, sk: u64, detail: u64, allocated: u64) {
    let limits = word::u64_at(word::u64_at(sk, config!(sock.prot)), config!(sock.proto_limits));
    let reason = if limits == 0 {
        refusal::UNKNOWN
    } else if allocated > word::u64_at(limits, 16) {
        refusal::PROTOCOL
    } else if allocated <= word::u64_at(limits, 0) {
        // Nothing else refuses as long as the protocol is below its first limit.
        refusal::CGROUP
    } else {
        refusal::PRESSURE
    };
    if tally::add(ctx, Kind::Limit, detail | reason << REASON, [allocated, 0, 0]) {
        socket::refused(sk);
    }
}

/// `(int rc, struct sock *sk[, struct sk_buff *skb])`
#[raw_tracepoint(tracepoint = "udp_fail_queue_rcv_skb")]
fn udp_fail_queue_rcv_skb(ctx: RawTracePointContext) -> i32 {
    const ENOMEM: i32 = -12;
    const ENOBUFS: i32 = -105;
    let reason = match ctx.arg::<i32>(0) {
        ENOMEM => drop::BUFFER_FULL,
        ENOBUFS => drop::PROTOCOL_MEMORY,
        _ => drop::OTHER,
    };
    rejected(ctx.as_ptr(), ctx.arg(1), reason);
    0
}

/// `(struct sock *sk, struct sk_buff *skb)`: raw, packet and unix sockets.
#[raw_tracepoint(tracepoint = "sock_rcvqueue_full")]
fn sock_rcvqueue_full(ctx: RawTracePointContext) -> i32 {
    rejected(ctx.as_ptr(), ctx.arg(0), drop::QUEUE_FULL);
    0
}

#[inline(always)]
fn rejected(ctx: *mut c_void, sk: u64, reason: u64) {
    if tally::add(ctx, Kind::RcvQueue, detail(sk, SK_MEM_RECV) | reason << REASON, [0; 3]) {
        socket::overflowed(sk);
    }
}

/// `sk_stream_wait_memory(sk, timeo)` was entered.
#[fentry]
fn wait_entered(ctx: FEntryContext) -> i32 {
    let [sk] = word::arguments(ctx.as_ptr());
    start::note(What::Wait, detail(sk, 0));
    0
}

/// ... and has returned.
#[fexit]
fn wait_returned(ctx: FExitContext) -> i32 {
    waited(ctx.as_ptr());
    0
}

/// The same by kprobes.
#[kprobe]
fn wait_probed(ctx: ProbeContext) -> u32 {
    start::note(What::Wait, detail(ctx.arg(0).unwrap_or(0), 0));
    0
}

/// ... and has returned.
#[kretprobe]
fn wait_probe_returned(ctx: RetProbeContext) -> u32 {
    waited(ctx.as_ptr());
    0
}

#[inline(always)]
fn waited(ctx: *mut c_void) {
    let Some((ns, detail)) = start::ended(What::Wait) else { return };
    if tally::add(ctx, Kind::Wait, detail, [ns, 0, 0]) {
        tally::distribute(place::WAIT, ns);
    }
}

/// `(struct sock *sk, int ret, int flags)`: a message was sent.
#[raw_tracepoint(tracepoint = "sock_send_length")]
fn sock_send_length(ctx: RawTracePointContext) -> i32 {
    passes(ctx.arg(0));
    0
}

/// `(struct sock *sk, int ret, int flags)`: a message was received.
#[raw_tracepoint(tracepoint = "sock_recv_length")]
fn sock_recv_length(ctx: RawTracePointContext) -> i32 {
    passes(ctx.arg(0));
    0
}

/// A task sends through or receives from `sk`: one time in many its figures are taken.
#[inline(always)]
fn passes(sk: u64) {
    // SAFETY: a helper without arguments.
    if unsafe { bpf_get_prandom_u32() } & (config!(sample_sockets) - 1) != 0 {
        return;
    }
    if filter::task_counts() {
        socket::seen(sk);
    }
}

/// `(struct sk_buff *skb, void *location[, enum skb_drop_reason reason[, struct sock *rx_sk]])`
#[raw_tracepoint(tracepoint = "kfree_skb")]
fn kfree_skb(ctx: RawTracePointContext) -> i32 {
    if !filter::task_counts() {
        return 0;
    }
    let reason = if config!(facts) & facts::DROP_REASON != 0 { ctx.arg::<u64>(2) & 0xffff_ffff } else { 0 };
    // SAFETY: a helper without arguments.
    let cpu = unsafe { bpf_get_smp_processor_id() };
    let Some(drops) = DROPS.get_ptr_mut(cpu) else { return 0 };
    let reason = if reason < REASONS as u64 { reason as usize } else { REASONS - 1 };
    // SAFETY: points into a map value, the index is bounded.
    unsafe { (*drops)[reason] += 1 };
    0
}

/// Protocol and direction.
#[inline(always)]
fn detail(sk: u64, kind: u64) -> u64 {
    let protocol = if config!(sock.protocol) == ABSENT { 0 } else { word::u32_at(sk, config!(sock.protocol)) & 0xffff };
    u64::from(protocol) & PROTOCOL | if kind == SK_MEM_RECV { RECEIVE } else { 0 }
}
