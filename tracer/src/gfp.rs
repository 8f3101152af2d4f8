//! gfp flags by the running kernel's own names: from its tracepoint format, or a table for its version.
//!
//! Must not know: files, aya, how a table is shown or stored.

mod expression;
pub mod format;
mod releases;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use self::format::Format;

/// The names a kernel prints for gfp flags, in the order in which it tries them, with where they came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// `tracefs` when read from the running kernel's tracepoint format, else the table's kernel range.
    pub source: String,
    /// Mask and name; greedy: an earlier mask that fits takes its bits.
    pub names: Vec<(u64, String)>,
}

impl Table {
    /// Reads the table out of the text of a tracepoint's `format` file that prints gfp flags, such as
    /// `events/kmem/mm_page_alloc/format` in tracefs.
    ///
    /// Errors when the file has no `__print_flags` over a gfp field, or when a mask is no expression over numbers.
    pub fn from_format(format_text: &str) -> Result<Self> {
        let format = Format::parse(format_text)?;
        let names = print_flags(&format.print)
            .with_context(|| format!("gfp flag names in the format of tracepoint `{}`", format.name))?;
        Ok(Self { source: "tracefs".to_owned(), names })
    }

    /// The table that a kernel of this release (`uname -r`) is expected to print, for when tracefs cannot be read.
    /// A release that does not begin with two numbers is taken for the newest.
    pub fn for_release(release: &str) -> Self {
        releases::table(release)
    }

    /// The flags as the kernel prints them: each mask that fits takes its bits, in table order; what is left stands
    /// at the end in hexadecimal; `none` for 0. (`trace_print_flags_seq` in `kernel/trace/trace_output.c`.)
    pub fn decode(&self, gfp: u64) -> String {
        if gfp == 0 {
            return "none".to_owned();
        }
        let mut left = gfp;
        let mut words = Vec::new();
        for (mask, name) in &self.names {
            if left == 0 {
                break;
            }
            if left & mask == *mask {
                words.push(name.chars().filter(|c| !c.is_control()).collect());
                left &= !mask;
            }
        }
        if left != 0 {
            words.push(format!("{left:#x}"));
        }
        words.join("|")
    }

    /// The mask of flags given by name, separated by `,` or `|`: as the kernel prints them, or in any case and
    /// without `GFP_` or `__GFP_` (`GFP_` goes first: `atomic` is `GFP_ATOMIC`); a number stands for itself.
    ///
    /// Errors on a name that the table lacks, naming those that look like it.
    pub fn parse(&self, flags: &str) -> Result<u64> {
        let mut mask = 0;
        for word in flags.split([',', '|']).map(str::trim).filter(|word| !word.is_empty()) {
            mask |= self.mask_of(word)?;
        }
        if mask == 0 {
            bail!("no gfp flag in `{}`: name one such as `GFP_KERNEL` or `__GFP_COMP`", flags.escape_debug());
        }
        Ok(mask)
    }

    /// The mask of one flag.
    fn mask_of(&self, word: &str) -> Result<u64> {
        let upper = word.to_uppercase();
        if let Some(digits) = upper.strip_prefix("0X") {
            return u64::from_str_radix(digits, 16)
                .with_context(|| format!("gfp flag `{}` is no hexadecimal number", word.escape_debug()));
        }
        let short = short_name(&upper);
        // Old kernels print `GFP_DMA` alone though `__GFP_DMA` is the same bit: the other prefix is better than none.
        [
            upper.clone(),
            format!("GFP_{upper}"),
            format!("__GFP_{upper}"),
            format!("GFP_{short}"),
            format!("__GFP_{short}"),
        ]
        .iter()
        .find_map(|name| self.names.iter().find(|(_, known)| known == name))
        .map(|&(mask, _)| mask)
        .with_context(|| self.unknown(word, short))
    }

    /// Words for a flag that the table lacks.
    fn unknown(&self, word: &str, short: &str) -> String {
        /// Below this Jaro-Winkler similarity two names have little more than letters in common.
        const SIMILAR: f64 = 0.8;
        let mut near: Vec<(f64, &str)> = self
            .names
            .iter()
            .map(|(_, name)| (strsim::jaro_winkler(short, short_name(name)), name.as_str()))
            .filter(|&(similarity, _)| similarity >= SIMILAR)
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        near.dedup_by_key(|&mut (_, name)| name);
        let mut message = format!("unknown gfp flag `{}` in the table `{}`", word.escape_debug(), self.source);
        if near.is_empty() {
            message.push_str(": flags are named as the kernel prints them, such as `GFP_KERNEL`");
        } else {
            let names: Vec<String> = near.iter().take(3).map(|(_, name)| format!("`{name}`")).collect();
            message.push_str(": did you mean ");
            message.push_str(&names.join(", "));
        }
        message
    }
}

/// A flag's name without `GFP_` or `__GFP_`.
fn short_name(name: &str) -> &str {
    name.strip_prefix("__GFP_").or_else(|| name.strip_prefix("GFP_")).unwrap_or(name)
}

/// Mask and name of each entry of the `__print_flags` over a gfp field in a `print fmt`.
fn print_flags(print: &str) -> Result<Vec<(u64, String)>> {
    let list = print
        .match_indices("__print_flags(")
        .map(|(at, call)| &print[at + call.len()..])
        .find(|rest| rest.split_once(',').is_some_and(|(field, _)| field.contains("gfp")))
        .context("no `__print_flags` over a gfp field in `print fmt`")?;
    let mut names = Vec::new();
    let mut rest = list.split_once(',').map_or("", |(_, after)| after);
    // Each entry is `{expression, "NAME"}`; the list ends with the call or at an entry without a name.
    while let Some((before, entry)) = rest.split_once('{') {
        if before.contains(')') {
            break;
        }
        let (entry, after) = entry.split_once('}').context("`print fmt` ends inside a flag's entry")?;
        rest = after;
        let Some((expression, name)) = entry.rsplit_once(',') else {
            bail!("flag entry `{{{}}}` has no name", entry.escape_debug());
        };
        let Some(name) = name.trim().strip_prefix('"').and_then(|name| name.strip_suffix('"')) else {
            break;
        };
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            bail!("flag name `{}` is no identifier", name.escape_debug());
        }
        let mask = expression::evaluate(expression).with_context(|| format!("mask of gfp flag `{name}`"))?;
        names.push((mask, name.to_owned()));
    }
    if names.is_empty() {
        bail!("`__print_flags` in `print fmt` names no flag");
    }
    Ok(names)
}

#[cfg(test)]
mod tests;
