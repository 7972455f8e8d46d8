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
    /// File or path of AMD's run-time compiler, in place of `libhiprtc.so.*` or the runtime itself.
    pub hiprtc: Option<PathBuf>,
    /// File or path of NVIDIA's run-time compiler, in place of `libnvrtc.so.*`.
    pub nvrtc: Option<PathBuf>,
    /// Folders searched before the system's for every library.
    pub search_dirs: Vec<PathBuf>,
    /// How many devices [`crate::Vendor::Host`] shows; 0 means one.
    pub host_devices: u32,
}

impl LoaderConfig {
    /// The built-in search, but for these compilers.
    pub fn with_compilers(nvrtc: Option<PathBuf>, hiprtc: Option<PathBuf>) -> LoaderConfig {
        LoaderConfig {
            nvrtc,
            hiprtc,
            ..LoaderConfig::default()
        }
    }
}
