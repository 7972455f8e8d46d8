//! Contexts, memory and handles: what is refused, and with which code.

use std::ptr::NonNull;

use super::*;
use crate::host::LiveObjects;
use crate::host::device::PITCH_ALIGNMENT;
use crate::host::memory::PAGE;
use crate::{
    ContextHandle, CopyEnd, HostAllocFlags, ImageKind, LaunchConfig, Memcpy2D, ModuleHandle,
    ModuleImage, Vendor,
};

// SAFETY (of the blocks below): handles and addresses come from the backend and are alive where
// a test does not say that they are not; memory outlives the work on it. A handle that is none is
// refused before it is used, which is what is tested.
macro_rules! api {
    ($call:expr) => {
        // SAFETY: see above.
        unsafe { $call }
    };
}

#[test]
fn nothing_works_without_a_context() {
    let host = Host::new(1);
    let (stream, event, memory, pinned) = {
        let _current = enter(&host, 0);
        let memory = host.mem_alloc(16).unwrap();
        let pinned = host.host_alloc(16, HostAllocFlags::empty()).unwrap();
        (new_stream(&host), new_event(&host), memory, pinned)
    };
    let invalid = ErrorKind::InvalidContext;
    assert_eq!(host.mem_alloc(16).unwrap_err().code, 201);
    assert_eq!(kind(host.mem_alloc_pitch(16, 1, 4)), invalid);
    assert_eq!(kind(host.host_alloc(16, HostAllocFlags::empty())), invalid);
    assert_eq!(kind(host.mem_get_info()), invalid);
    assert_eq!(kind(host.stream_create(StreamFlags::empty(), 0)), invalid);
    assert_eq!(kind(host.event_create(EventFlags::empty())), invalid);
    assert_eq!(kind(host.context_synchronize()), invalid);
    assert_eq!(
        kind(api!(host.module_load(ModuleImage::HostTable(&[])))),
        invalid
    );
    assert_eq!(kind(api!(host.mem_free(memory))), invalid);
    assert_eq!(kind(api!(host.host_free(pinned))), invalid);
    assert_eq!(
        kind(api!(host.memset(memory, MemsetValue::U8(0), 1, None))),
        invalid
    );
    assert_eq!(kind(api!(host.stream_synchronize(stream))), invalid);
    assert_eq!(kind(api!(host.event_record(event, stream))), invalid);
    assert_eq!(kind(api!(host.event_query(event))), invalid);
    assert_eq!(kind(api!(host.stream_destroy(stream))), invalid);
    let _current = enter(&host, 0);
    api!(host.stream_destroy(stream)).unwrap();
    api!(host.event_destroy(event)).unwrap();
    api!(host.mem_free(memory)).unwrap();
    api!(host.host_free(pinned)).unwrap();
    assert_eq!(
        host.live(),
        LiveObjects {
            contexts: 1,
            ..LiveObjects::default()
        }
    );
}

#[test]
fn contexts_nest_per_thread_and_per_backend() {
    let (host, other) = (Host::new(2), Host::new(1));
    let first = enter(&host, 0);
    let (stream, first_event) = (new_stream(&host), new_event(&host));
    let memory = host.mem_alloc(4).unwrap();
    assert_eq!(kind(other.mem_alloc(4)), ErrorKind::InvalidContext);
    {
        let _inner = enter(&other, 0);
        let _second = enter(&host, 1);
        // The stream is the first context's.
        let set = api!(host.memset(memory, MemsetValue::U8(0), 4, Some(stream)));
        assert_eq!(kind(set), ErrorKind::InvalidHandle);
        let (event, own_stream) = (new_event(&host), new_stream(&host));
        let invalid = ErrorKind::InvalidHandle;
        assert_eq!(kind(api!(host.event_record(event, stream))), invalid);
        assert_eq!(
            kind(api!(host.event_record(first_event, own_stream))),
            invalid
        );
        // Waiting across contexts is what events are for.
        api!(host.stream_wait_event(own_stream, first_event)).unwrap();
        api!(host.event_record(event, own_stream)).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(kind(host.mem_alloc(4)), ErrorKind::InvalidContext));
        });
    }
    fill(&host, memory, 1, 4, Some(stream));
    api!(host.mem_free(memory)).unwrap();
    drop(first);
    let token = ContextGuardToken { previous: 0 };
    assert_eq!(kind(host.context_pop(token)), ErrorKind::InvalidContext);
    assert_eq!(host.live().contexts, 0);
}

#[test]
fn a_context_lives_while_it_is_retained() {
    let host = Host::new(1);
    assert_eq!(
        kind(api!(host.primary_context_release(0))),
        ErrorKind::InvalidContext
    );
    assert_eq!(
        kind(host.primary_context_retain(1)),
        ErrorKind::InvalidDevice
    );
    let context = host.primary_context_retain(0).unwrap();
    assert_eq!(host.primary_context_retain(0).unwrap(), context);
    let token = api!(host.context_push(context)).unwrap();
    api!(host.primary_context_release(0)).unwrap();
    assert!(host.mem_get_info().is_ok());
    api!(host.primary_context_release(0)).unwrap();
    assert_eq!(host.mem_get_info().unwrap_err().code, 709);
    host.context_pop(token).unwrap();
    let push = |raw: usize| {
        api!(
            host.context_push(ContextHandle::from_raw(std::ptr::without_provenance_mut(
                raw,
            )))
        )
    };
    for raw in [0, 1, 2, usize::MAX] {
        assert_eq!(kind(push(raw)), ErrorKind::InvalidContext, "{raw}");
    }
}

#[test]
fn memory_is_what_was_asked_for() {
    let host = Host::new(1);
    let _current = enter(&host, 0);
    assert_eq!(host.mem_alloc(0).unwrap_err().code, 1);
    assert_eq!(
        kind(host.host_alloc(0, HostAllocFlags::empty())),
        ErrorKind::InvalidValue
    );
    assert_eq!(host.mem_alloc(usize::MAX).unwrap_err().code, 2);
    assert_eq!(host.mem_alloc(1 << 55).unwrap_err().code, 2);
    assert_eq!(
        kind(host.mem_alloc_pitch(usize::MAX, 2, 4)),
        ErrorKind::OutOfMemory
    );
    assert_eq!(
        kind(host.mem_alloc_pitch(1 << 50, 1 << 50, 4)),
        ErrorKind::OutOfMemory
    );
    assert_eq!(
        kind(host.mem_alloc_pitch(16, 0, 4)),
        ErrorKind::InvalidValue
    );
    assert_eq!(
        kind(host.mem_alloc_pitch(16, 1, 3)),
        ErrorKind::InvalidValue
    );
    let (rows, stride) = host.mem_alloc_pitch(65, 3, 16).unwrap();
    assert_eq!(
        (stride % PITCH_ALIGNMENT, stride >= 65, rows.0 % 256),
        (0, true, 0)
    );
    let pinned = host.host_alloc(5, HostAllocFlags::PORTABLE).unwrap();
    assert_eq!(pinned.as_ptr().addr() % PAGE, 0);
    let live = host.live();
    assert_eq!(
        (live.allocations, live.bytes, live.pinned, live.pinned_bytes),
        (1, 3 * stride as u64, 1, 5)
    );
    let info = host.mem_get_info().unwrap();
    assert!(0 < info.free && info.free <= info.total);
    // Neither call frees the other's.
    assert_eq!(
        kind(api!(host.host_free(NonNull::new(rows.as_ptr()).unwrap()))),
        ErrorKind::InvalidValue
    );
    let address = DevicePtr(pinned.as_ptr().expose_provenance() as u64);
    assert_eq!(kind(api!(host.mem_free(address))), ErrorKind::InvalidValue);
    assert_eq!(
        kind(api!(host.mem_free(DevicePtr::NULL))),
        ErrorKind::InvalidValue
    );
    api!(host.mem_free(rows)).unwrap();
    assert_eq!(kind(api!(host.mem_free(rows))), ErrorKind::InvalidValue);
    api!(host.host_free(pinned)).unwrap();
}

#[cfg(debug_assertions)]
#[test]
fn a_write_past_the_end_is_reported_by_free() {
    let host = Host::new(1);
    let _current = enter(&host, 0);
    let memory = host.mem_alloc(100).unwrap();
    fill(&host, memory, 1, 101, None); // one too many, into the guard
    let error = api!(host.mem_free(memory)).unwrap_err();
    assert_eq!(
        (error.kind, error.code, error.call),
        (ErrorKind::IllegalAddress, 700, "mem_free")
    );
    assert!(
        error.text.contains("0 bytes past the end of 100 bytes"),
        "{}",
        error.text
    );
    assert_eq!(host.live().allocations, 0);
    let pinned = host.host_alloc(10, HostAllocFlags::empty()).unwrap();
    // SAFETY: the guard before the block is part of its allocation.
    unsafe { pinned.sub(1).write(0) };
    assert_eq!(
        kind(api!(host.host_free(pinned))),
        ErrorKind::IllegalAddress
    );
    assert_eq!(host.live().pinned, 0);
}

#[test]
fn sizes_and_strides_are_checked() {
    let host = Host::new(1);
    let _current = enter(&host, 0);
    let stream = new_stream(&host);
    let memory = host.mem_alloc(64).unwrap();
    fill(&host, memory, 0, 64, None);
    let mut pixels = [1u8, 2, 3, 4, 5, 6, 7, 8];
    let good = Memcpy2D {
        dst: CopyEnd::Device(memory),
        dst_stride: 8,
        src: CopyEnd::Host(pixels.as_mut_ptr()),
        src_stride: 4,
        width_bytes: 3,
        height: 2,
    };
    for on in [None, Some(stream), Some(StreamHandle::NULL)] {
        let copy = |copy: Memcpy2D| api!(host.memcpy_2d(&copy, on));
        assert_eq!(
            kind(copy(Memcpy2D {
                dst_stride: 2,
                ..good
            })),
            ErrorKind::InvalidValue
        );
        assert_eq!(
            kind(copy(Memcpy2D {
                src_stride: 2,
                ..good
            })),
            ErrorKind::InvalidValue
        );
        let nowhere = CopyEnd::Device(DevicePtr::NULL);
        assert_eq!(
            kind(copy(Memcpy2D {
                dst: nowhere,
                ..good
            })),
            ErrorKind::InvalidValue
        );
        copy(Memcpy2D {
            dst: nowhere,
            height: 0,
            ..good
        })
        .unwrap();
        copy(Memcpy2D {
            dst: nowhere,
            width_bytes: 0,
            ..good
        })
        .unwrap();
        copy(good).unwrap();
        let set = |stride| api!(host.memset_2d(memory, stride, 9, 3, 2, on));
        assert_eq!(kind(set(2)), ErrorKind::InvalidValue);
        api!(host.memset_2d(DevicePtr::NULL, 0, 9, 0, 2, on)).unwrap();
        api!(host.memcpy_htod(DevicePtr::NULL, std::ptr::null(), 0, on)).unwrap();
        api!(host.stream_synchronize(stream)).unwrap();
        assert_eq!(
            read(&host, memory, 12),
            [1, 2, 3, 0, 0, 0, 0, 0, 5, 6, 7, 0]
        );
        set(8).unwrap();
        api!(host.stream_synchronize(stream)).unwrap();
        assert_eq!(
            read(&host, memory, 12),
            [9, 9, 9, 0, 0, 0, 0, 0, 9, 9, 9, 0]
        );
    }
    let odd = api!(host.memset(memory.offset(2), MemsetValue::U32(1), 1, None));
    assert_eq!(kind(odd), ErrorKind::InvalidValue);
    api!(host.mem_free(memory)).unwrap();
}

#[test]
fn handles_of_others_and_of_the_dead_are_refused() {
    let host = Host::new(1);
    let _current = enter(&host, 0);
    let (stream, event) = (new_stream(&host), new_event(&host));
    let invalid = ErrorKind::InvalidHandle;
    // A stream is no event, and the other way round.
    let swapped = (
        StreamHandle::from_raw(event.as_raw()),
        EventHandle::from_raw(stream.as_raw()),
    );
    assert_eq!(kind(api!(host.stream_synchronize(swapped.0))), invalid);
    assert_eq!(kind(api!(host.stream_destroy(swapped.0))), invalid);
    assert_eq!(kind(api!(host.event_synchronize(swapped.1))), invalid);
    assert_eq!(kind(api!(host.event_destroy(swapped.1))), invalid);
    assert_eq!(
        kind(api!(host.stream_wait_event(stream, swapped.1))),
        invalid
    );
    assert_eq!(kind(api!(host.event_record(event, swapped.0))), invalid);
    assert_eq!(
        kind(api!(
            host.module_unload(ModuleHandle::from_raw(stream.as_raw()))
        )),
        invalid
    );
    assert_eq!(kind(api!(host.event_query(EventHandle::NULL))), invalid);
    assert_eq!(kind(api!(host.stream_destroy(StreamHandle::NULL))), invalid);
    // Another backend's.
    let other = Host::new(1);
    {
        let _other = enter(&other, 0);
        assert_eq!(kind(api!(other.stream_synchronize(stream))), invalid);
    }
    api!(host.stream_destroy(stream)).unwrap();
    api!(host.event_destroy(event)).unwrap();
    assert_eq!(kind(api!(host.stream_destroy(stream))), invalid);
    assert_eq!(kind(api!(host.event_destroy(event))), invalid);
    let set = api!(host.memset(DevicePtr(64), MemsetValue::U8(0), 0, Some(stream)));
    assert_eq!(kind(set), invalid);
    let config = LaunchConfig {
        grid_dim: [1; 3],
        block_dim: [1; 3],
        shared_mem_bytes: 0,
    };
    let function = crate::FunctionHandle::from_raw(stream.as_raw());
    let launch = api!(host.launch_kernel(function, &config, stream, &mut []));
    assert_eq!(kind(launch), invalid);
}

#[test]
fn the_device_describes_itself() {
    let host = Host::new(3);
    assert_eq!(host.vendor(), Vendor::Host);
    assert_eq!(host.device_count().unwrap(), 3);
    assert_eq!(Host::new(0).device_count().unwrap(), 1);
    assert_eq!(host.image_kind(), ImageKind::Host);
    assert!(host.libraries().is_empty() && host.missing_symbols().is_empty());
    assert!(host.versions().unwrap().driver > 0);
    assert_eq!(kind(host.device_info(3)), ErrorKind::InvalidDevice);
    let info = host.device_info(2).unwrap();
    assert_eq!(
        (info.vendor, info.ordinal, info.warp_size),
        (Vendor::Host, 2, 1)
    );
    assert!(!info.name.is_empty() && info.multiprocessors > 0);
    assert!(info.integrated && info.limits.host_addressable);
    assert!(info.pci_address.is_none() && info.uuid.is_none());
    if cfg!(target_arch = "x86_64") {
        assert!(
            info.architecture.starts_with("x86-64"),
            "{}",
            info.architecture
        );
    }
    if cfg!(target_os = "linux") {
        assert!(info.total_memory > 0);
    }
}
