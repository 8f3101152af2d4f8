use super::*;

/// As the running kernel of the build machine gave it.
const FORMAT_6_18: &str = include_str!("../../tests/data/mm_page_alloc-6.18.format");
/// Made by hand from the flag definitions of the headers, as the preprocessor expands them.
const FORMAT_5_10: &str = include_str!("../../tests/data/mm_page_alloc-5.10.format");
const FORMAT_6_1: &str = include_str!("../../tests/data/mm_page_alloc-6.1.format");
/// Likewise, with the names of enumeration members left in place.
const FORMAT_6_12: &str = include_str!("../../tests/data/mm_page_alloc-6.12.format");

fn read(format: &str) -> Table {
    Table::from_format(format).expect("the format parses")
}

/// A format that holds this and little else.
fn with_flags(list: &str) -> Result<Table> {
    Table::from_format(&format!(
        "name: e\n\tfield:int gfp;\toffset:8;\tsize:4;\tsigned:0;\nprint fmt: \"%s\", \
         (REC->gfp) ? __print_flags(REC->gfp, \"|\", {list} ) : \"none\""
    ))
}

#[test]
fn the_table_of_a_6_18_kernel_is_read_from_its_format() {
    let table = read(FORMAT_6_18);
    // The values that this kernel's headers give its combinations.
    for (name, mask) in [
        ("GFP_TRANSHUGE", 0x1c_24ca),
        ("GFP_TRANSHUGE_LIGHT", 0x1c_20ca),
        ("GFP_HIGHUSER_MOVABLE", 0x10_0cca),
        ("GFP_KERNEL_ACCOUNT", 0x40_0cc0),
        ("GFP_ATOMIC", 0x820),
        ("GFP_NOWAIT", 0x2800),
        ("__GFP_RECLAIM", 0xc00),
        ("__GFP_NO_OBJ_EXT", 0x100_0000),
    ] {
        assert!(table.names.contains(&(mask, name.to_owned())), "{name}");
    }
    assert_eq!(table.names.len(), FORMAT_6_18.matches("\"GFP_").count() + FORMAT_6_18.matches("\"__GFP_").count());
    assert_eq!(table.source, "tracefs");
}

#[test]
fn built_in_tables_say_what_the_formats_of_their_kernels_say() {
    assert_eq!(Table::for_release("5.10.0-46-cloud-amd64").names, read(FORMAT_5_10).names);
    assert_eq!(Table::for_release("6.1.0-57-cloud-amd64").names, read(FORMAT_6_1).names);
    assert_eq!(Table::for_release("6.12.117+deb13-cloud-amd64").names, read(FORMAT_6_12).names);
    let mut without_dependent = read(FORMAT_6_18).names;
    without_dependent.retain(|(mask, _)| *mask < 1 << 24);
    assert_eq!(Table::for_release("6.18.44").names, without_dependent);
}

#[test]
fn atomic_changed_its_value_with_6_3() {
    let old = Table::for_release("6.1.192");
    let new = Table::for_release("6.12.117");
    assert_eq!(old.decode(0xa20), "GFP_ATOMIC");
    assert_eq!(new.decode(0xa20), "GFP_ATOMIC|0x200");
    assert_eq!(new.decode(0x820), "GFP_ATOMIC");
    assert_eq!(old.decode(0x820), "GFP_NOWAIT|__GFP_HIGH");
    assert_eq!(Table::for_release("6.2.16").decode(0xa20), "GFP_ATOMIC");
    assert_eq!(Table::for_release("6.3.0").decode(0x820), "GFP_ATOMIC");
}

#[test]
fn nowait_changed_its_value_with_6_7() {
    assert_eq!(Table::for_release("6.6.30").decode(0x2800), "GFP_NOWAIT|__GFP_NOWARN");
    assert_eq!(Table::for_release("6.7.0").decode(0x2800), "GFP_NOWAIT");
}

#[test]
fn flags_of_a_page_fragment_are_not_called_kernel() {
    assert_eq!(read(FORMAT_6_12).decode(0x5_28c0), "GFP_NOWAIT|__GFP_IO|__GFP_FS|__GFP_NORETRY|__GFP_COMP");
    assert_eq!(read(FORMAT_6_1).decode(0x5_28c0), "GFP_NOWAIT|__GFP_IO|__GFP_FS|__GFP_NOWARN|__GFP_NORETRY|__GFP_COMP");
}

#[test]
fn zero_is_none_and_contradicting_flags_are_shown() {
    let table = read(FORMAT_6_18);
    assert_eq!(table.decode(0), "none");
    assert_eq!(table.decode(0x18), "__GFP_MOVABLE|__GFP_RECLAIMABLE");
}

#[test]
fn what_no_name_covers_stays_hexadecimal() {
    assert_eq!(read(FORMAT_6_1).decode(0x8000_0cc0), "GFP_KERNEL|0x80000000");
    assert_eq!(Table::default().decode(0xcc0), "0xcc0");
    assert_eq!(Table::default().decode(u64::MAX), "0xffffffffffffffff");
}

#[test]
fn a_release_without_numbers_gets_the_newest_table() {
    let newest = Table::for_release("7.3.4").names;
    for release in ["", "next", "7", "6.x", "99999999999.1"] {
        assert_eq!(Table::for_release(release).names, newest, "{release}");
    }
    assert_eq!(Table::for_release("6.1-rc5").names, Table::for_release("6.1.0").names);
}

#[test]
fn printed_flags_parse_to_what_they_were_printed_from() {
    let table = read(FORMAT_6_18);
    for gfp in [0xcc0, 0x5_28c0, 0xd_20c0, 0x18, 0x14_0dca, 0x200, 0x100_0000] {
        assert_eq!(table.parse(&table.decode(gfp)).expect("own words parse"), gfp);
    }
}

#[test]
fn flags_parse_in_any_case_and_without_prefix() {
    let table = read(FORMAT_5_10);
    assert_eq!(table.parse("kernel, comp").expect("parses"), 0xcc0 | 0x4_0000);
    assert_eq!(table.parse("__gfp_nowarn").expect("parses"), 0x2000);
    assert_eq!(table.parse("atomic").expect("the combination goes first"), 0xa20);
    assert_eq!(table.parse("__GFP_ATOMIC").expect("parses"), 0x200);
    assert_eq!(table.parse("__GFP_DMA32").expect("printed as GFP_DMA32 only"), 0x4);
    assert_eq!(table.parse("0x40000").expect("parses"), 0x4_0000);
}

#[test]
fn an_unknown_flag_names_those_that_look_like_it() {
    let table = read(FORMAT_6_18);
    let message = |flags: &str| table.parse(flags).expect_err("unknown").to_string();
    assert!(message("GFP_KERNAL").contains("unknown gfp flag `GFP_KERNAL`"), "{}", message("GFP_KERNAL"));
    assert!(message("GFP_KERNAL").contains("`GFP_KERNEL`"), "{}", message("GFP_KERNAL"));
    assert!(message("__GFP_NOWRAN").contains("`__GFP_NOWARN`"), "{}", message("__GFP_NOWRAN"));
    assert!(!message("zzz").contains("did you mean"), "{}", message("zzz"));
    assert!(message("\u{1b}[31m").contains("\\u{1b}[31m"), "{}", message("\u{1b}[31m"));
}

#[test]
fn no_flag_at_all_is_refused() {
    let table = read(FORMAT_6_18);
    for flags in ["", " , ", "0x0", "none", "0x", "0x1ffffffffffffffff"] {
        assert!(table.parse(flags).is_err(), "{flags}");
    }
}

#[test]
fn the_list_ends_at_an_entry_without_a_name() {
    let table =
        with_flags("{ 1, \"A\" }, { -1, ((void *)0) } ), __print_flags(REC->other, \"|\", {2, \"B\"}").expect("parses");
    assert_eq!(table.names, [(1, "A".to_owned())]);
    let table = with_flags("{ 1, \"A\" } ), __print_flags(REC->other, \"|\", {2, \"B\"}").expect("parses");
    assert_eq!(table.names, [(1, "A".to_owned())]);
}

#[test]
fn a_format_without_usable_flags_is_refused_with_the_reason() {
    let message = |list: &str| format!("{:#}", with_flags(list).expect_err("refused"));
    assert!(message("{ ___GFP_NEW_BIT, \"A\" }").contains("unknown name `___GFP_NEW_BIT`"));
    assert!(message("{ 1 << , \"A\" }").contains("mask of gfp flag `A`"));
    assert!(message("{ 1, \"A\u{1b}\" }").contains("no identifier"));
    assert!(message("{ 1, \"A\"").contains("ends inside"));
    assert!(message("{ 1 }").contains("has no name"));
    assert!(message("").contains("names no flag"));
    let error = Table::from_format("name: e\n\tfield:int x;\toffset:8;\tsize:4;\tsigned:0;\nprint fmt: \"%d\", REC->x");
    assert!(format!("{:#}", error.expect_err("refused")).contains("no `__print_flags` over a gfp field"));
}
