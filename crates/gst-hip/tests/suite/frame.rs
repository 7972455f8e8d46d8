//! What a buffer must be to be a frame of the device's.

use crate::common;
use crate::common::{Way, alloc, ours, test_device};
use gst_hip::{DeviceFrame, Error, FrameError, FrameLayout, MemoryKind, PlaneEnd, Stream};
use gst_video::{VideoFormat, VideoFrameFlags, VideoInfo, VideoMeta};

fn i420(width: u32, height: u32) -> VideoInfo {
    VideoInfo::builder(VideoFormat::I420, width, height)
        .build()
        .unwrap()
}

fn buffer_of(memories: impl IntoIterator<Item = gst::Memory>) -> gst::Buffer {
    let mut buffer = gst::Buffer::new();
    let writable = buffer.get_mut().unwrap();
    memories
        .into_iter()
        .for_each(|memory| writable.append_memory(memory));
    buffer
}

fn add_meta(buffer: &mut gst::Buffer, info: &VideoInfo, offsets: &[usize], strides: &[i32]) {
    let (format, width, height) = (info.format(), info.width(), info.height());
    let (buffer, flags) = (buffer.get_mut().unwrap(), VideoFrameFlags::empty());
    VideoMeta::add_full(buffer, flags, format, width, height, offsets, strides).unwrap();
}

#[test]
fn a_memory_a_plane_works_and_each_is_ordered() {
    let Some(device) = test_device() else { return };
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let info = i420(17, 5);
    // Strides of 32; the last memory ends with its last sample.
    let memories = [160, 96, 2 * 32 + 9].map(|size| alloc(&device, Way::Device, size));
    let bases = memories
        .each_ref()
        .map(|m| ours(m).begin_read(&stream).unwrap().device_ptr());
    let mut buffer = buffer_of(memories);
    add_meta(&mut buffer, &info, &[0, 160, 256], &[32; 3]);
    let frame = DeviceFrame::write(buffer.get_mut().unwrap(), &info, &stream).unwrap();
    let planes: Vec<_> = frame
        .planes()
        .iter()
        .map(|p| (p.ptr, p.width, p.height))
        .collect();
    assert_eq!(
        planes,
        [(bases[0], 17, 5), (bases[1], 9, 3), (bases[2], 9, 3)]
    );
    // Every memory is open on the frame's stream.
    for memory in buffer.iter_memories() {
        assert!(matches!(
            ours(memory).begin_read(&other),
            Err(Error::Busy(_))
        ));
    }
    frame.finish(&stream.record().unwrap()).unwrap();
    for memory in buffer.iter_memories() {
        assert!(ours(memory).begin_read(&other).is_ok());
    }
}

#[test]
fn without_a_meta_the_caps_say_where_planes_are() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let info = i420(17, 5);
    let buffer = buffer_of([alloc(&device, Way::Device, info.size())]);
    let base = ours(buffer.peek_memory(0))
        .begin_read(&stream)
        .unwrap()
        .device_ptr();
    let frame = DeviceFrame::read(&buffer, &info, &stream).unwrap();
    for (plane, found) in frame.planes().iter().enumerate() {
        assert_eq!(found.ptr, base.offset(info.offset()[plane]));
        assert_eq!(found.stride, info.stride()[plane] as usize);
    }
}

#[test]
fn planes_outside_their_memory_are_refused() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let info = i420(16, 16);
    let refused = |buffer: &gst::Buffer| match DeviceFrame::read(buffer, &info, &stream) {
        Err(FrameError::OutOfRange { plane, .. }) => plane,
        other => panic!("{other:?}"),
    };
    // The last plane's last row: 7 rows of 8 bytes and 8 samples, from 320 on.
    let mut exact = buffer_of([alloc(&device, Way::Device, 384)]);
    add_meta(&mut exact, &info, &[0, 256, 320], &[16, 8, 8]);
    assert!(DeviceFrame::read(&exact, &info, &stream).is_ok());
    let mut short = buffer_of([alloc(&device, Way::Device, 383)]);
    add_meta(&mut short, &info, &[0, 256, 320], &[16, 8, 8]);
    assert_eq!(refused(&short), 2);
    // Long enough together, but a plane lies across two memories.
    let halves = [300, 300].map(|size| alloc(&device, Way::Device, size));
    let mut across = buffer_of(halves);
    add_meta(&mut across, &info, &[0, 256, 320], &[16, 8, 8]);
    assert_eq!(refused(&across), 1);
    let mut beyond = buffer_of([alloc(&device, Way::Device, 384)]);
    add_meta(&mut beyond, &info, &[0, 256, usize::MAX - 4], &[16, 8, 8]);
    assert_eq!(refused(&beyond), 2);
}

#[test]
fn strides_that_overlap_or_go_back_are_refused() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let info = i420(16, 16);
    for strides in [[15, 8, 8], [16, 8, 7], [-16, 8, 8], [16, 0, 8]] {
        let mut buffer = buffer_of([alloc(&device, Way::Device, 4096)]);
        add_meta(&mut buffer, &info, &[0, 256, 320], &strides);
        let error = DeviceFrame::read(&buffer, &info, &stream).unwrap_err();
        assert!(
            matches!(error, FrameError::Stride { .. }),
            "{strides:?}: {error}"
        );
    }
}

#[test]
fn foreign_mixed_and_missing_memory_is_refused() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let info = i420(16, 16);
    let read = |buffer: &gst::Buffer| DeviceFrame::read(buffer, &info, &stream).unwrap_err();
    let error = read(&buffer_of([gst::Memory::with_size(384)]));
    assert!(
        matches!(error, FrameError::NotHipMemory { index: 0 }),
        "{error}"
    );
    let mixed = [
        alloc(&device, Way::Device, 256),
        gst::Memory::with_size(128),
    ];
    let error = read(&buffer_of(mixed));
    assert!(
        matches!(error, FrameError::NotHipMemory { index: 1 }),
        "{error}"
    );
    let error = read(&gst::Buffer::new());
    assert!(matches!(error, FrameError::MemoryCount(0)), "{error}");
    let many = [256, 32, 32, 32, 32].map(|size| alloc(&device, Way::Device, size));
    assert!(matches!(read(&buffer_of(many)), FrameError::MemoryCount(5)));
    let mut other = buffer_of([alloc(&device, Way::Device, 4096)]);
    let nv12 = VideoInfo::builder(VideoFormat::Nv12, 16, 16)
        .build()
        .unwrap();
    add_meta(&mut other, &nv12, &[0, 256], &[16, 16]);
    assert!(matches!(read(&other), FrameError::Format { .. }));
}

#[test]
fn a_failed_open_leaves_nothing_open() {
    let Some(device) = test_device() else { return };
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let info = i420(16, 16);
    let mut mixed = buffer_of([
        alloc(&device, Way::Device, 256),
        gst::Memory::with_size(128),
    ]);
    assert!(DeviceFrame::write(mixed.get_mut().unwrap(), &info, &stream).is_err());
    assert!(ours(mixed.peek_memory(0)).begin_write(&other).is_ok());
}

#[test]
fn another_devices_frame_is_refused() {
    let (Some(device), Some(other)) = (test_device(), test_device()) else {
        return;
    };
    let stream = Stream::new(&other).unwrap();
    let info = i420(16, 16);
    let buffer = buffer_of([alloc(&device, Way::Device, info.size())]);
    let error = DeviceFrame::read(&buffer, &info, &stream).unwrap_err();
    assert!(
        matches!(error, FrameError::Access(Error::WrongDevice { .. })),
        "{error}"
    );
}

#[test]
fn pinned_frames_are_for_copies_only() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let info = i420(16, 16);
    let layout = FrameLayout::new(&info, 64).unwrap();
    let mut buffer = buffer_of([alloc(&device, Way::Pinned, layout.size())]);
    layout.add_video_meta(buffer.get_mut().unwrap()).unwrap();
    let error = DeviceFrame::read(&buffer, &info, &stream).unwrap_err();
    assert!(
        matches!(error, FrameError::NotOnDevice { index: 0 }),
        "{error}"
    );
    let base = ours(buffer.peek_memory(0))
        .begin_read(&stream)
        .unwrap()
        .host_ptr();
    let frame = DeviceFrame::write_for_copy(buffer.get_mut().unwrap(), &info, &stream).unwrap();
    for (plane, found) in frame.planes().iter().enumerate() {
        assert_eq!(found.kind, MemoryKind::Pinned);
        let PlaneEnd::Host(ptr) = found.end() else {
            panic!("{found:?}")
        };
        assert_eq!(ptr, base.wrapping_add(layout.offsets()[plane]));
    }
}

#[test]
fn cpu_and_device_agree_on_every_row() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let info = i420(321, 17);
    let layout = FrameLayout::new(&info, device.info().limits.pitch_alignment).unwrap();
    for way in common::DEVICE_WAYS {
        let mut buffer = buffer_of([alloc(&device, way, layout.size())]);
        layout.add_video_meta(buffer.get_mut().unwrap()).unwrap();
        let mut frame =
            gst_video::VideoFrame::from_buffer_writable(buffer, &info).expect("a CPU frame");
        for plane in 0..3 {
            frame.plane_data_mut(plane).unwrap().fill(10 + plane as u8);
        }
        let buffer = frame.into_buffer();
        // Row by row through the device into pinned memory without padding.
        let frame = DeviceFrame::read(&buffer, &info, &stream).unwrap();
        for (index, plane) in frame.planes().iter().enumerate() {
            let rows = plane.height as usize;
            let target = alloc(&device, Way::Pinned, plane.row_bytes * rows);
            let access = ours(&target).begin_overwrite(&stream).unwrap();
            let copy = gst_hip::Copy2D {
                dst: access.end(),
                dst_stride: plane.row_bytes,
                src: plane.end(),
                src_stride: plane.stride,
                width_bytes: plane.row_bytes,
                height: rows,
            };
            // SAFETY: frame and access vouch for both sides while the copy is enqueued; their
            // events keep the memory alive.
            unsafe { stream.copy_2d_raw(&copy) }.unwrap();
            drop(access);
            assert!(
                common::cpu_read(&target)
                    .iter()
                    .all(|byte| *byte == 10 + index as u8)
            );
        }
    }
}
