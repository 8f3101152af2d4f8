//! The profile format of pprof: a gzipped protobuf with events, pages and bytes of every stack, labelled by order, route
//! and context.
//!
//! Must not know: who reads it. Field numbers are those of pprof's `profile.proto`.

pub(super) mod message;

use std::{collections::HashMap, io};

use anyhow::Result;
use flate2::{Compression, GzBuilder};
use prost::Message as _;

use self::message::{Function, Label, Line, Location, Mapping, Profile, Sample, ValueType};
use super::{
    Weight,
    stacks::{self, Stack},
};
use crate::snapshot::Snapshot;

/// What the kernel itself is called where others have a file's name.
const KERNEL: &str = "[kernel]";

/// Writes one profile; `weight` is what pprof shows first.
///
/// # Errors
/// Page allocations were not measured, or the writer fails.
pub fn write(snapshot: &Snapshot, weight: Weight, order_root: bool, out: &mut dyn io::Write) -> Result<()> {
    let stacks = stacks::stacks(stacks::pages(snapshot)?, order_root);
    let profile = Builder::new(snapshot.host.page_size).profile(snapshot, weight, &stacks);
    // No time and no name in the header: the same recording gives the same bytes.
    let mut gzip = GzBuilder::new().mtime(0).write(out, Compression::default());
    io::Write::write_all(&mut gzip, &profile.encode_to_vec())?;
    gzip.finish()?;
    Ok(())
}

/// Tables in the making. Numbers of functions and locations are one, since a function has one location.
struct Builder {
    page_size: u64,
    strings: Vec<String>,
    string_at: HashMap<String, i64>,
    function_of: HashMap<String, u64>,
    mapping_of: HashMap<String, u64>,
    profile: Profile,
}

impl Builder {
    fn new(page_size: u64) -> Self {
        let mut builder = Self {
            page_size,
            strings: Vec::new(),
            string_at: HashMap::new(),
            function_of: HashMap::new(),
            mapping_of: HashMap::new(),
            profile: Profile::default(),
        };
        // The format wants the empty string to be the first.
        builder.string("");
        builder.mapping(KERNEL);
        builder
    }

    fn profile(mut self, snapshot: &Snapshot, weight: Weight, stacks: &[Stack<'_>]) -> Profile {
        let types =
            [(Weight::Events, "events", "count"), (Weight::Pages, "pages", "count"), (Weight::Bytes, "bytes", "bytes")];
        for (kind, name, unit) in types {
            let value_type = ValueType { r#type: self.string(name), unit: self.string(unit) };
            if kind == weight {
                self.profile.default_sample_type = value_type.r#type;
            }
            self.profile.sample_type.push(value_type);
        }
        for stack in stacks {
            let sample = self.sample(stack);
            self.profile.sample.push(sample);
        }
        let start = snapshot.window.start.parse::<jiff::Timestamp>();
        self.profile.time_nanos = start.map_or(0, |at| i64::try_from(at.as_nanosecond()).unwrap_or(0));
        #[expect(clippy::cast_possible_truncation, reason = "`as` saturates at 292 years")]
        let duration_ns = (snapshot.window.duration_s * 1e9) as i64;
        self.profile.duration_nanos = duration_ns;
        let comment = self.string(&format!("page allocations during {}", stacks::subject(snapshot)));
        self.profile.comment.push(comment);
        self.profile.string_table = self.strings;
        self.profile
    }

    fn sample(&mut self, stack: &Stack<'_>) -> Sample {
        let value =
            |weight: Weight| i64::try_from(weight.of(stack.order, stack.events, self.page_size)).unwrap_or(i64::MAX);
        let value = [Weight::Events, Weight::Pages, Weight::Bytes].map(value).to_vec();
        // pprof takes a bare number in `-tagfocus` for a range of sizes, and finds no label by it.
        let order = format!("order-{}", stack.order);
        let labels = [("order", Some(order.as_str())), ("route", stack.route), ("context", stack.context)];
        let labels = labels.into_iter().filter_map(|(key, value)| Some((key, value?)));
        let label = labels.map(|(key, value)| Label { key: self.string(key), str: self.string(value) }).collect();
        // Innermost first.
        let location_id = stack.frames.iter().rev().map(|frame| self.function(frame)).collect();
        Sample { location_id, value, label }
    }

    fn function(&mut self, frame: &str) -> u64 {
        if let Some(&id) = self.function_of.get(frame) {
            return id;
        }
        let id = self.function_of.len() as u64 + 1;
        self.function_of.insert(frame.to_owned(), id);
        let module = frame.strip_suffix(']').and_then(|rest| Some(rest.rsplit_once("_[")?.1));
        let mapping_id = self.mapping(module.unwrap_or(KERNEL));
        let name = self.string(frame);
        self.profile.function.push(Function { id, name, system_name: name, filename: 0, start_line: 0 });
        let line = vec![Line { function_id: id, line: 0 }];
        self.profile.location.push(Location { id, mapping_id, address: 0, line });
        id
    }

    fn mapping(&mut self, module: &str) -> u64 {
        if let Some(&id) = self.mapping_of.get(module) {
            return id;
        }
        let id = self.mapping_of.len() as u64 + 1;
        self.mapping_of.insert(module.to_owned(), id);
        let filename = self.string(module);
        self.profile.mapping.push(Mapping { id, filename, has_functions: true });
        id
    }

    fn string(&mut self, text: &str) -> i64 {
        if let Some(&at) = self.string_at.get(text) {
            return at;
        }
        let at = i64::try_from(self.strings.len()).unwrap_or(0);
        self.strings.push(text.to_owned());
        self.string_at.insert(text.to_owned(), at);
        at
    }
}
