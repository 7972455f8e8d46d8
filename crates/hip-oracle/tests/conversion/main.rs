//! The whole conversion against published values and against properties that follow from
//! `docs/conversion.md` without its formulas.

mod alpha;
mod bars;
mod borders;
mod chroma;
mod fields;
mod floats;
mod geometry;
mod gradients;
mod identity;
mod light;
mod methods;
mod orientation;
mod report;
mod subsampling;

use hip_oracle::{Component, Family, Format, FrameInfo, Image, Layout, RealImage, Rng};

/// Some 4:2:0 formats.
const SUBSAMPLED: [Format; 3] = [Format::Nv12, Format::I420, Format::P010Le];

/// The formats with luma and chroma.
fn with_chroma() -> impl Iterator<Item = Format> {
    let all = Format::ALL.into_iter();
    all.filter(|format| format.component(Component::Cb).is_some())
}

/// A frame with random content and a random layout.
fn random_image(info: FrameInfo, rng: &mut Rng) -> Image {
    let mut image = Image::with_layout(info, Layout::random(rng));
    image.fill_random(rng);
    image
}

/// Calls `check` for every sample of `real`: component, column, row, value.
fn for_each_sample(real: &RealImage, mut check: impl FnMut(Component, usize, usize, f64)) {
    for samples in &real.components {
        for (index, &value) in samples.values.iter().enumerate() {
            check(
                samples.component,
                index % samples.width,
                index / samples.width,
                value,
            );
        }
    }
}

/// A frame of one colour, given in code values in the order Y, Cb, Cr or R, G, B; alpha opaque.
fn flat_image(info: FrameInfo, code: [u32; 3]) -> Image {
    let mut image = Image::new(info);
    image.fill_with(|component, _, _| match component {
        // Clamped to the largest alpha.
        Component::A => f64::INFINITY,
        _ => f64::from(code[component.slot()]),
    });
    image
}

/// The first three components of a family.
fn colours(family: Family) -> [Component; 3] {
    match family {
        Family::Yuv => [Component::Y, Component::Cb, Component::Cr],
        Family::Rgb => [Component::R, Component::G, Component::B],
    }
}
