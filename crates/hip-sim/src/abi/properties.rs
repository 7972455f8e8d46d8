//! `hipDeviceProp_t`, of which there are two.

use super::devices::{capability, hip_attribute, uuid};
use crate::sim::Sim;

/// Where the fields are, in bytes. Offsets are those of the vendor's headers of 5.2 and 6.x; a
/// field that a struct does not have is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the header's names in other words
pub struct PropertiesShape {
    pub size: usize,
    pub uuid: Option<usize>,
    pub total_global_mem: usize,
    pub shared_mem_per_block: usize,
    pub warp_size: usize,
    pub max_threads_per_block: usize,
    pub max_threads_dim: usize,
    pub max_grid_size: usize,
    pub clock_rate: usize,
    pub major: usize,
    pub multi_processor_count: usize,
    pub pci_domain: usize,
    pub pci_bus: usize,
    pub pci_device: usize,
    pub can_map_host_memory: usize,
    pub gcn_arch_name: usize,
    pub texture_alignment: usize,
    pub texture_pitch_alignment: usize,
}

/// The struct of ROCm 5, which later versions still fill under the old name.
pub const R0000: PropertiesShape = PropertiesShape {
    size: 792,
    uuid: None,
    total_global_mem: 256,
    shared_mem_per_block: 264,
    warp_size: 276,
    max_threads_per_block: 280,
    max_threads_dim: 284,
    max_grid_size: 296,
    clock_rate: 308,
    major: 328,
    multi_processor_count: 336,
    pci_domain: 364,
    pci_bus: 368,
    pci_device: 372,
    can_map_host_memory: 388,
    gcn_arch_name: 396,
    texture_alignment: 720,
    texture_pitch_alignment: 728,
};

/// The struct of ROCm 6 and later.
pub const R0600: PropertiesShape = PropertiesShape {
    size: 1472,
    uuid: Some(256),
    total_global_mem: 288,
    shared_mem_per_block: 296,
    warp_size: 308,
    max_threads_per_block: 320,
    max_threads_dim: 324,
    max_grid_size: 336,
    clock_rate: 348,
    major: 360,
    multi_processor_count: 388,
    pci_domain: 592,
    pci_bus: 584,
    pci_device: 588,
    can_map_host_memory: 400,
    gcn_arch_name: 1160,
    texture_alignment: 368,
    texture_pitch_alignment: 376,
};

/// A device's properties in one of the structs; `integrated` and what is not listed is 0.
pub fn properties(sim: &Sim, device: u32, shape: &PropertiesShape) -> Vec<u8> {
    let mut bytes = vec![0; shape.size];
    let mut put = |offset: usize, value: &[u8]| {
        bytes[offset..offset + value.len()].copy_from_slice(value);
    };
    put(0, sim.profile.device_name.as_bytes());
    put(shape.gcn_arch_name, sim.architecture().as_bytes());
    if let Some(offset) = shape.uuid {
        put(offset, &uuid(sim, device));
    }
    let attribute = |number| hip_attribute(sim, device, number).unwrap_or(0);
    let [major, minor] = capability(sim);
    let ints = [
        (shape.warp_size, attribute(87)),
        (shape.max_threads_per_block, attribute(56)),
        (shape.max_threads_dim, attribute(26)),
        (shape.max_threads_dim + 4, attribute(27)),
        (shape.max_threads_dim + 8, attribute(28)),
        (shape.max_grid_size, attribute(29)),
        (shape.max_grid_size + 4, attribute(30)),
        (shape.max_grid_size + 8, attribute(31)),
        (shape.clock_rate, attribute(5)),
        (shape.major, major),
        (shape.major + 4, minor),
        (shape.multi_processor_count, attribute(63)),
        (shape.pci_domain, attribute(69)),
        (shape.pci_bus, attribute(67)),
        (shape.pci_device, attribute(68)),
        (shape.can_map_host_memory, attribute(3)),
    ];
    for (offset, value) in ints {
        put(offset, &value.to_ne_bytes());
    }
    let sizes = [
        (shape.total_global_mem, sim.total_memory()),
        (
            shape.shared_mem_per_block,
            u64::from(sim.profile.shared_memory),
        ),
        (shape.texture_alignment, attribute(81) as u64),
        (shape.texture_pitch_alignment, attribute(82) as u64),
    ];
    for (offset, value) in sizes {
        put(offset, &value.to_ne_bytes());
    }
    bytes
}
