//! What a library pretends to be.

use hip_dispatch::Vendor;

/// One vendor's library in one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// Whose library it is.
    pub vendor: Vendor,
    /// The file name and soname under which it is installed.
    pub soname: &'static str,
    /// Name of the library in this package's build.
    pub built_as: &'static str,
    /// The compiler that lies beside it: file name and name in this package's build.
    pub compiler: Option<(&'static str, &'static str)>,
    /// `cuDriverGetVersion` / `hipRuntimeGetVersion`.
    pub version: i32,
    /// What `…Init` says when there is no device.
    pub no_device_at_init: i32,
    /// What every other call says then.
    pub no_device: i32,
    /// `hipMemoryType` of host and device memory in a 2D copy, or `CUmemorytype`.
    pub memory_types: [u32; 2],
    /// The architecture it shows unless told otherwise.
    pub architecture: &'static str,
    /// The device's name.
    pub device_name: &'static str,
    /// Device memory in bytes unless told otherwise.
    pub total_memory: u64,
    /// Compute units.
    pub multiprocessors: i32,
    /// Shared memory of one block in bytes, for a kernel that asks for no more.
    pub shared_memory: u32,
    /// Shared memory of one block in bytes, for a kernel that asks for it.
    pub shared_memory_on_request: u32,
    /// Shared memory of a compute unit in bytes.
    pub shared_memory_of_unit: u32,
    /// What a call on a lost device says.
    pub lost: i32,
    /// Bytes that a pitched allocation's stride is a multiple of.
    pub pitch_alignment: usize,
}

const AMD: Profile = Profile {
    vendor: Vendor::Amd,
    soname: "libamdhip64.so.7",
    built_as: "sim_amd7",
    compiler: Some(("libhiprtc.so.7", "sim_hiprtc7")),
    version: 70_253_211,
    no_device_at_init: 100,
    no_device: 100,
    memory_types: [1, 2],
    architecture: "gfx90a:sramecc+:xnack-",
    device_name: "AMD Instinct MI210 (stand-in)",
    total_memory: 64 << 30,
    multiprocessors: 104,
    shared_memory: 65536,
    shared_memory_on_request: 65536,
    shared_memory_of_unit: 65536,
    // hipErrorLaunchFailure: the runtime has no code of its own for a GPU that was reset.
    lost: 719,
    pitch_alignment: 256,
};

/// ROCm 5.2.3 as Debian 12 has it.
pub const AMD5: Profile = Profile {
    soname: "libamdhip64.so.5",
    built_as: "sim_amd5",
    // It is part of the runtime.
    compiler: None,
    version: 50_221_153,
    no_device_at_init: 101,
    no_device: 101,
    memory_types: [0, 1],
    ..AMD
};

/// ROCm 6.4.3.
pub const AMD6: Profile = Profile {
    soname: "libamdhip64.so.6",
    built_as: "sim_amd6",
    compiler: Some(("libhiprtc.so.6", "sim_hiprtc6")),
    version: 60_443_484,
    ..AMD
};

/// ROCm 7.2.4.
pub const AMD7: Profile = AMD;

/// NVIDIA's driver 580 (CUDA 13.0).
pub const NVIDIA: Profile = Profile {
    vendor: Vendor::Nvidia,
    soname: "libcuda.so.1",
    built_as: "sim_nvidia",
    compiler: Some(("libnvrtc.so.13", "sim_nvrtc")),
    version: 13_000,
    no_device_at_init: 100,
    // The driver is not initialised after that.
    no_device: 3,
    memory_types: [1, 2],
    architecture: "sm_90",
    device_name: "NVIDIA H200 (stand-in)",
    total_memory: 141 << 30,
    multiprocessors: 132,
    shared_memory: 49152,
    shared_memory_on_request: 232_448,
    shared_memory_of_unit: 233_472,
    // CUDA_ERROR_DEVICE_UNAVAILABLE
    lost: 46,
    pitch_alignment: 512,
};

impl Profile {
    /// Every library there is, by the name that `hip-sim-install` takes.
    pub const ALL: [(&'static str, Profile); 4] = [
        ("amd5", AMD5),
        ("amd6", AMD6),
        ("amd7", AMD7),
        ("nvidia", NVIDIA),
    ];

    /// Whether this is AMD's runtime.
    pub fn is_amd(&self) -> bool {
        self.vendor == Vendor::Amd
    }

    /// Threads that run in step on an architecture: 64 on GCN and CDNA, 32 on RDNA and NVIDIA's.
    pub fn warp_size(architecture: &str) -> i32 {
        if architecture.starts_with("gfx9") {
            64
        } else {
            32
        }
    }
}
