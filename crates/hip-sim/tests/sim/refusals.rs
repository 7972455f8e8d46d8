//! What a driver refuses.

use std::ffi::c_void;
use std::sync::mpsc;

use hip_dispatch::{DevicePtr, EventFlags, HostAllocFlags, MemsetValue, StreamFlags, StreamHandle};

use crate::lab::context_call;
use crate::lab::{ALL, Lab, code};

#[test]
fn memory_that_is_not_there() {
    for name in ALL {
        let lab = Lab::new(name);
        let (backend, stream) = (&lab.backend, lab.stream());
        let block = backend.mem_alloc(1000).unwrap();
        let mut bytes = vec![0_u8; 2000];
        let host = bytes.as_mut_ptr();
        for stream in [None, Some(stream), Some(StreamHandle::NULL)] {
            // SAFETY: everything here is refused, so nothing is touched.
            let codes = unsafe {
                [
                    // Past the end, by one byte; before the start.
                    code(backend.memcpy_htod(block, host, 1001, stream)),
                    code(backend.memcpy_htod(block.offset(999), host, 2, stream)),
                    code(backend.memcpy_dtoh(host, DevicePtr(block.0 - 1), 1, stream)),
                    code(backend.memset(block, MemsetValue::U32(0), 251, stream)),
                    code(backend.memset_2d(block, 100, 0, 100, 11, stream)),
                    // Never allocated; host memory as the device's, and the device's as host memory.
                    code(backend.memcpy_dtod(block, DevicePtr(0x10), 1, stream)),
                    code(backend.memcpy_htod(DevicePtr(host as u64), host, 1, stream)),
                    code(backend.memcpy_htod(block, block.as_ptr(), 1, stream)),
                    code(backend.memset(block.offset(1), MemsetValue::U16(0), 1, stream)),
                ]
            };
            assert_eq!(codes, [1; 9], "{name} {stream:?}");
        }
        // SAFETY: nothing is on the stream. What comes after the free is refused.
        unsafe {
            assert_eq!(code(backend.mem_free(block.offset(256))), 1);
            backend.mem_free(block).unwrap();
            assert_eq!(code(backend.mem_free(block)), 1, "{name}: freed twice");
            assert_eq!(
                code(backend.memset(block, MemsetValue::U8(0), 1, None)),
                1,
                "{name}"
            );
            backend.stream_destroy(stream).unwrap();
        }
    }
}

#[test]
fn pinned_memory_has_ends_too() {
    let lab = Lab::new("nvidia");
    let backend = &lab.backend;
    let pinned = backend.host_alloc(100, HostAllocFlags::PORTABLE).unwrap();
    let block = backend.mem_alloc(200).unwrap();
    // SAFETY: each call is refused, or has the bytes.
    unsafe {
        assert_eq!(
            code(backend.memcpy_htod(block, pinned.as_ptr(), 101, None)),
            1
        );
        backend
            .memcpy_htod(block, pinned.as_ptr(), 100, None)
            .unwrap();
        // It is the device's as well; but not freed as such.
        backend
            .memcpy_dtod(DevicePtr(pinned.as_ptr() as u64), block, 100, None)
            .unwrap();
        assert_eq!(code(backend.mem_free(DevicePtr(pinned.as_ptr() as u64))), 1);
        backend.host_free(pinned).unwrap();
        assert_eq!(code(backend.host_free(pinned)), 1);
        backend.mem_free(block).unwrap();
    }
}

#[test]
fn things_of_another_device() {
    for name in ALL {
        let lab = Lab::with(name, &[("HIP_SIM_DEVICES", "2")]);
        let backend = &lab.backend;
        let (stream, block) = (lab.stream(), backend.mem_alloc(16).unwrap());
        let event = backend.event_create(EventFlags::empty()).unwrap();
        let other = backend.primary_context_retain(1).unwrap();
        let token = context_call!(backend.context_push(other)).unwrap();
        let own = lab.stream();
        let mine = backend.mem_alloc(16).unwrap();
        // SAFETY: what is of the other device is refused, the rest is alive.
        unsafe {
            assert_eq!(
                code(backend.memset(block, MemsetValue::U8(0), 16, Some(own))),
                1,
                "{name}"
            );
            assert_eq!(
                code(backend.memset(mine, MemsetValue::U8(0), 16, Some(stream))),
                400
            );
            assert_eq!(
                code(backend.memcpy_dtod(mine, block, 16, None)),
                1,
                "{name}"
            );
            assert_eq!(code(backend.event_record(event, own)), 400, "{name}");
            assert_eq!(code(backend.mem_free(block)), 1, "{name}");
            // A wait may cross devices.
            backend.event_record(event, stream).unwrap();
            backend.stream_wait_event(own, event).unwrap();
            backend.mem_free(mine).unwrap();
            backend.stream_destroy(own).unwrap();
            backend.context_pop(token).unwrap();
            backend.primary_context_release(1).unwrap();
            backend.event_destroy(event).unwrap();
            backend.mem_free(block).unwrap();
            backend.stream_destroy(stream).unwrap();
        }
        assert_eq!(
            (0..7).map(|what| lab.library.live(what)).sum::<u64>(),
            0,
            "{name}"
        );
    }
}

#[test]
fn handles_that_are_gone() {
    for name in ALL {
        let lab = Lab::new(name);
        let backend = &lab.backend;
        let (stream, other) = (lab.stream(), lab.stream());
        let event = backend.event_create(EventFlags::empty()).unwrap();
        // SAFETY: what is gone is refused.
        unsafe {
            backend.stream_destroy(stream).unwrap();
            assert_eq!(code(backend.stream_destroy(stream)), 400, "{name}");
            assert_eq!(code(backend.stream_synchronize(stream)), 400, "{name}");
            assert_eq!(code(backend.event_record(event, stream)), 400, "{name}");
            backend.event_destroy(event).unwrap();
            assert_eq!(code(backend.event_destroy(event)), 400, "{name}");
            assert_eq!(code(backend.stream_wait_event(other, event)), 400, "{name}");
            backend.stream_destroy(other).unwrap();
        }
        assert_eq!(code(backend.device_info(1)), 101);
    }
}

#[test]
fn no_current_context() {
    let mut lab = Lab::new("nvidia");
    lab.leave();
    assert_eq!(code(lab.backend.mem_alloc(16)), 201);
    assert_eq!(
        code(lab.backend.stream_create(StreamFlags::NON_BLOCKING, 0)),
        201
    );
    // On AMD device 0 is current on every thread.
    let mut lab = Lab::new("amd7");
    lab.leave();
    let block = lab.backend.mem_alloc(16).unwrap();
    // SAFETY: allocated above.
    unsafe { lab.backend.mem_free(block) }.unwrap();
}

#[test]
fn a_context_that_everybody_released_is_gone_with_what_it_held() {
    let mut lab = Lab::with("nvidia", &[("HIP_SIM_DEVICES", "2")]);
    lab.leave();
    let context = lab.backend.primary_context_retain(1).unwrap();
    let token = context_call!(lab.backend.context_push(context)).unwrap();
    let block = lab.backend.mem_alloc(16).unwrap();
    lab.stream();
    context_call!(lab.backend.primary_context_release(1)).unwrap();
    assert_eq!((0..7).map(|what| lab.library.live(what)).sum::<u64>(), 0);
    // SAFETY: refused.
    assert_eq!(code(unsafe { lab.backend.mem_free(block) }), 709);
    lab.backend.context_pop(token).unwrap();
    assert_eq!(code(context_call!(lab.backend.context_push(context))), 201);
    assert_eq!(
        code(context_call!(lab.backend.primary_context_release(1))),
        201
    );
}

#[test]
fn a_context_of_ones_own_is_another_one() {
    type Create = unsafe extern "C" fn(*mut *mut c_void, u32, i32) -> i32;
    type Take = unsafe extern "C" fn(*mut c_void) -> i32;
    let lab = Lab::new("nvidia");
    let block = lab.backend.mem_alloc(16).unwrap();
    let mut context = std::ptr::null_mut();
    // SAFETY: the documented signatures; the context becomes current and is destroyed once.
    unsafe {
        assert_eq!(
            lab.library.function::<Create>("cuCtxCreate_v2")(&mut context, 0, 0),
            0
        );
        assert_ne!(context, lab.context.as_raw());
        assert_eq!(
            code(lab.backend.memset(block, MemsetValue::U8(0), 1, None)),
            1
        );
        let destroy = lab.library.function::<Take>("cuCtxDestroy_v2");
        assert_eq!([destroy(context), destroy(context)], [0, 201]);
        assert_eq!(
            destroy(lab.context.as_raw()),
            201,
            "a primary context is released"
        );
        lab.backend
            .memset(block, MemsetValue::U8(0), 1, None)
            .unwrap();
        lab.backend.mem_free(block).unwrap();
    }
}

#[test]
fn a_host_function_must_not_call_the_library() {
    unsafe extern "C" fn call(data: *mut c_void) {
        type Data = (std::sync::Arc<dyn hip_dispatch::Backend>, mpsc::Sender<i32>);
        // SAFETY: the box leaked below, once.
        let (backend, sender) = *unsafe { Box::from_raw(data.cast::<Data>()) };
        sender.send(code(backend.mem_alloc(16))).unwrap();
    }
    for name in ALL {
        let lab = Lab::new(name);
        let stream = lab.stream();
        let (sender, receiver) = mpsc::channel::<i32>();
        let data = Box::into_raw(Box::new((lab.backend.clone(), sender)));
        // SAFETY: the function takes the box, once.
        unsafe {
            lab.backend
                .launch_host_func(stream, call, data.cast())
                .unwrap();
            assert_eq!(receiver.recv().unwrap(), 800, "{name}");
            lab.backend.stream_destroy(stream).unwrap();
        }
    }
}

#[test]
fn a_child_of_the_process_has_no_driver() {
    type Malloc = unsafe extern "C" fn(*mut u64, usize) -> i32;
    let lab = Lab::new("nvidia");
    // SAFETY: the documented signature.
    let malloc = unsafe { lab.library.function::<Malloc>("cuMemAlloc_v2") };
    // SAFETY: the child calls the library, which takes no lock then, and ends at once.
    let status = unsafe {
        match libc::fork() {
            0 => {
                let mut address = 0;
                libc::_exit(malloc(&mut address, 16))
            }
            child => {
                let mut status = 0;
                assert_eq!(libc::waitpid(child, &mut status, 0), child);
                status
            }
        }
    };
    assert!(libc::WIFEXITED(status));
    assert_eq!(libc::WEXITSTATUS(status), 3);
    let block = lab.backend.mem_alloc(16).unwrap();
    // SAFETY: allocated above.
    unsafe { lab.backend.mem_free(block) }.unwrap();
}
