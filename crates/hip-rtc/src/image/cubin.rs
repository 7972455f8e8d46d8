//! NVIDIA's CUBIN files: ELF, with a section of code for each kernel and one that describes its
//! parameters. The layout is what `cuobjdump -elf` shows of any CUBIN.

use super::elf::{self, Section};
use super::{ImageError, ImageFormat, KernelInfo, Param};

/// `EM_CUDA`.
pub const MACHINE: u16 = 190;
/// Where `e_ident[EI_ABIVERSION]` is.
const ABI_VERSION_AT: usize = 8;
/// The ABI version of CUDA 13, which moved the architecture one byte up in `e_flags`.
const ABI_OF_CUDA_13: u8 = 8;
/// Attribute of `.nv.info.<kernel>` that describes one parameter.
const PARAMETER: u8 = 0x17;
/// Attribute that holds the most threads in x, y, z.
const MAX_THREADS: u8 = 0x05;
/// A value of its own size follows an attribute of this format; else two bytes do.
const SIZED: u8 = 0x04;

/// The kernels of a CUBIN.
///
/// # Errors
/// It is none, cut off, or damaged.
pub fn kernels(file: &[u8]) -> Result<Vec<KernelInfo>, ImageError> {
    let damaged = |what: &str| ImageError::damaged(ImageFormat::Cubin, what);
    elf::check_size(file, ImageFormat::Cubin)?;
    if !elf::is_for(file, MACHINE) {
        return Err(damaged("it is no ELF file of NVIDIA's GPUs"));
    }
    let sections = elf::sections(file).ok_or_else(|| damaged("its section headers"))?;
    let mut found = Vec::new();
    for text in &sections {
        let Some(name) = text.name.strip_prefix(".text.") else {
            continue;
        };
        let described =
            |section: &&Section<'_>| section.name.strip_prefix(".nv.info.") == Some(name);
        // A section of code without a description is a function, not a kernel.
        let Some(info) = sections.iter().find(described) else {
            continue;
        };
        let bytes = elf::bytes(file, info.offset, info.size);
        let kernel = bytes
            .and_then(attributes)
            .and_then(|attributes| describe(name, &attributes));
        found.push(kernel.ok_or_else(|| damaged("the description of a kernel"))?);
    }
    Ok(found)
}

/// The architecture that a CUBIN is for: 90 for `sm_90`; `None` if the file is too short.
pub fn architecture(file: &[u8]) -> Option<u32> {
    let flags = elf::u32_at(file, elf::FLAGS_AT)?;
    Some(match *file.get(ABI_VERSION_AT)? >= ABI_OF_CUDA_13 {
        true => flags >> 8 & 0xff,
        false => flags & 0xff,
    })
}

/// The attributes that have a sized value, with it.
fn attributes(mut info: &[u8]) -> Option<Vec<(u8, &[u8])>> {
    let mut found = Vec::new();
    while !info.is_empty() {
        let (format, attribute) = (*info.first()?, *info.get(1)?);
        let size = if format == SIZED {
            usize::from(elf::u16_at(info, 2)?)
        } else {
            0
        };
        if format == SIZED {
            found.push((attribute, elf::bytes(info, 4, size)?));
        }
        info = info.get(4 + size..)?;
    }
    Some(found)
}

fn describe(name: &str, attributes: &[(u8, &[u8])]) -> Option<KernelInfo> {
    let values = |wanted: u8| {
        let same = move |(attribute, _): &&(u8, &[u8])| *attribute == wanted;
        attributes.iter().filter(same).map(|(_, value)| *value)
    };
    // Index, ordinal and offset, then the size in the upper 14 bits of a word.
    let param = |value| {
        let (ordinal, offset) = (elf::u16_at(value, 4)?, elf::u16_at(value, 6)?);
        let size = elf::u32_at(value, 8)? >> 18;
        Some((
            ordinal,
            Param {
                offset: offset.into(),
                size: size as usize,
                align: 1,
                pointer: None,
            },
        ))
    };
    let mut params = values(PARAMETER).map(param).collect::<Option<Vec<_>>>()?;
    params.sort_by_key(|(ordinal, _)| *ordinal);
    let most = |value| {
        (0..3).try_fold(1_u32, |threads, axis| {
            threads.checked_mul(elf::u32_at(value, 4 * axis)?)
        })
    };
    Some(KernelInfo {
        name: name.to_owned(),
        params: params.into_iter().map(|(_, param)| param).collect(),
        max_threads: values(MAX_THREADS).find_map(most),
    })
}
