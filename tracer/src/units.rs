//! Numbers as people read them: counts, bytes, rates, durations, shares and ratios.
//!
//! Owns: every rounding that is shown. Integers stay integers until they come here. The unit is part of the text
//! except for counts, whose unit is the column's title.
//! Must not know: where a number stands, colours, JSON (which rounds nothing).

/// What was not measured, as opposed to 0.
pub const NOT_MEASURED: &str = "-";

/// All digits, in groups of three: `5,882,031`.
pub fn count(number: u64) -> String {
    group(&number.to_string())
}

/// All digits of a number that may have fallen: `-306`.
pub fn signed_count(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", count(number.unsigned_abs()))
}

/// Three significant digits: `950`, `5.88 M`. For columns too narrow for [`count`].
pub fn short_count(number: u64) -> String {
    scaled(number as f64, 1000.0, &["", " k", " M", " G", " T", " P", " E"])
}

/// At most four characters: `950`, `5.9k`, `41k`, `18E`. For a cell of a matrix.
pub fn tiny_count(number: u64) -> String {
    let short = short_count(number);
    let Some((digits, unit)) = short.split_once(' ') else { return short };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    match (whole.len(), fraction.chars().next()) {
        (1, Some(tenth)) => format!("{whole}.{tenth}{unit}"),
        _ => format!("{whole}{unit}"),
    }
}

/// Three significant digits with an IEC unit: `24.1 GiB`; whole numbers of a unit as such: `4 KiB`.
pub fn bytes(number: u64) -> String {
    let power = if number == 0 { 0 } else { number.trailing_zeros() / 10 };
    let whole = number >> (power * 10);
    if power > 0 && whole < 1000 {
        return format!("{whole} {}", ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][power as usize]);
    }
    scaled(number as f64, 1024.0, &[" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"])
}

/// Events a second, three significant digits: `412 k/s`; [`NOT_MEASURED`] over no time.
pub fn rate(events: u64, seconds: f64) -> String {
    if seconds <= 0.0 {
        return NOT_MEASURED.to_owned();
    }
    let each = events as f64 / seconds;
    let number =
        if each < 1000.0 { decimal(each) } else { scaled(each, 1000.0, &["", " k", " M", " G", " T", " P", " E"]) };
    format!("{number}/s")
}

/// A part of a base, one decimal: `82.5 %`. Only nothing is `0 %` and only all is `100 %`; what would round to them
/// is `<0.1 %` or `>99.9 %`. [`NOT_MEASURED`] of nothing.
pub fn percent(part: u64, base: u64) -> String {
    if base == 0 {
        return NOT_MEASURED.to_owned();
    }
    let share = part as f64 * 100.0 / base as f64;
    match part {
        0 => "0 %".to_owned(),
        _ if part == base => "100 %".to_owned(),
        _ if share < 0.1 => "<0.1 %".to_owned(),
        _ if part < base && share > 99.9 => ">99.9 %".to_owned(),
        _ => format!("{share:.1} %"),
    }
}

/// A duration given in seconds: `160 ns`, `12.3 ms`, `5.03 s`, `2 min 05 s`, `1 h 01 min`.
pub fn seconds(duration_s: f64) -> String {
    if !duration_s.is_finite() || duration_s < 0.0 {
        return NOT_MEASURED.to_owned();
    }
    if duration_s < 59.995 {
        let ns = duration_s * 1e9;
        return if duration_s == 0.0 { "0 s".to_owned() } else { scaled(ns, 1000.0, &[" ns", " us", " ms", " s"]) };
    }
    // Whole seconds below 2^53 are exact.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, and `as` saturates")]
    let whole = duration_s.round() as u64;
    if whole < 3600 {
        format!("{} min {:02} s", whole / 60, whole % 60)
    } else {
        format!("{} h {:02} min", whole / 3600, whole % 3600 / 60)
    }
}

/// A running time as a clock shows it, whole seconds: `0:05`, `12:34`, `1:02:03`.
pub fn clock(duration_s: f64) -> String {
    // `as` saturates, and NaN becomes 0.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "no run is as long as 2^64 s")]
    let whole = duration_s as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole % 3600 / 60, whole % 60);
    if hours == 0 { format!("{minutes}:{seconds:02}") } else { format!("{hours}:{minutes:02}:{seconds:02}") }
}

/// A duration given in nanoseconds, as [`seconds`].
pub fn nanoseconds(duration_ns: f64) -> String {
    seconds(duration_ns / 1e9)
}

/// Up to four significant digits, for ratios: `1.002`, `0.0123`, `4,006`.
pub fn decimal(number: f64) -> String {
    if !number.is_finite() {
        return NOT_MEASURED.to_owned();
    }
    let size = number.abs();
    let places = match size {
        _ if size == 0.0 => 0,
        _ if size < 0.000_1 => return format!("{number:.2e}"),
        _ if size < 0.01 => 5,
        _ if size < 0.1 => 4,
        _ if size < 10.0 => 3,
        _ if size < 100.0 => 2,
        _ if size < 1000.0 => 1,
        _ => 0,
    };
    group(&format!("{number:.places$}"))
}

/// A score as the benchmark gave it, with the digits it gave: `63,577.2`.
pub fn score(value: f64) -> String {
    if value.is_finite() { group(&value.to_string()) } else { NOT_MEASURED.to_owned() }
}

/// A measured figure or a mean of several: at least two decimals and five significant digits, as far as there are any:
/// `45,591.50`, `12.964`, `0.95400`.
pub fn figure(value: f64) -> String {
    if !value.is_finite() {
        return NOT_MEASURED.to_owned();
    }
    let size = value.abs();
    let places = match size {
        _ if size == 0.0 || size >= 100.0 => 2,
        _ if size >= 10.0 => 3,
        _ if size >= 1.0 => 4,
        _ if size >= 0.1 => 5,
        _ if size >= 0.01 => 6,
        _ => return format!("{value:.4e}"),
    };
    group(&format!("{value:.places$}"))
}

/// A change in percent, with its sign and two decimals: `+47.71 %`, `0.00 %`. What is not measured or has no base is
/// [`NOT_MEASURED`].
pub fn change(percent: Option<f64>) -> String {
    let Some(percent) = percent.filter(|it| it.is_finite()) else { return NOT_MEASURED.to_owned() };
    let text = format!("{percent:+.2}");
    if text.trim_start_matches(['+', '-']) == "0.00" { "0.00 %".to_owned() } else { group(&text) + " %" }
}

/// Three significant digits with the largest of `units` that leaves at least 1; whole numbers of the first.
fn scaled(number: f64, step: f64, units: &[&str]) -> String {
    let mut number = number;
    let mut power = 0;
    // What would be shown as a whole step belongs to the next unit.
    while number >= step - 0.5 && power + 1 < units.len() {
        number /= step;
        power += 1;
    }
    let places = match number {
        _ if power == 0 || number >= 99.95 => 0,
        _ if number >= 9.995 => 1,
        _ => 2,
    };
    format!("{number:.places$}{}", units[power])
}

/// Groups the digits before the point by three.
fn group(digits: &str) -> String {
    let unsigned = digits.trim_start_matches(['+', '-']);
    let (sign, digits) = digits.split_at(digits.len() - unsigned.len());
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(whole, rest)| (whole, Some(rest)));
    let mut grouped = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if let Some(fraction) = fraction {
        grouped.push('.');
        grouped.push_str(fraction);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::{
        bytes, change, clock, count, decimal, figure, nanoseconds, percent, rate, score, seconds, short_count,
        signed_count, tiny_count,
    };

    fn table(rows: &[(String, &str)]) {
        for (shown, expected) in rows {
            assert_eq!(shown, expected);
        }
    }

    #[test]
    fn counts_keep_every_digit() {
        table(&[
            (count(0), "0"),
            (count(999), "999"),
            (count(1_000), "1,000"),
            (count(5_882_031), "5,882,031"),
            (count(u64::MAX), "18,446,744,073,709,551,615"),
            (signed_count(-306), "-306"),
            (signed_count(i64::MIN), "-9,223,372,036,854,775,808"),
        ]);
    }

    #[test]
    fn short_counts_move_to_the_next_unit_instead_of_showing_a_thousand() {
        table(&[
            (short_count(950), "950"),
            (short_count(1_000), "1.00 k"),
            (short_count(9_996), "10.0 k"),
            (short_count(99_960), "100 k"),
            (short_count(999_499), "999 k"),
            (short_count(999_500), "1.00 M"),
            (short_count(5_882_031), "5.88 M"),
            (short_count(u64::MAX), "18.4 E"),
        ]);
    }

    #[test]
    fn tiny_counts_take_four_characters() {
        table(&[
            (tiny_count(0), "0"),
            (tiny_count(999), "999"),
            (tiny_count(1_000), "1.0k"),
            (tiny_count(6_959), "6.9k"),
            (tiny_count(40_773), "40k"),
            (tiny_count(999_499), "999k"),
            (tiny_count(u64::MAX), "18E"),
        ]);
    }

    #[test]
    fn bytes_are_powers_of_two() {
        table(&[
            (bytes(0), "0 B"),
            (bytes(1_023), "1023 B"),
            (bytes(4_096), "4 KiB"),
            (bytes(5_000), "4.88 KiB"),
            (bytes(1_048_575), "1.00 MiB"),
            (bytes(26_214_400), "25 MiB"),
            (bytes(1 << 40), "1 TiB"),
            (bytes(1 << 63), "8 EiB"),
            (bytes(u64::MAX), "16.0 EiB"),
        ]);
    }

    #[test]
    fn a_share_is_whole_only_when_it_is() {
        table(&[
            (percent(0, 7), "0 %"),
            (percent(7, 7), "100 %"),
            (percent(1, 1_000_000), "<0.1 %"),
            (percent(999_999, 1_000_000), ">99.9 %"),
            (percent(825, 1000), "82.5 %"),
            (percent(3, 2), "150.0 %"),
            (percent(0, 0), "-"),
        ]);
    }

    #[test]
    fn durations_read_from_nanoseconds_to_hours() {
        table(&[
            (nanoseconds(0.0), "0 s"),
            (nanoseconds(160.4), "160 ns"),
            (nanoseconds(1_580.0), "1.58 us"),
            (seconds(0.0123), "12.3 ms"),
            (seconds(5.03), "5.03 s"),
            (seconds(59.99), "60.0 s"),
            (seconds(59.999), "1 min 00 s"),
            (seconds(125.0), "2 min 05 s"),
            (seconds(3_661.0), "1 h 01 min"),
            (seconds(f64::NAN), "-"),
        ]);
    }

    #[test]
    fn a_clock_shows_whole_seconds() {
        table(&[
            (clock(0.0), "0:00"),
            (clock(59.99), "0:59"),
            (clock(754.0), "12:34"),
            (clock(3_723.5), "1:02:03"),
            (clock(f64::NAN), "0:00"),
        ]);
    }

    #[test]
    fn rates_over_no_time_are_not_measured() {
        table(&[
            (rate(5, 0.0), "-"),
            (rate(0, 5.0), "0/s"),
            (rate(1, 4.0), "0.250/s"),
            (rate(2_060_000, 5.0), "412 k/s"),
        ]);
    }

    #[test]
    fn ratios_keep_four_significant_digits() {
        table(&[
            (decimal(0.0), "0"),
            (decimal(1.002_04), "1.002"),
            (decimal(-1.5), "-1.500"),
            (decimal(0.012_34), "0.0123"),
            (decimal(0.000_012), "1.20e-5"),
            (decimal(36.84), "36.84"),
            (decimal(4_006.4), "4,006"),
            (decimal(f64::INFINITY), "-"),
        ]);
    }

    #[test]
    fn figures_keep_two_decimals_and_five_digits() {
        table(&[
            (figure(0.0), "0.00"),
            (figure(45_591.500_809), "45,591.50"),
            (figure(178.38), "178.38"),
            (figure(12.9637), "12.964"),
            (figure(-1.5), "-1.5000"),
            (figure(0.954), "0.95400"),
            (figure(0.012_345_6), "0.012346"),
            (figure(0.000_123_456), "1.2346e-4"),
            (figure(f64::INFINITY), "-"),
        ]);
    }

    #[test]
    fn changes_have_a_sign_unless_there_is_none() {
        table(&[
            (change(Some(47.706)), "+47.71 %"),
            (change(Some(-110.06)), "-110.06 %"),
            (change(Some(1_234.5)), "+1,234.50 %"),
            (change(Some(-0.004)), "0.00 %"),
            (change(Some(0.0)), "0.00 %"),
            (change(None), "-"),
        ]);
    }

    #[test]
    fn scores_are_shown_as_the_benchmark_gave_them() {
        table(&[
            (score(63_577.2), "63,577.2"),
            (score(40.75), "40.75"),
            (score(1_080_697.0), "1,080,697"),
            (score(f64::NAN), "-"),
        ]);
    }
}
