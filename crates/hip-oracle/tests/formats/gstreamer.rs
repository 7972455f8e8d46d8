//! The formats that the installed GStreamer knows, read by it and by the oracle.

use std::str::FromStr;

use gst_video::{VideoFormat, VideoFormatFlags, VideoInfo, VideoPackFlags};
use hip_oracle::{Component, Format, FrameInfo, Image, Rng};

/// The formats of both, with GStreamer's name for each.
fn common_formats() -> Vec<(Format, VideoFormat)> {
    gst::init().expect("GStreamer starts");
    let both = Format::ALL.into_iter().filter_map(|format| {
        let video = VideoFormat::from_str(format.name()).ok()?;
        (video != VideoFormat::Unknown).then_some((format, video))
    });
    both.collect()
}

#[test]
fn most_formats_are_known_to_gstreamer() {
    // 1.22, the floor, has all but the 12 and 16 bit alpha, 8 bit A422 and A444, and GRAY10_LE16.
    let formats = common_formats();
    assert!(formats.len() >= 60, "{} formats", formats.len());
}

#[test]
fn planes_and_depths() {
    for (format, video) in common_formats() {
        let known = gst_video::VideoFormatInfo::from_format(video);
        let info = format.info();
        assert_eq!(known.n_planes() as usize, info.planes.len(), "{format:?}");
        // GStreamer counts alpha, but not the filler.
        assert_eq!(
            known.n_components() as usize,
            info.components.len(),
            "{format:?}"
        );
        let flags = known.flags();
        let is_rgb = flags.contains(VideoFormatFlags::RGB);
        assert_eq!(
            is_rgb,
            format.family() == hip_oracle::Family::Rgb,
            "{format:?}"
        );
        // `Y410` and `Y412_LE` have a fourth component, which GStreamer packs and unpacks as alpha,
        // but lack the flag in 1.22.
        let unflagged = matches!(format, Format::Y410 | Format::Y412Le);
        let has_alpha = flags.contains(VideoFormatFlags::ALPHA) || unflagged;
        assert_eq!(has_alpha, format.has_alpha(), "{format:?}");
        for (index, location) in info.components.iter().enumerate() {
            assert_eq!(known.plane()[index] as usize, location.plane, "{format:?}");
            assert_eq!(1 << known.w_sub()[index], location.sub_x, "{format:?}");
            assert_eq!(1 << known.h_sub()[index], location.sub_y, "{format:?}");
            assert_eq!(known.depth()[index], location.number.bits(), "{format:?}");
        }
    }
}

#[test]
fn rows_fit_gstreamers_strides() {
    for (format, video) in common_formats() {
        for (width, height) in [(1, 1), (2, 2), (7, 5), (48, 6), (101, 3)] {
            let known = VideoInfo::builder(video, width, height)
                .build()
                .expect("a frame");
            let info = FrameInfo::new(format, width as usize, height as usize);
            for plane in 0..format.info().planes.len() {
                let stride = known.stride()[plane] as usize;
                let row_bytes = info.row_bytes(plane);
                // GStreamer rounds rows up to four bytes, and those of v210 to 48 pixels.
                let padding = if format == Format::V210 { 128 } else { 4 };
                // Chroma of 4:2:0 and 4:2:2 is padded to half the padded luma.
                assert!(stride >= row_bytes, "{format:?} {width} {plane}: {stride}");
                assert!(
                    stride < row_bytes + 2 * padding,
                    "{format:?} {width} {plane}: {stride}"
                );
            }
        }
    }
}

/// The code that the oracle reads, and how many bits it has.
fn code(image: &Image, component: Component, x: usize, y: usize) -> Option<(u32, u32)> {
    let location = image.info.format.component(component)?;
    let code = image.code(component, x / location.sub_x, y / location.sub_y);
    Some((code, location.number.bits()))
}

#[test]
fn every_sample_is_where_gstreamer_finds_it() {
    let mut rng = Rng::new(101);
    for (format, video) in common_formats() {
        let known = gst_video::VideoFormatInfo::from_format(video);
        let wide = matches!(
            known.unpack_format(),
            VideoFormat::Argb64 | VideoFormat::Ayuv64
        );
        for (width, height) in [(12, 4), (6, 2), (7, 3), (1, 1)] {
            if format == Format::Vyuy && width % 2 == 1 {
                // GStreamer 1.22 exchanges Cb and Cr of the last pixel of an odd row of VYUY.
                continue;
            }
            let info = FrameInfo::new(format, width, height);
            let frame = VideoInfo::builder(video, width as u32, height as u32)
                .build()
                .expect("a frame");
            let count = format.info().planes.len();
            let strides: Vec<usize> = frame.stride()[..count]
                .iter()
                .map(|&s| s as usize)
                .collect();
            // The binding asks for as many rows of chroma as of luma.
            let mut image = Image::with_strides(info, &strides, height, 0);
            image.fill_random(&mut rng);
            let planes = image.planes.iter();
            let planes: Vec<&[u8]> = planes.map(|plane| &plane.data[plane.offset..]).collect();
            for y in 0..height {
                let bytes = if wide { 8 } else { 4 };
                let mut line = vec![0u8; bytes * width];
                // Samples of fewer bits are not spread over the lower ones.
                let flags = VideoPackFlags::TRUNCATE_RANGE;
                known.unpack(
                    flags,
                    &mut line,
                    &planes,
                    frame.stride(),
                    0,
                    y as i32,
                    width as i32,
                );
                for x in 0..width {
                    let channel = |index: usize| {
                        let at = x * bytes + index * bytes / 4;
                        if wide {
                            u32::from(u16::from_ne_bytes([line[at], line[at + 1]]))
                        } else {
                            u32::from(line[at]) << 8
                        }
                    };
                    use Component::{A, B, Cb, Cr, G, R, Y};
                    let order = match format.family() {
                        hip_oracle::Family::Yuv => [A, Y, Cb, Cr],
                        hip_oracle::Family::Rgb => [A, R, G, B],
                    };
                    for (index, component) in order.into_iter().enumerate() {
                        if let Some((expected, bits)) = code(&image, component, x, y) {
                            // GStreamer leaves the unused low bits of P010_10LE in.
                            let found = channel(index) >> (16 - bits);
                            assert_eq!(
                                found, expected,
                                "{format:?} {width}x{height} {component:?} ({x}, {y})"
                            );
                        }
                    }
                }
            }
        }
    }
}
