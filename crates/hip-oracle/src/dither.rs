//! Ordered dither.

use crate::format::Number;

/// What is added to a code value before it is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dither {
    /// Nothing.
    None,
    /// The 8×8 matrix of Bayer ("An optimum method for two-level rendition of continuous-tone
    /// pictures", 1973), where the destination has fewer bits than the source.
    Bayer,
}

impl Dither {
    /// What is added to sample (`x`, `y`) of a component, in code values; within ±1/2.
    pub fn offset(self, from: Number, to: Number, x: usize, y: usize) -> f64 {
        let falls = !to.is_float() && (from.is_float() || to.bits() < from.bits());
        match self {
            Self::Bayer if falls => (f64::from(bayer(x & 7, y & 7, 8)) + 0.5) / 64.0 - 0.5,
            _ => 0.0,
        }
    }
}

/// Element (column `x`, row `y`) of the matrix of size `size`, a power of 2: four copies of four
/// times the matrix of half the size, plus 0 and 2 in the upper row, 3 and 1 in the lower one.
fn bayer(x: usize, y: usize, size: usize) -> u32 {
    if size == 1 {
        return 0;
    }
    let half = size / 2;
    let added = [[0, 2], [3, 1]][y / half][x / half];
    4 * bayer(x % half, y % half, half) + added
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_matrix() {
        let expected = [
            [0, 32, 8, 40, 2, 34, 10, 42],
            [48, 16, 56, 24, 50, 18, 58, 26],
            [12, 44, 4, 36, 14, 46, 6, 38],
            [60, 28, 52, 20, 62, 30, 54, 22],
            [3, 35, 11, 43, 1, 33, 9, 41],
            [51, 19, 59, 27, 49, 17, 57, 25],
            [15, 47, 7, 39, 13, 45, 5, 37],
            [63, 31, 55, 23, 61, 29, 53, 21],
        ];
        for (y, row) in expected.iter().enumerate() {
            for (x, &value) in row.iter().enumerate() {
                assert_eq!(bayer(x, y, 8), value, "{x} {y}");
            }
        }
    }

    #[test]
    fn only_where_the_depth_falls_and_without_bias() {
        let (eight, ten, float) = (Number::Bits(8), Number::Bits(10), Number::F32);
        let sum = |from, to| -> f64 {
            let all = (0..64).map(|i| Dither::Bayer.offset(from, to, 8 + i % 8, i / 8));
            assert!(all.clone().all(|offset| offset.abs() < 0.5));
            all.map(f64::abs).sum()
        };
        assert!(sum(ten, eight) > 15.0 && sum(float, ten) > 15.0);
        for (from, to) in [(eight, eight), (eight, ten), (ten, float)] {
            assert_eq!(sum(from, to), 0.0);
        }
        let all = (0..64).map(|i| Dither::Bayer.offset(ten, eight, i % 8, i / 8));
        assert!(all.sum::<f64>().abs() < 1e-12);
        assert_eq!(Dither::None.offset(ten, eight, 1, 1), 0.0);
    }
}
