//! Lines of a given width: headings, wrapped text, aligned columns and bars.
//!
//! Owns: everything that depends on what the terminal can show. Untrusted text becomes harmless here.
//! Must not know: what the lines are about.

use std::io;

use anstyle::{AnsiColor, Effects};
use tabled::{
    builder::Builder,
    settings::{Alignment, Padding, Style as Borders, object::Columns},
};
use textwrap::{WordSplitter, core::display_width};

use super::{MIN_WIDTH, Style};
use crate::output::untrusted;

/// How far everything but headings is indented.
const INDENT: &str = "  ";

/// A space at which no line is broken, until the line is written.
pub(super) const TIE: char = '\u{a0}';

/// What a piece of text means, beside what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    /// The title of a section or the name of what follows.
    Title,
    /// The title of a column.
    Faint,
    /// As it should be.
    Good,
    /// To be read before the numbers are believed.
    Warning,
    /// Failed or lost.
    Bad,
    /// The filled part of a bar.
    Bar,
}

/// Which way a column leans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// Words.
    Left(&'static str),
    /// Numbers.
    Right(&'static str),
}

/// Lines in the making.
#[derive(Debug)]
pub(super) struct Sheet {
    style: Style,
    lines: Vec<String>,
}

impl Sheet {
    pub(super) fn new(style: Style) -> Self {
        Self { style: Style { width: style.width.max(MIN_WIDTH), ..style }, lines: Vec::new() }
    }

    /// Columns beside the indent.
    pub(super) fn width(&self) -> usize {
        usize::from(self.style.width) - INDENT.len()
    }

    /// Starts a section; the note says what its numbers are of.
    pub(super) fn heading(&mut self, title: &str, note: &str) {
        if !self.lines.is_empty() {
            self.lines.push(String::new());
        }
        let title = self.paint(Tone::Title, &self.clean(title));
        self.lines.push(if note.is_empty() { title } else { format!("{title}  {}", self.clean(note)) });
    }

    /// A paragraph.
    pub(super) fn line(&mut self, text: &str) {
        self.hanging("", text);
    }

    /// A paragraph behind a label, all in one tone.
    pub(super) fn toned(&mut self, tone: Tone, label: &str, text: &str) {
        let first = self.lines.len();
        self.hanging(label, text);
        for index in first..self.lines.len() {
            self.lines[index] = self.paint(tone, &self.lines[index]);
        }
    }

    /// A paragraph behind a label, its further lines indented like its first.
    pub(super) fn hanging(&mut self, label: &str, text: &str) {
        let further = " ".repeat(INDENT.len() + display_width(label));
        let first = format!("{INDENT}{label}");
        let options = textwrap::Options::new(usize::from(self.style.width))
            .initial_indent(&first)
            .subsequent_indent(&further)
            .break_words(false)
            .word_splitter(WordSplitter::NoHyphenation);
        let text = self.clean(text);
        self.lines.extend(textwrap::wrap(&text, options).iter().map(|line| line.trim_end().replace(TIE, " ")));
    }

    /// A line that is already as it should be: made of [`Sheet::clean`] and [`Sheet::paint`].
    pub(super) fn push(&mut self, line: &str) {
        self.lines.push(format!("{INDENT}{line}").trim_end().to_owned());
    }

    /// Aligned columns under their titles. Where a row is too long, its last cell follows on a line of its own.
    pub(super) fn table(&mut self, columns: &[Column], rows: Vec<Vec<String>>) {
        let short_rows: Vec<Vec<String>> = rows.iter().map(|row| row[..row.len().saturating_sub(1)].to_vec()).collect();
        let last: Vec<String> = rows.iter().filter_map(|row| row.last().cloned()).collect();
        let lines = self.table_lines(columns, rows);
        let short = self.table_lines(&columns[..columns.len().saturating_sub(1)], short_rows);
        for (index, (line, short)) in lines.iter().zip(&short).enumerate() {
            match index.checked_sub(1).and_then(|row| last.get(row)) {
                Some(last) if display_width(line) > self.width() => {
                    self.push(short);
                    if !last.is_empty() {
                        self.hanging("    ", last);
                    }
                }
                _ => self.push(line),
            }
        }
    }

    /// As [`Sheet::table`], with a bar at the end of each row that takes what room is left, if it is worth it.
    pub(super) fn table_with_bars(&mut self, columns: &[Column], rows: Vec<Vec<String>>, parts: &[u64], whole: u64) {
        const LEAST: usize = 6;
        const MOST: usize = 40;
        let lines = self.table_lines(columns, rows);
        let taken = lines.iter().map(|line| display_width(line)).max().unwrap_or(0) + 2;
        let room = self.width().saturating_sub(taken).min(MOST);
        for (index, line) in lines.iter().enumerate() {
            match index.checked_sub(1).and_then(|row| parts.get(row)) {
                Some(&part) if room >= LEAST => {
                    let gap = " ".repeat(taken - display_width(line));
                    let bar = self.bar(part, whole, room);
                    self.push(&format!("{line}{gap}{bar}"));
                }
                _ => self.push(line),
            }
        }
    }

    /// How wide a table would be.
    pub(super) fn table_width(&self, columns: &[Column], rows: Vec<Vec<String>>) -> usize {
        self.table_lines(columns, rows).iter().map(|line| display_width(line)).max().unwrap_or(0)
    }

    fn table_lines(&self, columns: &[Column], rows: Vec<Vec<String>>) -> Vec<String> {
        let titles = columns.iter().map(|column| match column {
            Column::Left(title) | Column::Right(title) => self.paint(Tone::Faint, title),
        });
        let mut table = Builder::default();
        table.push_record(titles);
        for row in rows {
            table.push_record(row);
        }
        let mut table = table.build();
        table.with(Borders::empty()).with(Padding::new(0, 2, 0, 0));
        for (index, column) in columns.iter().enumerate() {
            if let Column::Right(_) = column {
                table.modify(Columns::one(index), Alignment::right());
            }
        }
        table.to_string().lines().map(|line| line.trim_end().to_owned()).collect()
    }

    /// A part of a whole as a bar at most `width` wide; whatever is more than nothing is seen.
    pub(super) fn bar(&self, part: u64, whole: u64, width: usize) -> String {
        const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
        if part == 0 || whole == 0 {
            return String::new();
        }
        let steps: usize = if self.style.unicode { 8 } else { 1 };
        let filled = u128::from(part.min(whole)) * (width * steps) as u128 / u128::from(whole);
        let filled = usize::try_from(filled).unwrap_or(width * steps).max(1);
        let bar = if self.style.unicode {
            format!("{}{}", "█".repeat(filled / steps), EIGHTHS[filled % steps])
        } else {
            "#".repeat(filled)
        };
        self.paint(Tone::Bar, &bar)
    }

    /// A name for a column: harmless, and without its middle where it is longer than a third of the line.
    pub(super) fn name(&self, text: &str) -> String {
        let text: Vec<char> = self.clean(text).chars().collect();
        let most = self.width() / 3;
        if text.len() <= most {
            return text.into_iter().collect();
        }
        let gap = if self.style.unicode { "…" } else { ".." };
        let head = most / 3;
        let tail = most - head - gap.chars().count();
        text[..head].iter().chain(&gap.chars().collect::<Vec<_>>()).chain(&text[text.len() - tail..]).collect()
    }

    /// Untrusted text on one line.
    pub(super) fn clean(&self, text: &str) -> String {
        if self.style.unicode {
            untrusted::line(text, false)
        } else {
            // The tie is ours and becomes a plain space later.
            text.split(TIE).map(|part| untrusted::line(part, true)).collect::<Vec<_>>().join(&TIE.to_string())
        }
    }

    /// Colour where there is any.
    pub(super) fn paint(&self, tone: Tone, text: &str) -> String {
        if !self.style.color || text.is_empty() {
            return text.to_owned();
        }
        let style = match tone {
            Tone::Title => anstyle::Style::new().effects(Effects::BOLD),
            Tone::Faint => anstyle::Style::new().effects(Effects::DIMMED),
            Tone::Good => AnsiColor::Green.on_default(),
            Tone::Warning => AnsiColor::Yellow.on_default(),
            Tone::Bad => AnsiColor::Red.on_default(),
            Tone::Bar => AnsiColor::Cyan.on_default(),
        };
        format!("{style}{text}{style:#}")
    }

    /// Writes all lines.
    pub(super) fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for line in &self.lines {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }
}
