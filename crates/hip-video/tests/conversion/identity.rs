//! What must come through unchanged, to the bit.

use hip_oracle::{ChromaSite, Component, Format, FrameInfo, Image, Layout, Method, Rng};

use crate::lab::{Case, Lab};

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
            for method in Method::ALL {
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
        for method in Method::ALL {
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
