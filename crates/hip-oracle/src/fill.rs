//! Pictures to convert.

use crate::format::{Component, Number};
use crate::geometry::luma_position;
use crate::image::Image;
use crate::info::FrameInfo;
use crate::rng::Rng;

impl Image {
    /// Stores in every sample the code that `code` gives for the component and the sample's
    /// position in luma pixels (pixel centres at integers, chroma where the site puts it),
    /// rounded and clamped. Other bits are set as a conversion has to set them.
    pub fn fill_with(&mut self, mut code: impl FnMut(Component, f64, f64) -> f64) {
        self.clear_samples();
        for location in &self.info.format.info().components {
            let (h, v) = self.info.halves(location);
            let (width, height) = self.info.samples(location);
            for y in 0..height {
                for x in 0..width {
                    let px = luma_position(x as i64, location.sub_x, h).to_f64();
                    let py = luma_position(y as i64, location.sub_y, v).to_f64();
                    self.set_value_at(location, x, y, code(location.component, px, py));
                }
            }
        }
    }

    /// Stores random bits in every row, padding included, so that every sample is random; one
    /// sample in eight is then set to the lowest or highest code. Floating-point samples are in
    /// 0..1, ends included.
    pub fn fill_random(&mut self, rng: &mut Rng) {
        for plane in &mut self.planes {
            for row in 0..plane.rows {
                let start = plane.offset + row * plane.stride;
                for byte in &mut plane.data[start..start + plane.row_bytes] {
                    *byte = rng.next_u64() as u8;
                }
            }
        }
        for location in &self.info.format.info().components {
            let (width, height) = self.info.samples(location);
            for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                match (rng.below(16), location.number) {
                    (0, _) => self.set_value_at(location, x, y, 0.0),
                    (1, number) => {
                        self.set_value_at(location, x, y, f64::from(number.max_code()));
                    }
                    (_, Number::Bits(_)) => {}
                    (_, Number::F16 | Number::F32) => {
                        self.set_value_at(location, x, y, rng.unit());
                    }
                }
            }
        }
    }

    /// A smooth picture: every component is [`gradient`] of the position.
    pub fn fill_gradient(&mut self) {
        let info = self.info;
        self.fill_with(|component, px, py| gradient(&info, component, px, py));
    }

    /// Sets every byte of every buffer, samples and all.
    pub fn fill_bytes(&mut self, value: u8) {
        for plane in &mut self.planes {
            plane.data.fill(value);
        }
    }
}

/// The code value, not rounded, of the picture that [`Image::fill_gradient`] draws: linear in
/// the position in luma pixels, with another slope for each component, and between 1/16 and
/// 15/16 of the codes within the frame, so that nothing is clamped.
pub fn gradient(info: &FrameInfo, component: Component, px: f64, py: f64) -> f64 {
    // Where the component starts and how far it rises along each axis, in sixteenths.
    let (start, across, down) = match component {
        Component::Y | Component::R => (2.0, 7.0, 5.0),
        Component::Cb | Component::G => (13.0, -8.0, -2.0),
        Component::Cr | Component::B => (5.0, -3.0, 9.0),
        Component::A => (4.0, 6.0, 4.0),
    };
    let relative = |position: f64, size: usize| (position + 0.5) / (size as f64 + 1.0);
    let sixteenths = start + across * relative(px, info.width) + down * relative(py, info.height);
    let number = info.format.component(component);
    let number = number.map_or_else(|| info.format.number(), |location| location.number);
    f64::from(number.max_code()) * sixteenths / 16.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;
    use crate::geometry::ChromaSite;

    #[test]
    fn random_fill_follows_the_seed_and_reaches_the_ends() {
        let info = FrameInfo::new(Format::P010Le, 40, 40);
        let fill = |seed| {
            let mut image = Image::new(info);
            image.fill_random(&mut Rng::new(seed));
            image
        };
        let image = fill(5);
        assert_eq!(image, fill(5));
        assert_ne!(image, fill(6));
        let words: Vec<u32> = (0..1600)
            .map(|i| image.word(Component::Y, i % 40, i / 40))
            .collect();
        assert!(words.iter().any(|word| word >> 6 == 0) && words.iter().any(|w| w >> 6 == 1023));
        assert!(words.iter().any(|word| word & 63 != 0));
    }

    #[test]
    fn random_floats_are_colours() {
        for format in [Format::RgbF16, Format::RgbpF32] {
            let mut image = Image::new(FrameInfo::new(format, 20, 20));
            image.fill_random(&mut Rng::new(8));
            let values: Vec<f64> = (0..400)
                .map(|i| image.value(Component::G, i % 20, i / 20))
                .collect();
            assert!(values.iter().all(|value| (0.0..=1.0).contains(value)));
            assert!(values.contains(&0.0) && values.contains(&1.0));
        }
    }

    #[test]
    fn gradient_is_linear_and_not_clamped() {
        for format in Format::ALL {
            for site in ChromaSite::ALL {
                let info = FrameInfo::new(format, 7, 5).with_site(site);
                let components = &format.info().components;
                for location in components {
                    let (component, top) = (location.component, location.number.max_code());
                    let top = f64::from(top);
                    for (px, py) in [(0.0, 0.0), (6.0, 0.0), (0.0, 4.0), (6.0, 4.0), (7.0, 5.0)] {
                        let code = gradient(&info, component, px, py);
                        assert!(
                            (top / 16.0..=top * 15.0 / 16.0).contains(&code),
                            "{component:?}"
                        );
                    }
                    let middle = gradient(&info, component, 3.0, 2.0);
                    let ends =
                        gradient(&info, component, 0.0, 4.0) + gradient(&info, component, 6.0, 0.0);
                    assert!((middle - ends / 2.0).abs() < 1e-9);
                }
                let mut image = Image::new(info);
                image.fill_gradient();
                let last = &components[components.len() - 1];
                let (h, v) = info.halves(last);
                let expected = gradient(&info, last.component, h as f64 / 2.0, v as f64 / 2.0);
                let found = image.value(last.component, 0, 0);
                assert!((found - expected).abs() <= 0.5, "{format:?} {site:?}");
            }
        }
    }
}
