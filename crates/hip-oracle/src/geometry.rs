//! Rectangles, chroma sites and exact positions.

use std::ops::{Add, Mul, Sub};

use crate::info::FrameInfo;

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
}

/// Units of a [`FixedRect`] to one luma pixel.
pub const FIXED_ONE: i64 = 1 << 16;

/// A rectangle in 1/65536 luma pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FixedRect {
    /// The left edge; 0 is the left edge of the frame.
    pub x: i64,
    /// The top edge; 0 is the top edge of the frame.
    pub y: i64,
    /// The width.
    pub width: i64,
    /// The height.
    pub height: i64,
}

impl From<Rect> for FixedRect {
    fn from(rect: Rect) -> Self {
        let fixed = |pixels: usize| pixels as i64 * FIXED_ONE;
        Self {
            x: fixed(rect.x),
            y: fixed(rect.y),
            width: fixed(rect.width),
            height: fixed(rect.height),
        }
    }
}

impl FixedRect {
    /// The rectangle nearest to one in luma pixels.
    pub fn from_pixels(x: f64, y: f64, width: f64, height: f64) -> Self {
        let fixed = |pixels: f64| (pixels * FIXED_ONE as f64).round() as i64;
        Self {
            x: fixed(x),
            y: fixed(y),
            width: fixed(width),
            height: fixed(height),
        }
    }

    /// Panics unless the rectangle has an area and lies in the frame.
    pub(crate) fn validate(&self, info: &FrameInfo, which: &str) {
        assert!(
            self.width > 0 && self.height > 0,
            "{which} rectangle {self:?} is empty"
        );
        let (width, height) = (info.width as i64, info.height as i64);
        let fits =
            |start: i64, length: i64, size: i64| start >= 0 && start + length <= size * FIXED_ONE;
        assert!(
            fits(self.x, self.width, width) && fits(self.y, self.height, height),
            "{which} rectangle {self:?} is not inside {width}×{height}"
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

/// A fraction in lowest terms with a positive denominator, for positions that have to be exact.
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
        let divisor =
            greatest_common_divisor(numerator.unsigned_abs(), denominator as u128) as i128;
        Self {
            numerator: numerator / divisor,
            denominator: denominator / divisor,
        }
    }

    /// A number of 1/65536 luma pixels.
    pub fn fixed(units: i64) -> Self {
        Self::new(i128::from(units), i128::from(FIXED_ONE))
    }

    /// The smallest integer not below the fraction.
    pub const fn ceil(self) -> i64 {
        -((-self.numerator).div_euclid(self.denominator) as i64)
    }

    /// The largest integer not above the fraction.
    pub const fn floor(self) -> i64 {
        self.numerator.div_euclid(self.denominator) as i64
    }

    /// What is left of the fraction above its floor, in `0.0..1.0`.
    pub fn fraction(self) -> f64 {
        self.numerator.rem_euclid(self.denominator) as f64 / self.denominator as f64
    }

    /// Whether the fraction is above 1.
    pub const fn exceeds_one(self) -> bool {
        self.numerator > self.denominator
    }

    /// The nearest double.
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

/// Euclid's algorithm.
const fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
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

/// The position in luma pixels of sample `index` of a plane with one sample to `sub` pixels and
/// sample 0 at `halves` half pixels.
pub fn luma_position(index: i64, sub: usize, halves: i64) -> Ratio {
    Ratio::from(index * sub as i64) + Ratio::new(i128::from(halves), 2)
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
        assert_eq!((sum.ceil(), negative.ceil(), half().ceil()), (2, 0, 1));
        assert_eq!(Ratio::fixed(98304).to_f64(), 1.5);
    }

    #[test]
    fn sites_as_h273_numbers_them() {
        let expected = [(0, 1), (1, 1), (0, 0), (1, 0), (0, 2), (1, 2)];
        assert_eq!(ChromaSite::ALL.map(ChromaSite::halves), expected);
    }

    #[test]
    fn rectangles_in_fixed_point() {
        let whole = FixedRect::from(Rect::new(1, 2, 3, 4));
        assert_eq!(whole, FixedRect::from_pixels(1.0, 2.0, 3.0, 4.0));
        let part = FixedRect::from_pixels(0.5, 0.25, 1.0 / 65536.0, 2.0);
        assert_eq!((part.x, part.y), (32768, 16384));
        assert_eq!((part.width, part.height), (1, 131072));
    }
}
