//! Memory of another version of the ABI: a copy of the library that this one cannot know.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use gst::glib::translate::{IntoGlib, from_glib_full};
use gst::{ffi, glib};
use gst_hip::HipMemoryRef;
use gst_hip::abi::{
    GST_HIP_RS_MAGIC, GstHipRsAccess, GstHipRsDevice, GstHipRsError, GstHipRsMemory,
    GstHipRsMemoryVTable, GstHipRsStreamDesc,
};
use hip_oracle::{Format, FrameInfo, Image};

use crate::common::{
    Storage, buffer_of, caps_of, first_difference, hip_caps_of, image_of, message_text,
    random_image,
};
use crate::plugin::{load, scenario};
use crate::{device, harness};

/// A version that nobody has made yet.
const VERSION: u32 = 999;

/// Memory objects of that version that were freed.
static FREED: AtomicUsize = AtomicUsize::new(0);
/// Calls of functions whose meaning may be another in that version.
static CALLED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn free(memory: *mut ffi::GstMemory) {
    FREED.fetch_add(1, Ordering::SeqCst);
    // SAFETY: `strange_memory` made the box and what is in it.
    unsafe {
        let memory = Box::from_raw(memory.cast::<GstHipRsMemory>());
        drop(Box::from_raw(memory.data.cast::<Vec<u8>>()));
    }
}

unsafe extern "C" fn device_of(_: *const ffi::GstMemory) -> *const GstHipRsDevice {
    CALLED.fetch_add(1, Ordering::SeqCst);
    std::ptr::null()
}

unsafe extern "C" fn begin(
    _: *const ffi::GstMemory,
    _: u32,
    _: *const GstHipRsStreamDesc,
    _: *mut GstHipRsAccess,
    _: *mut GstHipRsError,
) -> i32 {
    CALLED.fetch_add(1, Ordering::SeqCst);
    0
}

unsafe extern "C" fn end(_: *mut GstHipRsAccess) {
    CALLED.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn map_stream(
    _: *const ffi::GstMemory,
    _: *mut GstHipRsStreamDesc,
    _: *mut GstHipRsError,
) -> i32 {
    CALLED.fetch_add(1, Ordering::SeqCst);
    0
}

static TABLE: GstHipRsMemoryVTable = GstHipRsMemoryVTable {
    size: 16,
    abi_version: VERSION,
    free,
    device: device_of,
    begin_access: begin,
    end_access: end,
    map_stream,
};

unsafe extern "C" fn map(
    memory: *mut ffi::GstMemory,
    _: *mut ffi::GstMapInfo,
    _: usize,
) -> *mut c_void {
    // SAFETY: GStreamer maps what `strange_memory` made.
    unsafe { (*(*memory.cast::<GstHipRsMemory>()).data.cast::<Vec<u8>>()).as_mut_ptr() }.cast()
}

unsafe extern "C" fn unmap(_: *mut ffi::GstMemory, _: *mut ffi::GstMapInfo) {}

/// Memory of the process's allocator type, made as another version of the library would.
fn strange_memory(bytes: Vec<u8>) -> gst::Memory {
    let class = glib::Type::from_name("GstHipRsAllocator").expect("the plugin's type");
    let size = bytes.len();
    // SAFETY: an allocator of a registered type, and a memory object as GStreamer and the type
    // want it: it starts with a `GstMemory`, and its allocator has functions for it.
    unsafe {
        let allocator = glib::gobject_ffi::g_object_new(class.into_glib(), std::ptr::null())
            .cast::<ffi::GstAllocator>();
        (*allocator).mem_type = c"GstHipRsMemory".as_ptr();
        (*allocator).mem_map_full = Some(map);
        (*allocator).mem_unmap_full = Some(unmap);
        (*allocator).object.flags |= ffi::GST_ALLOCATOR_FLAG_CUSTOM_ALLOC;
        let mut memory: Box<GstHipRsMemory> = Box::new(std::mem::zeroed());
        memory.magic = GST_HIP_RS_MAGIC;
        memory.abi_version = VERSION;
        memory.vtable = &TABLE;
        memory.data = Box::into_raw(Box::new(bytes)).cast();
        let raw = Box::into_raw(memory).cast::<ffi::GstMemory>();
        let none = std::ptr::null_mut();
        ffi::gst_memory_init(raw, 0, allocator, none, size, 0, 0, size);
        glib::gobject_ffi::g_object_unref(allocator.cast());
        from_glib_full(raw)
    }
}

#[test]
fn another_version_is_foreign() {
    scenario("version::another_version_is_foreign", |file| {
        let Some(device) = device() else { return };
        load(file);
        let info = FrameInfo::new(Format::Nv12, 34, 18);
        // Makes the plugin register its types.
        let (mut own, _) = harness("hipupload ! hipdownload");
        own.set_sink_caps(caps_of(&info));
        own.set_src_caps(caps_of(&info));
        let plain = |image: &Image| buffer_of(image, Storage::Plain, &device);
        own.push(plain(&random_image(info, 0))).unwrap();
        own.pull().unwrap();

        for (line, count) in [("hipdownload", 3), ("hipconvertscale ! hipdownload", 2)] {
            let (mut harness, bus) = harness(line);
            harness.set_sink_caps(caps_of(&info));
            harness.set_src_caps(hip_caps_of(&info));
            let before = FREED.load(Ordering::SeqCst);
            for seed in 0..count {
                let image = random_image(info, seed);
                let bytes = plain(&image).map_readable().unwrap().to_vec();
                let memory = strange_memory(bytes);
                assert!(HipMemoryRef::from_memory(&memory).is_none());
                let mut buffer = gst::Buffer::new();
                buffer.get_mut().unwrap().append_memory(memory);
                buffer.get_mut().unwrap().set_pts(gst::ClockTime::ZERO);
                harness.push(buffer).unwrap();
                let found = image_of(&harness.pull().unwrap(), info);
                assert_eq!(first_difference(&image, &found), None);
            }
            let warning = message_text(&bus, gst::MessageType::Warning).expect("a warning");
            assert!(warning.contains("copied by the CPU"), "{warning}");
            assert_eq!(message_text(&bus, gst::MessageType::Warning), None);
            drop(harness);
            assert_eq!(FREED.load(Ordering::SeqCst) - before, count as usize);
        }
        assert_eq!(CALLED.load(Ordering::SeqCst), 0, "it was not looked into");
    });
}
