//! Environment variables, read once, here, and handed down.
//!
//! | variable | value |
//! |---|---|
//! | `GST_HIP_DEVICE` | the default device: `auto`, `nvidia`, `amd:1`, `host`, a number, a PCI address, a UUID, a render node |
//! | `GST_HIP_AMDHIP_LIBNAME` | file or path of AMD's runtime, the only one tried |
//! | `GST_HIP_CUDA_LIBNAME` | file or path of NVIDIA's driver, the only one tried |
//! | `GST_HIP_HOST_DEVICES` | how many devices the Host backend shows, 1 to 64 |
//! | `GST_HIP_HIPRTC_LIBNAME` | file or path of AMD's run-time compiler, the only one tried |
//! | `GST_HIP_NVRTC_LIBNAME` | file or path of NVIDIA's run-time compiler, the only one tried |
//! | `GST_HIP_KERNEL_CACHE` | the folder that compiled kernels are kept in, or `off` |
//! | `GST_HIP_CUDART_LIBNAME` | upstream's; no CUDA runtime is used here, so it changes nothing |
//!
//! `CUDA_VISIBLE_DEVICES`, `HIP_VISIBLE_DEVICES` and `ROCR_VISIBLE_DEVICES` are read by the vendors'
//! own runtimes: numbers count what they leave visible.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use hip_core::{Device, DeviceSelector, LoaderConfig, Runtime};
use hip_rtc::cache::{CacheConfig, CacheFolder};

use crate::Result;

const DEVICE: &str = "GST_HIP_DEVICE";
const AMD_RUNTIME: &str = "GST_HIP_AMDHIP_LIBNAME";
const CUDA_DRIVER: &str = "GST_HIP_CUDA_LIBNAME";
const HOST_DEVICES: &str = "GST_HIP_HOST_DEVICES";
const HIPRTC: &str = "GST_HIP_HIPRTC_LIBNAME";
const NVRTC: &str = "GST_HIP_NVRTC_LIBNAME";
const KERNEL_CACHE: &str = "GST_HIP_KERNEL_CACHE";
const CUDA_RUNTIME: &str = "GST_HIP_CUDART_LIBNAME";

/// More Host devices than this are a typing error.
const MAX_HOST_DEVICES: u32 = 64;

/// An environment variable whose value means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable}: {reason}")]
#[non_exhaustive]
pub struct EnvError {
    /// Its name.
    pub variable: &'static str,
    /// What is wrong with it.
    pub reason: String,
}

/// What the environment says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Environment {
    /// The device for those who ask for none.
    pub device: DeviceSelector,
    /// How the vendors' libraries are looked for.
    pub loader: LoaderConfig,
    /// Where kernels that were compiled at run time are kept.
    pub kernel_cache: CacheFolder,
}

impl Environment {
    /// Reads the process's environment.
    ///
    /// # Errors
    /// A value means nothing; the text says which and why.
    pub fn read() -> Result<Environment, EnvError> {
        Environment::read_from(|name| std::env::var_os(name))
    }

    /// As [`Environment::read`], from any source. An empty value is one that is not set.
    ///
    /// # Errors
    /// As [`Environment::read`].
    pub fn read_from(variable: impl Fn(&str) -> Option<OsString>) -> Result<Environment, EnvError> {
        let value = |name| variable(name).filter(|value| !value.is_empty());
        let text = |name: &'static str| match value(name).map(OsString::into_string) {
            None => Ok(None),
            Some(Ok(text)) => Ok(Some(text)),
            Some(Err(raw)) => Err(error(name, format!("{raw:?} is not UTF-8"))),
        };
        let mut environment = Environment::default();
        if let Some(device) = text(DEVICE)? {
            environment.device = device
                .parse()
                .map_err(|reason| error(DEVICE, format!("{reason}")))?;
        }
        if let Some(number) = text(HOST_DEVICES)? {
            environment.loader.host_devices = match number.trim().parse() {
                Ok(count @ 1..=MAX_HOST_DEVICES) => count,
                _ => {
                    let reason = format!("{number:?} is no number from 1 to {MAX_HOST_DEVICES}");
                    return Err(error(HOST_DEVICES, reason));
                }
            };
        }
        environment.loader.amd_runtime = value(AMD_RUNTIME).map(PathBuf::from);
        environment.loader.cuda_driver = value(CUDA_DRIVER).map(PathBuf::from);
        environment.loader.hiprtc = value(HIPRTC).map(PathBuf::from);
        environment.loader.nvrtc = value(NVRTC).map(PathBuf::from);
        environment.kernel_cache = cache_folder(value(KERNEL_CACHE));
        if value(CUDA_RUNTIME).is_some() {
            tracing::info!("{CUDA_RUNTIME} changes nothing: no CUDA runtime is used");
        }
        Ok(environment)
    }
}

fn error(variable: &'static str, reason: String) -> EnvError {
    EnvError { variable, reason }
}

/// What `GST_HIP_KERNEL_CACHE` means. A relative folder is below the folder the process is in now.
fn cache_folder(value: Option<OsString>) -> CacheFolder {
    match value {
        None => CacheFolder::Default,
        Some(value) if value.eq_ignore_ascii_case("off") => CacheFolder::Off,
        Some(value) => {
            let folder = PathBuf::from(value);
            CacheFolder::At(std::path::absolute(&folder).unwrap_or(folder))
        }
    }
}

/// Has the process's kernel cache be where the environment says, if it is not in use yet. Where a
/// variable's value means nothing, kernels are kept nowhere.
pub(crate) fn configure_kernel_cache() {
    static CONFIGURED: OnceLock<()> = OnceLock::new();
    CONFIGURED.get_or_init(|| {
        let folder = match environment() {
            Ok(environment) => environment.kernel_cache.clone(),
            Err(error) => {
                tracing::warn!(%error, "compiled kernels are not kept");
                CacheFolder::Off
            }
        };
        let named = folder != CacheFolder::Default;
        let config = CacheConfig {
            folder,
            ..CacheConfig::default()
        };
        if let Err(error) = hip_rtc::cache::configure(config)
            && named
        {
            tracing::warn!(%error, "{KERNEL_CACHE} changes nothing");
        }
    });
}

/// The process's environment as it was at the first call.
///
/// # Errors
/// As [`Environment::read`], the same at every call.
pub fn environment() -> Result<&'static Environment, EnvError> {
    static ENVIRONMENT: OnceLock<Result<Environment, EnvError>> = OnceLock::new();
    ENVIRONMENT
        .get_or_init(Environment::read)
        .as_ref()
        .map_err(EnvError::clone)
}

/// The device for an element whose properties ask for none: `GST_HIP_DEVICE`, else any.
///
/// # Errors
/// The variable names no device.
pub fn default_selector() -> Result<DeviceSelector, EnvError> {
    Ok(environment()?.device.clone())
}

/// The process's runtime, made as the environment says if nobody made it before. Loads nothing.
///
/// # Errors
/// A variable's value means nothing.
pub fn runtime() -> Result<&'static Arc<Runtime>, EnvError> {
    static WARNED: OnceLock<()> = OnceLock::new();
    configure_kernel_cache();
    let (runtime, configured) = Runtime::global_with(environment()?.loader.clone());
    if !configured {
        WARNED.get_or_init(|| {
            tracing::warn!("the libraries were in use before the environment was read: {HOST_DEVICES} and the library names change nothing");
        });
    }
    Ok(runtime)
}

/// Opens a device, through the runtime that the environment configures.
///
/// # Errors
/// There is no such device, its context cannot be made, or a variable's value means nothing.
pub fn open_device(selector: &DeviceSelector) -> Result<Device> {
    Ok(hip_core::open_device(runtime()?, selector)?)
}
