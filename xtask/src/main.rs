//! Tasks that cargo itself cannot do: setting a machine up, the demonstration, all checks in one command.
//!
//! Owns the command line and the exit status. Knows nothing of what the tracer does beside its command line.

mod command;
mod console;
mod demo;
mod layers;
mod load;
mod netserver;
mod overhead;
mod pictures;
mod setup;
mod test;
mod vm;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Parser, Subcommand};

/// Set the machine up, show the tracer at work, run every check.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Find what building, running and testing need, and install what is missing
    Setup(setup::Options),
    /// Trace a netperf `UDP_STREAM` on loopback, print the report, write a recording and a folded file
    Demo(demo::Options),
    /// Measure what tracing costs, beside other tools; needs root
    Overhead(overhead::Options),
    /// Capture the README's pictures of the screens anew; needs root and tmux
    Pictures(pictures::Options),
    /// Run every check and every test; the live ones need root
    Test(test::Options),
    /// Run a command, or check the tracer, on other kernels in virtual machines
    Vm(vm::Options),
    /// Send datagrams to itself over loopback, in place of netperf
    #[command(hide = true)]
    UdpLoad(load::Options),
}

fn main() -> ExitCode {
    let root = root();
    let done = match Cli::parse().task {
        Task::Setup(options) => setup::run(&root, &options).map(|()| ExitCode::SUCCESS),
        Task::Demo(options) => demo::run(&root, &options),
        Task::Overhead(options) => overhead::run(&root, &options),
        Task::Pictures(options) => pictures::run(&root, &options),
        Task::Test(options) => test::run(&root, &options),
        Task::Vm(options) => vm::run(&root, &options),
        Task::UdpLoad(options) => load::run(&options).map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        console::note(&format!("error: {error:#}"));
        ExitCode::from(2)
    })
}

/// The workspace's folder: the one above this package's.
fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}
