//! By which route an allocation came to the page allocator, and in which context, told from its frames.
//!
//! One table of rules each, over function names of kernels 5.10 to 7.3. Must not know: files, aya, how a route is
//! shown beyond its word.

use std::{fmt, str::FromStr};

use anyhow::{Error, bail};
use serde::{Deserialize, Serialize};

use crate::batch::Frame;

/// How a request came to the page allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// A slab cache had no free object left.
    SlabRefill,
    /// `kmalloc` of more than the largest slab cache holds.
    KmallocLarge,
    /// A socket's or network device's page fragment cache was used up.
    PageFragment,
    /// Pages taken for a socket buffer's data.
    SkbData,
    /// Page cache and shared memory.
    PageCache,
    /// Anonymous memory, touched first, copied, or brought in from swap.
    AnonymousFault,
    /// Page tables.
    PageTable,
    /// `vmalloc`, kernel stacks included.
    Vmalloc,
    /// Buffers of a pipe.
    Pipe,
    /// Receive buffers of a network driver.
    DriverReceive,
    /// BPF maps and programs, where they take pages themselves.
    Bpf,
    /// None of these.
    Other,
}

impl Route {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 12] = [
        Self::SlabRefill,
        Self::KmallocLarge,
        Self::PageFragment,
        Self::SkbData,
        Self::PageCache,
        Self::AnonymousFault,
        Self::PageTable,
        Self::Vmalloc,
        Self::Pipe,
        Self::DriverReceive,
        Self::Bpf,
        Self::Other,
    ];

    /// Its word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::SlabRefill => "slab_refill",
            Self::KmallocLarge => "kmalloc_large",
            Self::PageFragment => "page_fragment",
            Self::SkbData => "skb_data",
            Self::PageCache => "page_cache",
            Self::AnonymousFault => "anonymous_fault",
            Self::PageTable => "page_table",
            Self::Vmalloc => "vmalloc",
            Self::Pipe => "pipe",
            Self::DriverReceive => "driver_receive",
            Self::Bpf => "bpf",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Route {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        match Self::ALL.into_iter().find(|route| route.word() == word) {
            Some(route) => Ok(route),
            None => bail!(
                "unknown route `{}`: name one of `{}`",
                word.escape_debug(),
                Self::ALL.map(Self::word).join("`, `")
            ),
        }
    }
}

/// What the kernel was doing when it asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Context {
    /// A system call, by the kernel's name for it without `sys_`; `unknown` where no frame names it.
    Syscall(String),
    /// A softirq, wherever it ran.
    Softirq,
    /// An interrupt's handler.
    Interrupt,
    /// A page fault, of user space or of the kernel touching user memory.
    PageFault,
    /// A kernel thread.
    KernelThread,
    /// The frames do not tell.
    Other,
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syscall(name) => f.pad(&format!("syscall:{name}")),
            Self::Softirq => f.pad("softirq"),
            Self::Interrupt => f.pad("interrupt"),
            Self::PageFault => f.pad("page_fault"),
            Self::KernelThread => f.pad("kernel_thread"),
            Self::Other => f.pad("other"),
        }
    }
}

/// Names one of which a frame bears; a name that ends in `*` stands for all that begin so. Compared with the
/// symbol's [`stem`].
type Names = &'static [&'static str];

/// Functions that take pages for a route. The innermost frame that fits a rule decides; for one frame, the first
/// rule. The page allocator's own functions (`alloc_pages*`, `get_page_from_freelist`, `folio_alloc`, ...) fit none.
const ROUTES: &[(Route, Names)] = &[
    (
        Route::SlabRefill,
        // From 6.18 on slab fills sheaves of objects (`refill_sheaf`, `refill_objects`); 7.x has no `___slab_alloc`.
        &[
            "alloc_slab_page",
            "allocate_slab",
            "new_slab",
            "new_slab_objects",
            "___slab_alloc",
            "__slab_alloc",
            "cache_grow_begin",
            "cache_alloc_refill",
            "kmem_getpages",
            "refill_objects",
            "refill_sheaf",
            "alloc_full_sheaf",
            "__pcs_replace_empty_main",
            "__kmem_cache_alloc_bulk",
            "kmem_cache_alloc_bulk",
            "alloc_from_new_slab",
            "slob_new_pages",
        ],
    ),
    (
        Route::KmallocLarge,
        &["___kmalloc_large_node", "__kmalloc_large_node*", "__kmalloc_large", "kmalloc_large*", "kmalloc_order*"],
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
            "__page_frag_cache_refill",
            "__page_frag_cache_prepare",
            "page_frag_cache_refill",
            "vhost_net_page_frag_refill",
        ],
    ),
    (Route::DriverReceive, &["page_pool_*", "__page_pool_*", "skb_pp_*"]),
    (
        Route::SkbData,
        &[
            "alloc_skb_with_frags",
            "sock_alloc_send_pskb",
            "skb_copy_ubufs",
            "skb_append_pagefrags",
            "skb_splice_from_iter",
            "linear_to_page",
            "pskb_expand_head",
            "sock_kmalloc",
            "netlink_alloc_large_skb",
            "__alloc_skb",
            "tpacket_*",
            "alloc_pg_vec",
            "packet_set_ring",
            "sk_msg_alloc",
            "tls_*",
            "smc_*",
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
            "huge_pte_alloc",
            "__get_locked_pte",
            "get_zeroed_page_table",
            "pte_fragment_alloc",
            "vmemmap_alloc_block*",
            "pti_*",
        ],
    ),
    (
        Route::Vmalloc,
        &[
            "vm_area_alloc_pages",
            "__vmalloc_area_node",
            "__vmalloc_*",
            "__vmalloc",
            "vmalloc*",
            "vzalloc*",
            "vmap_pages_*",
            "alloc_vmap_area",
            "__get_vm_area_node",
            "alloc_thread_stack_node",
            "module_alloc",
            "execmem_*",
        ],
    ),
    (Route::Pipe, &["pipe_write", "anon_pipe_write", "anon_pipe_get_page"]),
    (
        Route::Bpf,
        &[
            "bpf_map_*",
            "__bpf_map_*",
            "bpf_prog_alloc*",
            "bpf_prog_realloc",
            "bpf_prog_pack_alloc",
            "bpf_ringbuf_*",
            "bpf_jit_*",
            "bpf_int_jit_compile",
            "bpf_arena_*",
            "arena_*",
            "bpf_mem_*",
            "bpf_trampoline_*",
            "arch_alloc_bpf_trampoline",
            "bpf_struct_ops_*",
            "__bpf_*",
            "bpf_prog_load",
            "bpf_check",
            "bpf_test_init",
        ],
    ),
    (
        Route::AnonymousFault,
        &[
            "do_anonymous_page",
            "alloc_anon_folio",
            "wp_page_copy",
            "do_wp_page",
            "do_cow_fault",
            "do_cow_page",
            "folio_prealloc",
            "page_copy_prealloc",
            "copy_present_page",
            "do_huge_pmd_anonymous_page",
            "__do_huge_pmd_anonymous_page",
            "vma_alloc_anon_folio_pmd",
            "do_huge_pmd_wp_page*",
            "do_swap_page",
            "alloc_swap_folio",
            "read_swap_cache*",
            "__read_swap_cache*",
            "swap_cache_alloc_folio",
            "swapin_*",
            "swap_cluster_readahead",
            "alloc_charge_folio",
            "alloc_charge_hpage",
            "khugepaged_alloc_page",
            "collapse_huge_page",
            "get_huge_zero_page",
            "get_huge_zero_folio",
            "mm_get_huge_zero_*",
            "hugetlb_*",
            "alloc_hugetlb_*",
            "mfill_atomic*",
            "move_anon_*",
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
            "ondemand_readahead",
            "force_page_cache_*",
            "pagecache_get_page",
            "grab_cache_page*",
            "read_cache_*",
            "do_read_cache_*",
            "add_to_page_cache*",
            "generic_file_*",
            "generic_perform_write",
            "iomap_*",
            "shmem_*",
            "simple_write_begin",
            "grow_dev_*",
            "bdev_getblk",
            "__getblk*",
            "collapse_file",
            "find_or_create_page",
            "mpage_*",
            "read_pages",
            "__do_page_cache_readahead",
            "splice_direct_to_actor",
            "copy_splice_read",
            "generic_file_splice_read",
        ],
    ),
    // Pages needed to get pages are not what the caller asked for.
    (
        Route::Other,
        &[
            "try_to_free_pages",
            "try_to_free_mem_cgroup_pages",
            "shrink_node",
            "shrink_lruvec",
            "balance_pgdat",
            "compact_zone*",
            "compaction_alloc*",
            "migrate_pages*",
            "alloc_migration_target",
        ],
    ),
];

/// Receive paths of network drivers. A page fragment taken below one of these is a receive buffer.
const RECEIVE_BUFFERS: Names = &[
    "napi_alloc_*",
    "__napi_alloc_*",
    "netdev_alloc_*",
    "__netdev_alloc_*",
    "try_fill_recv",
    "virtnet_*",
    "add_recvbuf*",
];

/// Where a kernel path begins. The innermost frame that fits a rule decides.
const CONTEXTS: &[(Context, Names)] = &[
    (
        Context::Softirq,
        // `handle_softirqs` from 6.10 on. The handlers stand for a path cut at its entry; `rcu_core` may also run in
        // a thread, `rcu_core_si` may not.
        &[
            "handle_softirqs",
            "__do_softirq",
            "do_softirq*",
            "__softirqentry_text_start",
            "run_ksoftirqd",
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
            "do_kern_addr_fault",
            "do_page_fault",
            "__do_page_fault",
            "do_translation_fault",
            "do_mem_abort",
            "el0_da",
            "el0_ia",
            "el1_abort",
            "async_page_fault",
            "page_fault",
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
            "asm_spurious_interrupt",
            "handle_irq*",
            "__handle_irq*",
            "handle_edge_irq",
            "handle_level_irq",
            "handle_fasteoi_irq",
            "handle_percpu_devid_irq",
            "handle_domain_irq",
            "generic_handle_*irq*",
            "do_IRQ",
            "do_interrupt_handler",
            "gic_handle_irq",
            "el1_interrupt",
            "el0_interrupt",
            "el1h_64_irq*",
            "el0t_64_irq*",
            "el1_irq",
            "el0_irq",
            "asm_exc_nmi",
            "exc_nmi",
            "default_do_nmi",
            "smp_apic_timer_interrupt",
            "apic_timer_interrupt",
        ],
    ),
    (
        Context::KernelThread,
        // `ret_from_fork*` is also the return of a new process to user space; there the functions below stand in
        // `SYSCALL_EXIT` further in.
        &[
            "kthread",
            "worker_thread",
            "rescuer_thread",
            "io_wq_worker",
            "vhost_task_fn",
            "kernel_init",
            "ret_from_fork*",
        ],
    ),
];

/// Prefixes of the functions that the kernel's system call table points to.
const SYSCALL_ENTRIES: [&str; 16] = [
    "__x64_sys_",
    "__se_sys_",
    "__do_sys_",
    "__arm64_sys_",
    "__ia32_compat_sys_",
    "__x32_compat_sys_",
    "__arm64_compat_sys_",
    "__se_compat_sys_",
    "__do_compat_sys_",
    "__ia32_sys_",
    "__x32_sys_",
    "__riscv_sys_",
    "__s390x_sys_",
    "__s390_sys_",
    "__powerpc_sys_",
    "__loongarch_sys_",
];

/// Where system calls enter the kernel, whichever they are.
const SYSCALL_DISPATCH: Names = &[
    "x64_sys_call",
    "x32_sys_call",
    "ia32_sys_call",
    "do_syscall_64",
    "do_syscall_x64",
    "entry_SYSCALL_64*",
    "do_int80_*",
    "__do_fast_syscall_32",
    "do_fast_syscall_32",
    "do_syscall_32_irqs_on",
    "entry_SYSENTER_compat*",
    "entry_SYSCALL_compat*",
    "invoke_syscall*",
    "el0_svc*",
    "do_el0_svc*",
    "syscall_exit_to_user_mode*",
];

/// Functions that implement a system call under its own name, for when the entry itself left no frame because it
/// jumped to them.
const SYSCALL_BODIES: [&str; 4] = ["__sys_", "ksys_", "do_sys_", "sys_"];

/// System calls whose kernel function bears another name.
const SYSCALL_NAMES: [(&str, &str); 9] = [
    ("newuname", "uname"),
    ("newstat", "stat"),
    ("newlstat", "lstat"),
    ("newfstat", "fstat"),
    ("sendfile64", "sendfile"),
    ("mmap_pgoff", "mmap"),
    ("openat2", "openat"),
    ("umount", "umount2"),
    ("fadvise64_64", "fadvise64"),
];

/// The route of a path, innermost frame first. Frames of what was interrupted do not count.
pub fn route(frames: &[Frame]) -> Route {
    let own = own_frames(frames);
    for (index, frame) in own.iter().enumerate() {
        let stem = stem(&frame.name);
        if let Some(&(route, _)) = ROUTES.iter().find(|(_, names)| bears(stem, names)) {
            let receives = || own[index..].iter().any(|frame| bears(self::stem(&frame.name), RECEIVE_BUFFERS));
            return if route == Route::PageFragment && receives() { Route::DriverReceive } else { route };
        }
    }
    Route::Other
}

/// The context of a path, innermost frame first: the innermost entry into the kernel, since that is the cause; what
/// it interrupted is chance.
pub fn context(frames: &[Frame]) -> Context {
    match frames.iter().enumerate().find_map(|(index, frame)| Some((index, entry(&frame.name)?))) {
        None => Context::Other,
        Some((_, Entry::Known(context))) => context,
        Some((_, Entry::Syscall(name))) => Context::Syscall(syscall_name(name)),
        Some((index, Entry::UnnamedSyscall)) => {
            // The outermost body is the system call's own; those further in serve several.
            let body = frames[..index].iter().rev().find_map(|frame| {
                let stem = stem(&frame.name);
                SYSCALL_BODIES.iter().find_map(|prefix| stem.strip_prefix(prefix))
            });
            Context::Syscall(body.map_or_else(|| "unknown".to_owned(), syscall_name))
        }
    }
}

/// A path without the innermost frames that the tracer itself put there: its BPF programs and what runs them.
/// Never empty unless `frames` is.
pub fn trim(frames: &[Frame]) -> &[Frame] {
    const PLUMBING: Names = &[
        "bpf_prog_*",
        "bpf_get_stack*",
        "__bpf_get_stack*",
        "bpf_trace_run*",
        "__bpf_trace_*",
        "__bpf_trace_run",
        "__traceiter_*",
        "__probestub_*",
        "bpf_dispatcher_*",
        "bpf_trampoline_*",
        "__bpf_prog_enter*",
        "__bpf_prog_exit*",
        "trace_call_bpf",
        "perf_call_bpf_enter",
        "perf_trace_*",
        "perf_trace_run_bpf_submit",
        "trace_event_raw_event_*",
        "get_perf_callchain",
        "stack_map_get_build_id_offset",
    ];
    let kept = frames.iter().position(|frame| !bears(stem(&frame.name), PLUMBING));
    kept.map_or(frames, |first| &frames[first..])
}

/// How a frame enters the kernel.
enum Entry<'a> {
    Known(Context),
    Syscall(&'a str),
    UnnamedSyscall,
}

/// What kind of entry a function is, if it is one.
fn entry(name: &str) -> Option<Entry<'_>> {
    let stem = stem(name);
    if let Some((context, _)) = CONTEXTS.iter().find(|(_, names)| bears(stem, names)) {
        return Some(Entry::Known(context.clone()));
    }
    if let Some(name) = SYSCALL_ENTRIES.iter().find_map(|prefix| stem.strip_prefix(prefix)) {
        return Some(Entry::Syscall(name));
    }
    bears(stem, SYSCALL_DISPATCH).then_some(Entry::UnnamedSyscall)
}

/// The frames up to the innermost entry, that entry included.
fn own_frames(frames: &[Frame]) -> &[Frame] {
    let end = frames.iter().position(|frame| entry(&frame.name).is_some());
    end.map_or(frames, |end| &frames[..=end])
}

/// The word for a system call.
fn syscall_name(name: &str) -> String {
    let known = SYSCALL_NAMES.iter().find(|(kernel, _)| *kernel == name);
    known.map_or(name, |(_, user)| user).to_owned()
}

/// A symbol's name as written in the source: without what the compiler appended (`.isra.0`, `.constprop.0`,
/// `.part.0`, `.cold`) and without `_noprof`, which allocation profiling appends from 6.10 on.
fn stem(name: &str) -> &str {
    let source = name.split('.').next().unwrap_or(name);
    source.strip_suffix("_noprof").unwrap_or(source)
}

fn bears(stem: &str, names: Names) -> bool {
    names.iter().any(|name| match name.strip_suffix('*') {
        Some(start) => stem.starts_with(start),
        None => stem == *name,
    })
}

#[cfg(test)]
mod tests;
