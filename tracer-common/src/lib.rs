//! Shapes shared by the kernel side (`tracer-ebpf`) and user space (`tracer`).
//!
//! Owns: the layout of every map value and of the configuration written into the BPF object. Every struct is
//! `repr(C)` with explicit padding and a compile-time size check, so both sides read the same bytes.
//! Must not know: `std`, aya (except [`aya::Pod`] behind the feature `user`), how a number is shown.
#![cfg_attr(not(test), no_std)]
#![warn(missing_docs)]

pub mod config;
pub mod cpu;
pub mod event;
pub mod histogram;
pub mod loss;
pub mod page;
pub mod path;
pub mod sock;
pub mod tally;
pub mod user;

#[cfg(feature = "user")]
mod pod {
    macro_rules! pod {
        ($($shape:ty),+) => {$(
            // SAFETY: `repr(C)` of integers and arrays of them without implicit padding that anyone relies on, and
            // every bit pattern is a value.
            unsafe impl aya::Pod for $shape {}
        )+};
    }
    pod!(
        crate::config::Config,
        crate::cpu::CpuState,
        crate::event::PageEvent,
        crate::histogram::Histogram,
        crate::page::Counter,
        crate::path::PathRecord,
        crate::sock::SocketRow,
        crate::tally::Tally,
        crate::user::UserPath
    );
}
