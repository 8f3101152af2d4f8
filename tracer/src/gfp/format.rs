//! The `format` file of a tracepoint: where its fields lie in a record, and how the kernel prints it.
//!
//! Field offsets and sizes change between kernels and with vendor patches, so they are read, never assumed. Takes
//! the file's text; must not know where that came from.

use anyhow::{Context as _, Result, bail};

/// A parsed `format` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// The tracepoint's name; empty when the file has no `name:` line.
    pub name: String,
    /// The fields in file order, those common to all tracepoints first.
    pub fields: Vec<Field>,
    /// The text after `print fmt:`; empty when there is none.
    pub print: String,
}

/// Where one field lies in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name, without the brackets of an array.
    pub name: String,
    /// Its C type as written, such as `unsigned long` or `__data_loc char[]`.
    pub kind: String,
    /// Bytes from the start of the record.
    pub offset: usize,
    /// Bytes it takes.
    pub size: usize,
    /// Whether it is a signed number.
    pub signed: bool,
}

impl Format {
    /// Parses the text of a `format` file; line ends may be CRLF, and the last one may be missing.
    ///
    /// Errors on a field line without offset or size, and on a file with no field at all.
    pub fn parse(text: &str) -> Result<Self> {
        let mut format = Self { name: String::new(), fields: Vec::new(), print: String::new() };
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix("name:") {
                format.name = name.trim().chars().filter(|c| !c.is_control()).collect();
            } else if let Some(print) = line.strip_prefix("print fmt:") {
                print.trim().clone_into(&mut format.print);
            } else if line.starts_with("field:") {
                let field = Field::parse(line).with_context(|| format!("line `{}`", line.escape_debug()))?;
                format.fields.push(field);
            }
        }
        if format.fields.is_empty() {
            bail!("no `field:` line: this is no tracepoint format file");
        }
        Ok(format)
    }

    /// The field of this name.
    ///
    /// Errors naming the tracepoint and the fields it has.
    pub fn field(&self, name: &str) -> Result<&Field> {
        self.fields.iter().find(|field| field.name == name).with_context(|| {
            let own = self.fields.iter().map(|field| field.name.as_str()).filter(|name| !name.starts_with("common_"));
            let own: Vec<&str> = own.collect();
            format!("tracepoint `{}` has no field `{name}`: it has `{}`", self.name, own.join("`, `"))
        })
    }
}

impl Field {
    /// Parses `field:TYPE NAME; offset:N; size:N; signed:N;`.
    fn parse(line: &str) -> Result<Self> {
        let mut declaration = None;
        let (mut offset, mut size, mut signed) = (None, None, false);
        for part in line.split(';').map(str::trim) {
            match part.split_once(':') {
                Some(("field", text)) => declaration = Some(text.trim()),
                Some(("offset", text)) => offset = Some(text.trim().parse().context("`offset`")?),
                Some(("size", text)) => size = Some(text.trim().parse().context("`size`")?),
                Some(("signed", text)) => signed = text.trim() == "1",
                // Later kernels may tell more about a field; what we need is all above.
                _ => {}
            }
        }
        let declaration = declaration.context("no declaration")?;
        // `char comm[16]` is an array of 16; `__data_loc char[] name` keeps its brackets in the type.
        let bare =
            declaration.split_once('[').filter(|_| declaration.ends_with(']')).map_or(declaration, |(bare, _)| bare);
        let start = bare.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |last| last + 1);
        let (kind, name) = bare.split_at_checked(start).context("no name")?;
        if name.is_empty() || kind.trim().is_empty() {
            bail!("declaration without type and name");
        }
        Ok(Self {
            name: name.to_owned(),
            kind: kind.trim().chars().filter(|c| !c.is_control()).collect(),
            offset: offset.context("no `offset`")?,
            size: size.context("no `size`")?,
            signed,
        })
    }
}

#[cfg(test)]
mod tests;
