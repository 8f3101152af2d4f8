//! netperf's command line, as far as it tells how to read the output.

use super::{super::wrapped::base_name, unit::Unit};

/// Options before the `--` that take a value, by netperf 2.7's `-h`.
const WITH_VALUE: &str = "ABDFHIKLOPTWYZabfiklnopstvwy";

/// What was asked of netperf; of several instances the last that says it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Options {
    /// Tests by `-t`, in capitals, each once; netperf's default where an instance has none.
    pub(super) tests: Vec<String>,
    /// `-f`.
    pub(super) unit: Option<Unit>,
    /// `-v 0`: a figure without its row.
    pub(super) is_terse: bool,
    /// `-P 0`: rows without a header.
    pub(super) is_headless: bool,
    /// `-B`: text after the figures of a row.
    pub(super) is_branded: bool,
    /// `-I`: level and width, both in percent.
    pub(super) confidence: Option<(String, f64)>,
    /// `-T` after the `--`, in capitals.
    pub(super) protocol: Option<String>,
    /// Options before the `--` that were meant for after it, in words.
    pub(super) misplaced: Vec<String>,
}

impl Options {
    /// `None` when no netperf is among the commands.
    pub(super) fn find(commands: &[Vec<String>]) -> Option<Self> {
        let mut options = Self::default();
        let mut is_found = false;
        for command in commands {
            let Some((program, words)) = command.split_first() else { continue };
            if base_name(program) == "netperf" {
                is_found = true;
                options.read(words);
            }
        }
        is_found.then_some(options)
    }

    fn read(&mut self, words: &[String]) {
        let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let (global, test) = words.split_at(end);
        let mut name = "TCP_STREAM".to_owned();
        let mut at = 0;
        while let Some(word) = global.get(at) {
            at += 1;
            let Some(letters) = word.strip_prefix('-') else { continue };
            for (position, letter) in letters.char_indices() {
                let attached = &letters[position + letter.len_utf8()..];
                if WITH_VALUE.contains(letter) {
                    let value = if attached.is_empty() { global.get(at).map_or("", String::as_str) } else { attached };
                    at += usize::from(attached.is_empty());
                    if letter == 't' {
                        name = value.to_uppercase();
                    }
                    self.take(letter, value);
                    break;
                }
                // Takes no value: what follows was meant as one.
                if letter == 'S' && global.get(at).is_some_and(|next| is_size(next)) {
                    self.misplace("-S", "switches keep-alive on");
                }
            }
        }
        if !self.tests.contains(&name) {
            self.tests.push(name);
        }
        for pair in test.windows(2).filter(|pair| pair[0] == "-T") {
            self.protocol = Some(pair[1].to_uppercase());
        }
    }

    fn take(&mut self, letter: char, value: &str) {
        match letter {
            'B' => self.is_branded = true,
            'I' => {
                let (level, width) = value.split_once(',').unwrap_or((value, ""));
                // netperf's own where it is left out.
                self.confidence = Some((level.to_owned(), width.parse().unwrap_or(5.0)));
            }
            'P' => self.is_headless = value == "0",
            'f' => self.unit = value.chars().next().and_then(Unit::of_letter),
            'k' if value.starts_with(|letter: char| letter.is_ascii_alphabetic()) => {
                self.misplace("-k", "counts dirty buffers");
            }
            's' if is_size(value) => self.misplace("-s", "is a wait in seconds before the test"),
            'v' => self.is_terse = value == "0",
            _ => {}
        }
    }

    fn misplace(&mut self, option: &str, meaning: &str) {
        let meant = if option == "-k" { "output selection" } else { "socket size" };
        let text = format!("netperf's `{option}` before the `--` is no {meant}, it {meaning}: put it after the `--`");
        if !self.misplaced.contains(&text) {
            self.misplaced.push(text);
        }
    }
}

/// Whether a value is rather bytes than seconds.
fn is_size(value: &str) -> bool {
    let first = value.split(',').next().unwrap_or(value);
    let is_number = first.starts_with(|letter: char| letter.is_ascii_digit());
    is_number && (value.contains(',') || first.parse::<u64>().map_or(true, |number| number >= 1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(command: &str) -> Options {
        Options::find(&[command.split_whitespace().map(str::to_owned).collect()]).unwrap()
    }

    #[test]
    fn options_are_read_as_getopt_does() {
        let read = options("netperf -4cC -H host -v0 -P 0 -fg -t udp_stream -I 99,1 -Bx -- -T tcp -v 2 -P 1 -f k");
        let expected = Options {
            tests: vec!["UDP_STREAM".into()],
            unit: Some(Unit::Data { word: "Gbit/s", bits: 1e9 }),
            is_terse: true,
            is_headless: true,
            is_branded: true,
            confidence: Some(("99".into(), 1.0)),
            protocol: Some("TCP".into()),
            misplaced: vec![],
        };
        assert_eq!(read, expected);
        assert_eq!(options("/usr/bin/netperf").tests, ["TCP_STREAM"]);
        // The value of one option is not the next one.
        assert_eq!(options("netperf -F -v -P").tests, ["TCP_STREAM"]);
        assert!(!options("netperf -B -v -H 0").is_terse);
        assert_eq!(Options::find(&[vec!["echo".into(), "netperf".into()], vec![]]), None);
    }

    #[test]
    fn socket_sizes_before_the_dashes_are_told() {
        let published = options("netperf -H 127.0.0.1 -S 200000,200000 -s 200000,200000 -l 60 -- -m 1452");
        assert_eq!(published.misplaced.len(), 2);
        assert!(published.misplaced[0].contains("`-S`") && published.misplaced[0].contains("keep-alive"));
        assert!(published.misplaced[1].contains("`-s`") && published.misplaced[1].contains("seconds"));
        for size in ["64K", "65536", "1,1"] {
            assert_eq!(options(&format!("netperf -s {size}")).misplaced.len(), 1, "{size}");
        }
        for fine in
            ["netperf -s 5 -S -t TCP_RR", "netperf -- -s 200000 -S 200000 -k THROUGHPUT", "netperf -t -S -H 9999"]
        {
            assert_eq!(options(fine).misplaced, [""; 0], "{fine}");
        }
        assert_eq!(options("netperf -k THROUGHPUT").misplaced.len(), 1);
        assert_eq!(options("netperf -k 4,5").misplaced.len(), 0);
    }
}
