//! Kernel paths: stored once, and found again without unwinding.
//!
//! A path is the list of return addresses above the tracepoint's own frames, innermost first. It is met by
//! unwinding once; the slots of the stack at which its addresses lay are kept in its [`PathRecord`], counted in
//! words from the argument block of the tracepoint. A later event at the same stack depth, with the same order and
//! flags, is the same path when every slot holds its address.
//!
//! Why that is exact: the innermost slot lies at a fixed distance from the argument block, so what it holds is a
//! live return address. The frame that an address returns into has a size that the address alone decides (this is
//! what lets the kernel's ORC unwinder work), so once a slot holds the remembered live address, the next remembered
//! slot is the next live frame, and so on outwards. Where a stale copy of an address always lies beside the live one,
//! both slots are compared, so the live one is among them. Two things break the chain. The system call entry moves the
//! stack by a random distance (`RANDOMIZE_KSTACK_OFFSET`): only its outermost address, in the entry code, lies
//! beyond; it is left out, and follows from the address before it together with the equal depth. And code that
//! sizes its frame at run time: there the audit is the proof, see `Config::audit`.

/// Addresses a path keeps; deeper stacks are cut to their innermost ones and say so.
pub const FRAMES: usize = 64;

/// Slots that are compared at most: one an address, two where stale copies leave it open which is the live one.
pub const CHECKS: usize = 80;

/// Words of stack looked at for return addresses when a path is met: 8 KiB.
pub const WINDOW: usize = 1024;

/// Ranges of kernel text at which a path is cut.
pub const CUTS: usize = 8;

/// Remembered keys that share an index.
pub const WAYS: usize = 4;

/// "No path" where an index into `PATHS` is expected.
pub const NO_PATH: u32 = u32::MAX;

/// A path, stored once. Its index in the map `PATHS` names it inside the kernel side.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PathRecord {
    /// Hash of the addresses; 0: the record is not there yet.
    pub hash: u64,
    /// Addresses kept.
    pub frames: u32,
    /// Slots that a hit compares. 0: the path is unwound each time, because it is not known at which slots its
    /// addresses lie.
    pub checks: u32,
    /// 1: some address is compared at two slots, since either may be its live one.
    pub ambiguous: u32,
    /// 1: the stack was deeper than [`FRAMES`].
    pub truncated: u32,
    /// Words from the argument block to the last compared slot, plus one: what the copying read needs.
    pub words: u32,
    /// Zero.
    pub padding: u32,
    /// The slots compared, in words from the argument block.
    pub slots: [u16; CHECKS],
    /// What each of them must hold.
    pub expected: [u64; CHECKS],
    /// The addresses, innermost first.
    pub addresses: [u64; FRAMES],
    /// The live slot of each address is at least this. A stale copy of an address may lie below or above its live
    /// one, so a search from the inside gives a lower bound and one from the outside an upper one; each unwinding
    /// tightens both.
    pub low: [u16; FRAMES],
    /// ... and at most this.
    pub high: [u16; FRAMES],
}

/// One remembered key.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// Depth, order, migrate type, failure and gfp flags; 0 is no key.
    pub key: u64,
    /// Index of its [`PathRecord`].
    pub path: u32,
    /// Index of its [`crate::page::Counter`].
    pub counter: u32,
}

/// Keys with the same index: one cache line.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub struct Set {
    /// The keys.
    pub ways: [Way; WAYS],
}

/// What became of the lookups on one CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PathStats {
    /// Events found again without unwinding.
    pub hits: u64,
    /// Events unwound: first meetings, evicted keys, paths not remembered, and everything in the unwinding mode.
    pub unwound: u64,
    /// Keys thrown out for others.
    pub evicted: u64,
    /// Hits unwound again by the audit.
    pub audited: u64,
    /// Of those, hits that were another path.
    pub disagreed: u64,
    /// Of those, hits that could not be unwound.
    pub audit_failed: u64,
    /// Events whose path cannot be remembered (deeper than [`WINDOW`], or an address not found on the stack).
    pub unremembered: u64,
}

const _: () = assert!(size_of::<PathRecord>() == 32 + CHECKS * 10 + FRAMES * 12);
const _: () = assert!(size_of::<Set>() == 64);
