//! What is done to one pixel, resampled: matrices, alpha and light.

use crate::format::Family;
use crate::info::FrameInfo;
use crate::light::{LightChange, LightOptions};

/// Analogue values `[Y', Cb, Cr, A]` or `[R', G', B', A]`, by [`crate::Component::slot`].
pub(crate) type Analogue = [f64; 4];

/// What becomes of alpha. A destination without alpha stores none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AlphaMode {
    /// Alpha as it is.
    Copy,
    /// This alpha, in 0..1, in every pixel of the picture.
    Set(f64),
    /// Alpha times this.
    Multiply(f64),
}

/// The pointwise part of a conversion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PixelChange {
    source: FrameInfo,
    destination: FrameInfo,
    alpha: AlphaMode,
    light: Option<LightChange>,
    /// Whether colours are divided by the source's alpha.
    divides: bool,
    /// Whether colours are multiplied by the destination's alpha.
    multiplies: bool,
}

impl PixelChange {
    pub(crate) fn new(
        source: FrameInfo,
        destination: FrameInfo,
        alpha: AlphaMode,
        light: &LightOptions,
    ) -> Self {
        let light = LightChange::new(light, &source, &destination);
        let (from, to) = (source.is_premultiplied(), destination.is_premultiplied());
        // Premultiplied colours stay so unless their alpha or their light changes.
        let kept = from == to && (!from || (alpha == AlphaMode::Copy && light.is_none()));
        Self {
            source,
            destination,
            alpha,
            light,
            divides: from && !kept,
            multiplies: to && !kept,
        }
    }

    /// Whether the change is linear in the colours, so that chroma can be found without luma.
    pub(crate) const fn is_linear(&self) -> bool {
        self.light.is_none() && !self.divides && !self.multiplies
    }

    /// A source pixel as R'G'B'A of the destination.
    pub(crate) fn rgba(&self, analogue: Analogue) -> Analogue {
        let [mut r, mut g, mut b, mut alpha] = to_rgb(&self.source, analogue);
        if self.divides {
            let straight = |value: f64| {
                if alpha > 0.0 {
                    (value / alpha).min(1.0)
                } else {
                    0.0
                }
            };
            [r, g, b] = [r, g, b].map(straight);
        }
        if let Some(light) = &self.light {
            [r, g, b] = light.apply([r, g, b]);
        }
        alpha = match self.alpha {
            AlphaMode::Copy => alpha,
            AlphaMode::Set(value) => value,
            AlphaMode::Multiply(factor) => alpha * factor,
        };
        if self.multiplies {
            [r, g, b] = [r, g, b].map(|value| value * alpha);
        }
        [r, g, b, alpha]
    }

    /// A straight colour of the destination, R'G'B'A, as the destination's R'G'B'A.
    pub(crate) fn border(&self, [r, g, b, alpha]: Analogue) -> Analogue {
        if self.destination.is_premultiplied() {
            [r * alpha, g * alpha, b * alpha, alpha]
        } else {
            [r, g, b, alpha]
        }
    }
}

/// A frame's analogue values as R'G'B'A.
fn to_rgb(info: &FrameInfo, [first, second, third, alpha]: Analogue) -> Analogue {
    let colour = [first, second, third];
    let [r, g, b] = match info.format.family() {
        Family::Yuv => info.matrix.rgb_from_ycbcr(colour),
        Family::Rgb => colour,
    };
    [r, g, b, alpha]
}

/// R'G'B'A as a frame's analogue values.
pub(crate) fn from_rgb(info: &FrameInfo, [r, g, b, alpha]: Analogue) -> Analogue {
    let [first, second, third] = match info.format.family() {
        Family::Yuv => info.matrix.ycbcr_from_rgb([r, g, b]),
        Family::Rgb => [r, g, b],
    };
    [first, second, third, alpha]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;
    use crate::transfer::Transfer;
    use crate::{Primaries, Rng};

    fn change(from: bool, to: bool, alpha: AlphaMode) -> PixelChange {
        let frame =
            |premultiplied| FrameInfo::new(Format::Rgba, 1, 1).with_premultiplied(premultiplied);
        PixelChange::new(frame(from), frame(to), alpha, &LightOptions::default())
    }

    #[test]
    fn straight_and_premultiplied() {
        use AlphaMode::{Copy, Multiply, Set};
        let pixel = [0.2, 0.4, 0.1, 0.5];
        for (from, to, alpha, expected, linear) in [
            (false, false, Copy, pixel, true),
            (true, true, Copy, pixel, true),
            (false, true, Copy, [0.1, 0.2, 0.05, 0.5], false),
            (true, false, Copy, [0.4, 0.8, 0.2, 0.5], false),
            (false, false, Set(0.25), [0.2, 0.4, 0.1, 0.25], true),
            (false, false, Multiply(0.5), [0.2, 0.4, 0.1, 0.25], true),
            (true, true, Multiply(0.5), [0.1, 0.2, 0.05, 0.25], false),
            (true, true, Set(1.0), [0.4, 0.8, 0.2, 1.0], false),
            (false, true, Set(0.25), [0.05, 0.1, 0.025, 0.25], false),
            (true, false, Multiply(0.5), [0.4, 0.8, 0.2, 0.25], false),
        ] {
            let change = change(from, to, alpha);
            assert_eq!(change.is_linear(), linear);
            for (found, expected) in change.rgba(pixel).into_iter().zip(expected) {
                assert!(
                    (found - expected).abs() < 1e-12,
                    "{from} {to} {alpha:?}: {found}"
                );
            }
        }
        let divided = change(true, false, Copy);
        assert_eq!(divided.rgba([0.2, 0.4, 0.1, 0.0]), [0.0; 4]);
        assert_eq!(divided.rgba([0.6, 0.5, 0.1, 0.5]), [1.0, 1.0, 0.2, 0.5]);
        assert_eq!(divided.border(pixel), pixel);
        assert_eq!(
            change(false, true, Copy).border(pixel),
            [0.1, 0.2, 0.05, 0.5]
        );
    }

    #[test]
    fn premultiplied_without_alpha_means_nothing() {
        let opaque = FrameInfo::new(Format::Rgb, 1, 1).with_premultiplied(true);
        let plain = FrameInfo::new(Format::Rgba, 1, 1);
        let options = LightOptions::default();
        let change = PixelChange::new(opaque, plain, AlphaMode::Copy, &options);
        assert!(change.is_linear());
        let change = PixelChange::new(plain, opaque, AlphaMode::Set(0.5), &options);
        assert_eq!(change.rgba([0.2, 0.4, 0.6, 1.0])[..3], [0.2, 0.4, 0.6]);
    }

    #[test]
    fn light_sees_straight_colours() {
        let from = FrameInfo::new(Format::Rgba, 1, 1).with_light(Transfer::Srgb, Primaries::Bt709);
        let to = from.with_light(Transfer::Gamma10, Primaries::Bt709);
        let options = LightOptions {
            transfer: true,
            ..LightOptions::default()
        };
        let mut rng = Rng::new(97);
        for _ in 0..50 {
            let (colour, alpha) = (rng.unit(), 0.1 + 0.9 * rng.unit());
            let expected = Transfer::Srgb.to_light([colour; 3])[0];
            for (before, after) in [(false, false), (true, false), (false, true), (true, true)] {
                let (from, to) = (
                    from.with_premultiplied(before),
                    to.with_premultiplied(after),
                );
                let change = PixelChange::new(from, to, AlphaMode::Copy, &options);
                assert!(!change.is_linear());
                let stored = if before { colour * alpha } else { colour };
                let [red, ..] = change.rgba([stored, stored, stored, alpha]);
                let expected = if after { expected * alpha } else { expected };
                assert!((red - expected).abs() < 1e-12, "{before} {after}: {red}");
            }
        }
    }
}
