//! `tracer`: which kernel paths allocate pages, of which order, by which route, and what socket memory accounting does,
//! while a benchmark runs.
//!
//! # Bird's eye view
//!
//! ```text
//! kernel hook -> record -> Batch -> Model -> Snapshot -> report | export
//! tracer-ebpf   tracer-common  collect   model    model      output
//!                                 `-> recording -> Batch -> Model -> ...
//! ```
//!
//! Data goes one way. The single way down is [`config::Config`], checked, and written by [`probe`] into one
//! read-only global of the BPF object before load, so that the verifier drops every branch that is switched off.
//!
//! A run is described by three kinds of plain data: [`run::Start`], any number of [`batch::Batch`]es and
//! [`run::End`]. [`model::Model`] makes a [`snapshot::Snapshot`] of them, [`recording`] stores exactly them. So a
//! report read from a recording is the report of the run, and every view, export and comparison works from a file,
//! without root and without the kernel that was traced.
//!
//! # Code map
//!
//! - `tracer-common`: the layout of map values and of the configuration; `no_std`, no aya.
//! - `tracer-ebpf`: one program a hook. `page.rs` counts, `path.rs` finds the path of an event again without
//!   unwinding it, `filter.rs` decides whose events count. `tally.rs` counts everything else by path (`kmalloc.rs`,
//!   `bulk.rs`, `reclaim.rs`, `sock.rs`), `socket.rs` keeps the table of sockets.
//! - [`tally`]: what a batch has beside page allocations; [`snapshot::beside`] what is shown of it.
//! - [`probe`]: the hook table (`hooks`) and its `ladder`, `offsets` by BTF, what the running kernel allows, load and attach, the self-test.
//! - [`collect`]: the maps, mapped into memory, to batches.
//! - [`symbols`], [`gfp`], [`routes`], [`system`]: names for addresses and flags, what a path means, the machine.
//! - [`model`], [`snapshot`], [`units`]: sums, and the picture that is shown. [`snapshot`] is also the JSON form.
//! - [`workload`]: the command under test, and what its output says.
//! - [`recording`]: one `SQLite` file; its tables are described there and in `tracer/docs/recording.md`.
//! - [`output`]: text, JSON, folded stacks, single events.
//! - [`tui`]: the screens, live and of a recording.
//! - [`session`]: one run from attaching to the report; the only place that knows everyone.
//!
//! # How paths are counted
//!
//! Unwinding is nineteen twentieths of the cost of counting by stack. A benchmark takes few paths, and a path leaves
//! the same return addresses at the same distances from the stack pointer. So each path is unwound when it is first
//! met, and the slots of its addresses are noted; afterwards every slot is compared, and only if one differs the
//! stack is unwound again. Why that is exact, and where only the audit can prove it, stands in
//! [`tracer_common::path`]. Four decisions made it fast and safe:
//!
//! - The address of the tracepoint's argument block is the stack pointer. `bpf_trace_run*` keeps it on the kernel
//!   stack on every kernel, also where the program itself runs on a private stack (6.13 and later).
//! - Stack words are read singly, through `bpf_rdonly_cast`, where the kernel has it (6.2 and later): one guarded
//!   load a word instead of one copy of the whole window. aya 0.14 cannot call kernel functions, so
//!   [`probe::object`] writes the call into the object. Elsewhere the window is copied.
//! - What one CPU writes alone lies in plain arrays, indexed by CPU: every kernel inlines their lookup, and user
//!   space maps them and reads without a system call. A read costs what the counters in use cost.
//! - A stale copy of a return address may lie beside the live one. Slots are bounded from the inside and from the
//!   outside, the bounds are tightened at each meeting, and where two candidates remain both are compared.
//!
//! # What is no page allocation
//!
//! Charges, drops, large kmalloc and so on go through the same path engine, but each CPU has a second state for them
//! (scratch space, losses, remembered keys): a page allocation in an interrupt finds its own state free, and no event of
//! one kind is lost to another. All programs are loaded before the first is attached, so that none of them sees what
//! loading the others takes of the kernel. What a charge needed is known where the size of the datagram is; elsewhere
//! callers pass either all that they need or only what is missing, and the first call with no more than what is held
//! tells which.
//!
//! # Invariants
//!
//! - `model`, `units`, `gfp`, `routes` know no aya, tokio, ratatui, file or clock; `output` knows neither aya nor
//!   `probe` nor `collect`; `cargo xtask test` checks the whole table over the sources.
//! - Every event that the program saw is in exactly one place: a path, lost with a cause, or not to be taken. The sum
//!   over orders is `events`; the sum over paths and `lost` is `events`.
//! - Totals by order are kept beside the path tables and are always exact; what the tables lose is a difference.
//! - `0` means measured none, `None` (JSON `null`, text `-`) not measured.
//! - No map grows without bound, and nothing is dropped without a counter.
//! - Offsets, argument orders and flag names come from the running kernel, never from the build machine.
//! - Text from outside (process names, symbols, benchmark output) reaches no terminal or file format raw.

pub mod batch;
pub mod cli;
pub mod collect;
pub mod compare;
pub mod config;
pub mod diagnosis;
pub mod event;
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
pub mod sockets;
pub mod stats;
pub mod symbols;
pub mod system;
pub mod tally;
pub mod tui;
pub mod units;
pub mod window;
pub mod workload;
