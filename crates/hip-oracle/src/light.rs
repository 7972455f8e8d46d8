//! What is done to light: other transfer functions, other primaries, another peak.

use crate::info::FrameInfo;
use crate::primaries::{Matrix3, applied};
use crate::transfer::{
    HLG_PEAK, PQ_PEAK, REFERENCE_WHITE, Transfer, pq_from_luminance, pq_to_luminance,
};

/// How a picture with a higher peak is shown with a lower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToneMapping {
    /// The EETF of ITU-R BT.2390-11 §5.4.1, in PQ, with blacks of 0.
    Bt2390,
    /// Reinhard et al., "Photographic tone reproduction for digital images" (2002), equation 4.
    Reinhard,
    /// Light above the destination's peak is lost.
    Clip,
}

impl ToneMapping {
    /// Every tone mapping.
    pub const ALL: [Self; 3] = [Self::Bt2390, Self::Reinhard, Self::Clip];

    /// The luminance that becomes of `luminance`, the largest of a pixel's components, where the
    /// source reaches up to `source_peak` and the destination to `destination_peak`, all in cd/m².
    pub fn apply(self, luminance: f64, source_peak: f64, destination_peak: f64) -> f64 {
        match self {
            Self::Bt2390 => eetf(luminance, source_peak, destination_peak),
            Self::Reinhard => {
                let value = luminance / destination_peak;
                let peak = source_peak / destination_peak;
                destination_peak * value * (1.0 + value / (peak * peak)) / (1.0 + value)
            }
            Self::Clip => luminance,
        }
    }
}

/// The steps of BT.2390-11 §5.4.1 with L_B = L_min = 0.
fn eetf(luminance: f64, source_peak: f64, destination_peak: f64) -> f64 {
    let source_signal = pq_from_luminance(source_peak);
    let e1 = (pq_from_luminance(luminance) / source_signal).min(1.0);
    let max_lum = pq_from_luminance(destination_peak) / source_signal;
    let ks = 1.5 * max_lum - 0.5;
    let e2 = if e1 < ks {
        e1
    } else {
        let t = (e1 - ks) / (1.0 - ks);
        (2.0 * t.powi(3) - 3.0 * t.powi(2) + 1.0) * ks
            + (t.powi(3) - 2.0 * t.powi(2) + t) * (1.0 - ks)
            + (-2.0 * t.powi(3) + 3.0 * t.powi(2)) * max_lum
    };
    pq_to_luminance(e2 * source_signal)
}

/// What is asked for, and what is known of the peaks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LightOptions {
    /// Whether the transfer function is to become the destination's: `gamma` = remap.
    pub transfer: bool,
    /// Whether the primaries are to become the destination's: `primaries` = remap.
    pub primaries: bool,
    /// What is done if the source's peak is above the destination's.
    pub tone_mapping: Option<ToneMapping>,
    /// The source's maximum content light level in cd/m².
    pub max_cll: Option<f64>,
    /// The maximum luminance of the source's mastering display in cd/m².
    pub mastering_peak: Option<f64>,
    /// The destination's peak in cd/m².
    pub destination_peak: Option<f64>,
}

impl LightOptions {
    /// The source's peak in cd/m².
    pub fn source_peak(&self, transfer: Transfer) -> f64 {
        if !transfer.is_hdr() {
            return REFERENCE_WHITE;
        }
        let known = self.max_cll.filter(|&peak| peak > 0.0);
        let known = known.or(self.mastering_peak.filter(|&peak| peak > 0.0));
        known.unwrap_or(1000.0)
    }

    /// The destination's peak in cd/m².
    pub fn destination_peak(&self, transfer: Transfer) -> f64 {
        let carried = match transfer {
            Transfer::Pq => PQ_PEAK,
            Transfer::Hlg => HLG_PEAK,
            _ => REFERENCE_WHITE,
        };
        self.destination_peak
            .map_or(carried, |peak| peak.min(carried))
    }
}

/// A change of R'G'B' by way of light.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LightChange {
    from: Transfer,
    to: Transfer,
    primaries: Option<Matrix3>,
    tone_mapping: Option<(ToneMapping, f64, f64)>,
}

impl LightChange {
    /// What the options ask for between two frames; `None` if that changes nothing.
    pub fn new(
        options: &LightOptions,
        source: &FrameInfo,
        destination: &FrameInfo,
    ) -> Option<Self> {
        let unlike = !source.transfer.is_same_as(destination.transfer);
        let transfer = options.transfer && unlike;
        let (old, new) = (source.primaries, destination.primaries);
        let differ = old.chromaticities() != new.chromaticities();
        let primaries = (options.primaries && differ).then(|| old.to(new));
        let (from_peak, to_peak) = (
            options.source_peak(source.transfer),
            options.destination_peak(destination.transfer),
        );
        let tone_mapping = options.tone_mapping.filter(|_| from_peak > to_peak);
        let tone_mapping = tone_mapping.map(|mapping| (mapping, from_peak, to_peak));
        // Clipping is all that the destination does anyway.
        let maps = tone_mapping.is_some_and(|(mapping, ..)| unlike || mapping != ToneMapping::Clip);
        if !transfer && primaries.is_none() && !maps {
            return None;
        }
        // Primaries alone leave the relation to light as it was.
        let remapped = options.transfer || tone_mapping.is_some();
        Some(Self {
            from: source.transfer,
            to: if remapped {
                destination.transfer
            } else {
                source.transfer
            },
            primaries,
            tone_mapping,
        })
    }

    /// R'G'B' as changed; each component is first clamped to 0..1.
    pub fn apply(&self, rgb: [f64; 3]) -> [f64; 3] {
        let mut light = self.from.to_light(rgb.map(|value| value.clamp(0.0, 1.0)));
        if let Some(matrix) = &self.primaries {
            light = applied(matrix, light);
        }
        if let Some((mapping, from_peak, to_peak)) = self.tone_mapping {
            let largest = light.into_iter().fold(f64::NEG_INFINITY, f64::max);
            let factor = if largest > 0.0 {
                let luminance = largest * REFERENCE_WHITE;
                mapping.apply(luminance, from_peak, to_peak) / luminance
            } else {
                0.0
            };
            light = light.map(|value| value * factor);
        }
        self.to.from_light(light)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;
    use crate::primaries::Primaries;

    fn frame(transfer: Transfer, primaries: Primaries) -> FrameInfo {
        FrameInfo::new(Format::Rgba, 1, 1).with_light(transfer, primaries)
    }

    #[test]
    fn mappings_bring_the_peak_to_the_peak_and_keep_order() {
        for mapping in [ToneMapping::Bt2390, ToneMapping::Reinhard] {
            for (from, to) in [(1000.0, 203.0), (4000.0, 203.0), (10000.0, 1000.0)] {
                let top = mapping.apply(from, from, to);
                assert!(
                    (top - to).abs() < 1e-6 * to,
                    "{mapping:?} {from} {to}: {top}"
                );
                let mut last = 0.0;
                for step in 1..=200 {
                    let light = from * (f64::from(step) / 200.0).powi(3);
                    let mapped = mapping.apply(light, from, to);
                    assert!(
                        mapped > last && mapped <= light * (1.0 + 1e-9),
                        "{mapping:?} {light}: {mapped}"
                    );
                    last = mapped;
                }
            }
        }
        assert_eq!(ToneMapping::Clip.apply(700.0, 1000.0, 203.0), 700.0);
    }

    #[test]
    fn the_knee_of_bt2390() {
        // From 1000 to 203 cd/m²: maxLum = 0.5806/0.7518 = 0.7723, KS = 0.6584, which is a signal
        // of 0.4950 and 89 cd/m²: below it nothing changes, above it something does.
        let below = ToneMapping::Bt2390.apply(80.0, 1000.0, 203.0);
        assert!((below - 80.0).abs() < 1e-9);
        let above = ToneMapping::Bt2390.apply(100.0, 1000.0, 203.0);
        assert!(above < 99.9 && above > 95.0, "{above}");
        // Half way between the knee and the source's peak (T = 1/2) the Hermite spline is
        // KS/2 + (1 - KS)/8 + maxLum/2 = 0.7581: a signal of 0.5699 and 182 cd/m².
        let middle = pq_to_luminance(0.8292 * pq_from_luminance(1000.0));
        let found = ToneMapping::Bt2390.apply(middle, 1000.0, 203.0);
        assert!(
            (found - pq_to_luminance(0.7581 * 0.75183)).abs() < 1.0,
            "{found}"
        );
    }

    #[test]
    fn reinhard_by_hand() {
        // p = 4: m = 1 becomes (1 + 1/16)/2; m = 4 becomes 1.
        let found = ToneMapping::Reinhard.apply(100.0, 400.0, 100.0);
        assert!((found - 53.125).abs() < 1e-9);
    }

    #[test]
    fn only_what_is_asked_for_and_changes_something() {
        let (bt709, bt2020) = (Primaries::Bt709, Primaries::Bt2020);
        let sdr = frame(Transfer::Bt709, bt709);
        let ask = |transfer, primaries, tone_mapping| LightOptions {
            transfer,
            primaries,
            tone_mapping,
            ..LightOptions::default()
        };
        let pq = frame(Transfer::Pq, bt2020);
        assert_eq!(LightChange::new(&LightOptions::default(), &pq, &sdr), None);
        let all = ask(true, true, Some(ToneMapping::Bt2390));
        assert_eq!(LightChange::new(&all, &sdr, &sdr), None);
        let same = frame(Transfer::Bt2020_10, bt709);
        assert_eq!(LightChange::new(&all, &sdr, &same), None);
        // Standard to high dynamic range: no tone mapping, white at 203 cd/m² = 58 % PQ.
        let up = LightChange::new(&all, &sdr, &pq).expect("a change");
        for value in up.apply([1.0; 3]) {
            assert!((value - 0.5807).abs() < 1e-4, "{value}");
        }
        // Primaries alone keep the transfer function.
        let wide = frame(Transfer::Srgb, bt2020);
        let primaries = LightChange::new(&ask(false, true, None), &sdr, &wide).expect("a change");
        let [red, green, _] = primaries.apply([1.0, 0.0, 0.0]);
        assert!((red - 0.6274f64.powf(1.0 / 2.4)).abs() < 1e-4, "{red}");
        assert!((green - 0.0691f64.powf(1.0 / 2.4)).abs() < 1e-4, "{green}");
    }

    #[test]
    fn hue_stays_under_tone_mapping() {
        let pq = frame(Transfer::Pq, Primaries::Bt2020);
        let linear = frame(Transfer::Gamma10, Primaries::Bt2020);
        for mapping in [ToneMapping::Bt2390, ToneMapping::Reinhard] {
            let options = LightOptions {
                tone_mapping: Some(mapping),
                max_cll: Some(600.0),
                mastering_peak: Some(4000.0),
                ..LightOptions::default()
            };
            let change = LightChange::new(&options, &pq, &linear).expect("a change");
            let signal = [600.0, 300.0, 60.0].map(pq_from_luminance);
            let [red, green, blue] = change.apply(signal);
            assert!(
                (red - 1.0).abs() < 1e-6,
                "{mapping:?}: the peak is the peak, {red}"
            );
            assert!((green / red - 0.5).abs() < 1e-9 && (blue / red - 0.1).abs() < 1e-9);
            assert_eq!(change.apply([0.0; 3]), [0.0; 3]);
        }
    }

    #[test]
    fn peaks() {
        let mut options = LightOptions::default();
        assert_eq!(options.source_peak(Transfer::Bt709), 203.0);
        assert_eq!(options.source_peak(Transfer::Hlg), 1000.0);
        options.mastering_peak = Some(4000.0);
        assert_eq!(options.source_peak(Transfer::Pq), 4000.0);
        options.max_cll = Some(0.0);
        assert_eq!(options.source_peak(Transfer::Pq), 4000.0);
        options.max_cll = Some(750.0);
        assert_eq!(options.source_peak(Transfer::Pq), 750.0);
        let of = |transfer| options.destination_peak(transfer);
        let found = [Transfer::Srgb, Transfer::Hlg, Transfer::Pq].map(of);
        assert_eq!(found, [203.0, 1000.0, 10000.0]);
        options.destination_peak = Some(600.0);
        assert_eq!(options.destination_peak(Transfer::Pq), 600.0);
    }
}
