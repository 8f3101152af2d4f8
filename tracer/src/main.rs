//! The binary: arguments to commands, errors to one line, results to exit codes.

use std::{
    ffi::OsStr,
    fs::{File, OpenOptions},
    io::{self, IsTerminal as _, Write},
    os::unix::{ffi::OsStrExt as _, fs::OpenOptionsExt as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{CommandFactory as _, Parser as _};
use tracer::{
    cli::{self, Attach, By, Cli, Color, Command, Show},
    compare,
    config::{self, Config, Filter},
    diagnosis::Diagnosis,
    model::{self, Model},
    output::{self, csv, differential, firefox, flamegraph, folded, json, pprof, speedscope, text},
    session,
    snapshot::{Snapshot, Verdict},
    system,
    tui::{self, Look, view::Theme},
    window::Window,
    workload::command::{Echo, StartError},
};

fn main() -> ExitCode {
    let cli = Cli::parse();
    // Set once, before anything else runs: it cannot have been set already.
    let _ = log::set_logger(&Diagnostics).map(|()| log::set_max_level(log::LevelFilter::Info));
    let is_run = matches!(cli.command, Command::Run(_));
    match dispatch(cli.command) {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            let started = error.downcast_ref::<StartError>().map(StartError::exit_code);
            let code = started.unwrap_or(if is_run { 125 } else { 2 });
            ExitCode::from(u8::try_from(code).unwrap_or(125))
        }
    }
}

fn dispatch(command: Command) -> Result<ExitCode> {
    match command {
        Command::Run(run) => runtime()?.block_on(self::run(run)),
        Command::Top(top) => runtime()?.block_on(self::top(top)),
        Command::View(view) => {
            tui::view_file(&view.file, look(&view.show, view.ascii, None))?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Record(record) => runtime()?.block_on(self::record(record)),
        Command::Events(events) => runtime()?.block_on(self::events(events)),
        Command::Report(report) => {
            let model = replay(&report.file, Window { from: report.from, to: report.to })?;
            let snapshot = model.snapshot_of(&shown(&report.show));
            print_report(&snapshot, report.json, &report.show)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Diff(diff) => self::diff(&diff),
        Command::Export(export) => self::export(&export),
        Command::Doctor(doctor) => self::doctor(&doctor),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "tracer", &mut script);
            io::stdout().write_all(&script)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Man { command } => manual(command.as_deref()),
    }
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting the asynchronous runtime")
}

/// The kernel side's diagnostics, on stderr.
struct Diagnostics;

impl log::Log for Diagnostics {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let _ = writeln!(io::stderr().lock(), "tracer: kernel side: {}", record.args());
    }

    fn flush(&self) {}
}

async fn run(run: cli::Run) -> Result<ExitCode> {
    let config = config(&run.attach)?;
    // What is said on stderr would be written over the screens.
    let is_talkative = run.attach.verbose && io::stderr().is_terminal();
    let (echo, look): (Box<dyn Write + Send>, _) =
        if run.no_tui || run.json || is_talkative || !tui::terminal::is_usable() {
            (Box::new(io::stderr()), None)
        } else {
            let (pipe, output) = tui::live::output();
            (Box::new(pipe), Some(look(&run.show, run.ascii, Some(output))))
        };
    let invocation = session::invocation(run.argv, run.as_root, Echo::To(echo))?;
    let to = run.output.as_deref().map(|path| session::record_to(path, run.attach.force)).transpose()?;
    let finished = session::run(&config, invocation, to, look).await?;
    let snapshot = finished.model.snapshot_of(&shown(&run.show));
    match print_report(&snapshot, run.json, &run.show) {
        Err(error) if !is_closed_pipe(&error) => return Err(error),
        _ => {}
    }
    Ok(ExitCode::from(u8::try_from(finished.exit_code.unwrap_or(0)).unwrap_or(255)))
}

async fn top(top: cli::Top) -> Result<ExitCode> {
    if !tui::terminal::is_usable() {
        bail!("`top` needs a terminal; `tracer record -o FILE` and `tracer report FILE` work without one");
    }
    let config = Config { verbose: false, ..config(&top.attach)? };
    let finished = session::top(&config, top.duration, look(&top.show, top.ascii, None)).await?;
    match print_report(&finished.model.snapshot_of(&shown(&top.show)), false, &top.show) {
        Err(error) if !is_closed_pipe(&error) => return Err(error),
        _ => {}
    }
    Ok(if is_complete(&finished.model) { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// How the screens look.
fn look(show: &Show, ascii: bool, output: Option<tui::live::Output>) -> Look {
    let style = style(show.color);
    let theme = Theme { color: style.color, unicode: style.unicode && !ascii };
    Look { theme, filter: shown(show), weight: show.weight, output }
}

async fn record(record: cli::Record) -> Result<ExitCode> {
    let config = Config { events: record.events, ..config(&record.attach)? };
    let to = session::record_to(&record.output, record.attach.force)?;
    let finished = session::record(&config, record.duration, to).await?;
    Ok(if is_complete(&finished.model) { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

async fn events(events: cli::Events) -> Result<ExitCode> {
    let config = Config { events: true, ..config(&events.attach)? };
    let mut out = io::BufWriter::new(io::stdout().lock());
    let as_json = events.json;
    let tally = session::events(&config, events.count, &mut |start, event| {
        let writer = output::event::Writer { gfp: &start.gfp, migratetypes: &start.migratetypes };
        if as_json { writer.json(event, &mut out) } else { writer.text(event, &mut out) }?;
        // Whoever watches wants lines as they come; a burst is flushed as one.
        if event.is_last_for_now { out.flush() } else { Ok(()) }
    })
    .await?;
    out.flush()?;
    let _ = writeln!(
        io::stderr().lock(),
        "tracer: {} events seen: {} written, {} not read any more, {} lost to a full ring buffer",
        tally.seen,
        tally.written,
        tally.unread,
        tally.lost,
    );
    Ok(if tally.lost == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn diff(diff: &cli::Diff) -> Result<ExitCode> {
    let filter = shown(&diff.show);
    let runs = |names: &OsStr| -> Result<Vec<compare::Run>> {
        let run =
            |path: PathBuf| Ok(compare::Run::new(path.display().to_string(), &replay(&path, Window::WHOLE)?, &filter));
        group(names).into_iter().map(run).collect()
    };
    let (a, b) = (runs(&diff.a)?, runs(&diff.b)?);
    let mut bytes = Vec::new();
    let comparison = compare::compare(&a, &b, compare::Options { noise_percent: diff.noise })?;
    if let Some(format) = diff.format {
        let options = folded::Options { weight: diff.show.weight, order_root: false, annotate: false };
        let pairs = differential::pairs(&a, &b, options)?;
        match format {
            cli::DiffFormat::Folded => differential::write(&pairs, &mut bytes)?,
            cli::DiffFormat::Svg => {
                let Some(pages) = &comparison.pages else { bail!("page allocations were not measured in every run") };
                let options =
                    flamegraph::Options { weight: diff.show.weight, order_root: false, icicle: false, color_by: None };
                flamegraph::write_differential(&pairs, pages.per.scale(), &pages.per.unit, options, &mut bytes)?;
            }
        }
    } else if diff.json {
        json::write(&comparison, &mut bytes)?;
    } else {
        let options = text::Options { style: style(diff.show.color), top: diff.show.top, weight: diff.show.weight };
        text::diff::write(&comparison, &options, &mut bytes)?;
    }
    deliver(&bytes, diff.output.as_deref(), diff.force)?;
    Ok(ExitCode::SUCCESS)
}

/// The recordings of one side: a file of that very name, or names between commas.
fn group(names: &OsStr) -> Vec<PathBuf> {
    if Path::new(names).exists() {
        return vec![names.into()];
    }
    names.as_bytes().split(|byte| *byte == b',').map(|name| OsStr::from_bytes(name).into()).collect()
}

/// Writes to a new file, or to stdout.
fn deliver(bytes: &[u8], output: Option<&Path>, force: bool) -> Result<()> {
    match output {
        Some(path) => create(path, force)?.write_all(bytes).with_context(|| format!("writing `{}`", path.display())),
        None => Ok(io::stdout().write_all(bytes)?),
    }
}

/// Whether nothing of this run was lost or missed.
fn is_complete(model: &Model) -> bool {
    model.snapshot().completeness.verdict != Verdict::LowerBound
}

fn export(export: &cli::Export) -> Result<ExitCode> {
    export.check()?;
    let model = replay(&export.file, Window { from: export.from, to: export.to })?;
    let filter = model::Filter {
        orders: export.order.iter().copied().collect(),
        route: export.route.map(|route| route.to_string()),
        ..model::Filter::default()
    };
    let snapshot = model.snapshot_of(&filter);
    let (weight, order_root) = (export.weight, export.order_root);
    let mut bytes = Vec::new();
    match export.format {
        cli::Format::Json => json::write(&snapshot, &mut bytes)?,
        cli::Format::Folded => {
            let Some(pages) = &snapshot.pages else {
                bail!("`{}` holds no page allocations: no hook for them was attached", export.file.display());
            };
            let options = folded::Options { weight, order_root, annotate: export.annotate };
            folded::write(pages, snapshot.host.page_size, options, &mut bytes)?;
        }
        cli::Format::Svg => {
            let color_by = export.color_by.map(|by| match by {
                cli::ColorBy::Order => flamegraph::ColorBy::Order,
                cli::ColorBy::Route => flamegraph::ColorBy::Route,
            });
            let options = flamegraph::Options { weight, order_root, icicle: export.icicle, color_by };
            flamegraph::write(&snapshot, options, &mut bytes)?;
        }
        cli::Format::Pprof => pprof::write(&snapshot, weight, order_root, &mut bytes)?,
        cli::Format::Speedscope => speedscope::write(&snapshot, weight, order_root, &mut bytes)?,
        cli::Format::Firefox => firefox::write(&snapshot, weight, order_root, &mut bytes)?,
        cli::Format::Csv => csv::write(&snapshot, &mut bytes)?,
    }
    deliver(&bytes, export.output.as_deref(), export.force)?;
    Ok(ExitCode::SUCCESS)
}

/// A new file for output: never through a symbolic link, never over another file unless asked.
fn create(path: &Path, force: bool) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(libc::O_NOFOLLOW);
    if force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    options.open(path).with_context(|| {
        let hint = if !force && path.exists() { "; `--force` overwrites it" } else { "" };
        format!("cannot create `{}`{hint}", path.display())
    })
}

fn doctor(doctor: &cli::Doctor) -> Result<ExitCode> {
    let config = Config { audit: 4096, ..Config::default() };
    let diagnosis = Diagnosis::new(&config);
    let mut out = Vec::new();
    if doctor.json {
        serde_json::to_writer_pretty(&mut out, &diagnosis)?;
        out.push(b'\n');
    } else {
        text::doctor::write(&diagnosis, style(Color::Auto), &mut out)?;
    }
    io::stdout().write_all(&out)?;
    Ok(ExitCode::from(diagnosis.exit_code()))
}

fn manual(command: Option<&str>) -> Result<ExitCode> {
    let cli = Cli::command();
    let page = match command {
        None => cli,
        Some(name) => {
            let Some(command) = cli.find_subcommand(name) else {
                bail!("no command `{name}`; `tracer --help` lists them")
            };
            command.clone().display_name(format!("tracer-{name}"))
        }
    };
    let mut roff = Vec::new();
    clap_mangen::Man::new(page).render(&mut roff)?;
    io::stdout().write_all(&roff)?;
    Ok(ExitCode::SUCCESS)
}

/// The run in a recording, or the part of it that the options or the file's name (`FILE@FROM..TO`) ask for.
fn replay(path: &Path, window: Window) -> Result<Model> {
    let name = path.to_string_lossy();
    if !path.exists() && window.is_whole() {
        let (file, window) =
            Window::split(&name, cli::moment).map_err(|error| anyhow!("the window of `{name}`: {error}"))?;
        return session::replay(Path::new(file), window);
    }
    session::replay(path, window)
}

/// What was asked for, checked.
fn config(attach: &Attach) -> Result<Config> {
    let gfp = match &attach.gfp {
        None => 0,
        Some(names) => {
            let table = system::gfp_table(&system::host().kernel).0;
            u32::try_from(table.parse(names)?).context("a gfp flag above 32 bits")?
        }
    };
    if let Some(comm) = attach.comm.as_ref().filter(|it| it.len() > 15) {
        bail!("`--comm {comm}`: the kernel keeps only 15 bytes of a task's name, so this one never comes up");
    }
    Ok(Config {
        signals: attach.signals.clone(),
        paths: attach.paths,
        audit: attach.audit,
        min_order: attach.min_order,
        gfp,
        filter: Filter { pid: attach.pid, comm: attach.comm.clone(), cgroup: attach.cgroup.clone() },
        by: attach.by.map(|by| match by {
            By::Comm => config::By::Comm,
            By::Pid => config::By::Pid,
            By::Cgroup => config::By::Cgroup,
        }),
        user_stacks: attach.user_stacks,
        events: false,
        interval: attach.interval,
        verbose: attach.verbose,
    })
}

fn shown(show: &Show) -> model::Filter {
    model::Filter {
        orders: show.order.iter().copied().collect(),
        route: show.route.map(|it| it.to_string()),
        ..model::Filter::default()
    }
}

fn print_report(snapshot: &Snapshot, as_json: bool, show: &Show) -> Result<()> {
    let mut bytes = Vec::new();
    if as_json {
        json::write(snapshot, &mut bytes)?;
    } else {
        let options = text::Options { style: style(show.color), top: show.top, weight: show.weight };
        text::write(snapshot, &options, &mut bytes)?;
    }
    let mut out = io::stdout().lock();
    out.write_all(&bytes)?;
    out.flush()?;
    Ok(())
}

/// What stdout can show.
fn style(color: Color) -> text::Style {
    let terminal = io::stdout().is_terminal();
    let columns = terminal.then(terminal_columns).flatten().or_else(|| std::env::var("COLUMNS").ok()?.parse().ok());
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| std::env::var(name).ok().filter(|it| !it.is_empty()));
    let locale = locale.unwrap_or_default().to_lowercase();
    text::Style {
        color: match color {
            Color::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty()),
            Color::Always => true,
            Color::Never => false,
        },
        width: columns.unwrap_or(100).min(160),
        unicode: locale.contains("utf-8") || locale.contains("utf8"),
    }
}

fn terminal_columns() -> Option<u16> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes one `winsize`, which lives here.
    let result = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    (result == 0 && size.ws_col > 0).then_some(size.ws_col)
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    // A terminal that is gone answers EIO.
    let is_closed = |it: &io::Error| it.kind() == io::ErrorKind::BrokenPipe || it.raw_os_error() == Some(libc::EIO);
    error.chain().filter_map(|it| it.downcast_ref::<io::Error>()).any(is_closed)
}

/// One line on stderr; a closed stderr is no reason to panic.
fn complain(error: &anyhow::Error) {
    let line: String = format!("{error:#}").chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    let _ = writeln!(io::stderr().lock(), "tracer: {line}");
}
