use std::io::Cursor;

use super::*;

/// Address, name and module of all that is listed.
fn listed(text: &[u8]) -> (Vec<(u64, String, Option<String>)>, usize) {
    let listing = Listing::read(Cursor::new(text)).expect("the listing loads");
    let symbols = listing.symbols.iter().map(|symbol| {
        let module = symbol.module.map(|id| listing.modules[usize::from(id)].clone());
        (symbol.address, listing.name(symbol).to_owned(), module)
    });
    (symbols.collect(), listing.malformed)
}

fn refused(text: &[u8]) -> String {
    format!("{:#}", Listing::read(Cursor::new(text)).expect_err("refused"))
}

#[test]
fn a_listing_of_zeros_is_refused_with_what_to_set() {
    let message = refused(b"0000000000000000 T _stext\n0000000000000000 t foo\n0000000000000000 t bar\t[mod]\n");
    assert!(message.contains("every address is shown as zero"), "{message}");
    assert!(message.contains("kernel.kptr_restrict") && message.contains("CAP_SYSLOG"), "{message}");
}

#[test]
fn zeros_among_addresses_are_left_out() {
    let (symbols, malformed) = listed(b"0000000000000000 T percpu\nffffffff81000000 T real\n");
    assert_eq!(symbols, [(0xffff_ffff_8100_0000, "real".to_owned(), None)]);
    assert_eq!(malformed, 0);
}

#[test]
fn a_listing_without_functions_is_refused() {
    assert!(refused(b"").contains("no function is listed"));
    assert!(refused(b"ffffffff81000000 D data\n").contains("no function is listed"));
    assert!(refused(b"<html>\n").contains("no function is listed"));
}

#[test]
fn a_module_is_kept_apart_from_the_name() {
    let (symbols, _) = listed(b"ffffffffc0a12000 t foo_xmit\t[mlx5_core]\nffffffffc0b00000 t bpf_prog_01ab_x\t[bpf]\n");
    assert_eq!(symbols[0], (0xffff_ffff_c0a1_2000, "foo_xmit".to_owned(), Some("mlx5_core".to_owned())));
    assert_eq!(symbols[1].2.as_deref(), Some("bpf"));
}

#[test]
fn one_bad_line_does_not_cost_the_others() {
    let mut text = b"ffffffff81000000 T a.isra.20\n".to_vec();
    for line in [
        &b"zzzz T b\n"[..],
        b"ffffffff81000001\n",
        b"ffffffff81000001 T\n",
        b"ffffffff81000001 TT b\n",
        b"fffffffffffffffff T b\n",
        b"ffffffff81000001 t b\tmod\n",
        b"ffffffff81000001 t b\t[mod\n",
        b"\xff\xfe T b\n",
        b"\0\0\0\n",
    ] {
        text.extend_from_slice(line);
    }
    text.extend_from_slice(b"\n\r\nffffffff81000100 t x.cold\r\nffffffff81000200 W last");
    let (symbols, malformed) = listed(&text);
    let names: Vec<&str> = symbols.iter().map(|(_, name, _)| name.as_str()).collect();
    assert_eq!(names, ["a.isra.20", "x.cold", "last"]);
    assert_eq!(malformed, 9);
}

#[test]
fn an_overlong_line_is_skipped_to_its_end() {
    let mut text = b"ffffffff81000000 T ".to_vec();
    text.resize(1 << 20, b'a');
    text.extend_from_slice(b"\nffffffff81000100 T after\n");
    let (symbols, malformed) = listed(&text);
    assert_eq!((symbols.len(), symbols[0].1.as_str(), malformed), (1, "after", 1));
    // The longest name that the kernel can print passes.
    let line = format!("ffffffff81000000 T {}\t[{}]\n", "n".repeat(511), "m".repeat(55));
    assert_eq!(listed(line.as_bytes()).1, 0);
}

#[test]
fn names_are_free_of_what_could_harm_a_terminal() {
    let (symbols, _) = listed(b"ffffffff81000000 T a\x1b[2Jb\xffc\xc3\xa9\t[m\x07d]\n");
    assert_eq!(symbols[0].1, "a?[2Jb?c??");
    assert_eq!(symbols[0].2.as_deref(), Some("m?d"));
}

#[test]
fn symbols_come_by_address_and_aliases_in_file_order() {
    let (symbols, _) = listed(b"ffffffff81000200 T c\nffffffff81000100 T b\nffffffff81000100 T a\n");
    let names: Vec<&str> = symbols.iter().map(|(_, name, _)| name.as_str()).collect();
    assert_eq!(names, ["b", "a", "c"]);
}

#[test]
fn data_is_left_out_but_section_marks_stay() {
    let (symbols, _) = listed(b"ffffffff81000000 T f\nffffffff82000000 D jiffies\nffffffff82000100 R _etext\nffffffff82000200 B __bss_start\n");
    let names: Vec<&str> = symbols.iter().map(|(_, name, _)| name.as_str()).collect();
    assert_eq!(names, ["f", "_etext"]);
}
