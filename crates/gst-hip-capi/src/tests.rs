//! What C may hand over and Rust never would.

use std::ffi::{CStr, CString, c_int};
use std::ptr::{null, null_mut};

use gst::glib;
use gst_hip::abi::*;

use super::*;

/// Takes the error at a place, as its code and words.
fn take(error: &mut *mut GError) -> (c_int, String) {
    assert!(!error.is_null(), "an error is set");
    // SAFETY: the library set it.
    unsafe {
        let found = (**error).code;
        let text = CStr::from_ptr((**error).message)
            .to_string_lossy()
            .into_owned();
        assert_eq!((**error).domain, gst_hip_rs_error_quark());
        glib::ffi::g_error_free(*error);
        *error = null_mut();
        (found, text)
    }
}

fn host() -> *const GstHipRsDevice {
    let mut error = null_mut();
    // SAFETY: a string, and our error.
    let device = unsafe { gst_hip_rs_device_open(c"host".as_ptr(), &mut error) };
    assert!(!device.is_null() && error.is_null());
    device
}

/// Calls that must fail for want of an object, each by name.
macro_rules! fail {
    ($($call:ident($($argument:expr),*) == $failed:expr;)*) => {$(
        let mut error = null_mut();
        // SAFETY: null, or ours.
        let result = unsafe { $call($($argument,)* &mut error) };
        assert_eq!(result, $failed, stringify!($call));
        let (code, text) = take(&mut error);
        assert_eq!(code, GST_HIP_RS_INVALID, "{}: {text}", stringify!($call));
        assert!(text.ends_with("is null"), "{}: {text}", stringify!($call));
        // SAFETY: as above.
        assert_eq!(unsafe { $call($($argument,)* null_mut()) }, $failed);
    )*};
}

#[test]
fn null_is_an_error_and_no_crash() {
    gst::init().unwrap();
    let device = host();
    fail! {
        gst_hip_rs_context_new(null()) == null_mut();
        gst_hip_rs_ensure_device(null_mut(), null(), null_mut()) == 0;
        gst_hip_rs_memory_new(null(), 0, 1) == null_mut();
        gst_hip_rs_buffer_new_video(null(), 0, null()) == null_mut();
        gst_hip_rs_buffer_new_video(device, 0, null()) == null_mut();
        gst_hip_rs_buffer_pool_new(null(), 0) == null_mut();
        gst_hip_rs_memory_begin_access(null(), 0, null(), null_mut()) == 0;
        gst_hip_rs_memory_copy_async(null_mut(), null(), null()) == 0;
        gst_hip_rs_stream_new(null()) == null();
        gst_hip_rs_stream_synchronize(null()) == 0;
        gst_hip_rs_stream_describe(null(), null_mut()) == 0;
        gst_hip_rs_stream_record(null()) == null();
        gst_hip_rs_stream_wait(null(), null()) == 0;
        gst_hip_rs_stream_notify(null(), None, null_mut()) == 0;
        gst_hip_rs_event_is_done(null()) == 0;
        gst_hip_rs_event_synchronize(null()) == 0;
    }
    // SAFETY: null is allowed everywhere.
    unsafe {
        assert_eq!(gst_hip_rs_context_get_device(null_mut()), null());
        assert_eq!(
            gst_hip_rs_handle_set_context(null_mut(), null_mut(), null(), null_mut()),
            0
        );
        assert_eq!(gst_hip_rs_handle_context_query(null_mut(), null()), 0);
        assert_eq!(gst_hip_rs_device_ref(null()), null());
        assert_eq!(gst_hip_rs_device_equal(device, null()), 0);
        assert_eq!(gst_hip_rs_device_equal(device, device), 1);
        assert_eq!(gst_hip_rs_memory_is_hip(null()), 0);
        assert_eq!(gst_hip_rs_memory_get_kind(null()), -1);
        assert_eq!(gst_hip_rs_memory_get_device(null()), null());
        assert_eq!(gst_hip_rs_stream_ref(null()), null());
        assert_eq!(gst_hip_rs_event_ref(null()), null());
        gst_hip_rs_device_unref(null());
        gst_hip_rs_stream_unref(null());
        gst_hip_rs_event_unref(null());
        gst_hip_rs_access_end(null_mut());
        gst_hip_rs_version(null_mut(), null_mut(), null_mut());
        gst_hip_rs_device_unref(device);
    }
}

#[test]
fn an_error_that_is_there_already_is_kept() {
    let mut error = null_mut();
    let first = CString::new("voodoo").unwrap();
    // SAFETY: strings, and our error.
    unsafe {
        assert!(gst_hip_rs_device_open(first.as_ptr(), &mut error).is_null());
        assert!(gst_hip_rs_device_open(c"host:77".as_ptr(), &mut error).is_null());
    }
    let (code, text) = take(&mut error);
    assert_eq!(code, GST_HIP_RS_INVALID);
    assert!(text.contains("voodoo"), "{text}");
}

#[test]
fn other_memory_and_other_modes_are_refused() {
    gst::init().unwrap();
    let device = host();
    let mut error = null_mut();
    let plain = gst::Memory::with_size(64);
    // SAFETY: live objects, each given back once.
    unsafe {
        let stream = gst_hip_rs_stream_new(device, null_mut());
        let mut access: GstHipRsAccess = std::mem::zeroed();
        access.size = size_of::<GstHipRsAccess>() as u32;
        assert_eq!(gst_hip_rs_memory_is_hip(plain.as_ptr()), 0);
        let begin = gst_hip_rs_memory_begin_access;
        assert_eq!(begin(plain.as_ptr(), 0, stream, &mut access, &mut error), 0);
        assert!(take(&mut error).1.contains("not HIP memory"));
        assert!(gst_hip_rs_memory_new(device, 7, 64, &mut error).is_null());
        assert!(take(&mut error).1.contains("no kind of memory"));
        assert!(gst_hip_rs_memory_new(device, 0, 0, &mut error).is_null());
        assert_eq!(take(&mut error).0, GST_HIP_RS_INVALID);
        let memory = gst_hip_rs_memory_new(device, 0, 64, null_mut());
        assert_eq!(begin(memory, 9, stream, &mut access, &mut error), 0);
        assert!(take(&mut error).1.contains("access mode"));
        // A caller whose structure ends earlier is not written past.
        let mut short: GstHipRsAccess = std::mem::zeroed();
        assert_eq!(begin(memory, 1, stream, &mut short, &mut error), 0);
        assert!(take(&mut error).1.contains("size"));
        assert_eq!(begin(memory, 1, stream, &mut access, null_mut()), 1);
        assert_eq!(
            (access.len, access.abi_version),
            (64, GST_HIP_RS_ABI_VERSION)
        );
        // A CPU map would race with it.
        let mut map = std::mem::zeroed();
        let read = gst::ffi::GST_MAP_READ;
        assert_eq!(gst::ffi::gst_memory_map(memory, &mut map, read), 0);
        gst_hip_rs_access_end(&mut access);
        gst_hip_rs_access_end(&mut access);
        assert_eq!(gst::ffi::gst_memory_map(memory, &mut map, read), 1);
        gst::ffi::gst_memory_unmap(memory, &mut map);
        let short = gst_hip_rs_memory_new(device, 1, 32, null_mut());
        assert_eq!(
            gst_hip_rs_memory_copy_async(memory, short, stream, &mut error),
            0
        );
        assert!(take(&mut error).1.contains("32 bytes do not go into 64"));
        gst::ffi::gst_mini_object_unref(memory.cast());
        gst::ffi::gst_mini_object_unref(short.cast());
        gst_hip_rs_stream_unref(stream);
        gst_hip_rs_device_unref(device);
    }
}

#[test]
fn a_panic_is_a_failure() {
    let mut error = null_mut();
    // SAFETY: our error.
    let result =
        unsafe { failure::checked(&mut error, 5, || -> gst_hip::Result<i32> { panic!() }) };
    assert_eq!(result, 5);
    assert!(take(&mut error).1.contains("panic"));
    assert_eq!(failure::guarded(7, || panic!()), 7);
}

#[test]
fn an_element_of_cs_gets_and_gives_a_device() {
    gst::init().unwrap();
    let element = gst::ElementFactory::make("fakesink").build().unwrap();
    let raw: *mut gst::ffi::GstElement = gst::glib::prelude::ObjectType::as_ptr(&element);
    let (mut device, mut error) = (null(), null_mut());
    // SAFETY: live objects, each given back once.
    unsafe {
        let ask = c"host".as_ptr();
        assert_eq!(
            gst_hip_rs_ensure_device(raw, ask, &mut device, &mut error),
            1
        );
        assert_eq!((*device).vendor, 3);
        let first = device;
        assert_eq!(
            gst_hip_rs_ensure_device(raw, ask, &mut device, &mut error),
            1
        );
        assert_eq!(device, first, "what it has will do");
        let nobody = c"host:77".as_ptr();
        assert_eq!(
            gst_hip_rs_ensure_device(raw, nobody, &mut device, &mut error),
            0
        );
        assert_eq!(take(&mut error).0, GST_HIP_RS_NO_DEVICE);
        assert_eq!(device, first);

        let mut query = gst::query::Context::new(gst_hip::CONTEXT_TYPE);
        let raw_query = query.query_mut().as_mut_ptr();
        assert_eq!(gst_hip_rs_handle_context_query(raw_query, null()), 0);
        assert_eq!(gst_hip_rs_handle_context_query(raw_query, device), 1);
        let held = query.context_owned().unwrap();
        let context = held.as_mut_ptr();
        let found = gst_hip_rs_context_get_device(context);
        assert_eq!(gst_hip_rs_device_equal(found, device), 1);
        gst_hip_rs_device_unref(found);

        let mut fresh = null();
        let take_it = gst_hip_rs_handle_set_context;
        assert_eq!(take_it(raw, context, c"nvidia".as_ptr(), &mut fresh), 0);
        assert_eq!(fresh, null(), "not what was asked for");
        assert_eq!(take_it(raw, context, ask, &mut fresh), 1);
        assert_eq!(gst_hip_rs_device_equal(fresh, device), 1);
        gst_hip_rs_device_unref(fresh);
        gst_hip_rs_device_unref(device);
    }
}

#[test]
fn streams_events_and_video_buffers() {
    use gst::glib::translate::{ToGlibPtr, from_glib_full};
    gst::init().unwrap();
    let device = host();
    let mut error = null_mut();
    // SAFETY: live objects, each given back once.
    unsafe {
        let (one, two) = (
            gst_hip_rs_stream_new(device, &mut error),
            gst_hip_rs_stream_new(device, &mut error),
        );
        let mut descriptions: [GstHipRsStreamDesc; 2] = std::mem::zeroed();
        for (stream, description) in [one, two].into_iter().zip(&mut descriptions) {
            description.size = size_of::<GstHipRsStreamDesc>() as u32;
            assert_eq!(
                gst_hip_rs_stream_describe(stream, description, &mut error),
                1
            );
            assert_eq!(description.size as usize, size_of::<GstHipRsStreamDesc>());
            assert_eq!(description.library, (*device).library);
        }
        assert_ne!(descriptions[0].id, descriptions[1].id);
        let event = gst_hip_rs_stream_record(one, &mut error);
        assert_eq!(gst_hip_rs_event_ref(event), event);
        gst_hip_rs_event_unref(event);
        assert_eq!(gst_hip_rs_stream_wait(two, event, &mut error), 1);
        assert_eq!(gst_hip_rs_stream_synchronize(two, &mut error), 1);
        assert_eq!(gst_hip_rs_event_is_done(event, &mut error), 1);
        assert_eq!(gst_hip_rs_event_synchronize(event, &mut error), 1);
        gst_hip_rs_event_unref(event);

        let format = gst_video::VideoFormat::Nv12;
        let info = gst_video::VideoInfo::builder(format, 33, 17)
            .build()
            .unwrap();
        let buffer = gst_hip_rs_buffer_new_video(device, 1, info.to_glib_none().0, &mut error);
        let buffer: gst::Buffer = from_glib_full(buffer);
        assert!(buffer.meta::<gst_video::VideoMeta>().is_some());
        let memory = buffer.peek_memory(0).as_ptr();
        assert_eq!(gst_hip_rs_memory_get_kind(memory), 1);
        let pool = gst_hip_rs_buffer_pool_new(device, 0, &mut error);
        let class = glib::gobject_ffi::g_type_check_instance_is_a;
        assert_eq!(class(pool.cast(), gst_hip_rs_buffer_pool_get_type()), 1);
        gst::ffi::gst_object_unref(pool.cast());
        assert_ne!(gst_hip_rs_device_get_type(), 0);
        let (mut major, mut minor) = (99, 99);
        gst_hip_rs_version(&mut major, &mut minor, null_mut());
        assert_eq!(
            format!("{major}.{minor}"),
            env!("CARGO_PKG_VERSION").rsplit_once('.').unwrap().0
        );
        assert_eq!(gst_hip_rs_init(&mut error), 1);
        gst_hip_rs_stream_unref(one);
        gst_hip_rs_stream_unref(two);
        gst_hip_rs_device_unref(device);
    }
    assert!(error.is_null());
}
