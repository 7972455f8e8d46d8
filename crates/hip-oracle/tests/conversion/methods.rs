//! Methods, on whole frames.

use hip_oracle::{
    ChromaSite, Component, Conversion, FixedRect, Format, FrameInfo, Image, Matrix, Method, Range,
    Rng,
};

use crate::{for_each_sample, random_image};

#[test]
fn flat_fields_stay_flat_however_much_they_shrink() {
    let mut rng = Rng::new(121);
    let methods = [2, 4].map(|lobes| Method::Lanczos { lobes });
    let cubics = [(1.0, 0.0), (1.0 / 3.0, 1.0 / 3.0)].map(|(b, c)| Method::Bicubic { b, c });
    for method in Method::ALL.into_iter().chain(methods).chain(cubics) {
        for format in [Format::Y444_16Le, Format::I420, Format::V210, Format::Argb] {
            for (width, height) in [(64, 48), (9, 40), (5, 3), (1, 1)] {
                let from = FrameInfo::new(format, 64, 48);
                let mut source = Image::new(from);
                let level = rng.unit() * f64::from(format.max_code());
                source.fill_with(|_, _, _| level.round());
                let to =
                    FrameInfo::new(format, width, height).with_site(rng.pick(&ChromaSite::ALL));
                let conversion = Conversion {
                    method,
                    ..Conversion::new(from, to)
                };
                for_each_sample(&conversion.convert(&source), |component, x, y, value| {
                    let error = (value - level.round()).abs();
                    assert!(
                        error < 1e-6,
                        "{method:?} {format:?} {component:?} {x} {y}: {error}"
                    );
                });
            }
        }
    }
}

/// The codes of one component of a row that becomes another length.
fn row(method: Method, before: &[u32], length: usize) -> Vec<f64> {
    let info = |width| FrameInfo::new(Format::Gbr16Le, width, 1);
    let mut source = Image::new(info(before.len()));
    for (x, &code) in before.iter().enumerate() {
        source.set_code(Component::B, x, 0, code);
    }
    let conversion = Conversion {
        method,
        ..Conversion::new(source.info, info(length))
    };
    let real = conversion.convert(&source);
    (0..length)
        .map(|x| real.value(Component::B, x, 0))
        .collect()
}

fn assert_row(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() < 1e-6, "{what}: {found:?}, not {expected:?}");
    }
}

#[test]
fn areas_of_small_rows() {
    for (before, expected) in [
        (vec![10, 20, 30, 40, 50, 60], vec![20.0, 50.0]),
        (vec![10, 40], vec![25.0]),
        // Three pixels to two: one and a half each.
        (vec![30, 60, 90], vec![40.0, 80.0]),
        // Five to three: 5/3 each, so 1 and 2/3 of the next.
        (vec![0, 30, 60, 90, 120], vec![12.0, 60.0, 108.0]),
        // Enlarged, as bilinear.
        (vec![0, 100], vec![0.0, 25.0, 75.0, 100.0]),
    ] {
        let found = row(Method::Area, &before, expected.len());
        assert_row(&found, &expected, &format!("{before:?}"));
        assert_row(
            &row(Method::Auto, &before, expected.len()),
            &expected,
            "auto",
        );
    }
}

#[test]
fn cubics_of_small_rows() {
    // To twice the length, positions are a quarter from a sample; Catmull-Rom weighs the four
    // neighbours -0.0234375, 0.2265625, 0.8671875, -0.0703125.
    let found = row(Method::CATMULL_ROM, &[0, 0, 1000, 0, 0, 0], 12);
    let expected = [
        -0.0703125, 0.2265625, 0.8671875, 0.8671875, 0.2265625, -0.0703125,
    ];
    assert_row(
        &found[2..8],
        &expected.map(|weight| weight * 1000.0),
        "an impulse",
    );
    // Halved, the filter is twice as wide: samples at ±1/4, ±3/4, ±5/4, ±7/4 of its unit weigh
    // 0.8671875, 0.2265625, -0.0703125, -0.0234375, together 2.
    let found = row(Method::CATMULL_ROM, &[0, 0, 0, 0, 1000, 0, 0, 0, 0, 0], 5);
    let expected = [-0.01171875, 0.11328125, 0.43359375, -0.03515625, 0.0];
    assert_row(
        &found,
        &expected.map(|weight| weight * 1000.0),
        "an impulse, halved",
    );
}

#[test]
fn lanczos_of_an_impulse() {
    // To twice the length with two lobes, a quarter away: sinc(t)·sinc(t/2) at 0.25, 0.75, 1.25 and
    // 1.75, divided by their sum.
    let lobe = |t: f64| {
        let sinc = |t: f64| (std::f64::consts::PI * t).sin() / (std::f64::consts::PI * t);
        sinc(t) * sinc(t / 2.0)
    };
    let values = [lobe(0.25), lobe(0.75), lobe(1.25), lobe(1.75)];
    let sum: f64 = values.iter().sum();
    let found = row(Method::Lanczos { lobes: 2 }, &[0, 0, 1000, 0, 0, 0], 12);
    let weights = [2, 1, 0, 0, 1, 2].map(|index: usize| values[index] / sum * 1000.0);
    assert_row(&found[2..8], &weights, "an impulse");
}

#[test]
fn auto_is_chosen_for_each_axis() {
    let mut rng = Rng::new(122);
    let from = FrameInfo::new(Format::Rgb, 12, 6);
    let to = FrameInfo::new(Format::Rgb, 5, 11);
    let source = random_image(from, &mut rng);
    let by = |method, destination| {
        let conversion = Conversion {
            method,
            ..Conversion::new(from, destination)
        };
        conversion.convert(&source)
    };
    assert_eq!(by(Method::Auto, to), by(Method::Area, to));
    let narrower = FrameInfo::new(Format::Rgb, 5, 6);
    assert_eq!(by(Method::Auto, narrower), by(Method::Area, narrower));
    let larger = FrameInfo::new(Format::Rgb, 20, 11);
    assert_eq!(by(Method::Auto, larger), by(Method::Bilinear, larger));
}

#[test]
fn a_shift_by_half_a_pixel() {
    // A source rectangle half a pixel to the right: every pixel is the mean of two.
    let mut rng = Rng::new(123);
    let from = FrameInfo::new(Format::Rgbp, 9, 4);
    let to = FrameInfo::new(Format::Rgbp, 8, 4);
    let source = random_image(from, &mut rng);
    for method in [Method::Bilinear, Method::Area, Method::Auto] {
        let conversion = Conversion {
            source_rect: FixedRect::from_pixels(0.5, 0.0, 8.0, 4.0),
            method,
            ..Conversion::new(from, to)
        };
        for_each_sample(&conversion.convert(&source), |component, x, y, value| {
            let code = |x| f64::from(source.code(component, x, y));
            let expected = (code(x) + code(x + 1)) / 2.0;
            assert!((value - expected).abs() < 1e-9, "{method:?} {x} {y}");
        });
    }
}

#[test]
fn a_destination_rectangle_between_pixels() {
    // 2.5 pixels of picture from 1.25 on: the centres of pixels 1 (1.5), 2 and 3 (3.5) are inside.
    let from = FrameInfo::new(Format::Rgb, 5, 1);
    let to = FrameInfo::new(Format::Rgb, 6, 1);
    let mut source = Image::new(from);
    source.fill_with(|_, px, _| 10.0 + 20.0 * px);
    let conversion = Conversion {
        destination_rect: FixedRect::from_pixels(1.25, 0.0, 2.5, 1.0),
        ..Conversion::new(from, to)
    };
    let real = conversion.convert(&source);
    // Position X is seen at (X + 0.5 - 1.25)·2 - 0.5: at 0, 2, 4.
    let found: Vec<f64> = (0..6).map(|x| real.value(Component::G, x, 0)).collect();
    assert_row(&found, &[0.0, 10.0, 50.0, 90.0, 0.0, 0.0], "a rectangle");
}

#[test]
fn chroma_edges_land_where_the_site_says_under_every_method() {
    // A step in the chroma of a 4:2:2 or 4:2:0 source, at luma position 15.5 + shift of the site;
    // the 4:4:4 result crosses the middle within 0.05 chroma samples of it.
    for method in Method::ALL
        .into_iter()
        .filter(|method| *method != Method::Nearest)
    {
        for site in ChromaSite::ALL {
            for format in [Format::Nv12, Format::Y42b] {
                let from = FrameInfo::new(format, 32, 32)
                    .with_colour(Matrix::Bt709, Range::Full)
                    .with_site(site);
                let mut source = Image::new(from);
                // Chroma samples 0..8 are dark and 8..16 light: the edge is half way between.
                let (h, _) = site.halves();
                let edge = 15.0 + h as f64 / 2.0;
                source.fill_with(|component, px, _| match component {
                    Component::Cr if px > edge => 200.0,
                    Component::Cr => 100.0,
                    _ => 128.0,
                });
                for width in [32, 64, 128] {
                    let to = FrameInfo::new(Format::Y444, width, 32)
                        .with_colour(Matrix::Bt709, Range::Full);
                    let conversion = Conversion {
                        method,
                        ..Conversion::new(from, to)
                    };
                    let real = conversion.convert(&source);
                    let value = |x: usize| real.value(Component::Cr, x, 16);
                    let before = (0..width)
                        .rfind(|&x| value(x) <= 150.0)
                        .expect("a dark side");
                    let (low, high) = (value(before), value(before + 1));
                    let crossing = before as f64 + (150.0 - low) / (high - low);
                    let scale = 32.0 / width as f64;
                    let found = (crossing + 0.5) * scale - 0.5;
                    let error = (found - edge).abs() / 2.0;
                    assert!(
                        error < 0.05,
                        "{method:?} {site:?} {format:?} {width}: {error}"
                    );
                }
            }
        }
    }
}
