//! NVIDIA's CUBIN files: ELF, with a section of code for each kernel and one that describes its
//! parameters. The layout is what `cuobjdump -elf` shows of any CUBIN.

use super::elf::{self, Section};
use super::{Kernel, Param, Refusal};
use crate::code;

/// `EM_CUDA`.
const MACHINE: u16 = 190;
/// Attribute of `.nv.info.<kernel>` that describes one parameter.
const PARAMETER: u8 = 0x17;
/// Attribute that holds the most threads in x, y, z.
const MAX_THREADS: u8 = 0x05;
/// A value of its own size follows an attribute of this format; else two bytes do.
const SIZED: u8 = 0x04;

/// The kernels of a CUBIN, for a device (`sm_90`).
///
/// # Errors
/// 200 for what is no CUBIN, 209 for another architecture's.
pub fn kernels(file: &[u8], architecture: &str) -> Result<Vec<Kernel>, Refusal> {
    let damaged = || Refusal::new(code::INVALID_IMAGE, "not a CUBIN, or a damaged one");
    if !elf::is_for(file, MACHINE) {
        return Err(damaged());
    }
    let sections = elf::sections(file).ok_or_else(damaged)?;
    check_target(elf::flags(file), file[8], architecture)?;
    let named = |section: &&Section<'_>| section.name.starts_with(".text.");
    let kernel = |text: &Section<'_>| {
        let name = text.name.trim_start_matches(".text.");
        let info = sections
            .iter()
            .find(|s| s.name.strip_prefix(".nv.info.") == Some(name))?;
        let attributes = attributes(elf::bytes(file, info.offset, info.size)?)?;
        Some(describe(name, &attributes))
    };
    // A section of code without a description is a function, not a kernel.
    let found: Vec<Kernel> = sections.iter().filter(named).filter_map(kernel).collect();
    Ok(found)
}

/// A CUBIN runs on devices of its major version and at least its minor one.
fn check_target(flags: u32, abi_version: u8, architecture: &str) -> Result<(), Refusal> {
    // CUDA 13 moved the architecture one byte up, and counted the ABI's version to 8.
    let target = if abi_version >= 8 {
        flags >> 8 & 0xff
    } else {
        flags & 0xff
    };
    let device = architecture
        .trim_start_matches("sm_")
        .trim_end_matches(['a', 'f']);
    let device: u32 = device.parse().unwrap_or(0);
    if target / 10 == device / 10 && target <= device {
        return Ok(());
    }
    let text = format!("the CUBIN is for sm_{target}, the device is {architecture}");
    Err(Refusal::new(code::NO_BINARY_FOR_GPU, text))
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

fn describe(name: &str, attributes: &[(u8, &[u8])]) -> Kernel {
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
            },
        ))
    };
    let mut params: Vec<_> = values(PARAMETER).filter_map(param).collect();
    params.sort_by_key(|(ordinal, _)| *ordinal);
    let most = |value| (0..3).map(|axis| elf::u32_at(value, 4 * axis)).product();
    Kernel {
        name: name.to_owned(),
        params: params.into_iter().map(|(_, param)| param).collect(),
        max_threads: values(MAX_THREADS).find_map(most),
    }
}
