//! What is refused, and before anything is enqueued.

use hip_core::{DeviceBuffer, Stream};
use hip_video::{
    Converter, ConverterConfig, Error, FrameDescription, FrameView, FrameViewMut, Orientation,
    PixelFormat, PlaneView, Rect,
};

use crate::lab::Lab;

fn config(input: PixelFormat, output: PixelFormat) -> ConverterConfig {
    ConverterConfig::new(
        FrameDescription::new(input, 16, 8),
        FrameDescription::new(output, 16, 8),
    )
}

#[test]
fn impossible_sizes_and_rectangles() {
    let Some(lab) = Lab::open() else { return };
    let mut large = config(PixelFormat::Rgba, PixelFormat::Nv12);
    large.output.width = 16385;
    let refused = Converter::new(&lab.device, &large);
    assert!(matches!(
        refused,
        Err(Error::UnsupportedSize {
            width: 16385,
            height: 8
        })
    ));
    let mut empty = config(PixelFormat::Rgba, PixelFormat::Nv12);
    empty.input.height = 0;
    assert!(matches!(
        Converter::new(&lab.device, &empty),
        Err(Error::UnsupportedSize { .. })
    ));

    let rect = |x, y, width, height| {
        let rect = Rect {
            x,
            y,
            width,
            height,
        };
        Some(rect.into())
    };
    let side = |src_rect, dst_rect| {
        let mut config = config(PixelFormat::Rgba, PixelFormat::Nv12);
        (config.src_rect, config.dst_rect) = (src_rect, dst_rect);
        match Converter::new(&lab.device, &config) {
            Ok(_) => "none",
            Err(Error::InvalidRect { side, .. }) => side,
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(side(rect(1, 1, 15, 7), rect(2, 2, 3, 3)), "none");
    assert_eq!(side(rect(1, 1, 16, 7), None), "source");
    assert_eq!(side(rect(0, 0, 0, 7), None), "source");
    assert_eq!(side(None, rect(0, 0, 16, 9)), "destination");
    assert_eq!(side(None, rect(1, 0, 4, 4)), "none");
    assert_eq!(side(None, rect(0, 3, 4, 4)), "none");
}

#[test]
fn fields_are_not_turned() {
    let Some(lab) = Lab::open() else { return };
    for orientation in Orientation::ALL {
        let mut config = config(PixelFormat::Rgba, PixelFormat::Nv12);
        (config.interlaced, config.orientation) = (true, orientation);
        let refused = match Converter::new(&lab.device, &config) {
            Ok(_) => false,
            Err(Error::InvalidValue(_)) => true,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(refused, orientation.swaps_axes(), "{orientation:?}");
    }
}

#[test]
fn planes_that_cannot_be() {
    let Some(lab) = Lab::open() else { return };
    let stream = Stream::new(&lab.device).expect("a stream");
    let buffer = DeviceBuffer::new(&lab.device, 4096).expect("device memory");
    let plane = |offset: usize, stride| PlaneView {
        ptr: buffer.as_raw().offset(offset),
        stride,
    };
    let converter = Converter::new(&lab.device, &config(PixelFormat::P010Le, PixelFormat::I420));
    let converter = converter.expect("a possible conversion");
    let convert = |source: &[PlaneView], destination: &[PlaneView]| {
        // SAFETY: the planes that pass the checks lie in the buffer, which nothing else uses; the
        // stream is synchronised before the buffer goes.
        let (source, destination) =
            unsafe { (FrameView::new(source), FrameViewMut::new(destination)) };
        let result = converter.convert(&stream, &source, &destination);
        stream.synchronize().expect("nothing fails on the device");
        match result {
            Ok(()) => ("none", 0),
            Err(Error::InvalidPlane { side, plane, .. }) => (side, plane),
            Err(error) => panic!("{error}"),
        }
    };
    let source = [plane(0, 32), plane(256, 32)];
    let destination = [plane(1024, 16), plane(2048, 8), plane(3072, 8)];
    assert_eq!(convert(&source, &destination), ("none", 0));
    assert_eq!(convert(&source[..1], &destination), ("source", 1));
    assert_eq!(
        convert(&[plane(1, 32), source[1]], &destination),
        ("source", 0)
    );
    assert_eq!(
        convert(&[source[0], plane(256, 33)], &destination),
        ("source", 1)
    );
    assert_eq!(
        convert(&[plane(0, 30), source[1]], &destination),
        ("source", 0)
    );
    assert_eq!(convert(&source, &destination[..2]), ("destination", 2));
    let short = [destination[0], plane(2048, 7), destination[2]];
    assert_eq!(convert(&source, &short), ("destination", 1));
}

/// Rows may be stored bottom up.
#[test]
fn negative_strides_turn_the_picture() {
    let Some(lab) = Lab::open() else { return };
    let stream = Stream::new(&lab.device).expect("a stream");
    let bytes: Vec<u8> = (0..16 * 8 * 4)
        .map(|index| (index * 7 % 256) as u8)
        .collect();
    let mut pinned = hip_core::PinnedBuffer::new(&lab.device, bytes.len()).expect("pinned memory");
    pinned.write(0, &bytes).expect("it fits");
    let pinned = std::sync::Arc::new(pinned);
    let buffer =
        |_| std::sync::Arc::new(DeviceBuffer::new(&lab.device, bytes.len()).expect("memory"));
    let [from, to] = [0, 1].map(buffer);
    stream
        .copy_htod(&from, 0, &pinned, 0, bytes.len())
        .expect("a copy");
    let converter = Converter::new(&lab.device, &config(PixelFormat::Rgba, PixelFormat::Rgba));
    let last_row = PlaneView {
        ptr: from.as_raw().offset(7 * 64),
        stride: -64,
    };
    // SAFETY: both frames lie in the buffers, which live to the end and are used on this stream only.
    let (source, destination) = unsafe {
        let first_row = PlaneView {
            ptr: to.as_raw(),
            stride: 64,
        };
        (FrameView::new(&[last_row]), FrameViewMut::new(&[first_row]))
    };
    converter
        .expect("possible")
        .convert(&stream, &source, &destination)
        .expect("a launch");
    stream
        .copy_dtoh(&pinned, 0, &to, 0, bytes.len())
        .expect("a copy");
    stream.synchronize().expect("it runs");
    // SAFETY: the copy, which wrote every byte, is done.
    let found = unsafe { pinned.as_slice() };
    let expected: Vec<u8> = bytes.chunks(64).rev().flatten().copied().collect();
    assert_eq!(found, expected);
}
