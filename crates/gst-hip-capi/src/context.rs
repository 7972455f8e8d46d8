//! Devices as GStreamer passes them on.

use std::ffi::c_char;

use gst::ffi::{GstContext, GstElement, GstQuery};
use gst::glib::ffi::{GError, GFALSE, gboolean};
use gst::glib::translate::{IntoGlibPtr, from_glib_none};
use gst_hip::abi::{self, GstHipRsDevice};
use gst_hip::{Device, HipContext, Result};

use crate::device::{device_of, gst_hip_rs_device_unref, selector};
use crate::failure::{checked, guarded, missing};

/// A context that carries the device, for `gst_element_set_context`.
///
/// Returns: (transfer full): the context, null on failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_context_new(
    device: *const GstHipRsDevice,
    error: *mut *mut GError,
) -> *mut GstContext {
    let make = || {
        // SAFETY: null or a live device.
        let device = unsafe { device_of(device) }?;
        Ok(HipContext::new(&device).to_gst().into_glib_ptr())
    };
    // SAFETY: the error is the caller's, or null.
    unsafe { checked(error, std::ptr::null_mut(), make) }
}

/// The device in a context, whichever copy of the library made it.
///
/// Returns: (transfer full): the device, null if the context carries none that can be used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_context_get_device(
    context: *mut GstContext,
) -> *const GstHipRsDevice {
    if context.is_null() {
        return std::ptr::null();
    }
    guarded(std::ptr::null(), || {
        // SAFETY: not null, and alive by the caller's word.
        let context: gst::Context = unsafe { from_glib_none(context) };
        match HipContext::from_gst(&context) {
            Some(context) => abi::export_device(context.device()),
            None => std::ptr::null(),
        }
    })
}

/// The device at `*device`, if there is one.
///
/// # Safety
/// `device` is null or points at null or a live device.
unsafe fn current(device: *mut *const GstHipRsDevice) -> Option<Device> {
    // SAFETY: by the caller's word.
    unsafe { device_of(*device.as_ref()?) }.ok()
}

/// Stores a device at `*device`, in place of what is there.
///
/// # Safety
/// `device` points at null or a device whose reference is the place's.
unsafe fn store(device: *mut *const GstHipRsDevice, new: Option<&Device>) {
    let new = new.map_or(std::ptr::null(), abi::export_device);
    // SAFETY: by the caller's word.
    unsafe {
        let old = std::mem::replace(&mut *device, new);
        gst_hip_rs_device_unref(old);
    }
}

/// For an element that needs a device, at NULL to READY: keeps `*device` if it is what `text` asks
/// for (as for gst_hip_rs_device_open()), else asks neighbours and application, else opens
/// one and tells them. No lock may be held that the element's `set_context` or `query` takes.
///
/// `device`: (inout) (transfer full): points at a device or at null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_ensure_device(
    element: *mut GstElement,
    text: *const c_char,
    device: *mut *const GstHipRsDevice,
    error: *mut *mut GError,
) -> gboolean {
    let ensure = || -> Result<gboolean> {
        if element.is_null() || device.is_null() {
            return Err(missing("the element or the place for its device"));
        }
        // SAFETY: not null, and alive by the caller's word.
        let element: gst::Element = unsafe { from_glib_none(element) };
        // SAFETY: null or a string.
        let selector = unsafe { selector(text) }?;
        // SAFETY: not null, and the caller's.
        let before = unsafe { current(device) };
        let mut now = before.clone();
        gst_hip::context::ensure_device(&element, &selector, &mut now)?;
        if now != before {
            // SAFETY: as above.
            unsafe { store(device, now.as_ref()) };
        }
        Ok(1)
    };
    // SAFETY: the error is the caller's, or null.
    unsafe { checked(error, GFALSE, ensure) }
}

/// For an element's `set_context`, which chains up afterwards: takes the context's device if it is
/// one, is what `text` asks for, and none is in use. True if `*device` is now the context's device.
///
/// `device`: (inout) (transfer full): points at a device or at null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_handle_set_context(
    element: *mut GstElement,
    context: *mut GstContext,
    text: *const c_char,
    device: *mut *const GstHipRsDevice,
) -> gboolean {
    if element.is_null() || context.is_null() || device.is_null() {
        return GFALSE;
    }
    guarded(GFALSE, || {
        // SAFETY: not null, and alive by the caller's word.
        let (element, context): (gst::Element, gst::Context) =
            unsafe { (from_glib_none(element), from_glib_none(context)) };
        // SAFETY: null or a string; the place is the caller's.
        let (selector, before) = unsafe { (selector(text), current(device)) };
        let Ok(selector) = selector else {
            return GFALSE;
        };
        let mut now = before.clone();
        let taken = gst_hip::context::handle_set_context(&element, &context, &selector, &mut now);
        if now != before {
            // SAFETY: as above.
            unsafe { store(device, now.as_ref()) };
        }
        i32::from(taken)
    })
}

/// For an element's `query`: answers a neighbour that asks for a device. True if it did.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_handle_context_query(
    query: *mut GstQuery,
    device: *const GstHipRsDevice,
) -> gboolean {
    if query.is_null() || device.is_null() {
        return GFALSE;
    }
    guarded(GFALSE, || {
        // SAFETY: a live device.
        let Ok(device) = (unsafe { device_of(device) }) else {
            return GFALSE;
        };
        // SAFETY: GStreamer hands a writable query over.
        let query = unsafe { gst::QueryRef::from_mut_ptr(query) };
        i32::from(gst_hip::context::handle_context_query(query, Some(&device)))
    })
}
