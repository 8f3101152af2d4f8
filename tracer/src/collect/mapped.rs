//! A BPF array mapped into memory: read without system calls while the kernel writes.

use std::{
    marker::PhantomData,
    mem::MaybeUninit,
    os::fd::{AsFd as _, AsRawFd as _},
    sync::atomic::{AtomicU64, Ordering},
};

use anyhow::{Context as _, Result, bail};
use aya::{
    Pod,
    maps::{Map, MapData},
};
use memmap2::{MmapOptions, MmapRaw};

/// An array map of `T`, created with `BPF_F_MMAPABLE`. `T` is a whole number of 8-byte words.
pub struct MappedArray<T> {
    memory: MmapRaw,
    len: usize,
    kind: PhantomData<T>,
}

impl<T: Pod> MappedArray<T> {
    /// Maps `map`.
    ///
    /// # Errors
    /// When it is no array of `T`, or the kernel refuses.
    pub fn new(map: &Map) -> Result<Self> {
        let Map::Array(map) = map else { bail!("the map is no array; build the tracer anew") };
        Self::of(map)
    }

    fn of(map: &MapData) -> Result<Self> {
        let info = map.info().context("asking about a BPF map")?;
        if info.value_size() as usize != size_of::<T>() || !size_of::<T>().is_multiple_of(8) {
            bail!("the map's values have {} bytes, not {}; build the tracer anew", info.value_size(), size_of::<T>());
        }
        let len = info.max_entries() as usize;
        let memory = MmapOptions::new()
            .len(len * size_of::<T>())
            .map_raw_read_only(map.fd().as_fd().as_raw_fd())
            .with_context(|| format!("mapping {} bytes of a BPF map into memory", len * size_of::<T>()))?;
        Ok(Self { memory, len, kind: PhantomData })
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The word at byte `offset` of an element.
    pub fn word(&self, index: usize, offset: usize) -> u64 {
        assert!(index < self.len && offset.is_multiple_of(8) && offset < size_of::<T>(), "within the element");
        self.load((index * size_of::<T>() + offset) / 8)
    }

    /// A copy of an element, taken word by word while the kernel may be writing: each word is whole, the words may
    /// be of different moments.
    pub fn get(&self, index: usize) -> T {
        assert!(index < self.len, "within the array");
        let mut value = MaybeUninit::<T>::uninit();
        let to = value.as_mut_ptr().cast::<u64>();
        for word in 0..size_of::<T>() / 8 {
            let read = self.load(index * size_of::<T>() / 8 + word);
            // SAFETY: `word` is below the number of words of `T`, and `T` may be written unaligned.
            unsafe { to.add(word).write_unaligned(read) };
        }
        // SAFETY: every byte was written, and every bit pattern is a value of a `Pod`.
        unsafe { value.assume_init() }
    }

    #[expect(clippy::cast_ptr_alignment, reason = "a mapping begins at a page")]
    fn load(&self, word: usize) -> u64 {
        // SAFETY: callers stay below `len` elements, the mapping is page aligned and lives as long as `self`; the
        // kernel writes concurrently, so the access is atomic.
        unsafe { (*self.memory.as_ptr().cast::<AtomicU64>().add(word)).load(Ordering::Relaxed) }
    }
}
