//! Devices.

use std::ffi::{CStr, c_char};

use gst::glib::ffi::GError;
use gst_hip::abi::{self, GstHipRsDevice};
use gst_hip::{Device, DeviceSelector, Error, Result};

use crate::failure::{checked, guarded, missing};

/// The selector that a C string says; null is the default device.
///
/// # Safety
/// `text` is null or a string.
pub(crate) unsafe fn selector(text: *const c_char) -> Result<DeviceSelector> {
    if text.is_null() {
        return Ok(gst_hip::env::default_selector()?);
    }
    // SAFETY: a string, by the caller's word.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    text.parse()
        .map_err(|error| Error::InvalidValue(format!("{error}")))
}

/// This copy's device for a handle.
///
/// # Safety
/// `device` is null or a live device of any copy's.
pub(crate) unsafe fn device_of(device: *const GstHipRsDevice) -> Result<Device> {
    if device.is_null() {
        return Err(missing("the device"));
    }
    // SAFETY: alive, by the caller's word.
    unsafe { abi::adopt(device) }
}

/// Opens a device: `auto`, `nvidia`, `amd:1`, `host`, a number, a PCI address, a UUID or a render
/// node; null for `GST_HIP_DEVICE`, else the best there is. What was asked for by name is given or
/// not, never another.
///
/// Returns: (transfer full): the device, null on failure. Its fields say what it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_device_open(
    text: *const c_char,
    error: *mut *mut GError,
) -> *const GstHipRsDevice {
    let open = || {
        // SAFETY: null or a string.
        let selector = unsafe { selector(text) }?;
        let device = gst_hip::env::open_device(&selector)?;
        Ok(abi::export_device(&device))
    };
    // SAFETY: the error is the caller's, or null.
    unsafe { checked(error, std::ptr::null(), open) }
}

/// Adds a reference; gives its argument, which may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_device_ref(
    device: *const GstHipRsDevice,
) -> *const GstHipRsDevice {
    if device.is_null() {
        return device;
    }
    // SAFETY: a live device, so its table is alive too.
    unsafe { ((*(*device).vtable).retain)(device) }
}

/// Gives a reference back. Memory and streams of the device keep it open by themselves.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_device_unref(device: *const GstHipRsDevice) {
    if !device.is_null() {
        // SAFETY: as above.
        unsafe { ((*(*device).vtable).release)(device) }
    }
}

/// Whether two handles stand for the same device and context here. False where either is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_device_equal(
    one: *const GstHipRsDevice,
    other: *const GstHipRsDevice,
) -> gst::glib::ffi::gboolean {
    guarded(0, || {
        // SAFETY: null or live devices.
        match unsafe { (device_of(one), device_of(other)) } {
            (Ok(one), Ok(other)) => i32::from(one == other),
            _ => 0,
        }
    })
}
