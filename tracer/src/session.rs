//! One run from attaching to the report: the only place that knows every layer.
//!
//! One task owns the model. It reads the maps at every interval, names what is new, applies it to the model and
//! hands it to the recording; nothing else touches them.

mod shown;

use std::{
    collections::HashMap,
    ffi::OsString,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::Signal;
use tokio::{
    signal::unix::{SignalKind, signal},
    time::{Instant as Tick, Interval, MissedTickBehavior, interval_at, sleep_until},
};

use self::shown::Shown;
use crate::{
    batch::{Batch, Frame},
    collect::{Collector, UserStack, stream::Stream},
    config::Config,
    event::{Event, Tally},
    model::Model,
    probe::{Probe, Text, kernel::Kernel, log::KernelLog, preflight, sizes::Sizes},
    recording::{Recording, Writer},
    run::{BeforeAfter, Benchmark, End, Start, System},
    symbols::{Symbols, user::UserSymbols},
    system::{self, network::Network},
    tui::{Look, app::Kind},
    window::{Cut, Window},
    workload::{
        self,
        command::{Invocation, Outcome, Running},
    },
};

/// How often the ring buffer is emptied: it holds a third of a second of a fast stream.
const DRAINED_EVERY: Duration = Duration::from_millis(50);

/// Where a recording goes.
#[derive(Clone, Debug)]
pub struct RecordTo {
    /// The file.
    pub path: PathBuf,
    /// Overwrite a recording that is there.
    pub force: bool,
    /// Whom it belongs to; `None` for the tracer's own user.
    pub owner: Option<(u32, u32)>,
}

/// How a run ended.
pub struct Finished {
    /// All that is known of it.
    pub model: Model,
    /// The command's exit status; `None` without a command.
    pub exit_code: Option<i32>,
}

/// Runs a command under tracing, until it has ended or a signal stops it; on screens if a look is given.
///
/// # Errors
/// What kept the tracer from attaching or recording, or (as a [`workload::command::StartError`]) the command from
/// starting.
pub async fn run(
    config: &Config,
    invocation: Invocation,
    record: Option<RecordTo>,
    look: Option<Look>,
) -> Result<Finished> {
    let argv: Vec<String> = invocation.argv.iter().map(|it| it.to_string_lossy().into_owned()).collect();
    let command = invocation.prepare()?;
    let mut signals = Signals::new()?;
    let mut tracing = Tracing::start(config, &argv, record)?;
    let mut running = command.start()?;
    let mut shown = Shown::open(look, tracing.model.start(), Kind::Run, config.interval)?;
    let outcome = tracing.follow(&mut running, &mut signals, &mut shown).await?;
    let benchmark = workload::parse(&argv, &outcome.stdout, &outcome.stderr);
    let exit_code = outcome.end.exit_code;
    let model = tracing.finish(Some((outcome, benchmark)))?;
    shown.stay(&model, &mut signals).await;
    Ok(Finished { model, exit_code: Some(exit_code) })
}

/// Shows the system on screens until one leaves, the time is over or a signal comes.
///
/// # Errors
/// What kept the tracer from attaching or from taking the terminal over.
pub async fn top(config: &Config, duration: Option<Duration>, look: Look) -> Result<Finished> {
    let mut signals = Signals::new()?;
    let mut tracing = Tracing::start(config, &[], None)?;
    let mut shown = Shown::open(Some(look), tracing.model.start(), Kind::Top, config.interval)?;
    tracing.wait(duration, &mut signals, &mut shown).await?;
    tracing.warnings.extend(shown.close());
    Ok(Finished { model: tracing.finish(None)?, exit_code: None })
}

/// Records until the time is over or a signal comes.
///
/// # Errors
/// What kept the tracer from attaching or recording.
pub async fn record(config: &Config, duration: Option<Duration>, record: RecordTo) -> Result<Finished> {
    let mut signals = Signals::new()?;
    let mut tracing = Tracing::start(config, &[], Some(record))?;
    if config.events {
        tracing.stream = Some(Stream::new(&mut tracing.probe)?);
        tracing.interval = tracing.interval.min(DRAINED_EVERY);
    }
    tracing.wait(duration, &mut signals, &mut Shown::default()).await?;
    Ok(Finished { model: tracing.finish(None)?, exit_code: None })
}

/// Streams single events until enough were written or a signal comes. `write` gets each of them with what
/// the run began with, which names flags and migrate types.
///
/// # Errors
/// What kept the tracer from attaching, or `write` from writing.
pub async fn events(
    config: &Config,
    count: Option<u64>,
    write: &mut dyn FnMut(&Start, &Event) -> std::io::Result<()>,
) -> Result<Tally> {
    /// How long an event may wait: the ring buffer holds many times what comes meanwhile.
    const WAIT: Duration = Duration::from_millis(20);
    let mut signals = Signals::new()?;
    let mut tracing = Tracing::start(config, &[], None)?;
    let mut stream = Stream::new(&mut tracing.probe)?;
    let start = tracing.model.start().clone();
    let wanted = count.unwrap_or(u64::MAX);
    let mut tally = Tally::default();
    let mut paths: HashMap<u32, Vec<Frame>> = HashMap::new();
    loop {
        let mut next = stream.take();
        while let Some(raw) = next.filter(|_| tally.written < wanted) {
            next = stream.take();
            let frames = paths.entry(raw.path).or_insert_with(|| tracing.name(raw.path)).clone();
            let end = raw.comm.iter().position(|it| *it == 0).unwrap_or(raw.comm.len());
            tally.written += 1;
            let event = Event {
                time_ns: raw.time_ns,
                cpu: raw.cpu,
                pid: raw.pid,
                tid: raw.tid,
                comm: String::from_utf8_lossy(&raw.comm[..end]).into_owned(),
                order: raw.order,
                migratetype: raw.migratetype,
                gfp: raw.gfp,
                failed: raw.failed != 0,
                is_last_for_now: next.is_none() || tally.written == wanted,
                frames,
            };
            write(&start, &event)?;
        }
        // Read ahead, but not wanted any more.
        tally.unread += u64::from(next.is_some());
        if tally.written >= wanted {
            break;
        }
        tokio::select! {
            _ = signals.next() => break,
            () = tokio::time::sleep(WAIT) => {}
        }
    }
    tracing.probe.detach();
    while stream.take().is_some() {
        tally.unread += 1;
    }
    (tally.seen, tally.lost) = tracing.collector.seen_and_ring_full();
    Ok(tally)
}

/// The signals that end a run in good order.
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> Result<Self> {
        let of = |kind| signal(kind).context("listening for signals");
        Ok(Self {
            interrupt: of(SignalKind::interrupt())?,
            terminate: of(SignalKind::terminate())?,
            hang_up: of(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::SIGINT,
            _ = self.terminate.recv() => Signal::SIGTERM,
            _ = self.hang_up.recv() => Signal::SIGHUP,
        }
    }
}

/// Everything that lives while hooks are attached.
struct Tracing {
    probe: Probe,
    log: Option<KernelLog>,
    collector: Collector,
    /// Single events on their way into the recording.
    stream: Option<Stream>,
    symbols: Option<Symbols>,
    user_symbols: UserSymbols,
    model: Model,
    writer: Option<Writer>,
    began: Instant,
    interval: Duration,
    compare: bool,
    vmstat: Option<Reading>,
    buddyinfo: Option<std::collections::BTreeMap<String, Vec<u64>>>,
    network: Option<Network>,
    warnings: Vec<String>,
}

/// `/proc/vmstat` beside the pages our hooks had seen at that moment.
struct Reading {
    vmstat: std::collections::BTreeMap<String, i64>,
    seen_pages: u64,
}

impl Tracing {
    fn start(config: &Config, argv: &[String], record: Option<RecordTo>) -> Result<Self> {
        preflight::check()?;
        let mut warnings = Vec::new();
        let host = system::host();
        let (gfp, reason) = system::gfp_table(&host.kernel);
        warnings.extend(reason);
        let kernel = Kernel::read().map_err(|error| warnings.push(format!("{error:#}"))).ok();
        let symbols = Symbols::new().map_err(|error| warnings.push(format!("{error:#}"))).ok();
        let text = symbols.as_ref().map(kernel_text).unwrap_or_default();
        let sizes = Sizes::for_cpus(crate::probe::possible_cpus());
        let mut probe = Probe::attach(config, kernel.as_ref(), &text, sizes)?;
        let log = config.verbose.then(|| KernelLog::new(&mut probe)).transpose()?;
        let start = Start {
            host,
            at_unix_ns: unix_ns(),
            argv: argv.to_vec(),
            signals: probe.signals.clone(),
            paths: probe.paths.clone(),
            by: config.by.map(|it| it.name().to_owned()),
            filters: config.filters(&gfp.decode(u64::from(config.gfp))),
            gfp,
            migratetypes: kernel.as_ref().map(Kernel::migratetypes).unwrap_or_default(),
        };
        let writer = record.map(|to| Writer::create(&to.path, &start, to.force, to.owner)).transpose()?;
        let collector = Collector::new(&mut probe, config)?;
        // Against filters and without the exact totals, `/proc/vmstat` counts something else.
        let compare =
            start.filters.is_empty() && start.signals.iter().any(|it| it.name == "page.alloc" && it.hook.is_some());
        let mut tracing = Self {
            probe,
            log,
            collector,
            stream: None,
            symbols,
            user_symbols: UserSymbols::default(),
            model: Model::new(start),
            writer,
            began: Instant::now(),
            interval: config.interval,
            compare,
            vmstat: None,
            buddyinfo: system::buddyinfo().ok(),
            network: None,
            warnings,
        };
        tracing.network = Network::read().map_err(|error| tracing.warnings.push(format!("{error:#}"))).ok();
        tracing.vmstat = tracing.reading();
        Ok(tracing)
    }

    /// `/proc/vmstat` and, right after it, what was seen until now.
    fn reading(&mut self) -> Option<Reading> {
        let vmstat = system::vmstat().map_err(|error| self.warnings.push(format!("{error:#}"))).ok()?;
        let seen_pages = self.collector.pages_allocated();
        Some(Reading { vmstat, seen_pages })
    }

    /// Reads at every interval until the command has ended; a signal is passed on to it, a second one kills it.
    async fn follow(&mut self, running: &mut Running, signals: &mut Signals, shown: &mut Shown) -> Result<Outcome> {
        let mut ticks = every(self.interval);
        let mut stopped = false;
        loop {
            tokio::select! {
                outcome = running.wait() => return outcome,
                received = signals.next() => {
                    running.stop(if stopped { Signal::SIGKILL } else { received });
                    if !stopped {
                        self.warnings.push(format!("stopped by {received} before the command had ended"));
                        shown.end_because(format!("{received} was passed on to the command"));
                    }
                    stopped = true;
                }
                wish = shown.wished() => match wish {
                    Some(wish) if !wish.leave => {
                        if ticks.period() != wish.interval {
                            ticks = every(wish.interval);
                        }
                        shown.show(&self.model);
                    }
                    left => {
                        self.warnings.extend(shown.close());
                        // Screens that failed are no reason to stop the command.
                        if left.is_some() {
                            running.stop(if stopped { Signal::SIGKILL } else { Signal::SIGINT });
                            self.warnings.push("stopped at the screens before the command had ended".to_owned());
                            stopped = true;
                        }
                    }
                },
                _ = ticks.tick() => {
                    self.read()?;
                    shown.show(&self.model);
                }
            }
        }
    }

    /// Reads at every interval until the time is over, a signal comes, or one leaves the screens.
    async fn wait(&mut self, duration: Option<Duration>, signals: &mut Signals, shown: &mut Shown) -> Result<()> {
        let mut ticks = every(self.interval);
        let end = duration.map(|it| Tick::now() + it);
        loop {
            tokio::select! {
                () = async { if let Some(end) = end { sleep_until(end).await } else { std::future::pending().await } } => return Ok(()),
                _ = signals.next() => return Ok(()),
                wish = shown.wished() => match wish {
                    Some(wish) if !wish.leave => {
                        if ticks.period() != wish.interval {
                            ticks = every(wish.interval);
                        }
                        shown.show(&self.model);
                    }
                    _ => return Ok(()),
                },
                _ = ticks.tick() => {
                    self.read()?;
                    shown.show(&self.model);
                }
            }
        }
    }

    /// One read of the maps, on its way to the model and the recording.
    fn read(&mut self) -> Result<()> {
        let mut batch = self.collector.read(&self.probe, self.began.elapsed());
        if let Some(stream) = &mut self.stream {
            self.collector.drain(stream, &mut batch);
        }
        self.take(batch)
    }

    fn take(&mut self, mut batch: Batch) -> Result<()> {
        if let Some(log) = &mut self.log {
            log.flush();
        }
        if let Some(symbols) = &mut self.symbols {
            for path in &mut batch.paths {
                path.frames = symbols.name(&path.addresses);
            }
        }
        for stack in self.collector.take_user_stacks() {
            let frames = self.user_symbols.name(stack.process, &stack.addresses);
            let UserStack { key, addresses, truncated, .. } = stack;
            batch.paths.push(crate::batch::Path { key, addresses, frames, truncated });
        }
        self.model.apply(&batch);
        if let Some(writer) = &mut self.writer {
            writer.append(&batch)?;
        }
        Ok(())
    }

    /// The frames of a path by its index in the kernel's table.
    fn name(&mut self, index: u32) -> Vec<Frame> {
        let addresses = self.collector.addresses(index);
        self.symbols.as_mut().map(|it| it.name(&addresses)).unwrap_or_default()
    }

    /// Detaches, reads a last time, and closes the recording.
    fn finish(mut self, command: Option<(Outcome, Benchmark)>) -> Result<Model> {
        let buddyinfo = system::buddyinfo().ok();
        let last = self.reading();
        let network = Network::read().ok();
        let duration = self.began.elapsed();
        // The programs' own figures are gone once they are detached, the maps are not.
        let programs = Collector::programs(&self.probe);
        self.probe.detach();
        let mut batch = self.collector.read(&self.probe, duration);
        batch.programs = programs;
        if let Some(stream) = &mut self.stream {
            self.collector.drain(stream, &mut batch);
        }
        self.take(batch)?;
        let mut system = System::default();
        if let (Some(before), Some(after)) = (&self.vmstat, &last) {
            system.vmstat_delta = system::vmstat_delta(&before.vmstat, &after.vmstat);
            let counted = system::pages_allocated(&after.vmstat) - system::pages_allocated(&before.vmstat);
            let seen = after.seen_pages - before.seen_pages;
            system.unseen_pages = self.compare.then(|| counted - seen.cast_signed());
        }
        if let (Some(before), Some(after)) = (self.buddyinfo.take(), buddyinfo) {
            system.buddyinfo = Some(BeforeAfter { before, after });
        }
        if let (Some(before), Some(after)) = (self.network.take(), network) {
            system.netstat_delta = before.counters_until(&after);
            system.interfaces = before.traffic_until(&after);
            system.sockstat = Some(BeforeAfter { before: before.sockstat, after: after.sockstat });
        }
        let mut end = End { duration, system, warnings: self.warnings, ..End::default() };
        if let Some((outcome, benchmark)) = command {
            end.warnings.extend(outcome.warnings);
            end.command = Some(outcome.end);
            end.benchmark = Some(benchmark);
        }
        if let Some(writer) = self.writer.take() {
            writer.finish(&end)?;
        }
        self.model.finish(end);
        Ok(self.model)
    }
}

/// The run that a recording holds, as far as it can be read, or the part of it within a window.
///
/// # Errors
/// When it is no recording, can no longer be read, or has nothing within the window.
pub fn replay(path: &Path, window: Window) -> Result<Model> {
    let recording = Recording::open(path)?;
    let mut start = recording.start.clone();
    if !window.is_whole() {
        start.filters.push(format!("only {window} of the run"));
        let from = i64::try_from(window.from.unwrap_or_default().as_nanos()).unwrap_or(i64::MAX);
        start.at_unix_ns = start.at_unix_ns.saturating_add(from);
    }
    let mut model = Model::new(start);
    let mut cut = Cut::new(window);
    for batch in recording.batches() {
        model.apply(&cut.cut(batch?));
    }
    if window.is_whole() {
        if let Some(end) = recording.end.clone() {
            model.finish(end);
        }
    } else {
        let Some((from, to)) = cut.span else {
            bail!("`{}` has nothing between {window}: it lasted {:.1} s", path.display(), cut.lasted().as_secs_f64());
        };
        // What is known of the whole run alone (score, vmstat, free blocks) says nothing of a part.
        model.finish(End { duration: to.saturating_sub(from), ..End::default() });
    }
    if let Some(what) = recording.incomplete.clone() {
        model.lacks(what);
    }
    Ok(model)
}

/// Where paths are cut and where they may end, from the kernel's symbols.
pub fn kernel_text(symbols: &Symbols) -> Text {
    let cuts = [
        symbols.range("__irqentry_text_start", "__irqentry_text_end"),
        symbols.range("__softirqentry_text_start", "__softirqentry_text_end"),
        // The body of softirq processing since 6.9, outside of the section made for it.
        symbols.extent_of("handle_softirqs"),
    ];
    let inner = [
        "__kmalloc_noprof",
        "__kmalloc_node_noprof",
        "__kmalloc_node_track_caller_noprof",
        "__kmalloc_track_caller_noprof",
        "__kvmalloc_node_noprof",
    ];
    Text {
        cuts: cuts.into_iter().flatten().collect(),
        entry: symbols.range("__entry_text_start", "__entry_text_end"),
        kmalloc_inner: inner.into_iter().filter_map(|name| symbols.extent_of(name)).collect(),
    }
}

/// Ticks from one interval on; those that come late are not made up for.
fn every(interval: Duration) -> Interval {
    let mut ticks = interval_at(Tick::now() + interval, interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    ticks
}

fn unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// The command to run: as the user behind sudo unless asked otherwise.
///
/// # Errors
/// When that user cannot be found.
pub fn invocation(argv: Vec<OsString>, as_root: bool, echo: workload::command::Echo) -> Result<Invocation> {
    let user = if as_root { None } else { sudo_user()? };
    Ok(Invocation { argv, user, echo })
}

/// Where a recording goes and whom it belongs to.
///
/// # Errors
/// When the user behind sudo cannot be found.
pub fn record_to(path: &Path, force: bool) -> Result<RecordTo> {
    let owner = sudo_user()?.map(|user| (user.uid.as_raw(), user.gid.as_raw()));
    Ok(RecordTo { path: path.to_owned(), force, owner })
}

fn sudo_user() -> Result<Option<workload::command::User>> {
    workload::command::User::behind_sudo(|name| std::env::var(name).ok())
}
