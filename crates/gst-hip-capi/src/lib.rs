//! The C API of gst-hip: `libgsthiprs-1.0.so`, `gst/hiprs/gst-hip-rs.h`, `gst-hip-rs-1.0.pc`.
//!
//! The structures are those that cross between copies of gst-hip in a process (`gst_hip::abi`), so
//! that a C program's memory, pools and devices are used by the plugin, and the other way round,
//! without a copy. Names start with `gst_hip_rs_`, as the GTypes do with `GstHipRs`: GStreamer's own
//! HIP library, `libgsthip-1.0.so` with `gst_hip_`, may be in the process too.
//!
//! Every function takes null where it says so or not: what cannot be done without an object fails.
//! Failures are `GError`s of domain `gst-hip-rs-error-quark` with a `GST_HIP_RS_…` status as code.
//! Panics are caught and are failures. All functions may be called from any thread.
//!
//! Not introspectable: devices, streams and events are counted structures and not GObjects. What is
//! registered with GObject (`GstHipRsDevice` as a boxed type, the pool, the allocator) can be used
//! through GStreamer's own bindings: pools, memory maps, contexts.

#![allow(clippy::missing_safety_doc)] // one contract for all, below

mod context;
mod device;
mod failure;
mod memory;
mod stream;
#[cfg(test)]
mod tests;

use std::ffi::c_uint;

use gst::glib::ffi::{GError, GFALSE, GTRUE, gboolean};

pub use context::*;
pub use device::*;
pub use failure::gst_hip_rs_error_quark;
pub use memory::*;
pub use stream::*;

use failure::{checked, guarded};

/// The library's version; any of the addresses may be null.
///
/// # Safety
/// For this and every function of the library: a pointer is null or to what its type says, alive
/// while the function runs, and an address to write to is the caller's. A `GError **` is null or
/// points at null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_version(
    major: *mut c_uint,
    minor: *mut c_uint,
    micro: *mut c_uint,
) {
    let parts = [
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR"),
        env!("CARGO_PKG_VERSION_PATCH"),
    ];
    for (part, target) in parts.iter().zip([major, minor, micro]) {
        // SAFETY: null, or the caller's.
        if let Some(target) = unsafe { target.as_mut() } {
            *target = part.parse().unwrap_or(0);
        }
    }
}

/// The version of the structures, `GST_HIP_RS_ABI_VERSION` of the library as it runs.
#[unsafe(no_mangle)]
pub extern "C" fn gst_hip_rs_abi_version() -> u32 {
    gst_hip::abi::GST_HIP_RS_ABI_VERSION
}

/// Starts GStreamer if nobody did, sends the library's messages to GST_DEBUG and looks at the
/// environment (`GST_HIP_DEVICE` and its kin). Opens no vendor's library. Calling it again changes
/// nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_init(error: *mut *mut GError) -> gboolean {
    let init = || {
        gst::init().map_err(|error| gst_hip::Error::Gst(error.to_string()))?;
        gst_hip::log::install();
        gst_hip::env::environment()?;
        Ok(GTRUE)
    };
    // SAFETY: the error is the caller's, or null.
    unsafe { checked(error, GFALSE, init) }
}

/// `GType` of the boxed `GstHipRsDevice`.
#[unsafe(no_mangle)]
pub extern "C" fn gst_hip_rs_device_get_type() -> gst::glib::ffi::GType {
    guarded(0, || {
        gst::glib::translate::IntoGlib::into_glib(gst_hip::abi::device_type())
    })
}

/// `GType` of the buffer pool.
#[unsafe(no_mangle)]
pub extern "C" fn gst_hip_rs_buffer_pool_get_type() -> gst::glib::ffi::GType {
    use gst::glib::prelude::StaticType;
    guarded(0, || {
        gst::glib::translate::IntoGlib::into_glib(gst_hip::HipBufferPool::static_type())
    })
}
