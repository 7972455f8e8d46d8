//! AMD's code objects, version 4, of kernels without code.

use hip_rtc::image::{KernelInfo, amdgpu, elf};

use super::super::elf_writer::{self, Header, Section};
use super::{carried_section, parameter_bytes};
use crate::image::carried::Carried;

/// `ELFOSABI_AMDGPU_HSA`, and the ABI version of code object V4.
const ABI: [u8; 2] = [64, 2];
/// The most threads of a block unless the kernel says otherwise.
const MAX_THREADS: u32 = 1024;

/// The file for `gfx90a:sramecc+:xnack-`.
pub(super) fn write(target: &str, kernels: &[KernelInfo], carried: &Carried) -> Vec<u8> {
    let processor = target.split(':').next().unwrap_or_default();
    let machine = amdgpu::MACHINES.iter().find(|known| known.1 == processor);
    let header = Header {
        machine: amdgpu::MACHINE,
        abi: ABI,
        kind: 3,
        flags: machine.map_or(0, |known| known.0),
    };
    let note = Section {
        name: ".note".to_owned(),
        kind: elf::NOTE,
        bytes: note(&metadata(target, kernels)),
    };
    elf_writer::write(header, vec![note, carried_section(carried)])
}

fn note(metadata: &[u8]) -> Vec<u8> {
    let owner = format!("{}\0", amdgpu::NOTE_OWNER);
    let sizes = [owner.len() as u32, metadata.len() as u32, amdgpu::METADATA];
    let mut bytes: Vec<u8> = sizes.iter().flat_map(|size| size.to_le_bytes()).collect();
    for part in [owner.as_bytes(), metadata] {
        bytes.extend(part);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

/// The metadata as MessagePack.
fn metadata(target: &str, kernels: &[KernelInfo]) -> Vec<u8> {
    let described = kernels.iter().map(|kernel| {
        map(&[
            (
                ".args",
                list(kernel.params.iter().map(|param| {
                    let by = match param.pointer {
                        Some(true) => "global_buffer",
                        _ => "by_value",
                    };
                    map(&[
                        (".offset", number(param.offset)),
                        (".size", number(param.size)),
                        (".value_kind", text(by)),
                    ])
                })),
            ),
            (".kernarg_segment_size", number(parameter_bytes(kernel))),
            (
                ".max_flat_workgroup_size",
                number(kernel.max_threads.unwrap_or(MAX_THREADS) as usize),
            ),
            (".name", text(&kernel.name)),
            (".symbol", text(&format!("{}.kd", kernel.name))),
        ])
    });
    map(&[
        ("amdhsa.kernels", list(described)),
        (
            "amdhsa.target",
            text(&format!("{}{target}", amdgpu::TRIPLE)),
        ),
        ("amdhsa.version", list([number(1), number(1)].into_iter())),
    ])
}

fn number(value: usize) -> Vec<u8> {
    let mut bytes = vec![0xce];
    bytes.extend((value as u32).to_be_bytes());
    bytes
}

fn text(value: &str) -> Vec<u8> {
    let mut bytes = vec![0xda];
    bytes.extend((value.len() as u16).to_be_bytes());
    bytes.extend(value.as_bytes());
    bytes
}

fn list(values: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let values: Vec<Vec<u8>> = values.collect();
    let mut bytes = vec![0xdc];
    bytes.extend((values.len() as u16).to_be_bytes());
    bytes.extend(values.concat());
    bytes
}

fn map(pairs: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = vec![0xde];
    bytes.extend((pairs.len() as u16).to_be_bytes());
    for (key, value) in pairs {
        bytes.extend(text(key));
        bytes.extend(value);
    }
    bytes
}
