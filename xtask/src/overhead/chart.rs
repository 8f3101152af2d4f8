//! The figures as bars: SVG written by hand. Bars, whiskers and words are less than a charting library would ask for,
//! and `cargo xtask` is the first thing that a newcomer waits for.

use std::fmt::Write as _;

use super::result::{Cell, Results, Section};

const WIDTH: u32 = 800;
const LEFT: u32 = 210;
/// Where 1.0, all of the neighbour's throughput, lies.
const FULL: u32 = 700;
const BAR: u32 = 16;
const STEP: u32 = 24;
const HEAD: u32 = 64;

/// One group a test, one bar a row: the median, with a whisker from the least to the most.
pub(super) fn draw(results: &Results) -> String {
    let mut body = String::new();
    let mut y = HEAD;
    for section in &results.sections {
        let _string = write!(body, "<text x=\"8\" y=\"{}\" font-weight=\"bold\">{}</text>", y + 14, section.test);
        y += STEP;
        for cell in &section.cells {
            bar(&mut body, section, cell, y);
            y += STEP;
        }
        y += STEP / 2;
    }
    let machine = &results.machine;
    let told = format!(
        "kernel {}, {}, {} CPUs, load average {:.1} to {:.1}, median, least and most of {} rounds",
        machine["kernel"].as_str().unwrap_or("-"),
        machine["cpu"].as_str().unwrap_or("-"),
        machine["cpus"],
        results.load_average.0,
        results.load_average.1,
        results.rounds,
    );
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{y}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"8\" y=\"22\" font-size=\"16\">Throughput of netperf kept under tracing of page allocations</text>\n\
         <text x=\"8\" y=\"42\" fill=\"#555\" font-size=\"11\">{}</text>\n\
         <path d=\"M{FULL} {HEAD}V{y}\" stroke=\"#999\" stroke-dasharray=\"3\"/>\n{body}</svg>\n",
        escaped(&told),
    )
}

fn bar(body: &mut String, section: &Section, cell: &Cell, y: u32) {
    let middle = y + BAR / 2;
    let text = middle + 5;
    let name = escaped(cell.row.shown);
    let _string = write!(body, "<text x=\"{}\" y=\"{text}\" text-anchor=\"end\">{name}</text>", LEFT - 8);
    let Some(kept) = cell.kept() else {
        let reason = cell.reasons.first().map_or("not measured", String::as_str);
        let reason: String = reason.chars().take(80).collect();
        let _string = writeln!(body, "<text x=\"{LEFT}\" y=\"{text}\" fill=\"#555\">- {}</text>", escaped(&reason));
        return;
    };
    let x =
        |share: f64| (f64::from(LEFT) + share * f64::from(FULL - LEFT)).clamp(f64::from(LEFT), f64::from(WIDTH) - 48.0);
    let (least, median, most) = (x(kept.min), x(kept.median), x(kept.max));
    let fill = if cell.row.is_tracer() { "#2a7ab8" } else { "#b9b9b9" };
    let width = median - f64::from(LEFT);
    let _string = writeln!(
        body,
        "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"{BAR}\" fill=\"{fill}\"><title>{}, {name}</title></rect>\
         <path d=\"M{least:.1} {middle}H{most:.1}M{least:.1} {}v8M{most:.1} {}v8\" stroke=\"black\"/>\
         <text x=\"{:.1}\" y=\"{text}\">{:.3}</text>",
        section.test,
        middle - 4,
        middle - 4,
        most + 6.0,
        kept.median,
    );
}

/// Text as XML has it; a control character becomes a blank.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            load::Score,
            result::{Pair, Results},
            rows,
        },
        *,
    };

    #[test]
    fn a_bar_is_as_long_as_what_is_kept_and_a_row_that_failed_says_why() {
        let mut results = Results::new(1, 1, false);
        let test = "TCP_RR".parse().unwrap();
        let score = |sent| Score { sent, arrived: sent };
        let half = Pair { traced: score(50.0), alone: score(100.0), account: None };
        results.add(&test, rows::named("nothing").unwrap(), Ok(half));
        results.add(&test, rows::named("perf").unwrap(), Err("<gone> & \"lost\"\u{1b}".to_owned()));
        let svg = draw(&results);
        // Half of the 490 between nothing and all.
        assert!(svg.contains("width=\"245.0\""), "{svg}");
        assert!(svg.contains("- &lt;gone&gt; &amp; &quot;lost&quot; </text>"), "{svg}");
    }
}
