//! Cells of a terminal, from the text with colours that tmux captures.

/// How a cell looks.
#[expect(clippy::struct_excessive_bools, reason = "each is an attribute of its own")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    /// Number of a colour, 0 to 15; `None`: the terminal's own.
    pub(super) fore: Option<u8>,
    pub(super) back: Option<u8>,
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) reversed: bool,
    pub(super) underlined: bool,
}

/// Cells of the same look that stand together, and the column at which they begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) column: usize,
    pub(super) text: String,
    pub(super) look: Look,
}

/// Takes captured text apart, a list of runs for each row; what is beyond `columns` is left out.
pub(super) fn parse(captured: &str, columns: usize) -> Vec<Vec<Run>> {
    let mut look = Look::default();
    captured.lines().map(|line| row(line, columns, &mut look)).collect()
}

fn row(line: &str, columns: usize, look: &mut Look) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut column = 0;
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        if let Some(sequence) = rest.strip_prefix("\x1b[") {
            // All that tmux writes here ends in `m`.
            let Some((codes, after)) = sequence.split_once('m') else { break };
            apply(codes, look);
            rest = after;
            continue;
        }
        rest = &rest[letter.len_utf8()..];
        if column >= columns || letter.is_control() {
            continue;
        }
        match runs.last_mut().filter(|run| run.look == *look) {
            Some(run) => run.text.push(letter),
            None => runs.push(Run { column, text: letter.to_string(), look: *look }),
        }
        column += 1;
    }
    runs
}

/// Changes the look by the codes of one sequence.
fn apply(codes: &str, look: &mut Look) {
    let mut numbers = codes.split(';').map(|code| code.parse::<u8>().unwrap_or(0));
    while let Some(code) = numbers.next() {
        match code {
            0 => *look = Look::default(),
            1 => look.bold = true,
            2 => look.dim = true,
            4 => look.underlined = true,
            7 => look.reversed = true,
            22 => (look.bold, look.dim) = (false, false),
            24 => look.underlined = false,
            27 => look.reversed = false,
            30..=37 => look.fore = Some(code - 30),
            39 => look.fore = None,
            40..=47 => look.back = Some(code - 40),
            49 => look.back = None,
            90..=97 => look.fore = Some(code - 82),
            100..=107 => look.back = Some(code - 92),
            38 | 48 => {
                // `5;n`: a colour by number; those above 15 are not used.
                let color = numbers.nth(1).filter(|number| *number < 16);
                if code == 38 { look.fore = color } else { look.back = color }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_one_look_are_one_run() {
        let rows = parse("ab\x1b[1;36mcd\x1b[0m e\nf", 10);
        let bold_cyan = Look { fore: Some(6), bold: true, ..Look::default() };
        assert_eq!(rows[0][1], Run { column: 2, text: "cd".to_owned(), look: bold_cyan });
        assert_eq!((rows[0][0].text.as_str(), rows[0][2].text.as_str()), ("ab", " e"));
        assert_eq!(rows[1], [Run { column: 0, text: "f".to_owned(), look: Look::default() }]);
    }

    #[test]
    fn a_look_holds_over_the_end_of_a_line() {
        let rows = parse("\x1b[48;5;12mx\ny", 10);
        assert_eq!(rows[1][0].look.back, Some(12));
    }

    #[test]
    fn what_is_beyond_the_last_column_is_left_out() {
        assert_eq!(parse("abcdef", 3)[0][0].text, "abc");
    }
}
