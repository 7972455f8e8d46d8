//! From one subsampling to another, axis by axis.

use hip_oracle::{
    ChromaSite, Component, Conversion, Format, FrameInfo, Image, Method, RealImage, Rng,
};

use crate::random_image;

/// A frame of noise and what it becomes at the same size.
fn same_size(from: Format, to: Format, site: ChromaSite, method: Method) -> (Image, RealImage) {
    let source = FrameInfo::new(from, 12, 10).with_site(site);
    let image = random_image(source, &mut Rng::new(171));
    let conversion = Conversion {
        method,
        ..Conversion::new(source, FrameInfo::new(to, 12, 10).with_site(site))
    };
    let real = conversion.convert(&image);
    (image, real)
}

/// Compares a chroma plane away from the rim with what `expected` makes of the source's codes.
fn check(
    (source, real): &(Image, RealImage),
    expected: impl Fn(&dyn Fn(usize, usize) -> f64, usize, usize) -> f64,
    what: &str,
) {
    for component in [Component::Cb, Component::Cr] {
        let code = |x: usize, y: usize| f64::from(source.code(component, x, y));
        let samples = real.component(component).expect("chroma");
        for (x, y) in
            (1..samples.height - 1).flat_map(|y| (1..samples.width - 1).map(move |x| (x, y)))
        {
            let found = real.value(component, x, y);
            let expected = expected(&code, x, y);
            assert!(
                (found - expected).abs() < 1e-9,
                "{what} {component:?} ({x}, {y}): {found}"
            );
        }
    }
}

#[test]
fn rows_of_4_2_2_are_averaged_and_columns_kept() {
    for method in [
        Method::Bilinear,
        Method::Nearest,
        Method::Area,
        Method::Auto,
    ] {
        let left = same_size(Format::Uyvy, Format::Nv21, ChromaSite::Left, method);
        check(
            &left,
            |code, x, y| (code(x, 2 * y) + code(x, 2 * y + 1)) / 2.0,
            "between",
        );
        let top = same_size(Format::Y42b, Format::Yv12, ChromaSite::TopLeft, method);
        let mean = |code: &dyn Fn(usize, usize) -> f64, x: usize, y: usize| {
            code(x, 2 * y - 1) / 4.0 + code(x, 2 * y) / 2.0 + code(x, 2 * y + 1) / 4.0
        };
        check(&top, mean, "cosited");
    }
}

#[test]
fn pixels_of_4_4_4_are_averaged_on_both_axes() {
    for method in [Method::Bilinear, Method::Nearest, Method::Area] {
        let centred = same_size(Format::Vuya, Format::I420, ChromaSite::Centre, method);
        let mean = |code: &dyn Fn(usize, usize) -> f64, x: usize, y: usize| {
            let row = |y| code(2 * x, y) + code(2 * x + 1, y);
            (row(2 * y) + row(2 * y + 1)) / 4.0
        };
        check(&centred, mean, "centred");
        let left = same_size(Format::Nv24, Format::Nv16, ChromaSite::Left, method);
        let mean = |code: &dyn Fn(usize, usize) -> f64, x: usize, y: usize| {
            code(2 * x - 1, y) / 4.0 + code(2 * x, y) / 2.0 + code(2 * x + 1, y) / 4.0
        };
        check(&left, mean, "cosited");
    }
}

#[test]
fn wider_filters_see_twice_the_samples() {
    // Catmull-Rom made twice as wide, half way between two rows: 0.8671875, 0.2265625, -0.0703125
    // and -0.0234375 of 2 on either side.
    let real = same_size(
        Format::Y42b,
        Format::I420,
        ChromaSite::Left,
        Method::CATMULL_ROM,
    );
    let weights = [0.43359375, 0.11328125, -0.03515625, -0.01171875];
    let (source, real) = &real;
    for (x, y) in [(0, 2), (3, 2), (5, 2)] {
        let code = |y: usize| f64::from(source.code(Component::Cb, x, y));
        let pairs = (0..4).map(|i| weights[i] * (code(2 * y - i) + code(2 * y + 1 + i)));
        let found = real.value(Component::Cb, x, y);
        assert!(
            (found - pairs.sum::<f64>()).abs() < 1e-9,
            "({x}, {y}): {found}"
        );
    }
}

#[test]
fn chroma_of_4_4_4_is_read_between_samples() {
    // On the left: even columns are samples, odd ones lie half way to the next. Between rows: a
    // quarter to the row above or below.
    let between = |code: &dyn Fn(usize, usize) -> f64, x: usize, y: usize| {
        let row = |y: usize| {
            if x.is_multiple_of(2) {
                code(x / 2, y)
            } else {
                (code(x / 2, y) + code(x / 2 + 1, y)) / 2.0
            }
        };
        let other = if y.is_multiple_of(2) {
            y / 2 - 1
        } else {
            y / 2 + 1
        };
        0.75 * row(y / 2) + 0.25 * row(other)
    };
    let real = same_size(
        Format::Nv12,
        Format::Y444,
        ChromaSite::Left,
        Method::Bilinear,
    );
    check_inner(&real, between);
    // The nearest sample: half way it is the next one.
    let nearest =
        |code: &dyn Fn(usize, usize) -> f64, x: usize, y: usize| code(x.div_ceil(2), y / 2);
    let real = same_size(
        Format::Nv12,
        Format::Y444,
        ChromaSite::Left,
        Method::Nearest,
    );
    check_inner(&real, nearest);
}

/// As [`check`], two samples from the rim.
fn check_inner(
    (source, real): &(Image, RealImage),
    expected: impl Fn(&dyn Fn(usize, usize) -> f64, usize, usize) -> f64,
) {
    for (x, y) in (2..8).flat_map(|y| (2..10).map(move |x| (x, y))) {
        let code = |x: usize, y: usize| f64::from(source.code(Component::Cr, x, y));
        let found = real.value(Component::Cr, x, y);
        assert!(
            (found - expected(&code, x, y)).abs() < 1e-9,
            "({x}, {y}): {found}"
        );
    }
}

#[test]
fn grey_has_no_chroma_and_is_the_luma_of_colour() {
    let source = FrameInfo::new(Format::Gray8, 5, 3);
    let image = random_image(source, &mut Rng::new(172));
    let real = Conversion::new(source, FrameInfo::new(Format::Nv12, 5, 3)).convert(&image);
    assert!(
        real.components[1]
            .values
            .iter()
            .all(|&code| (code - 128.0).abs() < 1e-9)
    );
    for (x, y) in (0..3).flat_map(|y| (0..5).map(move |x| (x, y))) {
        let code = f64::from(image.code(Component::Y, x, y));
        assert!((real.value(Component::Y, x, y) - code).abs() < 1e-9);
    }
    let red = crate::flat_image(FrameInfo::new(Format::Rgb, 2, 2), [255, 0, 0]);
    let real = Conversion::new(red.info, FrameInfo::new(Format::Gray8, 2, 2)).convert(&red);
    // BT.709 red, as in its bars.
    assert!((real.value(Component::Y, 1, 1) - 62.56).abs() < 0.01);
}
