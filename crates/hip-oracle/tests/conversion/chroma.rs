//! Chroma sites: what is read where, and what is written from where.

use hip_oracle::{
    ChromaSite, Component, Format, FrameInfo, Image, Matrix, Method, Range, Rect, Rng, convert,
};

use crate::{SUBSAMPLED, for_each_sample, random_image};

const BLUE: [f64; 3] = [0.0, 0.0, 255.0];
const RED: [f64; 3] = [255.0, 0.0, 0.0];

/// An RGB frame that is red before pixel `edge` of one axis and blue from it on.
fn red_then_blue(size: usize, edge: usize, horizontal: bool) -> Image {
    let (width, height) = if horizontal { (size, 4) } else { (4, size) };
    let mut image = Image::new(FrameInfo::new(Format::Rgb, width, height));
    image.fill_with(|component, px, py| {
        let position = if horizontal { px } else { py };
        (if position < edge as f64 { RED } else { BLUE })[component.slot()]
    });
    image
}

/// How blue each chroma sample along the axis is, from 0 (red) to 1, written with `site`.
fn written_blueness(source: &Image, site: ChromaSite, horizontal: bool) -> Vec<f64> {
    let info = FrameInfo::new(Format::I420, source.info.width, source.info.height)
        .with_colour(Matrix::Bt601, Range::Full)
        .with_site(site);
    let rect = Rect::full(&info);
    let real = convert(source, rect, &info, rect, Method::Bilinear);
    let length = if horizontal { info.width } else { info.height };
    let blueness = |component, [low, high]: [f64; 2]| -> Vec<f64> {
        (0..length.div_ceil(2))
            .map(|i| {
                let (x, y) = if horizontal { (i, 1) } else { (1, i) };
                (real.value(component, x, y) - low) / (high - low)
            })
            .collect()
    };
    // JFIF: Cb of red is 128 - 255·0.299/1.772, of blue 255.5; Cr of red 255.5, of blue
    // 128 - 255·0.114/1.402.
    let from_cb = blueness(Component::Cb, [128.0 - 255.0 * 0.299 / 1.772, 255.5]);
    let from_cr = blueness(Component::Cr, [255.5, 128.0 - 255.0 * 0.114 / 1.402]);
    for (first, second) in from_cb.iter().zip(&from_cr) {
        assert!(
            (first - second).abs() < 1e-9,
            "Cb and Cr lie in different places"
        );
    }
    from_cb
}

fn assert_close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() < 1e-9, "{what}: {found:?}, not {expected:?}");
    }
}

/// The blueness of the four chroma samples of eight pixels with an edge before pixel 4 and
/// before pixel 5, for a sample 0, 1/2 and 1 pixel from the even pixel.
const WRITTEN: [([f64; 4], [f64; 4]); 3] = [
    ([0.0, 0.0, 0.75, 1.0], [0.0, 0.0, 0.25, 1.0]),
    ([0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.5, 1.0]),
    ([0.0, 0.25, 1.0, 1.0], [0.0, 0.0, 0.75, 1.0]),
];

#[test]
fn an_edge_is_written_where_the_site_says() {
    for site in ChromaSite::ALL {
        let (h, v) = site.halves();
        for (halves, horizontal) in [(h, true), (v, false)] {
            let (before_4, before_5) = WRITTEN[halves as usize];
            for (edge, expected) in [(4, before_4), (5, before_5)] {
                let found = written_blueness(&red_then_blue(8, edge, horizontal), site, horizontal);
                assert_close(
                    &found,
                    &expected,
                    &format!("{site:?} {horizontal} edge {edge}"),
                );
            }
        }
    }
}

#[test]
fn boxes_at_the_rim_repeat_the_rim() {
    // The rim pixel stands in for what lies outside: at the start for offset 0, at an odd end
    // for all offsets (the last sample of five pixels covers 3, 4, 5 or 4, 5 or 4, 5, 6).
    for (halves, at_start, at_end) in [
        (0, [0.25, 1.0, 1.0], [0.0, 0.0, 0.75]),
        (1, [0.5, 1.0, 1.0], [0.0, 0.0, 1.0]),
    ] {
        let site = if halves == 0 {
            ChromaSite::TopLeft
        } else {
            ChromaSite::Centre
        };
        for horizontal in [true, false] {
            let found = written_blueness(&red_then_blue(5, 1, horizontal), site, horizontal);
            assert_close(&found, &at_start, "start");
            let found = written_blueness(&red_then_blue(5, 4, horizontal), site, horizontal);
            assert_close(&found, &at_end, "end");
        }
    }
    let found = written_blueness(&red_then_blue(5, 1, false), ChromaSite::BottomLeft, false);
    assert_close(&found, &[0.75, 1.0, 1.0], "bottom, start");
    let found = written_blueness(&red_then_blue(5, 4, false), ChromaSite::BottomLeft, false);
    assert_close(&found, &[0.0, 0.25, 1.0], "bottom, end");
}

#[test]
fn the_rim_is_that_of_the_destination() {
    // Ten pixels, the last one blue, become five: the last is half blue, and stands in for the
    // sixth under the box of the last chroma sample. The source's own rim would be all blue.
    for horizontal in [true, false] {
        let source = red_then_blue(10, 9, horizontal);
        let size = |length| if horizontal { (length, 4) } else { (4, length) };
        let (width, height) = size(5);
        let to = FrameInfo::new(Format::I420, width, height)
            .with_colour(Matrix::Bt601, Range::Full)
            .with_site(ChromaSite::Centre);
        let from = Rect::full(&source.info);
        let real = convert(&source, from, &to, Rect::full(&to), Method::Bilinear);
        let (x, y) = if horizontal { (2, 1) } else { (1, 2) };
        // Half way from red (JFIF 255.5) to blue.
        let expected = (255.5 + 128.0 - 255.0 * 0.114 / 1.402) / 2.0;
        let found = real.value(Component::Cr, x, y);
        assert!(
            (found - expected).abs() < 1e-9,
            "{horizontal}: {found}, not {expected}"
        );
    }
}

#[test]
fn an_edge_is_read_where_the_site_says() {
    // Cb is 128 in chroma samples 0, 1 and 178 in 2, 3; what eight pixels see of the step.
    let read = [
        [0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 1.0, 1.0],
        [0.0, 0.0, 0.0, 0.25, 0.75, 1.0, 1.0, 1.0],
        [0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 1.0],
    ];
    for (format, method) in SUBSAMPLED
        .into_iter()
        .flat_map(|f| Method::SIMPLE.map(|m| (f, m)))
    {
        for site in ChromaSite::ALL {
            let (h, v) = site.halves();
            for (halves, horizontal) in [(h, true), (v, false)] {
                let info = FrameInfo::new(format, 8, 8)
                    .with_colour(Matrix::Bt601, Range::Limited)
                    .with_site(site);
                let unit = f64::from(1 << (format.depth() - 8));
                let mut source = Image::new(info);
                source.fill_with(|component, px, py| match component {
                    Component::Y => 100.0 * unit,
                    Component::Cb if (if horizontal { px } else { py }) >= 4.0 => 178.0 * unit,
                    _ => 128.0 * unit,
                });
                let rgb = FrameInfo::new(Format::Rgbp, 8, 8);
                let rect = Rect::full(&rgb);
                let real = convert(&source, rect, &rgb, rect, method);
                let grey = 84.0 / 219.0 * 255.0;
                let step = 50.0 / 224.0 * 1.772 * 255.0;
                let found: Vec<f64> = (0..8)
                    .map(|i| if horizontal { (i, 3) } else { (3, i) })
                    .map(|(x, y)| (real.value(Component::B, x, y) - grey) / step)
                    .collect();
                assert_close(
                    &found,
                    &read[halves as usize],
                    &format!("{format:?} {site:?}"),
                );
            }
        }
    }
}

#[test]
fn equal_geometry_and_site_change_nothing() {
    let mut rng = Rng::new(31);
    for (from, to) in SUBSAMPLED
        .into_iter()
        .flat_map(|f| SUBSAMPLED.map(|t| (f, t)))
    {
        for site in ChromaSite::ALL {
            for (width, height) in (1..=5).flat_map(|w| (1..=5).map(move |h| (w, h))) {
                let before = FrameInfo::new(from, width, height).with_site(site);
                let after = FrameInfo::new(to, width, height).with_site(site);
                let source = random_image(before, &mut rng);
                let scale = f64::powi(2.0, to.depth() as i32 - from.depth() as i32);
                let rect = Rect::full(&before);
                let real = convert(&source, rect, &after, rect, rng.pick(&Method::ALL));
                for_each_sample(&real, |component, x, y, value| {
                    let expected = f64::from(source.code(component, x, y)) * scale;
                    assert!((value - expected).abs() < 1e-9, "{from:?} {to:?} {site:?}");
                });
            }
        }
    }
}

#[test]
fn another_site_moves_chroma_by_its_distance() {
    // From (h, v) to (h', v') sample i is read at i + (h' - h)/2 of the old samples, horizontally
    // and vertically; a ramp of 20 codes a sample shows where.
    for (from, to) in ChromaSite::ALL
        .into_iter()
        .flat_map(|f| ChromaSite::ALL.map(|t| (f, t)))
    {
        for horizontal in [true, false] {
            let before = FrameInfo::new(Format::I420, 12, 12).with_site(from);
            let mut source = Image::new(before);
            for (x, y) in (0..6).flat_map(|y| (0..6).map(move |x| (x, y))) {
                let index = if horizontal { x } else { y };
                source.set_code(Component::Cr, x, y, 40 + 20 * index as u32);
            }
            let after = before.with_site(to);
            let rect = Rect::full(&before);
            let (old, new) = (from.halves(), to.halves());
            let shift = if horizontal {
                new.0 - old.0
            } else {
                new.1 - old.1
            } as f64
                / 4.0;
            let real = convert(&source, rect, &after, rect, Method::Bilinear);
            let nearest = convert(&source, rect, &after, rect, Method::Nearest);
            for index in 1..5 {
                let (x, y) = if horizontal { (index, 2) } else { (2, index) };
                let expected = 40.0 + 20.0 * (index as f64 + shift);
                let found = real.value(Component::Cr, x, y);
                assert!(
                    (found - expected).abs() < 1e-9,
                    "{from:?} to {to:?}: {found} {expected}"
                );
                let expected = 40.0 + 20.0 * (index as f64 + shift + 0.5).floor();
                let found = nearest.value(Component::Cr, x, y);
                assert!(
                    (found - expected).abs() < 1e-9,
                    "{from:?} to {to:?}: {found} {expected}"
                );
            }
        }
    }
}
