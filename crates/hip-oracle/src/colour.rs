//! Matrices, ranges and code values.
//!
//! Analogue values are Y', R', G', B' and alpha in 0..1, and Cb, Cr in -0.5..0.5.

use crate::format::Number;
use crate::half;

/// Luma coefficients of a Y'CbCr signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Matrix {
    /// ITU-R BT.601-7 §2.5.1.
    Bt601,
    /// ITU-R BT.709-6 item 3.2.
    Bt709,
    /// ITU-R BT.2020-2 table 4, non-constant luminance.
    Bt2020,
    /// FCC Title 47 (2003) §73.682 (a) (20): ITU-T H.273 `MatrixCoefficients` 4.
    Fcc,
    /// SMPTE ST 240: ITU-T H.273 `MatrixCoefficients` 7.
    Smpte240m,
}

impl Matrix {
    /// Every matrix.
    pub const ALL: [Self; 5] = [
        Self::Bt601,
        Self::Bt709,
        Self::Bt2020,
        Self::Fcc,
        Self::Smpte240m,
    ];

    /// The weight of R' in Y'.
    pub const fn kr(self) -> f64 {
        match self {
            Self::Bt601 => 0.299,
            Self::Bt709 => 0.2126,
            Self::Bt2020 => 0.2627,
            Self::Fcc => 0.30,
            Self::Smpte240m => 0.212,
        }
    }

    /// The weight of B' in Y'.
    pub const fn kb(self) -> f64 {
        match self {
            Self::Bt601 => 0.114,
            Self::Bt709 => 0.0722,
            Self::Bt2020 => 0.0593,
            Self::Fcc => 0.11,
            Self::Smpte240m => 0.087,
        }
    }

    /// The weight of G' in Y': what the others leave of 1.
    pub const fn kg(self) -> f64 {
        1.0 - self.kr() - self.kb()
    }

    /// Analogue R'G'B' to analogue Y'CbCr. Values beyond 0..1 are carried on, not clamped.
    pub fn ycbcr_from_rgb(self, [r, g, b]: [f64; 3]) -> [f64; 3] {
        let y = self.kr() * r + self.kg() * g + self.kb() * b;
        let cb = (b - y) / (2.0 * (1.0 - self.kb()));
        let cr = (r - y) / (2.0 * (1.0 - self.kr()));
        [y, cb, cr]
    }

    /// Analogue Y'CbCr to analogue R'G'B': the three equations above solved for R', B', then G'.
    pub fn rgb_from_ycbcr(self, [y, cb, cr]: [f64; 3]) -> [f64; 3] {
        let r = y + 2.0 * (1.0 - self.kr()) * cr;
        let b = y + 2.0 * (1.0 - self.kb()) * cb;
        let g = (y - self.kr() * r - self.kb() * b) / self.kg();
        [r, g, b]
    }
}

/// How analogue values fill the code values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Range {
    /// Narrow range: BT.601-7 §2.5.3, BT.709-6 item 3.4, BT.2020-2 table 5.
    Limited,
    /// All code values: ITU-T H.273 §8.3 with VideoFullRangeFlag 1, ITU-R BT.2100-2 table 9.
    Full,
}

/// Which of the quantisation formulas a component follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// Y', R', G' or B'.
    Luma,
    /// Cb or Cr.
    Chroma,
    /// Alpha: full range whatever the range of the colours.
    Alpha,
}

impl Range {
    /// Both ranges.
    pub const ALL: [Self; 2] = [Self::Limited, Self::Full];

    /// `(scale, offset)` in `code = scale · analogue + offset`, for code values of `depth` bits.
    fn scale_and_offset(self, quantity: Quantity, depth: u32) -> (f64, f64) {
        let all_ones = f64::from((1u32 << depth) - 1);
        // 2^(depth - 8), the weight of one 8-bit step; depths below 8 make it a fraction.
        let step = f64::powi(2.0, depth as i32 - 8);
        match (self, quantity) {
            (_, Quantity::Alpha) | (Self::Full, Quantity::Luma) => (all_ones, 0.0),
            (Self::Full, Quantity::Chroma) => (all_ones, f64::from(1u32 << (depth - 1))),
            (Self::Limited, Quantity::Luma) => (219.0 * step, 16.0 * step),
            (Self::Limited, Quantity::Chroma) => (224.0 * step, 128.0 * step),
        }
    }

    /// The code value of an analogue value, neither rounded nor clamped.
    pub fn encode(self, quantity: Quantity, depth: u32, analogue: f64) -> f64 {
        let (scale, offset) = self.scale_and_offset(quantity, depth);
        scale * analogue + offset
    }

    /// The analogue value of a code value.
    pub fn decode(self, quantity: Quantity, depth: u32, code: f64) -> f64 {
        let (scale, offset) = self.scale_and_offset(quantity, depth);
        (code - offset) / scale
    }
}

/// How far below a tie a value may lie and still count as one. Double precision leaves an error of
/// some 1e-12 code values in a sum that is exactly half way between two codes.
const TIE: f64 = 1e-9;

/// Rounds a code value to the nearest integer and clamps it to what `number` can hold. A tie goes
/// up, as INT[] of BT.709 and BT.2020 has it. Floating point is rounded as IEEE 754 has it.
pub fn nearest_code(number: Number, code: f64) -> f64 {
    match number {
        Number::Bits(_) => number.clamp((code + 0.5 + TIE).floor()),
        Number::F16 => half::to_f64(half::from_f64(code)),
        Number::F32 => f64::from(code as f32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn published_divisors_follow_from_the_coefficients() {
        // BT.709-6 item 3.3 and BT.2020-2 table 4 print the divisors of B'-Y' and R'-Y'.
        for (matrix, blue, red) in [
            (Matrix::Bt601, 1.772, 1.402),
            (Matrix::Bt709, 1.8556, 1.5748),
            (Matrix::Bt2020, 1.8814, 1.4746),
            (Matrix::Fcc, 1.78, 1.40),
            (Matrix::Smpte240m, 1.826, 1.576),
        ] {
            let [y, cb, _] = matrix.ycbcr_from_rgb([0.0, 0.0, 1.0]);
            assert!(((1.0 - y) / cb - blue).abs() < 1e-12, "{matrix:?}");
            let [y, _, cr] = matrix.ycbcr_from_rgb([1.0, 0.0, 0.0]);
            assert!(((1.0 - y) / cr - red).abs() < 1e-12, "{matrix:?}");
        }
        // The weight of G' as printed.
        for (matrix, green) in [
            (Matrix::Bt601, 0.587),
            (Matrix::Bt709, 0.7152),
            (Matrix::Bt2020, 0.6780),
            (Matrix::Fcc, 0.59),
            (Matrix::Smpte240m, 0.701),
        ] {
            assert!((matrix.kg() - green).abs() < 1e-12, "{matrix:?}");
        }
    }

    #[test]
    fn there_and_back_again() {
        let mut rng = Rng::new(11);
        for _ in 0..1000 {
            let rgb = [
                rng.unit() * 3.0 - 1.0,
                rng.unit() * 3.0 - 1.0,
                rng.unit() * 3.0 - 1.0,
            ];
            for matrix in Matrix::ALL {
                let back = matrix.rgb_from_ycbcr(matrix.ycbcr_from_rgb(rgb));
                for slot in 0..3 {
                    assert!(
                        (back[slot] - rgb[slot]).abs() < 1e-12,
                        "{matrix:?} {rgb:?} {back:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn grey_moves_no_chroma_between_matrices() {
        // Why no luma has to be found for chroma that is resampled from plane to plane.
        let mut rng = Rng::new(12);
        for _ in 0..1000 {
            let (cb, cr) = (rng.unit() - 0.5, rng.unit() - 0.5);
            for from in Matrix::ALL {
                for to in Matrix::ALL {
                    let chroma = |y| {
                        let [_, cb, cr] = to.ycbcr_from_rgb(from.rgb_from_ycbcr([y, cb, cr]));
                        [cb, cr]
                    };
                    let (dark, light) = (chroma(0.0), chroma(rng.unit()));
                    assert!((dark[0] - light[0]).abs() < 1e-12);
                    assert!((dark[1] - light[1]).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn ends_of_the_ranges() {
        use Quantity::{Alpha, Chroma, Luma};
        // BT.2020-2 table 5 (black, achromatic, nominal peaks) and BT.2100-2 table 9 (full).
        for (range, quantity, depth, analogue, code) in [
            (Range::Limited, Luma, 8, 0.0, 16.0),
            (Range::Limited, Luma, 8, 1.0, 235.0),
            (Range::Limited, Luma, 10, 0.0, 64.0),
            (Range::Limited, Luma, 10, 1.0, 940.0),
            (Range::Limited, Luma, 12, 1.0, 3760.0),
            (Range::Limited, Chroma, 8, -0.5, 16.0),
            (Range::Limited, Chroma, 8, 0.0, 128.0),
            (Range::Limited, Chroma, 8, 0.5, 240.0),
            (Range::Limited, Chroma, 10, -0.5, 64.0),
            (Range::Limited, Chroma, 10, 0.5, 960.0),
            (Range::Limited, Chroma, 12, 0.0, 2048.0),
            (Range::Full, Luma, 8, 1.0, 255.0),
            (Range::Full, Luma, 10, 1.0, 1023.0),
            (Range::Full, Chroma, 8, 0.0, 128.0),
            (Range::Full, Chroma, 8, 0.5, 255.5),
            (Range::Full, Chroma, 10, -0.5, 0.5),
            (Range::Limited, Alpha, 8, 1.0, 255.0),
            (Range::Limited, Alpha, 8, 0.0, 0.0),
        ] {
            let found = range.encode(quantity, depth, analogue);
            assert!(
                (found - code).abs() < 1e-12,
                "{range:?} {quantity:?} {depth}: {found}"
            );
            let back = range.decode(quantity, depth, code);
            assert!(
                (back - analogue).abs() < 1e-12,
                "{range:?} {quantity:?} {depth}: {back}"
            );
        }
    }

    #[test]
    fn quantising_rounds_and_clamps() {
        for (code, depth, expected) in [
            (-3.0, 8, 0),
            (0.49, 8, 0),
            (0.5, 8, 1),
            (254.4, 8, 254),
            (255.5, 8, 255),
            (900.0, 8, 255),
            (900.0, 10, 900),
            (1024.0, 10, 1023),
        ] {
            let found = nearest_code(Number::Bits(depth), code);
            assert_eq!(found, f64::from(expected), "{code} in {depth} bits");
        }
        // The sum of ten tenths is a little below 1 in double precision, and 1 all the same.
        let tie = (0..10).fold(0.0, |sum, _| sum + 0.1) - 0.5;
        assert!(tie < 0.5);
        assert_eq!(nearest_code(Number::Bits(8), tie), 1.0);
        assert_eq!(nearest_code(Number::F32, 300.25), 300.25);
    }
}
