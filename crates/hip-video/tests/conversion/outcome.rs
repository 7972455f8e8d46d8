//! How far a converted frame is from the oracle's, and how far it may be.

use std::fmt;

use hip_oracle::{Conversion, Image, Number, RealImage, Report};

/// Largest error that passes, in code values, where colours change linearly. Rounding the exact
/// value gives up to 0.5; the rest is room for single precision and for positions in fixed point.
const TOLERANCE: f64 = 0.55;

/// What a conversion of noise came to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Outcome {
    pub(crate) conversions: usize,
    /// Integer samples compared.
    pub(crate) samples: usize,
    /// Sum over them of stored minus what had to be stored, in code values.
    pub(crate) signed: f64,
    /// Largest error in code values: of 8 bits and fewer, and of more.
    pub(crate) worst: [f64; 2],
    /// Largest error of floating-point samples, beyond their own rounding, relative above 1.
    pub(crate) worst_float: f64,
}

impl Outcome {
    /// Compares, and says what is wrong if anything is.
    pub(crate) fn of(
        expected: &RealImage,
        found: &Image,
        conversion: &Conversion,
    ) -> Result<Outcome, String> {
        let mut outcome = Outcome {
            conversions: 1,
            ..Outcome::default()
        };
        let report = hip_oracle::compare(expected, found);
        if found.info.format.is_float() {
            outcome.worst_float = float_error(expected, found);
            let limit = if is_linear(conversion) { 1e-4 } else { 5e-4 };
            if outcome.worst_float.is_nan() || outcome.worst_float > limit {
                let error = outcome.worst_float;
                return Err(format!("off by {error:e} beyond rounding: {report}"));
            }
            return padding(&report).map(|()| outcome);
        }
        report.check(tolerance(conversion))?;
        outcome.samples = expected.components.iter().map(|c| c.values.len()).sum();
        outcome.signed = report.mean_signed_difference * outcome.samples as f64;
        let many_bits = found.info.format.depth() > 8;
        outcome.worst[usize::from(many_bits)] = report.max_abs_error;
        Ok(outcome)
    }

    pub(crate) fn add(&mut self, other: &Outcome) {
        self.conversions += other.conversions;
        self.samples += other.samples;
        self.signed += other.signed;
        for (worst, other) in self.worst.iter_mut().zip(other.worst) {
            *worst = worst.max(other);
        }
        self.worst_float = self.worst_float.max(other.worst_float);
    }

    /// Mean of stored minus what had to be stored, in code values.
    pub(crate) fn bias(&self) -> f64 {
        self.signed / self.samples.max(1) as f64
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} conversions, {} integer samples; worst error {:.4} of 8 bits, {:.4} of more, {:.1e} of \
             floats; mean signed difference {:+.6}",
            self.conversions,
            self.samples,
            self.worst[0],
            self.worst[1],
            self.worst_float,
            self.bias()
        )
    }
}

fn padding(report: &Report) -> Result<(), String> {
    match &report.padding {
        Some(fault) => Err(format!("bits outside the samples are wrong: {fault}")),
        None => Ok(()),
    }
}

/// The largest distance from the exact value beyond the rounding of the format, relative where the
/// value is above 1.
fn float_error(expected: &RealImage, found: &Image) -> f64 {
    let rounding = match found.info.format.number() {
        // Half a unit in the last of 11 bits, and of subnormals.
        Number::F16 => |value: f64| value.abs() / 2048.0 + 3e-8,
        _ => |_| 0.0,
    };
    let mut worst = 0.0;
    for samples in &expected.components {
        for (index, &value) in samples.values.iter().enumerate() {
            let (x, y) = (index % samples.width, index / samples.width);
            let distance = (found.value(samples.component, x, y) - value).abs() - rounding(value);
            let error = distance / value.abs().max(1.0);
            if error.is_nan() || error > worst {
                worst = error;
            }
        }
    }
    worst
}

/// Code values. Powers are steep near black (PQ gains 1e-4 on the first 1e-8 of light) and division
/// by a small alpha multiplies what single precision lacks, so that the page's bounds are used there:
/// one code value of 8 bits, two of 10 and 12, and of 16 bits, which single precision cannot tell
/// apart near black, two of 12.
fn tolerance(conversion: &Conversion) -> f64 {
    if is_linear(conversion) {
        return TOLERANCE;
    }
    match conversion.destination.format.depth() {
        8 => 1.0,
        16 => 32.0,
        _ => 2.0,
    }
}

/// Whether colours change by matrices and offsets alone.
fn is_linear(conversion: &Conversion) -> bool {
    let premultiplied =
        conversion.source.is_premultiplied() || conversion.destination.is_premultiplied();
    hip_oracle::LightOptions::default() == conversion.light && !premultiplied
}
