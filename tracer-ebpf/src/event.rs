//! Single events, for those who asked for them.

use core::ptr::addr_of_mut;

use aya_ebpf::helpers::{bpf_get_current_comm, bpf_get_current_pid_tgid, generated::bpf_ktime_get_ns};
use tracer_common::{event::PageEvent, loss::Cause};

use crate::{
    loss::lose,
    maps::{CPUS, EVENTS},
};

/// Hands one event to user space; `key` is the remembered key of `page::count`. What does not fit is counted.
#[inline(never)]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn emit(cpu: u32, key: u64, path: u32) -> u32 {
    let Some(state) = CPUS.get_ptr_mut(cpu) else { return 0 };
    let Some(mut entry) = EVENTS.reserve::<PageEvent>(0) else {
        lose(state, Cause::RingFull, (key >> 32) as u32 & 0xf);
        return 0;
    };
    let task = bpf_get_current_pid_tgid();
    let event = entry.as_mut_ptr();
    // SAFETY: the reserved record is ours until it is submitted; each field is written.
    unsafe {
        addr_of_mut!((*event).time_ns).write(bpf_ktime_get_ns());
        addr_of_mut!((*event).path).write(path);
        addr_of_mut!((*event).cpu).write(cpu);
        addr_of_mut!((*event).pid).write((task >> 32) as u32);
        addr_of_mut!((*event).tid).write(task as u32);
        addr_of_mut!((*event).gfp).write(key as u32);
        addr_of_mut!((*event).order).write((key >> 32) as u8 & 0xf);
        addr_of_mut!((*event).migratetype).write((key >> 36) as u8 & 0xf);
        addr_of_mut!((*event).failed).write((key >> 40) as u8 & 1);
        addr_of_mut!((*event).padding).write(0);
        addr_of_mut!((*event).comm).write(bpf_get_current_comm().unwrap_or_default());
    }
    entry.submit(0);
    1
}
