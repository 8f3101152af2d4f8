//! Names for addresses in processes, through blazesym, as long as the process lives.
//!
//! Must not know: the kernel's symbols.

use blazesym::{
    Pid,
    symbolize::{
        Input, Symbolized, Symbolizer,
        source::{Process, Source},
    },
};

use crate::batch::Frame;

/// Names user stacks. Bound to one thread, like blazesym's symbolizer.
pub struct UserSymbols {
    symbolizer: Symbolizer,
}

impl Default for UserSymbols {
    fn default() -> Self {
        let symbolizer =
            Symbolizer::builder().enable_code_info(false).enable_inlined_fns(false).enable_demangling(true).build();
        Self { symbolizer }
    }
}

impl UserSymbols {
    /// One frame an address, innermost first. What has no symbol is `0x...` within its file; when the process is gone
    /// nothing tells which file that was, so it stands in `process N`.
    pub fn name(&self, process: u32, addresses: &[u64]) -> Vec<Frame> {
        let gone = |address: u64| Frame { name: format!("{address:#x}"), module: Some(format!("process {process}")) };
        // All but the innermost are return addresses, which may lie behind the function that called.
        let called: Vec<u64> =
            addresses.iter().enumerate().map(|(at, &address)| address - u64::from(at > 0 && address > 0)).collect();
        let source = Source::Process(Process::new(Pid::from(process)));
        let Ok(symbols) = self.symbolizer.symbolize(&source, Input::AbsAddr(&called)) else {
            return addresses.iter().copied().map(gone).collect();
        };
        let frame = |(symbol, &address): (Symbolized<'_>, &u64)| match symbol {
            Symbolized::Sym(it) => Frame { name: plain(&it.name), module: it.module.map(|it| file_name(&it)) },
            Symbolized::Unknown(_) => gone(address),
        };
        symbols.into_iter().zip(addresses).map(frame).collect()
    }
}

fn file_name(path: &std::ffi::OsStr) -> String {
    let path = std::path::Path::new(path);
    plain(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy())
}

/// Without control characters: symbol and file names are anybody's.
fn plain(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { '?' } else { it }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn here() -> u64 {
        here as fn() -> u64 as usize as u64
    }

    #[test]
    fn a_function_of_this_process_is_named_with_its_file() {
        let frames = UserSymbols::default().name(std::process::id(), &[here()]);
        assert!(frames[0].name.contains("here"), "{frames:?}");
        assert!(frames[0].module.as_ref().is_some_and(|it| it.starts_with("tracer")), "{frames:?}");
    }

    #[test]
    fn of_a_process_that_is_gone_the_address_remains() {
        // No process has this number: the largest is 2^22.
        let frames = UserSymbols::default().name(1 << 30, &[0x1000, 0x2000]);
        assert_eq!(frames[1], Frame { name: "0x2000".to_owned(), module: Some("process 1073741824".to_owned()) });
    }
}
