//! Rectangles, chroma sites and exact positions.

use std::ops::{Add, Mul, Sub};

use crate::image::FrameInfo;

/// A rectangle in luma pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rect {
    /// The leftmost column inside.
    pub x: usize,
    /// The topmost row inside.
    pub y: usize,
    /// Columns inside.
    pub width: usize,
    /// Rows inside.
    pub height: usize,
}

impl Rect {
    /// The rectangle with this corner and size.
    pub const fn new(x: usize, y: usize, width: usize, height: usize) -> Self {
        Self {
            x,
            y,
            width,
            height,
        }
    }

    /// The whole of a frame.
    pub const fn full(info: &FrameInfo) -> Self {
        Self::new(0, 0, info.width, info.height)
    }

    /// Whether the pixel at column `x`, row `y` is inside.
    pub const fn contains(&self, x: usize, y: usize) -> bool {
        x >= self.x && x - self.x < self.width && y >= self.y && y - self.y < self.height
    }

    /// Panics unless the rectangle holds a pixel, lies in the frame, and starts on a chroma
    /// sample of it.
    pub(crate) fn validate(&self, info: &FrameInfo, which: &str) {
        assert!(
            self.width > 0 && self.height > 0,
            "{which} rectangle {self:?} is empty"
        );
        assert!(
            self.x + self.width <= info.width && self.y + self.height <= info.height,
            "{which} rectangle {self:?} is not inside {}×{}",
            info.width,
            info.height
        );
        let (sub_x, sub_y) = info.format.chroma_subsampling();
        assert!(
            self.x.is_multiple_of(sub_x) && self.y.is_multiple_of(sub_y),
            "{which} rectangle {self:?} does not start on a chroma sample"
        );
    }
}

/// Where chroma samples lie among the luma pixels: the six types of ITU-T H.273 (figure 1,
/// `ChromaSampleLocType` 0..5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChromaSite {
    /// Type 0, MPEG-2: on the left column, between the rows.
    Left,
    /// Type 1, JPEG: between columns and rows.
    Centre,
    /// Type 2: on the top left pixel.
    TopLeft,
    /// Type 3: between the columns, on the top row.
    Top,
    /// Type 4: on the bottom left pixel.
    BottomLeft,
    /// Type 5: between the columns, on the bottom row.
    Bottom,
}

impl ChromaSite {
    /// Every site, in the order of H.273.
    pub const ALL: [Self; 6] = [
        Self::Left,
        Self::Centre,
        Self::TopLeft,
        Self::Top,
        Self::BottomLeft,
        Self::Bottom,
    ];

    /// How far chroma sample 0 lies `(right of, below)` the centre of luma pixel 0, in *half*
    /// luma pixels.
    pub const fn halves(self) -> (i64, i64) {
        match self {
            Self::Left => (0, 1),
            Self::Centre => (1, 1),
            Self::TopLeft => (0, 0),
            Self::Top => (1, 0),
            Self::BottomLeft => (0, 2),
            Self::Bottom => (1, 2),
        }
    }
}

/// A fraction with a positive denominator, for positions that have to be exact. Numerators stay
/// far below 2^127 for any frame that fits in memory, so fractions are not reduced.
#[derive(Clone, Copy, Debug)]
pub struct Ratio {
    numerator: i128,
    denominator: i128,
}

impl Ratio {
    /// `numerator / denominator`.
    ///
    /// # Panics
    /// If the denominator is not positive.
    pub fn new(numerator: i128, denominator: i128) -> Self {
        assert!(denominator > 0, "the denominator has to be positive");
        Self {
            numerator,
            denominator,
        }
    }

    /// The largest integer not above the fraction.
    pub const fn floor(self) -> i64 {
        self.numerator.div_euclid(self.denominator) as i64
    }

    /// What is left of the fraction above its floor, in `0.0..1.0`.
    pub fn fraction(self) -> f64 {
        self.numerator.rem_euclid(self.denominator) as f64 / self.denominator as f64
    }

    /// The nearest double.
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl From<i64> for Ratio {
    fn from(value: i64) -> Self {
        Self::new(i128::from(value), 1)
    }
}

impl Add for Ratio {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(
            self.numerator * other.denominator + other.numerator * self.denominator,
            self.denominator * other.denominator,
        )
    }
}

impl Sub for Ratio {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + Self::new(-other.numerator, other.denominator)
    }
}

impl Mul for Ratio {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self::new(
            self.numerator * other.numerator,
            self.denominator * other.denominator,
        )
    }
}

/// One half, the distance from a pixel's edge to its centre.
pub fn half() -> Ratio {
    Ratio::new(1, 2)
}

/// One axis of a conversion: a source length that is stretched to a destination length, both
/// in luma pixels and counted from the start of their rectangle.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// Luma pixels of the source rectangle.
    pub source: usize,
    /// Luma pixels of the destination rectangle.
    pub destination: usize,
}

impl Axis {
    /// The source position of a destination position. Integers are pixel centres on both sides:
    /// `(position + 1/2)·source/destination - 1/2`.
    pub fn map(self, position: Ratio) -> Ratio {
        let scale = Ratio::new(self.source as i128, self.destination as i128);
        (position + half()) * scale - half()
    }

    /// The source pixel whose area holds the centre of destination pixel `pixel`:
    /// `floor((pixel + 1/2)·source/destination)`, always inside the source.
    pub fn nearest(self, pixel: usize) -> i64 {
        (self.map(Ratio::from(pixel as i64)) + half()).floor()
    }
}

/// The position in luma pixels of sample `index` of a plane with one sample to `sub` pixels and
/// sample 0 at `halves` half pixels.
pub fn luma_position(index: i64, sub: usize, halves: i64) -> Ratio {
    Ratio::from(index * sub as i64) + Ratio::new(i128::from(halves), 2)
}

/// The inverse of [`luma_position`]: the index, not necessarily whole, of what a plane holds at
/// a position in luma pixels.
pub fn sample_index(position: Ratio, sub: usize, halves: i64) -> Ratio {
    (position - Ratio::new(i128::from(halves), 2)) * Ratio::new(1, sub as i128)
}

/// The pixels under a box `sub` luma pixels wide, centred on sample `index` (placed as in
/// [`luma_position`]), each with the share of the box that it covers. Pixels may lie outside
/// the picture; shares sum to 1.
pub fn box_weights(index: i64, sub: usize, halves: i64) -> Vec<(i64, f64)> {
    let centre = luma_position(index, sub, halves).to_f64();
    let (left, right) = (centre - sub as f64 / 2.0, centre + sub as f64 / 2.0);
    let mut weights = Vec::new();
    for pixel in left.floor() as i64..=right.ceil() as i64 {
        let (start, end) = (pixel as f64 - 0.5, pixel as f64 + 0.5);
        let covered = end.min(right) - start.max(left);
        if covered > 0.0 {
            weights.push((pixel, covered / sub as f64));
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions() {
        let negative = Ratio::new(-1, 4);
        assert_eq!(negative.floor(), -1);
        assert_eq!(negative.fraction(), 0.75);
        let sum = (Ratio::new(1, 3) + Ratio::new(1, 6)) * Ratio::from(5) - half();
        assert_eq!((sum.floor(), sum.fraction(), sum.to_f64()), (2, 0.0, 2.0));
    }

    #[test]
    fn bilinear_positions_of_small_scalings() {
        for (source, destination, expected) in [
            (2, 4, vec![-0.25, 0.25, 0.75, 1.25]),
            (4, 2, vec![0.5, 2.5]),
            (3, 3, vec![0.0, 1.0, 2.0]),
            (3, 1, vec![1.0]),
            (1, 2, vec![-0.25, 0.25]),
        ] {
            let axis = Axis {
                source,
                destination,
            };
            let found: Vec<f64> = (0..destination as i64)
                .map(|x| axis.map(Ratio::from(x)).to_f64())
                .collect();
            assert_eq!(found, expected, "{source} to {destination}");
        }
    }

    #[test]
    fn nearest_is_the_integer_formula_for_all_small_sizes() {
        for source in 1..=40 {
            for destination in 1..=40 {
                let axis = Axis {
                    source,
                    destination,
                };
                for x in 0..destination {
                    let expected = ((2 * x + 1) * source) / (2 * destination);
                    assert_eq!(
                        axis.nearest(x),
                        expected as i64,
                        "{source}, {destination}, {x}"
                    );
                    assert!(expected < source);
                }
            }
        }
    }

    #[test]
    fn box_weights_of_the_three_offsets() {
        assert_eq!(box_weights(3, 2, 0), [(5, 0.25), (6, 0.5), (7, 0.25)]);
        assert_eq!(box_weights(3, 2, 1), [(6, 0.5), (7, 0.5)]);
        assert_eq!(box_weights(3, 2, 2), [(6, 0.25), (7, 0.5), (8, 0.25)]);
        assert_eq!(box_weights(3, 1, 0), [(3, 1.0)]);
    }

    #[test]
    fn sites_as_h273_numbers_them() {
        let expected = [(0, 1), (1, 1), (0, 0), (1, 0), (0, 2), (1, 2)];
        assert_eq!(ChromaSite::ALL.map(ChromaSite::halves), expected);
    }

    #[test]
    fn index_and_position_are_inverse() {
        for halves in 0..=2 {
            for index in -2..5 {
                let position = luma_position(index, 2, halves);
                let back = sample_index(position, 2, halves);
                assert_eq!((back.floor(), back.fraction()), (index, 0.0));
            }
        }
        assert_eq!(luma_position(3, 2, 1).to_f64(), 6.5);
        assert_eq!(sample_index(Ratio::from(3), 2, 1).to_f64(), 1.25);
    }
}
