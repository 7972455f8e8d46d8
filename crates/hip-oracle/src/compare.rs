//! How far a stored frame is from the reference.

use std::fmt;

use crate::format::Component;
use crate::image::Image;
use crate::real::RealImage;

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
    /// The stored word, padding bits and all.
    pub word: u32,
    /// The stored code value minus the expected one.
    pub error: f64,
}

/// The errors of one component, in code values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComponentReport {
    /// The component.
    pub component: Component,
    /// The largest distance of a stored code value from the reference.
    pub max_abs_error: f64,
    /// The mean of stored minus expected: the bias. About 0 for correct rounding.
    pub mean_signed_error: f64,
}

/// The outcome of a comparison, in code values of the format's depth. Correct rounding gives
/// errors up to 0.5.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The largest distance of a stored code value from the reference.
    pub max_abs_error: f64,
    /// The mean of stored minus expected over all samples.
    pub mean_signed_error: f64,
    /// The first of the samples with the largest error.
    pub worst: Sample,
    /// The same figures for each component.
    pub components: Vec<ComponentReport>,
    /// The first sample whose padding bits (the low six of `P010_10LE`) are not all 0.
    pub padding: Option<Sample>,
}

impl Report {
    /// Whether every error is at most `tolerance` code values and all padding bits are 0.
    ///
    /// # Errors
    /// A sentence for people: the worst sample, or the sample with padding bits.
    pub fn check(&self, tolerance: f64) -> Result<(), String> {
        if let Some(sample) = &self.padding {
            return Err(format!("padding bits are set: {sample}"));
        }
        if self.max_abs_error > tolerance {
            return Err(format!("more than {tolerance} code values off: {self}"));
        }
        Ok(())
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} ({}, {}) in plane {}: word {:#x} is {:+.4} from {:.4}",
            self.component, self.x, self.y, self.plane, self.word, self.error, self.expected
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "max |error| {:.4}, mean {:+.5}; worst {}",
            self.max_abs_error, self.mean_signed_error, self.worst
        )
    }
}

/// Compares a stored frame with the reference, sample by sample: the error is the stored code
/// value minus the reference clamped to the codes of the format.
///
/// # Panics
/// If the two are not the same kind of frame.
pub fn compare(reference: &RealImage, stored: &Image) -> Report {
    assert_eq!(reference.info, stored.info, "two different kinds of frames");
    let padding_mask = (1u32 << stored.info.format.info().shift) - 1;
    let mut components = Vec::new();
    let mut worst: Option<Sample> = None;
    let mut padding = None;
    let (mut total, mut count) = (0.0, 0usize);
    for samples in &reference.components {
        let (mut max, mut sum) = (0.0f64, 0.0);
        for index in 0..samples.values.len() {
            let (x, y) = (index % samples.width, index / samples.width);
            let word = stored.word(samples.component, x, y);
            let expected = reference.clamped(samples.component, x, y);
            let error = f64::from(stored.code(samples.component, x, y)) - expected;
            let (component, plane) = (samples.component, samples.plane);
            let sample = Sample {
                component,
                plane,
                x,
                y,
                expected,
                word,
                error,
            };
            if worst.is_none_or(|worst| error.abs() > worst.error.abs()) {
                worst = Some(sample);
            }
            if padding.is_none() && word & padding_mask != 0 {
                padding = Some(sample);
            }
            max = max.max(error.abs());
            sum += error;
        }
        components.push(ComponentReport {
            component: samples.component,
            max_abs_error: max,
            mean_signed_error: sum / samples.values.len() as f64,
        });
        total += sum;
        count += samples.values.len();
    }
    let worst = worst.expect("a frame has at least one sample");
    let max_abs_error = worst.error.abs();
    let mean_signed_error = total / count as f64;
    Report {
        max_abs_error,
        mean_signed_error,
        worst,
        components,
        padding,
    }
}
