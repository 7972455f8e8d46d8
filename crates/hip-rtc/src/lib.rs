//! Kernels over any vendor's runtime: compilation, modules, typed arguments, launches.
//!
//! [`KernelModule::from_source`] compiles a CUDA/HIP C++ text at run time, by NVRTC, HIPRTC or the
//! system's C++ compiler, whichever the device needs; [`cache`] keeps what was compiled, so that a
//! second start opens no compiler. A [`Prebuilt`] holds one kernel text compiled ahead of time for
//! every vendor, and [`KernelModule::from_binary`] takes an image from elsewhere.
//!
//! [`KernelArgs`] holds argument values in the order of the kernel's parameters, without the heap
//! for up to 16 of them. Memory whose order somebody else keeps comes in through [`KernelMemory`].
//!
//! Launching is `unsafe`: number and size of the arguments are checked where the image tells, but
//! nobody can tell whether the addresses are right. Texts, options, launch shapes and devices are
//! validated here, once.

mod args;
pub mod cache;
mod check;
mod compile;
mod error;
mod headers;
pub mod host;
pub mod image;
mod memory;
mod module;
mod options;
mod prebuilt;
mod source;

pub use args::{KernelArg, KernelArgs};
pub use compile::{Compiled, compile, compile_for, compile_in};
pub use error::{CompileError, Error, RefusedError, Result};
pub use headers::is_bundled_header;
pub use hip_dispatch::host::{HostKernel, HostKernelFn, HostLaunch};
pub use hip_dispatch::{FunctionAttributes, LaunchConfig, SuggestedBlockSize};
pub use memory::KernelMemory;
pub use module::{Function, KernelModule};
pub use prebuilt::{Blob, CodeObject, Prebuilt};
pub use source::KernelSource;
