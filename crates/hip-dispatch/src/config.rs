use std::path::PathBuf;

/// Where vendor libraries are looked for, beyond the built-in names and folders.
///
/// A library that is named here is the only one tried for its role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoaderConfig {
    /// File or path of AMD's runtime, in place of `libamdhip64.so.*`.
    pub amd_runtime: Option<PathBuf>,
    /// File or path of NVIDIA's driver, in place of `libcuda.so.1`.
    pub cuda_driver: Option<PathBuf>,
    /// Folders searched before the system's for every library.
    pub search_dirs: Vec<PathBuf>,
    /// How many devices [`crate::Vendor::Host`] shows; 0 means one.
    pub host_devices: u32,
}
