//! CUBIN files of CUDA 13 for kernels without code.

use hip_rtc::image::{KernelInfo, cubin};

use super::super::elf_writer::{self, Header, Section};
use super::{PROGBITS, carried_section};
use crate::image::carried::Carried;

/// `SHT_CUDA_INFO`.
const CUDA_INFO: u32 = 0x7000_0000;
/// What NVRTC 13.0 writes besides the architecture.
const FLAGS: u32 = 0x0600_0004;
/// A value of its own size follows the attribute.
const SIZED: u8 = 0x04;
/// Attribute of a parameter.
const PARAMETER: u8 = 0x17;
/// Attribute of the most threads.
const MAX_THREADS: u8 = 0x05;
/// What NVRTC writes below a parameter's size.
const PARAMETER_REST: u32 = 0x1f000;

/// The file for `sm_<number>`.
pub(super) fn write(number: u32, kernels: &[KernelInfo], carried: &Carried) -> Vec<u8> {
    let header = Header {
        machine: cubin::MACHINE,
        abi: [0x41, 8],
        kind: 2,
        flags: FLAGS | number << 8,
    };
    let mut sections = Vec::new();
    for kernel in kernels {
        sections.push(Section {
            name: format!(".text.{}", kernel.name),
            kind: PROGBITS,
            bytes: Vec::new(),
        });
        sections.push(Section {
            name: format!(".nv.info.{}", kernel.name),
            kind: CUDA_INFO,
            bytes: info(kernel),
        });
    }
    sections.push(carried_section(carried));
    elf_writer::write(header, sections)
}

fn info(kernel: &KernelInfo) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut attribute = |kind: u8, words: &[u32]| {
        bytes.extend([SIZED, kind]);
        bytes.extend((4 * words.len() as u16).to_le_bytes());
        words
            .iter()
            .for_each(|word| bytes.extend(word.to_le_bytes()));
    };
    for (ordinal, param) in kernel.params.iter().enumerate() {
        let place = ordinal as u32 | (param.offset as u32) << 16;
        let size = (param.size as u32) << 18 | PARAMETER_REST;
        attribute(PARAMETER, &[0, place, size]);
    }
    if let Some(most) = kernel.max_threads {
        attribute(MAX_THREADS, &[most, 1, 1]);
    }
    bytes
}
