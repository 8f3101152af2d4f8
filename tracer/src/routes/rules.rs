//! The rules by which a path's route and context are told: which kernel function names mean what.
//!
//! Names as written in kernels 5.10 to 7.3, without what the compiler or allocation profiling appends. Must not know
//! how a path is searched.

use super::{Context, Route};

/// Names one of which a function bears. `*` stands for anything at the end of a name, and for anything before it as
/// well where it also stands at the start.
pub(super) type Names = &'static [&'static str];

/// Whether one of the names is this one.
pub(super) fn bears(function: &str, names: Names) -> bool {
    names.iter().any(|name| match name.strip_suffix('*') {
        None => function == *name,
        Some(start) => match start.strip_prefix('*') {
            None => function.starts_with(start),
            Some(part) => function.contains(part),
        },
    })
}

/// Functions that take pages for a route. The innermost frame that fits a rule decides; for one frame, the first
/// rule. The page allocator's own functions (`alloc_pages*`, `get_page_from_freelist`, `folio_alloc`, ...) fit none.
pub(super) const ROUTES: &[(Route, Names)] = &[
    (
        Route::KmallocLarge,
        // `kmalloc_order*` and `kmalloc_large_node` in 5.10, `__kmalloc_large_node` in 6.1, `___kmalloc_large_node`
        // from 6.12 on.
        &["___kmalloc_large_node", "__kmalloc_large*", "kmalloc_large*", "kmalloc_order*"],
    ),
    (
        Route::SlabRefill,
        &[
            "alloc_slab_page",
            "allocate_slab",
            "new_slab*",
            "___slab_alloc",
            "__slab_alloc*",
            "alloc_single_from_new_slab",
            "alloc_from_new_slab",
            // Sheaves of objects, from 6.18 on.
            "refill_objects*",
            "__refill_objects*",
            "refill_sheaf",
            "alloc_full_sheaf",
            "__pcs_replace_empty_main",
            // The allocators SLAB (until 6.7) and SLOB (until 6.3).
            "kmem_getpages",
            "cache_grow_begin",
            "cache_alloc_refill",
            "slob_new_pages",
            // Whatever was inlined into the entry.
            "kmem_cache_alloc*",
            "__kmem_cache_alloc*",
            "kmem_cache_prefill_sheaf",
            "__kmalloc*",
            "kmalloc_trace",
            "kmalloc_node_trace",
        ],
    ),
    (
        Route::PageFragment,
        &[
            "skb_page_frag_refill",
            "sk_page_frag_refill",
            "page_frag_alloc*",
            "__page_frag_alloc*",
            "page_frag_refill*",
            "__page_frag_refill*",
            "page_frag_cache_refill",
            "__page_frag_cache_refill",
            "__page_frag_cache_prepare",
            "vhost_net_page_frag_refill",
        ],
    ),
    (
        Route::DriverReceive,
        &[
            "page_pool_*",
            "__page_pool_*",
            "__dev_alloc_page*",
            "dev_alloc_page*",
            "*_alloc_rx_*",
            "*_refill_rx_*",
            "*_rx_refill*",
        ],
    ),
    (
        Route::SkbData,
        &[
            "alloc_skb_with_frags",
            "sock_alloc_send_pskb",
            "skb_copy_ubufs",
            "skb_splice_from_iter",
            "linear_to_page",
            // Rings of packet sockets.
            "alloc_pg_vec",
            "alloc_one_pg_vec_page",
            "packet_set_ring",
        ],
    ),
    (
        Route::PageTable,
        &[
            "pte_alloc*",
            "__pte_alloc*",
            "pmd_alloc*",
            "__pmd_alloc",
            "pud_alloc*",
            "__pud_alloc",
            "p4d_alloc*",
            "__p4d_alloc",
            "pgd_alloc*",
            "_pgd_alloc",
            "__pgd_alloc",
            "preallocate_pmds",
            "pgtable_alloc*",
            "pagetable_alloc*",
            "pte_fragment_alloc",
        ],
    ),
    (
        Route::Vmalloc,
        &[
            "vm_area_alloc_pages",
            "__vmalloc*",
            "vmalloc*",
            "vzalloc*",
            "alloc_thread_stack_node",
            "module_alloc",
            "execmem_*",
        ],
    ),
    (Route::Pipe, &["pipe_write", "anon_pipe_write", "anon_pipe_get_page", "copy_splice_read"]),
    (
        Route::Bpf,
        &[
            "bpf_map_*",
            "__bpf_map_*",
            "bpf_ringbuf_*",
            "bpf_arena_*",
            "arena_alloc_pages",
            "arena_vm_fault",
            "bpf_prog_alloc*",
            "bpf_prog_realloc",
            "bpf_prog_pack_alloc",
            "bpf_jit_*",
            "bpf_struct_ops_*",
            "bpf_mem_*",
        ],
    ),
    (
        Route::AnonymousFault,
        &[
            "do_anonymous_page",
            "alloc_anon_folio",
            "do_wp_page",
            "wp_page_copy",
            "do_cow_fault",
            // Where `do_cow_fault` is inlined; its other ways have functions further in.
            "do_fault",
            // Copying at fork.
            "folio_prealloc",
            "page_copy_prealloc",
            "copy_present_page",
            // Transparent huge pages.
            "do_huge_pmd_anonymous_page",
            "__do_huge_pmd_anonymous_page",
            "vma_alloc_anon_folio_pmd",
            "do_huge_pmd_wp_page*",
            "get_huge_zero_page",
            "mm_get_huge_zero_*",
            "collapse_huge_page",
            "khugepaged_alloc_page",
            // Swap.
            "do_swap_page",
            "alloc_swap_folio",
            "read_swap_cache*",
            "__read_swap_cache*",
            "swap_cache_alloc_folio",
            "swapin_*",
            "swap_cluster_readahead",
            // userfaultfd and same-page merging.
            "mfill_atomic*",
            "ksm_might_need_to_copy",
        ],
    ),
    (
        Route::PageCache,
        &[
            "filemap_*",
            "__filemap_*",
            "page_cache_*",
            "__page_cache_*",
            "pagecache_get_page",
            "ondemand_readahead",
            "force_page_cache_*",
            "__do_page_cache_readahead",
            "ra_alloc_folio",
            "grab_cache_page*",
            "read_cache_*",
            "do_read_cache_*",
            "find_or_create_page",
            "shmem_*",
            "collapse_file",
        ],
    ),
    // Pages needed to free or move others are not what the caller asked for.
    (
        Route::Other,
        &[
            "try_to_free_pages",
            "try_to_free_mem_cgroup_pages",
            "shrink_node",
            "shrink_lruvec",
            "balance_pgdat",
            "compaction_alloc*",
            "migrate_pages*",
            "alloc_migration_target",
            "tlb_next_batch",
            "tlb_remove_table*",
        ],
    ),
];

/// Receive paths of network drivers. A page fragment taken below one of these is a receive buffer.
pub(super) const RECEIVE_BUFFERS: Names = &[
    "napi_alloc_*",
    "__napi_alloc_*",
    "netdev_alloc_*",
    "__netdev_alloc_*",
    "try_fill_recv",
    "virtnet_*",
    "add_recvbuf*",
];

/// Where a kernel path begins. The innermost frame that fits a rule decides.
pub(super) const CONTEXTS: &[(Context, Names)] = &[
    (
        Context::Softirq,
        &[
            "handle_softirqs",
            "__do_softirq",
            "do_softirq*",
            // Up to 6.1 the same address as `__do_softirq`.
            "__softirqentry_text_start",
            // The handlers, for a path that is cut at its entry. `rcu_core` is none: it may run in a thread.
            "net_rx_action",
            "net_tx_action",
            "run_timer_softirq",
            "hrtimer_run_softirq",
            "tasklet_action*",
            "tasklet_hi_action*",
            "rcu_core_si",
            "blk_done_softirq",
            "irq_poll_softirq",
            "run_rebalance_domains",
            "sched_balance_softirq",
        ],
    ),
    (
        Context::PageFault,
        &[
            "asm_exc_page_fault",
            "exc_page_fault",
            "do_user_addr_fault",
            // arm64, and other architectures' names for it.
            "do_mem_abort",
            "do_page_fault",
            "__do_page_fault",
            "do_translation_fault",
            "el0_da",
            "el0_ia",
            "el1_abort",
        ],
    ),
    (
        Context::Interrupt,
        &[
            "asm_sysvec_*",
            "sysvec_*",
            "__sysvec_*",
            "asm_common_interrupt",
            "common_interrupt",
            "__common_interrupt",
            "asm_exc_nmi",
            "exc_nmi",
            "handle_irq*",
            "__handle_irq*",
            "handle_edge_irq",
            "handle_level_irq",
            "handle_fasteoi_irq",
            "handle_percpu_devid_irq",
            "handle_domain_irq",
            "generic_handle_irq*",
            "generic_handle_domain_irq*",
            // arm64.
            "gic_handle_irq",
            "do_interrupt_handler",
            "el1_interrupt",
            "el0_interrupt",
            "el1h_64_irq*",
            "el0t_64_irq*",
            "el1_irq",
            "el0_irq",
        ],
    ),
    // Signals and other work on the way back to user space: neither what was interrupted nor what was called.
    (
        Context::Other,
        &["exit_to_user_mode_*", "irqentry_exit_to_user_mode*", "syscall_exit_to_user_mode*", "do_notify_resume"],
    ),
    (
        Context::KernelThread,
        &["kthread", "worker_thread", "io_wq_worker", "vhost_task_fn", "kernel_init", "ret_from_fork*"],
    ),
];

/// Prefixes of the functions that the kernel's system call table points to.
pub(super) const SYSCALL_ENTRIES: &[&str] = &[
    "__x64_sys_",
    "__se_sys_",
    "__do_sys_",
    "__ia32_compat_sys_",
    "__ia32_sys_",
    "__x32_compat_sys_",
    "__x64_compat_sys_",
    "__se_compat_sys_",
    "__do_compat_sys_",
    "__arm64_compat_sys_",
    "__arm64_sys_",
    "__riscv_sys_",
    "__s390x_sys_",
    "__s390_sys_",
];

/// Where system calls enter the kernel, whichever they are.
pub(super) const SYSCALL_DISPATCH: Names = &[
    "x64_sys_call",
    "x32_sys_call",
    "ia32_sys_call",
    "do_syscall_64",
    "entry_SYSCALL_64*",
    "do_int80_*",
    "__do_fast_syscall_32",
    "do_fast_syscall_32",
    "do_SYSENTER_32",
    "entry_SYSENTER_compat*",
    "entry_SYSCALL_compat*",
    // arm64, RISC-V, s390 and POWER.
    "invoke_syscall*",
    "el0_svc*",
    "do_el0_svc*",
    "do_trap_ecall_u",
    "__do_syscall",
    "system_call_exception",
];

/// Prefixes of functions that do the work of a system call under its name. An entry that jumps to one of them
/// leaves no frame of its own.
pub(super) const SYSCALL_BODIES: &[&str] = &["__sys_", "ksys_", "do_sys_", "sys_"];

/// System calls whose kernel function bears another name: entries first, then bodies.
pub(super) const SYSCALL_NAMES: &[(&str, &str)] = &[
    ("newuname", "uname"),
    ("newstat", "stat"),
    ("newlstat", "lstat"),
    ("newfstat", "fstat"),
    ("sendfile64", "sendfile"),
    ("umount", "umount2"),
    ("mmap_pgoff", "mmap"),
    ("vm_mmap_pgoff", "mmap"),
    ("__vm_munmap", "munmap"),
    ("do_mprotect_pkey", "mprotect"),
    ("do_madvise", "madvise"),
    ("do_sys_openat2", "openat"),
    ("do_readv", "readv"),
    ("do_writev", "writev"),
    ("do_mkdirat", "mkdirat"),
    ("do_unlinkat", "unlinkat"),
    ("do_epoll_wait", "epoll_wait"),
    ("do_execveat_common", "execve"),
    ("do_group_exit", "exit_group"),
    ("kernel_clone", "clone"),
];

/// What the tracer itself puts on a stack, innermost: its BPF programs and what runs them.
pub(super) const PLUMBING: Names = &[
    "bpf_prog_*",
    "bpf_get_stack*",
    "__bpf_get_stack*",
    "get_perf_callchain",
    "bpf_trace_run*",
    "__bpf_trace_*",
    "__traceiter_*",
    "__probestub_*",
    "bpf_dispatcher_*",
    "bpf_trampoline_*",
    "__bpf_prog_enter*",
    "__bpf_prog_exit*",
    "trace_call_bpf",
    "perf_trace_*",
    "trace_event_raw_event_*",
];
