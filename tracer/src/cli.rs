//! The command line, as typed. What it means is checked in [`crate::config`] and by the commands themselves.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::{config::Paths, output::Weight, routes::Route};

/// See which kernel paths allocate pages, of which order, while a benchmark runs.
#[derive(Parser, Debug)]
#[command(name = "tracer", version, max_term_width = 100)]
#[command(after_help = "Example: sudo tracer run -o r.db -- netperf -4 -H 127.0.0.1 -t UDP_STREAM -l 5 -- -m 8192")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Attach, run a command, report at the end
    Run(Run),
    /// Watch the system on live screens until q
    Top(Top),
    /// Attach and record until the time is over or Ctrl-C
    Record(Record),
    /// Print single events as they happen
    Events(Events),
    /// Show a recording on the same screens as a run
    View(View),
    /// Show a recording as text or JSON
    Report(Report),
    /// Compare two runs, or two groups of runs
    Diff(Diff),
    /// Write a recording in a form that other tools read
    Export(Export),
    /// Show what this kernel allows, and why not more
    Doctor(Doctor),
    /// Print the completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff), of a command if one is named
    Man {
        /// The command, such as `run`
        command: Option<String>,
    },
}

/// `tracer run`
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Run {
    /// What to attach and count
    #[command(flatten)]
    pub attach: Attach,
    /// Write a recording to FILE
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Start COMMAND as root, not as the user behind sudo
    #[arg(long)]
    pub as_root: bool,
    /// Plain text (the default when stdout is no terminal)
    #[arg(long)]
    pub no_tui: bool,
    /// Draw the screens with ASCII alone
    #[arg(long)]
    pub ascii: bool,
    /// Print the report as JSON on stdout
    #[arg(long)]
    pub json: bool,
    /// What to show of it
    #[command(flatten)]
    pub show: Show,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub argv: Vec<OsString>,
}

/// `tracer top`
#[derive(Args, Debug)]
pub struct Top {
    /// What to attach and count
    #[command(flatten)]
    pub attach: Attach,
    /// Stop after this long, such as 30s (default: at q)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,
    /// Draw the screens with ASCII alone
    #[arg(long)]
    pub ascii: bool,
    /// What to show of it
    #[command(flatten)]
    pub show: Show,
}

/// `tracer view`
#[derive(Args, Debug)]
pub struct View {
    /// The recording
    pub file: PathBuf,
    /// Draw the screens with ASCII alone
    #[arg(long)]
    pub ascii: bool,
    /// What to show of it
    #[command(flatten)]
    pub show: Show,
}

/// `tracer record`
#[derive(Args, Debug)]
pub struct Record {
    /// What to attach and count
    #[command(flatten)]
    pub attach: Attach,
    /// Write the recording to FILE
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Stop after this long, such as 30s (default: at Ctrl-C)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,
    /// Record every single allocation, too (table `events`; some 60 bytes each)
    #[arg(long)]
    pub events: bool,
}

/// `tracer events`
#[derive(Args, Debug)]
pub struct Events {
    /// What to attach and count
    #[command(flatten)]
    pub attach: Attach,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
    /// Stop after N events (default: at Ctrl-C)
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
}

/// Options of everything that attaches.
#[derive(Args, Debug)]
#[command(next_help_heading = "What to count")]
pub struct Attach {
    /// Signals to attach, by name or first part (page, page.free) [default: all but page.free and sock.sample]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub signals: Vec<String>,
    /// Overwrite FILE if it is a recording
    #[arg(long)]
    pub force: bool,
    /// Say more of what happens, on stderr
    #[arg(long)]
    pub verbose: bool,
    /// Full paths on every event (exact: remembered where possible; unwound: never remembered), on one event in N, or none
    #[arg(long, value_name = "exact|unwound|sample=N|off", default_value = "exact", value_parser = paths)]
    pub paths: Paths,
    /// Unwind one remembered path in N again, to prove that it is right (0: never)
    #[arg(long, value_name = "N", default_value_t = 4096)]
    pub audit: u32,
    /// Count only allocations of at least this order
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..16))]
    pub min_order: u8,
    /// Count only allocations with all of these flags, such as `__GFP_COMP`
    #[arg(long, value_name = "FLAG[,FLAG]")]
    pub gfp: Option<String>,
    /// Count only events of this process
    #[arg(long, value_name = "P")]
    pub pid: Option<u32>,
    /// Count only events of tasks of this name
    #[arg(long, value_name = "NAME")]
    pub comm: Option<String>,
    /// Count only events of tasks in this cgroup (v2), with its children
    #[arg(long, value_name = "PATH")]
    pub cgroup: Option<PathBuf>,
    /// Count apart by process name, process or cgroup, too
    #[arg(long, value_enum)]
    pub by: Option<By>,
    /// Also the user part of each path; costs an unwinding by frame pointers at every event
    #[arg(long)]
    pub user_stacks: bool,
    /// How often the maps are read
    #[arg(long, value_name = "TIME", default_value = "250ms", value_parser = duration)]
    pub interval: Duration,
}

/// What of a run is shown.
#[derive(Args, Debug)]
#[command(next_help_heading = "What to show")]
pub struct Show {
    /// Only paths of this route, such as `kmalloc_large`
    #[arg(long, value_name = "NAME")]
    pub route: Option<Route>,
    /// Only these orders
    #[arg(long, value_name = "N[,N]", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(0..16))]
    pub order: Vec<u8>,
    /// What paths are ranked by
    #[arg(long, value_name = "events|pages|bytes", default_value = "pages")]
    pub weight: Weight,
    /// Show this many paths
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Colours
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

/// `tracer report`
#[derive(Args, Debug)]
pub struct Report {
    /// The recording; `FILE@10s..20s` is a part of it
    pub file: PathBuf,
    /// From this time of the run on, such as 10s
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub from: Option<Duration>,
    /// Up to this time of the run
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub to: Option<Duration>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
    /// What to show of it
    #[command(flatten)]
    pub show: Show,
}

/// `tracer diff`
#[derive(Args, Debug)]
pub struct Diff {
    /// The recordings to compare with, such as before.db or before1.db,before2.db, or parts of one: r.db@0s..10s
    #[arg(value_name = "A[,A2...]")]
    pub a: OsString,
    /// The recordings that are compared
    #[arg(value_name = "B[,B2...]")]
    pub b: OsString,
    /// As JSON
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// For other tools: folded stacks with two columns, or a flame graph of B coloured by what changed
    #[arg(long, value_enum)]
    pub format: Option<DiffFormat>,
    /// Write to OUT [default: stdout]
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Overwrite OUT
    #[arg(long)]
    pub force: bool,
    /// Changes of up to this much are noise, such as 2%; needed where there is one run each
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub noise: Option<f64>,
    /// What to show of it
    #[command(flatten)]
    pub show: Show,
}

/// `tracer export`
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub struct Export {
    /// The recording; `FILE@10s..20s` is a part of it
    pub file: PathBuf,
    /// From this time of the run on, such as 10s
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub from: Option<Duration>,
    /// Up to this time of the run
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub to: Option<Duration>,
    /// The form
    #[arg(long, value_enum)]
    pub format: Format,
    /// Write to OUT [default: stdout]
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Overwrite OUT
    #[arg(long)]
    pub force: bool,
    /// What a stack weighs
    #[arg(long, value_name = "events|pages|bytes", default_value = "events")]
    pub weight: Weight,
    /// Only these orders
    #[arg(long, value_name = "N[,N]", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(0..16))]
    pub order: Vec<u8>,
    /// Only paths of this route
    #[arg(long, value_name = "NAME")]
    pub route: Option<Route>,
    /// Begin each stack with its order, as `order-N` (not csv, json)
    #[arg(long)]
    pub order_root: bool,
    /// svg: outermost functions on top
    #[arg(long)]
    pub icicle: bool,
    /// svg: what colours mean
    #[arg(long, value_enum, value_name = "order|route")]
    pub color_by: Option<ColorBy>,
    /// folded: end kernel functions in `_[k]`
    #[arg(long)]
    pub annotate: bool,
}

/// `tracer doctor`
#[derive(Args, Debug)]
pub struct Doctor {
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// Forms of export.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Folded stacks, for inferno and flamegraph.pl.
    Folded,
    /// Flame graph, for browsers.
    Svg,
    /// For `go tool pprof` and what reads its files: events, pages and bytes, labelled by order, route and context.
    Pprof,
    /// For speedscope.app.
    Speedscope,
    /// For profiler.firefox.com.
    Firefox,
    /// A table: one row for each order of each path.
    Csv,
    /// The report as JSON.
    Json,
}

/// What the colours of a flame graph mean.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorBy {
    /// The order of the blocks.
    Order,
    /// The route to the page allocator.
    Route,
}

/// Forms of a comparison beside text and JSON.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffFormat {
    /// Folded stacks, the weights in A and in B behind each.
    Folded,
    /// Differential flame graph.
    Svg,
}

/// When to use colours.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to count apart by.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Process name.
    Comm,
    /// Process id.
    Pid,
    /// Control group.
    Cgroup,
}

impl Export {
    /// Refuses options that would do nothing in the form asked for.
    ///
    /// # Errors
    /// One line naming the first of them.
    pub fn check(&self) -> anyhow::Result<()> {
        let is_table = matches!(self.format, Format::Csv | Format::Json);
        for (option, is_given, does_something) in [
            ("--annotate", self.annotate, self.format == Format::Folded),
            ("--icicle", self.icicle, self.format == Format::Svg),
            ("--color-by", self.color_by.is_some(), self.format == Format::Svg),
            ("--order-root", self.order_root, !is_table),
        ] {
            if is_given && !does_something {
                let form = self.format.to_possible_value().map_or(String::new(), |it| it.get_name().to_owned());
                anyhow::bail!("`{option}` does nothing with `--format {form}`: leave it out");
            }
        }
        Ok(())
    }
}

/// `exact`, `unwound`, `sample=N` or `off`.
fn paths(text: &str) -> Result<Paths, String> {
    match text {
        "exact" => Ok(Paths::Exact),
        "unwound" => Ok(Paths::Unwound),
        "off" => Ok(Paths::Off),
        _ => match text.strip_prefix("sample=").map(str::parse) {
            Some(Ok(one_in @ 1..=1_000_000)) => Ok(Paths::Sample(one_in)),
            Some(_) => Err("after `sample=` comes a number from 1 to 1000000".to_owned()),
            None => Err("one of exact, unwound, sample=N, off".to_owned()),
        },
    }
}

/// A percentage such as `2%`; a bare number is one too.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim_end();
    match number.parse::<f64>() {
        Ok(percent) if percent.is_finite() && percent >= 0.0 => Ok(percent),
        _ => Err("a percentage is a number from 0 on, such as 2%".to_owned()),
    }
}

/// A time such as `250ms`, `30s`, `5m`; a bare number is seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let time = moment(text)?;
    if time < Duration::from_millis(10) {
        return Err("the shortest time is 10ms".to_owned());
    }
    Ok(time)
}

/// A time since the run began.
///
/// # Errors
/// What a time looks like.
pub fn moment(text: &str) -> Result<Duration, String> {
    let digits = text.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err("a time is a number with ms, s, m or h, such as 250ms".to_owned()),
    };
    let Ok(seconds) = number.parse::<f64>() else {
        return Err("a time is a number with ms, s, m or h, such as 250ms".to_owned());
    };
    Duration::try_from_secs_f64(seconds * scale).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times_are_read_with_their_unit() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("7"), Ok(Duration::from_secs(7)));
        for bad in ["", "s", "1x", "0ms", "-1s", "1e400s", "999999999999999999999h", "nan"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn percentages_need_no_sign_but_must_not_be_negative() {
        assert_eq!((percent("2%"), percent("0.5"), percent("0 %")), (Ok(2.0), Ok(0.5), Ok(0.0)));
        for bad in ["", "%", "-1%", "inf", "nan%", "2%%", "two"] {
            assert!(percent(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn paths_are_exact_unwound_sampled_or_off() {
        assert_eq!(paths("sample=64"), Ok(Paths::Sample(64)));
        for bad in ["sample=0", "sample=", "sample=x", "Exact", ""] {
            assert!(paths(bad).is_err(), "{bad}");
        }
    }
}
