//! Filters: the weights of the samples around a position, and tables of them for the kernels
//! (docs/conversion.md, "Resampling").

use std::collections::BTreeMap;

use crate::params::Method;

/// The weights of source samples, by index, for one destination sample.
pub(crate) type Weights = BTreeMap<i64, f64>;

/// A filter for a run of destination samples.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    /// Source samples of each destination sample.
    pub(crate) taps: usize,
    pub(crate) starts: Vec<i32>,
    /// `taps` of each destination sample.
    pub(crate) weights: Vec<f32>,
}

/// The samples that `method` reads at a position, where there are `ratio` of them to one of the
/// destination. `nearest` and `auto` are settled before, and are as bilinear here.
pub(crate) fn weights(method: Method, position: f64, ratio: f64) -> Weights {
    match method {
        Method::Area if ratio > 1.0 => area(position, ratio),
        Method::Bicubic(cubic) => {
            let [b, c] = cubic.parameters();
            kernel(position, ratio, 2.0, |t| mitchell_netravali(t, b, c))
        }
        Method::Lanczos(lobes) => {
            let a = f64::from(lobes.get());
            kernel(position, ratio, a, |t| sinc(t) * sinc(t / a))
        }
        _ => linear(position),
    }
}

/// The two neighbours of a position.
pub(crate) fn linear(position: f64) -> Weights {
    let first = position.floor();
    let fraction = position - first;
    let first = first as i64;
    let mut weights = Weights::from([(first, 1.0 - fraction)]);
    if fraction > 0.0 {
        weights.insert(first + 1, fraction);
    }
    weights
}

/// The part of each sample's cell within `ratio` samples around the position.
fn area(position: f64, ratio: f64) -> Weights {
    let (low, high) = (position - ratio / 2.0, position + ratio / 2.0);
    let cells = (low + 0.5).floor() as i64..=(high + 0.5).floor() as i64;
    let part = |index: i64| {
        let centre = index as f64;
        let inside = high.min(centre + 0.5) - low.max(centre - 0.5);
        (inside > 1e-9).then_some((index, inside / ratio))
    };
    cells.filter_map(part).collect()
}

/// A filter of so many samples to either side, widened where the picture shrinks.
fn kernel(position: f64, ratio: f64, radius: f64, weight: impl Fn(f64) -> f64) -> Weights {
    let widened = ratio.max(1.0);
    let reach = radius * widened;
    let cells = (position - reach).floor() as i64..=(position + reach).ceil() as i64;
    let weights: Weights = cells
        .map(|index| (index, (index as f64 - position) / widened))
        .filter(|(_, t)| t.abs() < radius)
        .map(|(index, t)| (index, weight(t)))
        .filter(|(_, weight)| *weight != 0.0)
        .collect();
    let sum: f64 = weights.values().sum();
    weights
        .into_iter()
        .map(|(index, weight)| (index, weight / sum))
        .collect()
}

/// Mitchell and Netravali, "Reconstruction filters in computer graphics", 1988, equation 8.
fn mitchell_netravali(t: f64, b: f64, c: f64) -> f64 {
    let x = t.abs();
    let cubic = |k3: f64, k2: f64, k1: f64, k0: f64| ((k3 * x + k2) * x + k1) * x + k0;
    if x < 1.0 {
        cubic(
            12.0 - 9.0 * b - 6.0 * c,
            -18.0 + 12.0 * b + 6.0 * c,
            0.0,
            6.0 - 2.0 * b,
        ) / 6.0
    } else if x < 2.0 {
        cubic(
            -b - 6.0 * c,
            6.0 * b + 30.0 * c,
            -12.0 * b - 48.0 * c,
            8.0 * b + 24.0 * c,
        ) / 6.0
    } else {
        0.0
    }
}

/// sin(πt)/(πt), exactly 0 at whole numbers but 0: equal sizes then read one sample.
fn sinc(t: f64) -> f64 {
    if t == 0.0 {
        1.0
    } else if t.fract() == 0.0 {
        0.0
    } else {
        (std::f64::consts::PI * t).sin() / (std::f64::consts::PI * t)
    }
}

impl Table {
    /// `last` is the last source sample there is: no start lets the taps run beyond it.
    pub(crate) fn of(samples: Vec<Weights>, last: i64) -> Table {
        let ends = |weights: &Weights| {
            let first = weights.keys().next().copied().unwrap_or(0);
            (first, weights.keys().next_back().copied().unwrap_or(first))
        };
        let taps = samples.iter().map(|sample| {
            let (first, last) = ends(sample);
            (last - first + 1) as usize
        });
        let taps = taps.max().unwrap_or(1);
        let mut table = Table {
            taps,
            starts: Vec::with_capacity(samples.len()),
            weights: Vec::with_capacity(samples.len() * taps),
        };
        for sample in &samples {
            let start = ends(sample).0.min(last + 1 - taps as i64);
            table.starts.push(start as i32);
            let weight = |index: i64| sample.get(&index).copied().unwrap_or(0.0) as f32;
            table
                .weights
                .extend((start..start + taps as i64).map(weight));
        }
        table
    }
}
