use super::*;

const FORMAT_6_18: &str = include_str!("../../tests/data/mm_page_alloc-6.18.format");

#[test]
fn the_table_of_a_6_18_kernel_is_read_from_its_format() {
    let table = Table::from_format(FORMAT_6_18).expect("the format parses");
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
    assert_eq!(table.names.len(), 38);
}

#[test]
fn zero_is_none() {
    assert_eq!(Table::for_release("6.12.0").decode(0), "none");
}
