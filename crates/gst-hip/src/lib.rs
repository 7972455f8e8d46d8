//! HIP memory in GStreamer: what elements and applications see of a device.
//!
//! * [`HipAllocator`], [`HipMemoryRef`]: `GstMemory` on a device or pinned for one. Order lives in events
//!   inside the allocation: a consumer on another stream waits on the device, a CPU map waits for
//!   the events it has to, and nothing else waits.
//! * [`FrameLayout`], [`DeviceFrame`]: video planes in such memory, checked before a kernel sees
//!   their addresses.
//! * [`HipBufferPool`]: a `GstBufferPool` of such memory.
//! * [`kernel`]: kernels of one's own, compiled and launched on such memory.
//! * [`context`]: one device for elements that are neighbours.
//! * [`mod@env`]: the environment variables, read here and handed down.
//! * [`log`]: the libraries' `tracing` events as GST_DEBUG categories.
//!
//! Validation happens here: that memory is ours and of the right device, that planes lie inside
//! it, and that an access does not meet a CPU map that it would race with. Several copies of this
//! crate can be in one process and use each other's memory, pools and devices: see [`abi`]. Other
//! people's memory is to be copied through a CPU map.

pub mod abi;
pub mod context;
pub mod env;
mod error;
mod frame;
pub mod kernel;
mod layout;
pub mod log;
mod memory;
mod pool;

pub use context::{CONTEXT_TYPE, HipContext};
pub use error::{Error, Result};
pub use frame::{DeviceFrame, FrameError, PlaneRef};
pub use hip_core::Device as HipDevice;
pub use hip_core::{
    Copy2D, Device, DeviceInfo, DevicePtr, DeviceSelector, Event, FenceData, PlaneEnd, Statistics,
    Stream, Vendor,
};
pub use kernel::{
    HipKernelArgs, HipKernelFunction, HipKernelModule, HipStream, KernelArg, KernelError,
    KernelMemoryError, KernelSource, LaunchConfig,
};
pub use layout::FrameLayout;
pub use memory::{DeviceAccess, HipAllocator, HipMemoryRef, MAP_HIP, MemoryKind};
pub use pool::HipBufferPool;

/// Caps feature of frames in device memory.
pub const CAPS_FEATURE_MEMORY_HIP: &str = "memory:HIPMemory";
