//! CPU maps: what they show, what they wait for, and what they refuse.

use crate::common;
use crate::common::{
    DEVICE_WAYS, Gate, WAYS, Way, alloc, cpu_read, cpu_write, device_copy, ours, pattern,
    test_device,
};
use gst_hip::{Error, HipAllocator, HipMemoryRef, MAP_HIP, MemoryKind, Stream};

const SIZE: usize = 5000;

#[test]
fn what_the_cpu_writes_comes_back_through_the_device() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    for way in DEVICE_WAYS {
        for size in [1, 3, 255, 256, 4096, 1_000_003] {
            let bytes = pattern(size, 1);
            let mut first = alloc(&device, way, size);
            let second = alloc(&device, way, size);
            cpu_write(&mut first, &bytes);
            assert!(
                cpu_read(&first) == bytes,
                "{way:?}: before the device had it"
            );
            common::device_copy(&second, &first, &stream);
            assert!(cpu_read(&second) == bytes, "{way:?}: through the device");
            assert!(
                cpu_read(&first) == bytes,
                "{way:?}: the source is as it was"
            );
        }
    }
}

#[test]
fn pinned_memory_is_uploaded_and_downloaded_by_copies() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    for way in DEVICE_WAYS {
        let bytes = pattern(SIZE, 2);
        let mut source = alloc(&device, Way::Pinned, SIZE);
        let (middle, target) = (alloc(&device, way, SIZE), alloc(&device, Way::Pinned, SIZE));
        cpu_write(&mut source, &bytes);
        common::device_copy(&middle, &source, &stream);
        common::device_copy(&target, &middle, &stream);
        assert!(cpu_read(&target) == bytes);
    }
}

#[test]
fn a_write_map_keeps_what_it_does_not_write() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    for way in DEVICE_WAYS {
        let mut memory = alloc(&device, way, SIZE);
        common::device_fill(&memory, &stream, 7);
        memory.get_mut().unwrap().map_writable().unwrap()[10] = 99;
        let copy = alloc(&device, way, SIZE);
        common::device_copy(&copy, &memory, &stream);
        let mut expected = vec![7; SIZE];
        expected[10] = 99;
        assert!(cpu_read(&copy) == expected, "{way:?}");
    }
}

fn resize(memory: &mut gst::Memory, offset: isize, size: usize) {
    let raw = memory.get_mut().expect("the only reference").as_mut_ptr();
    // SAFETY: the memory is alive and borrowed mutably.
    unsafe { gst::ffi::gst_memory_resize(raw, offset, size) };
}

#[test]
fn a_partial_device_write_keeps_what_the_cpu_wrote() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    for way in DEVICE_WAYS {
        let mut memory = alloc(&device, way, SIZE);
        cpu_write(&mut memory, &[1; SIZE]);
        resize(&mut memory, 100, 50);
        let access = ours(&memory).begin_overwrite(&stream).unwrap();
        common::enqueue_fill(&access, &stream, 2);
        drop(access);
        resize(&mut memory, -100, SIZE);
        let mut expected = vec![1; SIZE];
        expected[100..150].fill(2);
        assert!(cpu_read(&memory) == expected, "{way:?}");
    }
}

#[test]
fn a_read_map_waits_for_the_write_and_not_for_readers() {
    let Some(device) = test_device() else { return };
    let (writer, reader) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    for way in DEVICE_WAYS {
        let (memory, sink) = (alloc(&device, way, SIZE), alloc(&device, way, SIZE));
        let gate = Gate::close(&writer);
        common::device_fill(&memory, &writer, 3);
        let waited = common::waits_for_gate(gate, || assert!(cpu_read(&memory) == [3; SIZE]));
        assert!(waited, "{way:?}: the read map did not wait for the write");
        let gate = Gate::close(&reader);
        common::device_copy(&sink, &memory, &reader);
        // Returns although the reader cannot be done.
        assert!(cpu_read(&memory) == [3; SIZE]);
        assert!(!reader.is_idle().unwrap());
        gate.open();
    }
}

#[test]
fn a_write_map_waits_for_readers() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    for way in WAYS {
        let mut memory = alloc(&device, way, SIZE);
        let sink = alloc(&device, Way::Device, SIZE);
        cpu_write(&mut memory, &[4; SIZE]);
        let gate = Gate::close(&stream);
        common::device_copy(&sink, &memory, &stream);
        assert!(
            common::waits_for_gate(gate, || cpu_write(&mut memory, &[5; SIZE])),
            "{way:?}"
        );
        assert!(cpu_read(&sink) == [4; SIZE], "{way:?}");
        assert!(cpu_read(&memory) == [5; SIZE], "{way:?}");
    }
}

/// A map by GStreamer's own call, with flags that the bindings do not offer.
struct RawMap(*mut gst::ffi::GstMemory, gst::ffi::GstMapInfo);

impl RawMap {
    fn new(memory: &mut gst::Memory, flags: gst::ffi::GstMapFlags) -> RawMap {
        let raw = memory.as_mut_ptr();
        let mut info = std::mem::MaybeUninit::uninit();
        // SAFETY: the memory is alive; the info is filled in where the map succeeds.
        unsafe {
            assert_ne!(gst::ffi::gst_memory_map(raw, info.as_mut_ptr(), flags), 0);
            RawMap(raw, info.assume_init())
        }
    }

    fn memory(&self) -> &gst::MemoryRef {
        // SAFETY: the tests keep the memory longer than the map.
        unsafe { gst::MemoryRef::from_ptr(self.0) }
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: mapped for writing, as long as the info says.
        unsafe { std::slice::from_raw_parts_mut(self.1.data, self.1.size) }
    }
}

impl Drop for RawMap {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, unmapped once.
        unsafe { gst::ffi::gst_memory_unmap(self.0, &mut self.1) }
    }
}

/// As libav's decoders do: the frame stays mapped to read and write while it is pushed, uploaded
/// and copied.
#[test]
fn others_read_what_is_mapped_to_read_and_write() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    for way in WAYS {
        let mut memory = alloc(&device, way, SIZE);
        let sink = alloc(&device, Way::Device, SIZE);
        let mut map = RawMap::new(&mut memory, gst::ffi::GST_MAP_READWRITE);
        map.bytes().fill(3);
        let copy = map.memory().copy();
        assert!(cpu_read(&copy) == [3; SIZE], "{way:?}: a deep copy");
        device_copy(&sink, map.memory(), &stream);
        assert!(cpu_read(&sink) == [3; SIZE], "{way:?}: a device read");
        let refused = ours(map.memory()).begin_write(&stream);
        assert!(
            matches!(refused, Err(Error::Busy(_))),
            "{way:?}: a device write"
        );
        // Written once more before the map ends: that is what counts afterwards.
        stream.synchronize().unwrap();
        map.bytes().fill(4);
        drop(map);
        device_copy(&sink, &memory, &stream);
        assert!(cpu_read(&sink) == [4; SIZE], "{way:?}: after the map");
    }
}

/// The upload of what such a map wrote last would overtake a reader that is still enqueueing.
#[test]
fn an_upload_does_not_race_with_an_open_read() {
    let Some(device) = test_device() else { return };
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let mut memory = alloc(&device, Way::Staged, SIZE);
    let mut map = RawMap::new(&mut memory, gst::ffi::GST_MAP_READWRITE);
    map.bytes().fill(3);
    let open = ours(map.memory()).begin_read(&stream).unwrap();
    drop(map);
    let refused = ours(&memory).begin_read(&other);
    assert!(matches!(refused, Err(Error::Busy(_))));
    open.finish(&stream.record().unwrap()).unwrap();
    drop(ours(&memory).begin_read(&other).unwrap());
}

#[test]
fn maps_and_accesses_that_would_race_are_refused_at_once() {
    let Some(device) = test_device() else { return };
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let busy = |result: gst_hip::Result<_>| matches!(result, Err(Error::Busy(_)));
    for way in WAYS {
        let mut memory = alloc(&device, way, SIZE);
        let map = RawMap::new(&mut memory, gst::ffi::GST_MAP_WRITE);
        let mapped = ours(map.memory());
        assert!(
            busy(mapped.begin_read(&stream)),
            "{way:?}: read under a map that only writes"
        );
        assert!(
            busy(mapped.begin_write(&stream)),
            "{way:?}: write under a write map"
        );
        drop(map);
        let map = memory.map_readable().unwrap();
        drop(ours(&memory).begin_read(&stream).unwrap());
        assert!(
            busy(ours(&memory).begin_write(&stream)),
            "{way:?}: write under a read map"
        );
        assert!(memory.map_readable().is_ok(), "{way:?}: read maps nest");
        drop(map);

        let reading = ours(&memory).begin_read(&stream).unwrap();
        assert!(
            memory.map_readable().is_ok(),
            "{way:?}: read map beside a reader"
        );
        drop(ours(&memory).begin_read(&other).unwrap());
        assert!(
            busy(ours(&memory).begin_write(&other)),
            "{way:?}: write beside a reader"
        );
        drop(ours(&memory).begin_write(&stream).unwrap()); // one stream is in order
        assert!(memory.get_mut().unwrap().map_writable().is_err(), "{way:?}");
        drop(reading);

        let writing = ours(&memory).begin_write(&stream).unwrap();
        assert!(
            memory.map_readable().is_err(),
            "{way:?}: read map beside a writer"
        );
        assert!(
            busy(ours(&memory).begin_read(&other)),
            "{way:?}: read beside a writer"
        );
        drop(writing);
        assert!(
            memory.map_readable().is_ok(),
            "{way:?}: nothing is left open"
        );
        assert!(
            memory.get_mut().unwrap().map_writable().is_ok(),
            "{way:?}: nor here"
        );
    }
}

#[test]
fn maps_through_parent_and_part_do_not_race() {
    let Some(device) = test_device() else { return };
    for way in WAYS {
        let mut memory = alloc(&device, way, SIZE);
        cpu_write(&mut memory, &[0; SIZE]);
        let part = memory.share(100..200);
        let map = part.map_readable().unwrap();
        assert_eq!(map.len(), 100);
        assert!(memory.map_readable().is_ok(), "{way:?}: readers of both");
        let mut info = std::mem::MaybeUninit::uninit();
        let raw = memory.as_mut_ptr();
        // SAFETY: the memory is alive; a refused map fills in nothing that is used.
        let mapped =
            unsafe { gst::ffi::gst_memory_map(raw, info.as_mut_ptr(), gst::ffi::GST_MAP_WRITE) };
        assert_eq!(
            mapped, 0,
            "{way:?}: a write map of the whole beside a read map of a part"
        );
        drop(map);
    }
}

#[test]
fn a_device_map_gives_the_device_address_and_an_event() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    for way in DEVICE_WAYS {
        let mut memory = alloc(&device, way, SIZE);
        cpu_write(&mut memory, &[1; SIZE]);
        let address = ours(&memory).begin_read(&stream).unwrap().device_ptr();
        let mut info = std::mem::MaybeUninit::uninit();
        let flags = gst::ffi::GST_MAP_READWRITE | MAP_HIP;
        // SAFETY: the memory is alive and `info` is filled in by a map that succeeds.
        let mapped =
            unsafe { gst::ffi::gst_memory_map(memory.as_mut_ptr(), info.as_mut_ptr(), flags) };
        assert_ne!(mapped, 0, "{way:?}");
        // SAFETY: the map succeeded.
        let mut info = unsafe { info.assume_init() };
        assert_eq!(info.data as u64, address.0, "{way:?}");
        // A second user of the same stream: its work is in order with the map.
        let gate = Gate::close(&ours(&memory).map_stream().unwrap());
        common::device_fill(&memory, &ours(&memory).map_stream().unwrap(), 8);
        // SAFETY: mapped above, unmapped once.
        unsafe { gst::ffi::gst_memory_unmap(memory.as_mut_ptr(), &mut info) };
        let waited = common::waits_for_gate(gate, || assert!(cpu_read(&memory) == [8; SIZE]));
        assert!(waited, "{way:?}: the unmap's event was not waited for");
    }
    let pinned = alloc(&device, Way::Pinned, SIZE);
    let mut info = std::mem::MaybeUninit::uninit();
    let flags = gst::ffi::GST_MAP_READ | MAP_HIP;
    // SAFETY: the memory is alive; a refused map fills in nothing that is used.
    let mapped = unsafe { gst::ffi::gst_memory_map(pinned.as_mut_ptr(), info.as_mut_ptr(), flags) };
    assert_eq!(mapped, 0, "pinned memory has no address on the device");
}

#[test]
fn one_cpu_map_waits_for_one_event() {
    for way in DEVICE_WAYS {
        // A device each: the other's memory may still be on its way out, and be waited for.
        let Some(device) = test_device() else { return };
        let stream = Stream::new(&device).unwrap();
        let memory = alloc(&device, way, SIZE);
        common::device_fill(&memory, &stream, 1);
        let before = device.statistics();
        cpu_read(&memory);
        let after = device.statistics();
        assert_eq!(after.event_waits - before.event_waits, 1, "{way:?}");
        assert_eq!(after.stream_waits, before.stream_waits, "{way:?}");
        cpu_read(&memory);
        let again = device.statistics();
        assert_eq!(
            again.copies_dtoh, after.copies_dtoh,
            "{way:?}: downloaded twice"
        );
    }
}

#[test]
fn nothing_of_0_bytes_and_nothing_foreign() {
    let Some(device) = test_device() else { return };
    assert!(HipAllocator::alloc_device(&device, 0).is_err());
    assert!(HipAllocator::alloc_pinned(&device, 0).is_err());
    use gst::prelude::*;
    // The allocator alone does not know a device.
    assert!(HipAllocator::get().alloc(16, None).is_err());
    assert!(HipMemoryRef::from_memory(&gst::Memory::with_size(16)).is_none());
    assert!(HipMemoryRef::from_memory(&gst::Memory::from_slice([0; 16])).is_none());
    let memory = alloc(&device, Way::Device, 16);
    assert_eq!(
        (ours(&memory).len(), ours(&memory).kind()),
        (16, MemoryKind::Device)
    );
    assert_eq!(*ours(&memory).device(), device);
}

#[test]
fn another_device_is_refused() {
    let (Some(device), Some(other)) = (test_device(), test_device()) else {
        return;
    };
    let stream = Stream::new(&other).unwrap();
    for way in WAYS {
        let memory = alloc(&device, way, SIZE);
        let error = ours(&memory).begin_read(&stream).unwrap_err();
        assert!(
            matches!(error, Error::WrongDevice { .. }),
            "{way:?}: {error}"
        );
        // The refusal leaves nothing open.
        assert!(memory.map_readable().is_ok());
    }
}
