//! Safe, owned GPU objects over [`hip_dispatch::Backend`], the same for every vendor.
//!
//! * [`Device`] is (vendor, ordinal, *context*): the device's primary context, or a foreign one
//!   with what keeps it alive. Everything else belongs to a device and keeps it alive.
//! * [`Stream`], [`Event`]: order on the device. Nothing here blocks a thread but what says so.
//! * [`DeviceBuffer`], [`PinnedBuffer`], [`BufferPool`]: memory. A pool hands memory out again
//!   only behind the events of its last user, on the device.
//! * [`FenceData`]: resources that must outlive work in flight; the device's completion worker
//!   releases them when the work is done, away from the thread that enqueued it.
//!
//! Everything may be dropped on any thread, the completion worker's included, whatever became of the
//! device: what a lost device does not take back is logged, counted as given back, and forgotten. In the
//! child of a process that was forked each call fails with [`ErrorKind::NotInitialized`] and each drop
//! does nothing.
//!
//! Validation happens here, once: ranges, sizes, and that both ends of a copy belong to the
//! stream's device. The raw handles leave only through the methods named `as_raw`.

mod buffer;
mod copy;
mod device;
mod error;
mod event;
mod fence;
mod pool;
mod primitive;
mod registry;
mod statistics;
mod stream;
mod worker;

pub use buffer::{DeviceBuffer, PinnedBuffer};
pub use copy::{Copy2D, PlaneEnd};
pub use device::{ContextGuard, Device, WeakDevice};
pub use error::{Error, Result};
pub use event::Event;
pub use fence::FenceData;
pub use hip_dispatch::{
    DeviceInfo, DevicePtr, DeviceSelector, ErrorKind, HipError, LaunchConfig, LoaderConfig,
    MemoryInfo, MemsetValue, Runtime, SelectError, Vendor,
};
pub use pool::{BufferPool, PoolBuffer, PooledBuffer};
pub use registry::open_device;
pub use statistics::Statistics;
pub use stream::{Stream, StreamId, WeakStream};
