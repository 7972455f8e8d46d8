//! Frames go up and come down unchanged.

use crate::common::{
    SIZES, Storage, buffer_of, caps_of, first_difference, harness, image_of, init, offered_pool,
    random_image, test_device,
};
use gst::prelude::*;
use hip_oracle::{Format, FrameInfo};

/// Whether the consumer reads a `GstVideoMeta`.
#[derive(Clone, Copy, PartialEq)]
enum Consumer {
    ReadsVideoMeta,
    KnowsOnlyDefaults,
}

/// Sends frames of all sizes, stored in all ways, through one pipeline, which renegotiates for
/// each size.
fn check(format: Format, consumer: Consumer) {
    let Some(device) = test_device() else { return };
    let (mut harness, bus) = harness("hipupload ! hipdownload");
    if consumer == Consumer::ReadsVideoMeta {
        harness.add_propose_allocation_meta(gst_video::VideoMeta::meta_api(), None);
    }
    for (index, width) in SIZES.into_iter().enumerate() {
        for height in SIZES {
            let info = FrameInfo::new(format, width, height);
            harness.set_src_caps(caps_of(&info));
            // Large frames take one way each, in turn; small ones take all.
            let large = width * height > 100_000;
            for (turn, storage) in Storage::ALL.into_iter().enumerate() {
                if large && turn != (index + height) % Storage::ALL.len() {
                    continue;
                }
                let image = random_image(info, (width * 7 + height * 5 + turn) as u64);
                let buffer = buffer_of(&image, storage, &device);
                let case = format!("{} {width}x{height} {storage:?}", format.name());
                harness
                    .push(buffer)
                    .unwrap_or_else(|flow| panic!("{case}: {flow:?}"));
                let output = harness.pull().expect("a frame comes out");
                check_layout(&output, &info, consumer, &case);
                let found = image_of(&output, info);
                assert_eq!(
                    first_difference(&image, &found),
                    None,
                    "{case}: plane and row"
                );
                assert_eq!(output.pts(), Some(gst::ClockTime::ZERO), "{case}");
            }
        }
    }
    assert!(
        bus.pop_filtered(&[gst::MessageType::Error, gst::MessageType::Warning])
            .is_none()
    );
}

fn check_layout(buffer: &gst::BufferRef, info: &FrameInfo, consumer: Consumer, case: &str) {
    let meta = buffer.meta::<gst_video::VideoMeta>();
    if consumer == Consumer::ReadsVideoMeta {
        assert!(meta.is_some(), "{case}");
        return;
    }
    let default = gst_video::VideoInfo::from_caps(&caps_of(info)).unwrap();
    // Who writes the bytes to a file gets a frame, no more.
    assert_eq!(buffer.size(), default.size(), "{case}");
    if let Some(meta) = meta {
        assert_eq!(meta.stride(), default.stride(), "{case}");
        assert_eq!(meta.offset(), default.offset(), "{case}");
    }
}

macro_rules! formats {
    ($($name:ident: $format:ident,)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn comes_back_with_a_video_meta() {
                check(Format::$format, Consumer::ReadsVideoMeta);
            }

            #[test]
            fn comes_back_in_the_default_layout() {
                check(Format::$format, Consumer::KnowsOnlyDefaults);
            }
        }
    )*};
}

formats! {
    nv12: Nv12,
    i420: I420,
    p010: P010Le,
    rgba: Rgba,
    bgra: Bgra,
    rgb: Rgb,
    rgbp: Rgbp,
    v210: V210,
    y410: Y410,
    a420_10: A420_10Le,
    yuy2: Yuy2,
}

/// Frames that upstream writes into the buffers that it is offered, by the CPU and more than once.
#[test]
fn frames_in_the_offered_pool_come_back() {
    use gst_video::prelude::*;
    if test_device().is_none() {
        return;
    }
    for format in crate::lab::formats() {
        let info = FrameInfo::new(format, 317, 43);
        let (mut harness, _bus) = harness("hipupload ! hipdownload");
        harness.add_propose_allocation_meta(gst_video::VideoMeta::meta_api(), None);
        harness.set_src_caps(caps_of(&info));
        let pool = offered_pool(&harness, &caps_of(&info));
        pool.set_active(true).unwrap();
        let video = gst_video::VideoInfo::from_caps(&caps_of(&info)).unwrap();
        for seed in 0..6 {
            let image = random_image(info, seed);
            let buffer = pool.acquire_buffer(None).unwrap();
            let mut frame = gst_video::VideoFrame::from_buffer_writable(buffer, &video).unwrap();
            for (index, plane) in image.planes.iter().enumerate() {
                let stride = frame.plane_stride()[index] as usize;
                let data = frame.plane_data_mut(index as u32).unwrap();
                for row in 0..plane.rows {
                    let from = plane.offset + row * plane.stride;
                    data[row * stride..row * stride + plane.row_bytes]
                        .copy_from_slice(&plane.data[from..from + plane.row_bytes]);
                }
            }
            harness.push(frame.into_buffer()).unwrap();
            let found = image_of(&harness.pull().unwrap(), info);
            assert_eq!(
                first_difference(&image, &found),
                None,
                "{} {seed}",
                format.name()
            );
        }
        pool.set_active(false).unwrap();
    }
}

/// Every format of the pad template goes both ways, not only those that can be converted.
#[test]
fn every_format_of_the_template_comes_back() {
    if test_device().is_none() {
        return;
    }
    init();
    let factory = gst::ElementFactory::find("hipupload").unwrap();
    let template = factory
        .static_pad_templates()
        .into_iter()
        .find(|t| t.name_template() == "sink")
        .unwrap();
    let caps = template.caps();
    let names: Vec<String> = caps
        .structure(0)
        .unwrap()
        .get::<gst::List>("format")
        .unwrap()
        .iter()
        .map(|name| name.get::<String>().unwrap())
        .collect();
    assert!(names.len() > 40, "{names:?}");
    let (mut harness, _bus) = harness("hipupload ! hipdownload");
    for name in names {
        let caps: gst::Caps =
            format!("video/x-raw,format={name},width=37,height=13,framerate=30/1")
                .parse()
                .unwrap();
        let info = gst_video::VideoInfo::from_caps(&caps).unwrap();
        harness.set_src_caps(caps);
        let bytes: Vec<u8> = (0..info.size()).map(|index| (index % 251) as u8).collect();
        harness
            .push(gst::Buffer::from_slice(bytes.clone()))
            .unwrap();
        let output = harness.pull().unwrap();
        let map = output.map_readable().unwrap();
        for plane in 0..info.n_planes() as usize {
            let component =
                (0..info.n_components() as u8).find(|c| info.comp_plane(*c) == plane as u32);
            let component = component.unwrap();
            let row_bytes =
                info.comp_width(component) as usize * info.comp_pstride(component) as usize;
            for row in 0..info.comp_height(component) as usize {
                let start = info.offset()[plane] + row * info.stride()[plane] as usize;
                let row = start..start + row_bytes;
                assert_eq!(map[row.clone()], bytes[row], "{name} plane {plane}");
            }
        }
    }
}
