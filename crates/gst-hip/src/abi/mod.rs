//! What crosses between copies of this crate in one process, and the C library's own ABI.
//!
//! An application may link one copy, the plugin another, built by another compiler with other
//! features. Rust values mean nothing between them; what they hand each other is laid out here, in C,
//! with a version:
//!
//! * **Types are there once.** `GstHipRsAllocator`, `GstHipRsDevice` and `GstHipRsBufferPool` are
//!   registered by whichever copy is first, and found again by the others. The class's
//!   functions only look up whose an object is and call its owner through the object's function
//!   table. (So the copy that was first must stay in the process: GStreamer keeps plugins resident.)
//! * **The owner does the work.** Whoever meets memory or a pool that another copy made uses it
//!   through the owner's function table. The owner keeps the order: it makes the consumer's stream
//!   wait for its events, and records one of its own on that stream when the access ends.
//! * **A device is a context.** Where both copies use the same loaded vendor library, a payload
//!   becomes this copy's device for the very context. Host devices are threads of the copy that
//!   has them: there the payload becomes this copy's device of the same number, memory is shared
//!   by address, and the order is kept by waiting on the CPU.
//! * **Another version is foreign.** Its memory is copied through a CPU map, never cast.

mod device;
mod error;
mod layout;
mod types;

pub use layout::*;

pub use device::{adopt, export_device};
pub use error::status_of;
pub use types::device_type;

pub(crate) use device::{DeviceRef, Payload, kind_number};
pub(crate) use error::{from_status, report};
pub(crate) use types::{allocator_type, pool_type};

use hip_core::Stream;

/// The bytes of a structure as its `size` field has them.
pub(crate) const fn size_of<T>() -> u32 {
    std::mem::size_of::<T>() as u32
}

/// Tells this copy of the crate from the others in the process.
pub(crate) fn copy_id() -> u64 {
    // Not constant, so that no two copies can share its address.
    static COPY: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(0);
    std::ptr::from_ref(&COPY).addr() as u64
}

/// A stream as others are told of it; good while `stream` lives.
pub fn describe(stream: &Stream) -> GstHipRsStreamDesc {
    let device = stream.device();
    GstHipRsStreamDesc {
        size: size_of::<GstHipRsStreamDesc>(),
        abi_version: GST_HIP_RS_ABI_VERSION,
        library: device.backend().identity() as u64,
        context: device.as_raw_context().as_raw(),
        stream: stream.as_raw().as_raw(),
        copy: copy_id(),
        id: stream.id().get(),
    }
}

/// Runs one of the functions that C calls; a panic must not cross.
pub(crate) fn guard<T>(what: &'static str, failed: T, function: impl FnOnce() -> T) -> T {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(function)).unwrap_or_else(|_| {
        tracing::error!(what, "a function that C calls panicked");
        failed
    })
}
