//! Alpha, and colours that are multiplied by it.

use hip_oracle::{
    AlphaMode, Component, Conversion, Format, FrameInfo, Image, Matrix, Method, Range, Rng,
};

use crate::{flat_image, for_each_sample};

#[test]
fn ramps_survive_every_pair_of_formats() {
    // All 256 codes of 8 bits, in any colour, through every other format with as many bits.
    let with_alpha = || Format::ALL.into_iter().filter(|format| format.has_alpha());
    for from in with_alpha() {
        for to in with_alpha() {
            let bits = |format: Format| {
                let location = format.component(Component::A).expect("alpha");
                location.number.bits()
            };
            let before = FrameInfo::new(from, 16, 16).with_colour(Matrix::Bt601, Range::Limited);
            let after = FrameInfo::new(to, 16, 16);
            let (top, new_top) = ((1u32 << bits(from)) - 1, (1u32 << bits(to)) - 1);
            let mut source = Image::new(before);
            source.fill_with(|component, x, y| match component {
                Component::A => ((16.0 * y + x) / 255.0 * f64::from(top)).round(),
                _ => 100.0,
            });
            let there = Conversion::new(before, after).convert(&source);
            for_each_sample(&there, |component, x, y, value| {
                if component == Component::A {
                    let code = f64::from(source.code(component, x, y));
                    let expected = code * f64::from(new_top) / f64::from(top);
                    assert!((value - expected).abs() < 1e-9, "{from:?} to {to:?}");
                }
            });
            if bits(to) >= bits(from) {
                let back = Conversion::new(after, before)
                    .convert(&there.to_image())
                    .to_image();
                for (x, y) in (0..16).flat_map(|y| (0..16).map(move |x| (x, y))) {
                    let codes = [&source, &back].map(|image| image.code(Component::A, x, y));
                    assert_eq!(codes[0], codes[1], "{from:?} by way of {to:?}");
                }
            }
        }
    }
}

#[test]
fn set_and_multiplied() {
    let from = FrameInfo::new(Format::Rgba, 16, 16);
    let mut source = Image::new(from);
    source.fill_with(|component, x, y| match component {
        Component::A => 16.0 * y + x,
        _ => 77.0,
    });
    for to in [Format::Bgra, Format::A420_10Le, Format::Vuya] {
        let to = FrameInfo::new(to, 16, 16);
        let top = f64::from(
            to.format
                .component(Component::A)
                .expect("alpha")
                .number
                .max_code(),
        );
        for (alpha, expected) in [
            (AlphaMode::Set(0.25), &(|_| 0.25) as &dyn Fn(f64) -> f64),
            (AlphaMode::Multiply(0.5), &|a| 0.5 * a),
            (AlphaMode::Copy, &|a| a),
        ] {
            let conversion = Conversion {
                alpha,
                ..Conversion::new(from, to)
            };
            let real = conversion.convert(&source);
            for code in 0..256usize {
                let found = real.value(Component::A, code % 16, code / 16);
                let expected = expected(code as f64 / 255.0) * top;
                assert!((found - expected).abs() < 1e-9, "{alpha:?} {code}: {found}");
            }
            // Straight colours do not know of it.
            let plain = Conversion::new(from, to).convert(&source);
            assert_eq!(real.components[..3], plain.components[..3]);
        }
    }
}

#[test]
fn there_and_back_by_way_of_premultiplied() {
    let mut rng = Rng::new(141);
    for (straight, multiplied) in [
        (Format::Rgba, Format::Argb64Le),
        (Format::Ayuv, Format::A444_16Le),
        (Format::A422, Format::Rgba64Le),
    ] {
        let before = FrameInfo::new(straight, 8, 6);
        let between = FrameInfo::new(multiplied, 8, 6).with_premultiplied(true);
        // One colour, since chroma of 4:2:2 becomes a mean, and no pixel transparent, whose colour
        // would be lost.
        let mut source = flat_image(before, [120, 110, 140]);
        for (x, y) in (0..6).flat_map(|y| (0..8).map(move |x| (x, y))) {
            source.set_code(Component::A, x, y, rng.between(40, 255) as u32);
        }
        let there = Conversion::new(before, between).convert(&source).to_image();
        let back = Conversion::new(between, before).convert(&there);
        for_each_sample(&back, |component, x, y, value| {
            let expected = f64::from(source.code(component, x, y));
            assert!(
                (value - expected).abs() < 0.05,
                "{straight:?} {component:?}: {value}"
            );
        });
    }
}

#[test]
fn chroma_of_multiplied_colours_is_the_mean_of_the_pixels() {
    // Two red pixels, one transparent: premultiplied, half of the red is left in their chroma.
    let from = FrameInfo::new(Format::Rgba, 2, 1);
    let to = FrameInfo::new(Format::A422, 2, 1)
        .with_colour(Matrix::Bt601, Range::Full)
        .with_site(hip_oracle::ChromaSite::Centre)
        .with_premultiplied(true);
    let mut source = flat_image(from, [255, 0, 0]);
    source.set_code(Component::A, 1, 0, 0);
    for method in Method::ALL {
        let conversion = Conversion {
            method,
            ..Conversion::new(from, to)
        };
        let real = conversion.convert(&source);
        // JFIF: Cr of red is 255.5.
        let found = real.value(Component::Cr, 0, 0);
        assert!(
            (found - (128.0 + 127.5 / 2.0)).abs() < 1e-9,
            "{method:?}: {found}"
        );
        assert!(real.value(Component::Y, 1, 0).abs() < 1e-9);
    }
}

#[test]
fn borders_of_any_colour() {
    let source = flat_image(FrameInfo::new(Format::Rgba, 2, 2), [10, 20, 30]);
    let border = [1.0, 0.5, 0.25, 0.5];
    for (format, premultiplied, expected) in [
        (Format::Rgba, false, [255.0, 127.5, 63.75, 127.5]),
        (Format::Rgba, true, [127.5, 63.75, 31.875, 127.5]),
        // BT.601 full: Y = 0.299 + 0.2935 + 0.0285 = 0.621, Cb = (0.25 - Y)/1.772, Cr = (1 - Y)/1.402.
        (Format::Ayuv, false, [158.355, 74.6112, 196.9337, 127.5]),
    ] {
        let to = FrameInfo::new(format, 6, 4)
            .with_colour(Matrix::Bt601, Range::Full)
            .with_premultiplied(premultiplied);
        let conversion = Conversion {
            destination_rect: hip_oracle::Rect::new(2, 1, 2, 2).into(),
            border,
            ..Conversion::new(source.info, to)
        };
        let real = conversion.convert(&source);
        for (samples, expected) in real.components.iter().zip(expected) {
            for (x, y) in [(0, 0), (5, 3), (1, 1), (2, 3)] {
                let found = samples.values[y * 6 + x];
                assert!(
                    (found - expected).abs() < 1e-3,
                    "{format:?} {found} {expected}"
                );
            }
        }
    }
}
