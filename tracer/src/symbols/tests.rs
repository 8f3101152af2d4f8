use std::io::Write as _;

use tempfile::NamedTempFile;

use super::*;

/// Symbols of a made-up machine; `modules` is the text of its `/proc/modules`.
fn symbols(kallsyms: &[u8], modules: &str) -> (Symbols, NamedTempFile, NamedTempFile) {
    let kallsyms = file(kallsyms);
    let modules = file(modules.as_bytes());
    (Symbols::open(kallsyms.path(), modules.path()).expect("test symbols load"), kallsyms, modules)
}

fn file(content: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("temporary file");
    file.write_all(content).expect("temporary file is written");
    file
}

fn words(frames: &[Frame]) -> Vec<String> {
    frames
        .iter()
        .map(|frame| match &frame.module {
            Some(module) => format!("{} [{module}]", frame.name),
            None => frame.name.clone(),
        })
        .collect()
}

const IMAGE: &[u8] = b"\
ffffffff81000000 T _stext
ffffffff81000000 T first
ffffffff81000040 t second
ffffffff810000f0 t __pfx_third
ffffffff81000100 t third.isra.0
ffffffff81000200 D data
ffffffff81001000 T _etext
ffffffffc0a12000 t foo_xmit\t[mlx5_core]
ffffffffc0b00000 t bpf_prog_0123456789abcdef_count\t[bpf]
";

#[test]
fn a_return_address_belongs_to_the_function_that_called() {
    let (mut symbols, ..) = symbols(IMAGE, "");
    // 0x...100 is where `third` starts, but also where a last call in `second` returns to, past the padding.
    let frames = symbols.name(&[0xffff_ffff_8100_0041, 0xffff_ffff_8100_00f0, 0xffff_ffff_8100_0101]);
    assert_eq!(words(&frames), ["second", "second", "third.isra.0"]);
}

#[test]
fn the_innermost_address_may_be_the_start_of_its_function() {
    let (mut symbols, ..) = symbols(IMAGE, "");
    assert_eq!(words(&symbols.name(&[0xffff_ffff_8100_0040])), ["second"]);
}

#[test]
fn section_marks_do_not_hide_the_function_at_their_address() {
    let (mut symbols, ..) = symbols(IMAGE, "");
    assert_eq!(words(&symbols.name(&[0xffff_ffff_8100_0010])), ["first"]);
    assert_eq!(symbols.address_of("_stext"), Some(0xffff_ffff_8100_0000));
}
