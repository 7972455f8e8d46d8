//! Chroma sites by what they are for: a colour edge lands where the site says.

use hip_oracle::{ChromaSite, Component, Format, FrameInfo, Image, Layout, Matrix, Method, Range};

use crate::case::Case;
use crate::lab::Lab;

/// How far an edge may be from its place, in chroma samples.
const TOLERANCE: f64 = 0.05;

/// A length along one axis before and after, and how it is read: smaller, the same, larger. Ratios
/// are whole, so that samples lie alike on both sides of an edge and add up to its place.
const LENGTHS: [(usize, usize, Method); 4] = [
    (48, 24, Method::Area),
    (48, 48, Method::Bilinear),
    (24, 48, Method::Bilinear),
    (16, 48, Method::Bilinear),
];

/// Width and height of a frame so long along one axis.
fn size(length: usize, across: bool) -> (usize, usize) {
    if across { (length, 6) } else { (6, length) }
}

/// Where the step from `low` to `high` lies in a row of samples, counted from the left edge of the
/// first one: each sample counts as far as it is still `low`.
fn place(image: &Image, component: Component, across: bool, [low, high]: [f64; 2]) -> f64 {
    let (width, height) = image.component_size(component);
    let length = if across { width } else { height };
    let value = |i: usize| {
        let (x, y) = if across {
            (i, height / 2)
        } else {
            (width / 2, i)
        };
        image.value(component, x, y)
    };
    (0..length).map(|i| (high - value(i)) / (high - low)).sum()
}

/// Converts a frame and gives where its edge came to lie; `ends` are the samples at either end.
fn converted_place(
    lab: &mut Lab,
    source: &Image,
    destination: FrameInfo,
    method: Method,
    component: Component,
    across: bool,
) -> f64 {
    let case = Case::new(source.info, destination, method, 41);
    let found = lab.convert(&case, source, Layout::default());
    let (width, height) = found.component_size(component);
    let ends = [
        found.value(component, 0, 0),
        found.value(component, width - 1, height - 1),
    ];
    assert!((ends[1] - ends[0]).abs() > 20.0, "{case}: there is no edge");
    place(&found, component, across, ends)
}

fn assert_place(found: f64, expected: f64, tolerance: f64, what: &str) {
    let off = (found - expected).abs();
    assert!(off < tolerance, "{what}: at {found}, not at {expected}");
}

/// The site's offset along an axis in luma pixels, 0 where the format is not subsampled.
fn offset(format: Format, site: ChromaSite, across: bool) -> (f64, f64) {
    let (sub_x, sub_y) = format.chroma_subsampling();
    let (h, v) = site.halves();
    match (if across { sub_x } else { sub_y }, across) {
        (1, _) => (1.0, 0.0),
        (_, true) => (2.0, h as f64 / 2.0),
        (_, false) => (2.0, v as f64 / 2.0),
    }
}

/// Subsampled formats of each kind of plane.
const SUBSAMPLED: [Format; 5] = [
    Format::I420,
    Format::Nv12,
    Format::P010Le,
    Format::Y42b,
    Format::V210,
];

/// For each site, axis and change of length.
fn for_each(mut check: impl FnMut(&mut Lab, ChromaSite, bool, (usize, usize, Method))) {
    let Some(mut lab) = Lab::open() else { return };
    for site in ChromaSite::ALL {
        for across in [true, false] {
            for lengths in LENGTHS {
                check(&mut lab, site, across, lengths);
            }
        }
    }
}

fn frame(format: Format, (width, height): (usize, usize), site: ChromaSite) -> FrameInfo {
    FrameInfo::new(format, width, height)
        .with_colour(Matrix::Bt601, Range::Full)
        .with_site(site)
}

/// A frame whose chroma steps up before chroma sample `first`, or whose blue before pixel `first`.
fn stepped(info: FrameInfo, stepping: Component, first: usize, across: bool) -> Image {
    let mut image = Image::new(info);
    image.clear_samples();
    for location in &info.format.info().components {
        let top = f64::from(location.number.max_code());
        let (width, height) = info.samples(location);
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            let is_high = (if across { x } else { y }) >= first;
            let share = match (location.component == stepping, is_high) {
                (true, true) => 0.7,
                (true, false) => 0.3,
                (false, _) => 0.5,
            };
            image.set_value(location.component, x, y, share * top);
        }
    }
    image
}

#[test]
fn read_into_rgb() {
    for_each(|lab, site, across, (length, new_length, method)| {
        for format in SUBSAMPLED {
            let (step, offset) = offset(format, site, across);
            let first = length / 2 / step as usize;
            let source = frame(format, size(length, across), site);
            let image = stepped(source, Component::Cb, first, across);
            let destination = frame(Format::Rgbp, size(new_length, across), site);
            let found = converted_place(lab, &image, destination, method, Component::B, across);
            // Half way from one chroma sample to the next, from the frame's edge half a pixel off.
            let luma = step * (first as f64 - 0.5) + offset + 0.5;
            let scale = new_length as f64 / length as f64;
            let what = format!("{format:?} {site:?} {across} {length} to {new_length}");
            assert_place(found, luma * scale, TOLERANCE * step * scale, &what);
        }
    });
}

#[test]
fn written_from_rgb() {
    for_each(|lab, site, across, (length, new_length, method)| {
        for format in SUBSAMPLED {
            let (step, offset) = offset(format, site, across);
            for first in [length / 2, length / 2 + 1] {
                let source = frame(Format::Rgbp, size(length, across), site);
                let image = stepped(source, Component::B, first, across);
                let destination = frame(format, size(new_length, across), site);
                let found =
                    converted_place(lab, &image, destination, method, Component::Cb, across);
                let luma = first as f64 * new_length as f64 / length as f64 - 0.5;
                // Chroma sample i lies at step·i + offset, half a sample from its edges.
                let expected = (luma - offset) / step + 0.5;
                let what = format!("{format:?} {site:?} {across} {length} to {new_length}");
                assert_place(found, expected, TOLERANCE, &what);
            }
        }
    });
}

#[test]
fn from_site_to_site() {
    for_each(|lab, site, across, (length, new_length, method)| {
        for to_site in ChromaSite::ALL {
            for (from, to) in [
                (Format::I420, Format::Nv12),
                (Format::P010Le, Format::Y42b),
                (Format::V210, Format::I420),
            ] {
                let (from_step, from_offset) = offset(from, site, across);
                let (to_step, to_offset) = offset(to, to_site, across);
                let first = length / 2 / from_step as usize;
                let source = frame(from, size(length, across), site);
                let image = stepped(source, Component::Cb, first, across);
                let destination = frame(to, size(new_length, across), to_site);
                let found =
                    converted_place(lab, &image, destination, method, Component::Cb, across);
                let luma = from_step * (first as f64 - 0.5) + from_offset + 0.5;
                let luma = luma * new_length as f64 / length as f64 - 0.5;
                let expected = (luma - to_offset) / to_step + 0.5;
                let what = format!(
                    "{from:?} {site:?} to {to:?} {to_site:?} {across} {length} {new_length}"
                );
                assert_place(found, expected, TOLERANCE, &what);
            }
        }
    });
}
