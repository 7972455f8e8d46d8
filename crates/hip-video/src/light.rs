//! Light: transfer functions, primaries and tone mapping (docs/conversion.md, "Light").

/// cd/m² of reference white (ITU-R BT.2408), the unit of light.
pub const REFERENCE_WHITE: f64 = 203.0;

/// What R'G'B' means as light on a display.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Transfer {
    /// BT.1886: what BT.601, BT.709, BT.2020 and SMPTE 240M pictures are shown with.
    Bt1886,
    /// IEC 61966-2-1.
    Srgb,
    /// Light itself.
    Linear,
    /// A power of 1.8.
    Gamma18,
    /// A power of 2.0.
    Gamma20,
    /// A power of 2.2.
    Gamma22,
    /// A power of 2.8.
    Gamma28,
    /// Adobe RGB (1998): a power of 563/256.
    AdobeRgb,
    /// SMPTE ST 2084, BT.2100 PQ.
    Pq,
    /// ARIB STD-B67, BT.2100 HLG, for a display of 1000 cd/m².
    Hlg,
}

/// The numbers of `any_params.h`.
pub(crate) mod transfer {
    pub(crate) const POWER: i32 = 0;
    pub(crate) const SRGB: i32 = 1;
    pub(crate) const PQ: i32 = 2;
    pub(crate) const HLG: i32 = 3;
}

impl Transfer {
    /// The kernels' number, and the power.
    pub(crate) fn number(self) -> (i32, f32) {
        match self {
            Transfer::Bt1886 => (transfer::POWER, 2.4),
            Transfer::Srgb => (transfer::SRGB, 0.0),
            Transfer::Linear => (transfer::POWER, 1.0),
            Transfer::Gamma18 => (transfer::POWER, 1.8),
            Transfer::Gamma20 => (transfer::POWER, 2.0),
            Transfer::Gamma22 => (transfer::POWER, 2.2),
            Transfer::Gamma28 => (transfer::POWER, 2.8),
            Transfer::AdobeRgb => (transfer::POWER, 563.0 / 256.0),
            Transfer::Pq => (transfer::PQ, 0.0),
            Transfer::Hlg => (transfer::HLG, 0.0),
        }
    }

    /// The brightest it can carry, in cd/m².
    pub fn peak(self) -> f64 {
        match self {
            Transfer::Pq => 10_000.0,
            Transfer::Hlg => 1000.0,
            _ => REFERENCE_WHITE,
        }
    }

    /// Whether it is one of the HDR transfers of BT.2100.
    pub fn is_hdr(self) -> bool {
        matches!(self, Transfer::Pq | Transfer::Hlg)
    }
}

/// The chromaticities of red, green, blue and white (ITU-T H.273 table 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Primaries {
    /// BT.709, sRGB.
    Bt709,
    /// BT.470 System M.
    Bt470M,
    /// BT.470 System B, G; BT.601 with 625 lines.
    Bt470Bg,
    /// SMPTE 170M; BT.601 with 525 lines.
    Smpte170M,
    /// SMPTE 240M.
    Smpte240M,
    /// Generic film with illuminant C.
    Film,
    /// BT.2020, BT.2100.
    Bt2020,
    /// Adobe RGB (1998).
    AdobeRgb,
    /// SMPTE ST 428-1: CIE XYZ.
    SmpteSt428,
    /// SMPTE RP 431-2, DCI P3.
    SmpteRp431,
    /// SMPTE EG 432-1, Display P3.
    SmpteEg432,
    /// EBU Tech. 3213-E.
    Ebu3213,
}

type Matrix3 = [[f64; 3]; 3];

const D65: [f64; 2] = [0.3127, 0.3290];
const C: [f64; 2] = [0.310, 0.316];

impl Primaries {
    /// x, y of red, green, blue, white.
    pub fn chromaticities(self) -> [[f64; 2]; 4] {
        match self {
            Primaries::Bt709 => [[0.640, 0.330], [0.300, 0.600], [0.150, 0.060], D65],
            Primaries::Bt470M => [[0.67, 0.33], [0.21, 0.71], [0.14, 0.08], C],
            Primaries::Bt470Bg => [[0.64, 0.33], [0.29, 0.60], [0.15, 0.06], D65],
            Primaries::Smpte170M | Primaries::Smpte240M => {
                [[0.630, 0.340], [0.310, 0.595], [0.155, 0.070], D65]
            }
            Primaries::Film => [[0.681, 0.319], [0.243, 0.692], [0.145, 0.049], C],
            Primaries::Bt2020 => [[0.708, 0.292], [0.170, 0.797], [0.131, 0.046], D65],
            Primaries::AdobeRgb => [[0.64, 0.33], [0.21, 0.71], [0.15, 0.06], D65],
            Primaries::SmpteSt428 => [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0 / 3.0; 2]],
            Primaries::SmpteRp431 => [
                [0.680, 0.320],
                [0.265, 0.690],
                [0.150, 0.060],
                [0.314, 0.351],
            ],
            Primaries::SmpteEg432 => [[0.680, 0.320], [0.265, 0.690], [0.150, 0.060], D65],
            Primaries::Ebu3213 => [[0.630, 0.340], [0.295, 0.605], [0.155, 0.077], D65],
        }
    }

    /// Linear R, G, B to CIE XYZ, white having Y = 1.
    fn to_xyz(self) -> Matrix3 {
        let [red, green, blue, white] = self.chromaticities().map(xyz);
        let mut columns = [[0.0; 3]; 3];
        for row in 0..3 {
            columns[row] = [red[row], green[row], blue[row]];
        }
        let shares = apply(&inverse(&columns), white.map(|part| part / white[1]));
        columns.map(|row| [row[0] * shares[0], row[1] * shares[1], row[2] * shares[2]])
    }

    /// Linear light with these primaries to light with `to`'s; white stays white (Bradford).
    pub fn to(self, to: Primaries) -> Matrix3 {
        if self == to {
            return [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        }
        let adapted = product(
            &bradford(self.chromaticities()[3], to.chromaticities()[3]),
            &self.to_xyz(),
        );
        product(&inverse(&to.to_xyz()), &adapted)
    }
}

/// CIE XYZ of a chromaticity with X + Y + Z = 1.
fn xyz([x, y]: [f64; 2]) -> [f64; 3] {
    [x, y, 1.0 - x - y]
}

/// The Bradford adaptation from one white to another.
fn bradford(from: [f64; 2], to: [f64; 2]) -> Matrix3 {
    const CONES: Matrix3 = [
        [0.8951, 0.2664, -0.1614],
        [-0.7502, 1.7135, 0.0367],
        [0.0389, -0.0685, 1.0296],
    ];
    let cones = |white: [f64; 2]| {
        let [x, y, z] = xyz(white);
        apply(&CONES, [x / y, 1.0, z / y])
    };
    let (from, to) = (cones(from), cones(to));
    let mut scaled = CONES;
    for (row, (from, to)) in scaled.iter_mut().zip(from.into_iter().zip(to)) {
        *row = row.map(|value| value * to / from);
    }
    product(&inverse(&CONES), &scaled)
}

fn apply(matrix: &Matrix3, value: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row[0] * value[0] + row[1] * value[1] + row[2] * value[2])
}

fn product(left: &Matrix3, right: &Matrix3) -> Matrix3 {
    let column = |index: usize| apply(left, [right[0][index], right[1][index], right[2][index]]);
    let columns = [column(0), column(1), column(2)];
    [0, 1, 2].map(|row| [columns[0][row], columns[1][row], columns[2][row]])
}

fn inverse(m: &Matrix3) -> Matrix3 {
    let minor = |row: usize, column: usize| {
        let [r0, r1] = [(row + 1) % 3, (row + 2) % 3];
        let [c0, c1] = [(column + 1) % 3, (column + 2) % 3];
        m[r0][c0] * m[r1][c1] - m[r0][c1] * m[r1][c0]
    };
    let determinant: f64 = (0..3).map(|column| m[0][column] * minor(0, column)).sum();
    [0, 1, 2].map(|row| [0, 1, 2].map(|column| minor(column, row) / determinant))
}

/// How light brighter than the destination can show is brought down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ToneMap {
    /// It is clipped.
    Clip,
    /// ITU-R BT.2390's curve in PQ.
    #[default]
    Bt2390,
    /// Reinhard's extended curve.
    Reinhard,
}

/// What one side's R'G'B' means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LightDescription {
    /// The transfer function.
    pub transfer: Transfer,
    /// The primaries.
    pub primaries: Primaries,
    /// The brightest of the content, in cd/m², where it is known: MaxCLL or the mastering display's.
    pub peak: Option<u32>,
}

impl Default for LightDescription {
    fn default() -> Self {
        LightDescription {
            transfer: Transfer::Bt1886,
            primaries: Primaries::Bt709,
            peak: None,
        }
    }
}

/// A change of light.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LightChange {
    /// What the source means.
    pub source: LightDescription,
    /// What the destination is to mean.
    pub destination: LightDescription,
    /// Used where the source is brighter than the destination.
    pub tone_map: ToneMap,
}

impl LightChange {
    /// Whether anything changes.
    pub fn is_identity(&self) -> bool {
        // SMPTE 170M and 240M are two names of the same primaries.
        let same = |side: &LightDescription| (side.transfer, side.primaries.chromaticities());
        same(&self.source) == same(&self.destination) && !self.tone_maps()
    }

    /// The brightest of both sides in cd/m².
    pub(crate) fn peaks(&self) -> [f64; 2] {
        let known = |side: &LightDescription, otherwise: f64| {
            let peak = side.peak.filter(|peak| *peak > 0);
            peak.map_or(otherwise, f64::from)
        };
        let source = match self.source.transfer {
            Transfer::Pq | Transfer::Hlg => known(&self.source, 1000.0),
            sdr => sdr.peak(),
        };
        let most = self.destination.transfer.peak();
        [source, known(&self.destination, most).min(most)]
    }

    pub(crate) fn tone_maps(&self) -> bool {
        let [source, destination] = self.peaks();
        self.tone_map != ToneMap::Clip && source > destination
    }

    /// The matrix between the primaries, as the kernels take it.
    pub(crate) fn primaries(&self) -> [f32; 9] {
        let matrix = self.source.primaries.to(self.destination.primaries);
        let mut rows = [0.0; 9];
        for (to, from) in rows.iter_mut().zip(matrix.iter().flatten()) {
            *to = *from as f32;
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bt709_to_bt2020_is_that_of_bt2087() {
        // ITU-R BT.2087-0, 2.2.
        let expected = [
            [0.6274, 0.3293, 0.0433],
            [0.0691, 0.9195, 0.0114],
            [0.0164, 0.0880, 0.8956],
        ];
        let found = Primaries::Bt709.to(Primaries::Bt2020);
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!((found - expected).abs() < 6e-5, "{found} {expected}");
        }
    }

    #[test]
    fn white_stays_white() {
        let all = [
            Primaries::Bt709,
            Primaries::Bt470M,
            Primaries::Bt470Bg,
            Primaries::Smpte170M,
            Primaries::Film,
            Primaries::Bt2020,
            Primaries::AdobeRgb,
            Primaries::SmpteSt428,
            Primaries::SmpteRp431,
            Primaries::SmpteEg432,
            Primaries::Ebu3213,
        ];
        for from in all {
            for to in all {
                for value in apply(&from.to(to), [1.0; 3]) {
                    assert!((value - 1.0).abs() < 1e-9, "{from:?} {to:?} {value}");
                }
            }
        }
    }

    #[test]
    fn primaries_of_two_names_change_nothing() {
        let mut change = LightChange::default();
        change.source.primaries = Primaries::Smpte170M;
        change.destination.primaries = Primaries::Smpte240M;
        assert!(change.is_identity());
        change.destination.primaries = Primaries::Ebu3213;
        assert!(!change.is_identity());
    }
}
