//! One axis: lattices, the map from destination to source, and turns and mirrors.

use crate::geometry::{FixedRect, Ratio, half};

/// Where the samples of a component lie along one axis: sample `i` at luma position
/// `step·i + halves/2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lattice {
    /// Luma pixels from one sample to the next.
    pub step: i64,
    /// The position of sample 0, in half luma pixels.
    pub halves: i64,
}

impl Lattice {
    /// The lattice of Y', R', G', B', alpha and unreduced chroma.
    pub const PIXELS: Self = Self { step: 1, halves: 0 };

    /// The samples of field `field` out of `fields`: those whose index leaves `field` when divided
    /// by `fields`, counted by themselves. One field is the lattice itself.
    pub const fn of_field(self, field: i64, fields: i64) -> Self {
        Self {
            step: self.step * fields,
            halves: self.halves + 2 * self.step * field,
        }
    }

    /// The position of a sample in luma pixels.
    pub fn position(self, index: i64) -> Ratio {
        Ratio::from(index * self.step) + Ratio::new(i128::from(self.halves), 2)
    }

    /// The index, not necessarily whole, of what lies at a position in luma pixels.
    pub fn index(self, position: Ratio) -> Ratio {
        (position - Ratio::new(i128::from(self.halves), 2)) * Ratio::new(1, i128::from(self.step))
    }

    /// The first and the last sample that a source rectangle from `start`, of `length` (both in
    /// 1/65536 luma pixels) may read: `floor(start/step)..=ceil((start + length)/step) - 1`.
    pub fn span(self, start: i64, length: i64) -> (i64, i64) {
        let samples = Ratio::new(1, i128::from(self.step));
        let first = (Ratio::fixed(start) * samples).floor();
        let last = (Ratio::fixed(start + length) * samples).ceil() - 1;
        (first, last)
    }
}

/// A destination axis and the source axis that it is tied to. Lengths are in 1/65536 luma pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Where the source rectangle starts.
    pub source_start: i64,
    /// How long it is.
    pub source_length: i64,
    /// Where the destination rectangle starts.
    pub destination_start: i64,
    /// How long it is.
    pub destination_length: i64,
    /// Whether the source is read backwards.
    pub mirrored: bool,
}

impl Axis {
    /// Source luma pixels to one destination pixel, `sw/dw`.
    pub fn scale(&self) -> Ratio {
        Ratio::new(
            i128::from(self.source_length),
            i128::from(self.destination_length),
        )
    }

    /// The source position of a destination position, both in luma pixels.
    pub fn map(&self, position: Ratio) -> Ratio {
        let from_edge = position + half() - Ratio::fixed(self.destination_start);
        let plain = from_edge * self.scale() + Ratio::fixed(self.source_start) - half();
        if self.mirrored {
            Ratio::fixed(2 * self.source_start + self.source_length) - Ratio::from(1) - plain
        } else {
            plain
        }
    }

    /// Whether the centre of a destination pixel lies inside the destination rectangle.
    pub const fn holds(&self, pixel: i64) -> bool {
        let centre = pixel * crate::geometry::FIXED_ONE + crate::geometry::FIXED_ONE / 2;
        centre >= self.destination_start
            && centre < self.destination_start + self.destination_length
    }
}

/// How the picture is turned and mirrored: the eight methods of `GstVideoOrientationMethod`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Orientation {
    /// As it is.
    Identity,
    /// Turned clockwise by 90°.
    Clockwise,
    /// Turned by 180°.
    Half,
    /// Turned anticlockwise by 90°.
    Anticlockwise,
    /// Left and right exchanged.
    Horizontal,
    /// Top and bottom exchanged.
    Vertical,
    /// Mirrored on the diagonal from upper left to lower right.
    UpperLeftLowerRight,
    /// Mirrored on the diagonal from upper right to lower left.
    UpperRightLowerLeft,
}

impl Orientation {
    /// Every orientation, in GStreamer's order.
    pub const ALL: [Self; 8] = [
        Self::Identity,
        Self::Clockwise,
        Self::Half,
        Self::Anticlockwise,
        Self::Horizontal,
        Self::Vertical,
        Self::UpperLeftLowerRight,
        Self::UpperRightLowerLeft,
    ];

    /// Whether the destination's axes are tied to the source's other axes.
    pub const fn swaps(self) -> bool {
        matches!(
            self,
            Self::Clockwise
                | Self::Anticlockwise
                | Self::UpperLeftLowerRight
                | Self::UpperRightLowerLeft
        )
    }

    /// Whether the destination's `(x, y)` axis reads its source axis backwards. Destination (x, y)
    /// shows source (y, h-1-x) turned clockwise, so that x runs backwards; (w-1-y, x)
    /// anticlockwise, so that y does.
    pub const fn mirrors(self) -> (bool, bool) {
        match self {
            Self::Identity | Self::UpperLeftLowerRight => (false, false),
            Self::Clockwise | Self::Horizontal => (true, false),
            Self::Anticlockwise | Self::Vertical => (false, true),
            Self::Half | Self::UpperRightLowerLeft => (true, true),
        }
    }

    /// The two axes of a conversion, `(across, down)` the destination.
    pub const fn axes(self, source: &FixedRect, destination: &FixedRect) -> (Axis, Axis) {
        let columns = (source.x, source.width);
        let rows = (source.y, source.height);
        let (for_x, for_y) = if self.swaps() {
            (rows, columns)
        } else {
            (columns, rows)
        };
        let (mirror_x, mirror_y) = self.mirrors();
        (
            Axis {
                source_start: for_x.0,
                source_length: for_x.1,
                destination_start: destination.x,
                destination_length: destination.width,
                mirrored: mirror_x,
            },
            Axis {
                source_start: for_y.0,
                source_length: for_y.1,
                destination_start: destination.y,
                destination_length: destination.height,
                mirrored: mirror_y,
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::FIXED_ONE;

    fn axis(source: i64, destination: i64) -> Axis {
        Axis {
            source_start: 0,
            source_length: source * FIXED_ONE,
            destination_start: 0,
            destination_length: destination * FIXED_ONE,
            mirrored: false,
        }
    }

    #[test]
    fn positions_of_small_scalings() {
        for (source, destination, expected) in [
            (2, 4, vec![-0.25, 0.25, 0.75, 1.25]),
            (4, 2, vec![0.5, 2.5]),
            (3, 3, vec![0.0, 1.0, 2.0]),
            (3, 1, vec![1.0]),
            (1, 2, vec![-0.25, 0.25]),
        ] {
            let plain = axis(source, destination);
            let mirrored = Axis {
                mirrored: true,
                ..plain
            };
            let positions = |axis: Axis| -> Vec<f64> {
                (0..destination)
                    .map(|x| axis.map(Ratio::from(x)).to_f64())
                    .collect()
            };
            assert_eq!(positions(plain), expected, "{source} to {destination}");
            let mut backwards = positions(mirrored);
            backwards.reverse();
            assert_eq!(backwards, expected, "{source} to {destination}");
        }
    }

    #[test]
    fn fractions_of_a_pixel() {
        let part = Axis {
            source_start: FIXED_ONE / 2,
            source_length: 3 * FIXED_ONE,
            destination_start: FIXED_ONE * 5 / 2,
            destination_length: 3 * FIXED_ONE / 2,
            mirrored: false,
        };
        // Pixel 2 has its centre at 2.5, on the edge, which belongs; 4 has its at the other edge.
        assert_eq!(
            [1, 2, 3, 4].map(|x| part.holds(x)),
            [false, true, true, false]
        );
        assert_eq!(part.map(Ratio::from(2)).to_f64(), 0.0);
        assert_eq!(part.map(Ratio::from(3)).to_f64(), 2.0);
        assert_eq!(
            Lattice::PIXELS.span(part.source_start, part.source_length),
            (0, 3)
        );
        let chroma = Lattice { step: 2, halves: 0 };
        assert_eq!(chroma.span(2 * FIXED_ONE, 3 * FIXED_ONE), (1, 2));
        assert_eq!(chroma.span(3 * FIXED_ONE, 1), (1, 1));
    }

    #[test]
    fn index_and_position_are_inverse() {
        for halves in 0..=2 {
            for index in -2..5 {
                let lattice = Lattice { step: 2, halves };
                let back = lattice.index(lattice.position(index));
                assert_eq!((back.floor(), back.fraction()), (index, 0.0));
            }
        }
        let middle = Lattice { step: 2, halves: 1 };
        assert_eq!(middle.position(3).to_f64(), 6.5);
        assert_eq!(middle.index(Ratio::from(3)).to_f64(), 1.25);
    }

    #[test]
    fn fields_lie_in_the_frame() {
        // Line k of field f is frame line 2k+f; chroma line j lies at 4j + 2f + v.
        for (field, v) in [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)] {
            let luma = Lattice::PIXELS.of_field(field, 2);
            assert_eq!(luma.position(3).to_f64(), (6 + field) as f64);
            let chroma = Lattice { step: 2, halves: v }.of_field(field, 2);
            let expected = (4 * 3 + 2 * field) as f64 + v as f64 / 2.0;
            assert_eq!(chroma.position(3).to_f64(), expected);
        }
        let whole = Lattice { step: 2, halves: 1 };
        assert_eq!(whole.of_field(0, 1), whole);
    }
}
