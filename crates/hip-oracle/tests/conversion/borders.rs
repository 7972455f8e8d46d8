//! What lies round the picture, and where the picture lies.

use hip_oracle::{
    ChromaSite, Component, Format, FrameInfo, Matrix, Method, Range, Rect, Rng, convert,
};

use crate::{SUBSAMPLED, for_each_sample, random_image};

#[test]
fn black_in_code_values() {
    let mut rng = Rng::new(61);
    let source_info = FrameInfo::new(Format::Rgba, 4, 4);
    let source = random_image(source_info, &mut rng);
    use Component::{A, B, Cb, Cr, G, R, Y};
    let limited_rgb: &[(Component, f64)] = &[(R, 16.0), (G, 16.0), (B, 16.0), (A, 255.0)];
    let full_rgb: &[(Component, f64)] = &[(R, 0.0), (G, 0.0), (B, 0.0), (A, 255.0)];
    for (format, range, black) in [
        (
            Format::Nv12,
            Range::Limited,
            &[(Y, 16.0), (Cb, 128.0), (Cr, 128.0)] as &[_],
        ),
        (
            Format::I420,
            Range::Full,
            &[(Y, 0.0), (Cb, 128.0), (Cr, 128.0)],
        ),
        (
            Format::P010Le,
            Range::Limited,
            &[(Y, 64.0), (Cb, 512.0), (Cr, 512.0)],
        ),
        (
            Format::P010Le,
            Range::Full,
            &[(Y, 0.0), (Cb, 512.0), (Cr, 512.0)],
        ),
        (Format::Rgba, Range::Full, full_rgb),
        (Format::Bgra, Range::Limited, limited_rgb),
        (Format::Rgb, Range::Limited, &limited_rgb[..3]),
        (Format::Rgbp, Range::Full, &full_rgb[..3]),
    ] {
        for matrix in Matrix::ALL {
            let info = FrameInfo::new(format, 9, 7).with_colour(matrix, range);
            let into = Rect::new(4, 2, 3, 3);
            let all = Rect::full(&source_info);
            let real = convert(&source, all, &info, into, Method::Bilinear);
            for &(component, code) in black {
                let samples = real
                    .component(component)
                    .expect("a component of the format");
                let far = (samples.width - 1, samples.height - 1);
                for (x, y) in [(0, 0), (far.0, 0), (0, far.1), far] {
                    let found = real.value(component, x, y);
                    assert!((found - code).abs() < 1e-9, "{format:?} {range:?}: {found}");
                }
            }
        }
    }
}

#[test]
fn a_placed_picture_is_the_picture_alone() {
    let mut rng = Rng::new(62);
    for case in 0..150 {
        let from = FrameInfo::new(rng.pick(&Format::ALL), rng.between(1, 9), rng.between(1, 9))
            .with_site(rng.pick(&ChromaSite::ALL));
        let source = random_image(from, &mut rng);
        let to = FrameInfo::new(
            rng.pick(&Format::ALL),
            rng.between(6, 14),
            rng.between(6, 14),
        )
        .with_site(rng.pick(&ChromaSite::ALL));
        let (x, y) = (rng.between(0, 2) * 2, rng.between(0, 2) * 2);
        let into = Rect::new(
            x,
            y,
            rng.between(1, to.width - x),
            rng.between(1, to.height - y),
        );
        let alone = FrameInfo {
            width: into.width,
            height: into.height,
            ..to
        };
        let method = rng.pick(&Method::ALL);
        let placed = convert(&source, Rect::full(&from), &to, into, method);
        let picture = convert(
            &source,
            Rect::full(&from),
            &alone,
            Rect::full(&alone),
            method,
        );
        for_each_sample(&placed, |component, x, y, value| {
            let location = to
                .format
                .component(component)
                .expect("a component of the format");
            let (left, top) = (into.x / location.sub_x, into.y / location.sub_y);
            let (width, height) = alone.samples(location);
            let inside = (left..left + width).contains(&x) && (top..top + height).contains(&y);
            let expected = if inside {
                picture.value(component, x - left, y - top)
            } else {
                to.encode(component, if component == Component::A { 1.0 } else { 0.0 })
            };
            assert!(
                (value - expected).abs() < 1e-9,
                "case {case}: {component:?} {x} {y}"
            );
        });
    }
}

#[test]
fn a_chroma_sample_belongs_to_the_pixel_at_its_even_corner() {
    for format in SUBSAMPLED {
        for site in ChromaSite::ALL {
            // A picture of columns 2..5 and rows 2..3 in 8×8: chroma columns 1, 2 and row 1.
            let to = FrameInfo::new(format, 8, 8).with_site(site);
            let red = crate::flat_image(FrameInfo::new(Format::Rgb, 2, 2), [255, 0, 0]);
            let from = Rect::full(&red.info);
            let real = convert(&red, from, &to, Rect::new(2, 2, 3, 1), Method::Bilinear);
            let grey = f64::from(1 << (format.depth() - 1));
            for (x, y) in (0..4).flat_map(|y| (0..4).map(move |x| (x, y))) {
                let coloured = (real.value(Component::Cr, x, y) - grey).abs() > 1.0;
                assert_eq!(
                    coloured,
                    (1..3).contains(&x) && y == 1,
                    "{format:?} {site:?} {x} {y}"
                );
            }
            let black = to.encode(Component::Y, 0.0);
            for (x, y) in (0..8).flat_map(|y| (0..8).map(move |x| (x, y))) {
                let lit = (real.value(Component::Y, x, y) - black).abs() > 1.0;
                assert_eq!(
                    lit,
                    (2..5).contains(&x) && y == 2,
                    "{format:?} {site:?} {x} {y}"
                );
            }
        }
    }
}
