//! The messages of pprof's `profile.proto` (package `perftools.profiles`), as far as they are written.
//!
//! Numbers that name a text are places in [`Profile::string_table`].

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(in crate::output) struct Profile {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::output) sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    pub(in crate::output) sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    pub(in crate::output) mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    pub(in crate::output) location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    pub(in crate::output) function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    pub(in crate::output) string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    pub(in crate::output) time_nanos: i64,
    #[prost(int64, tag = "10")]
    pub(in crate::output) duration_nanos: i64,
    #[prost(int64, repeated, tag = "13")]
    pub(in crate::output) comment: Vec<i64>,
    #[prost(int64, tag = "14")]
    pub(in crate::output) default_sample_type: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::output) struct ValueType {
    #[prost(int64, tag = "1")]
    pub(in crate::output) r#type: i64,
    #[prost(int64, tag = "2")]
    pub(in crate::output) unit: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::output) struct Sample {
    /// Innermost first.
    #[prost(uint64, repeated, tag = "1")]
    pub(in crate::output) location_id: Vec<u64>,
    /// One for each of [`Profile::sample_type`].
    #[prost(int64, repeated, tag = "2")]
    pub(in crate::output) value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    pub(in crate::output) label: Vec<Label>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::output) struct Label {
    #[prost(int64, tag = "1")]
    pub(in crate::output) key: i64,
    #[prost(int64, tag = "2")]
    pub(in crate::output) str: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::output) struct Mapping {
    #[prost(uint64, tag = "1")]
    pub(in crate::output) id: u64,
    #[prost(int64, tag = "5")]
    pub(in crate::output) filename: i64,
    #[prost(bool, tag = "7")]
    pub(in crate::output) has_functions: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::output) struct Location {
    #[prost(uint64, tag = "1")]
    pub(in crate::output) id: u64,
    #[prost(uint64, tag = "2")]
    pub(in crate::output) mapping_id: u64,
    #[prost(uint64, tag = "3")]
    pub(in crate::output) address: u64,
    #[prost(message, repeated, tag = "4")]
    pub(in crate::output) line: Vec<Line>,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::output) struct Line {
    #[prost(uint64, tag = "1")]
    pub(in crate::output) function_id: u64,
    #[prost(int64, tag = "2")]
    pub(in crate::output) line: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(in crate::output) struct Function {
    #[prost(uint64, tag = "1")]
    pub(in crate::output) id: u64,
    #[prost(int64, tag = "2")]
    pub(in crate::output) name: i64,
    #[prost(int64, tag = "3")]
    pub(in crate::output) system_name: i64,
    #[prost(int64, tag = "4")]
    pub(in crate::output) filename: i64,
    #[prost(int64, tag = "5")]
    pub(in crate::output) start_line: i64,
}
