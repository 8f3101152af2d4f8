//! The head of the report: the score, the command that made it, the machine and the window.

use super::sheet::{Column, Sheet, Tone};
use crate::{
    snapshot::{Benchmark, Command, Snapshot},
    units,
};

/// Writes the head.
pub(super) fn write(snapshot: &Snapshot, sheet: &mut Sheet) {
    if let Some(benchmark) = &snapshot.benchmark {
        score(benchmark, sheet);
    }
    sheet.heading("run", "");
    if let Some(command) = &snapshot.command {
        ran(command, sheet);
    }
    let host = &snapshot.host;
    sheet.hanging(
        "host     ",
        &format!(
            "Linux {} {}, {} CPUs, pages of {}, orders 0 to {}",
            host.kernel,
            host.machine,
            host.cpus,
            units::bytes(host.page_size),
            host.max_order
        ),
    );
    let window = &snapshot.window;
    sheet.hanging("window   ", &format!("{} from {}", units::seconds(window.duration_s), window.start));
    let filters = &snapshot.completeness.filters;
    if !filters.is_empty() {
        sheet.hanging("filters  ", &format!("{}: everything else is left out below", filters.join(", ")));
    }
}

fn score(benchmark: &Benchmark, sheet: &mut Sheet) {
    let name = match (&benchmark.tool, &benchmark.test) {
        (Some(tool), Some(test)) => format!("{tool} {test}"),
        (Some(tool), None) => tool.clone(),
        (None, _) => "no benchmark recognised in the command's output".to_owned(),
    };
    let instances = if benchmark.instances > 1 { format!("{} instances", benchmark.instances) } else { String::new() };
    sheet.heading("score", [name, instances].join(" ").trim_end());
    if !benchmark.results.is_empty() {
        let rows = benchmark
            .results
            .iter()
            .map(|score| {
                let better = if score.lower_is_better { " (less is better)" } else { "" };
                vec![
                    sheet.name(&score.side),
                    sheet.name(&score.metric),
                    sheet.paint(Tone::Title, &units::score(score.value)),
                    sheet.clean(&score.unit) + better,
                ]
            })
            .collect();
        sheet
            .table(&[Column::Left("side"), Column::Left("metric"), Column::Right("value"), Column::Left("unit")], rows);
    }
    for warning in &benchmark.warnings {
        sheet.toned(Tone::Warning, "warning: ", warning);
    }
}

fn ran(command: &Command, sheet: &mut Sheet) {
    sheet.hanging("command  ", &command.argv.join(" "));
    let times = [(command.wall_s, "wall"), (command.user_s, "user"), (command.system_s, "system")];
    let mut parts = vec![match command.exit_code {
        Some(code) => format!("exit {code}"),
        None => "not ended when this was written".to_owned(),
    }];
    parts.extend(times.into_iter().filter_map(|(time, name)| Some(format!("{} {name}", units::seconds(time?)))));
    sheet.hanging("         ", &parts.join(", "));
}
