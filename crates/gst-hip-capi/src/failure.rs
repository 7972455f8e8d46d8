//! Failures as `GError`s, and panics as failures.

use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gst::glib::ffi::{self, GError, GQuark};
use gst_hip::Error;

/// The domain of the library's errors; their codes are `GST_HIP_RS_BUSY` and so on.
#[unsafe(no_mangle)]
pub extern "C" fn gst_hip_rs_error_quark() -> GQuark {
    // SAFETY: a static string.
    unsafe { ffi::g_quark_from_static_string(c"gst-hip-rs-error-quark".as_ptr()) }
}

/// Fills in an error.
///
/// # Safety
/// `out` is null, or the caller's.
unsafe fn set(out: *mut *mut GError, error: &Error) {
    let text = CString::new(error.to_string().replace('\0', " ")).unwrap_or_default();
    // SAFETY: null or the caller's. Where an error is already, the first one is kept.
    unsafe {
        if !out.is_null() && (*out).is_null() {
            let status = gst_hip::abi::status_of(error);
            *out = ffi::g_error_new_literal(gst_hip_rs_error_quark(), status, text.as_ptr());
        }
    }
}

/// Runs what a function does; what went wrong, a panic too, is in `out`.
///
/// # Safety
/// `out` is null, or the caller's.
pub(crate) unsafe fn checked<T>(
    out: *mut *mut GError,
    failed: T,
    function: impl FnOnce() -> gst_hip::Result<T>,
) -> T {
    let result = catch_unwind(AssertUnwindSafe(function));
    let result = result.unwrap_or_else(|_| Err(Error::InvalidValue("a panic was caught".into())));
    result.unwrap_or_else(|error| {
        // SAFETY: by the caller's word.
        unsafe { set(out, &error) };
        failed
    })
}

/// Runs what a function does that has no way to say what went wrong.
pub(crate) fn guarded<T>(failed: T, function: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(function)).unwrap_or(failed)
}

/// The failure of a null argument.
pub(crate) fn missing(what: &str) -> Error {
    Error::InvalidValue(format!("{what} is null"))
}

/// Fails where a structure is shorter than what is written into it: its caller was built with an
/// older header, or did not set its size.
pub(crate) fn has_room(size: u32, needed: usize) -> gst_hip::Result<()> {
    match size as usize >= needed {
        true => Ok(()),
        false => Err(Error::InvalidValue(format!(
            "the structure's size is {size}, not {needed}: the caller sets it"
        ))),
    }
}
