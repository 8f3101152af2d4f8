//! The BPF object, made fit for the running kernel before it is loaded.
//!
//! Owns: what aya 0.14 cannot express, a call of a kernel function. The object calls a number that no helper has;
//! here the number becomes the function's BTF id, or, where the kernel lacks the function, a harmless move in a
//! branch that the verifier drops.

use anyhow::{Result, bail};

/// The object as built.
pub static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/tracer"));

/// The number that stands for `bpf_rdonly_cast` in the object; the same as in `tracer-ebpf`'s `word.rs`.
const CAST: i32 = 0x5ead_0001;

const CALL: u8 = 0x85;
const PSEUDO_KFUNC_CALL: u8 = 2;
/// `r0 = r1`
const MOVE: [u8; 8] = [0xbf, 0x10, 0, 0, 0, 0, 0, 0];

/// The object with every call of the cast replaced: by a call of the kernel function with BTF id `cast`, or without
/// one by a move. Instructions are 8 bytes: code, registers, 16-bit offset, 32-bit immediate, little endian.
///
/// # Errors
/// When the object holds no such call: then object and loader are not of the same build.
pub fn with_cast(object: &[u8], cast: Option<u32>) -> Result<Vec<u8>> {
    let mut patched = object.to_vec();
    let mut calls = 0;
    let placeholder = CAST.to_le_bytes();
    // Sections of instructions are aligned to 8 bytes, so calls are, too.
    for instruction in patched.as_chunks_mut::<8>().0 {
        if instruction[0] != CALL || instruction[1] != 0 || instruction[4..] != placeholder {
            continue;
        }
        calls += 1;
        match cast {
            Some(id) => {
                instruction[1] = PSEUDO_KFUNC_CALL << 4;
                instruction[4..].copy_from_slice(&id.to_le_bytes());
            }
            None => *instruction = MOVE,
        }
    }
    if calls == 0 {
        bail!("the BPF object has no call to fit to this kernel; build the tracer anew");
    }
    Ok(patched)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL_CAST: [u8; 8] = [0x85, 0, 0, 0, 0x01, 0, 0xad, 0x5e];
    const CALL_HELPER: [u8; 8] = [0x85, 0, 0, 0, 113, 0, 0, 0];

    #[test]
    fn a_call_of_the_cast_becomes_a_call_of_the_kernel_function() {
        let patched = with_cast(&[CALL_HELPER, CALL_CAST].concat(), Some(0x0102_0304)).expect("has a call");
        assert_eq!(patched[..8], CALL_HELPER);
        assert_eq!(patched[8..], [0x85, 0x20, 0, 0, 4, 3, 2, 1]);
    }

    #[test]
    fn without_the_kernel_function_the_call_becomes_a_move() {
        let patched = with_cast(&CALL_CAST, None).expect("has a call");
        assert_eq!(patched, MOVE);
    }

    #[test]
    fn an_object_without_the_call_is_refused() {
        assert!(with_cast(&CALL_HELPER, None).is_err());
    }

    #[test]
    fn the_object_built_here_has_the_call() {
        assert!(with_cast(OBJECT, Some(1)).is_ok());
    }
}
