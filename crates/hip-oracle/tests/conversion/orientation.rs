//! Turns and mirrors.

use hip_oracle::{
    ChromaSite, Component, Conversion, FixedRect, Format, FrameInfo, Image, Method, Orientation,
    Rect, Rng,
};

use crate::{for_each_sample, random_image};

/// Frames of one channel that is worth reading, from rows of digits.
fn picture(rows: &[&str]) -> Image {
    let mut image = Image::new(FrameInfo::new(Format::Gray8, rows[0].len(), rows.len()));
    for (y, row) in rows.iter().enumerate() {
        for (x, digit) in row.bytes().enumerate() {
            image.set_code(Component::Y, x, y, u32::from(digit));
        }
    }
    image
}

#[test]
fn a_picture_of_six_pixels() {
    let source = picture(&["123", "456"]);
    for (orientation, expected) in [
        (Orientation::Identity, vec!["123", "456"]),
        (Orientation::Clockwise, vec!["41", "52", "63"]),
        (Orientation::Half, vec!["654", "321"]),
        (Orientation::Anticlockwise, vec!["36", "25", "14"]),
        (Orientation::Horizontal, vec!["321", "654"]),
        (Orientation::Vertical, vec!["456", "123"]),
        (Orientation::UpperLeftLowerRight, vec!["14", "25", "36"]),
        (Orientation::UpperRightLowerLeft, vec!["63", "52", "41"]),
    ] {
        let expected = picture(&expected);
        for method in Method::ALL {
            let conversion = Conversion {
                orientation,
                method,
                ..Conversion::new(source.info, expected.info)
            };
            let found = conversion.convert(&source).to_image();
            assert_eq!(found, expected, "{orientation:?} {method:?}");
        }
    }
}

/// Where GStreamer's definitions find destination pixel (x, y) in a source of w×h.
fn source_pixel(
    orientation: Orientation,
    (x, y): (usize, usize),
    w: usize,
    h: usize,
) -> [usize; 2] {
    match orientation {
        Orientation::Identity => [x, y],
        Orientation::Clockwise => [y, h - 1 - x],
        Orientation::Half => [w - 1 - x, h - 1 - y],
        Orientation::Anticlockwise => [w - 1 - y, x],
        Orientation::Horizontal => [w - 1 - x, y],
        Orientation::Vertical => [x, h - 1 - y],
        Orientation::UpperLeftLowerRight => [y, x],
        Orientation::UpperRightLowerLeft => [w - 1 - y, h - 1 - x],
    }
}

/// The same frame turned, sample by sample.
fn turned(image: &Image, orientation: Orientation) -> Image {
    let mut info = image.info;
    if orientation.swaps() {
        (info.width, info.height) = (info.height, info.width);
    }
    let mut copy = Image::new(info);
    for location in &info.format.info().components {
        let component = location.component;
        let (width, height) = info.samples(location);
        let (w, h) = image.component_size(component);
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            let [from_x, from_y] = source_pixel(orientation, (x, y), w, h);
            copy.set_code(component, x, y, image.code(component, from_x, from_y));
        }
    }
    copy
}

#[test]
fn turning_and_scaling_is_scaling_the_turned_picture() {
    // With chroma centred, or not subsampled, the turned frame has its chroma in the same places.
    let mut rng = Rng::new(131);
    for orientation in Orientation::ALL {
        for _ in 0..60 {
            let from = rng.pick(&[Format::I420, Format::Ayuv, Format::Gbr12Le, Format::Nv12]);
            let mut info = FrameInfo::new(from, rng.between(1, 9), rng.between(1, 9))
                .with_site(ChromaSite::Centre);
            if from.is_subsampled() {
                (info.width, info.height) = (2 * info.width, 2 * info.height);
            }
            let to = rng.pick(&[Format::Nv24, Format::P010Le, Format::Bgra, Format::Yvyu]);
            let to = FrameInfo::new(to, rng.between(1, 12), rng.between(1, 12))
                .with_site(ChromaSite::Centre);
            let source = random_image(info, &mut rng);
            let other = turned(&source, orientation);
            let method = rng.pick(&[
                Method::Bilinear,
                Method::Area,
                Method::CATMULL_ROM,
                Method::Lanczos { lobes: 3 },
                Method::Auto,
            ]);
            let at_once = Conversion {
                orientation,
                method,
                ..Conversion::new(info, to)
            };
            let afterwards = Conversion {
                method,
                ..Conversion::new(other.info, to)
            };
            let (found, expected) = (at_once.convert(&source), afterwards.convert(&other));
            for_each_sample(&found, |component, x, y, value| {
                let error = (value - expected.value(component, x, y)).abs();
                assert!(error < 1e-7, "{at_once:?}: {component:?} {x} {y}: {error}");
            });
        }
    }
}

#[test]
fn nearest_of_a_rectangle_follows_the_definitions() {
    let mut rng = Rng::new(132);
    for orientation in Orientation::ALL {
        for _ in 0..40 {
            let from = FrameInfo::new(Format::Rgbx, 14, 11);
            let source = random_image(from, &mut rng);
            let (x0, y0) = (rng.between(0, 6), rng.between(0, 5));
            let (w, h) = (rng.between(1, 8), rng.between(1, 6));
            let (dw, dh) = (rng.between(1, 15), rng.between(1, 15));
            let to = FrameInfo::new(Format::Rgbx, dw, dh);
            let conversion = Conversion {
                source_rect: Rect::new(x0, y0, w, h).into(),
                orientation,
                method: Method::Nearest,
                ..Conversion::new(from, to)
            };
            let real = conversion.convert(&source);
            // The turned picture has this size; its pixel is that of the integer formula without
            // mirrors, then mirrored.
            let (tw, th) = if orientation.swaps() { (h, w) } else { (w, h) };
            for_each_sample(&real, |component, x, y, value| {
                let turned = ((2 * x + 1) * tw / (2 * dw), (2 * y + 1) * th / (2 * dh));
                let [sx, sy] = source_pixel(orientation, turned, w, h);
                let expected = f64::from(source.code(component, x0 + sx, y0 + sy));
                assert!((value - expected).abs() < 1e-9, "{conversion:?} {x} {y}");
            });
        }
    }
}

#[test]
fn mirroring_chroma_by_the_nearest_is_exact_at_even_widths() {
    let mut rng = Rng::new(133);
    for site in [ChromaSite::Left, ChromaSite::TopLeft, ChromaSite::Centre] {
        let info = FrameInfo::new(Format::Nv12, 10, 6).with_site(site);
        let source = random_image(info, &mut rng);
        let conversion = Conversion {
            orientation: Orientation::Horizontal,
            method: Method::Nearest,
            ..Conversion::new(info, info)
        };
        let found = conversion.convert(&source).to_image();
        let expected = turned(&source, Orientation::Horizontal);
        assert_eq!(found, expected, "{site:?}");
    }
}

#[test]
fn fractional_rectangles_are_mirrored_about_their_middle() {
    let from = FrameInfo::new(Format::Gray16Le, 8, 1);
    let to = FrameInfo::new(Format::Gray16Le, 4, 1);
    let mut source = Image::new(from);
    source.fill_with(|_, px, _| 100.0 * px);
    let conversion = Conversion {
        source_rect: FixedRect::from_pixels(1.25, 0.0, 4.0, 1.0),
        orientation: Orientation::Horizontal,
        ..Conversion::new(from, to)
    };
    let real = conversion.convert(&source);
    let found = [0, 1, 2, 3].map(|x| real.value(Component::Y, x, 0));
    for (found, expected) in found.into_iter().zip([425.0, 325.0, 225.0, 125.0]) {
        assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
    }
}

#[test]
#[should_panic(expected = "the lines of a field become columns")]
fn fields_are_not_turned() {
    let info = FrameInfo::new(Format::Rgb, 4, 4);
    let conversion = Conversion {
        orientation: Orientation::Clockwise,
        interlaced: true,
        ..Conversion::new(info, info)
    };
    conversion.convert(&Image::new(info));
}
