//! The table of sockets.

use core::ptr::addr_of_mut;

use aya_ebpf::helpers::generated::bpf_ktime_get_ns;
use tracer_common::{
    loss::Cause,
    sock::{ABSENT, SocketRow},
};

use crate::{loss::lose, maps::SOCKETS, settings::config, tally, word};

const AF_INET6: u16 = 10;

/// Its memory was charged.
#[inline(always)]
pub(crate) fn charged(sk: u64) {
    let Some(row) = row(sk) else { return };
    // SAFETY: `row` is a map value's.
    unsafe { (*row).charges += 1 };
}

/// A charge was refused.
#[inline(always)]
pub(crate) fn refused(sk: u64) {
    let Some(row) = row(sk) else { return };
    // SAFETY: `row` is a map value's.
    unsafe { (*row).refused += 1 };
}

/// A datagram found no room.
#[inline(always)]
pub(crate) fn overflowed(sk: u64) {
    let Some(row) = row(sk) else { return };
    // SAFETY: `row` is a map value's.
    unsafe { (*row).rcvqueue_full += 1 };
}

/// It was seen.
#[inline(always)]
pub(crate) fn seen(sk: u64) {
    let _ = row(sk);
}

/// The socket's row with its figures as they are now.
#[inline(always)]
fn row(sk: u64) -> Option<*mut SocketRow> {
    if refresh(sk) == 0 {
        return None;
    }
    SOCKETS.get_ptr_mut(sk)
}

/// Reads the socket's figures into its row; 0 when there is no room for one.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn refresh(sk: u64) -> u32 {
    if SOCKETS.get_ptr_mut(sk).is_none() && SOCKETS.insert(sk, SocketRow::default(), 0).is_err() {
        if let Some((_, state)) = tally::state() {
            lose(state, Cause::SocketsFull, 0);
        }
        return 0;
    }
    let Some(row) = SOCKETS.get_ptr_mut(sk) else { return 0 };
    // SAFETY: `row` is a map value's; the helper has no arguments.
    unsafe {
        (*row).seen_ns = bpf_ktime_get_ns();
        (*row).protocol = word::u32_at(sk, config!(sock.protocol)) as u16;
        (*row).family = word::u32_at(sk, config!(sock.family)) as u16;
        (*row).local_port = word::u32_at(sk, config!(sock.local_port)) as u16;
        (*row).remote_port = (word::u32_at(sk, config!(sock.remote_port)) as u16).swap_bytes();
        (*row).rmem_alloc = word::u32_at(sk, config!(sock.rmem_alloc));
        (*row).rcvbuf = word::u32_at(sk, config!(sock.rcvbuf));
        (*row).wmem_queued = word::u32_at(sk, config!(sock.wmem_queued));
        (*row).wmem_alloc = word::u32_at(sk, config!(sock.wmem_alloc));
        (*row).sndbuf = word::u32_at(sk, config!(sock.sndbuf));
        (*row).forward_alloc = word::u32_at(sk, config!(sock.forward_alloc));
        (*row).reserved = word::u32_at(sk, config!(sock.reserved));
        let family = (*row).family;
        address(sk, family, addr_of_mut!((*row).local), config!(sock.local4), config!(sock.local6));
        address(sk, family, addr_of_mut!((*row).remote), config!(sock.remote4), config!(sock.remote6));
    }
    1
}

/// Reads an address at the offset for its family.
#[inline(always)]
unsafe fn address(sk: u64, family: u16, to: *mut [u64; 2], offset4: u32, offset6: u32) {
    // SAFETY: `to` is valid for 16 bytes.
    unsafe {
        if family == AF_INET6 && offset6 != ABSENT {
            (*to)[0] = word::u64_at(sk, offset6);
            (*to)[1] = word::u64_at(sk, offset6 + 8);
        } else {
            (*to)[0] = u64::from(word::u32_at(sk, offset4));
        }
    }
}
