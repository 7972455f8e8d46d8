//! Kernels over any vendor's runtime: modules, typed arguments, launches.
//!
//! A [`Prebuilt`] holds one kernel text compiled for every vendor; [`KernelModule::from_prebuilt`]
//! loads the image that fits the device. No compiler library is opened for that.
//!
//! [`KernelArgs`] holds argument values in the order of the kernel's parameters, without the heap
//! for up to 16 of them.
//!
//! Launching is `unsafe`: no driver can tell whether the arguments fit the kernel.

mod args;
mod error;
mod module;
mod prebuilt;

pub use args::{KernelArg, KernelArgs};
pub use error::{Error, Result};
pub use hip_dispatch::LaunchConfig;
pub use hip_dispatch::host::{HostKernel, HostKernelFn, HostLaunch};
pub use module::{Function, KernelModule};
pub use prebuilt::{Blob, CodeObject, Prebuilt};
