//! Streams and events.

use std::ffi::c_void;
use std::sync::Arc;

use gst::glib::ffi::{GDestroyNotify, GError, GFALSE, GTRUE, gboolean};
use gst_hip::abi::{GstHipRsDevice, GstHipRsStreamDesc};
use gst_hip::{Event, FenceData, Result, Stream};

use crate::device::device_of;
use crate::failure::{checked, guarded, has_room, missing};

/// A queue of device work, done in order. Counted.
pub struct GstHipRsStream(pub(crate) Stream);

/// A point on a stream. Counted.
pub struct GstHipRsEvent(pub(crate) Event);

/// The stream of a handle.
///
/// # Safety
/// `stream` is null or a live stream.
pub(crate) unsafe fn stream_of<'a>(stream: *const GstHipRsStream) -> Result<&'a Stream> {
    // SAFETY: by the caller's word.
    let stream = unsafe { stream.as_ref() };
    stream
        .map(|stream| &stream.0)
        .ok_or_else(|| missing("the stream"))
}

/// The event of a handle.
///
/// # Safety
/// `event` is null or a live event.
unsafe fn event_of<'a>(event: *const GstHipRsEvent) -> Result<&'a Event> {
    // SAFETY: by the caller's word.
    let event = unsafe { event.as_ref() };
    event
        .map(|event| &event.0)
        .ok_or_else(|| missing("the event"))
}

/// A stream that does not wait for the default stream.
///
/// Returns: (transfer full): the stream, null on failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_stream_new(
    device: *const GstHipRsDevice,
    error: *mut *mut GError,
) -> *const GstHipRsStream {
    let make = || {
        // SAFETY: null or a live device.
        let device = unsafe { device_of(device) }?;
        let stream = GstHipRsStream(Stream::new(&device)?);
        Ok(Arc::into_raw(Arc::new(stream)))
    };
    // SAFETY: the error is the caller's, or null.
    unsafe { checked(error, std::ptr::null(), make) }
}

/// Adds a reference; gives its argument, which may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_stream_ref(
    stream: *const GstHipRsStream,
) -> *const GstHipRsStream {
    if !stream.is_null() {
        // SAFETY: `gst_hip_rs_stream_new` made it, and it is alive.
        unsafe { Arc::increment_strong_count(stream) };
    }
    stream
}

/// Gives a reference back; work on the stream still finishes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_stream_unref(stream: *const GstHipRsStream) {
    if !stream.is_null() {
        // SAFETY: as above; the reference is the caller's.
        guarded((), || unsafe { Arc::decrement_strong_count(stream) });
    }
}

/// Blocks until all work on the stream is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_stream_synchronize(
    stream: *const GstHipRsStream,
    error: *mut *mut GError,
) -> gboolean {
    let wait = || {
        // SAFETY: null or a live stream.
        unsafe { stream_of(stream) }?.synchronize()?;
        Ok(GTRUE)
    };
    // SAFETY: the error is the caller's, or null.
    unsafe { checked(error, GFALSE, wait) }
}

/// Fills in what the stream is: its `stream` is the vendor's handle, for calls of the vendor's
/// library. Good while the stream lives. The caller sets `description->size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_stream_describe(
    stream: *const GstHipRsStream,
    description: *mut GstHipRsStreamDesc,
    error: *mut *mut GError,
) -> gboolean {
    let describe = || {
        // SAFETY: null or a live stream; null or the caller's structure.
        let (stream, out) = unsafe { (stream_of(stream)?, description.as_mut()) };
        let out = out.ok_or_else(|| missing("the description"))?;
        has_room(out.size, size_of::<GstHipRsStreamDesc>())?;
        *out = gst_hip::abi::describe(stream);
        Ok(GTRUE)
    };
    // SAFETY: the error is the caller's, or null.
    unsafe { checked(error, GFALSE, describe) }
}

/// An event after the work enqueued so far.
///
/// Returns: (transfer full): the event, null on failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_stream_record(
    stream: *const GstHipRsStream,
    error: *mut *mut GError,
) -> *const GstHipRsEvent {
    let record = || {
        // SAFETY: null or a live stream.
        let event = unsafe { stream_of(stream) }?.record()?;
        Ok(Arc::into_raw(Arc::new(GstHipRsEvent(event))))
    };
    // SAFETY: the error is the caller's, or null.
    unsafe { checked(error, std::ptr::null(), record) }
}

/// Later work on the stream waits for the event, on the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_stream_wait(
    stream: *const GstHipRsStream,
    event: *const GstHipRsEvent,
    error: *mut *mut GError,
) -> gboolean {
    let wait = || {
        // SAFETY: null or alive.
        let (stream, event) = unsafe { (stream_of(stream)?, event_of(event)?) };
        stream.wait(event)?;
        Ok(GTRUE)
    };
    // SAFETY: the error is the caller's, or null.
    unsafe { checked(error, GFALSE, wait) }
}

/// What a C caller wants called when work is done.
struct Notify {
    data: *mut c_void,
    notify: unsafe extern "C" fn(*mut c_void),
}

// SAFETY: the caller was told that the function is called on a thread of the library's.
unsafe impl Send for Notify {}

impl Drop for Notify {
    fn drop(&mut self) {
        // SAFETY: the caller's function and data, called once.
        unsafe { (self.notify)(self.data) }
    }
}

/// Calls `notify(data)` once all work enqueued so far is done, or has failed, on a thread of the
/// library's; the calling thread does not wait. On failure it is called before this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_stream_notify(
    stream: *const GstHipRsStream,
    notify: GDestroyNotify,
    data: *mut c_void,
    error: *mut *mut GError,
) -> gboolean {
    let submit = || {
        let notify = notify.ok_or_else(|| missing("the function"))?;
        let notify = Notify { data, notify };
        // SAFETY: null or a live stream.
        let stream = unsafe { stream_of(stream) }?;
        let mut fence = FenceData::new();
        fence.push(notify);
        stream.keep_alive(fence)?;
        Ok(GTRUE)
    };
    // SAFETY: the error is the caller's, or null.
    unsafe { checked(error, GFALSE, submit) }
}

/// Whether the work before the event is done; false with an error if it failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_event_is_done(
    event: *const GstHipRsEvent,
    error: *mut *mut GError,
) -> gboolean {
    // SAFETY: null or a live event.
    let ask = || Ok(i32::from(unsafe { event_of(event) }?.is_done()?));
    // SAFETY: the error is the caller's, or null.
    unsafe { checked(error, GFALSE, ask) }
}

/// Blocks until the work before the event is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_event_synchronize(
    event: *const GstHipRsEvent,
    error: *mut *mut GError,
) -> gboolean {
    let wait = || {
        // SAFETY: null or a live event.
        unsafe { event_of(event) }?.synchronize()?;
        Ok(GTRUE)
    };
    // SAFETY: the error is the caller's, or null.
    unsafe { checked(error, GFALSE, wait) }
}

/// Adds a reference; gives its argument, which may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_event_ref(event: *const GstHipRsEvent) -> *const GstHipRsEvent {
    if !event.is_null() {
        // SAFETY: `gst_hip_rs_stream_record` made it, and it is alive.
        unsafe { Arc::increment_strong_count(event) };
    }
    event
}

/// Gives a reference back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_event_unref(event: *const GstHipRsEvent) {
    if !event.is_null() {
        // SAFETY: as above; the reference is the caller's.
        guarded((), || unsafe { Arc::decrement_strong_count(event) });
    }
}
