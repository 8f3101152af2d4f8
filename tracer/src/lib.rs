//! `tracer`: which kernel paths allocate pages, of which order, while a benchmark runs.
//!
//! One direction only:
//!
//! ```text
//! kernel hook -> record -> Batch -> Model -> Snapshot -> report | export | recording
//! ```

pub mod batch;
pub mod cli;
pub mod collect;
pub mod compare;
pub mod config;
pub mod diagnosis;
pub mod gfp;
pub mod model;
pub mod output;
pub mod probe;
pub mod recording;
pub mod routes;
pub mod run;
pub mod session;
pub mod signal;
pub mod snapshot;
pub mod stats;
pub mod symbols;
pub mod system;
pub mod units;
pub mod workload;
