//! What this kernel allows, and why not more: the data behind `tracer doctor`, found by attaching for a moment.

use serde::Serialize;

use crate::{
    config::Config,
    probe::{Probe, hooks, kernel::Kernel, possible_cpus, preflight, sizes::Sizes},
    run::{Host, PathsMode},
    session::kernel_text,
    signal::{Signal, Status},
    symbols::Symbols,
    system,
};

/// The name of the JSON form.
pub const SCHEMA: &str = "tracer.doctor/1";

/// What this kernel allows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The machine.
    pub host: Host,
    /// Lockdown mode; `none` where the kernel has none.
    pub lockdown: String,
    /// What keeps the tracer from attaching at all, each with what to do.
    pub obstacles: Vec<String>,
    /// What makes it tell less, each with what to do.
    pub limits: Vec<String>,
    /// How paths would be taken; `None` when nothing could be attached.
    pub paths: Option<PathsMode>,
    /// Kernel memory of the maps, bytes.
    pub map_bytes: u64,
    /// Paths kept at most.
    pub map_paths: u32,
    /// Remembered keys of one CPU.
    pub map_keys_per_cpu: u32,
    /// CPUs that the maps are sized for.
    pub possible_cpus: u32,
    /// Every signal of the table.
    pub signals: Vec<Row>,
}

/// A signal with what it tells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What became of it.
    #[serde(flatten)]
    pub signal: Signal,
    /// What it tells.
    pub tells: String,
}

impl Diagnosis {
    /// Attaches everything there is, looks, and detaches.
    pub fn new(config: &Config) -> Self {
        let host = system::host();
        let sizes = Sizes::for_cpus(possible_cpus());
        let mut limits = Vec::new();
        limits.extend(system::gfp_table(&host.kernel).1);
        let kernel = Kernel::read().map_err(|error| limits.push(format!("{error:#}"))).ok();
        let symbols = Symbols::new().map_err(|error| limits.push(format!("{error:#}"))).ok();
        let mut diagnosis = Self {
            schema: SCHEMA,
            host,
            lockdown: preflight::lockdown(),
            obstacles: preflight::obstacles(),
            limits,
            paths: None,
            map_bytes: sizes.bytes(),
            map_paths: sizes.records,
            map_keys_per_cpu: sizes.keys(),
            possible_cpus: sizes.cpus,
            signals: Vec::new(),
        };
        if !diagnosis.obstacles.is_empty() {
            return diagnosis;
        }
        let all = Config { signals: hooks::TABLE.iter().map(|row| row.signal.to_owned()).collect(), ..config.clone() };
        let text = symbols.as_ref().map(kernel_text).unwrap_or_default();
        match Probe::attach(&all, kernel.as_ref(), &text, sizes) {
            Ok(probe) => {
                diagnosis.paths = Some(probe.paths.clone());
                let tells = |signal: &Signal| {
                    hooks::TABLE.iter().find(|row| row.signal == signal.name).map_or("", |row| row.tells).to_owned()
                };
                diagnosis.signals =
                    probe.signals.iter().map(|it| Row { signal: it.clone(), tells: tells(it) }).collect();
            }
            Err(error) => diagnosis.obstacles.push(format!("{error:#}")),
        }
        diagnosis
    }

    /// 0: everything at its best; 1: something is missing or lesser; 2: nothing can be attached.
    pub fn exit_code(&self) -> u8 {
        let lesser = self.paths.as_ref().is_some_and(|it| !it.reason.is_empty());
        if !self.obstacles.is_empty() {
            return 2;
        }
        let lesser = lesser || !self.limits.is_empty();
        u8::from(lesser || self.signals.iter().any(|it| it.signal.status != Status::Attached))
    }
}
