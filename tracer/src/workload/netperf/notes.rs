//! What netperf says beside its figures, and what the figures themselves give away.

use std::collections::BTreeSet;

use super::{super::printable, instance::Instance, options::Options};

/// Receive buffers that hold fewer messages than this make a figure of the buffer, not of the path.
const FEW_MESSAGES: u64 = 4;
/// Lines of errors that are quoted; more say no more.
const QUOTED: usize = 5;

/// Errors that netperf ends by, with what they mean for the person who ran it.
const ERRORS: &[(&str, &str)] = &[
    ("are you sure there is a netserver listening", "netperf reached no netserver: start `netserver` there"),
    (
        "Message too long",
        "netperf failed, its messages are too long: UDP takes 65507 bytes, and no more than the send buffer holds",
    ),
    ("unknown to this netperf", "netperf lacks the test: it was built without it (Debian's has no SCTP)"),
];

/// Words by which an error is known that is not listed.
const ERROR_WORDS: &[&str] = &["cannot", "could not", "error", "failed", "no such", "refused", "too long", "unable"];

/// Errors that netperf wrote. Those not listed count only where a result is missing: netperf writes much in passing.
pub(super) fn errors<'a>(lines: impl Iterator<Item = &'a str>, is_result_missing: bool) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut notes = Vec::new();
    for line in lines.map(str::trim) {
        let known = ERRORS.iter().find(|(sign, _)| line.contains(sign));
        let lower = line.to_lowercase();
        let is_error = is_result_missing && ERROR_WORDS.iter().any(|word| lower.contains(word));
        let note = match known {
            Some((_, meaning)) => format!("{meaning} (`{}`)", printable(line)),
            None if is_error => format!("netperf wrote `{}`", printable(line)),
            None => continue,
        };
        let key = known.map_or_else(|| note.clone(), |(sign, _)| (*sign).to_owned());
        if seen.insert(key) && notes.len() < QUOTED {
            notes.push(note);
        }
    }
    notes
}

/// Messages that did not arrive, and buffers that explain it.
pub(super) fn losses(instances: &[Instance]) -> Vec<String> {
    let mut notes = Vec::new();
    let counted = instances.iter().filter_map(|instance| instance.sent.zip(instance.received));
    let (sent, lost) =
        counted.fold((0, 0), |(all, lost), (sent, received)| (all + sent, lost + sent.saturating_sub(received)));
    if lost > 0 {
        let share = 100.0 * lost as f64 / sent as f64;
        notes.push(format!("{lost} of {sent} messages ({share:.2} %) were not received"));
    }
    let is_deaf = |instance: &&Instance| instance.received == Some(0) && instance.sent != Some(0);
    let deaf = instances.iter().filter(is_deaf).count();
    if deaf > 0 {
        notes.push(format!(
            "nothing at all was received{}: a receive rate of 0 is what was measured, look for a filter or a full receive buffer",
            of_several(deaf, instances)
        ));
    }
    let small: Vec<_> = instances.iter().filter_map(small_buffer).collect();
    if let Some((buffer, size)) = small.first() {
        notes.push(format!(
            "the receive socket buffer of {buffer} bytes holds {} of {size} bytes, the kernel's own overhead left out{}: \
             what is lost may be the buffer's doing (`-S` after the `--` sets it)",
            match buffer / size {
                0 => "no message".to_owned(),
                1 => "1 message".to_owned(),
                messages => format!("{messages} messages"),
            },
            of_several(small.len(), instances)
        ));
    }
    let halves = instances.iter().filter(|one| one.sent.is_some() != one.received.is_some()).count();
    if halves > 0 {
        notes.push(format!("only one side of the figures was printed{}", of_several(halves, instances)));
    }
    notes
}

/// Buffer and message size where the buffer decides the result: it holds few messages and some were lost, or it does
/// not even hold two.
fn small_buffer(instance: &Instance) -> Option<(u64, u64)> {
    let (buffer, size) = instance.receive_buffer.zip(instance.message_size.filter(|size| *size > 0))?;
    let is_lossy = instance.sent.zip(instance.received).is_some_and(|(sent, received)| received < sent);
    let is_small = buffer / size < if is_lossy { FEW_MESSAGES } else { 2 };
    is_small.then_some((buffer, size))
}

fn of_several(count: usize, instances: &[Instance]) -> String {
    if instances.len() > 1 { format!(" in {count} of {} instances", instances.len()) } else { String::new() }
}

/// A confidence that was asked for and not reached. Widths are in percent, from end to end of the interval as netperf
/// prints them; netperf's banners and this text say plus or minus half of that.
pub(super) struct Confidence {
    reached: Vec<f64>,
    wanted: Option<String>,
}

impl Confidence {
    /// From a banner's `+/-2.500% @ 99% conf.` and the block of `!!!` lines after it.
    pub(super) fn read(lines: &[&str], options: &Options) -> Self {
        let reached = lines.iter().filter_map(|line| {
            let (_, width) = line.strip_prefix("!!! Confidence intervals: Throughput")?.split_once(':')?;
            width.trim().trim_end_matches('%').parse().ok()
        });
        let in_banner = lines.iter().find_map(|line| {
            let (half, rest) = line.split_once("+/-")?.1.split_once('%')?;
            let level = rest.trim_start_matches([' ', '@']).split_once('%')?.0;
            Some(wanted(half.parse().ok()?, level))
        });
        let asked = || options.confidence.as_ref().map(|(level, width)| wanted(width / 2.0, level));
        Self { reached: reached.collect(), wanted: in_banner.or_else(asked) }
    }

    /// From an omni test's fields, which come without that block.
    pub(super) fn add(&mut self, reached: f64, wanted_width: Option<f64>) {
        if wanted_width.is_some_and(|wanted| reached > wanted) {
            self.reached.push(reached);
        }
    }

    pub(super) fn note(&self) -> Option<String> {
        let worst = self.reached.iter().copied().reduce(f64::max)?;
        let wanted = self.wanted.as_deref().unwrap_or("less");
        let several =
            if self.reached.len() > 1 { format!(", {} times, at worst", self.reached.len()) } else { String::new() };
        Some(format!(
            "the confidence asked for was not reached{several}: throughput is ±{} % where {wanted} was wanted",
            percent(worst / 2.0)
        ))
    }
}

fn wanted(half: f64, level: &str) -> String {
    format!("±{} % at {} %", percent(half), printable(level))
}

/// Up to four digits after the point, as many as there are.
fn percent(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Ways of measuring processor time other than `/proc/stat` (`S`); `U` stands for none.
pub(super) fn cpu_method(methods: &BTreeSet<char>) -> Option<String> {
    let others: String = methods.iter().filter(|method| !matches!(method, 'S' | 'U')).collect();
    (!others.is_empty()).then(|| {
        format!(
            "processor time was measured by netperf's method `{others}`, not from `/proc/stat` (`S`): trust it less"
        )
    })
}
