//! What `cargo xtask overhead` needs beside the tracer itself: an empty program to compare with, and the tracer's own
//! counting and reading fed with synthetic paths. Results are JSON on standard output.
//!
//! Built only when asked for; no part of the product.

mod bench;
mod scaling;
mod synthetic;
mod user_space;

use std::io::{Write as _, stdout};

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let task = std::env::args().nth(1).unwrap_or_default();
    match task.as_str() {
        "empty" => bench::attach_empty(),
        "scaling" => print(&scaling::measure()?),
        "user-space" => print(&user_space::measure()?),
        _ => bail!("one of: empty, scaling, user-space"),
    }
}

fn print(value: &impl serde::Serialize) -> Result<()> {
    let mut out = stdout().lock();
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    Ok(())
}
