//! How far a stored frame is from the reference.

use std::fmt;

use crate::colour::nearest_code;
use crate::format::Component;
use crate::image::Image;
use crate::padding::PaddingFault;
use crate::real::{RealComponent, RealImage};

/// One sample of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Its component.
    pub component: Component,
    /// Index of the plane in which it is stored.
    pub plane: usize,
    /// Its column, in samples of that component.
    pub x: usize,
    /// Its row, in samples of that component.
    pub y: usize,
    /// The reference's code value, clamped, not rounded.
    pub expected: f64,
    /// The stored code value, or the floating-point number.
    pub stored: f64,
    /// The stored code value minus the expected one.
    pub error: f64,
    /// The stored code value minus the expected one rounded: whole code values.
    pub difference: f64,
}

/// The errors of one component, in code values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComponentReport {
    /// The component.
    pub component: Component,
    /// The largest distance of a stored code value from the reference.
    pub max_abs_error: f64,
    /// The mean of stored minus expected. About 0 for correct rounding, but for values that are
    /// ties more often than not, which all go up: a mean of two samples is off by 1/4 on average.
    pub mean_signed_error: f64,
    /// The largest distance of a stored code value from the one that had to be stored.
    pub max_abs_difference: f64,
    /// The mean of stored minus what had to be stored: the bias, 0 for correct rounding whatever
    /// the values are.
    pub mean_signed_difference: f64,
}

/// The outcome of a comparison, in code values of each component's depth; of floating-point
/// formats in the units of the stored numbers. Correct rounding gives errors up to 0.5 and
/// differences of 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The largest distance of a stored code value from the reference.
    pub max_abs_error: f64,
    /// The mean of stored minus expected over all samples.
    pub mean_signed_error: f64,
    /// The largest distance of a stored code value from the one that had to be stored.
    pub max_abs_difference: f64,
    /// The mean of stored minus what had to be stored over all samples.
    pub mean_signed_difference: f64,
    /// The first of the samples with the largest error.
    pub worst: Sample,
    /// The same figures for each component.
    pub components: Vec<ComponentReport>,
    /// The first byte of a row whose bits outside the samples are wrong: the low six of
    /// `P010_10LE`, the `x` of `RGBx`, the pixels beyond the right edge.
    pub padding: Option<PaddingFault>,
}

impl Report {
    /// Whether every error is at most `tolerance` code values and everything outside the samples
    /// is as it has to be.
    ///
    /// # Errors
    /// A sentence for people: the worst sample, or the byte that is wrong.
    pub fn check(&self, tolerance: f64) -> Result<(), String> {
        if let Some(fault) = &self.padding {
            return Err(format!("bits outside the samples are wrong: {fault}"));
        }
        // An error that is not a number is no pass.
        if self.max_abs_error.is_nan() || self.max_abs_error > tolerance {
            return Err(format!("more than {tolerance} code values off: {self}"));
        }
        Ok(())
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} ({}, {}) in plane {}: {} is {:+.4} from {:.4}",
            self.component, self.x, self.y, self.plane, self.stored, self.error, self.expected
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "max |error| {:.4}, mean {:+.5}, mean difference {:+.5}; worst {}",
            self.max_abs_error, self.mean_signed_error, self.mean_signed_difference, self.worst
        )
    }
}

/// Sums over some samples.
#[derive(Clone, Copy, Default)]
struct Sums {
    count: usize,
    error: f64,
    difference: f64,
    max_error: f64,
    max_difference: f64,
}

impl Sums {
    fn add(&mut self, sample: &Sample) {
        self.count += 1;
        self.error += sample.error;
        self.difference += sample.difference;
        self.max_error = larger(self.max_error, sample.error.abs());
        self.max_difference = larger(self.max_difference, sample.difference.abs());
    }

    fn add_all(&mut self, other: &Self) {
        self.count += other.count;
        self.error += other.error;
        self.difference += other.difference;
        self.max_error = larger(self.max_error, other.max_error);
        self.max_difference = larger(self.max_difference, other.max_difference);
    }
}

/// The larger of two numbers; NaN if either is, which `f64::max` would hide.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// Compares a stored frame with the reference, sample by sample: the error is the stored code
/// value minus the reference clamped to the codes of the format.
///
/// # Panics
/// If the two are not the same kind of frame.
pub fn compare(reference: &RealImage, stored: &Image) -> Report {
    assert_eq!(reference.info, stored.info, "two different kinds of frames");
    let mut worst: Option<Sample> = None;
    let mut components = Vec::new();
    let mut total = Sums::default();
    for samples in &reference.components {
        let mut sums = Sums::default();
        for sample in compared(samples, stored) {
            sums.add(&sample);
            let is_worse = |worst: Sample| {
                sample.error.abs() > worst.error.abs()
                    || (sample.error.is_nan() && !worst.error.is_nan())
            };
            if worst.is_none_or(is_worse) {
                worst = Some(sample);
            }
        }
        components.push(ComponentReport {
            component: samples.component,
            max_abs_error: sums.max_error,
            mean_signed_error: sums.error / sums.count as f64,
            max_abs_difference: sums.max_difference,
            mean_signed_difference: sums.difference / sums.count as f64,
        });
        total.add_all(&sums);
    }
    Report {
        max_abs_error: total.max_error,
        mean_signed_error: total.error / total.count as f64,
        max_abs_difference: total.max_difference,
        mean_signed_difference: total.difference / total.count as f64,
        worst: worst.expect("a frame has at least one sample"),
        components,
        padding: stored.padding_fault(),
    }
}

/// Every sample of one component.
fn compared(reference: &RealComponent, image: &Image) -> impl Iterator<Item = Sample> {
    let location = image.location(reference.component);
    reference.values.iter().enumerate().map(|(index, &value)| {
        let (x, y) = (index % reference.width, index / reference.width);
        let expected = location.number.clamp(value);
        let stored = image.value_at(location, x, y);
        Sample {
            component: reference.component,
            plane: reference.plane,
            x,
            y,
            expected,
            stored,
            error: stored - expected,
            difference: stored - nearest_code(location.number, value),
        }
    })
}
