//! Transfer functions: R'G'B' in 0..1 to display light and back.
//!
//! Light is in cd/m² over [`REFERENCE_WHITE`], so that the white of standard dynamic range is 1.

/// Luminance of the reference white of ITU-R BT.2408-7 table 1, in cd/m².
pub const REFERENCE_WHITE: f64 = 203.0;

/// Peak luminance of PQ, ITU-R BT.2100-2 table 4, in cd/m².
pub const PQ_PEAK: f64 = 10000.0;

/// Peak luminance of the display for which HLG is seen, ITU-R BT.2100-2 table 5 note 5f, in cd/m².
pub const HLG_PEAK: f64 = 1000.0;

/// How R'G'B' is related to light.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transfer {
    /// `bt709`, shown as ITU-R BT.1886 has it, with a black of 0.
    Bt709,
    /// `bt601`: as `Bt709`.
    Bt601,
    /// `smpte240m`: as `Bt709`.
    Smpte240m,
    /// `bt2020-10`: as `Bt709`.
    Bt2020_10,
    /// `bt2020-12`: as `Bt709`.
    Bt2020_12,
    /// `srgb`: IEC 61966-2-1.
    Srgb,
    /// `gamma10`: linear.
    Gamma10,
    /// `gamma18`.
    Gamma18,
    /// `gamma20`.
    Gamma20,
    /// `gamma22`.
    Gamma22,
    /// `gamma28`.
    Gamma28,
    /// `adobergb`: Adobe RGB (1998) §4.3.4.2, the power 563/256.
    AdobeRgb,
    /// `smpte2084`: PQ of ITU-R BT.2100-2 table 4.
    Pq,
    /// `arib-std-b67`: HLG of ITU-R BT.2100-2 table 5, seen on a display of 1000 cd/m².
    Hlg,
}

impl Transfer {
    /// Every transfer function.
    pub const ALL: [Self; 14] = [
        Self::Bt709,
        Self::Bt601,
        Self::Smpte240m,
        Self::Bt2020_10,
        Self::Bt2020_12,
        Self::Srgb,
        Self::Gamma10,
        Self::Gamma18,
        Self::Gamma20,
        Self::Gamma22,
        Self::Gamma28,
        Self::AdobeRgb,
        Self::Pq,
        Self::Hlg,
    ];

    /// The largest light that the function can carry, in cd/m².
    pub const fn peak(self) -> f64 {
        match self {
            Self::Pq => PQ_PEAK,
            Self::Hlg => HLG_PEAK,
            _ => REFERENCE_WHITE,
        }
    }

    /// Whether the function carries high dynamic range.
    pub const fn is_hdr(self) -> bool {
        matches!(self, Self::Pq | Self::Hlg)
    }

    /// The exponent of the functions that are powers.
    const fn exponent(self) -> Option<f64> {
        Some(match self {
            Self::Bt709 | Self::Bt601 | Self::Smpte240m | Self::Bt2020_10 | Self::Bt2020_12 => 2.4,
            Self::Gamma10 => 1.0,
            Self::Gamma18 => 1.8,
            Self::Gamma20 => 2.0,
            Self::Gamma22 => 2.2,
            Self::Gamma28 => 2.8,
            Self::AdobeRgb => 563.0 / 256.0,
            Self::Srgb | Self::Pq | Self::Hlg => return None,
        })
    }

    /// Whether two functions are the same by another name.
    pub fn is_same_as(self, other: Self) -> bool {
        self == other || (self.exponent().is_some() && self.exponent() == other.exponent())
    }

    /// R'G'B' in 0..1 as display light.
    pub fn to_light(self, rgb: [f64; 3]) -> [f64; 3] {
        match self {
            Self::Srgb => rgb.map(srgb_to_linear),
            Self::Pq => rgb.map(|v| pq_to_luminance(v) / REFERENCE_WHITE),
            Self::Hlg => {
                let scene = rgb.map(hlg_to_scene);
                let gain = luminance(scene).powf(HLG_GAMMA - 1.0);
                scene.map(|value| gain * value * HLG_PEAK / REFERENCE_WHITE)
            }
            _ => rgb.map(|v| v.powf(self.power())),
        }
    }

    /// Display light as R'G'B' in 0..1; light is first clamped to what the function can carry.
    pub fn from_light(self, light: [f64; 3]) -> [f64; 3] {
        let light = light.map(|value| value.clamp(0.0, self.peak() / REFERENCE_WHITE));
        match self {
            Self::Srgb => light.map(srgb_from_linear),
            Self::Pq => light.map(|v| pq_from_luminance(v * REFERENCE_WHITE)),
            Self::Hlg => {
                let display = light.map(|value| value * REFERENCE_WHITE / HLG_PEAK);
                let total = luminance(display);
                if total == 0.0 {
                    return [0.0; 3];
                }
                // Y_D = Y_S^γ, so that E = F_D·Y_S^(1-γ) = F_D·Y_D^((1-γ)/γ).
                let gain = total.powf((1.0 - HLG_GAMMA) / HLG_GAMMA);
                display.map(|value| hlg_from_scene(value * gain))
            }
            _ => light.map(|v| v.powf(1.0 / self.power())),
        }
    }

    fn power(self) -> f64 {
        match self.exponent() {
            Some(exponent) => exponent,
            None => panic!("{self:?} is no power"),
        }
    }
}

/// The system gamma of HLG at 1000 cd/m²: BT.2100-2 table 5.
const HLG_GAMMA: f64 = 1.2;

/// Luminance of linear R, G, B: BT.2100-2 table 5, the weights of BT.2020.
fn luminance([r, g, b]: [f64; 3]) -> f64 {
    0.2627 * r + 0.6780 * g + 0.0593 * b
}

/// IEC 61966-2-1 equations 5 and 6.
fn srgb_to_linear(v: f64) -> f64 {
    if v <= 0.04045 {
        v / 12.92
    } else {
        ((v + 0.055) / 1.055).powf(2.4)
    }
}

/// IEC 61966-2-1 equations 9 and 10.
fn srgb_from_linear(light: f64) -> f64 {
    if light <= 0.003_130_8 {
        12.92 * light
    } else {
        1.055 * light.powf(1.0 / 2.4) - 0.055
    }
}

/// The constants of BT.2100-2 table 4.
mod pq {
    pub(super) const M1: f64 = 2610.0 / 16384.0;
    pub(super) const M2: f64 = 2523.0 / 4096.0 * 128.0;
    pub(super) const C1: f64 = 3424.0 / 4096.0;
    pub(super) const C2: f64 = 2413.0 / 4096.0 * 32.0;
    pub(super) const C3: f64 = 2392.0 / 4096.0 * 32.0;
}

/// The PQ EOTF: a signal in 0..1 as cd/m².
pub fn pq_to_luminance(signal: f64) -> f64 {
    let root = signal.powf(1.0 / pq::M2);
    let ratio = (root - pq::C1).max(0.0) / (pq::C2 - pq::C3 * root);
    PQ_PEAK * ratio.powf(1.0 / pq::M1)
}

/// The inverse of the PQ EOTF: cd/m² as a signal in 0..1.
pub fn pq_from_luminance(luminance: f64) -> f64 {
    let power = (luminance / PQ_PEAK).powf(pq::M1);
    ((pq::C1 + pq::C2 * power) / (1.0 + pq::C3 * power)).powf(pq::M2)
}

/// The constants of BT.2100-2 table 5, of which b and c follow from a.
mod hlg {
    pub(super) const A: f64 = 0.17883277;
    pub(super) const B: f64 = 1.0 - 4.0 * A;

    pub(super) fn c() -> f64 {
        0.5 - A * (4.0 * A).ln()
    }
}

/// The HLG OETF: scene light in 0..1 as a signal in 0..1.
pub fn hlg_from_scene(light: f64) -> f64 {
    if light <= 1.0 / 12.0 {
        (3.0 * light).sqrt()
    } else {
        hlg::A * (12.0 * light - hlg::B).ln() + hlg::c()
    }
}

/// The inverse of the HLG OETF.
pub fn hlg_to_scene(signal: f64) -> f64 {
    if signal <= 0.5 {
        signal * signal / 3.0
    } else {
        (((signal - hlg::c()) / hlg::A).exp() + hlg::B) / 12.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn assert_close(found: f64, expected: f64, tolerance: f64, what: &str) {
        let error = (found - expected).abs();
        assert!(error <= tolerance, "{what}: {found}, not {expected}");
    }

    #[test]
    fn printed_points_of_pq() {
        // BT.2100-2 gives none; these are BT.2408's and SMPTE ST 2084's, to three places.
        for (luminance, signal) in [(100.0, 0.508), (203.0, 0.581), (1000.0, 0.752)] {
            assert_close(pq_from_luminance(luminance), signal, 5e-4, "PQ");
            assert_close(
                pq_to_luminance(pq_from_luminance(luminance)),
                luminance,
                1e-9,
                "PQ",
            );
        }
        assert_close(pq_from_luminance(PQ_PEAK), 1.0, 1e-12, "PQ");
        assert_close(pq_to_luminance(0.0), 0.0, 1e-12, "PQ");
    }

    #[test]
    fn printed_points_of_hlg() {
        assert_close(hlg_from_scene(1.0 / 12.0), 0.5, 1e-12, "HLG");
        assert_close(hlg_from_scene(1.0), 1.0, 1e-8, "HLG");
        assert_close(hlg::B, 0.28466892, 1e-8, "b");
        assert_close(hlg::c(), 0.55991073, 1e-8, "c");
        // The two pieces meet.
        assert_close(hlg_to_scene(0.5), hlg_to_scene(0.5 + 1e-12), 1e-11, "HLG");
    }

    #[test]
    fn levels_of_bt2408() {
        // BT.2408-7 table 1: luminance on a display of 1000 cd/m², %PQ, %HLG, all rounded.
        for (luminance, pq, hlg) in [(26.0, 38.0, 38.0), (162.0, 56.0, 71.0), (203.0, 58.0, 75.0)] {
            let grey = [luminance / REFERENCE_WHITE; 3];
            assert_close(Transfer::Pq.from_light(grey)[0] * 100.0, pq, 0.5, "PQ");
            assert_close(Transfer::Hlg.from_light(grey)[0] * 100.0, hlg, 0.5, "HLG");
        }
        let white = Transfer::Hlg.to_light([0.75; 3]);
        assert_close(
            white[1] * REFERENCE_WHITE,
            203.0,
            0.5,
            "HLG reference white",
        );
    }

    #[test]
    fn white_and_black_of_every_function() {
        for transfer in Transfer::ALL {
            let peak = transfer.peak() / REFERENCE_WHITE;
            for (signal, light) in [(0.0, 0.0), (1.0, peak)] {
                assert_close(transfer.to_light([signal; 3])[2], light, 1e-6, "to light");
                assert_close(
                    transfer.from_light([light; 3])[0],
                    signal,
                    1e-6,
                    "from light",
                );
            }
            assert_close(
                transfer.from_light([2.0 * peak; 3])[1],
                1.0,
                1e-6,
                "clamped",
            );
            assert_close(transfer.from_light([-1.0; 3])[1], 0.0, 1e-6, "clamped");
        }
    }

    #[test]
    fn there_and_back_again() {
        let mut rng = Rng::new(95);
        for transfer in Transfer::ALL {
            for _ in 0..200 {
                // HLG's luminance mixes the components, and saturated colours leave its range.
                let rgb = [0; 3].map(|_| 0.2 + 0.5 * rng.unit());
                let back = transfer.from_light(transfer.to_light(rgb));
                for (found, expected) in back.into_iter().zip(rgb) {
                    assert_close(found, expected, 1e-6, &format!("{transfer:?}"));
                }
            }
        }
    }

    #[test]
    fn names_of_one_function() {
        assert!(Transfer::Bt709.is_same_as(Transfer::Bt2020_12));
        assert!(!Transfer::Bt709.is_same_as(Transfer::Srgb));
        assert!(!Transfer::Pq.is_same_as(Transfer::Hlg));
        assert!(Transfer::Hlg.is_same_as(Transfer::Hlg));
        // IEC 61966-2-1: mid grey 0.5 is 21.4 % of light; BT.1886: 18.9 %.
        assert_close(Transfer::Srgb.to_light([0.5; 3])[0], 0.2140, 5e-5, "sRGB");
        assert_close(
            Transfer::Bt709.to_light([0.5; 3])[0],
            0.1895,
            5e-5,
            "BT.1886",
        );
    }
}
