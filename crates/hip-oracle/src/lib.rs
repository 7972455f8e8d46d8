//! A double-precision reference for video conversion, made to judge kernels.
//!
//! It is written from `docs/conversion.md` and the ITU documents named there, never from a
//! kernel, and prefers the plainest possible code to speed: positions are exact fractions,
//! samples are decoded one by one, and every formula appears as the document prints it.
//!
//! * [`mod@format`]: the formats, as a table.
//! * [`colour`]: matrices, ranges, code values.
//! * [`geometry`]: rectangles, chroma sites, exact positions.
//! * [`image`]: frames in bytes, with padded strides, guards and canaries.
//! * [`convert()`]: the conversion, up to but not including rounding.
//! * [`compare()`]: how far a stored frame is from the reference.
//!
//! The caller is a test, so arguments that make no sense panic with the reason instead of
//! returning an error; each function says which.
//!
//! ```
//! use hip_oracle::{ChromaSite, Format, FrameInfo, Image, Matrix, Method, Range, Rect, Rng};
//!
//! let rgb = FrameInfo::new(Format::Rgba, 6, 4);
//! let yuv = FrameInfo::new(Format::Nv12, 3, 2)
//!     .with_colour(Matrix::Bt709, Range::Limited)
//!     .with_site(ChromaSite::Left);
//! let mut source = Image::new(rgb);
//! source.fill_random(&mut Rng::new(7));
//! let real =
//!     hip_oracle::convert(&source, Rect::full(&rgb), &yuv, Rect::full(&yuv), Method::Bilinear);
//! let report = hip_oracle::compare(&real, &real.to_image());
//! assert!(report.max_abs_error <= 0.5);
//! ```

pub mod canary;
pub mod colour;
pub mod compare;
pub mod convert;
pub mod format;
pub mod geometry;
pub mod image;
pub mod real;
pub mod rng;

pub use canary::CanaryFault;
pub use colour::{Matrix, Quantity, Range};
pub use compare::{ComponentReport, Report, Sample, compare};
pub use convert::{Method, convert};
pub use format::{Component, Family, Format};
pub use geometry::{ChromaSite, Rect};
pub use image::{FrameInfo, Image, Layout, Plane};
pub use real::{RealComponent, RealImage};
pub use rng::Rng;
