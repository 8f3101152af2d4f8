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
    let (mut symbols, _kallsyms, _modules) = symbols(IMAGE, "");
    // 0x...100 is where `third` starts, but also where a last call in `second` returns to, past the padding.
    let frames = symbols.name(&[0xffff_ffff_8100_0041, 0xffff_ffff_8100_00f0, 0xffff_ffff_8100_0101]);
    assert_eq!(words(&frames), ["second", "second", "third.isra.0"]);
}

#[test]
fn the_innermost_address_may_be_the_start_of_its_function() {
    let (mut symbols, _kallsyms, _modules) = symbols(IMAGE, "");
    assert_eq!(words(&symbols.name(&[0xffff_ffff_8100_0040])), ["second"]);
}

#[test]
fn section_marks_do_not_hide_the_function_at_their_address() {
    let (mut symbols, _kallsyms, _modules) = symbols(IMAGE, "");
    assert_eq!(words(&symbols.name(&[0xffff_ffff_8100_0010])), ["first"]);
    assert_eq!(symbols.address_of("_stext"), Some(0xffff_ffff_8100_0000));
}

#[test]
fn modules_and_bpf_programs_are_told() {
    let (mut symbols, _kallsyms, _modules) = symbols(IMAGE, "mlx5_core 4096 0 - Live 0xffffffffc0a12000\n");
    let frames = symbols.name(&[0xffff_ffff_c0a1_2010, 0xffff_ffff_c0b0_0010, 0xffff_ffff_8100_0010]);
    assert_eq!(words(&frames), ["foo_xmit [mlx5_core]", "bpf_prog_0123456789abcdef_count [bpf]", "first"]);
}

#[test]
fn an_address_in_nothing_stays_an_address() {
    let (mut symbols, _kallsyms, _modules) = symbols(IMAGE, "mlx5_core 4096 0 - Live 0xffffffffc0a12000\n");
    let nothing = [
        0,
        1,
        0xffff_ffff_80ff_ffff, // before the image
        0xffff_ffff_8100_1010, // behind it
        0xffff_ffff_c0a1_3002, // behind the module
        0xffff_ffff_c0c0_0001, // far behind the program
        u64::MAX,
    ];
    let expected: Vec<String> = nothing.iter().map(|address| format!("{address:#x}")).collect();
    assert_eq!(words(&symbols.name(&nothing)), expected);
    assert!(symbols.name(&[]).is_empty());
}

#[test]
fn a_listing_without_section_marks_still_names_its_functions() {
    let (mut symbols, _kallsyms, _modules) =
        symbols(b"ffffffff81000000 T a\nffffffff81000100 T b\nffffffffc0000000 t m\t[mod]\n", "");
    assert_eq!(words(&symbols.name(&[0xffff_ffff_8100_0001, 0xffff_ffff_8100_0102])), ["a", "b"]);
    assert_eq!(words(&symbols.name(&[0xffff_ffff_c000_0002])), ["m [mod]"]);
}

#[test]
fn names_with_bytes_that_are_no_text_do_not_cost_the_others() {
    let (mut symbols, ..) =
        symbols(b"ffffffff81000000 T a\xff\x1bb\nnonsense\nffffffff81000100 T b\nffffffff81000200 T _etext\n", "");
    assert_eq!(words(&symbols.name(&[0xffff_ffff_8100_0002, 0xffff_ffff_8100_0102])), ["a??b", "b"]);
}

#[test]
fn zeroed_addresses_are_refused() {
    let kallsyms = file(b"0000000000000000 T _stext\n0000000000000000 t foo\n");
    let error = Symbols::open(kallsyms.path(), Path::new("/nonexistent")).err().expect("refused");
    assert!(format!("{error:#}").contains("kernel.kptr_restrict"), "{error:#}");
    let error = Symbols::open(Path::new("/nonexistent/kallsyms"), Path::new("/")).err().expect("refused");
    assert!(format!("{error:#}").contains("/nonexistent/kallsyms"), "{error:#}");
}

#[test]
fn a_module_loaded_later_is_found() {
    let (mut symbols, kallsyms, modules) = symbols(IMAGE, "");
    let address = 0xffff_ffff_d000_0010;
    assert_eq!(words(&symbols.name(&[address])), ["0xffffffffd0000010"]);
    kallsyms.as_file().write_all(b"ffffffffd0000000 t late_init\t[late]\n").expect("written");
    modules.as_file().write_all(b"late 4096 0 - Live 0xffffffffd0000000\n").expect("written");
    assert_eq!(words(&symbols.name(&[address])), ["late_init [late]"]);
    // What lies in the image is still known, and names of the old map beside it.
    assert_eq!(words(&symbols.name(&[0xffff_ffff_8100_0010])), ["first"]);
}

#[test]
fn a_bpf_program_that_came_later_is_found_once_the_map_is_old() {
    let (mut symbols, kallsyms, _modules) = symbols(IMAGE, "");
    kallsyms.as_file().write_all(b"ffffffffd0000000 t bpf_prog_1_late\t[bpf]\n").expect("written");
    let address = 0xffff_ffff_d000_0010;
    assert_eq!(words(&symbols.name(&[address])), ["0xffffffffd0000010"], "the map has just been read");
    symbols.read_at = Instant::now().checked_sub(REREAD_AFTER).expect("the machine has been up that long");
    assert_eq!(words(&symbols.name(&[address])), ["bpf_prog_1_late [bpf]"]);
}

#[test]
fn a_map_that_can_no_longer_be_read_stays_as_it_was() {
    let (mut symbols, kallsyms, modules) = symbols(IMAGE, "");
    kallsyms.as_file().set_len(0).expect("emptied");
    modules.as_file().write_all(b"late 4096 0 - Live 0xffffffffd0000000\n").expect("written");
    assert_eq!(words(&symbols.name(&[0xffff_ffff_d000_0010, 0xffff_ffff_8100_0041])), ["0xffffffffd0000010", "second"]);
}

#[test]
fn ranges_and_extents_come_from_the_symbols() {
    let (symbols, _kallsyms, _modules) = symbols(
        b"ffffffff81000000 T __irqentry_text_start\nffffffff81000000 T asm_exc\nffffffff81000040 T other\n\
          ffffffff81000080 T __irqentry_text_end\nffffffff81000080 T asm_exc\n",
        "",
    );
    let range = Some((0xffff_ffff_8100_0000, 0xffff_ffff_8100_0080));
    assert_eq!(symbols.range("__irqentry_text_start", "__irqentry_text_end"), range);
    assert_eq!(symbols.range("__irqentry_text_end", "__irqentry_text_start"), None);
    assert_eq!(symbols.range("__irqentry_text_start", "absent"), None);
    assert_eq!(symbols.extent_of("other"), Some((0xffff_ffff_8100_0040, 0xffff_ffff_8100_0080)));
    assert_eq!(symbols.address_of("asm_exc"), Some(0xffff_ffff_8100_0000), "the lowest of two");
    assert_eq!(symbols.extent_of("__irqentry_text_end"), None, "nothing follows");
    assert_eq!(symbols.address_of("asm"), None);
}

#[test]
fn the_running_kernels_functions_are_named_as_it_names_them() {
    // Needs readable addresses: root, or a machine without restriction.
    let text = fs::read_to_string("/proc/kallsyms").expect("kallsyms is there");
    let Ok(mut symbols) = Symbols::new() else {
        assert!(text.lines().all(|line| line.starts_with("0000000000000000")), "refused though addresses are shown");
        return;
    };
    let start = symbols.address_of("schedule").expect("every kernel has it");
    assert!(text.lines().any(|line| line.ends_with(" T schedule") && line.starts_with(&format!("{start:016x}"))));
    assert_eq!(words(&symbols.name(&[0, start + 1])), ["0x0", "schedule"]);
    let (from, to) = symbols.extent_of("schedule").expect("it is not the last");
    assert!(from == start && to > start && to - start < 1 << 16);
}
