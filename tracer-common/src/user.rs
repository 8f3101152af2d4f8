//! The user part of a path.

/// Addresses kept; deeper stacks are cut to their innermost ones.
pub const USER_FRAMES: usize = 64;

/// A user stack of one process.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct UserPath {
    /// Addresses kept.
    pub frames: u32,
    /// The process (thread group) in whose memory they lie.
    pub process: u32,
    /// The addresses, innermost first: where the process entered the kernel, then return addresses.
    pub addresses: [u64; USER_FRAMES],
}

const _: () = assert!(size_of::<UserPath>() == 8 + USER_FRAMES * 8);
