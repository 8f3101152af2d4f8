use std::collections::BTreeSet;

use super::*;

fn frames(names: &str) -> Vec<Frame> {
    names.split(';').map(|name| Frame { name: name.to_owned(), module: None }).collect()
}

fn told(names: &str) -> (String, String) {
    let frames = frames(names);
    (route(&frames).to_string(), context(&frames).to_string())
}

/// Asserts route and context of each path.
fn assert_told(paths: &[(&str, &str, &str)]) {
    for (route, context, names) in paths {
        let told = told(names);
        assert_eq!((told.0.as_str(), told.1.as_str()), (*route, *context), "{names}");
    }
}

/// Asserts every path of a file with lines `route context frames`, and gives the routes met.
fn assert_file(text: &str) -> BTreeSet<&str> {
    let paths: Vec<(&str, &str, &str)> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_once(' ').and_then(|(route, rest)| Some((route, rest.split_once(' ')?))))
        .map(|path| path.map(|(route, (context, names))| (route, context, names)).expect("three words a line"))
        .collect();
    assert_told(&paths);
    paths.into_iter().map(|(route, ..)| route).collect()
}

#[test]
fn paths_of_a_6_18_kernel_are_told() {
    let routes = assert_file(include_str!("../../tests/data/paths-6.18.txt"));
    assert_eq!(routes.len(), 10, "all but vmalloc and bpf, which did not occur: {routes:?}");
}

#[test]
fn names_of_other_kernels_are_told_alike() {
    let routes = assert_file(include_str!("../../tests/data/paths-others.txt"));
    assert!(routes.contains("vmalloc") && routes.contains("bpf"), "{routes:?}");
}

#[test]
fn what_the_compiler_appends_does_not_matter() {
    for name in [
        "allocate_slab",
        "allocate_slab.isra.0",
        "allocate_slab.constprop.0.isra.0",
        "allocate_slab.cold",
        "allocate_slab_noprof",
        "allocate_slab_noprof.part.0",
    ] {
        assert_eq!(route(&frames(name)), Route::SlabRefill, "{name}");
    }
    assert_eq!(context(&frames("do_softirq.part.0")), Context::Softirq);
    assert_eq!(route(&frames("allocate_slabs")), Route::Other);
    assert_eq!(route(&frames("")), Route::Other);
}

#[test]
fn the_innermost_cause_decides() {
    assert_told(&[
        // A softirq on top of a system call.
        (
            "slab_refill",
            "softirq",
            "allocate_slab;net_rx_action;handle_softirqs;do_softirq.part.0;__local_bh_enable_ip;udp_sendmsg;__x64_sys_sendto",
        ),
        // A page fault within a system call.
        (
            "anonymous_fault",
            "page_fault",
            "do_anonymous_page;exc_page_fault;asm_exc_page_fault;rep_movs_alternative;filemap_read;__x64_sys_read",
        ),
        // An interrupt in a kernel thread.
        (
            "slab_refill",
            "interrupt",
            "allocate_slab;handle_irq_event;__common_interrupt;common_interrupt;worker_thread;kthread;ret_from_fork",
        ),
        // A page table for a fault in the page cache.
        ("page_table", "page_fault", "pte_alloc_one;do_fault;filemap_fault;exc_page_fault"),
        // Getting a page by moving another.
        ("other", "page_fault", "compaction_alloc;migrate_pages;try_to_compact_pages;do_anonymous_page;exc_page_fault"),
    ]);
}

#[test]
fn frames_of_what_was_interrupted_do_not_count() {
    assert_told(&[
        ("other", "interrupt", "alloc_pages;handle_irq_event;common_interrupt;do_anonymous_page;exc_page_fault"),
        ("other", "softirq", "alloc_pages;net_rx_action;handle_softirqs;pipe_write;__x64_sys_write"),
        ("page_fragment", "softirq", "skb_page_frag_refill;net_rx_action;handle_softirqs;napi_alloc_skb"),
    ]);
}

#[test]
fn a_path_cut_at_its_entry_keeps_its_context() {
    assert_eq!(told("allocate_slab;net_rx_action").1, "softirq");
    assert_eq!(told("allocate_slab;handle_softirqs").1, "softirq");
    assert_eq!(told("allocate_slab;asm_sysvec_apic_timer_interrupt").1, "interrupt");
    assert_eq!(told("allocate_slab;kmem_cache_alloc").1, "other");
    assert_eq!(context(&[]), Context::Other);
    assert_eq!(route(&[]), Route::Other);
}

#[test]
fn system_calls_bear_their_users_names() {
    for (name, call) in [
        ("__x64_sys_newuname", "uname"),
        ("__x64_sys_sendfile64", "sendfile"),
        ("__x64_sys_newfstatat", "newfstatat"),
        ("__do_sys_brk", "brk"),
        ("__se_sys_mmap_pgoff", "mmap"),
        ("__ia32_compat_sys_sendmsg", "sendmsg"),
        ("__ia32_sys_open", "open"),
        ("__arm64_sys_openat2", "openat2"),
    ] {
        assert_eq!(told(name).1, format!("syscall:{call}"));
    }
}

#[test]
fn a_system_call_without_a_frame_of_its_own_is_known_by_its_body() {
    for (names, call) in [
        ("vfs_write;ksys_write;do_syscall_64", "write"),
        ("do_mmap;vm_mmap_pgoff;x64_sys_call;do_syscall_64", "mmap"),
        ("do_filp_open;do_sys_openat2;do_syscall_64", "openat"),
        ("__sys_bind;io_submit_sqes;do_syscall_64", "bind"),
        ("ksys_mmap_pgoff;do_syscall_64", "mmap"),
        ("do_fault;do_syscall_64", "unknown"),
        ("do_syscall_64", "unknown"),
    ] {
        assert_eq!(told(names).1, format!("syscall:{call}"), "{names}");
    }
}

#[test]
fn the_tracers_own_frames_are_trimmed() {
    let path = frames(
        "bpf_get_stack_raw_tp;bpf_prog_0123456789abcdef_page_alloc;bpf_trace_run4;__bpf_trace_mm_page_alloc;\
         __traceiter_mm_page_alloc;__alloc_pages;bpf_prog_1_x;do_syscall_64",
    );
    assert_eq!(trim(&path), &path[5..]);
    // A path that is nothing else stays: an empty one would look like none.
    assert_eq!(trim(&path[..5]), &path[..5]);
    assert_eq!(trim(&[]), &[]);
}

#[test]
fn every_route_has_a_word_that_names_it() {
    for route in Route::ALL {
        assert_eq!(route.to_string().parse::<Route>().expect("its own word"), route);
        // The recording stores the same word.
        assert_eq!(serde_json::to_value(route).expect("a word"), route.word());
    }
    assert_eq!(format!("{:>6}|{:<6}|", Route::Bpf, Context::Other), "   bpf|other |");
    let error = "slab".parse::<Route>().expect_err("no such route").to_string();
    assert!(error.contains("unknown route `slab`") && error.contains("`slab_refill`"), "{error}");
}
