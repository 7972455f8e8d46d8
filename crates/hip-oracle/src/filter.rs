//! Methods: which samples of a lattice are read, with which weights.

use std::f64::consts::PI;

use crate::geometry::{Ratio, half};

/// How a source is read between its samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Linear interpolation between the two neighbours on each axis, never widened.
    Bilinear,
    /// The sample whose cell holds the position.
    Nearest,
    /// The mean over what a destination sample covers; linear interpolation when enlarging.
    Area,
    /// The cubic of Mitchell and Netravali ("Reconstruction filters in computer graphics", 1988),
    /// widened when shrinking.
    Bicubic {
        /// Their B.
        b: f64,
        /// Their C.
        c: f64,
    },
    /// A sinc windowed by the middle lobe of a wider sinc, widened when shrinking.
    Lanczos {
        /// Lobes on either side: 2, 3 or 4.
        lobes: u32,
    },
    /// [`Method::Area`] on an axis that shrinks, else [`Method::Bilinear`].
    Auto,
}

impl Method {
    /// The two that read the four neighbours at most.
    pub const SIMPLE: [Self; 2] = [Self::Bilinear, Self::Nearest];

    /// Every method, with the usual parameters.
    pub const ALL: [Self; 6] = [
        Self::Bilinear,
        Self::Nearest,
        Self::Area,
        Self::CATMULL_ROM,
        Self::Lanczos { lobes: 3 },
        Self::Auto,
    ];

    /// The cubic that `bicubic` means by default.
    pub const CATMULL_ROM: Self = Self::Bicubic { b: 0.0, c: 0.5 };

    /// What the method is on an axis of `scale` source pixels to one destination pixel.
    pub fn on_axis(self, scale: Ratio) -> Self {
        match self {
            Self::Auto if scale.exceeds_one() => Self::Area,
            Self::Auto => Self::Bilinear,
            other => other,
        }
    }

    /// Whether a destination sample reads its two neighbours at most, however much is shrunk.
    pub const fn is_simple(self) -> bool {
        matches!(self, Self::Bilinear | Self::Nearest)
    }
}

/// Samples by their index, each with its weight; weights sum to 1.
pub type Weights = Vec<(i64, f64)>;

/// The samples that a position reads: `position` is an index of the lattice, `samples` how many
/// samples of the lattice there are to one of the destination.
///
/// # Panics
/// On [`Method::Auto`], which is a method only once the axis is known.
pub fn weights(method: Method, position: Ratio, samples: Ratio, mirrored: bool) -> Weights {
    let widening = samples.to_f64().max(1.0);
    match method {
        Method::Nearest => vec![(nearest(position, mirrored), 1.0)],
        Method::Bilinear => bilinear(position),
        Method::Area if samples.exceeds_one() => box_weights(position.to_f64(), samples.to_f64()),
        Method::Area => bilinear(position),
        Method::Bicubic { b, c } => sampled(position, widening, 2.0, |t| mitchell(t, b, c)),
        Method::Lanczos { lobes } => {
            let lobes = f64::from(lobes);
            sampled(position, widening, lobes, |t| sinc(t) * sinc(t / lobes))
        }
        Method::Auto => panic!("auto has to be resolved for the axis first"),
    }
}

/// The nearest sample. Half way between two, it is the upper one, and on a mirrored axis the lower
/// one, so that a mirrored picture is the mirror image of the picture.
pub fn nearest(position: Ratio, mirrored: bool) -> i64 {
    if mirrored {
        (position - half()).ceil()
    } else {
        (position + half()).floor()
    }
}

/// The two neighbours of a position.
pub fn bilinear(position: Ratio) -> Weights {
    let (index, fraction) = (position.floor(), position.fraction());
    vec![(index, 1.0 - fraction), (index + 1, fraction)]
}

/// The cells (of length 1, with integers at their centres) under a box of length `length`, each
/// with the share of the box that it covers.
pub fn box_weights(centre: f64, length: f64) -> Weights {
    let (left, right) = (centre - length / 2.0, centre + length / 2.0);
    let mut weights = Vec::new();
    for index in left.floor() as i64..=right.ceil() as i64 {
        let (start, end) = (index as f64 - 0.5, index as f64 + 0.5);
        let covered = end.min(right) - start.max(left);
        if covered > 0.0 {
            weights.push((index, covered / length));
        }
    }
    weights
}

/// The values of a filter at the samples within `reach` of it, made `widening` times as wide,
/// divided by their sum.
fn sampled(position: Ratio, widening: f64, reach: f64, filter: impl Fn(f64) -> f64) -> Weights {
    let centre = position.to_f64();
    let first = (centre - reach * widening).floor() as i64;
    let last = (centre + reach * widening).ceil() as i64;
    let indices = first..=last;
    let offsets = indices.map(|index| (index, (index as f64 - centre) / widening));
    let inside = offsets.filter(|(_, offset)| offset.abs() < reach);
    let values: Weights = inside.map(|(index, t)| (index, filter(t))).collect();
    let sum: f64 = values.iter().map(|(_, value)| value).sum();
    values
        .into_iter()
        .map(|(i, value)| (i, value / sum))
        .collect()
}

/// Mitchell and Netravali's equation 8.
fn mitchell(t: f64, b: f64, c: f64) -> f64 {
    let x = t.abs();
    let value = if x < 1.0 {
        (12.0 - 9.0 * b - 6.0 * c) * x.powi(3)
            + (-18.0 + 12.0 * b + 6.0 * c) * x.powi(2)
            + (6.0 - 2.0 * b)
    } else if x < 2.0 {
        (-b - 6.0 * c) * x.powi(3)
            + (6.0 * b + 30.0 * c) * x.powi(2)
            + (-12.0 * b - 48.0 * c) * x
            + (8.0 * b + 24.0 * c)
    } else {
        0.0
    };
    value / 6.0
}

/// sin(πt)/(πt), exactly 0 at whole numbers but 0.
fn sinc(t: f64) -> f64 {
    if t == 0.0 {
        1.0
    } else if t.fract() == 0.0 {
        0.0
    } else {
        (PI * t).sin() / (PI * t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn methods() -> Vec<Method> {
        let lobes = [2, 4].map(|lobes| Method::Lanczos { lobes });
        let cubics = [(1.0, 0.0), (1.0 / 3.0, 1.0 / 3.0), (0.0, 0.0)];
        let cubics = cubics.map(|(b, c)| Method::Bicubic { b, c });
        let all = Method::ALL.into_iter().filter(|m| *m != Method::Auto);
        all.chain(lobes).chain(cubics).collect()
    }

    #[test]
    fn weights_sum_to_one_and_balance() {
        let mut rng = Rng::new(91);
        for method in methods() {
            for _ in 0..300 {
                let position = Ratio::new(rng.between(0, 4000) as i128 - 2000, 97);
                let samples = Ratio::new(rng.between(1, 90) as i128, 13);
                let weights = weights(method, position, samples, false);
                let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
                assert!((sum - 1.0).abs() < 1e-12, "{method:?}: {sum}");
                // No method moves the picture: the mean index is near the position.
                let mean: f64 = weights.iter().map(|&(i, w)| i as f64 * w).sum();
                let off = (mean - position.to_f64()).abs();
                assert!(off <= 0.51, "{method:?} {position:?} {samples:?}: {off}");
            }
        }
    }

    #[test]
    fn whole_positions_are_interpolated_exactly() {
        for method in methods() {
            if matches!(method, Method::Bicubic { b, .. } if b > 0.0) {
                continue; // smoothing cubics change every sample
            }
            for (index, weight) in weights(method, Ratio::from(5), Ratio::from(1), false) {
                let expected = if index == 5 { 1.0 } else { 0.0 };
                assert!(
                    (weight - expected).abs() < 1e-12,
                    "{method:?} {index} {weight}"
                );
            }
        }
    }

    #[test]
    fn printed_weights() {
        // Half way, Catmull-Rom weighs -1/16, 9/16, 9/16, -1/16; the cubic B-spline 1/48, 23/48.
        let middle = Ratio::new(1, 2);
        for (b, c, expected) in [
            (0.0, 0.5, [-0.0625, 0.5625, 0.5625, -0.0625]),
            (1.0, 0.0, [1.0 / 48.0, 23.0 / 48.0, 23.0 / 48.0, 1.0 / 48.0]),
        ] {
            let found = weights(Method::Bicubic { b, c }, middle, middle, false);
            assert_eq!(found.iter().map(|w| w.0).collect::<Vec<_>>(), [-1, 0, 1, 2]);
            for ((_, found), expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-12, "{b} {c} {found}");
            }
        }
        // Lanczos 2 half way: sinc(1/2)·sinc(1/4) and sinc(3/2)·sinc(3/4) are as 9 to -1.
        let found = weights(Method::Lanczos { lobes: 2 }, middle, middle, false);
        let expected = [-0.0625, 0.5625, 0.5625, -0.0625];
        for ((_, found), expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found}");
        }
        let thirds = weights(Method::Area, Ratio::from(1), Ratio::from(3), false);
        assert_eq!(thirds.len(), 3);
        assert!(thirds.iter().all(|(_, w)| (w - 1.0 / 3.0).abs() < 1e-12));
        let area = weights(Method::Area, middle, Ratio::new(3, 2), false);
        assert_eq!(area, [(0, 0.5), (1, 0.5)]);
    }

    #[test]
    fn boxes_over_chroma() {
        assert_eq!(box_weights(6.0, 2.0), [(5, 0.25), (6, 0.5), (7, 0.25)]);
        assert_eq!(box_weights(6.5, 2.0), [(6, 0.5), (7, 0.5)]);
        assert_eq!(box_weights(7.0, 2.0), [(6, 0.25), (7, 0.5), (8, 0.25)]);
        assert_eq!(box_weights(6.25, 2.0), [(5, 0.125), (6, 0.5), (7, 0.375)]);
        assert_eq!(box_weights(3.0, 1.0), [(3, 1.0)]);
    }

    #[test]
    fn nearest_is_mirrored_exactly() {
        for (numerator, plain, mirrored) in [(1, 1, 0), (-1, 0, -1), (3, 2, 1), (2, 1, 1)] {
            let position = Ratio::new(numerator, 2);
            assert_eq!(nearest(position, false), plain);
            assert_eq!(nearest(position, true), mirrored);
        }
    }

    #[test]
    fn auto_follows_the_axis() {
        for (source, destination, expected) in [
            (3, 2, Method::Area),
            (2, 2, Method::Bilinear),
            (2, 3, Method::Bilinear),
        ] {
            assert_eq!(
                Method::Auto.on_axis(Ratio::new(source, destination)),
                expected
            );
        }
    }
}
