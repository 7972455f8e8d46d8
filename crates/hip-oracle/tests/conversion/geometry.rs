//! Scaling, cropping and placing.

use hip_oracle::{
    ChromaSite, Component, Family, Format, FrameInfo, Image, Layout, Matrix, Method, Range, Rect,
    Rng, convert,
};

use crate::{colours, for_each_sample, random_image};

/// A frame of some format, size up to `limit`, colours and site.
fn random_info(rng: &mut Rng, limit: usize) -> FrameInfo {
    FrameInfo::new(
        rng.pick(&Format::ALL),
        rng.between(1, limit),
        rng.between(1, limit),
    )
    .with_colour(rng.pick(&Matrix::ALL), rng.pick(&Range::ALL))
    .with_site(rng.pick(&ChromaSite::ALL))
}

/// A rectangle in a frame, its origin even if the format is subsampled.
fn random_rect(rng: &mut Rng, info: &FrameInfo) -> Rect {
    let (sub_x, sub_y) = info.format.chroma_subsampling();
    let x = rng.between(0, (info.width - 1) / sub_x) * sub_x;
    let y = rng.between(0, (info.height - 1) / sub_y) * sub_y;
    Rect::new(
        x,
        y,
        rng.between(1, info.width - x),
        rng.between(1, info.height - y),
    )
}

#[test]
fn nearest_copies_the_pixel_of_the_integer_formula() {
    let mut rng = Rng::new(41);
    for _ in 0..300 {
        let from = FrameInfo::new(Format::Rgba, rng.between(1, 19), rng.between(1, 19));
        let to = FrameInfo::new(Format::Bgra, rng.between(1, 19), rng.between(1, 19));
        let source = random_image(from, &mut rng);
        let rect = random_rect(&mut rng, &from);
        let real = convert(&source, rect, &to, Rect::full(&to), Method::Nearest);
        for_each_sample(&real, |component, x, y, value| {
            let sx = rect.x + ((2 * x + 1) * rect.width) / (2 * to.width);
            let sy = rect.y + ((2 * y + 1) * rect.height) / (2 * to.height);
            let expected = f64::from(source.code(component, sx, sy));
            assert!(
                (value - expected).abs() < 1e-9,
                "{rect:?} {to:?} {component:?} {x} {y}"
            );
        });
    }
}

#[test]
fn nearest_from_yuv_gives_the_colour_of_a_1_to_1_conversion() {
    let mut rng = Rng::new(42);
    for _ in 0..100 {
        let mut from = random_info(&mut rng, 9);
        from.format = rng.pick(&crate::SUBSAMPLED);
        let source = random_image(from, &mut rng);
        let same = FrameInfo::new(Format::Rgbp, from.width, from.height);
        let (all, scaled) = (Rect::full(&from), FrameInfo::new(Format::Rgbp, 7, 6));
        let one_to_one = convert(&source, all, &same, all, Method::Bilinear);
        let real = convert(&source, all, &scaled, Rect::full(&scaled), Method::Nearest);
        for_each_sample(&real, |component, x, y, value| {
            let sx = ((2 * x + 1) * from.width) / (2 * scaled.width);
            let sy = ((2 * y + 1) * from.height) / (2 * scaled.height);
            assert!((value - one_to_one.value(component, sx, sy)).abs() < 1e-9);
        });
    }
}

#[test]
fn bilinear_weights_of_small_scalings() {
    // One row of codes and what it becomes at another width.
    for (before, after) in [
        (vec![0, 100], vec![0.0, 25.0, 75.0, 100.0]),
        (vec![0, 10, 20, 60], vec![5.0, 40.0]),
        (vec![8, 16, 40], vec![16.0]),
        (vec![30, 90], vec![30.0, 60.0, 90.0]),
        (vec![7], vec![7.0, 7.0, 7.0]),
        (vec![0, 60, 0], vec![15.0, 15.0]),
    ] {
        for horizontal in [true, false] {
            let info = |length| {
                let (width, height) = if horizontal { (length, 1) } else { (1, length) };
                FrameInfo::new(Format::Rgb, width, height)
            };
            let place = |index| if horizontal { (index, 0) } else { (0, index) };
            let mut source = Image::new(info(before.len()));
            for (index, &code) in before.iter().enumerate() {
                let (x, y) = place(index);
                source.set_code(Component::G, x, y, code);
            }
            let to = info(after.len());
            let rect = Rect::full(&source.info);
            let real = convert(&source, rect, &to, Rect::full(&to), Method::Bilinear);
            for (index, expected) in after.iter().enumerate() {
                let (x, y) = place(index);
                let found = real.value(Component::G, x, y);
                assert!(
                    (found - expected).abs() < 1e-9,
                    "{before:?} to {after:?}: {found}"
                );
            }
        }
    }
}

#[test]
fn a_rectangle_is_read_as_if_the_rest_were_not_there() {
    let mut rng = Rng::new(43);
    for case in 0..200 {
        let from = random_info(&mut rng, 12);
        let source = random_image(from, &mut rng);
        let rect = random_rect(&mut rng, &from);
        let cut = FrameInfo {
            width: rect.width,
            height: rect.height,
            ..from
        };
        let mut alone = Image::new(cut);
        for location in &from.format.info().components {
            let (width, height) = cut.samples(location);
            for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                let (sx, sy) = (x + rect.x / location.sub_x, y + rect.y / location.sub_y);
                alone.set_code(
                    location.component,
                    x,
                    y,
                    source.code(location.component, sx, sy),
                );
            }
        }
        let to = random_info(&mut rng, 12);
        let (into, method) = (random_rect(&mut rng, &to), rng.pick(&Method::ALL));
        let from_whole = convert(&source, rect, &to, into, method);
        let from_cut = convert(&alone, Rect::full(&cut), &to, into, method);
        for_each_sample(&from_whole, |component, x, y, value| {
            let error = (value - from_cut.value(component, x, y)).abs();
            assert!(
                error < 1e-8,
                "case {case}: {rect:?} of {from:?} to {to:?} {method:?}: {error}"
            );
        });
    }
}

#[test]
fn one_colour_stays_one_colour_at_every_small_size() {
    let mut rng = Rng::new(44);
    let pairs = Format::ALL
        .into_iter()
        .flat_map(|from| Format::ALL.map(|to| (from, to)));
    for (from, to) in pairs {
        for (width, height) in (1..=5).flat_map(|w| (1..=5).map(move |h| (w, h))) {
            let mut before = random_info(&mut rng, 5);
            before.format = from;
            let mut after = random_info(&mut rng, 5);
            (after.format, after.width, after.height) = (to, width, height);
            let level = [0, 1, 2].map(|_| rng.unit() * f64::from(from.max_code()));
            let mut source = Image::new(before);
            source.fill_with(|component, _, _| match component {
                Component::A => f64::INFINITY,
                _ => level[component.slot()],
            });
            let colour = colours(from.family()).map(|component| {
                let stored = from.component(component).map(|_| component);
                stored.map_or(0.0, |c| before.decode(c, source.value(c, 0, 0)))
            });
            let rgb = match from.family() {
                Family::Yuv => before.matrix.rgb_from_ycbcr(colour),
                Family::Rgb => colour,
            };
            let expected = match to.family() {
                Family::Yuv => after.matrix.ycbcr_from_rgb(rgb),
                Family::Rgb => rgb,
            };
            let method = rng.pick(&Method::ALL);
            let real = convert(
                &source,
                Rect::full(&before),
                &after,
                Rect::full(&after),
                method,
            );
            for_each_sample(&real, |component, x, y, value| {
                let expected = match component {
                    Component::A => after.encode(component, 1.0),
                    _ => after.encode(component, expected[component.slot()]),
                };
                assert!(
                    (value - expected).abs() < 1e-7,
                    "{before:?} to {after:?} {method:?}: {x} {y}"
                );
            });
        }
    }
}

#[test]
fn bilinear_of_the_mirrored_picture_is_the_mirrored_picture() {
    // Even sizes, and sites in the middle of the mirrored axis, so that the mirror image has
    // its chroma in the same places.
    let mut rng = Rng::new(45);
    let mirrored = |image: &Image| {
        let mut copy = Image::with_layout(image.info, Layout::default());
        for component in image
            .info
            .format
            .info()
            .components
            .iter()
            .map(|c| c.component)
        {
            let (width, height) = image.component_size(component);
            for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                copy.set_code(component, width - 1 - x, y, image.code(component, x, y));
            }
        }
        copy
    };
    for _ in 0..100 {
        let sites = [ChromaSite::Centre, ChromaSite::Top, ChromaSite::Bottom];
        let mut even = || {
            let mut info = random_info(&mut rng, 6).with_site(sites[1]);
            info.site = rng.pick(&sites);
            info.width *= 2;
            info
        };
        let (from, to) = (even(), even());
        let source = random_image(from, &mut rng);
        let (all, into) = (Rect::full(&from), Rect::full(&to));
        let straight = convert(&source, all, &to, into, Method::Bilinear);
        let turned = convert(&mirrored(&source), all, &to, into, Method::Bilinear);
        for_each_sample(&straight, |component, x, y, value| {
            let width = turned
                .component(component)
                .expect("the same components")
                .width;
            let other = turned.value(component, width - 1 - x, y);
            assert!(
                (value - other).abs() < 1e-8,
                "{from:?} to {to:?} {component:?} {x} {y}"
            );
        });
    }
}

#[test]
fn odd_origins_of_subsampled_frames_read_their_own_pixels() {
    // A crop at odd coordinates has the luma of that crop, and chroma from where it lies.
    let mut rng = Rng::new(46);
    let from = FrameInfo::new(Format::Nv12, 9, 9);
    let source = random_image(from, &mut rng);
    let whole = FrameInfo::new(Format::Rgbp, 9, 9);
    let all = convert(
        &source,
        Rect::full(&from),
        &whole,
        Rect::full(&whole),
        Method::Bilinear,
    );
    let part = FrameInfo::new(Format::Rgbp, 5, 4);
    let rect = Rect::new(3, 1, 5, 4);
    let crop = convert(&source, rect, &part, Rect::full(&part), Method::Bilinear);
    for_each_sample(&crop, |component, x, y, value| {
        // Chroma is clamped to the samples of the rectangle, so the rim may differ.
        if (1..4).contains(&x) && (1..3).contains(&y) {
            let expected = all.value(component, x + 3, y + 1);
            assert!((value - expected).abs() < 1e-9, "{component:?} {x} {y}");
        }
    });
}

#[test]
#[should_panic(expected = "is not inside 4×4")]
fn rectangles_beyond_the_frame_are_refused() {
    let info = FrameInfo::new(Format::Rgb, 4, 4);
    let rect = Rect::new(3, 0, 2, 2);
    convert(
        &Image::new(info),
        Rect::full(&info),
        &info,
        rect,
        Method::Nearest,
    );
}
