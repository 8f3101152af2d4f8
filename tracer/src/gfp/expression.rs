//! The C expressions in which a tracepoint's `print fmt` gives the masks of flags.
//!
//! Integer constants, casts, parentheses and the operators `~ - + * << >> & ^ |`, with C's widths and conversions
//! on a 64-bit kernel. Must not know what a mask stands for, but for the kernel's own names of gfp bits.

use anyhow::{Context as _, Result, bail};

/// Deepest nesting taken. Kernels up to 7.3 nest fifteen deep; text from elsewhere must not exhaust our stack.
const MAX_DEPTH: u32 = 200;

/// Enumeration names that the formats of kernels 6.10 and later leave in place of numbers where
/// `TRACE_DEFINE_ENUM` is missing. `include/linux/gfp_types.h` numbers them without regard to the configuration up
/// to `ZEROTAGS`; the two after it are first in line where they exist at all (`CONFIG_KASAN_HW_TAGS`).
const GFP_BITS: [&str; 26] = [
    "DMA",
    "HIGHMEM",
    "DMA32",
    "MOVABLE",
    "RECLAIMABLE",
    "HIGH",
    "IO",
    "FS",
    "ZERO",
    "UNUSED",
    "DIRECT_RECLAIM",
    "KSWAPD_RECLAIM",
    "WRITE",
    "NOWARN",
    "RETRY_MAYFAIL",
    "NOFAIL",
    "NORETRY",
    "MEMALLOC",
    "COMP",
    "NOMEMALLOC",
    "HARDWALL",
    "THISNODE",
    "ACCOUNT",
    "ZEROTAGS",
    "SKIP_ZERO",
    "SKIP_KASAN",
];

/// The value of an expression as an `unsigned long`.
///
/// Errors on anything that is not such an expression, saying where.
pub(super) fn evaluate(text: &str) -> Result<u64> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let value = parser
        .binary(0)
        .and_then(|value| match parser.peek() {
            None => Ok(value),
            Some(_) => bail!("something follows the expression"),
        })
        .with_context(|| format!("at byte {} of `{}`", parser.at, text.escape_debug()))?;
    Ok(value.cast(64, false).bits())
}

/// A C integer: its mathematical value, always within its type.
#[derive(Clone, Copy)]
struct Value {
    number: i128,
    width: u32,
    signed: bool,
}

impl Value {
    /// `number` brought into a type, modulo 2^width.
    fn of(number: i128, width: u32, signed: bool) -> Self {
        let range = 1_i128 << width;
        let unsigned = number.rem_euclid(range);
        let number = if signed && unsigned >= range / 2 { unsigned - range } else { unsigned };
        Self { number, width, signed }
    }

    fn cast(self, width: u32, signed: bool) -> Self {
        Self::of(self.number, width, signed)
    }

    fn bits(self) -> u64 {
        // Two's complement: the low half of an i128 is the bit pattern of the type.
        let bytes = self.number.to_le_bytes();
        u64::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]])
    }

    /// Both operands in their common type (the usual arithmetic conversions).
    fn common(self, other: Self) -> (Self, Self) {
        let width = self.width.max(other.width);
        let signed = [self, other].iter().all(|operand| operand.signed || operand.width < width);
        (self.cast(width, signed), other.cast(width, signed))
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

/// Binary operators by increasing binding.
const OPERATORS: [&[&str]; 6] = [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*"]];

impl Parser<'_> {
    /// Operators of this binding and tighter.
    fn binary(&mut self, level: usize) -> Result<Value> {
        let Some(operators) = OPERATORS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1)?;
        loop {
            let rest = self.rest();
            // `||` and `&&` are no masks.
            let Some(operator) =
                operators.iter().find(|&&op| rest.starts_with(op) && !(op.len() == 1 && rest[1..].starts_with(op)))
            else {
                return Ok(left);
            };
            self.at += operator.len();
            let right = self.binary(level + 1)?;
            left = apply(operator, left, right)?;
        }
    }

    fn unary(&mut self) -> Result<Value> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            bail!("nested deeper than {MAX_DEPTH}");
        }
        let value = match self.peek() {
            Some('~') => {
                self.at += 1;
                let value = self.unary()?;
                Value::of(!value.number, value.width, value.signed)
            }
            Some('-') => {
                self.at += 1;
                let value = self.unary()?;
                Value::of(-value.number, value.width, value.signed)
            }
            Some('(') => self.parenthesis()?,
            Some(c) if c.is_ascii_digit() => self.number()?,
            Some(c) if is_word(c) => {
                let name = self.word();
                let bit = name.strip_prefix("___GFP_").and_then(|name| name.strip_suffix("_BIT"));
                let number = bit
                    .and_then(|bit| GFP_BITS.iter().position(|&known| known == bit))
                    .with_context(|| format!("unknown name `{name}`"))?;
                Value::of(i128::try_from(number)?, 32, true)
            }
            Some(c) => bail!("unexpected `{}`", c.escape_debug()),
            None => bail!("ends where a value should stand"),
        };
        self.depth -= 1;
        Ok(value)
    }

    /// A cast, or an expression in parentheses.
    fn parenthesis(&mut self) -> Result<Value> {
        self.at += 1;
        let start = self.at;
        let mut words = Vec::new();
        while self.peek().is_some_and(|c| is_word(c) && !c.is_ascii_digit()) {
            words.push(self.word());
        }
        if !words.is_empty() && self.peek() == Some(')') && !words.iter().any(|word| word.ends_with("_BIT")) {
            self.at += 1;
            let (width, signed) = integer_type(&words)?;
            return Ok(self.unary()?.cast(width, signed));
        }
        self.at = start;
        let value = self.binary(0)?;
        if self.peek() != Some(')') {
            bail!("`)` is missing");
        }
        self.at += 1;
        Ok(value)
    }

    /// A constant with its suffix, in the first type that holds it.
    fn number(&mut self) -> Result<Value> {
        let word = self.word().to_ascii_lowercase();
        let digits = word.trim_end_matches(['u', 'l']);
        let suffix = &word[digits.len()..];
        let number = match digits.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8),
            None => digits.parse(),
        }
        .with_context(|| format!("number `{word}`"))?;
        let decimal = !digits.starts_with('0');
        let unsigned = suffix.contains('u');
        let wide = suffix.contains('l');
        let (width, signed) = if !wide && !unsigned && i32::try_from(number).is_ok() {
            (32, true)
        } else if !wide && (unsigned || !decimal) && u32::try_from(number).is_ok() {
            (32, false)
        } else if !unsigned && i64::try_from(number).is_ok() {
            (64, true)
        } else {
            (64, false)
        };
        Ok(Value::of(i128::from(number), width, signed))
    }

    /// The identifier or number here.
    fn word(&mut self) -> String {
        let rest = self.rest();
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let word = rest[..end].to_owned();
        self.at += end;
        word
    }

    fn peek(&mut self) -> Option<char> {
        self.rest().chars().next()
    }

    /// What is left, blanks skipped.
    fn rest(&mut self) -> &str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.text[self.at..]
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Width and signedness of a C type's words.
fn integer_type(words: &[String]) -> Result<(u32, bool)> {
    let has = |name: &str| words.iter().any(|word| word == name);
    if has("gfp_t") || has("u32") || has("__u32") {
        return Ok((32, false));
    }
    if has("u64") || has("__u64") || has("size_t") || has("uintptr_t") {
        return Ok((64, false));
    }
    let known = ["__force", "unsigned", "signed", "long", "int"];
    if let Some(word) = words.iter().find(|word| !known.contains(&word.as_str())) {
        bail!("cast to unknown type `{word}`");
    }
    Ok((if has("long") { 64 } else { 32 }, !has("unsigned")))
}

fn apply(operator: &str, left: Value, right: Value) -> Result<Value> {
    if let "<<" | ">>" = operator {
        // A shift has the type of its left operand; one of its width or more is undefined in C.
        let count = u32::try_from(right.number).ok().filter(|&count| count < left.width);
        let count = count.with_context(|| format!("shift of {} bits by {}", left.width, right.number))?;
        let number = if operator == "<<" { left.number << count } else { left.number >> count };
        return Ok(Value::of(number, left.width, left.signed));
    }
    let (left, right) = left.common(right);
    let number = match operator {
        "|" => left.number | right.number,
        "^" => left.number ^ right.number,
        "&" => left.number & right.number,
        "+" => left.number + right.number,
        "-" => left.number - right.number,
        // Two 64-bit numbers may not fit an i128 when both are unsigned; the low half is all that counts.
        _ => left.number.wrapping_mul(right.number),
    };
    Ok(Value::of(number, left.width, left.signed))
}

#[cfg(test)]
mod tests {
    use super::evaluate;

    #[test]
    fn values_are_those_that_c_gives() {
        // Checked against gcc on x86-64.
        for (text, value) in [
            ("0", 0),
            (" ( 0x400u | 0x800u ) ", 0xc00),
            ("( gfp_t)((((1UL))) << (24))", 1 << 24),
            ("1 | 6 & 3 ^ 1 << 2 + 1", 11),
            ("~( gfp_t)0", 0xffff_ffff),
            ("(unsigned long)~0x1u", 0xffff_fffe),
            ("~0", u64::MAX),
            ("~0UL & ~( gfp_t)0", 0xffff_ffff),
            ("(unsigned long)-1", u64::MAX),
            ("(unsigned int)-1", 0xffff_ffff),
            ("-1 & 0xffu", 0xff),
            ("0xffffffff + 1", 0),
            ("0xffffffffUL + 1", 1 << 32),
            ("3 - 5", u64::MAX - 1),
            ("(int)0x80000000u >> 31", u64::MAX),
            ("010 * 2", 16),
            ("0xFFFFFFFFFFFFFFFFull * 0xFFFFFFFFFFFFFFFFull", 1),
            ("4294967295", 0xffff_ffff),
            ("(( __force gfp_t)0x20u)", 0x20),
            ("(((( gfp_t)((((1UL))) << (___GFP_COMP_BIT)))))", 0x4_0000),
            ("(___GFP_IO_BIT)", 6),
        ] {
            assert_eq!(evaluate(text).expect(text), value, "{text}");
        }
    }

    #[test]
    fn what_is_no_such_expression_is_refused() {
        for text in [
            "",
            " ",
            "1 +",
            "(1",
            "1)",
            "()",
            "1 2",
            "x",
            "0x",
            "0xg",
            "09",
            "1 << 64",
            "1 << 32",
            "1 << -1",
            "1 || 2",
            "1 && 2",
            "a ? 1 : 2",
            "(struct page *)0",
            "(bool)1",
            "18446744073709551616",
            "1\u{e9}",
            "\u{2028}|",
            "\"A\"",
            "sizeof(int)",
            "1 / 2",
        ] {
            assert!(evaluate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn deep_nesting_is_refused_before_the_stack_ends() {
        for (open, close) in [("(", ")"), ("~", ""), ("-", " "), ("(int)", "")] {
            let nested = |depth: usize| open.repeat(depth) + "1" + &close.repeat(depth);
            assert!(evaluate(&nested(30)).is_ok(), "{open}");
            assert!(evaluate(&nested(1_000_000)).is_err(), "{open}");
        }
    }
}
