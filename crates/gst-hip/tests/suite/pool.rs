//! Pools: configuration, reuse, order across reuse, and that nothing stays behind.

use crate::common;
use std::collections::HashSet;

use crate::common::{Gate, Way, alloc, cpu_read, live, ours, test_device};
use gst::prelude::*;
use gst_hip::{
    CAPS_FEATURE_MEMORY_HIP, Device, DeviceFrame, FrameLayout, HipBufferPool, MemoryKind, Stream,
};
use gst_video::prelude::*;
use gst_video::{VideoAlignment, VideoFormat, VideoInfo, VideoMeta};

fn info() -> VideoInfo {
    VideoInfo::builder(VideoFormat::I420, 321, 17)
        .fps((30, 1))
        .build()
        .unwrap()
}

fn caps(kind: MemoryKind) -> gst::Caps {
    let mut caps = info().to_caps().unwrap();
    if kind == MemoryKind::Device {
        let features = gst::CapsFeatures::new([CAPS_FEATURE_MEMORY_HIP]);
        caps.get_mut().unwrap().set_features(0, Some(features));
    }
    caps
}

fn active_pool(device: &Device, kind: MemoryKind, min: u32, max: u32) -> HipBufferPool {
    let pool = HipBufferPool::new(device, kind);
    pool.configure(&caps(kind), 0, min, max).unwrap();
    pool.set_active(true).unwrap();
    pool
}

#[test]
fn start_and_stop_leave_nothing_behind() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let before = live(&device);
    for kind in [MemoryKind::Device, MemoryKind::Pinned] {
        for _ in 0..3 {
            let pool = active_pool(&device, kind, 3, 0);
            let held = live(&device);
            assert_eq!(
                held[0] + held[2],
                before[0] + before[2] + 3,
                "min is made at the start"
            );
            let buffers: Vec<_> = (0..5).map(|_| pool.acquire_buffer(None).unwrap()).collect();
            for buffer in &buffers {
                drop(ours(buffer.peek_memory(0)).begin_write(&stream).unwrap());
                buffer.map_readable().unwrap();
            }
            drop(buffers);
            pool.set_active(false).unwrap();
            assert_eq!(pool.device().unwrap(), device);
            drop(pool);
            common::eventually("everything is freed", || live(&device) == before);
        }
    }
}

#[test]
fn buffers_are_reused_and_keep_their_meta() {
    let Some(device) = test_device() else { return };
    for kind in [MemoryKind::Device, MemoryKind::Pinned] {
        let pool = active_pool(&device, kind, 2, 2);
        let layout = FrameLayout::new(&info(), device.info().limits.pitch_alignment).unwrap();
        assert_eq!(pool.layout().unwrap(), layout);
        let (mut seen, before) = (HashSet::new(), device.statistics());
        for round in 0..10_u64 {
            let mut buffer = pool.acquire_buffer(None).unwrap();
            assert_eq!(buffer.size(), layout.size());
            assert_eq!(buffer.pts(), None);
            let meta = buffer.meta::<VideoMeta>().expect("the meta of the pool");
            assert_eq!(
                (meta.offset(), meta.stride()),
                (layout.offsets(), layout.strides())
            );
            assert_eq!(ours(buffer.peek_memory(0)).kind(), kind);
            seen.insert(buffer.peek_memory(0).as_ptr());
            let writable = buffer.get_mut().unwrap();
            writable.set_pts(gst::ClockTime::from_seconds(round));
            writable.set_size(100);
        }
        assert!(seen.len() <= 2, "{kind:?}: {} memories", seen.len());
        let after = device.statistics();
        assert_eq!(after.device_allocations, before.device_allocations);
        assert_eq!(after.pinned_allocations, before.pinned_allocations);
        pool.set_active(false).unwrap();
    }
}

#[test]
fn a_reused_buffer_is_overwritten_only_after_its_last_reader() {
    let Some(device) = test_device() else { return };
    let (reader, writer) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let pool = active_pool(&device, MemoryKind::Device, 1, 1);
    let buffer = pool.acquire_buffer(None).unwrap();
    let (size, address) = (buffer.size(), buffer.peek_memory(0).as_ptr());
    let sink = alloc(&device, Way::Device, size);
    common::device_fill(buffer.peek_memory(0), &reader, 1);
    let gate = Gate::close(&reader);
    common::device_copy(&sink, buffer.peek_memory(0), &reader);
    drop(buffer); // back to the pool while the device has yet to read it

    // The pool has one buffer: this thread gets it at once, nothing waits here.
    let before = device.statistics();
    let mut buffer = pool.acquire_buffer(None).unwrap();
    assert_eq!(buffer.peek_memory(0).as_ptr(), address);
    let frame = DeviceFrame::overwrite(buffer.get_mut().unwrap(), &info(), &writer).unwrap();
    drop(frame);
    common::device_fill(buffer.peek_memory(0), &writer, 2);
    assert_eq!(device.statistics().event_waits, before.event_waits);
    assert!(
        !writer.is_idle().unwrap(),
        "the writer did not wait for the reader"
    );
    gate.open();
    assert!(cpu_read(&sink) == vec![1; size]);
    assert!(cpu_read(buffer.peek_memory(0)) == vec![2; size]);
    drop(buffer);
    pool.set_active(false).unwrap();
}

#[test]
fn a_pool_stopped_with_work_in_flight_frees_after_it() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let before = live(&device);
    let pool = active_pool(&device, MemoryKind::Device, 2, 0);
    let buffer = pool.acquire_buffer(None).unwrap();
    let gate = Gate::close(&stream);
    common::device_fill(buffer.peek_memory(0), &stream, 1);
    drop(buffer);
    // Neither waits: freeing would, for the whole device, and so is done elsewhere.
    pool.set_active(false).unwrap();
    drop(pool);
    assert!(live(&device)[0] > before[0], "the buffer in use was freed");
    gate.open();
    common::eventually("everything is freed", || live(&device) == before);
}

#[test]
fn sizes_without_video_work_and_0_does_not() {
    let Some(device) = test_device() else { return };
    let caps = gst::Caps::new_empty_simple("application/x-tensor");
    for kind in [MemoryKind::Device, MemoryKind::Pinned] {
        let pool = HipBufferPool::new(&device, kind);
        assert!(pool.configure(&caps, 0, 1, 0).is_err());
        pool.configure(&caps, 1000, 1, 0).unwrap();
        assert!(pool.layout().is_none());
        pool.set_active(true).unwrap();
        let buffer = pool.acquire_buffer(None).unwrap();
        assert_eq!((buffer.size(), buffer.n_memory()), (1000, 1));
        assert!(buffer.meta::<VideoMeta>().is_none());
        drop(buffer);
        pool.set_active(false).unwrap();
        let mut config = pool.config();
        config.set_params(None, 77, 0, 0);
        pool.set_config(config).unwrap();
        pool.set_active(true).unwrap();
        assert_eq!(pool.acquire_buffer(None).unwrap().size(), 77);
        pool.set_active(false).unwrap();
    }
}

#[test]
fn the_size_is_raised_to_the_layouts_and_more_is_kept() {
    let Some(device) = test_device() else { return };
    let pool = HipBufferPool::new(&device, MemoryKind::Device);
    let least = FrameLayout::new(&info(), device.info().limits.pitch_alignment)
        .unwrap()
        .size();
    for (asked, expected) in [(1, least), (least + 500, least + 500)] {
        pool.configure(&caps(MemoryKind::Device), asked as u32, 0, 0)
            .unwrap();
        let (_, size, _, _) = pool.config().params().unwrap();
        assert_eq!(size as usize, expected);
        pool.set_active(true).unwrap();
        assert_eq!(pool.acquire_buffer(None).unwrap().size(), expected);
        pool.set_active(false).unwrap();
    }
}

#[test]
fn pinned_buffers_without_the_meta_option_have_gstreamers_layout() {
    let Some(device) = test_device() else { return };
    let pool = HipBufferPool::new(&device, MemoryKind::Pinned);
    let mut config = pool.config();
    config.set_params(Some(&caps(MemoryKind::Pinned)), 0, 0, 0);
    pool.set_config(config).unwrap();
    pool.set_active(true).unwrap();
    let buffer = pool.acquire_buffer(None).unwrap();
    assert!(buffer.meta::<VideoMeta>().is_none());
    assert_eq!(buffer.size(), info().size());
    assert_eq!(pool.layout().unwrap().strides(), info().stride());
    drop(buffer);
    pool.set_active(false).unwrap();
}

#[test]
fn pinned_buffers_take_a_decoders_padding() {
    let Some(device) = test_device() else { return };
    let pool = HipBufferPool::new(&device, MemoryKind::Pinned);
    for option in pool.options() {
        assert!(pool.has_option(&option));
    }
    let mut config = pool.config();
    config.set_params(Some(&caps(MemoryKind::Pinned)), 0, 0, 0);
    config.add_option(gst_video::BUFFER_POOL_OPTION_VIDEO_META.as_str());
    config.add_option(gst_video::BUFFER_POOL_OPTION_VIDEO_ALIGNMENT.as_str());
    config.set_video_alignment(&VideoAlignment::new(16, 15, 32, 31, &[31; 4]));
    pool.set_config(config).unwrap();
    pool.set_active(true).unwrap();
    let buffer = pool.acquire_buffer(None).unwrap();
    let meta = buffer.meta::<VideoMeta>().unwrap();
    assert!(
        meta.stride().iter().all(|stride| stride % 32 == 0),
        "{meta:?}"
    );
    assert!(meta.stride()[0] >= 32 + 321 + 31);
    // GStreamer pads the left more, so that chroma rows are aligned too: 64 samples, not 32. The
    // meta says so, and planes start after it and after 16 rows.
    let alignment = meta.alignment();
    assert_eq!(
        (alignment.padding_top(), alignment.padding_left()),
        (16, 64)
    );
    assert_eq!(meta.offset()[0], 16 * meta.stride()[0] as usize + 64);
    assert!(buffer.size() >= (16 + 17 + 15) * meta.stride()[0] as usize);
    drop(buffer);
    pool.set_active(false).unwrap();
}

#[test]
fn caps_without_a_layout_are_refused() {
    let Some(device) = test_device() else { return };
    let pool = HipBufferPool::new(&device, MemoryKind::Device);
    for caps in [
        "video/x-raw,format=RGBA",
        "video/x-raw,format=RGB8P,width=4,height=4",
    ] {
        let caps: gst::Caps = caps.parse().unwrap();
        assert!(pool.configure(&caps, 4096, 0, 0).is_err(), "{caps}");
    }
}
