//! Conversions that change nothing.

use hip_oracle::{
    ChromaSite, Conversion, Dither, Format, FrameInfo, LightOptions, Matrix, Method, Range, Rng,
    ToneMapping, compare,
};

use crate::random_image;

#[test]
fn every_format_to_itself_with_every_method() {
    let mut rng = Rng::new(111);
    for format in Format::ALL {
        for method in Method::ALL {
            for (width, height) in [(13, 7), (6, 4), (1, 1)] {
                let info = FrameInfo::new(format, width, height)
                    .with_colour(rng.pick(&Matrix::ALL), rng.pick(&Range::ALL))
                    .with_site(rng.pick(&ChromaSite::ALL))
                    .with_premultiplied(rng.below(2) == 1);
                let mut source = random_image(info, &mut rng);
                let conversion = Conversion {
                    method,
                    interlaced: rng.below(2) == 1,
                    dither: Dither::Bayer,
                    // Asked for, but there is nothing to remap.
                    light: LightOptions {
                        transfer: true,
                        primaries: true,
                        tone_mapping: Some(ToneMapping::Bt2390),
                        ..LightOptions::default()
                    },
                    ..Conversion::new(info, info)
                };
                let real = conversion.convert(&source);
                let before: Vec<u32> = codes(&source);
                assert_eq!(codes(&real.to_image()), before, "{format:?} {method:?}");
                // What the source holds outside its samples is not carried over.
                let report = compare(&real, &real.to_image());
                assert_eq!((report.max_abs_difference, report.padding), (0.0, None));
                source.clear_samples();
                assert_ne!(codes(&source), before);
            }
        }
    }
}

/// Every code of a frame, component by component.
fn codes(image: &hip_oracle::Image) -> Vec<u32> {
    let components = &image.info.format.info().components;
    let samples = components.iter().flat_map(|location| {
        let (width, height) = image.info.samples(location);
        (0..width * height).map(move |i| (location.component, i % width, i / width))
    });
    samples
        .map(|(component, x, y)| image.code(component, x, y))
        .collect()
}

#[test]
fn wider_formats_carry_narrower_ones() {
    // The same samples in other places, or with more bits, and back.
    let mut rng = Rng::new(112);
    for (from, by) in [
        (Format::I420, Format::Yv12),
        (Format::Nv21, Format::P016Le),
        (Format::Yuy2, Format::Vyuy),
        (Format::V210, Format::Y210),
        (Format::V210, Format::I422_10Le),
        (Format::Uyvy, Format::A422_16Le),
        (Format::Ayuv, Format::A444_12Le),
        (Format::Vuya, Format::Y412Le),
        (Format::Y410, Format::A444_16Le),
        (Format::Nv24, Format::Y444_10Le),
        (Format::Gray10Le16, Format::Gray16Le),
        (Format::Abgr, Format::Gbra12Le),
        (Format::Bgr10a2Le, Format::Rgba64Le),
        (Format::Xrgb, Format::Bgrp),
        (Format::Gbr10Le, Format::RgbF32),
        (Format::Bgr, Format::RgbpF16),
    ] {
        for range in Range::ALL {
            let info = |format| FrameInfo::new(format, 9, 5).with_colour(Matrix::Bt601, range);
            let source = random_image(info(from), &mut rng);
            let there = Conversion::new(info(from), info(by))
                .convert(&source)
                .to_image();
            let back = Conversion::new(info(by), info(from))
                .convert(&there)
                .to_image();
            assert_eq!(
                codes(&back),
                codes(&source),
                "{from:?} by way of {by:?} {range:?}"
            );
        }
    }
}
