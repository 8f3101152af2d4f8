use super::*;

const COMMON: &str = "name: mm_page_alloc\nID: 1\nformat:\n\
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";

/// Offset and size of a field.
fn place(format: &Format, name: &str) -> (usize, usize) {
    let field = format.field(name).expect("the field is there");
    (field.offset, field.size)
}

#[test]
fn the_old_layout_has_narrow_flags() {
    let text = COMMON.to_owned()
        + "\n\tfield:struct page * page;\toffset:8;\tsize:8;\tsigned:0;\n\
           \tfield:unsigned int order;\toffset:16;\tsize:4;\tsigned:0;\n\
           \tfield:gfp_t gfp_flags;\toffset:20;\tsize:4;\tsigned:0;\n\
           \tfield:int migratetype;\toffset:24;\tsize:4;\tsigned:1;\n";
    let format = Format::parse(&text).expect("parses");
    assert_eq!(place(&format, "gfp_flags"), (20, 4));
    assert_eq!(place(&format, "migratetype"), (24, 4));
    assert_eq!(format.field("page").expect("there").kind, "struct page *");
    assert!(format.field("migratetype").expect("there").signed);
}

#[test]
fn the_new_layout_has_wide_flags() {
    let format = Format::parse(include_str!("../../../tests/data/mm_page_alloc-6.18.format")).expect("parses");
    assert_eq!(format.name, "mm_page_alloc");
    assert_eq!(place(&format, "pfn"), (8, 8));
    assert_eq!(place(&format, "order"), (16, 4));
    assert_eq!(place(&format, "gfp_flags"), (24, 8));
    assert_eq!(place(&format, "migratetype"), (32, 4));
}

#[test]
fn vendor_fields_shift_what_follows() {
    let text = COMMON.to_owned()
        + "\tfield:unsigned char common_migrate_disable;\toffset:8;\tsize:1;\tsigned:0;\n\
           \tfield:unsigned char common_preempt_lazy_count;\toffset:9;\tsize:1;\tsigned:0;\n\n\
           \tfield:unsigned long pfn;\toffset:16;\tsize:8;\tsigned:0;\n\
           \tfield:unsigned int order;\toffset:24;\tsize:4;\tsigned:0;\n";
    let format = Format::parse(&text).expect("parses");
    assert_eq!(place(&format, "common_preempt_lazy_count"), (9, 1));
    assert_eq!(place(&format, "order"), (24, 4));
}

#[test]
fn line_ends_and_unknown_fields_do_not_matter() {
    let text =
        "name: e\r\nformat:\r\n\tfield:bool accounted;\toffset:8;\tsize:1;\tsigned:0;\tnew:7;\r\nprint fmt: \"x\"";
    let format = Format::parse(text).expect("parses");
    assert_eq!((format.name.as_str(), format.print.as_str()), ("e", "\"x\""));
    assert_eq!(place(&format, "accounted"), (8, 1));
}

#[test]
fn arrays_and_dynamic_fields_keep_their_names() {
    let format = Format::parse(
        "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
         \tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;\n\
         \tfield:const void *ptr;\toffset:32;\tsize:8;\tsigned:0;",
    )
    .expect("parses");
    let names: Vec<(&str, &str)> =
        format.fields.iter().map(|field| (field.kind.as_str(), field.name.as_str())).collect();
    assert_eq!(names, [("char", "comm"), ("__data_loc char[]", "name"), ("const void *", "ptr")]);
}

#[test]
fn a_missing_field_is_named_with_those_there_are() {
    let format = Format::parse(include_str!("../../../tests/data/mm_page_alloc-5.10.format")).expect("parses");
    let message = format.field("page").expect_err("missing").to_string();
    assert_eq!(
        message,
        "tracepoint `mm_page_alloc` has no field `page`: it has `pfn`, `order`, `gfp_flags`, `migratetype`"
    );
}

#[test]
fn bad_field_lines_are_refused_with_the_line() {
    for line in [
        "field:int x;\tsize:4;",
        "field:int x;\toffset:8;",
        "field:int x;\toffset:-8;\tsize:4;",
        "field:int x;\toffset:99999999999999999999;\tsize:4;",
        "field:x;\toffset:8;\tsize:4;",
        "field:;\toffset:8;\tsize:4;",
        "field:int [4];\toffset:8;\tsize:4;",
        "field:int \u{e9}*;\toffset:8;\tsize:4;",
    ] {
        let error = Format::parse(line).expect_err(line);
        assert!(error.to_string().starts_with("line `field:"), "{error:#}");
    }
    assert!(Format::parse("").is_err());
    assert!(Format::parse("<html>").is_err());
}
