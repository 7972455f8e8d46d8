//! What the devices say about themselves.

use crate::profile::Profile;
use crate::sim::Sim;

/// A device's PCI domain, bus and device: on buses of its vendor's.
fn pci(sim: &Sim, device: u32) -> [i32; 3] {
    let first = if sim.profile.is_amd() { 0x41 } else { 0x61 };
    [0, first + device as i32, 0]
}

/// As `…DeviceGetPCIBusId` writes it.
pub fn pci_address(sim: &Sim, device: u32) -> String {
    let [domain, bus, slot] = pci(sim, device);
    format!("{domain:04x}:{bus:02x}:{slot:02x}.0")
}

/// A device's UUID; AMD's is text in the same room.
pub fn uuid(sim: &Sim, device: u32) -> [u8; 16] {
    let mut bytes = if sim.profile.is_amd() {
        *b"51a0d00000000000"
    } else {
        *b"\x51\xa0\x0e\x0d\x51\xa0\x4e\x0d\x91\xa0\x0e\x0d\x51\xa0\x0e\0"
    };
    bytes[15] += device as u8;
    bytes
}

/// Major and minor compute capability, of `sm_90` or of the first digits of `gfx90a`.
pub(super) fn capability(sim: &Sim) -> [i32; 2] {
    let name = sim.architecture();
    let digits = |text: &str| text.parse().unwrap_or(0);
    match name.strip_prefix("sm_") {
        Some(number) => {
            let number: i32 = digits(number.trim_end_matches('a'));
            [number / 10, number % 10]
        }
        None => {
            let number = name
                .split(':')
                .next()
                .unwrap_or_default()
                .trim_start_matches("gfx");
            let (major, rest) = number.split_at(number.len().saturating_sub(2));
            [digits(major), digits(&rest[..rest.len().min(1)])]
        }
    }
}

/// `cuDeviceGetAttribute`, by the numbers of cuda.h; `None` for one that is not known here.
pub fn cuda_attribute(sim: &Sim, device: u32, attribute: i32) -> Option<i32> {
    let [domain, bus, slot] = pci(sim, device);
    let [major, minor] = capability(sim);
    Some(match attribute {
        1..=3 => 1024,  // threads of a block; in x, y
        4 => 64,        // in z
        5 => i32::MAX,  // blocks in x
        6 | 7 => 65535, // in y, z
        8 => sim.profile.shared_memory as i32,
        9 => 65536,      // constant memory
        10 => 32,        // warp size
        11 => i32::MAX,  // pitch
        12 => 65536,     // registers of a block
        13 => 1_980_000, // kHz
        14 => 512,       // texture alignment
        16 => sim.profile.multiprocessors,
        17 | 18 => 0,           // no time limit; not integrated
        15 | 19 | 31 | 41 => 1, // overlap, mapped memory, concurrent kernels, one address space
        33 => bus,
        34 => slot,
        38 => 62_914_560, // L2 bytes
        39 => 2048,       // threads of a multiprocessor
        40 => 3,          // copy engines
        50 => domain,
        51 => 32, // texture pitch alignment
        75 => major,
        76 => minor,
        81 => sim.profile.shared_memory_of_unit as i32,
        97 => sim.profile.shared_memory_on_request as i32,
        115 => 0, // memory pools
        _ => return None,
    })
}

/// `hipDeviceGetAttribute`, by the numbers of ROCm 5.2 to 7.2; `None` for one not known here.
pub fn hip_attribute(sim: &Sim, device: u32, attribute: i32) -> Option<i32> {
    let [domain, bus, slot] = pci(sim, device);
    let [major, minor] = capability(sim);
    Some(match attribute {
        2 => 2,         // copy engines
        3 | 8 => 1,     // mapped memory, concurrent kernels
        5 => 1_700_000, // kHz
        16 => 0,        // integrated
        23 => major,
        26 | 27 | 28 | 56 => 1024, // threads in x, y, z; of a block
        29 => i32::MAX,            // blocks in x
        30 | 31 => 65535,          // in y, z
        57 => 2048,                // threads of a multiprocessor
        61 => minor,
        63 => sim.profile.multiprocessors,
        67 => bus,
        68 => slot,
        69 => domain,
        74 => sim.profile.shared_memory as i32,
        81 | 82 => 256, // texture alignment, texture pitch alignment
        87 => Profile::warp_size(sim.architecture()),
        88 => 0, // memory pools
        _ => return None,
    })
}
