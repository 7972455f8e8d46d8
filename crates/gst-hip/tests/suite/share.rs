//! Deep copies, windows on one allocation, and buffers that several branches hold.

use crate::common;
use std::sync::{Arc, Mutex};

use crate::common::{Gate, WAYS, Way, alloc, cpu_read, cpu_write, ours, pattern, test_device};
use gst::prelude::*;
use gst_hip::{DeviceFrame, FrameError, FrameLayout, HipAllocator, MemoryKind, Stream};
use gst_video::{VideoFormat, VideoInfo};

const SIZE: usize = 5000;

#[test]
fn a_deep_copy_is_of_the_same_kind_and_on_its_own() {
    let Some(device) = test_device() else { return };
    for way in WAYS {
        let bytes = pattern(SIZE, 3);
        let mut memory = alloc(&device, way, SIZE);
        cpu_write(&mut memory, &bytes);
        let before = device.statistics();
        let whole = memory.copy();
        let part = memory.copy_range(1000..1100);
        let after = device.statistics();
        let on_device = u64::from(way != Way::Pinned) * 2;
        assert_eq!(after.copies_dtod - before.copies_dtod, on_device, "{way:?}");
        cpu_write(&mut memory, &[0; SIZE]);
        assert_eq!(ours(&whole).kind(), ours(&memory).kind());
        assert_eq!(
            ours(&whole).is_host_addressable(),
            ours(&memory).is_host_addressable()
        );
        assert!(!ours(&whole).shares_allocation(&ours(&memory)));
        assert!(cpu_read(&whole) == bytes, "{way:?}");
        assert!(cpu_read(&part) == bytes[1000..1100], "{way:?}");
    }
}

#[test]
fn a_deep_copy_comes_after_the_writer_and_before_the_next() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    for way in common::DEVICE_WAYS {
        let memory = alloc(&device, way, SIZE);
        let gate = Gate::close(&stream);
        common::device_fill(&memory, &stream, 1);
        let copy = memory.copy();
        common::device_fill(&memory, &stream, 2);
        gate.open();
        assert!(cpu_read(&copy) == [1; SIZE], "{way:?}");
        assert!(cpu_read(&memory) == [2; SIZE], "{way:?}");
    }
}

#[test]
fn a_window_shows_its_part_and_is_read_only() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    for way in WAYS {
        let bytes = pattern(SIZE, 4);
        let mut memory = alloc(&device, way, SIZE);
        cpu_write(&mut memory, &bytes);
        let mut part = memory.share(100..300);
        let mut inner = part.share(50..);
        assert!(cpu_read(&part) == bytes[100..300], "{way:?}");
        assert!(cpu_read(&inner) == bytes[150..300], "{way:?}");
        assert_eq!(inner.parent().unwrap().as_ptr(), memory.as_ptr(), "{way:?}");
        assert!(ours(&inner).shares_allocation(&ours(&memory)));
        assert!(part.get_mut().unwrap().map_writable().is_err(), "{way:?}");
        assert!(inner.get_mut().unwrap().map_writable().is_err(), "{way:?}");
        if way != Way::Pinned {
            let base = ours(&memory).begin_read(&stream).unwrap().device_ptr();
            let access = ours(&inner).begin_read(&stream).unwrap();
            assert_eq!((access.device_ptr(), access.len()), (base.offset(150), 150));
        }
        // A window outlives the object it was made from.
        drop((memory, part));
        assert!(cpu_read(&inner) == bytes[150..300], "{way:?}");
        assert!(inner.copy().parent().is_none());
    }
}

#[test]
fn neighbouring_windows_are_a_span_and_others_are_not() {
    let Some(device) = test_device() else { return };
    let memory = alloc(&device, Way::Device, SIZE);
    let (a, b, c) = (
        memory.share(100..200),
        memory.share(200..300),
        memory.share(301..400),
    );
    assert_eq!(a.is_span(&b), Some(100));
    assert_eq!(b.is_span(&c), None);
    assert_eq!(b.is_span(&a), None);
    let other = alloc(&device, Way::Device, SIZE);
    assert_eq!(a.is_span(&other.share(200..300)), None);
}

#[test]
fn regions_of_a_buffer_share_and_merge_without_a_copy() {
    let Some(device) = test_device() else { return };
    for way in WAYS {
        let bytes = pattern(SIZE, 5);
        let mut memory = alloc(&device, way, SIZE);
        cpu_write(&mut memory, &bytes);
        let mut buffer = gst::Buffer::new();
        buffer.get_mut().unwrap().append_memory(memory);
        let region = |range| {
            buffer
                .copy_region(gst::BufferCopyFlags::MEMORY, range)
                .unwrap()
        };
        let (mut first, second) = (region(10..2000), region(2000..4000));
        assert!(ours(first.peek_memory(0)).shares_allocation(&ours(buffer.peek_memory(0))));
        first.append(second);
        let before = device.statistics();
        let map = first.map_readable().unwrap();
        assert_eq!(map.as_slice(), &bytes[10..4000], "{way:?}");
        drop(map);
        let after = device.statistics();
        assert_eq!(
            after.device_allocations, before.device_allocations,
            "{way:?}"
        );
        let deep = buffer.copy_deep().unwrap();
        assert!(!ours(deep.peek_memory(0)).shares_allocation(&ours(buffer.peek_memory(0))));
        assert_eq!(deep.map_readable().unwrap().as_slice(), bytes, "{way:?}");
    }
}

/// Pushes one buffer through `tee` and gives what came out of both its pads.
fn through_tee(buffer: gst::Buffer, caps: &gst::Caps) -> [gst::Buffer; 2] {
    let tee = gst::ElementFactory::make("tee").build().unwrap();
    let source = gst::Pad::builder(gst::PadDirection::Src)
        .name("source")
        .build();
    source.link(&tee.static_pad("sink").unwrap()).unwrap();
    let received = Arc::new(Mutex::new(Vec::new()));
    let sinks = ["one", "two"].map(|name| {
        let received = received.clone();
        let sink = gst::Pad::builder(gst::PadDirection::Sink)
            .name(name)
            .chain_function(move |_, _, buffer| {
                received.lock().unwrap().push(buffer);
                Ok(gst::FlowSuccess::Ok)
            })
            .build();
        tee.request_pad_simple("src_%u")
            .unwrap()
            .link(&sink)
            .unwrap();
        sink.set_active(true).unwrap();
        sink
    });
    source.set_active(true).unwrap();
    tee.set_state(gst::State::Playing).unwrap();
    assert!(source.push_event(gst::event::StreamStart::new("tee-test")));
    assert!(source.push_event(gst::event::Caps::new(caps)));
    assert!(
        source.push_event(gst::event::Segment::new(&gst::FormattedSegment::<
            gst::ClockTime,
        >::new()))
    );
    source.push(buffer).unwrap();
    tee.set_state(gst::State::Null).unwrap();
    drop(sinks);
    std::mem::take(&mut *received.lock().unwrap())
        .try_into()
        .unwrap()
}

#[test]
fn branches_of_a_tee_read_together_and_write_apart() {
    let Some(device) = test_device() else { return };
    let (left, right) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let info = VideoInfo::builder(VideoFormat::Gray8, 64, 64)
        .build()
        .unwrap();
    let layout = FrameLayout::new(&info, device.info().limits.pitch_alignment).unwrap();
    let memory = HipAllocator::alloc_video(&device, MemoryKind::Device, &layout).unwrap();
    common::device_fill(&memory, &left, 1);
    let mut buffer = gst::Buffer::new();
    buffer.get_mut().unwrap().append_memory(memory);
    layout.add_video_meta(buffer.get_mut().unwrap()).unwrap();
    let [mut one, two] = through_tee(buffer, &info.to_caps().unwrap());
    assert!(ours(one.peek_memory(0)).shares_allocation(&ours(two.peek_memory(0))));

    // Both read at once, on streams of their own.
    let frames = (
        DeviceFrame::read(&one, &info, &left),
        DeviceFrame::read(&two, &info, &right),
    );
    let (first, second) = (frames.0.unwrap(), frames.1.unwrap());
    assert_eq!(first.planes(), second.planes());
    second.finish(&right.record().unwrap()).unwrap();
    first.finish(&left.record().unwrap()).unwrap();

    // One branch wants to write: the memory is the other's too, so it needs a copy.
    let writable = one.make_mut();
    let error = DeviceFrame::write(writable, &info, &left).unwrap_err();
    assert!(
        matches!(error, FrameError::NotWritable { index: 0 }),
        "{error}"
    );
    let mut copy = one.copy_deep().unwrap();
    drop(one);
    let frame = DeviceFrame::write(copy.get_mut().unwrap(), &info, &left).unwrap();
    assert_eq!(
        frame.planes()[0].stride,
        layout.strides()[0] as usize,
        "the meta came along"
    );
    drop(frame);
    common::device_fill(copy.peek_memory(0), &left, 2);
    assert!(cpu_read(two.peek_memory(0)) == vec![1; layout.size()]);
    assert!(cpu_read(copy.peek_memory(0)) == vec![2; layout.size()]);
}
