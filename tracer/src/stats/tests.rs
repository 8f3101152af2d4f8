//! Expected values are those of `SciPy` 1.17 (`ttest_ind` with `equal_var=False`) and Python's `statistics`.

#![expect(clippy::float_cmp, reason = "sums of small whole numbers are exact")]

use super::{MeanKind, Summary, Welch, change_percent, share_error};

fn group(values: &[f64]) -> Summary {
    Summary::new(values.to_vec(), MeanKind::Amean).expect("numbers")
}

fn assert_near(is: f64, should: f64) {
    assert!((is - should).abs() <= should.abs() * 1e-9, "{is} is not {should}");
}

#[test]
fn three_runs_have_mean_spread_and_range() {
    let runs = group(&[14.715, 14.593, 15.954]);
    assert_near(runs.mean, 15.087_333_333_333);
    assert_near(runs.stddev.expect("three runs"), 0.753_030_101_213);
    assert_near(runs.coeff_var_percent.expect("three runs"), 4.991_141_141_885);
    assert_eq!((runs.n, runs.min, runs.max), (3, 14.593, 15.954));
}

#[test]
fn rates_have_a_harmonic_mean() {
    let mean = |values: &[f64]| Summary::new(values.to_vec(), MeanKind::Hmean).expect("numbers").mean;
    assert_near(mean(&[1125.52, 1376.38, 1131.40]), 1_200.536_659_180_835);
    assert_near(mean(&[178.38]), 178.38);
    assert_near(mean(&[1e-320, 1e-320]), 1e-320);
    assert_eq!(mean(&[0.0, 5.0]), 0.0);
    assert_eq!(mean(&[-1.0, 5.0]), 0.0);
}

#[test]
fn a_single_run_has_no_spread_and_is_not_tested() {
    let single = group(&[93.9]);
    assert_eq!((single.stddev, single.coeff_var_percent), (None, None));
    assert_eq!(Welch::new(&single, &group(&[1.0, 2.0])), None);
    assert_eq!(Welch::new(&group(&[1.0, 2.0]), &single), None);
}

#[test]
fn welch_agrees_with_scipy() {
    for (a, b, t, freedom, p) in [
        (
            &[1125.52, 1376.38, 1131.40][..],
            &[1247.04, 1149.95, 1163.85][..],
            -0.274_343_009,
            2.528_421_124,
            0.804_666_520,
        ),
        (&[45486.98, 45584.18, 45703.86], &[46089.43, 45994.21, 45720.84], 2.701_331_087, 3.168_054_261, 0.069_467_250),
        (&[10.0, 10.2, 9.9, 10.1], &[11.0, 11.3, 10.9], 7.452_336_106, 3.145_760_336, 0.004_241_904),
    ] {
        let welch = Welch::new(&group(a), &group(b)).expect("enough runs");
        for (is, should) in [(welch.t, t), (welch.degrees_of_freedom, freedom), (Some(welch.p), p)] {
            let is = is.expect("there is spread");
            assert!((is - should).abs() < 1e-8 * should.abs().max(1.0), "{is} is not {should}");
        }
        assert_eq!(welch.is_significant(), p < 0.05);
    }
}

#[test]
fn groups_without_spread_differ_only_if_their_values_do() {
    let (five, six) = (group(&[5.1, 5.1, 5.1]), group(&[6.0, 6.0]));
    let same = Welch::new(&five, &five).expect("enough runs");
    let other = Welch::new(&five, &six).expect("enough runs");
    assert_eq!((same.t, same.p, same.is_significant()), (None, 1.0, false));
    assert_eq!((other.t, other.p, other.is_significant()), (None, 0.0, true));
}

#[test]
fn what_is_no_number_is_no_group() {
    for values in [vec![], vec![f64::NAN], vec![1.0, f64::INFINITY]] {
        assert_eq!(Summary::new(values, MeanKind::Amean), None);
    }
}

#[test]
fn numbers_beyond_squaring_are_not_tested_rather_than_wrong() {
    let huge = group(&[1e300, 1.7e308]);
    assert_eq!(huge.stddev, None);
    assert_eq!(Welch::new(&huge, &huge), None);
}

#[test]
fn a_change_is_in_percent_of_the_first() {
    assert_near(change_percent(200.0, 150.0).expect("a base"), -25.0);
    assert_near(change_percent(-200.0, -150.0).expect("a base"), 25.0);
    assert_eq!(change_percent(0.1 + 0.2, 0.1 + 0.2), Some(0.0));
    assert_eq!(change_percent(0.0, 0.0), Some(0.0));
    assert_eq!(change_percent(0.0, 5.0), None);
    assert_eq!(change_percent(1e-300, 1e300), None);
    assert_eq!(change_percent(5.0, 0.0), Some(-100.0));
}

/// Sampling as the kernel side does it: after each sample the next one comes at a random distance.
#[test]
fn the_bound_of_a_sampled_share_holds_in_nineteen_of_twenty_runs() {
    const TOTAL: u64 = 40_000;
    let mut state = 7_u64;
    let mut chance = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    // Parts per thousand that a path has of all events.
    for (part, one_in) in [(1, 16), (20, 64), (300, 64), (900, 64), (999, 16)] {
        let (mut held, runs) = (0, 400);
        for _ in 0..runs {
            let (mut samples, mut hits, mut real, mut next) = (0, 0, 0, 1);
            for event in 1..=TOTAL {
                let is_path = chance(1000) < part;
                real += u64::from(is_path);
                if event == next {
                    samples += 1;
                    hits += u64::from(is_path);
                    next += 1 + chance(2 * one_in - 1);
                }
            }
            let estimate = hits * TOTAL / samples;
            held += u64::from(estimate.abs_diff(real) <= share_error(estimate, TOTAL, samples));
        }
        assert!(held * 100 >= runs * 94, "{part} of a thousand, one in {one_in}: held in {held} of {runs}");
    }
}

#[test]
fn a_sample_of_everything_has_hardly_an_error_and_one_of_nothing_any() {
    assert_eq!(share_error(0, 0, 0), 0);
    assert!(share_error(500, 1000, 1_000_000) < 2);
    assert_eq!(share_error(0, 1000, 0), 1000);
}
