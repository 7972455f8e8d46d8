//! Interlaced frames.

use hip_oracle::{
    ChromaSite, Component, Conversion, Format, FrameInfo, Image, Matrix, Method, Orientation,
    Range, Rng,
};

use crate::{for_each_sample, random_image};

#[test]
fn a_field_of_one_colour_never_touches_the_other() {
    // Top field dark, bottom field light, in luma and in chroma.
    let mut rng = Rng::new(151);
    for method in Method::ALL {
        for (from, to) in [
            (Format::Nv12, Format::I420),
            (Format::Nv12, Format::Y42b),
            (Format::Yuy2, Format::P010Le),
            (Format::Rgb, Format::Bgra),
        ] {
            for orientation in [Orientation::Identity, Orientation::Horizontal] {
                let before = FrameInfo::new(from, 8, 12).with_site(rng.pick(&ChromaSite::ALL));
                let after = FrameInfo::new(to, rng.between(3, 12), rng.between(5, 20))
                    .with_site(rng.pick(&ChromaSite::ALL));
                let mut source = Image::new(before);
                for location in &from.info().components {
                    let (width, height) = before.samples(location);
                    for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                        let code = if y % 2 == 0 { 60 } else { 180 };
                        source.set_code(location.component, x, y, code);
                    }
                }
                let conversion = Conversion {
                    method,
                    orientation,
                    interlaced: true,
                    ..Conversion::new(before, after)
                };
                let scale = f64::from(after.format.max_code() + 1) / 256.0;
                for_each_sample(&conversion.convert(&source), |component, x, y, value| {
                    let level = if y % 2 == 0 { 60.0 } else { 180.0 };
                    let expected = if component == Component::A {
                        255.0
                    } else {
                        level * scale
                    };
                    assert!(
                        (value - expected).abs() < 1e-6,
                        "{conversion:?} {component:?} {x} {y}: {value}"
                    );
                });
            }
        }
    }
}

#[test]
fn a_still_ramp_stays_where_it_is() {
    // A vertical ramp that both fields show: every line of the scaled frame, and every chroma line
    // of either field, has the value of its position. Positions of the frame, that is.
    for (from_site, to_site) in [
        (ChromaSite::Left, ChromaSite::Left),
        (ChromaSite::TopLeft, ChromaSite::Left),
        (ChromaSite::BottomLeft, ChromaSite::TopLeft),
    ] {
        for height in [24, 48, 36, 17] {
            let before = FrameInfo::new(Format::A420_16Le, 4, 24)
                .with_colour(Matrix::Bt601, Range::Full)
                .with_site(from_site);
            let after = FrameInfo {
                height,
                site: to_site,
                ..before
            };
            let ramp = |py: f64| 10000.0 + 1000.0 * py;
            let mut source = Image::new(before);
            for location in &before.format.info().components {
                let (width, rows) = before.samples(location);
                let (_, v) = before.halves(location);
                for (x, y) in (0..rows).flat_map(|y| (0..width).map(move |x| (x, y))) {
                    // Frame chroma line 2j+f lies at 4j + 2f + v: as in a progressive frame.
                    let py = (location.sub_y * y) as f64 + v as f64 / 2.0;
                    source.set_code(location.component, x, y, ramp(py) as u32);
                }
            }
            let conversion = Conversion {
                interlaced: true,
                ..Conversion::new(before, after)
            };
            for_each_sample(&conversion.convert(&source), |component, x, y, value| {
                let location = after.format.component(component).expect("a component");
                let (_, v) = after.halves(location);
                let position = (location.sub_y * y) as f64 + v as f64 / 2.0;
                let seen = (position + 0.5) * 24.0 / height as f64 - 0.5;
                if (4.0..19.0).contains(&seen) {
                    let error = (value - ramp(seen)).abs();
                    assert!(error < 1e-6, "{height} {component:?} {x} {y}: {error}");
                }
            });
        }
    }
}

#[test]
fn rgb_ramps_become_chroma_in_the_right_place() {
    // Written chroma lies where chroma is read: a ramp in R'G'B' is one in Cr at the positions of
    // the fields' chroma lines.
    for site in ChromaSite::ALL {
        let from = FrameInfo::new(Format::Rgba64Le, 4, 24);
        let to = FrameInfo::new(Format::A420_16Le, 4, 24)
            .with_colour(Matrix::Bt709, Range::Full)
            .with_site(site);
        let mut source = Image::new(from);
        source.fill_with(|component, _, py| match component {
            Component::R => 20000.0 + 1000.0 * py,
            _ => 20000.0,
        });
        for method in [Method::Bilinear, Method::Area, Method::Auto] {
            let conversion = Conversion {
                method,
                interlaced: true,
                ..Conversion::new(from, to)
            };
            let real = conversion.convert(&source);
            let (_, v) = site.halves();
            for row in 3..9 {
                let position = 2.0 * row as f64 + v as f64 / 2.0;
                // Cr = 0.5·R' of what is added to grey, in full range.
                let expected = 32768.0 + 0.5 * 1000.0 * position;
                let found = real.value(Component::Cr, 1, row);
                let error = (found - expected).abs();
                assert!(error < 1e-6, "{site:?} {method:?} {row}: {error}");
            }
        }
    }
}

#[test]
fn frames_with_less_than_a_line_of_each_field() {
    let mut rng = Rng::new(152);
    for method in Method::ALL {
        for (height, new_height) in [(1, 1), (1, 5), (2, 3), (3, 1), (2, 2)] {
            let before = FrameInfo::new(Format::Nv12, 3, height);
            let after = FrameInfo::new(Format::I420, 4, new_height);
            let source = random_image(before, &mut rng);
            let conversion = Conversion {
                method,
                interlaced: true,
                ..Conversion::new(before, after)
            };
            // The value of a neighbour is better than none: nothing is 0 that was not.
            let mut lowest = f64::INFINITY;
            for location in &before.format.info().components {
                let (width, rows) = before.samples(location);
                for (x, y) in (0..rows).flat_map(|y| (0..width).map(move |x| (x, y))) {
                    lowest = lowest.min(f64::from(source.code(location.component, x, y)));
                }
            }
            let real = conversion.convert(&source);
            if method.is_simple() || method == Method::Area {
                for_each_sample(&real, |_, _, _, value| assert!(value >= lowest - 1e-9));
            }
        }
    }
}
