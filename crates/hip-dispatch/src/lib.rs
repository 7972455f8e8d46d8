//! Vendor GPU runtimes, found and dispatched to at run time.
//!
//! One binary serves AMD GPUs (ROCm/HIP), NVIDIA GPUs (CUDA *driver* API; no CUDA runtime or
//! toolkit) and the CPU ([`Vendor::Host`]). Nothing is linked: libraries are opened by versioned
//! name, with `RTLD_LOCAL`, when a vendor is first used.
//!
//! Three levels, lowest first:
//!
//! * [`Backend`]: an object-safe trait that holds what *one vendor call* does. Handles are plain
//!   `Copy` values. Nothing is validated here beyond what the driver validates; `hip-core` is the
//!   layer that owns handles, keeps contexts current and checks sizes.
//! * [`Runtime`]: loads each vendor's library once, on first use, and remembers what was tried.
//! * the `hip_foo_bar(vendor, …)` family in [`wrapper`]: the vendor calls by name, dispatched by
//!   [`Vendor`] through the process-wide runtime.
//!
//! [`discover()`] reports every library tried and every device found, or why there is none.
//!
//! A process that forks keeps its devices; in the child every call on what the parent opened fails
//! with [`ErrorKind::NotInitialized`] ([`ProcessStamp`]). A child may use what nobody opened before.
//!
//! This crate reads no environment variable of GStreamer's: callers hand a [`LoaderConfig`] down.
//! It does honour the vendors' own `ROCM_PATH`, `HIP_PATH` and `CUDA_PATH`. `CUDA_VISIBLE_DEVICES`,
//! `HIP_VISIBLE_DEVICES` and `ROCR_VISIBLE_DEVICES` are the vendors' runtimes' to read: they hide and
//! reorder devices below this crate, so ordinals count what is left; PCI addresses, UUIDs and render
//! nodes mean the same device either way. They do not touch Host.

mod amd;
mod backend;
mod config;
mod device_info;
mod discover;
mod driver;
mod elf_file;
mod error;
mod fork;
mod handle;
pub mod host;
mod loader;
mod locale;
mod nvidia;
pub mod rtc;
mod runtime;
mod vendor;
pub mod wrapper;

#[doc(hidden)]
pub use amd::abi as amd_abi;
pub use backend::{
    Backend, CopyEnd, EventFlags, FunctionAttributes, HostAllocFlags, HostFn, ImageKind,
    LaunchConfig, Memcpy2D, MemoryInfo, MemsetValue, ModuleImage, StreamFlags, SuggestedBlockSize,
    Versions,
};
pub use config::LoaderConfig;
pub use device_info::{DeviceInfo, DeviceSelector, Limits, ParseSelectorError, PciAddress, Uuid};
pub use discover::{Discovery, VendorReport, discover};
pub use error::{ErrorKind, HipError, Result};
pub use fork::ProcessStamp;
pub use handle::{
    ContextGuardToken, ContextHandle, DevicePtr, EventHandle, FunctionHandle, ModuleHandle,
    StreamHandle,
};
pub use host::Host;
pub use loader::{Attempt, LoadError, LoadedLibrary};
pub use rtc::RtcLibrary;
pub use runtime::{Runtime, SelectError, Selected};
pub use vendor::{ParseVendorError, Vendor};
pub use wrapper::*;
