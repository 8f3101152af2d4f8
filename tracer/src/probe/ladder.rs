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

/// Climbs the ladders of signals, one after the other.
pub(super) struct Ladder<'a> {
    pub(super) ebpf: &'a mut Ebpf,
    pub(super) kernel: Option<&'a Kernel>,
    pub(super) attached: Vec<Attached>,
    /// The kernel's types in the form that aya wants, read when first needed.
    btf: Option<Btf>,
    /// Why this kernel takes no programs on functions, once it was asked.
    no_tracing: Option<String>,
}

impl<'a> Ladder<'a> {
    pub(super) fn new(ebpf: &'a mut Ebpf, kernel: Option<&'a Kernel>) -> Self {
        Self { ebpf, kernel, attached: Vec::new(), btf: None, no_tracing: None }
    }

    /// Takes the best rung of a signal.
    pub(super) fn climb(&mut self, row: &Row) -> Signal {
        let mut refused = Vec::new();
        for rung in row.rungs {
            match self.attach(row, rung) {
                Ok(hook) => {
                    let status = if rung.lost.is_empty() { Status::Attached } else { Status::Degraded };
                    return Signal {
                        name: row.signal.to_owned(),
                        hook: Some(hook),
                        status,
                        refused,
                        note: rung.lost.to_owned(),
                    };
                }
                Err(error) => refused.push(Refused { hook: rung.name(), reason: format!("{error:#}") }),
            }
        }
        Signal {
            name: row.signal.to_owned(),
            hook: None,
            status: Status::Missing,
            refused,
            note: "no hook of this kernel serves it".to_owned(),
        }
    }

    /// Attaches all parts of a rung or none; gives the name of the first.
    fn attach(&mut self, row: &Row, rung: &Rung) -> Result<String> {
        let mut taken: Vec<Attached> = Vec::new();
        let mut shared = Vec::new();
        let mut name = String::new();
        for part in rung.parts {
            // Signals may share a hook; its program is attached once.
            if let Some(there) = self.attached.iter().position(|it| it.program == part.program) {
                shared.push(there);
                if name.is_empty() {
                    name.clone_from(&self.attached[there].hook);
                }
                continue;
            }
            match self.attach_part(part) {
                Ok((hook, fd)) => {
                    let hook = part.name(hook);
                    if name.is_empty() {
                        name.clone_from(&hook);
                    }
                    taken.push(Attached { signals: vec![row.signal.to_owned()], hook, program: part.program, fd });
                }
                Err(_) if part.optional => {}
                Err(error) => {
                    for part in &taken {
                        let _ = unload(self.ebpf, part.program);
                    }
                    // The rung is named after its first part.
                    let is_first = part.program == rung.parts[0].program;
                    return Err(if is_first { error } else { error.context(part.name(part.names[0])) });
                }
            }
        }
        for there in shared {
            self.attached[there].signals.push(row.signal.to_owned());
        }
        self.attached.append(&mut taken);
        Ok(name)
    }

    /// Loads and attaches the program of a part; gives the name of the hook that was there.
    fn attach_part(&mut self, part: &Part) -> Result<(&'static str, aya::programs::ProgramFd)> {
        let hook = self.hook(part)?;
        let traces = matches!(part.kind, Kind::FEntry | Kind::FExit);
        if traces && self.btf.is_none() {
            self.btf = Some(Btf::from_sys_fs().context("kernel types")?);
        }
        let program = self
            .ebpf
            .program_mut(part.program)
            .with_context(|| format!("the BPF object has no program `{}`; build the tracer anew", part.program))?;
        let result = load_and_attach(program, hook, self.btf.as_ref());
        if let Err((doing, error)) = result {
            let _ = unload(self.ebpf, part.program);
            if traces && error_number(&error) == Some(libc::EPERM) {
                let reason = "this kernel refuses programs on functions (EPERM), for root, too".to_owned();
                self.no_tracing = Some(reason.clone());
                bail!(reason);
            }
            return Err(refusal(&error, doing, part.kind));
        }
        let program = self.ebpf.program(part.program).context("loaded program")?;
        Ok((hook, program.fd().and_then(|fd| Ok(fd.try_clone()?)).context("loaded program")?))
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

fn load_and_attach(program: &mut Program, hook: &str, btf: Option<&Btf>) -> Result<(), (&'static str, ProgramError)> {
    let load = |error| ("load", error);
    let attach = |error| ("attach", error);
    match program {
        Program::RawTracePoint(program) => {
            program.load().map_err(load)?;
            program.attach(hook).map_err(attach)?;
        }
        Program::FEntry(program) => {
            let Some(btf) = btf else { return Err(("load", ProgramError::NotLoaded)) };
            program.load(hook, btf).map_err(load)?;
            program.attach().map_err(attach)?;
        }
        Program::FExit(program) => {
            let Some(btf) = btf else { return Err(("load", ProgramError::NotLoaded)) };
            program.load(hook, btf).map_err(load)?;
            program.attach().map_err(attach)?;
        }
        Program::KProbe(program) => {
            program.load().map_err(load)?;
            program.attach(hook, 0).map_err(attach)?;
        }
        _ => return Err(("load", ProgramError::UnexpectedProgramType)),
    }
    Ok(())
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
