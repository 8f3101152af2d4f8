//! What has gone wrong in a guest, from what its kernel says on the console and a program on its output.

use std::fmt;

use crate::console::without_colours;

/// What has gone wrong, with the line that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) kind: Kind,
    line: String,
}

/// The worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The kernel has stopped.
    Panic,
    /// A fault in the kernel, which it has survived or not.
    Oops,
    /// A CPU or a task got no further for long. On a loaded host this may be nobody's fault.
    Lockup,
    /// The kernel refused a BPF program.
    Verifier,
}

/// What the kernel prints, as it stands in `kernel/panic.c`, `lib/bug.c`, `arch/x86/mm/fault.c`, `kernel/watchdog.c`,
/// `kernel/hung_task.c`, `kernel/rcu/tree_stall.h` and `kernel/bpf/verifier.c`.
const SIGNS: [(&str, Kind); 14] = [
    ("Kernel panic - not syncing", Kind::Panic),
    ("soft lockup - CPU", Kind::Lockup),
    ("hard LOCKUP", Kind::Lockup),
    ("detected stall", Kind::Lockup),
    ("self-detected stall", Kind::Lockup),
    ("rcu_preempt kthread starved", Kind::Lockup),
    ("blocked for more than", Kind::Lockup),
    ("BUG: ", Kind::Oops),
    ("kernel BUG at", Kind::Oops),
    ("Oops: ", Kind::Oops),
    ("general protection fault", Kind::Oops),
    ("double fault:", Kind::Oops),
    (" insns (limit ", Kind::Verifier),
    ("verifier refused", Kind::Verifier),
];

/// Everything found in a text, in its order, the same kind once.
pub(crate) fn find(text: &str) -> Vec<Trouble> {
    let mut found: Vec<Trouble> = Vec::new();
    for line in text.lines() {
        let Some((_, kind)) = SIGNS.iter().find(|(sign, _)| line.contains(sign)) else { continue };
        if found.iter().all(|trouble| trouble.kind != *kind) {
            found.push(Trouble { kind: *kind, line: printable(line) });
        }
    }
    found
}

/// The line without its time, colours and control characters, cut to what a terminal shows.
fn printable(line: &str) -> String {
    let line = without_colours(line);
    let line = line.trim();
    let line = line.strip_prefix('[').and_then(|rest| Some(rest.split_once("] ")?.1)).unwrap_or(line);
    line.chars().filter(|c| !c.is_control()).take(160).collect()
}

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Panic => "panic",
            Kind::Oops => "oops",
            Kind::Lockup => "lockup",
            Kind::Verifier => "verifier",
        };
        write!(out, "{kind}: {}", self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_an_oops_a_lockup_and_a_refusal_are_told_apart() {
        let cases = [
            ("[    2.51] Kernel panic - not syncing: sysrq triggered crash", Kind::Panic),
            ("[   10.02] BUG: kernel NULL pointer dereference, address: 0000000000000010", Kind::Oops),
            ("[   10.02] Oops: 0000 [#1] PREEMPT SMP PTI", Kind::Oops),
            ("[   36.10] watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [tracer:80]", Kind::Lockup),
            ("[   80.00] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", Kind::Lockup),
            ("[  242.66] INFO: task sync:123 blocked for more than 120 seconds.", Kind::Lockup),
            ("processed 1000001 insns (limit 1000000) max_states_per_insn 40", Kind::Verifier),
        ];
        for (line, kind) in cases {
            assert_eq!(find(line).iter().map(|trouble| trouble.kind).collect::<Vec<_>>(), [kind], "{line}");
        }
        assert!(find("[    1.0] Run /init as init process\n[    1.1] random: crng init done\n").is_empty());
    }

    #[test]
    fn the_first_line_of_each_kind_is_shown_without_time_colours_and_control_characters() {
        let text =
            "x\n[ 1.5] Oops: \x1b[1m0002\x1b[0m\x07\n[ 1.6] Oops: 0003\n[ 1.7] Kernel panic - not syncing: Fatal\n";
        let shown: Vec<_> = find(text).iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["oops: Oops: 0002", "panic: Kernel panic - not syncing: Fatal"]);
    }
}
