//! What must come through unchanged, to the bit.

use hip_oracle::{ChromaSite, Component, Format, FrameInfo, Image, Layout, Method, Rng};

use crate::case::Case;
use crate::lab::Lab;
use crate::random::random_frame;

/// Converts noise between two formats of the same size, colour and site.
fn converted(
    lab: &mut Lab,
    from: Format,
    to: Format,
    site: ChromaSite,
    method: Method,
) -> (Image, Image) {
    let mut rng = Rng::new(31);
    let source = FrameInfo::new(from, 141, 19).with_site(site);
    let destination = FrameInfo::new(to, 141, 19).with_site(site);
    let case = Case::new(source, destination, method, 32);
    let mut image = Image::with_layout(source, Layout::random(&mut rng));
    image.fill_random(&mut rng);
    let found = lab.convert(&case, &image, Layout::random(&mut rng));
    (image, found)
}

fn assert_component(source: &Image, found: &Image, component: Component) {
    let (width, height) = found.component_size(component);
    for y in 0..height {
        for x in 0..width {
            let (from, to) = (source.code(component, x, y), found.code(component, x, y));
            assert_eq!(from, to, "{component:?} at ({x}, {y}) of {:?}", found.info);
        }
    }
}

#[test]
fn subsampled_formats_of_one_depth_keep_every_value() {
    let Some(mut lab) = Lab::open() else { return };
    let eight = [Format::Nv12, Format::I420];
    let pairs = eight
        .into_iter()
        .flat_map(|from| eight.map(|to| (from, to)));
    for (from, to) in pairs.chain([(Format::P010Le, Format::P010Le)]) {
        for site in ChromaSite::ALL {
            for method in Method::SIMPLE {
                let (source, found) = converted(&mut lab, from, to, site, method);
                for component in [Component::Y, Component::Cb, Component::Cr] {
                    assert_component(&source, &found, component);
                }
            }
        }
    }
}

#[test]
fn rgb_formats_keep_every_value() {
    let Some(mut lab) = Lab::open() else { return };
    let rgb = [Format::Rgba, Format::Bgra, Format::Rgb, Format::Rgbp];
    for (from, to) in rgb.into_iter().flat_map(|from| rgb.map(|to| (from, to))) {
        for method in Method::SIMPLE {
            let (source, found) = converted(&mut lab, from, to, ChromaSite::Left, method);
            for component in [Component::R, Component::G, Component::B] {
                assert_component(&source, &found, component);
            }
            if to.component(Component::A).is_none() {
                continue;
            }
            if from.component(Component::A).is_some() {
                assert_component(&source, &found, Component::A);
            } else {
                let (width, height) = found.component_size(Component::A);
                let all = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
                assert!(
                    all.into_iter()
                        .all(|(x, y)| found.code(Component::A, x, y) == 255)
                );
            }
        }
    }
}

/// Eight bits are the ten bits' high bits in limited range, so there and back changes nothing.
#[test]
fn ten_bits_and_back() {
    let Some(mut lab) = Lab::open() else { return };
    let (source, wide) = converted(
        &mut lab,
        Format::Nv12,
        Format::P010Le,
        ChromaSite::Left,
        Method::Bilinear,
    );
    let case = Case::new(wide.info, source.info, Method::Bilinear, 33);
    let found = lab.convert(&case, &wide, Layout::default());
    for component in [Component::Y, Component::Cb, Component::Cr] {
        assert_component(&source, &found, component);
        let (width, _) = wide.component_size(component);
        for x in 0..width {
            assert_eq!(wide.code(component, x, 0), 4 * source.code(component, x, 0));
        }
    }
}

/// A frame converted to what it already is comes out byte for byte, in every format and by every
/// method that reads samples as they are.
#[test]
fn nothing_to_do_changes_no_byte() {
    let Some(mut lab) = Lab::open() else { return };
    let mut rng = Rng::new(34);
    for format in Format::ALL {
        for method in Method::ALL {
            let info = random_frame(format, (70, 20), &mut rng);
            let mut noise = Image::new(info);
            noise.fill_random(&mut rng);
            // The same samples with the bits beside them as a conversion writes them.
            let mut source = Image::with_layout(info, Layout::random(&mut rng));
            source.clear_samples();
            for component in format.info().components.iter().map(|c| c.component) {
                let (width, height) = noise.component_size(component);
                for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                    source.set_code(component, x, y, noise.code(component, x, y));
                }
            }
            let case = Case::new(info, info, method, rng.next_u64());
            let found = lab.convert(&case, &source, Layout::random(&mut rng));
            for (index, (from, to)) in source.planes.iter().zip(&found.planes).enumerate() {
                for row in 0..from.rows {
                    let bytes = |plane: &hip_oracle::Plane| {
                        let start = plane.offset + row * plane.stride;
                        plane.data[start..start + plane.row_bytes].to_vec()
                    };
                    assert_eq!(bytes(from), bytes(to), "{case}: row {row} of plane {index}");
                }
            }
        }
    }
}
