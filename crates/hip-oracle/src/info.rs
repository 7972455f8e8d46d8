//! What a frame is, apart from its bytes.

use crate::colour::{Matrix, Quantity, Range};
use crate::format::{Component, ComponentInfo, Family, Format, Number};
use crate::geometry::ChromaSite;
use crate::primaries::Primaries;
use crate::transfer::Transfer;

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
    /// The transfer function; used where light is asked for.
    pub transfer: Transfer,
    /// The primaries; used where light is asked for.
    pub primaries: Primaries,
    /// Whether colours are multiplied by alpha; means nothing without alpha.
    pub premultiplied: bool,
}

impl FrameInfo {
    /// A frame with usual colours: BT.709 limited, chroma on the left, for YUV; full range sRGB
    /// for RGB; straight alpha.
    ///
    /// # Panics
    /// If the frame has no pixel.
    pub fn new(format: Format, width: usize, height: usize) -> Self {
        assert!(
            width > 0 && height > 0,
            "a frame of {width}×{height} has no pixel"
        );
        let (range, transfer) = match format.family() {
            Family::Yuv => (Range::Limited, Transfer::Bt709),
            Family::Rgb => (Range::Full, Transfer::Srgb),
        };
        Self {
            format,
            width,
            height,
            matrix: Matrix::Bt709,
            range,
            site: ChromaSite::Left,
            transfer,
            primaries: Primaries::Bt709,
            premultiplied: false,
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

    /// The same frame with another relation to light.
    pub const fn with_light(mut self, transfer: Transfer, primaries: Primaries) -> Self {
        self.transfer = transfer;
        self.primaries = primaries;
        self
    }

    /// The same frame with colours multiplied by alpha, or not.
    pub const fn with_premultiplied(mut self, premultiplied: bool) -> Self {
        self.premultiplied = premultiplied;
        self
    }

    /// Whether colours are in fact multiplied by an alpha that the frame stores.
    pub fn is_premultiplied(&self) -> bool {
        self.premultiplied && self.format.has_alpha()
    }

    /// Groups of samples `(to a row, rows)` of plane `plane`, rounded up. For all but packed 4:2:2
    /// a group is one sample of each component in the plane.
    ///
    /// # Panics
    /// If the format has no such plane.
    pub fn plane_size(&self, plane: usize) -> (usize, usize) {
        let info = &self.format.info().planes[plane];
        (
            self.width.div_ceil(info.group_pixels),
            self.height.div_ceil(info.sub_y),
        )
    }

    /// Bytes of a row of plane `plane` that hold samples, whole groups.
    ///
    /// # Panics
    /// If the format has no such plane.
    pub fn row_bytes(&self, plane: usize) -> usize {
        self.plane_size(plane).0 * self.format.info().planes[plane].group_bytes
    }

    /// Samples `(to a row, rows)` of a component: the frame's size over the subsampling, rounded
    /// up.
    pub const fn samples(&self, component: &ComponentInfo) -> (usize, usize) {
        (
            self.width.div_ceil(component.sub_x),
            self.height.div_ceil(component.sub_y),
        )
    }

    /// How far sample 0 of a component lies `(right of, below)` the centre of luma pixel 0, in
    /// half luma pixels: the chroma site along axes where the component is subsampled, else 0.
    pub const fn halves(&self, component: &ComponentInfo) -> (i64, i64) {
        let (h, v) = self.site.halves();
        (
            if component.sub_x > 1 { h } else { 0 },
            if component.sub_y > 1 { v } else { 0 },
        )
    }

    /// How a sample of the component is written; as a colour is, for a component that the format
    /// has not.
    fn number(&self, component: Component) -> Number {
        let info = self.format.component(component);
        info.map_or_else(|| self.format.number(), |info| info.number)
    }

    /// The code value of a component's analogue value, neither rounded nor clamped.
    pub fn encode(&self, component: Component, analogue: f64) -> f64 {
        match self.number(component) {
            Number::Bits(bits) => self.range.encode(quantity(component), bits, analogue),
            Number::F16 | Number::F32 => analogue,
        }
    }

    /// The analogue value of a component's code value.
    pub fn decode(&self, component: Component, code: f64) -> f64 {
        match self.number(component) {
            Number::Bits(bits) => self.range.decode(quantity(component), bits, code),
            Number::F16 | Number::F32 => code,
        }
    }
}

const fn quantity(component: Component) -> Quantity {
    match component {
        Component::Cb | Component::Cr => Quantity::Chroma,
        Component::A => Quantity::Alpha,
        Component::Y | Component::R | Component::G | Component::B => Quantity::Luma,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_round_up() {
        for (width, height, chroma) in [(1, 1, (1, 1)), (2, 3, (1, 2)), (5, 4, (3, 2))] {
            let info = FrameInfo::new(Format::I420, width, height);
            assert_eq!(info.plane_size(0), (width, height));
            assert_eq!(info.plane_size(2), chroma);
        }
        for (format, plane, bytes) in [
            (Format::P010Le, 1, 12),
            (Format::Rgb, 0, 15),
            (Format::Yuy2, 0, 12),
            (Format::Y210, 0, 24),
            (Format::V210, 0, 16),
            (Format::RgbF16, 0, 30),
        ] {
            assert_eq!(FrameInfo::new(format, 5, 1).row_bytes(plane), bytes);
        }
        assert_eq!(FrameInfo::new(Format::V210, 7, 1).row_bytes(0), 32);
    }
}
