//! What crosses between copies, as another copy or C sees it: through the tables only.

use std::ptr::{null, null_mut};

use gst::prelude::*;
use gst_hip::abi::*;
use gst_hip::{HipBufferPool, HipMemoryRef, MemoryKind, Stream};

use crate::common::{Way, alloc, cpu_read, cpu_write, enqueue_fill, pattern, test_device};

const SIZE: usize = 3000;

/// A memory object as the tables see it.
fn header(memory: &gst::MemoryRef) -> &GstHipRsMemory {
    // SAFETY: the tests' memory is ours, so it starts that way.
    unsafe { &*std::ptr::from_ref(memory).cast() }
}

fn no_access() -> GstHipRsAccess {
    GstHipRsAccess {
        size: size_of::<GstHipRsAccess>() as u32,
        abi_version: GST_HIP_RS_ABI_VERSION,
        device_ptr: 0,
        host_ptr: null_mut(),
        len: 0,
        flags: 0,
        reserved: 0,
        token: null_mut(),
    }
}

fn no_error() -> GstHipRsError {
    GstHipRsError {
        size: size_of::<GstHipRsError>() as u32,
        abi_version: GST_HIP_RS_ABI_VERSION,
        status: 0,
        message: [0; 244],
    }
}

fn words(error: &GstHipRsError) -> String {
    let bytes: Vec<u8> = error.message.iter().map(|byte| *byte as u8).collect();
    let text = std::ffi::CStr::from_bytes_until_nul(&bytes).expect("a zero byte at the end");
    text.to_str().expect("UTF-8").to_owned()
}

/// A stream of ours as another copy, which has the same number for a stream of its own, tells it.
fn describe_as_another(stream: &Stream) -> GstHipRsStreamDesc {
    let mut desc = describe(stream);
    desc.copy += 1;
    desc
}

#[test]
fn another_copys_stream_is_ordered_by_the_owner() {
    let Some(device) = test_device() else { return };
    let (ours, theirs) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let desc = describe_as_another(&theirs);
    for way in [Way::Device, Way::Staged] {
        let mut memory = alloc(&device, way, SIZE);
        cpu_write(&mut memory, &pattern(SIZE, 1));
        let vtable = table(&memory);
        let (mut access, mut error) = (no_access(), no_error());
        // SAFETY: live objects; the access is ended below.
        let status =
            unsafe { (vtable.begin_access)(memory.as_ptr(), 1, &desc, &mut access, &mut error) };
        assert_eq!(status, GST_HIP_RS_OK, "{way:?}: {}", words(&error));
        assert_eq!((access.len, access.flags), (SIZE as u64, 0));
        let own = HipMemoryRef::from_memory(&memory).unwrap();
        assert!(own.begin_read(&ours).is_err(), "a write is being enqueued");
        let _bound = device.bind().unwrap();
        // SAFETY: the access vouches for the range; the context is bound.
        unsafe {
            let to = gst_hip::DevicePtr(access.device_ptr).offset(100);
            let value = hip_core::MemsetValue::U8(7);
            let stream = Some(theirs.as_raw());
            device.backend().memset(to, value, 50, stream).unwrap();
            (vtable.end_access)(&mut access);
            assert!(access.token.is_null());
            // Ended twice is ended.
            (vtable.end_access)(&mut access);
            (vtable.end_access)(null_mut());
        }
        let mut expected = pattern(SIZE, 1);
        expected[100..150].fill(7);
        assert!(cpu_read(&memory) == expected, "{way:?}");
        let next = own.begin_write(&ours).unwrap();
        enqueue_fill(&next, &ours, 9);
        next.finish(&ours.record().unwrap()).unwrap();
        assert!(cpu_read(&memory) == [9; SIZE], "{way:?}");
    }
}

/// The table of a memory object.
fn table(memory: &gst::MemoryRef) -> &'static GstHipRsMemoryVTable {
    // SAFETY: our table is static.
    unsafe { &*header(memory).vtable }
}

#[test]
fn another_librarys_stream_is_waited_for_or_refused() {
    let Some(device) = test_device() else { return };
    let (ours, theirs) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let mut desc = describe_as_another(&theirs);
    desc.library ^= 1 << 63;
    let memory = alloc(&device, Way::Device, SIZE);
    let own = HipMemoryRef::from_memory(&memory).unwrap();
    let write = own.begin_write(&ours).unwrap();
    enqueue_fill(&write, &ours, 3);
    write.finish(&ours.record().unwrap()).unwrap();
    let (mut access, mut error) = (no_access(), no_error());
    let vtable = table(&memory);
    // SAFETY: live objects; the access is ended below.
    let status =
        unsafe { (vtable.begin_access)(memory.as_ptr(), 0, &desc, &mut access, &mut error) };
    if !device.info().limits.host_addressable {
        assert_eq!(status, GST_HIP_RS_WRONG_DEVICE);
        assert!(words(&error).contains("another copy's stream"));
        return;
    }
    assert_eq!(status, GST_HIP_RS_OK, "{}", words(&error));
    assert_eq!(access.flags, GST_HIP_RS_ACCESS_CPU_ORDERED);
    // SAFETY: the memory is the CPU's own, and the owner has waited for its writer.
    let bytes = unsafe { std::slice::from_raw_parts(access.host_ptr.cast::<u8>(), SIZE) };
    assert!(bytes.iter().all(|byte| *byte == 3));
    // SAFETY: the access was begun.
    unsafe { (vtable.end_access)(&mut access) };
}

#[test]
fn calls_that_make_no_sense_are_refused() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let memory = alloc(&device, Way::Device, SIZE);
    let plain = gst::Memory::with_size(16);
    let vtable = table(&memory);
    let good = describe_as_another(&stream);
    let other_context = GstHipRsStreamDesc {
        context: good.context.wrapping_byte_add(4096),
        ..good
    };
    let newer = GstHipRsStreamDesc {
        abi_version: 2,
        ..good
    };
    let short = GstHipRsStreamDesc { size: 8, ..good };
    let calls: [(
        *const gst::ffi::GstMemory,
        u32,
        *const GstHipRsStreamDesc,
        i32,
    ); 7] = [
        (memory.as_ptr(), 3, &good, GST_HIP_RS_INVALID),
        (memory.as_ptr(), 0, null(), GST_HIP_RS_INVALID),
        (memory.as_ptr(), 0, &newer, GST_HIP_RS_INVALID),
        (memory.as_ptr(), 0, &short, GST_HIP_RS_INVALID),
        (memory.as_ptr(), 0, &other_context, GST_HIP_RS_WRONG_DEVICE),
        (plain.as_ptr(), 0, &good, GST_HIP_RS_INVALID),
        (null(), 0, &good, GST_HIP_RS_INVALID),
    ];
    for (index, (memory, mode, desc, expected)) in calls.into_iter().enumerate() {
        let (mut access, mut error) = (no_access(), no_error());
        // SAFETY: null or live objects.
        let begin = |access: *mut GstHipRsAccess, error: *mut GstHipRsError| unsafe {
            (vtable.begin_access)(memory, mode, desc, access, error)
        };
        assert_eq!(begin(&mut access, &mut error), expected, "call {index}");
        assert_eq!(error.status, expected);
        assert!(!words(&error).is_empty() && access.token.is_null());
        assert_eq!(begin(&mut access, null_mut()), expected);
    }
    let (mut access, mut error) = (no_access(), no_error());
    access.size = 8;
    // SAFETY: live objects.
    let status =
        unsafe { (vtable.begin_access)(memory.as_ptr(), 0, &good, &mut access, &mut error) };
    assert_eq!(status, GST_HIP_RS_INVALID);
    // Nothing was left open.
    let own = HipMemoryRef::from_memory(&memory).unwrap();
    drop(own.begin_write(&stream).unwrap());
}

#[test]
fn a_device_goes_out_and_comes_back() {
    let Some(device) = test_device() else { return };
    let exported = export_device(&device);
    // SAFETY: alive until its references are given back.
    unsafe {
        let abi = &*exported;
        assert_eq!(abi.ordinal, device.info().ordinal);
        assert_eq!(abi.context, device.as_raw_context().as_raw());
        let uuid = (abi.flags & GST_HIP_RS_DEVICE_HAS_UUID != 0).then_some(abi.uuid);
        assert_eq!(uuid, device.info().uuid.map(|uuid| uuid.0));
        assert_eq!(((*abi.vtable).retain)(exported), exported);
        assert_eq!(adopt(exported).unwrap(), device);
        ((*abi.vtable).release)(exported);
        assert_eq!(adopt(exported).unwrap(), device);

        // The same words of another version or without a known vendor.
        let mut strange = std::ptr::read(exported);
        strange.abi_version = 2;
        assert!(
            adopt(&strange)
                .unwrap_err()
                .to_string()
                .contains("version 2")
        );
        assert!(adopt(null()).is_err());
        ((*abi.vtable).release)(exported);
    }
    let memory = alloc(&device, Way::Pinned, SIZE);
    let pool = HipBufferPool::new(&device, MemoryKind::Pinned);
    // SAFETY: live objects, whose devices live as long.
    unsafe {
        let of_memory = (table(&memory).device)(memory.as_ptr());
        assert_eq!(adopt(of_memory).unwrap(), device);
        let raw: *mut GstHipRsPool = pool.as_ptr();
        let of_pool = ((*(*raw).vtable).device)(raw.cast());
        assert_eq!(of_pool, of_memory, "one payload a device");
        assert_eq!((*raw).kind, GST_HIP_RS_KIND_PINNED);
    }
    assert_eq!(header(&memory).kind, GST_HIP_RS_KIND_PINNED);
}

/// Tells when it is dropped, and holds the device until then.
struct Kept(
    std::sync::mpsc::Sender<()>,
    #[allow(dead_code)] gst_hip::Device,
);

impl Drop for Kept {
    fn drop(&mut self) {
        // A test that is over does not listen any more.
        let _ = self.0.send(());
    }
}

#[test]
fn nobody_holds_a_context_for_ever() {
    let Some(primary) = test_device() else { return };
    let (sender, dropped) = std::sync::mpsc::channel();
    let kept = Box::new(Kept(sender, primary.clone()));
    let (ordinal, context) = (primary.info().ordinal, primary.as_raw_context());
    // SAFETY: the context is the primary one, which the kept device holds.
    let device = unsafe {
        gst_hip::Device::from_foreign_context(primary.backend().clone(), ordinal, context, kept)
    };
    let device = device.unwrap();
    let exported = export_device(&device);
    // SAFETY: a live payload.
    unsafe { assert_eq!((*exported).flags & GST_HIP_RS_DEVICE_PRIMARY, 0) };
    let context = gst_hip::HipContext::new(&device).to_gst();
    let found = gst_hip::HipContext::from_gst(&context.copy()).unwrap();
    assert_eq!(*found.device(), device);
    let memory = alloc(&device, Way::Device, SIZE);
    let pool = HipBufferPool::new(&device, MemoryKind::Device);
    drop((device, found));
    assert!(dropped.try_recv().is_err());
    drop((context, pool));
    assert!(dropped.try_recv().is_err());
    // SAFETY: the reference goes back.
    unsafe { ((*(*exported).vtable).release)(exported) };
    assert!(dropped.try_recv().is_err(), "the memory holds it");
    drop(memory);
    // The completion worker lets go of it.
    let patience = std::time::Duration::from_secs(30);
    dropped.recv_timeout(patience).expect("let go of");
}
