//! netperf: the score in its output, in every form that netperf 2.4 to 2.7 prints it.
//!
//! Figures are those printed. Of several instances in one output, rates, times and demands are means, messages are
//! sums, and a rate's total and every instance's own follow as `..._total` and `..._instance`.
//! Must not know: how netperf was started, how figures are shown.

mod classic;
mod instance;
mod notes;
mod omni;
mod options;
mod unit;

use std::collections::BTreeSet;

use self::{classic::Classic, instance::Instance, notes::Confidence, options::Options, unit::Unit};
use super::printable;
use crate::run::{Benchmark, Score, Work};

/// Reads netperf's result; `None` when neither the commands nor the output are netperf's.
pub(super) fn read(commands: &[Vec<String>], stdout: &str, stderr: &str) -> Option<Benchmark> {
    let lines: Vec<_> = stdout.lines().map(|line| line.trim_end_matches('\r')).collect();
    let banners: Vec<_> = lines.iter().filter_map(|line| classic::banner(line)).collect();
    let named = Options::find(commands);
    let is_ours =
        named.is_some() || !banners.is_empty() || lines.iter().any(|line| line.starts_with("THROUGHPUT_UNITS="));
    if !is_ours {
        return None;
    }
    let options = named.unwrap_or_default();
    let tests = if banners.is_empty() { unique(&options.tests) } else { unique(&banners) };
    let only = if let [test] = &tests[..] { test } else { "" };

    let mut confidence = Confidence::read(&lines, &options);
    let mut classic = Classic::default();
    let mut test = only;
    for line in &lines {
        if let Some(announced) = classic::banner(line) {
            test = announced;
        } else {
            classic.take(line, test, &options);
        }
    }
    let Classic { mut instances, mut cpu_methods, .. } = classic;
    let mut warnings = Vec::new();
    if instances.is_empty() {
        let fields = omni::read(&lines);
        cpu_methods.extend(fields.iter().flat_map(omni::Fields::cpu_methods));
        fields
            .iter()
            .filter_map(omni::Fields::confidence)
            .for_each(|(reached, wanted)| confidence.add(reached, wanted));
        instances = fields.iter().filter_map(|fields| fields.instance(test, &options)).collect();
        if fields.iter().any(omni::Fields::took_no_time) {
            warnings.push("netperf's elapsed time is 0: it has no rate".into());
        }
        if options.confidence.is_some()
            && !instances.is_empty()
            && fields.iter().all(|fields| fields.confidence().is_none())
        {
            warnings.push(
                "netperf does not say in this form whether the confidence asked for was reached: \
                 select `THROUGHPUT_CONFID` too"
                    .into(),
            );
        }
    }

    let expected = banners.len().max(1);
    let is_missing = instances.len() < expected;
    if is_missing {
        warnings.push(match instances.len() {
            0 => "netperf printed no result".into(),
            some => format!("{} of {expected} instances of netperf printed no result", expected - some),
        });
    }
    let all_lines = lines.iter().copied().chain(stderr.lines());
    warnings.extend(notes::errors(all_lines, is_missing));
    warnings.extend(notes::losses(&instances));
    warnings.extend(confidence.note());
    warnings.extend(options.misplaced.iter().cloned());
    warnings.extend(notes::cpu_method(&cpu_methods));
    if instances.len() > 1 && instances.iter().flat_map(|one| &one.scores).any(|score| score.metric == "service_demand")
    {
        warnings.push(
            "the service demand of instances that run at the same time is wrong: each counts the processor time of all"
                .into(),
        );
    }
    if tests.len() > 1 {
        warnings.push(format!("several tests in one output ({}): their figures follow each other", tests.join(", ")));
    }
    let count = u32::try_from(instances.len()).unwrap_or(u32::MAX);
    if instances.is_empty() {
        instances.extend(from_interims(&lines, test, &mut warnings));
    }
    Some(Benchmark {
        tool: "netperf".into(),
        test: tests.join(","),
        instances: count,
        results: merge(&instances),
        work: work(&instances),
        warnings,
        ..Benchmark::default()
    })
}

/// A result on the way, such as `Interim result: 9.24 10^6bits/s over 1.01 seconds ending at ...`.
pub(super) fn interim(line: &str) -> Option<Score> {
    let (rate, unit, _) = interim_parts(line)?;
    let mut instance = Instance::default();
    instance.rate("both", rate, unit);
    instance.scores.pop()
}

/// Rate, its unit, and the seconds it was measured over.
fn interim_parts(line: &str) -> Option<(f64, Unit, f64)> {
    let mut words = line.trim().strip_prefix("Interim result:")?.split_whitespace();
    let rate = words.next()?.parse().ok()?;
    let unit = Unit::named_in(words.next()?)?;
    let seconds = words.nth(1)?.parse().ok()?;
    Some((rate, unit, seconds))
}

/// The score of a run that was ended before its result, from what it told on the way.
fn from_interims(lines: &[&str], test: &str, warnings: &mut Vec<String>) -> Option<Instance> {
    let parts: Vec<_> = lines.iter().filter_map(|line| interim_parts(line)).collect();
    let (_, unit, _) = *parts.first()?;
    let same = || parts.iter().filter(|(_, other, _)| *other == unit);
    let seconds: f64 = same().map(|(_, _, seconds)| seconds).sum();
    let amount: f64 = same().map(|(rate, _, seconds)| rate * seconds).sum();
    let mut instance = Instance::of(test);
    let metric = format!("{}_interim", unit.metric());
    if seconds > 0.0 && instance.score(&metric, "both", amount / seconds, unit.word()) {
        if let Some(score) = instance.scores.last_mut() {
            score.lower_is_better = false;
        }
        instance.answered(amount, unit, None, 1.0);
        // A datagram test tells what was sent, and not in messages.
        if !test.starts_with("UDP") {
            instance.carried(amount, unit, 1.0);
        }
        warnings.push(format!(
            "in place of a result stands the mean of {} interim results of {seconds:.2} s in all",
            parts.len()
        ));
        return Some(instance);
    }
    None
}

/// Each once, in order, fit to be shown.
fn unique<T: AsRef<str>>(names: &[T]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.iter().map(|name| printable(name.as_ref())).filter(|name| seen.insert(name.clone())).collect()
}

/// One list of figures from those of all instances.
fn merge(instances: &[Instance]) -> Vec<Score> {
    if let [only] = instances {
        return only.scores.clone();
    }
    let mut groups: Vec<(&str, Vec<&Score>)> = Vec::new();
    for (test, score) in instances.iter().flat_map(|one| one.scores.iter().map(|score| (one.test.as_str(), score))) {
        let is_alike =
            |other: &Score| (&other.metric, &other.side, &other.unit) == (&score.metric, &score.side, &score.unit);
        match groups.iter_mut().find(|(of, group)| *of == test && is_alike(group[0])) {
            Some((_, group)) => group.push(score),
            None => groups.push((test, vec![score])),
        }
    }
    let mut merged = Vec::new();
    for (_, group) in groups {
        let total: f64 = group.iter().map(|score| score.value).sum();
        let first = group[0];
        let value = if first.unit == "messages" { total } else { total / group.len() as f64 };
        merged.push(Score { value, ..first.clone() });
        if matches!(first.metric.as_str(), "throughput" | "transactions") && group.len() > 1 {
            merged.push(Score { metric: format!("{}_total", first.metric), value: total, ..first.clone() });
            let own =
                group.iter().map(|score| Score { metric: format!("{}_instance", score.metric), ..(*score).clone() });
            merged.extend(own);
        }
    }
    merged
}

/// The work of all instances; `None` when one does not tell, or tells it in another unit.
fn work(instances: &[Instance]) -> Option<Work> {
    let works: Vec<_> = instances.iter().map(|one| one.work.as_ref()).collect::<Option<_>>()?;
    let unit = works.first()?.unit.clone();
    let is_same = works.iter().all(|work| work.unit == unit);
    is_same.then(|| Work { unit, amount: works.iter().map(|work| work.amount).sum() })
}

#[cfg(test)]
mod tests;
