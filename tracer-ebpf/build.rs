//! Rebuilds when the linker changes: it turns LLVM bitcode into the BPF object.

fn main() {
    if let Ok(linker) = which::which("bpf-linker") {
        println!("cargo:rerun-if-changed={}", linker.display());
    }
}
