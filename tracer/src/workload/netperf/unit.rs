//! Units of netperf's figures.

/// What a rate is counted in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Unit {
    /// Data: the word for one unit a second, and its bits.
    Data { word: &'static str, bits: f64 },
    /// Transactions a second.
    Transactions,
}

/// As `format_units` of netperf's `netlib.c` writes them, with the letter of `-f` for each. Bytes come in multiples of
/// 1024, bits of 1000.
const DATA: [(&str, char, &str, f64); 6] = [
    ("10^3bits", 'k', "kbit/s", 1e3),
    ("10^6bits", 'm', "Mbit/s", 1e6),
    ("10^9bits", 'g', "Gbit/s", 1e9),
    ("KBytes", 'K', "KiB/s", 8.0 * 1024.0),
    ("MBytes", 'M', "MiB/s", 8.0 * 1024.0 * 1024.0),
    ("GBytes", 'G', "GiB/s", 8.0 * 1024.0 * 1024.0 * 1024.0),
];

impl Unit {
    /// netperf's own where nothing else is asked for.
    pub(super) const MEGABIT: Self = Self::Data { word: "Mbit/s", bits: 1e6 };

    /// The unit that a header or a field names.
    pub(super) fn named_in(text: &str) -> Option<Self> {
        if text.contains("Trans/s") || text.contains("per sec") {
            return Some(Self::Transactions);
        }
        DATA.iter().find(|(name, ..)| text.contains(name)).map(|(_, _, word, bits)| Self::Data { word, bits: *bits })
    }

    /// The unit that `-f LETTER` asks for.
    pub(super) fn of_letter(letter: char) -> Option<Self> {
        DATA.iter().find(|(_, own, ..)| *own == letter).map(|(_, _, word, bits)| Self::Data { word, bits: *bits })
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Data { word, .. } => word,
            Self::Transactions => "transactions/s",
        }
    }

    /// What a rate in this unit measures.
    pub(super) fn metric(self) -> &'static str {
        match self {
            Self::Data { .. } => "throughput",
            Self::Transactions => "transactions",
        }
    }
}
