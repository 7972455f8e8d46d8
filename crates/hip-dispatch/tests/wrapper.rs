//! The `hip_foo_bar(vendor, …)` family on the vendor that `HIP_TEST_VENDOR` names (default `host`).

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use hip_dispatch::*;

fn vendor() -> Option<Vendor> {
    let name = std::env::var("HIP_TEST_VENDOR").unwrap_or_else(|_| "host".to_owned());
    let vendor = name
        .split(':')
        .next()
        .unwrap_or_default()
        .parse()
        .expect("a vendor");
    let count = hip_get_device_count(vendor);
    if let Ok(1..) = count {
        return Some(vendor);
    }
    assert!(
        std::env::var_os("HIP_TEST_REQUIRE").is_none(),
        "no device: {count:?}"
    );
    println!("skipped: no device of {vendor}: {count:?}");
    None
}

/// The first device's primary context, current on this thread while this lives.
struct Bound(Vendor, Option<ContextGuardToken>);

impl Bound {
    fn new(vendor: Vendor) -> Bound {
        let context = hip_device_primary_ctx_retain(vendor, 0).unwrap();
        // SAFETY: just retained, and released by `drop`.
        let token = unsafe { hip_ctx_push_current(vendor, context) }.unwrap();
        Bound(vendor, Some(token))
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        hip_ctx_pop_current(self.0, self.1.take().unwrap()).unwrap();
        // SAFETY: retained by `new`; the tests keep nothing of the context's.
        unsafe { hip_device_primary_ctx_release(self.0, 0) }.unwrap();
    }
}

#[test]
fn pitched_memory_is_filled_and_read_back() {
    let Some(vendor) = vendor() else { return };
    let _bound = Bound::new(vendor);
    let stream = hip_stream_create(vendor, StreamFlags::NON_BLOCKING, 0).unwrap();
    let (width, height) = (301, 9);
    let (ptr, stride) = hip_mem_alloc_pitch(vendor, width, height, 4).unwrap();
    assert!(stride >= width && stride.is_multiple_of(4));
    let mut result = vec![0u8; width * height];
    // SAFETY: all handles are alive; the rectangle lies in the allocation; the stream is
    // synchronised before `result` is read.
    unsafe {
        hip_memset_2d(vendor, ptr, stride, 0xAB, width, height, Some(stream)).unwrap();
        hip_memset(
            vendor,
            ptr.offset(stride),
            MemsetValue::U8(0xCD),
            5,
            Some(stream),
        )
        .unwrap();
        let copy = Memcpy2D {
            dst: CopyEnd::Host(result.as_mut_ptr()),
            dst_stride: width,
            src: CopyEnd::Device(ptr),
            src_stride: stride,
            width_bytes: width,
            height,
        };
        hip_memcpy_2d(vendor, &copy, Some(stream)).unwrap();
        hip_stream_synchronize(vendor, stream).unwrap();
        assert!(hip_stream_query(vendor, stream).unwrap());
        hip_free(vendor, ptr).unwrap();
        hip_stream_destroy(vendor, stream).unwrap();
    }
    let expected = |index: usize| {
        if (width..width + 5).contains(&index) {
            0xCD
        } else {
            0xAB
        }
    };
    assert!(
        result
            .iter()
            .enumerate()
            .all(|(index, byte)| *byte == expected(index))
    );
}

#[test]
fn blocking_copies_are_done_when_they_return() {
    let Some(vendor) = vendor() else { return };
    let _bound = Bound::new(vendor);
    let bytes: Vec<u8> = (0..=255).collect();
    let ptr = hip_malloc(vendor, 512).unwrap();
    let mut back = vec![0; 256];
    // SAFETY: the ranges lie in the allocations.
    unsafe {
        hip_memcpy_htod(vendor, ptr, bytes.as_ptr(), 256, None).unwrap();
        hip_memcpy_dtod(vendor, ptr.offset(256), ptr, 256, None).unwrap();
        hip_memcpy_dtoh(vendor, back.as_mut_ptr(), ptr.offset(256), 256, None).unwrap();
        hip_free(vendor, ptr).unwrap();
    }
    assert_eq!(back, bytes);
}

#[test]
fn host_functions_run_once_behind_earlier_work() {
    let Some(vendor) = vendor() else { return };
    let _bound = Bound::new(vendor);
    static CALLS: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn call(data: *mut c_void) {
        CALLS.fetch_add(data as usize as u32, Ordering::SeqCst);
    }
    let stream = hip_stream_create(vendor, StreamFlags::NON_BLOCKING, 0).unwrap();
    let event = hip_event_create(vendor, EventFlags::DISABLE_TIMING).unwrap();
    // SAFETY: all handles are alive; the function takes any data.
    unsafe {
        for amount in [1usize, 10, 100] {
            hip_launch_host_func(vendor, stream, call, amount as *mut c_void).unwrap();
        }
        hip_event_record(vendor, event, stream).unwrap();
        hip_event_synchronize(vendor, event).unwrap();
        assert!(hip_event_query(vendor, event).unwrap());
        hip_event_destroy(vendor, event).unwrap();
        hip_stream_destroy(vendor, stream).unwrap();
    }
    assert_eq!(CALLS.load(Ordering::SeqCst), 111);
}

#[test]
fn errors_name_vendor_call_and_code() {
    let Some(vendor) = vendor() else { return };
    let bound = Bound::new(vendor);
    let error = hip_malloc(vendor, 1 << 50).unwrap_err();
    assert_eq!(
        (error.vendor, error.code, error.kind),
        (vendor, 2, ErrorKind::OutOfMemory)
    );
    assert!(error.to_string().contains(error.call) && error.to_string().contains("code 2"));
    // SAFETY: an image that is none is refused, not loaded.
    let error = unsafe { hip_module_load_data(vendor, ModuleImage::Ptx(c"not a kernel")) };
    assert_eq!(error.unwrap_err().kind, ErrorKind::InvalidImage);
    drop(bound);
    let error = hip_get_device_info(vendor, 4711).unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidDevice, "{error}");
}
