//! `hipconvertscale` against the double-precision oracle.

use crate::common::{
    Storage, buffer_of, caps_of, harness, hip_caps_of, image_of, message_text, random_image,
    test_device,
};
use crate::lab::{check_image, formats};
use gst::prelude::*;
use hip_oracle::{ChromaSite, Format, FrameInfo, Image, Matrix, Method, Range, Rect};

/// Sends one frame through upload, conversion and download; the sink's caps say what to.
fn convert(properties: &str, input: &Image, output: FrameInfo, storage: Storage) -> Option<Image> {
    let device = test_device()?;
    let (mut harness, bus) = harness(&format!(
        "hipupload ! hipconvertscale {properties} ! hipdownload"
    ));
    harness.set_sink_caps(caps_of(&output));
    harness.set_src_caps(caps_of(&input.info));
    harness
        .push(buffer_of(input, storage, &device))
        .unwrap_or_else(|flow| {
            panic!(
                "{flow:?}: {:?}",
                message_text(&bus, gst::MessageType::Error)
            )
        });
    Some(image_of(
        &harness.pull().expect("a frame comes out"),
        output,
    ))
}

/// Every pair of those that have kernels of their own, and each other format both ways; all pairs are
/// hip-video's test.
fn pairs() -> Vec<(Format, Format)> {
    let common = Format::COMMON.into_iter();
    let mut pairs: Vec<_> = common
        .flat_map(|from| Format::COMMON.map(|to| (from, to)))
        .collect();
    let others = formats().filter(|format| !Format::COMMON.contains(format));
    for (index, format) in others.enumerate() {
        let common = |turn: usize| Format::COMMON[(index + turn) % Format::COMMON.len()];
        pairs.extend([(format, common(0)), (common(3), format)]);
    }
    pairs
}

#[test]
fn pairs_of_formats() {
    for (index, (from, to)) in pairs().into_iter().enumerate() {
        let input = random_image(FrameInfo::new(from, 33, 17), index as u64);
        let output = FrameInfo::new(to, 24, 29);
        let storage = Storage::ALL[index % Storage::ALL.len()];
        let case = format!("{} to {} {storage:?}", from.name(), to.name());
        let Some(found) = convert("add-borders=false", &input, output, storage) else {
            return;
        };
        let (all, whole) = (Rect::full(&input.info), Rect::full(&output));
        let expected = hip_oracle::convert(&input, all, &output, whole, Method::Auto);
        check_image(&found, &expected, &case);
    }
}

#[test]
fn colours_of_the_caps_count() {
    let limited = FrameInfo::new(Format::Nv12, 20, 14)
        .with_colour(Matrix::Bt601, Range::Limited)
        .with_site(ChromaSite::Centre);
    let full = FrameInfo::new(Format::P010Le, 20, 14)
        .with_colour(Matrix::Bt2020, Range::Full)
        .with_site(ChromaSite::TopLeft);
    let rgb = FrameInfo::new(Format::Rgb, 20, 14).with_colour(Matrix::Bt709, Range::Limited);
    for from in [limited, full, rgb] {
        for to in [limited, full, rgb] {
            if from == to {
                continue; // passes through
            }
            for (nick, method) in [("bilinear", Method::Bilinear), ("nearest", Method::Nearest)] {
                let input = random_image(from, 5);
                let properties = format!("method={nick}");
                let Some(found) = convert(&properties, &input, to, Storage::Padded) else {
                    return;
                };
                let (all, whole) = (Rect::full(&from), Rect::full(&to));
                let expected = hip_oracle::convert(&input, all, &to, whole, method);
                check_image(&found, &expected, &format!("{from:?} to {to:?} {nick}"));
            }
        }
    }
}

#[test]
fn borders_keep_the_shape() {
    let input = random_image(FrameInfo::new(Format::Nv12, 64, 32), 9);
    for (format, width, height, picture) in [
        (Format::Rgba, 64, 64, Rect::new(0, 16, 64, 32)),
        (Format::I420, 96, 32, Rect::new(16, 0, 64, 32)),
        (Format::Rgbp, 32, 20, Rect::new(0, 2, 32, 16)),
    ] {
        let output = FrameInfo::new(format, width, height);
        for (properties, rect) in [
            ("add-borders=true", picture),
            ("", picture),
            ("add-borders=false", Rect::full(&output)),
        ] {
            // Square pixels on both sides, or the shape would be kept by oblong ones.
            let Some(device) = test_device() else { return };
            let (mut harness, _bus) = harness(&format!(
                "hipupload ! hipconvertscale {properties} ! hipdownload"
            ));
            harness.set_sink_caps(square(caps_of(&output)));
            harness.set_src_caps(square(caps_of(&input.info)));
            harness
                .push(buffer_of(&input, Storage::Plain, &device))
                .unwrap();
            let found = image_of(&harness.pull().unwrap(), output);
            let (all, method) = (Rect::full(&input.info), Method::Auto);
            let expected = hip_oracle::convert(&input, all, &output, rect, method);
            check_image(
                &found,
                &expected,
                &format!("{format:?} {width}x{height} {properties}"),
            );
        }
    }
}

fn square(mut caps: gst::Caps) -> gst::Caps {
    caps.make_mut()
        .set("pixel-aspect-ratio", gst::Fraction::new(1, 1));
    caps
}

#[test]
fn properties_change_while_frames_flow() {
    let Some(device) = test_device() else { return };
    let (mut harness, _bus) = harness("hipupload ! hipconvertscale name=c ! hipdownload");
    let input = random_image(FrameInfo::new(Format::Rgba, 16, 16), 1);
    let output = FrameInfo::new(Format::Rgba, 24, 48);
    let converter = harness
        .find_element("hipconvertscale")
        .expect("the converter");
    harness.set_sink_caps(square(caps_of(&output)));
    harness.set_src_caps(square(caps_of(&input.info)));
    let (full, middle) = (Rect::full(&output), Rect::new(0, 12, 24, 24));
    for (borders, nick, rect, method) in [
        (true, "bilinear", middle, Method::Bilinear),
        (true, "nearest", middle, Method::Nearest),
        (false, "nearest", full, Method::Nearest),
        (true, "bilinear", middle, Method::Bilinear),
    ] {
        converter.set_property("add-borders", borders);
        converter.set_property_from_str("method", nick);
        harness
            .push(buffer_of(&input, Storage::Plain, &device))
            .unwrap();
        let found = image_of(&harness.pull().unwrap(), output);
        let expected = hip_oracle::convert(&input, Rect::full(&input.info), &output, rect, method);
        check_image(&found, &expected, &format!("borders {borders}, {nick}"));
    }
}

#[test]
fn sizes_and_formats_change_while_frames_flow() {
    let Some(device) = test_device() else { return };
    let (mut harness, _bus) =
        harness("hipupload ! hipconvertscale add-borders=false ! hipdownload");
    let output = FrameInfo::new(Format::Rgba, 40, 30);
    harness.set_sink_caps(caps_of(&output));
    let inputs = [
        FrameInfo::new(Format::Nv12, 64, 48),
        FrameInfo::new(Format::P010Le, 31, 77),
        // Nothing to do: the frame passes through.
        output,
        FrameInfo::new(Format::Rgb, 40, 30),
        FrameInfo::new(Format::Nv12, 64, 48),
    ];
    for (seed, info) in inputs.into_iter().enumerate() {
        let input = random_image(info, seed as u64);
        harness.set_src_caps(caps_of(&info));
        for _ in 0..3 {
            harness
                .push(buffer_of(&input, Storage::Padded, &device))
                .unwrap();
            let found = image_of(&harness.pull().unwrap(), output);
            let (all, whole) = (Rect::full(&info), Rect::full(&output));
            let expected = hip_oracle::convert(&input, all, &output, whole, Method::Auto);
            check_image(&found, &expected, &format!("{info:?}"));
        }
    }
}

#[test]
fn what_needs_nothing_passes_through() {
    let Some(device) = test_device() else { return };
    let info = FrameInfo::new(Format::Nv12, 64, 48);
    for (fields, output_fields, same) in [
        ("", "", true),
        // Interlaced frames pass, unchanged.
        (",interlace-mode=interleaved", "", true),
        ("", ",width=64,height=48,format=NV12", true),
        ("", ",format=RGBA", false),
        ("", ",width=32", false),
        ("", ",colorimetry=bt601", false),
        ("", ",chroma-site=jpeg", false),
    ] {
        let mut harness =
            gst_check::Harness::new_parse(&crate::common::launch_line("hipconvertscale"));
        let output = format!("video/x-raw(memory:HIPMemory){output_fields}");
        harness.set_sink_caps(output.parse().unwrap());
        let caps = format!("{}{fields}", hip_caps_of(&info));
        harness.set_src_caps(caps.parse().unwrap());
        let buffer = device_buffer(&device, &hip_caps_of(&info));
        let address = buffer.as_ptr();
        harness.push(buffer).unwrap();
        let found = harness.pull().unwrap();
        assert_eq!(found.as_ptr() == address, same, "{fields} {output_fields}");
    }
}

fn device_buffer(device: &gst_hip::Device, caps: &gst::Caps) -> gst::Buffer {
    let pool = gst_hip::HipBufferPool::new(device, gst_hip::MemoryKind::Device);
    pool.configure(caps, 0, 1, 0).unwrap();
    pool.set_active(true).unwrap();
    let buffer = pool.acquire_buffer(None).unwrap();
    pool.set_active(false).unwrap();
    buffer
}

#[test]
fn metas_follow_the_picture() {
    use gst_video::VideoRegionOfInterestMeta as Region;
    let Some(device) = test_device() else { return };
    let info = FrameInfo::new(Format::Nv12, 64, 48);
    for (line, caps, output, expected) in [
        (
            "hipupload ! hipdownload",
            caps_of(&info),
            "video/x-raw",
            (8, 12, 16, 24),
        ),
        // Through a CPU map.
        (
            "hipdownload",
            hip_caps_of(&info),
            "video/x-raw",
            (8, 12, 16, 24),
        ),
        (
            "hipupload ! hipconvertscale ! hipdownload",
            caps_of(&info),
            "video/x-raw,format=RGBA,width=128,height=24",
            (16, 6, 32, 12),
        ),
    ] {
        let (mut harness, _bus) = harness(line);
        harness.set_sink_caps(output.parse().unwrap());
        harness.set_src_caps(caps);
        let mut buffer = buffer_of(&random_image(info, 3), Storage::Padded, &device);
        let writable = buffer.get_mut().unwrap();
        Region::add(writable, "face", (8, 12, 16, 24));
        writable.set_flags(gst::BufferFlags::DISCONT);
        harness.push(buffer).unwrap();
        let found = harness.pull().unwrap();
        let regions: Vec<_> = found
            .iter_meta::<Region>()
            .map(|region| region.rect())
            .collect();
        assert_eq!(regions, [expected], "{line}");
        assert_eq!(
            found.iter_meta::<gst_video::VideoMeta>().count(),
            0,
            "{line}: the default layout"
        );
        assert!(found.flags().contains(gst::BufferFlags::DISCONT), "{line}");
    }
}
