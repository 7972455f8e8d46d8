//! A double-precision reference for video conversion, made to judge kernels.
//!
//! It is written from `docs/conversion.md` and the ITU documents named there, never from a
//! kernel, and prefers the plainest possible code to speed: positions are exact fractions,
//! samples are decoded one by one, and every formula appears as the document prints it.
//!
//! * [`mod@format`]: the formats, as a table.
//! * [`colour`]: matrices, ranges, code values.
//! * [`transfer`], [`primaries`], [`light`]: what code values mean as light, and what is done to it.
//! * [`geometry`], [`axis`]: rectangles, chroma sites, exact positions, turns and mirrors.
//! * [`filter`][]: methods.
//! * [`info`], [`image`]: frames, and their bytes with padded strides, guards and canaries.
//! * [`mod@convert`]: the conversion, up to but not including rounding.
//! * [`mod@compare`]: how far a stored frame is from the reference.
//!
//! The caller is a test, so arguments that make no sense panic with the reason instead of
//! returning an error; each function says which.
//!
//! ```
//! use hip_oracle::{ChromaSite, Conversion, Format, FrameInfo, Image, Matrix, Method, Range, Rng};
//!
//! let rgb = FrameInfo::new(Format::Rgba, 6, 4);
//! let yuv = FrameInfo::new(Format::Nv12, 3, 2)
//!     .with_colour(Matrix::Bt709, Range::Limited)
//!     .with_site(ChromaSite::Left);
//! let mut source = Image::new(rgb);
//! source.fill_random(&mut Rng::new(7));
//! let conversion = Conversion {
//!     method: Method::Area,
//!     ..Conversion::new(rgb, yuv)
//! };
//! let real = conversion.convert(&source);
//! let report = hip_oracle::compare(&real, &real.to_image());
//! assert!(report.max_abs_error <= 0.5);
//! ```

pub mod axis;
pub mod canary;
pub mod colour;
pub mod compare;
pub mod convert;
pub mod dither;
pub mod fill;
pub mod filter;
pub mod format;
pub mod geometry;
pub mod half;
pub mod image;
pub mod info;
pub mod light;
pub mod padding;
mod pixel;
pub mod primaries;
pub mod real;
mod resample;
pub mod rng;
mod table;
pub mod transfer;

pub use axis::Orientation;
pub use canary::CanaryFault;
pub use colour::{Matrix, Quantity, Range};
pub use compare::{ComponentReport, Report, Sample, compare};
pub use convert::{Conversion, Normalisation, convert};
pub use dither::Dither;
pub use filter::Method;
pub use format::{Component, Family, Format, Number};
pub use geometry::{ChromaSite, FixedRect, Rect};
pub use image::{Image, Layout, Plane};
pub use info::FrameInfo;
pub use light::{LightOptions, ToneMapping};
pub use padding::PaddingFault;
pub use pixel::AlphaMode;
pub use primaries::Primaries;
pub use real::{RealComponent, RealImage};
pub use rng::Rng;
pub use transfer::Transfer;
