//! Single events, one a line: as `trace_pipe` writes them, or as JSON.

use std::{collections::BTreeMap, io};

use serde::Serialize;

use super::untrusted;
use crate::{batch::Frame, event::Event, gfp, routes};

/// Writes events with the flag and migrate type names of a kernel.
pub struct Writer<'a> {
    /// The running kernel's flag names.
    pub gfp: &'a gfp::Table,
    /// The running kernel's migrate type names.
    pub migratetypes: &'a BTreeMap<u8, String>,
}

/// The JSON form, `tracer.event/1`: one object a line.
#[derive(Serialize)]
struct Line<'a> {
    time_ns: u64,
    cpu: u32,
    pid: u32,
    tid: u32,
    comm: String,
    event: &'a str,
    order: u8,
    gfp: String,
    flags: String,
    migratetype: String,
    route: Option<String>,
    context: Option<String>,
    frames: Vec<String>,
}

impl Writer<'_> {
    /// `comm-tid [cpu] seconds: page.alloc order=2 migratetype=unmovable gfp=GFP_KERNEL inner < outer`.
    pub fn text(&self, event: &Event, out: &mut dyn io::Write) -> io::Result<()> {
        let line = self.line(event);
        let comm = format!("{}-{}", line.comm, line.tid);
        let (seconds, micros) = (event.time_ns / 1_000_000_000, event.time_ns / 1000 % 1_000_000);
        writeln!(
            out,
            "{comm:>22} [{:03}] {seconds:5}.{micros:06}: {} order={} migratetype={} gfp={} {}",
            line.cpu,
            line.event,
            line.order,
            line.migratetype,
            line.flags,
            if line.frames.is_empty() { "-".to_owned() } else { line.frames.join(" < ") },
        )
    }

    /// One JSON object and a newline.
    pub fn json(&self, event: &Event, out: &mut dyn io::Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, &self.line(event))?;
        out.write_all(b"\n")
    }

    fn line(&self, event: &Event) -> Line<'_> {
        let frames = routes::trim(&event.frames);
        let has_path = !frames.is_empty();
        Line {
            time_ns: event.time_ns,
            cpu: event.cpu,
            pid: event.pid,
            tid: event.tid,
            comm: untrusted::line(&event.comm, false),
            event: if event.failed { "page.fail" } else { "page.alloc" },
            order: event.order,
            gfp: format!("{:#x}", event.gfp),
            flags: self.gfp.decode(u64::from(event.gfp)),
            migratetype: self
                .migratetypes
                .get(&event.migratetype)
                .cloned()
                .unwrap_or_else(|| event.migratetype.to_string()),
            route: has_path.then(|| routes::route(frames).to_string()),
            context: has_path.then(|| routes::context(frames).to_string()),
            frames: frames.iter().map(name).collect(),
        }
    }
}

fn name(frame: &Frame) -> String {
    let name = match &frame.module {
        None => frame.name.clone(),
        Some(module) => format!("{} [{module}]", frame.name),
    };
    untrusted::line(&name, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> Event {
        let frame = |name: &str| Frame { name: name.to_owned(), module: None };
        Event {
            time_ns: 12_000_345_678,
            cpu: 1,
            pid: 42,
            tid: 43,
            comm: "a\x1b[2Jb".to_owned(),
            order: 2,
            migratetype: 0,
            gfp: 0xcc0,
            failed: false,
            is_last_for_now: true,
            frames: vec![frame("__traceiter_mm_page_alloc"), frame("__alloc_pages"), frame("pipe_write")],
        }
    }

    fn written(as_json: bool, event: &Event) -> String {
        let gfp = gfp::Table { source: "test".to_owned(), names: vec![(0xcc0, "GFP_KERNEL".to_owned())] };
        let migratetypes = BTreeMap::from([(0, "unmovable".to_owned())]);
        let mut out = Vec::new();
        let writer = Writer { gfp: &gfp, migratetypes: &migratetypes };
        if as_json { writer.json(event, &mut out) } else { writer.text(event, &mut out) }.unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_reads_like_the_trace_pipe_and_holds_no_control_character() {
        let line = written(false, &event());
        assert!(line.ends_with(
            "[001]    12.000345: page.alloc order=2 migratetype=unmovable gfp=GFP_KERNEL __alloc_pages < pipe_write\n"
        ));
        assert!(!line.trim_end().contains(char::is_control), "{line:?}");
    }

    #[test]
    fn json_is_one_object_a_line_with_null_for_what_has_no_path() {
        let lost = Event { frames: Vec::new(), failed: true, ..event() };
        let line = written(true, &lost);
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line.lines().count(), 1);
        assert_eq!(value["event"], "page.fail");
        assert_eq!(value["route"], serde_json::Value::Null);
        assert_eq!(value["time_ns"], 12_000_345_678_u64);
    }
}
