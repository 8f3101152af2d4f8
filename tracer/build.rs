//! Builds the BPF object with the nightly toolchain and puts it where `include_bytes_aligned!` finds it.

use aya_build::{Package, Toolchain};

fn main() -> anyhow::Result<()> {
    let root_dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../tracer-ebpf");
    aya_build::build_ebpf([Package { name: "tracer-ebpf", root_dir, ..Default::default() }], Toolchain::Nightly)
}
