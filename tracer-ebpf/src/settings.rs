//! The configuration, as the verifier sees it: a read-only global whose fields are constants.

use tracer_common::{
    config::{Config, INNER},
    path::CUTS,
    sock::Offsets,
};

/// Written by user space before load.
#[unsafe(no_mangle)]
pub(crate) static CONFIG: Config = Config {
    paths: 0,
    reads: 0,
    one_in: 1,
    audit: 0,
    by: 0,
    filters: 0,
    min_order: 0,
    gfp: 0,
    pid: 0,
    refill_argument: 0,
    stack_bytes: 0x4000,
    counters: 1,
    sets: 1,
    records: 1,
    events: 0,
    log: 0,
    word_type: 0,
    comm: [0; 16],
    cpus: 1,
    tallies: 1,
    sample_sockets: 1,
    facts: 0,
    kmalloc_cache_max: 8192,
    page_shift: 12,
    user_stacks: 0,
    padding: 0,
    sock: Offsets::NONE,
    kmalloc_inner: [[0; 2]; INNER],
    cuts: [[0; 2]; CUTS],
    entry: [0; 2],
};

/// A field of the configuration. A macro, since each field must be loaded by itself at a constant offset for the
/// verifier to know its value.
macro_rules! config {
    ($($field:tt)+) => {
        $crate::settings::load(core::ptr::addr_of!($crate::settings::CONFIG.$($field)+))
    };
}
pub(crate) use config;

/// Loads a field; volatile keeps the compiler from using the value above.
#[inline(always)]
pub(crate) fn load<T: Copy>(field: *const T) -> T {
    // SAFETY: only called by `config!`, with a field of an initialised static.
    unsafe { core::ptr::read_volatile(field) }
}
