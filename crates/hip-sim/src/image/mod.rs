//! Module images as a driver reads them: which kernels they have, and what those take.

pub mod amdgpu;
pub mod cubin;
pub mod elf;
pub mod msgpack;
pub mod ptx;

use std::ffi::{CStr, c_void};

use crate::code::{self, Code};

/// A parameter of a kernel, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param {
    /// From the first parameter's start.
    pub offset: usize,
    /// Bytes.
    pub size: usize,
    /// Power of two; 1 where the image does not say.
    pub align: usize,
}

/// A kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// What it is looked up by.
    pub name: String,
    /// What it takes.
    pub params: Vec<Param>,
    /// The most threads a block may have, where the image limits them.
    pub max_threads: Option<u32>,
}

/// Why an image is not loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The vendors' code.
    pub code: Code,
    /// In words.
    pub text: String,
}

impl Refusal {
    /// A refusal.
    pub fn new(code: Code, text: impl Into<String>) -> Refusal {
        Refusal {
            code,
            text: text.into(),
        }
    }
}

/// The kernels of an image handed to NVIDIA's driver, for a device of `architecture` (`sm_90`).
///
/// # Safety
/// `image` is an ELF file, whose size its header tells, or NUL-terminated text.
///
/// # Errors
/// The image is neither, or not for this device.
pub unsafe fn cuda(
    image: *const c_void,
    architecture: &str,
    version: i32,
) -> Result<Vec<Kernel>, Refusal> {
    // SAFETY: the caller's promise.
    match unsafe { elf_bytes(image.cast()) } {
        Some(bytes) => cubin::kernels(bytes, architecture),
        None => {
            // SAFETY: not an ELF file, so text, by the caller's promise.
            let text = unsafe { CStr::from_ptr(image.cast()) };
            let text = text
                .to_str()
                .map_err(|_| Refusal::new(code::INVALID_IMAGE, "neither an ELF file nor text"))?;
            ptx::kernels(text, architecture, version)
        }
    }
}

/// The kernels of an image handed to AMD's runtime, for a device of `architecture`
/// (`gfx90a:sramecc+:xnack-`).
///
/// # Safety
/// `image` is an ELF file, whose size its header tells, or at least four bytes that do not start
/// like one.
///
/// # Errors
/// The image is no code object, or not for this device.
pub unsafe fn amd(image: *const c_void, architecture: &str) -> Result<Vec<Kernel>, Refusal> {
    // SAFETY: the caller's promise.
    match unsafe { elf_bytes(image.cast()) } {
        Some(bytes) => amdgpu::kernels(bytes, architecture),
        None => Err(Refusal::new(code::INVALID_IMAGE, "not an ELF file")),
    }
}

/// The bytes of an ELF file, if it is one.
///
/// # Safety
/// As [`amd`] or [`cuda`].
unsafe fn elf_bytes<'a>(image: *const u8) -> Option<&'a [u8]> {
    for (index, byte) in elf::MAGIC.iter().enumerate() {
        // SAFETY: every earlier byte was one of an ELF file's, so this one is there too: text
        // ends with a NUL, which is none of them.
        if unsafe { image.add(index).read() } != *byte {
            return None;
        }
    }
    // SAFETY: an ELF file is at least its header.
    let header = unsafe { std::slice::from_raw_parts(image, elf::HEADER) };
    let size = elf::file_size(header);
    // SAFETY: the header says so, and the caller vouches for it.
    Some(unsafe { std::slice::from_raw_parts(image, size) })
}

/// The parameters of C types of these sizes and alignments, one behind the other.
fn place(params: impl IntoIterator<Item = (usize, usize)>) -> Vec<Param> {
    let mut end = 0_usize;
    let place = |(size, align): (usize, usize)| {
        let offset = end.next_multiple_of(align);
        end = offset + size;
        Param {
            offset,
            size,
            align,
        }
    };
    params.into_iter().map(place).collect()
}
