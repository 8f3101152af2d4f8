//! What is seen, written to a new file in the current folder that belongs to whoever started the tracer.
//!
//! Must not know: how it got to be seen.

use std::{
    fs::OpenOptions,
    io::Write as _,
    os::{
        fd::AsFd as _,
        unix::fs::{OpenOptionsExt as _, fchown},
    },
};

use anyhow::{Context as _, Result};

use super::app::prompt::Format;
use crate::{
    output::{Weight, csv, firefox, flamegraph, folded, json, pprof, speedscope, text},
    snapshot::Snapshot,
    workload::command::User,
};

/// Paths, flags and owners in a text report.
const TOP: usize = 50;
/// Columns of a text report.
const WIDTH: u16 = 120;
/// Names that are tried.
const NAMES: u32 = 1000;

/// Writes `seen` as a new file; its name.
///
/// # Errors
/// When no file can be made here, or it cannot be written.
pub(super) fn write(seen: &Snapshot, format: Format, weight: Weight) -> Result<String> {
    let mut bytes = Vec::new();
    match format {
        Format::Text => {
            let style = text::Style { color: false, width: WIDTH, unicode: false };
            text::write(seen, &text::Options { style, top: TOP, weight }, &mut bytes)?;
        }
        Format::Json => json::write(seen, &mut bytes)?,
        Format::Folded => {
            let pages = seen.pages.as_ref().context("page allocations were not measured")?;
            let options = folded::Options { weight, order_root: false, annotate: false };
            folded::write(pages, seen.host.page_size, options, &mut bytes)?;
        }
        Format::Svg => {
            // As the screen draws them.
            let color_by = Some(flamegraph::ColorBy::Order);
            let options = flamegraph::Options { weight, order_root: false, icicle: true, color_by };
            flamegraph::write(seen, options, &mut bytes)?;
        }
        Format::Pprof => pprof::write(seen, weight, false, &mut bytes)?,
        Format::Speedscope => speedscope::write(seen, weight, false, &mut bytes)?,
        Format::Firefox => firefox::write(seen, weight, false, &mut bytes)?,
        Format::Csv => csv::write(seen, &mut bytes)?,
    }
    for number in 1..=NAMES {
        let name = format!("tracer-{number}.{}", format.extension());
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).custom_flags(libc::O_NOFOLLOW);
        match options.open(&name) {
            Ok(mut file) => {
                if let Some(user) = User::behind_sudo(|name| std::env::var(name).ok())? {
                    fchown(file.as_fd(), Some(user.uid.as_raw()), Some(user.gid.as_raw()))
                        .with_context(|| format!("giving `{name}` to the user behind sudo"))?;
                }
                file.write_all(&bytes).with_context(|| format!("writing `{name}`"))?;
                return Ok(name);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| format!("cannot create `{name}`")),
        }
    }
    anyhow::bail!("`tracer-1.{0}` to `tracer-{NAMES}.{0}` are there already", format.extension())
}
