use std::ops::Deref;

use hip_core::Device;
use hip_rtc::{KernelModule, KernelSource, Prebuilt, Result};

use crate::env;

/// A [`KernelModule`] whose kernels take GStreamer's memory. Cheap to clone.
///
/// Launches ([`KernelModule::launch`], [`KernelModule::launch_config`]), attributes and occupancy are
/// the inner module's; [`HipKernelArgs`](super::HipKernelArgs) are arguments for it. A launch fails
/// with a [`KernelMemoryError`](super::KernelMemoryError) inside if a memory is in use.
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
