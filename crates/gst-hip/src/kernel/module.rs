use std::ops::Deref;

use hip_core::{Device, Stream};
use hip_rtc::{KernelModule, KernelSource, LaunchConfig, Prebuilt, Result};

use super::HipKernelArgs;
use crate::env;

/// A [`KernelModule`] whose kernels take GStreamer's memory. Cheap to clone.
///
/// Attributes, occupancy and [`KernelModule::function`] are the inner module's.
#[derive(Debug, Clone)]
pub struct HipKernelModule(KernelModule);

impl HipKernelModule {
    /// Compiles CUDA/HIP C++ for the device, or takes the result from the cache that
    /// `GST_HIP_KERNEL_CACHE` names (see [`mod@env`]). Kernels are `extern "C" __global__`.
    ///
    /// # Errors
    /// The text does not compile (the error has the log), there is no compiler (it says what to
    /// install), or the driver refuses the result.
    pub fn from_source<'a>(
        device: &Device,
        source: impl Into<KernelSource<'a>>,
        options: &[&str],
    ) -> Result<HipKernelModule> {
        env::configure_kernel_cache();
        KernelModule::from_source(device, source, options).map(HipKernelModule)
    }

    /// Loads PTX text, a CUBIN, an AMD code object or a host object.
    ///
    /// # Safety
    /// As [`KernelModule::from_binary`]: an image is code, and is trusted.
    ///
    /// # Errors
    /// The image is damaged, or not of the device's kind or architecture.
    pub unsafe fn from_binary(device: &Device, image: &[u8]) -> Result<HipKernelModule> {
        // SAFETY: the caller's.
        unsafe { KernelModule::from_binary(device, image) }.map(HipKernelModule)
    }

    /// Loads the image that fits the device; no compiler is opened.
    ///
    /// # Errors
    /// There is no image for the device's architecture, or the driver refuses it.
    pub fn from_prebuilt(device: &Device, prebuilt: &Prebuilt) -> Result<HipKernelModule> {
        KernelModule::from_prebuilt(device, prebuilt).map(HipKernelModule)
    }

    /// Enqueues a launch of the kernel `name` on `stream` (`None`: the default stream), without
    /// dynamic shared memory. The thread waits for nothing.
    ///
    /// # Safety
    /// The arguments fit the kernel's parameters in number, order and type; the kernel stays
    /// within each memory, and writes none that was added to be read.
    ///
    /// # Errors
    /// There is no such kernel, a dimension is 0 or beyond the device's limits, the arguments are
    /// not what the kernel takes, a memory or the stream belongs to another device, a memory is in
    /// use ([`KernelMemoryError`](super::KernelMemoryError) inside), or the driver refuses.
    pub unsafe fn launch(
        &self,
        name: &str,
        stream: Option<&Stream>,
        grid_dim: [u32; 3],
        block_dim: [u32; 3],
        args: &HipKernelArgs,
    ) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { self.0.launch(name, stream, grid_dim, block_dim, args) }
    }

    /// As [`HipKernelModule::launch`], with dynamic shared memory.
    ///
    /// # Safety
    /// As [`HipKernelModule::launch`].
    ///
    /// # Errors
    /// As [`HipKernelModule::launch`], and if a block has less shared memory than is asked for.
    pub unsafe fn launch_config(
        &self,
        name: &str,
        stream: Option<&Stream>,
        config: &LaunchConfig,
        args: &HipKernelArgs,
    ) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { self.0.launch_config(name, stream, config, args) }
    }
}

impl Deref for HipKernelModule {
    type Target = KernelModule;

    fn deref(&self) -> &KernelModule {
        &self.0
    }
}

impl From<KernelModule> for HipKernelModule {
    fn from(module: KernelModule) -> HipKernelModule {
        HipKernelModule(module)
    }
}
