//! What of a path is worth showing first: where the allocator's own frames end, and names without variants.
//!
//! Must not know: counts, how a path is drawn.

use crate::{routes::stem, snapshot::PathRow};

/// Functions of the page allocator, the slab allocator and large kmalloc, as written in kernels 5.10 to 7.3. `*` ends
/// a name that goes on.
const ALLOCATOR: &[&str] = &[
    "__alloc_pages*",
    "alloc_pages*",
    "__alloc_frozen_pages*",
    "alloc_frozen_pages*",
    "get_page_from_freelist",
    "__folio_alloc*",
    "folio_alloc*",
    "vma_alloc_folio*",
    "vma_alloc_zeroed_movable_folio",
    "__get_free_page*",
    "get_free_pages",
    "get_zeroed_page*",
    "alloc_slab_page",
    "allocate_slab",
    "new_slab*",
    "___slab_alloc",
    "__slab_alloc*",
    "refill_objects*",
    "__refill_objects*",
    "refill_sheaf",
    "alloc_full_sheaf",
    "alloc_from_new_slab",
    "alloc_single_from_new_slab",
    "__pcs_replace_empty_main",
    "kmem_cache_alloc*",
    "__kmem_cache_alloc*",
    "__kmalloc*",
    "___kmalloc_large_node",
    "kmalloc_large*",
    "kmalloc_order*",
    "kmalloc_trace",
    "kmalloc_node_trace",
    "__kvmalloc*",
    "kvmalloc*",
];

/// Whether a function belongs to the allocators themselves.
pub fn is_allocator(name: &str) -> bool {
    let stem = stem(name);
    ALLOCATOR.iter().any(|known| match known.strip_suffix('*') {
        Some(start) => stem.starts_with(start),
        None => stem == *known,
    })
}

/// The frames without the innermost ones that are the allocators' own; all of them where nothing else is left.
pub fn without_allocator(frames: &[String]) -> &[String] {
    let first = frames.iter().position(|frame| !is_allocator(frame));
    first.map_or(frames, |first| &frames[first..])
}

/// A frame's name without `_noprof`, `.isra.0` and the like; its module stays.
pub fn without_variant(frame: &str) -> String {
    match frame.split_once(" [") {
        Some((name, module)) => format!("{} [{module}", stem(name)),
        None => stem(frame).to_owned(),
    }
}

/// Who asked the allocators: the innermost frame that is not theirs.
pub fn caller(path: &PathRow) -> &str {
    without_allocator(&path.frames).first().map_or("", String::as_str)
}

/// A path in one line, innermost first, from the caller on.
pub fn title(path: &PathRow, separator: &str) -> String {
    without_allocator(&path.frames).join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn the_caller_is_the_innermost_frame_outside_of_the_allocators() {
        let path = frames(&["__alloc_frozen_pages_noprof", "___kmalloc_large_node", "kmalloc_reserve", "__alloc_skb"]);
        assert_eq!(without_allocator(&path), ["kmalloc_reserve", "__alloc_skb"]);
        let slab = frames(&["allocate_slab.isra.0", "___slab_alloc", "kmem_cache_alloc_noprof", "alloc_inode"]);
        assert_eq!(without_allocator(&slab), ["alloc_inode"]);
    }

    #[test]
    fn an_allocator_further_out_stays() {
        let path = frames(&["vm_area_dup", "__kmalloc_noprof"]);
        assert_eq!(without_allocator(&path), ["vm_area_dup", "__kmalloc_noprof"]);
    }

    #[test]
    fn a_path_of_allocators_alone_is_shown_whole() {
        assert_eq!(without_allocator(&frames(&["alloc_pages_noprof"])), ["alloc_pages_noprof"]);
    }

    #[test]
    fn variants_of_a_function_are_one_name() {
        assert_eq!(without_variant("kmalloc_noprof"), "kmalloc");
        assert_eq!(without_variant("new_slab.isra.20"), "new_slab");
        assert_eq!(without_variant("xmit.part.3 [veth]"), "xmit [veth]");
    }
}
