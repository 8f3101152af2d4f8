//! Cells as SVG: a dark terminal, one text element a run.

use std::fmt::Write as _;

use super::cells::{Look, Run};

/// Size of a cell, px; the font is as wide as this by `textLength`.
const WIDTH: f64 = 8.0;
const HEIGHT: f64 = 17.0;
const MARGIN: f64 = 10.0;
const FORE: &str = "#d4d4d4";
const BACK: &str = "#1b1d23";
/// The sixteen colours.
const COLORS: [&str; 16] = [
    "#1b1d23", "#e06c75", "#98c379", "#d7ba7d", "#61afef", "#c678dd", "#56b6c2", "#d4d4d4", "#7f848e", "#ff7b86",
    "#b5e890", "#f0d399", "#7fc4ff", "#dd9bee", "#76d6e2", "#ffffff",
];

/// Draws rows of cells.
pub(super) fn draw(rows: &[Vec<Run>], columns: usize) -> String {
    let (width, height) = (as_float(columns) * WIDTH + 2.0 * MARGIN, as_float(rows.len()) * HEIGHT + 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace\" font-size=\"13\" \
         xml:space=\"preserve\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACK}\"/>\n"
    );
    for (number, runs) in rows.iter().enumerate() {
        for run in runs {
            place(&mut svg, run, MARGIN + as_float(number) * HEIGHT);
        }
    }
    svg + "</svg>\n"
}

fn place(svg: &mut String, run: &Run, top: f64) {
    let Look { bold, dim, underlined, .. } = run.look;
    let (fore, back) = colors(run.look);
    let left = MARGIN + as_float(run.column) * WIDTH;
    let width = as_float(run.text.chars().count()) * WIDTH;
    if back != BACK {
        let _ = writeln!(svg, "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{HEIGHT}\" fill=\"{back}\"/>");
    }
    let text = run.text.trim_end();
    if text.is_empty() {
        return;
    }
    let length = as_float(text.chars().count()) * WIDTH;
    let weight = if bold { " font-weight=\"bold\"" } else { "" };
    let opacity = if dim { " opacity=\"0.6\"" } else { "" };
    let line = if underlined { " text-decoration=\"underline\"" } else { "" };
    let _ = writeln!(
        svg,
        "<text x=\"{left}\" y=\"{}\" textLength=\"{length}\" lengthAdjust=\"spacingAndGlyphs\" \
         fill=\"{fore}\"{weight}{opacity}{line}>{}</text>",
        top + HEIGHT - 4.0,
        escaped(text)
    );
}

fn colors(look: Look) -> (&'static str, &'static str) {
    let color = |number: Option<u8>, own| number.map_or(own, |number| COLORS[usize::from(number) % COLORS.len()]);
    let (fore, back) = (color(look.fore, FORE), color(look.back, BACK));
    if look.reversed { (back, fore) } else { (fore, back) }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[expect(clippy::cast_precision_loss, reason = "rows and columns of a terminal")]
fn as_float(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_stands_at_its_cell() {
        let run = Run { column: 2, text: "a<b ".to_owned(), look: Look { fore: Some(2), ..Look::default() } };
        let svg = draw(&[vec![run]], 10);
        assert!(svg.contains("x=\"26\" y=\"23\" textLength=\"24\""), "{svg}");
        assert!(svg.contains("fill=\"#98c379\">a&lt;b</text>"), "{svg}");
    }

    #[test]
    fn reversed_cells_swap_their_colours() {
        let run = Run { column: 0, text: "x".to_owned(), look: Look { reversed: true, ..Look::default() } };
        let svg = draw(&[vec![run]], 10);
        assert!(svg.contains(&format!("height=\"17\" fill=\"{FORE}\"/>")), "{svg}");
    }
}
