//! What a conversion gives before it is rounded.

use crate::colour::nearest_code;
use crate::format::{Component, Number};
use crate::image::Image;
use crate::info::FrameInfo;

/// The samples of one component.
#[derive(Clone, Debug, PartialEq)]
pub struct RealComponent {
    /// Which component.
    pub component: Component,
    /// Index of the plane in which the format stores it.
    pub plane: usize,
    /// Samples to a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Code values by rows, neither rounded nor clamped; of a floating-point format the numbers to
    /// be stored.
    pub values: Vec<f64>,
}

/// A frame of code values (in units of the format's depth: 0..1023 for `P010_10LE`) in double
/// precision, dither included.
#[derive(Clone, Debug, PartialEq)]
pub struct RealImage {
    /// What the frame is.
    pub info: FrameInfo,
    /// One entry for each component of the format, in the order of its table.
    pub components: Vec<RealComponent>,
}

impl RealImage {
    /// A component's samples, if the format has it.
    pub fn component(&self, component: Component) -> Option<&RealComponent> {
        self.components
            .iter()
            .find(|samples| samples.component == component)
    }

    /// The code value of a sample, neither rounded nor clamped.
    ///
    /// # Panics
    /// If there is no such component or sample.
    pub fn value(&self, component: Component, x: usize, y: usize) -> f64 {
        let samples = match self.component(component) {
            Some(samples) => samples,
            None => panic!("{} has no component {component:?}", self.info.format.name()),
        };
        assert!(
            x < samples.width && y < samples.height,
            "no sample ({x}, {y})"
        );
        samples.values[y * samples.width + x]
    }

    /// The code value of a sample, clamped to what the format can store, not rounded.
    ///
    /// # Panics
    /// If there is no such component or sample.
    pub fn clamped(&self, component: Component, x: usize, y: usize) -> f64 {
        self.number(component).clamp(self.value(component, x, y))
    }

    /// The code value of a sample as it has to be stored, rounded and clamped; of a floating-point
    /// format the number itself.
    ///
    /// # Panics
    /// If there is no such component or sample.
    pub fn rounded(&self, component: Component, x: usize, y: usize) -> f64 {
        nearest_code(self.number(component), self.value(component, x, y))
    }

    /// How the samples of a component are stored.
    fn number(&self, component: Component) -> Number {
        match self.info.format.component(component) {
            Some(location) => location.number,
            None => panic!("{} has no component {component:?}", self.info.format.name()),
        }
    }

    /// The frame that an exact conversion stores: every value rounded and clamped.
    pub fn to_image(&self) -> Image {
        let mut image = Image::new(self.info);
        image.clear_samples();
        for samples in &self.components {
            for (index, &value) in samples.values.iter().enumerate() {
                let (x, y) = (index % samples.width, index / samples.width);
                image.set_value(samples.component, x, y, value);
            }
        }
        image
    }
}
