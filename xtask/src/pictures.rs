//! The README's pictures: the real screens of a real run, captured cell by cell from tmux and drawn as SVG.
//!
//! Knows of the tracer its command line and its keys.

mod cells;
mod svg;

use std::{
    fs,
    path::Path,
    process::{Command, ExitCode},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use clap::Args;

use crate::{command, console, demo, netserver::Netserver, setup};

/// Options of the pictures.
#[derive(Args)]
pub(crate) struct Options {
    /// Columns of the terminal
    #[arg(long, default_value_t = 110, value_parser = clap::value_parser!(u16).range(80..=200))]
    columns: u16,
    /// Rows of the terminal
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(24..=60))]
    rows: u16,
}

/// Where they go.
const FOLDER: &str = "tracer/docs/pictures";
/// Seconds that netperf runs: enough for every screen.
const SECONDS: u32 = 12;
/// Key and name of each picture.
const SCREENS: [(&str, &str); 5] =
    [("1", "overview"), ("2", "paths"), ("3", "flame"), ("4", "sockets"), ("5", "memory")];

/// Traces a netperf in tmux, captures screens, draws them.
pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    setup::run(root, &setup::Options::for_demo())?;
    demo::build(root)?;
    let tmux = command::find("tmux").context("tmux is not here; `cargo xtask setup` installs it")?;
    let netperf = command::find("netperf").context("netperf is not here")?;
    let netserver = Netserver::start(&Netserver::program().context("netserver is not here")?)?;
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("`{}`", folder.display()))?;
    let terminal = Terminal::open(&tmux, options)?;
    let tracer = root.join("target/release/tracer");
    terminal.tmux(&[
        "respawn-pane",
        "-k",
        &format!(
            "{} run -- {} -H 127.0.0.1 -p {} -t UDP_STREAM -l {SECONDS} -- -m 8192",
            tracer.display(),
            netperf.display(),
            netserver.port
        ),
    ])?;
    // Until there are some seconds to show.
    terminal.wait_for("hooks ")?;
    sleep(Duration::from_secs(4));
    for (key, name) in SCREENS {
        terminal.tmux(&["send-keys", key])?;
        sleep(Duration::from_millis(700));
        let captured = terminal.tmux(&["capture-pane", "-e", "-p"])?;
        let rows = cells::parse(&captured, usize::from(options.columns));
        let file = folder.join(name).with_extension("svg");
        fs::write(&file, svg::draw(&rows, usize::from(options.columns)))
            .with_context(|| format!("`{}`", file.display()))?;
        console::result(&format!("{FOLDER}/{name}.svg"));
    }
    Ok(ExitCode::SUCCESS)
}

/// A tmux server of our own, gone when this is dropped.
struct Terminal {
    tmux: std::path::PathBuf,
    name: String,
}

impl Terminal {
    fn open(tmux: &Path, options: &Options) -> anyhow::Result<Self> {
        let terminal = Self { tmux: tmux.to_owned(), name: format!("tracer-pictures-{}", std::process::id()) };
        let (columns, rows) = (options.columns.to_string(), options.rows.to_string());
        terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", &columns, "-y", &rows, "sleep 600"])?;
        Ok(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = Command::new(&self.tmux)
            .args(["-u", "-L", &self.name])
            .args(arguments)
            .env("LC_ALL", "C.UTF-8")
            .env_remove("NO_COLOR")
            .output()
            .context("tmux")?;
        if !output.status.success() {
            bail!("tmux {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn wait_for(&self, text: &str) -> anyhow::Result<()> {
        let until = Instant::now() + Duration::from_secs(20);
        while Instant::now() < until {
            if self.tmux(&["capture-pane", "-p"])?.contains(text) {
                return Ok(());
            }
            sleep(Duration::from_millis(100));
        }
        bail!("the screens did not show `{text}` within 20 s");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ended = self.tmux(&["kill-server"]);
    }
}
