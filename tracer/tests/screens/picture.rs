//! Drawing into cells, and comparing them with files.

use std::{env, fmt::Write as _, fs, path::PathBuf};

use ratatui::{Terminal, backend::TestBackend, buffer::Buffer};
use unicode_width::UnicodeWidthStr as _;

use tracer::tui::{
    app::App,
    view::{self, Theme},
};

/// The cells of the whole screen.
pub(crate) fn draw(app: &App, width: u16, height: u16, theme: Theme) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("cells in memory");
    terminal.draw(|frame| view::draw(frame.buffer_mut(), app, theme)).expect("cells in memory");
    terminal.backend().buffer().clone()
}

/// Line by line, without spaces at the ends.
pub(crate) fn text(cells: &Buffer) -> String {
    let mut text = String::new();
    for row in rows(cells) {
        let mut line = String::new();
        let mut x = 0;
        while let Some(cell) = row.get(x) {
            line += cell.symbol();
            // A wide letter covers the cell after it.
            x += cell.symbol().width().max(1);
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// Line by line, the columns of each style that is not the plain one.
pub(crate) fn styles(cells: &Buffer) -> String {
    let mut text = String::new();
    for (y, row) in rows(cells).enumerate() {
        let style = |x: usize| (row[x].fg, row[x].bg, row[x].modifier);
        let mut x = 0;
        while x < row.len() {
            let end = (x..row.len()).find(|at| style(*at) != style(x)).unwrap_or(row.len());
            let cell = &row[x];
            let plain = ratatui::buffer::Cell::default();
            if style(x) != (plain.fg, plain.bg, plain.modifier) {
                let words: String = row[x..end].iter().map(ratatui::buffer::Cell::symbol).collect();
                let _ = writeln!(
                    text,
                    "{y:>2} {x:>3}..{end:<3} {:?} on {:?} {:?}: {}",
                    cell.fg,
                    cell.bg,
                    cell.modifier,
                    words.trim_end()
                );
            }
            x = end;
        }
    }
    text
}

fn rows(cells: &Buffer) -> impl Iterator<Item = &[ratatui::buffer::Cell]> {
    cells.content.chunks(usize::from(cells.area.width).max(1))
}

/// Compares with a file, or rewrites it.
pub(crate) fn golden(name: &str, actual: &str) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/screens").join(name);
    if env::var_os("BLESS").is_some() {
        fs::write(&file, actual).expect("the picture can be written");
        return;
    }
    let expected =
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}; `BLESS=1` writes it", file.display()));
    for (number, (is, should)) in actual.lines().zip(expected.lines()).enumerate() {
        assert_eq!(is, should, "{name}, line {}", number + 1);
    }
    assert_eq!(actual, expected, "{name} has another length");
}
