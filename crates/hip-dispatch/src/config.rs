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
    /// Names AMD's runtime.
    pub fn amd_runtime(mut self, file: impl Into<PathBuf>) -> LoaderConfig {
        self.amd_runtime = Some(file.into());
        self
    }

    /// Names NVIDIA's driver.
    pub fn cuda_driver(mut self, file: impl Into<PathBuf>) -> LoaderConfig {
        self.cuda_driver = Some(file.into());
        self
    }

    /// Names AMD's run-time compiler.
    pub fn hiprtc(mut self, file: impl Into<PathBuf>) -> LoaderConfig {
        self.hiprtc = Some(file.into());
        self
    }

    /// Names NVIDIA's run-time compiler.
    pub fn nvrtc(mut self, file: impl Into<PathBuf>) -> LoaderConfig {
        self.nvrtc = Some(file.into());
        self
    }

    /// Adds a folder that is searched before the system's.
    pub fn search_dir(mut self, folder: impl Into<PathBuf>) -> LoaderConfig {
        self.search_dirs.push(folder.into());
        self
    }

    /// Sets how many devices [`crate::Vendor::Host`] shows.
    pub fn host_devices(mut self, count: u32) -> LoaderConfig {
        self.host_devices = count;
        self
    }
}
