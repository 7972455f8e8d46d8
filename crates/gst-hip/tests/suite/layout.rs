//! Layouts of the formats, against the table of formats and not against GStreamer.

use crate::common;
use gst_hip::{Device, DeviceFrame, FrameLayout, HipAllocator, MemoryKind, Stream};
use gst_video::prelude::*;
use gst_video::{VideoFieldOrder, VideoFormat, VideoFrame, VideoInfo, VideoInterlaceMode};

const SIDES: [u32; 11] = [1, 2, 3, 5, 15, 16, 17, 319, 321, 1079, 1081];

/// Bytes of a row and rows of each plane.
fn planes(format: VideoFormat, w: usize, h: usize) -> Vec<(usize, usize)> {
    let (cw, ch) = (w.div_ceil(2), h.div_ceil(2));
    match format {
        VideoFormat::Nv12 => vec![(w, h), (2 * cw, ch)],
        VideoFormat::I420 => vec![(w, h), (cw, ch), (cw, ch)],
        VideoFormat::P01010le => vec![(2 * w, h), (4 * cw, ch)],
        VideoFormat::Rgba | VideoFormat::Bgra => vec![(4 * w, h)],
        VideoFormat::Rgb => vec![(3 * w, h)],
        VideoFormat::Rgbp => vec![(w, h); 3],
        other => panic!("{other}"),
    }
}

const FORMATS: [VideoFormat; 7] = [
    VideoFormat::Nv12,
    VideoFormat::I420,
    VideoFormat::P01010le,
    VideoFormat::Rgba,
    VideoFormat::Bgra,
    VideoFormat::Rgb,
    VideoFormat::Rgbp,
];

fn info(format: VideoFormat, width: u32, height: u32) -> VideoInfo {
    VideoInfo::builder(format, width, height).build().unwrap()
}

fn check_layout(format: VideoFormat, width: u32, height: u32, pitch: usize) {
    let what = format!("{format} {width}x{height} at {pitch}");
    let layout = FrameLayout::new(&info(format, width, height), pitch).unwrap();
    let expected = planes(format, width as usize, height as usize);
    assert_eq!(layout.n_planes(), expected.len(), "{what}");
    let mut end = 0;
    for (plane, (row, rows)) in expected.into_iter().enumerate() {
        let (stride, offset) = (layout.strides()[plane] as usize, layout.offsets()[plane]);
        assert!(
            stride >= row && stride - row < pitch.max(4),
            "{what}: plane {plane}: {stride}"
        );
        assert!(
            stride % pitch == 0 && stride % 4 == 0,
            "{what}: plane {plane}: {stride}"
        );
        assert_eq!(offset, end_of(end), "{what}: plane {plane}");
        assert_eq!(
            layout.plane_heights()[plane] as usize,
            rows,
            "{what}: plane {plane}"
        );
        end = offset + stride * rows;
    }
    assert_eq!(layout.size(), end, "{what}");
    let info = layout.to_video_info();
    assert_eq!(
        (info.format(), info.width(), info.height()),
        (format, width, height)
    );
    assert_eq!(
        (info.offset(), info.stride()),
        (layout.offsets(), layout.strides())
    );
    assert_eq!(info.size(), end);
}

/// The next plane's start after a plane's end.
fn end_of(end: usize) -> usize {
    end.div_ceil(256) * 256
}

#[test]
fn planes_are_as_large_as_the_format_says() {
    gst::init().unwrap();
    for format in FORMATS {
        for width in SIDES {
            for height in SIDES {
                for pitch in [1, 32, 256, 512] {
                    check_layout(format, width, height, pitch);
                }
            }
        }
    }
}

#[test]
fn a_frame_shows_the_same_places_as_the_meta() {
    let Some(device) = common::test_device() else {
        return;
    };
    let stream = Stream::new(&device).unwrap();
    let pitch = device.info().limits.pitch_alignment;
    for format in FORMATS {
        for (width, height) in SIDES.into_iter().zip(SIDES.into_iter().rev()) {
            let info = info(format, width, height);
            let layout = FrameLayout::new(&info, pitch).unwrap();
            let memory = HipAllocator::alloc_video(&device, MemoryKind::Device, &layout).unwrap();
            let base = common::ours(&memory)
                .begin_read(&stream)
                .unwrap()
                .device_ptr();
            let mut buffer = gst::Buffer::new();
            let writable = buffer.get_mut().unwrap();
            writable.append_memory(memory);
            layout.add_video_meta(writable).unwrap();
            // The strides of the caps differ: the meta's count.
            let frame = DeviceFrame::read(&buffer, &info, &stream).unwrap();
            let expected = planes(format, width as usize, height as usize);
            assert_eq!(frame.planes().len(), expected.len());
            for (plane, (row, rows)) in expected.into_iter().enumerate() {
                let found = frame.planes()[plane];
                assert_eq!(
                    (found.row_bytes, found.height as usize),
                    (row, rows),
                    "{format}"
                );
                assert_eq!(found.ptr, base.offset(layout.offsets()[plane]), "{format}");
                assert_eq!(found.stride, layout.strides()[plane] as usize, "{format}");
            }
        }
    }
}

/// A buffer of the layout whose samples are `seed`'s; the padding is not touched.
fn filled(device: &Device, way: common::Way, layout: &FrameLayout, seed: usize) -> gst::Buffer {
    let mut buffer = gst::Buffer::new();
    let writable = buffer.get_mut().unwrap();
    writable.append_memory(common::alloc(device, way, layout.size()));
    layout.add_video_meta(writable).unwrap();
    let info = layout.to_video_info();
    let mut frame = VideoFrame::from_buffer_writable(buffer, &info).expect("a CPU frame");
    let shapes = planes(info.format(), info.width() as usize, info.height() as usize);
    for (plane, (row, rows)) in shapes.into_iter().enumerate() {
        let stride = frame.plane_stride()[plane] as usize;
        let samples = common::pattern(row * rows, seed + plane);
        let lines = frame
            .plane_data_mut(plane as u32)
            .unwrap()
            .chunks_mut(stride);
        lines
            .zip(samples.chunks(row))
            .for_each(|(to, from)| to[..row].copy_from_slice(from));
    }
    frame.into_buffer()
}

#[test]
fn frames_go_through_the_device_unchanged() {
    let Some(device) = common::test_device() else {
        return;
    };
    let stream = Stream::new(&device).unwrap();
    let pitch = device.info().limits.pitch_alignment;
    for format in FORMATS {
        for (width, height) in SIDES.into_iter().zip(SIDES.into_iter().rev()) {
            let layout = FrameLayout::new(&info(format, width, height), pitch).unwrap();
            for way in common::DEVICE_WAYS {
                let source = filled(&device, way, &layout, 1);
                let target = filled(&device, way, &layout, 2);
                common::device_copy(target.peek_memory(0), source.peek_memory(0), &stream);
                let frame = VideoFrame::from_buffer_readable(target, layout.video_info()).unwrap();
                let shapes = planes(format, width as usize, height as usize);
                for (plane, (row, rows)) in shapes.into_iter().enumerate() {
                    let stride = frame.plane_stride()[plane] as usize;
                    assert_eq!(stride, layout.strides()[plane] as usize);
                    let samples = common::pattern(row * rows, 1 + plane);
                    let lines = frame.plane_data(plane as u32).unwrap().chunks(stride);
                    let same = lines.zip(samples.chunks(row)).all(|(a, b)| a[..row] == *b);
                    assert!(same, "{format} {width}x{height} {way:?}: plane {plane}");
                }
            }
        }
    }
}

#[test]
fn interlacing_is_carried_and_has_whole_chroma_rows_a_field() {
    gst::init().unwrap();
    let info = VideoInfo::builder(VideoFormat::I420, 64, 6)
        .interlace_mode(VideoInterlaceMode::Interleaved)
        .field_order(VideoFieldOrder::BottomFieldFirst)
        .build()
        .unwrap();
    let layout = FrameLayout::new(&info, 32).unwrap();
    // Three chroma rows carry samples; two a field need four.
    assert_eq!(layout.plane_heights()[..], [6, 3, 3]);
    assert_eq!(
        layout.size(),
        layout.offsets()[2] + 4 * layout.strides()[2] as usize
    );
    assert_eq!(layout.offsets()[2] - layout.offsets()[1], 256);
    let info = layout.to_video_info();
    assert_eq!(info.interlace_mode(), VideoInterlaceMode::Interleaved);
    assert_eq!(info.field_order(), VideoFieldOrder::BottomFieldFirst);
}

#[test]
fn what_has_no_plain_planes_is_refused() {
    gst::init().unwrap();
    for format in [VideoFormat::Nv1264z32, VideoFormat::Rgb8p] {
        let error = FrameLayout::new(&info(format, 64, 64), 32).unwrap_err();
        assert!(
            error.to_string().contains(format.to_str().as_str()),
            "{error}"
        );
    }
    let error = FrameLayout::new(&info(VideoFormat::Rgba, 64, 64), 48).unwrap_err();
    assert!(error.to_string().contains("48"), "{error}");
    let error = FrameLayout::new(&info(VideoFormat::Rgba, 16384, 16384), 1 << 40).unwrap_err();
    assert!(error.to_string().contains("too large"), "{error}");
}
