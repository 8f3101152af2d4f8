//! Distributions counted in the kernel: buckets that widen with the value, eight for each power of two.

/// Sub-buckets of a power of two, as a power of two: a bucket is at most an eighth as wide as its lowest value.
const PRECISION: u32 = 3;
/// Buckets: values below 2^40 are told apart (18 minutes in ns, a tebibyte); a larger one goes into the last.
pub const BUCKETS: usize = 304;

/// One distribution of one CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Histogram {
    /// Sum of the values.
    pub sum: u64,
    /// The largest value.
    pub max: u64,
    /// The smallest value with every bit inverted, so that a histogram begins as zeros.
    pub inverted_min: u64,
    /// Values by bucket.
    pub buckets: [u64; BUCKETS],
}

/// What is distributed: places in the map `HISTOGRAMS`.
pub mod place {
    use crate::sock::CLASSES;

    /// Direct reclaim, ns.
    pub const RECLAIM: u32 = 0;
    /// Compaction, ns.
    pub const COMPACTION: u32 = 1;
    /// Waits for send memory, ns.
    pub const WAIT: u32 = 2;
    /// Bytes charged beyond need: this, plus twice the protocol's class, plus 1 on the receive side.
    pub const BEYOND_NEED: u32 = 3;
    /// Bytes in `sk_forward_alloc` after a charge, likewise.
    pub const FORWARD_ALLOC: u32 = BEYOND_NEED + 2 * CLASSES;
    /// Places.
    pub const PLACES: u32 = FORWARD_ALLOC + 2 * CLASSES;
}

/// The bucket of a value.
#[inline(always)]
#[allow(
    clippy::inline_always,
    clippy::cast_possible_truncation,
    clippy::manual_ilog2,
    reason = "hot paths of the kernel side must not become calls, both sides have 64 bits, and `ilog2` may panic"
)]
pub const fn bucket(value: u64) -> usize {
    if value < 1 << PRECISION {
        return value as usize;
    }
    let power = 63 - value.leading_zeros();
    let sub = (value >> (power - PRECISION)) as usize & ((1 << PRECISION) - 1);
    let bucket = (((power - PRECISION + 1) as usize) << PRECISION) + sub;
    if bucket < BUCKETS { bucket } else { BUCKETS - 1 }
}

/// The lowest value of a bucket.
pub const fn lowest(bucket: usize) -> u64 {
    let (power, sub) = (bucket >> PRECISION, bucket as u64 & ((1 << PRECISION) - 1));
    if power == 0 { sub } else { (sub | 1 << PRECISION) << (power - 1) }
}

const _: () = assert!(size_of::<Histogram>() == (3 + BUCKETS) * 8);

#[cfg(test)]
mod tests {
    use super::{BUCKETS, bucket, lowest};

    #[test]
    fn every_bucket_holds_its_lowest_value_and_not_the_one_below() {
        for place in 0..BUCKETS {
            assert_eq!(bucket(lowest(place)), place);
            assert!(place == 0 || bucket(lowest(place) - 1) == place - 1);
        }
    }

    #[test]
    fn a_page_is_the_lowest_value_of_its_bucket() {
        assert_eq!(lowest(bucket(4096)), 4096);
        assert_ne!(bucket(4095), bucket(4096));
    }

    #[test]
    fn what_is_too_large_goes_into_the_last() {
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(bucket((1 << 40) - 1), BUCKETS - 1);
        assert!(lowest(BUCKETS - 1) < 1 << 40);
    }
}
