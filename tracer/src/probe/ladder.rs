//! Taking the best rung of a signal that loads and attaches, and keeping the reason for each better one refused.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use aya::{
    Btf, Ebpf,
    programs::{Program, ProgramError},
};

use super::{
    Attached,
    hooks::{Kind, Part, Row, Rung},
    kernel::Kernel,
};
use crate::signal::{Refused, Signal, Status};

/// Where a kernel with kprobes says how they are made.
const KPROBES: &str = "/sys/bus/event_source/devices/kprobe/type";

/// The kernel's own "not supported", which is no error number of user space.
const ENOTSUPP: i32 = 524;

/// Climbs the ladders of signals.
pub(super) struct Ladder<'a> {
    ebpf: &'a mut Ebpf,
    kernel: Option<&'a Kernel>,
    attached: Vec<Attached>,
    /// Programs that are in the kernel, each with its hook, attached or not.
    loaded: Vec<(&'static str, &'static str)>,
    /// The kernel's types in the form that aya wants, read when first needed.
    btf: Option<Btf>,
    /// Why this kernel takes no programs on functions, once it was asked.
    no_tracing: Option<String>,
}

/// How far a signal's ladder has been climbed.
struct Climb {
    row: &'static Row,
    refused: Vec<Refused>,
    /// The rung that has been loaded; past the last where there is none.
    rung: usize,
}

impl<'a> Ladder<'a> {
    pub(super) fn new(ebpf: &'a mut Ebpf, kernel: Option<&'a Kernel>) -> Self {
        Self { ebpf, kernel, attached: Vec::new(), loaded: Vec::new(), btf: None, no_tracing: None }
    }

    /// Takes the best rung of each signal. All programs are loaded before the first is attached, so that none of them
    /// sees what loading the others takes of the kernel.
    pub(super) fn climb(mut self, rows: Vec<&'static Row>) -> (Vec<Signal>, Vec<Attached>) {
        let mut climbs: Vec<Climb> = rows.into_iter().map(|row| Climb { row, refused: Vec::new(), rung: 0 }).collect();
        for climb in &mut climbs {
            self.load_best(climb);
        }
        let signals = climbs.into_iter().map(|climb| self.attach_best(climb)).collect();
        (signals, self.attached)
    }

    /// Goes on from the climb's rung to the first that loads.
    fn load_best(&mut self, climb: &mut Climb) {
        while let Some(rung) = climb.row.rungs.get(climb.rung) {
            match self.each_part(rung, Self::load) {
                Ok(()) => return,
                Err(error) => climb.refuse(rung, &error),
            }
        }
    }

    fn attach_best(&mut self, mut climb: Climb) -> Signal {
        while let Some(rung) = climb.row.rungs.get(climb.rung) {
            match self.each_part(rung, Self::attach) {
                Ok(()) => {
                    let name = climb.row.signal.to_owned();
                    let mut hook = None;
                    for part in rung.parts {
                        if let Some(there) = self.attached.iter_mut().find(|it| it.program == part.program) {
                            hook.get_or_insert_with(|| there.hook.clone());
                            there.signals.push(name.clone());
                        }
                    }
                    let status = if rung.lost.is_empty() { Status::Attached } else { Status::Degraded };
                    return Signal { name, hook, status, refused: climb.refused, note: rung.lost.to_owned() };
                }
                Err(error) => climb.refuse(rung, &error),
            }
            self.load_best(&mut climb);
        }
        Signal {
            name: climb.row.signal.to_owned(),
            hook: None,
            status: Status::Missing,
            refused: climb.refused,
            note: "no hook of this kernel serves it".to_owned(),
        }
    }

    /// Does something with all parts of a rung. When one fails that the rung needs, those that no other signal has
    /// taken leave the kernel.
    fn each_part(&mut self, rung: &Rung, mut each: impl FnMut(&mut Self, &Part) -> Result<()>) -> Result<()> {
        for part in rung.parts {
            let Err(error) = each(self, part) else { continue };
            self.unload(part.program);
            if part.optional {
                continue;
            }
            for part in rung.parts {
                let is_taken = self.attached.iter().any(|it| it.program == part.program && !it.signals.is_empty());
                if !is_taken {
                    self.unload(part.program);
                }
            }
            // The rung is named after its first part.
            let is_first = part.program == rung.parts[0].program;
            return Err(if is_first { error } else { error.context(part.name(part.names[0])) });
        }
        Ok(())
    }

    fn unload(&mut self, program: &str) {
        if self.loaded.iter().any(|(there, _)| *there == program) {
            // Nothing of ours stays: a program goes when its last descriptor is closed.
            let _ = unload(self.ebpf, program);
        }
        self.loaded.retain(|(there, _)| *there != program);
        self.attached.retain(|it| it.program != program);
    }

    /// Loads the program of a part, unless it is loaded already.
    fn load(&mut self, part: &Part) -> Result<()> {
        if self.loaded.iter().any(|(there, _)| *there == part.program) {
            return Ok(());
        }
        let hook = self.hook(part)?;
        let traces = matches!(part.kind, Kind::FEntry | Kind::FExit);
        if traces && self.btf.is_none() {
            self.btf = Some(Btf::from_sys_fs().context("kernel types")?);
        }
        let program = self
            .ebpf
            .program_mut(part.program)
            .with_context(|| format!("the BPF object has no program `{}`; build the tracer anew", part.program))?;
        if let Err(error) = load(program, hook, self.btf.as_ref()) {
            if traces && error_number(&error) == Some(libc::EPERM) {
                let reason = "this kernel refuses programs on functions (EPERM), for root, too".to_owned();
                self.no_tracing = Some(reason.clone());
                bail!(reason);
            }
            return Err(refusal(&error, "load", part.kind));
        }
        self.loaded.push((part.program, hook));
        Ok(())
    }

    /// Attaches the loaded program of a part, unless it is attached already. One that could not be loaded is optional.
    fn attach(&mut self, part: &Part) -> Result<()> {
        let Some((_, hook)) = self.loaded.iter().copied().find(|(there, _)| *there == part.program) else {
            return Ok(());
        };
        if self.attached.iter().any(|it| it.program == part.program) {
            return Ok(());
        }
        let program = self.ebpf.program_mut(part.program).context("loaded program")?;
        attach(program, hook).map_err(|error| refusal(&error, "attach", part.kind))?;
        let fd = program.fd().and_then(|fd| Ok(fd.try_clone()?)).context("loaded program")?;
        self.attached.push(Attached { signals: Vec::new(), hook: part.name(hook), program: part.program, fd });
        Ok(())
    }

    /// The name under which the kernel has the hook.
    fn hook(&self, part: &Part) -> Result<&'static str> {
        let first = part.names.iter().copied().find(|name| match (part.kind, self.kernel) {
            (Kind::FEntry | Kind::FExit | Kind::KProbe | Kind::KRetProbe, Some(kernel)) => {
                kernel.function(name).is_some()
            }
            _ => true,
        });
        match part.kind {
            Kind::RawTracepoint => {}
            Kind::FEntry | Kind::FExit => {
                if self.kernel.is_none() {
                    bail!("the kernel has no types (CONFIG_DEBUG_INFO_BTF), by which functions are found");
                }
                if let Some(reason) = &self.no_tracing {
                    bail!(reason.clone());
                }
            }
            Kind::KProbe | Kind::KRetProbe => {
                if !Path::new(KPROBES).exists() {
                    bail!("this kernel has no kprobes (CONFIG_KPROBE_EVENTS)");
                }
            }
        }
        first.with_context(|| format!("this kernel has no function {}", part.names.join(" or ")))
    }
}

impl Climb {
    fn refuse(&mut self, rung: &Rung, error: &anyhow::Error) {
        self.refused.push(Refused { hook: rung.name(), reason: format!("{error:#}") });
        self.rung += 1;
    }
}

fn load(program: &mut Program, hook: &str, btf: Option<&Btf>) -> Result<(), ProgramError> {
    match (program, btf) {
        (Program::RawTracePoint(program), _) => program.load(),
        (Program::FEntry(program), Some(btf)) => program.load(hook, btf),
        (Program::FExit(program), Some(btf)) => program.load(hook, btf),
        (Program::KProbe(program), _) => program.load(),
        _ => Err(ProgramError::UnexpectedProgramType),
    }
}

fn attach(program: &mut Program, hook: &str) -> Result<(), ProgramError> {
    match program {
        Program::RawTracePoint(program) => program.attach(hook).map(drop),
        Program::FEntry(program) => program.attach().map(drop),
        Program::FExit(program) => program.attach().map(drop),
        Program::KProbe(program) => program.attach(hook, 0).map(drop),
        _ => Err(ProgramError::UnexpectedProgramType),
    }
}

/// Detaches and unloads a program; one that was never loaded is no error to the caller.
pub(super) fn unload(ebpf: &mut Ebpf, program: &str) -> Result<()> {
    match ebpf.program_mut(program).context("no such program")? {
        Program::RawTracePoint(program) => program.unload()?,
        Program::FEntry(program) => program.unload()?,
        Program::FExit(program) => program.unload()?,
        Program::KProbe(program) => program.unload()?,
        _ => {}
    }
    Ok(())
}

fn error_number(error: &ProgramError) -> Option<i32> {
    match error {
        ProgramError::LoadError { io_error, .. } => io_error.raw_os_error(),
        ProgramError::SyscallError(error) => error.io_error.raw_os_error(),
        _ => None,
    }
}

/// Why the kernel refused a program, in words that say what to do.
fn refusal(error: &ProgramError, doing: &str, kind: Kind) -> anyhow::Error {
    let words = match error_number(error) {
        Some(libc::EPERM) => {
            "not permitted; CAP_BPF and CAP_PERFMON are needed, and lockdown or a security module may forbid it"
        }
        Some(libc::ENOENT) if kind == Kind::RawTracepoint => "this kernel has no such tracepoint",
        Some(libc::ENOENT) => "the kernel can trace no function of this name",
        Some(libc::EACCES | libc::EINVAL) if doing == "load" => {
            return anyhow!(
                "the kernel's verifier refused the program{}; this is the tracer's fault: please report it",
                last_words(error)
            );
        }
        Some(libc::EINVAL | libc::EBUSY | libc::EADDRNOTAVAIL) => {
            "the kernel has the function, but not in a form that can be traced"
        }
        Some(ENOTSUPP) => "the kernel cannot trace functions with so many arguments",
        Some(libc::ENOMEM) => "not enough memory for it; raise the memory limit of this cgroup",
        _ => "",
    };
    if words.is_empty() { anyhow!("cannot {doing}: {error}") } else { anyhow!("cannot {doing}: {words}") }
}

/// What the verifier said last, before its statistics.
fn last_words(error: &ProgramError) -> String {
    let ProgramError::LoadError { verifier_log, .. } = error else { return String::new() };
    let log = verifier_log.to_string();
    let statistics = ["processed ", "stack depth ", "verification time "];
    let is_words = |line: &&str| !line.is_empty() && !statistics.iter().any(|it| line.starts_with(it));
    let last = log.lines().rev().find(is_words);
    last.map_or_else(String::new, |line| format!(" (`{}`)", line.trim()))
}
