//! Colour: matrices, ranges, and the one affine map from source to destination code values.
//!
//! Everything is computed in `f64` and rounded to `f32` once, for the kernel.

use crate::format::PixelFormat;

/// How luma is made from R'G'B'.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Matrix {
    /// ITU-R BT.601-7.
    Bt601,
    /// ITU-R BT.709-6.
    Bt709,
    /// ITU-R BT.2020-2, non-constant luminance.
    Bt2020,
    /// FCC Title 47, 73.682 (ITU-T H.273 matrix 4).
    Fcc,
    /// SMPTE ST 240 (ITU-T H.273 matrix 7).
    Smpte240m,
}

/// Which code values black and white have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Range {
    /// 16..235 at 8 bit, chroma 16..240.
    Limited,
    /// 0..255 at 8 bit.
    Full,
}

/// Where chroma sample 0 of a 4:2:0 picture lies, seen from the centre of luma pixel 0
/// (ITU-T H.273 `ChromaLocType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChromaSite {
    /// Type 0: cosited across, half a pixel down (MPEG-2, H.264).
    Left,
    /// Type 1: half a pixel right and down (JPEG, MPEG-1).
    Centre,
    /// Type 2: cosited both ways.
    TopLeft,
    /// Type 3: half a pixel right.
    Top,
    /// Type 4: a pixel down.
    BottomLeft,
    /// Type 5: half a pixel right, a pixel down.
    Bottom,
}

impl Matrix {
    /// Kr and Kb.
    pub fn coefficients(self) -> (f64, f64) {
        match self {
            Matrix::Bt601 => (0.299, 0.114),
            Matrix::Bt709 => (0.2126, 0.0722),
            Matrix::Bt2020 => (0.2627, 0.0593),
            Matrix::Fcc => (0.30, 0.11),
            Matrix::Smpte240m => (0.212, 0.087),
        }
    }
}

impl ChromaSite {
    /// Right and down, in half luma pixels.
    pub fn halves(self) -> [i64; 2] {
        match self {
            ChromaSite::Left => [0, 1],
            ChromaSite::Centre => [1, 1],
            ChromaSite::TopLeft => [0, 0],
            ChromaSite::Top => [1, 0],
            ChromaSite::BottomLeft => [0, 2],
            ChromaSite::Bottom => [1, 2],
        }
    }
}

/// What the code values of a frame mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Encoding {
    /// The matrix, or `None` for R'G'B'.
    pub matrix: Option<Matrix>,
    /// The range.
    pub range: Range,
    /// Bits of a sample; 0 for floating point, whose code values are the analogue ones.
    pub depth: u32,
}

impl Encoding {
    /// The encoding of a frame: R'G'B' formats have no matrix, whatever is said.
    pub fn new(format: PixelFormat, matrix: Matrix, range: Range) -> Self {
        let matrix = format.is_yuv().then_some(matrix);
        Encoding {
            matrix,
            range,
            depth: format.info().depth,
        }
    }

    /// Code values of one unit and of zero: for luma and R'G'B', then for chroma.
    fn scales(self) -> [(f64, f64); 2] {
        if self.depth == 0 {
            return [(1.0, 0.0); 2];
        }
        let unit = f64::from(1_u32 << (self.depth - 8));
        let largest = f64::from((1_u32 << self.depth) - 1);
        match self.range {
            Range::Limited => [(219.0 * unit, 16.0 * unit), (224.0 * unit, 128.0 * unit)],
            Range::Full => [(largest, 0.0), (largest, 128.0 * unit)],
        }
    }

    /// Analogue values (Y' Cb Cr or R' G' B') to code values.
    pub(crate) fn encode(self) -> Affine {
        let [main, chroma] = self.scales();
        let others = if self.matrix.is_some() { chroma } else { main };
        let mut affine = Affine::IDENTITY;
        for (row, (scale, offset)) in [main, others, others].into_iter().enumerate() {
            affine.0[row][row] = scale;
            affine.0[row][3] = offset;
        }
        affine
    }

    /// Code values to analogue values.
    pub(crate) fn decode(self) -> Affine {
        let mut affine = self.encode();
        for row in 0..3 {
            let (scale, offset) = (affine.0[row][row], affine.0[row][3]);
            affine.0[row][row] = 1.0 / scale;
            affine.0[row][3] = -offset / scale;
        }
        affine
    }

    /// Code values of black: Y' = Cb = Cr = 0 or R' = G' = B' = 0, then opaque alpha.
    pub fn black(self) -> [u32; 4] {
        let codes = self
            .encode()
            .apply([0.0; 3])
            .map(|code| code.round() as u32);
        [codes[0], codes[1], codes[2], 255]
    }
}

/// Three rows of (three factors, offset).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Affine(pub [[f64; 4]; 3]);

impl Affine {
    /// Changes nothing.
    pub const IDENTITY: Affine = Affine([
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0],
    ]);

    /// Y' Cb Cr to R' G' B'.
    pub fn rgb_from_yuv(matrix: Matrix) -> Affine {
        let (kr, kb) = matrix.coefficients();
        let kg = 1.0 - kr - kb;
        Affine([
            [1.0, 0.0, 2.0 * (1.0 - kr), 0.0],
            [
                1.0,
                -2.0 * kb * (1.0 - kb) / kg,
                -2.0 * kr * (1.0 - kr) / kg,
                0.0,
            ],
            [1.0, 2.0 * (1.0 - kb), 0.0, 0.0],
        ])
    }

    /// R' G' B' to Y' Cb Cr.
    pub fn yuv_from_rgb(matrix: Matrix) -> Affine {
        let (kr, kb) = matrix.coefficients();
        let kg = 1.0 - kr - kb;
        let (cb, cr) = (0.5 / (1.0 - kb), 0.5 / (1.0 - kr));
        Affine([
            [kr, kg, kb, 0.0],
            [-kr * cb, -kg * cb, 0.5, 0.0],
            [0.5, -kg * cr, -kb * cr, 0.0],
        ])
    }

    /// `self` after `first`.
    pub fn after(&self, first: &Affine) -> Affine {
        let mut product = Affine([[0.0; 4]; 3]);
        for (row, out) in self.0.iter().zip(&mut product.0) {
            for (column, out) in out.iter_mut().enumerate() {
                *out = (0..3).map(|k| row[k] * first.0[k][column]).sum();
            }
            out[3] += row[3];
        }
        product
    }

    /// The image of a triple.
    pub fn apply(&self, value: [f64; 3]) -> [f64; 3] {
        self.0
            .map(|row| row[0] * value[0] + row[1] * value[1] + row[2] * value[2] + row[3])
    }

    /// Source to destination code values. Equal encodings give exactly the identity, and a share
    /// that is zero but for the rounding of `f64` is exactly zero.
    pub fn between(from: Encoding, to: Encoding) -> Affine {
        if from == to {
            return Affine::IDENTITY;
        }
        let mut map = from.decode();
        if from.matrix != to.matrix {
            if let Some(matrix) = from.matrix {
                map = Affine::rgb_from_yuv(matrix).after(&map);
            }
            if let Some(matrix) = to.matrix {
                map = Affine::yuv_from_rgb(matrix).after(&map);
            }
        }
        to.encode().after(&map).without_dust()
    }

    /// Code values to R'G'B' in 0..1.
    pub(crate) fn to_rgb(from: Encoding) -> Affine {
        let map = from.decode();
        match from.matrix {
            Some(matrix) => Affine::rgb_from_yuv(matrix).after(&map),
            None => map,
        }
    }

    /// R'G'B' in 0..1 to code values.
    pub(crate) fn from_rgb(to: Encoding) -> Affine {
        match to.matrix {
            Some(matrix) => to.encode().after(&Affine::yuv_from_rgb(matrix)),
            None => to.encode(),
        }
    }

    /// The factors and offsets as the kernels take them.
    pub(crate) fn rows(&self) -> [f32; 12] {
        let mut rows = [0.0; 12];
        for (to, from) in rows.iter_mut().zip(self.0.iter().flatten()) {
            *to = *from as f32;
        }
        rows
    }

    /// What is zero but for the rounding of `f64` becomes zero. Factors of 16-bit code values from
    /// 8-bit ones are up to 257; those the other way 0.003.
    fn without_dust(mut self) -> Affine {
        for value in self.0.iter_mut().flatten() {
            if value.abs() < 1e-11 {
                *value = 0.0;
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATRICES: [Matrix; 5] = [
        Matrix::Bt601,
        Matrix::Bt709,
        Matrix::Bt2020,
        Matrix::Fcc,
        Matrix::Smpte240m,
    ];

    fn encoding(matrix: Option<Matrix>, range: Range, depth: u32) -> Encoding {
        Encoding {
            matrix,
            range,
            depth,
        }
    }

    fn every_encoding() -> Vec<Encoding> {
        let mut all = Vec::new();
        for matrix in MATRICES.map(Some).into_iter().chain([None]) {
            for range in [Range::Limited, Range::Full] {
                all.extend([8, 10].map(|depth| encoding(matrix, range, depth)));
            }
        }
        all
    }

    #[test]
    fn bt709_red_in_limited_range() {
        // ITU-R BT.709-6, 3.4 and 3.5, for R' = 1, G' = B' = 0: 219·0.2126+16, and so on.
        let rgb = encoding(None, Range::Full, 8);
        let map = Affine::between(rgb, encoding(Some(Matrix::Bt709), Range::Limited, 8));
        let codes = map.apply([255.0, 0.0, 0.0]).map(f64::round);
        assert_eq!(codes, [63.0, 102.0, 240.0]);
    }

    #[test]
    fn there_and_back_is_the_identity() {
        for from in every_encoding() {
            for to in every_encoding() {
                let both = Affine::between(to, from).after(&Affine::between(from, to));
                for (row, expected) in both.0.iter().zip(Affine::IDENTITY.0) {
                    for (value, expected) in row.iter().zip(expected) {
                        assert!((value - expected).abs() < 1e-9, "{from:?} {to:?}: {both:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn grey_stays_grey() {
        for from in every_encoding() {
            for to in every_encoding() {
                let grey = from.encode().apply(match from.matrix {
                    Some(_) => [0.5, 0.0, 0.0],
                    None => [0.5; 3],
                });
                let found = Affine::between(from, to).apply(grey);
                let expected = to.encode().apply(match to.matrix {
                    Some(_) => [0.5, 0.0, 0.0],
                    None => [0.5; 3],
                });
                for (value, expected) in found.iter().zip(expected) {
                    assert!((value - expected).abs() < 1e-9, "{from:?} {to:?}");
                }
            }
        }
    }

    #[test]
    fn luma_has_no_share_in_chroma_of_another_matrix() {
        for from in every_encoding()
            .into_iter()
            .filter(|encoding| encoding.matrix.is_some())
        {
            for to in every_encoding()
                .into_iter()
                .filter(|encoding| encoding.matrix.is_some())
            {
                let map = Affine::between(from, to);
                assert_eq!((map.0[1][0], map.0[2][0]), (0.0, 0.0), "{from:?} {to:?}");
            }
        }
    }

    #[test]
    fn depth_alone_is_a_factor_of_four_in_limited_range() {
        let of = |depth| encoding(Some(Matrix::Bt2020), Range::Limited, depth);
        let map = Affine::between(of(8), of(10));
        assert_eq!(
            map.0.map(|row| row.map(|value| value as f32))[1],
            [0.0, 4.0, 0.0, 0.0]
        );
    }

    #[test]
    fn black() {
        assert_eq!(
            encoding(Some(Matrix::Bt601), Range::Limited, 10).black(),
            [64, 512, 512, 255]
        );
        assert_eq!(
            encoding(Some(Matrix::Bt601), Range::Full, 8).black(),
            [0, 128, 128, 255]
        );
        assert_eq!(encoding(None, Range::Limited, 8).black(), [16, 16, 16, 255]);
    }
}
