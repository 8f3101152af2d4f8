//! Our programs' own figures, as the kernel keeps them in `bpf_prog_info`.
//!
//! aya 0.14 has no accessor for `recursion_misses`, so the kernel is asked by an own `bpf(2)` call.

use std::{
    io,
    os::fd::{AsRawFd as _, BorrowedFd},
};

use aya_obj::generated::{bpf_cmd, bpf_prog_info};

/// What the kernel counts about a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// ns spent; 0 unless `kernel.bpf_stats_enabled` is set.
    pub run_time_ns: u64,
    /// Times run; 0 unless `kernel.bpf_stats_enabled` is set.
    pub run_count: u64,
    /// Events at which it did not run because it was running already on that CPU.
    pub recursion_misses: u64,
}

/// The part of `union bpf_attr` that `BPF_OBJ_GET_INFO_BY_FD` reads (`include/uapi/linux/bpf.h`).
#[repr(C)]
struct InfoByFd {
    fd: i32,
    length: u32,
    info: u64,
}

/// Bytes of what the kernel is asked to fill.
#[expect(clippy::cast_possible_truncation, reason = "some 200 bytes")]
const INFO_BYTES: u32 = size_of::<bpf_prog_info>() as u32;

/// Asks the kernel about the program behind `program`.
///
/// # Errors
/// What the kernel answers.
pub fn figures(program: BorrowedFd<'_>) -> io::Result<Figures> {
    // SAFETY: a structure of integers, for which zero is a value; a kernel that knows fewer fields leaves the rest.
    let mut info: bpf_prog_info = unsafe { std::mem::zeroed() };
    let attributes = InfoByFd { fd: program.as_raw_fd(), length: INFO_BYTES, info: &raw mut info as u64 };
    // SAFETY: the kernel reads `attributes` and writes at most `length` bytes to `info`; both live here.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            bpf_cmd::BPF_OBJ_GET_INFO_BY_FD as libc::c_long,
            &raw const attributes,
            size_of::<InfoByFd>(),
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Figures { run_time_ns: info.run_time_ns, run_count: info.run_cnt, recursion_misses: info.recursion_misses })
}
