//! The tracer on other kernels than the machine's own: one test a kernel, in a virtual machine.
//!
//! Skipped with the reason where no virtual machine or no such kernel is to be had.

use std::path::Path;

use super::summary::Summary;
use crate::{
    console,
    vm::{self, check, kernel::Kernel, table},
};

/// The oldest that is supported, those of Debian's releases, and the newest: of the last versions the first to be had.
const KERNELS: [&[&str]; 4] = [&["5.10"], &["6.1"], &["6.12"], &["7.3", "7.2"]];

/// Runs the tests, or those with `only` in their names: `kernel` and the version. Gives what failed.
pub(super) fn run(root: &Path, only: Option<&str>) -> (Summary, Vec<String>) {
    let mut summary = Summary::default();
    let wanted = KERNELS.iter().filter(|labels| only.is_none_or(|only| name(labels[0]).contains(only)));
    let wanted: Vec<_> = wanted.collect();
    if wanted.is_empty() {
        return (summary, Vec::new());
    }
    console::note("== kernels");
    if let Err(error) = vm::build(root) {
        summary.failed += wanted.len() as u64;
        return (summary, vec![format!("kernels: {error:#}")]);
    }
    let machine = match vm::prepare(root, &[]) {
        Ok(machine) => machine,
        Err(error) => {
            for labels in wanted {
                skip(&mut summary, labels[0], &error);
            }
            return (summary, Vec::new());
        }
    };
    let mut kernels = Vec::new();
    for labels in wanted {
        match first(root, labels) {
            Ok(kernel) => kernels.push(kernel),
            Err(error) => skip(&mut summary, labels[0], &error),
        }
    }
    let mut failures = Vec::new();
    let mut findings = Vec::new();
    for (kernel, finding) in kernels.iter().zip(check::run(&machine, &kernels)) {
        match finding {
            Ok(finding) => {
                if finding.failures.is_empty() {
                    summary.passed += 1;
                } else {
                    summary.failed += 1;
                    failures.push(format!("{}: {}", name(kernel.label), finding.failures.join("; ")));
                }
                findings.push((kernel, finding));
            }
            Err(error) => {
                summary.failed += 1;
                failures.push(format!("{}: {error:#}", name(kernel.label)));
            }
        }
    }
    for line in table::of_checks(&findings) {
        console::result(&line);
    }
    (summary, failures)
}

fn name(label: &str) -> String {
    format!("kernel {label}")
}

/// The first of these that is to be had; the error is that of the first asked for.
fn first(root: &Path, labels: &[&'static str]) -> anyhow::Result<Kernel> {
    let place = vm::place(root);
    let mut kernels = labels.iter().map(|label| Kernel::ensure(&place, label, false));
    let first = kernels.next().unwrap_or_else(|| Err(anyhow::anyhow!("no kernel asked for")));
    first.or_else(|error| kernels.find_map(Result::ok).ok_or(error))
}

fn skip(summary: &mut Summary, label: &str, error: &anyhow::Error) {
    console::result(&format!("skipped: {}: {error:#}", name(label)));
    summary.skipped += 1;
}
