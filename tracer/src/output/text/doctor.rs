//! The diagnosis as text: what is allowed, then what is not and what to do about it.

use std::io;

use super::{
    Style,
    sheet::{Column, Sheet, Tone},
};
use crate::{diagnosis::Diagnosis, signal::Status, units};

/// Writes the diagnosis.
pub fn write(diagnosis: &Diagnosis, style: Style, out: &mut dyn io::Write) -> io::Result<()> {
    let mut sheet = Sheet::new(style);
    let host = &diagnosis.host;
    sheet.heading("host", "");
    sheet.hanging("kernel    ", &format!("{} {}, lockdown {}", host.kernel, host.machine, diagnosis.lockdown));
    let cpus = format!("{} online, {} possible", host.cpus, diagnosis.possible_cpus);
    sheet.hanging("cpus      ", &cpus);
    let maps = format!(
        "{} of kernel memory: {} paths, {} remembered keys a CPU",
        units::bytes(diagnosis.map_bytes),
        units::count(u64::from(diagnosis.map_paths)),
        units::count(u64::from(diagnosis.map_keys_per_cpu)),
    );
    sheet.hanging("maps      ", &maps);
    if let Some(paths) = &diagnosis.paths {
        sheet.hanging("paths     ", &paths.way);
        if !paths.reason.is_empty() {
            sheet.toned(Tone::Warning, "          ", &format!("no better way: {}", paths.reason));
        }
    }
    if !diagnosis.obstacles.is_empty() {
        sheet.heading("in the way", "nothing can be attached");
        for obstacle in &diagnosis.obstacles {
            sheet.toned(Tone::Bad, "! ", obstacle);
        }
    }
    if !diagnosis.limits.is_empty() {
        sheet.heading("limits", "");
        for limit in &diagnosis.limits {
            sheet.toned(Tone::Warning, "! ", limit);
        }
    }
    if !diagnosis.signals.is_empty() {
        signals(diagnosis, &mut sheet);
    }
    sheet.write(out)
}

fn signals(diagnosis: &Diagnosis, sheet: &mut Sheet) {
    sheet.heading("signals", "");
    let columns = [Column::Left("signal"), Column::Left("status"), Column::Left("hook")];
    let rows = diagnosis.signals.iter().map(|row| {
        let hook = row.signal.hook.clone().unwrap_or_else(|| "-".to_owned());
        vec![row.signal.name.clone(), word(row.signal.status).to_owned(), hook]
    });
    sheet.table(&columns, rows.collect());
    for row in &diagnosis.signals {
        let mut lines: Vec<String> = Vec::new();
        if !row.signal.note.is_empty() {
            lines.push(row.signal.note.clone());
        }
        lines.extend(row.signal.refused.iter().map(|it| format!("{}: {}", it.hook, it.reason)));
        if !lines.is_empty() {
            sheet.heading(&row.signal.name, &row.tells);
            for line in lines {
                sheet.toned(Tone::Warning, "", &line);
            }
        }
    }
}

fn word(status: Status) -> &'static str {
    match status {
        Status::Attached => "attached",
        Status::Degraded => "degraded",
        Status::Missing => "missing",
    }
}
