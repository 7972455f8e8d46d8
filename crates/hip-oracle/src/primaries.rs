//! Primaries: what R, G and B are.

/// Chromaticities `(x, y)` of red, green, blue and white, as printed in ITU-T H.273 table 2 but
/// for Adobe RGB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primaries {
    /// ITU-R BT.709-6: H.273 `ColourPrimaries` 1.
    Bt709,
    /// ITU-R BT.470-6 System M: 4.
    Bt470m,
    /// ITU-R BT.470-6 System B, G: 5.
    Bt470bg,
    /// SMPTE ST 170: 6.
    Smpte170m,
    /// SMPTE ST 240: 7.
    Smpte240m,
    /// Generic film, illuminant C: 8.
    Film,
    /// ITU-R BT.2020-2, BT.2100-2: 9.
    Bt2020,
    /// SMPTE ST 428-1, CIE XYZ itself: 10.
    SmpteSt428,
    /// SMPTE RP 431-2, DCI P3: 11.
    SmpteRp431,
    /// SMPTE EG 432-1, P3 with D65: 12.
    SmpteEg432,
    /// EBU Tech. 3213-E: 22.
    Ebu3213,
    /// Adobe RGB (1998) color image encoding §4.3.1.
    AdobeRgb,
}

const D65: [f64; 2] = [0.3127, 0.3290];
const ILLUMINANT_C: [f64; 2] = [0.310, 0.316];

/// Numbers by rows.
pub type Matrix3 = [[f64; 3]; 3];

/// The cone responses of the Bradford transform (Lam 1985), as ICC.1:2022 annex E prints them.
const BRADFORD: Matrix3 = [
    [0.8951, 0.2664, -0.1614],
    [-0.7502, 1.7135, 0.0367],
    [0.0389, -0.0685, 1.0296],
];

impl Primaries {
    /// Every set of primaries.
    pub const ALL: [Self; 12] = [
        Self::Bt709,
        Self::Bt470m,
        Self::Bt470bg,
        Self::Smpte170m,
        Self::Smpte240m,
        Self::Film,
        Self::Bt2020,
        Self::SmpteSt428,
        Self::SmpteRp431,
        Self::SmpteEg432,
        Self::Ebu3213,
        Self::AdobeRgb,
    ];

    /// The chromaticities of red, green, blue and white.
    pub const fn chromaticities(self) -> [[f64; 2]; 4] {
        match self {
            Self::Bt709 => [[0.640, 0.330], [0.300, 0.600], [0.150, 0.060], D65],
            Self::Bt470m => [[0.67, 0.33], [0.21, 0.71], [0.14, 0.08], ILLUMINANT_C],
            Self::Bt470bg => [[0.64, 0.33], [0.29, 0.60], [0.15, 0.06], D65],
            Self::Smpte170m | Self::Smpte240m => {
                [[0.630, 0.340], [0.310, 0.595], [0.155, 0.070], D65]
            }
            Self::Film => [[0.681, 0.319], [0.243, 0.692], [0.145, 0.049], ILLUMINANT_C],
            Self::Bt2020 => [[0.708, 0.292], [0.170, 0.797], [0.131, 0.046], D65],
            Self::SmpteSt428 => [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0 / 3.0, 1.0 / 3.0]],
            Self::SmpteRp431 => [
                [0.680, 0.320],
                [0.265, 0.690],
                [0.150, 0.060],
                [0.314, 0.351],
            ],
            Self::SmpteEg432 => [[0.680, 0.320], [0.265, 0.690], [0.150, 0.060], D65],
            Self::Ebu3213 => [[0.630, 0.340], [0.295, 0.605], [0.155, 0.077], D65],
            Self::AdobeRgb => [[0.64, 0.33], [0.21, 0.71], [0.15, 0.06], D65],
        }
    }

    /// The matrix from linear R, G, B to CIE XYZ with Y of white 1: SMPTE RP 177 §3.
    pub fn to_xyz(self) -> Matrix3 {
        let [red, green, blue, white] = self.chromaticities();
        let columns = [red, green, blue].map(|[x, y]| [x, y, 1.0 - x - y]);
        let unscaled = transposed(columns);
        let scales = applied(&inverse(&unscaled), xyz_of(white));
        unscaled.map(|row| [0, 1, 2].map(|i| row[i] * scales[i]))
    }

    /// The matrix from linear R, G, B of these primaries to those of others, white to white.
    pub fn to(self, other: Self) -> Matrix3 {
        let adapted = product(&self.adaptation_to(other), &self.to_xyz());
        product(&inverse(&other.to_xyz()), &adapted)
    }

    /// The Bradford adaptation of XYZ from this white to the other's; nothing if they are equal.
    fn adaptation_to(self, other: Self) -> Matrix3 {
        let (from, to) = (self.chromaticities()[3], other.chromaticities()[3]);
        let from = applied(&BRADFORD, xyz_of(from));
        let to = applied(&BRADFORD, xyz_of(to));
        let mut scaled = BRADFORD;
        for (row, (from, to)) in scaled.iter_mut().zip(from.into_iter().zip(to)) {
            row.iter_mut().for_each(|value| *value *= to / from);
        }
        product(&inverse(&BRADFORD), &scaled)
    }
}

/// XYZ of a chromaticity at Y = 1.
fn xyz_of([x, y]: [f64; 2]) -> [f64; 3] {
    [x / y, 1.0, (1.0 - x - y) / y]
}

fn transposed(m: Matrix3) -> Matrix3 {
    [0, 1, 2].map(|i| [0, 1, 2].map(|j| m[j][i]))
}

fn product(a: &Matrix3, b: &Matrix3) -> Matrix3 {
    let columns = transposed(*b).map(|column| applied(a, column));
    transposed(columns)
}

/// A matrix times a column.
pub(crate) fn applied(m: &Matrix3, [x, y, z]: [f64; 3]) -> [f64; 3] {
    m.map(|[a, b, c]| a * x + b * y + c * z)
}

/// By Cramer's rule: cofactors over the determinant.
fn inverse(m: &Matrix3) -> Matrix3 {
    let minor = |i: usize, j: usize| {
        let (a, b) = ((i + 1) % 3, (i + 2) % 3);
        let (c, d) = ((j + 1) % 3, (j + 2) % 3);
        m[a][c] * m[b][d] - m[a][d] * m[b][c]
    };
    let determinant: f64 = (0..3).map(|j| m[0][j] * minor(0, j)).sum();
    [0, 1, 2].map(|i| [0, 1, 2].map(|j| minor(j, i) / determinant))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(found: &Matrix3, expected: &Matrix3, tolerance: f64, what: &str) {
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!(
                (found - expected).abs() <= tolerance,
                "{what}: {found} {expected}"
            );
        }
    }

    #[test]
    fn printed_matrices() {
        // BT.2087-0 §2 (M2) and BT.2407-0 §2, rounded to four places there.
        let bt2087 = [
            [0.6274, 0.3293, 0.0433],
            [0.0691, 0.9195, 0.0114],
            [0.0164, 0.0880, 0.8956],
        ];
        let found = Primaries::Bt709.to(Primaries::Bt2020);
        assert_close(&found, &bt2087, 6e-5, "BT.2087");
        let bt2407 = [
            [1.6605, -0.5876, -0.0728],
            [-0.1246, 1.1329, -0.0083],
            [-0.0182, -0.1006, 1.1187],
        ];
        let found = Primaries::Bt2020.to(Primaries::Bt709);
        assert_close(&found, &bt2407, 6e-5, "BT.2407");
        // IEC 61966-2-1 equation 7.
        let srgb = [
            [0.4124, 0.3576, 0.1805],
            [0.2126, 0.7152, 0.0722],
            [0.0193, 0.1192, 0.9505],
        ];
        assert_close(&Primaries::Bt709.to_xyz(), &srgb, 6e-5, "sRGB");
        // Adobe RGB (1998) §4.3.5.3.
        let adobe = [
            [0.57667, 0.18556, 0.18823],
            [0.29734, 0.62736, 0.07529],
            [0.02703, 0.07069, 0.99134],
        ];
        assert_close(&Primaries::AdobeRgb.to_xyz(), &adobe, 6e-6, "Adobe RGB");
    }

    #[test]
    fn the_luminance_row_is_the_matrix_of_the_same_name() {
        for (primaries, matrix) in [
            (Primaries::Bt709, crate::Matrix::Bt709),
            (Primaries::Bt2020, crate::Matrix::Bt2020),
            (Primaries::Smpte240m, crate::Matrix::Smpte240m),
        ] {
            let [red, green, blue] = primaries.to_xyz()[1];
            let expected = [matrix.kr(), matrix.kg(), matrix.kb()];
            for (found, expected) in [red, green, blue].into_iter().zip(expected) {
                assert!((found - expected).abs() < 6e-4, "{primaries:?} {found}");
            }
        }
    }

    #[test]
    fn white_stays_white_and_there_is_a_way_back() {
        for from in Primaries::ALL {
            for to in Primaries::ALL {
                for white in applied(&from.to(to), [1.0; 3]) {
                    assert!((white - 1.0).abs() < 1e-12, "{from:?} {to:?} {white}");
                }
                let unit = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
                let back = product(&to.to(from), &from.to(to));
                assert_close(&back, &unit, 1e-12, &format!("{from:?} {to:?}"));
            }
        }
    }

    #[test]
    fn the_bradford_matrix_from_c_to_d65() {
        // Lindbloom's table of chromatic adaptation (whites C and D65 of ASTM E308, which differ
        // from H.273's in the fourth place).
        let expected = [
            [0.9904476, -0.0071683, -0.0116156],
            [-0.0123712, 1.0155950, -0.0029282],
            [-0.0035635, 0.0067697, 0.9181569],
        ];
        let found = Primaries::Film.adaptation_to(Primaries::Bt709);
        assert_close(&found, &expected, 2e-3, "C to D65");
    }
}
