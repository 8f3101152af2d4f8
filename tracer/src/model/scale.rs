//! Shares of a whole in whole numbers.
//!
//! Owns: the method of largest remainders, by which a sample stands for all events and still adds up.

/// Splits `whole` in proportion to `weights`, one share a weight, so that the shares sum to `whole`. What rounding
/// down leaves over goes to the largest remainders, ties to the earlier ones; weights that sum to `whole` already
/// come back as they are. All shares are 0 where all weights are.
pub(super) fn apportion(whole: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
    if sum == 0 {
        return vec![0; weights.len()];
    }
    let products: Vec<u128> = weights.iter().map(|&weight| u128::from(weight) * u128::from(whole)).collect();
    // A weight is at most the sum, so a share is at most `whole`.
    let mut shares: Vec<u64> =
        products.iter().map(|product| u64::try_from(product / sum).unwrap_or(u64::MAX)).collect();
    let mut by_remainder: Vec<usize> = (0..weights.len()).collect();
    by_remainder.sort_by_key(|&index| std::cmp::Reverse(products[index] % sum));
    let given: u128 = shares.iter().map(|&share| u128::from(share)).sum();
    let left = usize::try_from(u128::from(whole) - given).unwrap_or(0);
    for &index in by_remainder.iter().take(left) {
        shares[index] += 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::apportion;

    #[test]
    fn the_largest_remainder_gets_what_rounding_leaves_over() {
        // The textbook election under a Hare quota: 100,000 votes, 10 seats.
        assert_eq!(apportion(10, &[47_000, 16_000, 15_900, 12_000, 6_000, 3_100]), [5, 2, 1, 1, 1, 0]);
    }

    #[test]
    fn weights_that_sum_to_the_whole_are_kept() {
        assert_eq!(apportion(6, &[1, 2, 3]), [1, 2, 3]);
    }

    #[test]
    fn equal_weights_favour_the_earlier() {
        assert_eq!(apportion(4, &[1, 1, 1]), [2, 1, 1]);
    }

    #[test]
    fn nothing_is_shared_among_nobody() {
        assert_eq!(apportion(7, &[0, 0]), [0, 0]);
        assert!(apportion(7, &[]).is_empty());
    }

    #[test]
    fn products_beyond_64_bits_do_not_wrap() {
        assert_eq!(apportion(u64::MAX, &[u64::MAX, u64::MAX]), [u64::MAX / 2 + 1, u64::MAX / 2]);
    }
}
