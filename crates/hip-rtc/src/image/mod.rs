//! Module images read without a driver: what they are, which kernels they have, and what those
//! take.
//!
//! [`kernels`] is for any image; the modules read one format each. Every read is bounds-checked:
//! a file that is cut off or made up is an [`ImageError`].

pub mod amdgpu;
pub mod bundle;
pub mod cubin;
pub mod elf;
mod error;
mod msgpack;
pub mod ptx;

pub use error::ImageError;

use std::fmt;

/// A parameter of a kernel, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param {
    /// From the first parameter's start.
    pub offset: usize,
    /// Bytes.
    pub size: usize,
    /// Power of two; 1 where the image does not say.
    pub align: usize,
    /// Whether it is an address; `None` where the image does not say.
    pub pointer: Option<bool>,
}

/// A kernel of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelInfo {
    /// What it is looked up by.
    pub name: String,
    /// What it takes.
    pub params: Vec<Param>,
    /// The most threads a block may have, where the image limits them.
    pub max_threads: Option<u32>,
}

/// What an image is, by how it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFormat {
    /// PTX text, NVIDIA's assembly.
    Ptx,
    /// An ELF file of machine code for NVIDIA's GPUs.
    Cubin,
    /// An ELF file of machine code for AMD's GPUs.
    AmdCodeObject,
    /// Clang's container of code objects for several architectures.
    OffloadBundle,
    /// A shared object for the CPU: ELF, PE or Mach-O.
    HostObject,
}

impl fmt::Display for ImageFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ImageFormat::Ptx => "PTX text",
            ImageFormat::Cubin => "CUBIN",
            ImageFormat::AmdCodeObject => "AMD code object",
            ImageFormat::OffloadBundle => "clang offload bundle",
            ImageFormat::HostObject => "host object",
        })
    }
}

/// What an image is; `None` if it is nothing that is known here.
///
/// Only its start is looked at: the image can still be damaged.
pub fn format(image: &[u8]) -> Option<ImageFormat> {
    if image.starts_with(&elf::MAGIC) {
        // Without a machine it is no ELF file that anything could be said of.
        return match elf::u16_at(image, elf::MACHINE_AT)? {
            cubin::MACHINE => Some(ImageFormat::Cubin),
            amdgpu::MACHINE => Some(ImageFormat::AmdCodeObject),
            _ => Some(ImageFormat::HostObject),
        };
    }
    if bundle::is_bundle(image) {
        return Some(ImageFormat::OffloadBundle);
    }
    /// How PE files start, and 64-bit Mach-O files of little-endian machines.
    const OTHER_OBJECTS: [&[u8]; 2] = [b"MZ", b"\xcf\xfa\xed\xfe"];
    if OTHER_OBJECTS.iter().any(|magic| image.starts_with(magic)) {
        return Some(ImageFormat::HostObject);
    }
    let text = ptx::text(image)?;
    ptx::is_ptx(text).then_some(ImageFormat::Ptx)
}

/// The kernels of an image of any format. PTX may end with NULs or without. Of a bundle it is
/// those of its first code object: all of them were made from one text.
///
/// # Errors
/// The image is of no known format, cut off, or damaged. A host object that `hip_rtc::host` did
/// not make does not describe its kernels.
pub fn kernels(image: &[u8]) -> Result<Vec<KernelInfo>, ImageError> {
    let format = format(image).ok_or(ImageError::Unknown)?;
    match format {
        ImageFormat::Ptx => ptx::kernels(ptx::text(image).ok_or(ImageError::Unknown)?),
        ImageFormat::Cubin => cubin::kernels(image),
        ImageFormat::AmdCodeObject => amdgpu::kernels(image),
        ImageFormat::OffloadBundle => {
            let entries = bundle::entries(image)?;
            let mut objects = entries.iter().map(|entry| entry.image);
            let object = objects.find(|object| elf::is_for(object, amdgpu::MACHINE));
            let none = || ImageError::damaged(format, "it holds no AMD code object");
            amdgpu::kernels(object.ok_or_else(none)?)
        }
        ImageFormat::HostObject => crate::host::kernels_of_object(image)
            .ok_or_else(|| ImageError::damaged(format, "it does not describe kernels")),
    }
}

/// The parameters of C types of these sizes and alignments, one behind the other; `None` if they
/// are larger than memory.
pub(crate) fn place(
    params: impl IntoIterator<Item = (usize, usize, Option<bool>)>,
) -> Option<Vec<Param>> {
    let mut end = 0_usize;
    let place = |(size, align, pointer): (usize, usize, Option<bool>)| {
        let offset = end.checked_next_multiple_of(align)?;
        end = offset.checked_add(size)?;
        Some(Param {
            offset,
            size,
            align,
            pointer,
        })
    };
    params.into_iter().map(place).collect()
}

#[cfg(test)]
mod tests;
