//! Frames in bytes.

use crate::colour::{Matrix, Quantity, Range, quantise};
use crate::format::{Component, ComponentInfo, Family, Format};
use crate::geometry::{ChromaSite, luma_position};
use crate::rng::Rng;

/// What a frame is, apart from its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameInfo {
    /// The pixel format.
    pub format: Format,
    /// Luma pixels to a row.
    pub width: usize,
    /// Luma rows.
    pub height: usize,
    /// The matrix of Y'CbCr; means nothing for RGB.
    pub matrix: Matrix,
    /// The range of the code values, of RGB as well as of Y'CbCr.
    pub range: Range,
    /// Where chroma samples lie; means nothing without subsampling.
    pub site: ChromaSite,
}

impl FrameInfo {
    /// A frame with usual colours: BT.709 limited, chroma on the left, for YUV; full range for
    /// RGB.
    ///
    /// # Panics
    /// If the frame has no pixel.
    pub fn new(format: Format, width: usize, height: usize) -> Self {
        assert!(
            width > 0 && height > 0,
            "a frame of {width}×{height} has no pixel"
        );
        let range = match format.family() {
            Family::Yuv => Range::Limited,
            Family::Rgb => Range::Full,
        };
        Self {
            format,
            width,
            height,
            matrix: Matrix::Bt709,
            range,
            site: ChromaSite::Left,
        }
    }

    /// The same frame with other colours.
    pub const fn with_colour(mut self, matrix: Matrix, range: Range) -> Self {
        self.matrix = matrix;
        self.range = range;
        self
    }

    /// The same frame with chroma elsewhere.
    pub const fn with_site(mut self, site: ChromaSite) -> Self {
        self.site = site;
        self
    }

    /// Samples `(to a row, rows)` of plane `plane`: the frame's size over the subsampling,
    /// rounded up.
    ///
    /// # Panics
    /// If the format has no such plane.
    pub const fn plane_size(&self, plane: usize) -> (usize, usize) {
        let info = &self.format.info().planes[plane];
        (
            self.width.div_ceil(info.sub_x),
            self.height.div_ceil(info.sub_y),
        )
    }

    /// Bytes of a row of plane `plane` that hold samples.
    ///
    /// # Panics
    /// If the format has no such plane.
    pub const fn row_bytes(&self, plane: usize) -> usize {
        self.plane_size(plane).0 * self.format.info().planes[plane].step
    }

    /// How far sample 0 of a component lies `(right of, below)` the centre of luma pixel 0, in
    /// half luma pixels: the chroma site along axes where the component is subsampled, else 0.
    pub fn halves(&self, component: &ComponentInfo) -> (i64, i64) {
        let plane = &self.format.info().planes[component.plane];
        let (h, v) = self.site.halves();
        (
            if plane.sub_x > 1 { h } else { 0 },
            if plane.sub_y > 1 { v } else { 0 },
        )
    }

    /// The code value of a component's analogue value, neither rounded nor clamped.
    pub fn encode(&self, component: Component, analogue: f64) -> f64 {
        self.range
            .encode(quantity(component), self.format.depth(), analogue)
    }

    /// The analogue value of a component's code value.
    pub fn decode(&self, component: Component, code: f64) -> f64 {
        self.range
            .decode(quantity(component), self.format.depth(), code)
    }
}

fn quantity(component: Component) -> Quantity {
    match component {
        Component::Cb | Component::Cr => Quantity::Chroma,
        Component::A => Quantity::Alpha,
        Component::Y | Component::R | Component::G | Component::B => Quantity::Luma,
    }
}

/// How planes are laid out in their buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Bytes added to each row after its samples. A stride is then rounded up to whole code
    /// values (2 bytes for `P010_10LE`).
    pub row_padding: usize,
    /// Whole rows before the first and after the last row of samples.
    pub guard_rows: usize,
    /// Further bytes before the first row, so that it need not start on a round address.
    /// Rounded up to whole code values too.
    pub lead_bytes: usize,
}

impl Layout {
    /// Some layout with up to 40 bytes of padding and lead and one to three guard rows.
    pub const fn random(rng: &mut Rng) -> Self {
        Self {
            row_padding: rng.between(0, 40),
            guard_rows: rng.between(1, 3),
            lead_bytes: rng.between(0, 40),
        }
    }
}

/// One plane of a frame, in a buffer of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plane {
    /// The buffer: bytes before the samples, rows at every stride, bytes after them.
    pub data: Vec<u8>,
    /// Index in `data` of the first byte of the first row.
    pub offset: usize,
    /// Bytes from one row to the next.
    pub stride: usize,
    /// Bytes of a row that hold samples, at most the stride.
    pub row_bytes: usize,
    /// Rows.
    pub rows: usize,
}

impl Plane {
    /// Whether byte `index` of `data` belongs to a sample.
    pub const fn is_sample_byte(&self, index: usize) -> bool {
        if index < self.offset {
            return false;
        }
        let (row, column) = (
            (index - self.offset) / self.stride,
            (index - self.offset) % self.stride,
        );
        row < self.rows && column < self.row_bytes
    }
}

/// A frame: what it is, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// What the frame is.
    pub info: FrameInfo,
    /// The planes, as many as the format has.
    pub planes: Vec<Plane>,
}

impl Image {
    /// A frame of zero bytes without padding.
    pub fn new(info: FrameInfo) -> Self {
        Self::with_layout(info, Layout::default())
    }

    /// A frame of zero bytes, its planes all laid out as `layout` says.
    pub fn with_layout(info: FrameInfo, layout: Layout) -> Self {
        let unit = info.format.info().bytes;
        let strides: Vec<usize> = (0..info.format.info().planes.len())
            .map(|plane| (info.row_bytes(plane) + layout.row_padding).next_multiple_of(unit))
            .collect();
        Self::with_strides(info, &strides, layout.guard_rows, layout.lead_bytes)
    }

    /// A frame of zero bytes with the given stride for each plane, `guard_rows` and `lead_bytes`
    /// as in [`Layout`].
    ///
    /// # Panics
    /// If there are not as many strides as planes, or one is too short for a row.
    pub fn with_strides(
        info: FrameInfo,
        strides: &[usize],
        guard_rows: usize,
        lead_bytes: usize,
    ) -> Self {
        let format = info.format.info();
        assert_eq!(
            strides.len(),
            format.planes.len(),
            "{} takes one stride a plane",
            format.name
        );
        let lead = lead_bytes.next_multiple_of(format.bytes);
        let planes = strides.iter().enumerate().map(|(plane, &stride)| {
            let row_bytes = info.row_bytes(plane);
            assert!(
                stride >= row_bytes,
                "plane {plane}: {stride} bytes hold no row"
            );
            let rows = info.plane_size(plane).1;
            let offset = lead + guard_rows * stride;
            let data = vec![0; offset + (rows + guard_rows) * stride];
            Plane {
                data,
                offset,
                stride,
                row_bytes,
                rows,
            }
        });
        Self {
            info,
            planes: planes.collect(),
        }
    }

    /// Samples `(to a row, rows)` of a component.
    ///
    /// # Panics
    /// If the format has no such component.
    pub fn component_size(&self, component: Component) -> (usize, usize) {
        self.info.plane_size(self.location(component).plane)
    }

    /// The stored word of sample (`x`, `y`) of a component, padding bits and all.
    ///
    /// # Panics
    /// If there is no such component or sample.
    pub fn word(&self, component: Component, x: usize, y: usize) -> u32 {
        let (plane, start) = self.index(component, x, y);
        let bytes = &self.planes[plane].data[start..start + self.info.format.info().bytes];
        bytes
            .iter()
            .rev()
            .fold(0, |word, &byte| word << 8 | u32::from(byte))
    }

    /// The code value of sample (`x`, `y`) of a component.
    ///
    /// # Panics
    /// If there is no such component or sample.
    pub fn code(&self, component: Component, x: usize, y: usize) -> u32 {
        self.word(component, x, y) >> self.info.format.info().shift
    }

    /// Stores a code value and sets the padding bits to 0.
    ///
    /// # Panics
    /// If there is no such component or sample, or the code needs more bits than the format has.
    pub fn set_code(&mut self, component: Component, x: usize, y: usize, code: u32) {
        assert!(
            code <= self.info.format.max_code(),
            "{code} is no code of {:?}",
            self.info.format
        );
        self.set_word(component, x, y, code << self.info.format.info().shift);
    }

    /// Stores a word, padding bits and all.
    ///
    /// # Panics
    /// If there is no such component or sample.
    pub fn set_word(&mut self, component: Component, x: usize, y: usize, word: u32) {
        let (plane, start) = self.index(component, x, y);
        let bytes = self.info.format.info().bytes;
        self.planes[plane].data[start..start + bytes].copy_from_slice(&word.to_le_bytes()[..bytes]);
    }

    /// Stores in every sample the code that `code` gives for the component and the sample's
    /// position in luma pixels (pixel centres at integers, chroma where the site puts it),
    /// rounded and clamped.
    pub fn fill_with(&mut self, mut code: impl FnMut(Component, f64, f64) -> f64) {
        let format = self.info.format.info();
        for location in format.components {
            let plane = &format.planes[location.plane];
            let (h, v) = self.info.halves(location);
            let (width, height) = self.info.plane_size(location.plane);
            for y in 0..height {
                for x in 0..width {
                    let px = luma_position(x as i64, plane.sub_x, h).to_f64();
                    let py = luma_position(y as i64, plane.sub_y, v).to_f64();
                    let value = quantise(code(location.component, px, py), format.depth);
                    self.set_code(location.component, x, y, value);
                }
            }
        }
    }

    /// Stores random words in every sample, padding bits included. One sample in eight is the
    /// lowest or highest code.
    pub fn fill_random(&mut self, rng: &mut Rng) {
        let format = self.info.format.info();
        for location in format.components {
            let (width, height) = self.info.plane_size(location.plane);
            for y in 0..height {
                for x in 0..width {
                    let padding = rng.below(1 << format.shift) as u32;
                    let code = match rng.below(16) {
                        0 => 0,
                        1 => self.info.format.max_code(),
                        _ => rng.below(1 << format.depth) as u32,
                    };
                    self.set_word(location.component, x, y, code << format.shift | padding);
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

    fn location(&self, component: Component) -> &'static ComponentInfo {
        let format = self.info.format;
        match format.component(component) {
            Some(location) => location,
            None => panic!("{} has no component {component:?}", format.name()),
        }
    }

    /// The plane of a sample and the index of its first byte.
    fn index(&self, component: Component, x: usize, y: usize) -> (usize, usize) {
        let location = self.location(component);
        let (width, height) = self.info.plane_size(location.plane);
        assert!(
            x < width && y < height,
            "sample ({x}, {y}) of {component:?} in {width}×{height}"
        );
        let plane = &self.planes[location.plane];
        let step = self.info.format.info().planes[location.plane].step;
        (
            location.plane,
            plane.offset + y * plane.stride + x * step + location.offset,
        )
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
    f64::from(info.format.max_code()) * sixteenths / 16.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lie_where_the_format_says() {
        let info = FrameInfo::new(Format::P010Le, 3, 3);
        let mut image = Image::with_strides(info, &[10, 12], 1, 3);
        assert_eq!(image.planes[0].offset, 4 + 10);
        image.set_code(Component::Y, 2, 1, 0x3a5);
        let at = 4 + 10 + 10 + 4;
        assert_eq!(image.planes[0].data[at..at + 2], [0x40, 0xe9]);
        image.set_word(Component::Cr, 1, 1, 0x1234);
        let at = 4 + 12 + 12 + 4 + 2;
        assert_eq!(image.planes[1].data[at..at + 2], [0x34, 0x12]);
        assert_eq!(image.code(Component::Cr, 1, 1), 0x1234 >> 6);

        let mut image = Image::new(FrameInfo::new(Format::Bgra, 2, 1));
        for (component, code) in [
            (Component::R, 1),
            (Component::G, 2),
            (Component::B, 3),
            (Component::A, 4),
        ] {
            image.set_code(component, 1, 0, code);
        }
        assert_eq!(image.planes[0].data, [0, 0, 0, 0, 3, 2, 1, 4]);
    }

    #[test]
    fn bytes_of_one_pixel_in_each_format() {
        // Component codes 1, 2, 3 and alpha 4, in the order Y, Cb, Cr or R, G, B.
        let expected: [(Format, &[&[u8]]); 7] = [
            (Format::Nv12, &[&[1], &[2, 3]]),
            (Format::I420, &[&[1], &[2], &[3]]),
            (Format::P010Le, &[&[0x40, 0], &[0x80, 0, 0xc0, 0]]),
            (Format::Rgba, &[&[1, 2, 3, 4]]),
            (Format::Bgra, &[&[3, 2, 1, 4]]),
            (Format::Rgb, &[&[1, 2, 3]]),
            (Format::Rgbp, &[&[1], &[2], &[3]]),
        ];
        for (format, planes) in expected {
            let mut image = Image::new(FrameInfo::new(format, 1, 1));
            image.fill_with(|component, _, _| component.slot() as f64 + 1.0);
            let found: Vec<&[u8]> = image.planes.iter().map(|plane| &plane.data[..]).collect();
            assert_eq!(found, planes, "{format:?}");
        }
    }

    #[test]
    fn plane_sizes_round_up() {
        for (width, height, chroma) in [(1, 1, (1, 1)), (2, 3, (1, 2)), (5, 4, (3, 2))] {
            let info = FrameInfo::new(Format::I420, width, height);
            assert_eq!(info.plane_size(0), (width, height));
            assert_eq!(info.plane_size(2), chroma);
        }
        assert_eq!(FrameInfo::new(Format::P010Le, 5, 1).row_bytes(1), 12);
        assert_eq!(FrameInfo::new(Format::Rgb, 5, 1).row_bytes(0), 15);
    }

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
    fn gradient_is_linear_and_not_clamped() {
        for format in Format::ALL {
            for site in ChromaSite::ALL {
                let info = FrameInfo::new(format, 7, 5).with_site(site);
                let top = f64::from(format.max_code());
                for component in format.info().components.iter().map(|c| c.component) {
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
                let last = format.info().components[2];
                let (h, v) = info.halves(&last);
                let expected = gradient(&info, last.component, h as f64 / 2.0, v as f64 / 2.0);
                let found = f64::from(image.code(last.component, 0, 0));
                assert!((found - expected).abs() <= 0.5, "{format:?} {site:?}");
            }
        }
    }
}
