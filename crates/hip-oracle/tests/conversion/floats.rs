//! Floating-point frames, and dither.

use hip_oracle::{
    Component, Conversion, Dither, Format, FrameInfo, Image, Matrix, Method, Normalisation, Range,
    Rng, compare,
};

use crate::{flat_image, for_each_sample, random_image};

const FLOATS: [Format; 4] = [
    Format::RgbF32,
    Format::RgbF16,
    Format::RgbpF32,
    Format::RgbpF16,
];

#[test]
fn normalised_by_channel() {
    // The mean and the deviation of ImageNet, as models are trained with.
    let mean = [0.485, 0.456, 0.406];
    let deviation = [0.229, 0.224, 0.225];
    let normalisation = Some(Normalisation {
        mean,
        scale: deviation.map(|value| 1.0 / value),
    });
    for to in FLOATS {
        let from = FrameInfo::new(Format::Rgba, 3, 2);
        let to = FrameInfo::new(to, 3, 2);
        let conversion = Conversion {
            normalisation,
            ..Conversion::new(from, to)
        };
        let real = conversion.convert(&flat_image(from, [255, 51, 0]));
        let expected = [
            (1.0 - 0.485) / 0.229,
            (0.2 - 0.456) / 0.224,
            (0.0 - 0.406) / 0.225,
        ];
        for_each_sample(&real, |component, _, _, value| {
            assert!((value - expected[component.slot()]).abs() < 1e-12);
        });
        let report = compare(&real, &real.to_image());
        assert_eq!(report.max_abs_difference, 0.0);
        assert!(report.max_abs_error < 1e-3, "{report}");
    }
}

#[test]
fn borders_are_normalised_too() {
    let from = FrameInfo::new(Format::Rgb, 2, 2);
    let to = FrameInfo::new(Format::RgbpF32, 4, 2);
    let conversion = Conversion {
        destination_rect: hip_oracle::Rect::new(1, 0, 2, 2).into(),
        border: [0.5, 0.25, 1.0, 1.0],
        normalisation: Some(Normalisation {
            mean: [0.5; 3],
            scale: [2.0, 4.0, 8.0],
        }),
        ..Conversion::new(from, to)
    };
    let real = conversion.convert(&Image::new(from));
    let pixel = |x| [Component::R, Component::G, Component::B].map(|c| real.value(c, x, 1));
    assert_eq!(pixel(0), [0.0, -1.0, 4.0]);
    assert_eq!(pixel(1), [-1.0, -2.0, -4.0]);
}

#[test]
fn values_beyond_black_and_white_are_kept() {
    let from = FrameInfo::new(Format::Gray8, 4, 1);
    let mut source = Image::new(from);
    for (x, code) in [0, 16, 235, 255].into_iter().enumerate() {
        source.set_code(Component::Y, x, 0, code);
    }
    for to in FLOATS {
        let real = Conversion::new(from, FrameInfo::new(to, 4, 1)).convert(&source);
        let expected = [-16.0 / 219.0, 0.0, 1.0, 239.0 / 219.0];
        for (x, expected) in expected.into_iter().enumerate() {
            let found = real.value(Component::G, x, 0);
            assert!((found - expected).abs() < 1e-12, "{to:?} {found}");
            let stored = real.to_image().value(Component::G, x, 0);
            assert!((stored - expected).abs() < 5e-4, "{to:?} {stored}");
        }
    }
}

#[test]
fn floats_become_codes() {
    let from = FrameInfo::new(Format::RgbF32, 2, 1);
    let mut source = Image::new(from);
    source.set_value(Component::R, 0, 0, 1.5);
    source.set_value(Component::G, 0, 0, 0.5);
    source.set_value(Component::B, 0, 0, -0.25);
    let to = FrameInfo::new(Format::Gbr10Le, 2, 1).with_colour(Matrix::Bt709, Range::Limited);
    let real = Conversion::new(from, to).convert(&source);
    let found = [Component::R, Component::G, Component::B].map(|c| real.value(c, 0, 0));
    for (found, expected) in found.into_iter().zip([1378.0, 502.0, -155.0]) {
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    }
    let stored = real.to_image();
    assert_eq!(stored.code(Component::R, 0, 0), 1023);
    assert_eq!(stored.code(Component::B, 0, 0), 0);
}

#[test]
fn a_model_input_from_video() {
    // A flat frame of BT.709 75 % yellow, letterboxed: what the picture is, and grey round it.
    let from = FrameInfo::new(Format::Nv12, 64, 36);
    let to = FrameInfo::new(Format::RgbpF32, 32, 32);
    let source = flat_image(from, [168, 44, 136]);
    let conversion = Conversion {
        destination_rect: hip_oracle::Rect::new(0, 7, 32, 18).into(),
        method: Method::Auto,
        border: [0.5, 0.5, 0.5, 1.0],
        ..Conversion::new(from, to)
    };
    let real = conversion.convert(&source);
    for (y, expected) in [
        (6, [0.5; 3]),
        (7, [0.75, 0.75, 0.0]),
        (24, [0.75, 0.75, 0.0]),
    ] {
        for (component, expected) in [Component::R, Component::G, Component::B]
            .into_iter()
            .zip(expected)
        {
            let found = real.value(component, 9, y);
            // The codes of the bar are rounded.
            assert!(
                (found - expected).abs() < 0.006,
                "{y} {component:?}: {found}"
            );
        }
    }
}

#[test]
fn dither_keeps_the_mean_of_what_rounding_loses() {
    // A flat field a quarter of a code above 100, 64×64: a quarter of the pixels goes up.
    let from = FrameInfo::new(Format::Gray10Le16, 64, 64);
    let to = FrameInfo::new(Format::Gray8, 64, 64);
    let source = flat_image(from, [401, 0, 0]);
    let converted = |dither| {
        let conversion = Conversion {
            dither,
            ..Conversion::new(from, to)
        };
        conversion.convert(&source).to_image()
    };
    let count = |image: &Image, code| {
        let all = (0..64).flat_map(|y| (0..64).map(move |x| (x, y)));
        all.filter(|&(x, y)| image.code(Component::Y, x, y) == code)
            .count()
    };
    assert_eq!(count(&converted(Dither::None), 100), 64 * 64);
    let dithered = converted(Dither::Bayer);
    assert_eq!(count(&dithered, 101), 64 * 64 / 4);
    assert_eq!(count(&dithered, 100), 64 * 64 * 3 / 4);
    // Elements 0, 32 and 48 of the matrix add -0.4922, 0.0078 and 0.2578: to the right of the first
    // and below it.
    let corner = [(0, 0), (1, 0), (0, 1)].map(|(x, y)| dithered.code(Component::Y, x, y));
    assert_eq!(corner, [100, 100, 101]);
}

#[test]
fn neither_alpha_nor_borders_are_dithered() {
    let mut rng = Rng::new(161);
    let from = FrameInfo::new(Format::Rgba64Le, 8, 8);
    let to = FrameInfo::new(Format::Rgba, 16, 16);
    let source = random_image(from, &mut rng);
    let conversion = Conversion {
        destination_rect: hip_oracle::Rect::new(4, 4, 8, 8).into(),
        border: [0.3; 4],
        ..Conversion::new(from, to)
    };
    let dithered = Conversion {
        dither: Dither::Bayer,
        ..conversion
    };
    let (plain, dithered) = (conversion.convert(&source), dithered.convert(&source));
    let mut changed = 0;
    for_each_sample(&plain, |component, x, y, value| {
        let inside = (4..12).contains(&x) && (4..12).contains(&y);
        let same = value == dithered.value(component, x, y);
        assert_eq!(
            same,
            component == Component::A || !inside,
            "{component:?} {x} {y}"
        );
        changed += usize::from(!same);
    });
    assert_eq!(changed, 3 * 64);
}
