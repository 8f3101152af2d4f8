//! Rare diagnostics of the kernel side, for `--verbose`.

use anyhow::{Context as _, Result};
use aya_log::EbpfLogger;
use log::Log;

use super::Probe;

/// Reads what the programs log and passes it to the process's logger.
pub struct KernelLog {
    ring: EbpfLogger<&'static dyn Log>,
}

impl KernelLog {
    /// Takes the log's ring buffer out of the loaded object.
    ///
    /// # Errors
    /// When the object has none.
    pub fn new(probe: &mut Probe) -> Result<Self> {
        let ring = EbpfLogger::init(&mut probe.ebpf).context("the log of the BPF programs")?;
        Ok(Self { ring })
    }

    /// Passes on what has come since the last time.
    pub fn flush(&mut self) {
        self.ring.flush();
    }
}
