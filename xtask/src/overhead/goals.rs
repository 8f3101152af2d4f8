//! What the tracer promises, and how far each figure is from it.

use super::{
    result::{Results, Section},
    scaling::Scaling,
};

/// One promise.
struct Goal {
    what: &'static str,
    value: Option<f64>,
    least_or_most: Bound,
    /// What would be better still.
    aim: Option<f64>,
    unit: &'static str,
}

#[derive(Clone, Copy)]
enum Bound {
    Least(f64),
    Most(f64),
}

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::Least(bound) => value >= bound,
            Self::Most(bound) => value <= bound,
        }
    }
}

/// Above this difference between two runs without a tool nothing is judged: the goals lie a tenth and less away from
/// what is expected.
const NOISE_AT_MOST: f64 = 0.10;

/// A line a goal whose figure was measured.
pub(super) fn lines(results: &Results, scaling: &Scaling) -> Vec<String> {
    let section = results.sections.iter().find(|it| it.test.test == "UDP_STREAM" && it.test.size == Some(8192));
    let against = |row: &str, other: &str| section.and_then(|it| it.against(it.named(row)?, other));
    let cost = |row: &str| section.and_then(|it| it.named(row)?.ns_per_event);
    let goal = |what, value, least_or_most, aim, unit| Goal { what, value, least_or_most, aim, unit };
    let user_space = |name: &str| scaling.user_space[name].as_f64();
    let growth = scaling.ns_with(1000).zip(scaling.ns_with(10)).map(|(many, few)| many / few);
    let goals = [
        goal(
            "exact paths, of what the empty program keeps",
            against("exact", "empty"),
            Bound::Least(0.90),
            Some(0.95),
            "",
        ),
        goal("default signals, of what it keeps", against("default", "empty"), Bound::Least(0.85), None, ""),
        goal(
            "exact paths, of bpftrace by stack",
            against("exact", "bpftrace-stack"),
            Bound::Least(1.75),
            Some(1.9),
            "",
        ),
        goal("exact paths, of perf record -g", against("exact", "perf"), Bound::Least(2.3), None, ""),
        goal(
            "exact paths, above the empty program",
            cost("exact").zip(cost("empty")).map(|(exact, empty)| exact - empty),
            Bound::Most(130.0),
            Some(70.0),
            " ns",
        ),
        goal("cost at 1,000 paths, of that at 10", growth, Bound::Most(1.5), None, ""),
        goal("user space at 2,000 paths", user_space("cpu_percent"), Bound::Most(2.0), None, " % of a CPU"),
        goal("resident", user_space("resident_kib").map(|kib| kib / 1024.0), Bound::Most(64.0), None, " MiB"),
    ];
    let too_much = section.and_then(Section::noise).filter(|noise| *noise > NOISE_AT_MOST);
    let lines: Vec<_> = goals.iter().filter_map(|goal| line(goal, too_much.is_some())).collect();
    if lines.is_empty() {
        return lines;
    }
    let warning = too_much.map(|noise| {
        let percent = noise * 100.0;
        format!("  two runs without any tool differed by up to {percent:.0} %: measure again on a quiet machine")
    });
    let head = std::iter::once("\ngoals (UDP_STREAM 8192)".to_owned()).chain(warning);
    head.chain(lines).chain([String::new()]).collect()
}

fn line(goal: &Goal, noisy: bool) -> Option<String> {
    let value = goal.value?;
    let (word, bound) = match goal.least_or_most {
        Bound::Least(bound) => ("at least", bound),
        Bound::Most(bound) => ("at most", bound),
    };
    let verdict = match goal.least_or_most.holds(value) {
        _ if noisy => "noisy",
        true => "met",
        false => "MISSED",
    };
    let aim = goal.aim.map(|aim| format!(", aim {aim}")).unwrap_or_default();
    let unit = goal.unit;
    Some(format!("  {verdict:<7}{}: {value:.2}{unit} ({word} {bound}{aim}; {:+.2})", goal.what, value - bound))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: f64, bound: Bound, noisy: bool) -> String {
        line(&Goal { what: "it", value: Some(value), least_or_most: bound, aim: Some(9.0), unit: " ns" }, noisy)
            .unwrap()
    }

    #[test]
    fn a_goal_says_whether_it_is_met_and_how_far_it_is() {
        assert_eq!(shown(0.9, Bound::Least(0.9), false), "  met    it: 0.90 ns (at least 0.9, aim 9; +0.00)");
        assert_eq!(shown(0.8, Bound::Least(0.9), false), "  MISSED it: 0.80 ns (at least 0.9, aim 9; -0.10)");
        assert!(shown(131.0, Bound::Most(130.0), false).starts_with("  MISSED"));
    }

    #[test]
    fn on_a_noisy_machine_nothing_is_met_or_missed() {
        assert!(shown(2.0, Bound::Least(0.9), true).starts_with("  noisy"));
        assert!(shown(0.1, Bound::Least(0.9), true).starts_with("  noisy"));
    }
}
