//! Vendor handles as plain values. Whoever holds one says how long it lives: `hip-core` does.

use std::ffi::c_void;

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name(*mut c_void);

        impl $name {
            /// The null handle.
            pub const NULL: $name = $name(std::ptr::null_mut());

            /// Wraps a vendor's pointer.
            pub const fn from_raw(raw: *mut c_void) -> Self {
                $name(raw)
            }

            /// The vendor's pointer.
            pub const fn as_raw(self) -> *mut c_void {
                self.0
            }

            /// Whether this is the null handle.
            pub fn is_null(self) -> bool {
                self.0.is_null()
            }
        }

        // SAFETY: the handle is a number to this process; both vendors' drivers document that
        // their handles may be used from any thread once the context is current there.
        unsafe impl Send for $name {}
        // SAFETY: as above; a shared reference gives no more than a copy of the number.
        unsafe impl Sync for $name {}
    };
}

handle!(
    /// `CUcontext`; on AMD and Host, where a context is the device, the ordinal in disguise.
    ContextHandle
);
handle!(
    /// `CUstream` / `hipStream_t`. Null is the default stream.
    StreamHandle
);
handle!(
    /// `CUevent` / `hipEvent_t`.
    EventHandle
);
handle!(
    /// `CUmodule` / `hipModule_t`.
    ModuleHandle
);
handle!(
    /// `CUfunction` / `hipFunction_t`.
    FunctionHandle
);

/// An address in device memory (`CUdeviceptr` / `hipDeviceptr_t`); on Host an ordinary address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[repr(transparent)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    /// The null address.
    pub const NULL: DevicePtr = DevicePtr(0);

    /// Whether this is the null address.
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }

    /// The address `bytes` further on.
    pub const fn offset(self, bytes: usize) -> DevicePtr {
        DevicePtr(self.0 + bytes as u64)
    }

    /// As a pointer; only Host's may be read by the CPU.
    pub const fn as_ptr(self) -> *mut u8 {
        self.0 as *mut u8
    }
}

/// What [`crate::Backend::context_push`] found current on the thread, for
/// [`crate::Backend::context_pop`] to put back.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct ContextGuardToken {
    /// AMD: the device that was current. Others: unused.
    pub(crate) previous: i32,
}
