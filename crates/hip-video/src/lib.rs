//! Video conversion on any vendor's device: kernels, and what launches them.
//!
//! * [`PixelFormat`]: the formats, as a table with GStreamer's names.
//! * [`FrameDescription`]: what a frame is, from `gst_video::VideoInfo`.
//! * [`Converter`]: scaling and colour conversion of a whole frame in one launch, from planes
//!   ([`FrameView`]) to planes ([`FrameViewMut`]). What a conversion means is `docs/conversion.md`.
//! * [`letterbox`]: where a picture goes in a frame of another shape.
//! * [`prebuilt`]: the kernels compiled ahead of time, and their texts.
//!
//! One kernel text (`kernels/`) serves NVRTC, HIPRTC and the host's C++ compiler; the host's
//! functions are compiled for several instruction sets and chosen at run time ([`HostLevel`]).
//!
//! A converter validates sizes, rectangles, strides and alignment. That the planes are memory is
//! vouched for by whoever makes a view of them.

mod any;
pub mod colour;
mod converter;
mod description;
#[cfg(test)]
mod device_branch;
mod error;
mod format;
mod frame;
mod geometry;
mod host;
mod kernels;
mod light;
mod params;
pub mod prebuilt;
mod same;
mod work;

pub use colour::{ChromaSite, Matrix, Range};
pub use converter::{AlphaMode, Border, Converter, ConverterConfig, Normalisation};
pub use description::{FrameDescription, MAX_SIZE};
pub use error::{Error, Result};
pub use format::{ComponentInfo, FormatInfo, Model, PixelFormat, PlaneInfo, SampleKind};
pub use frame::{FrameView, FrameViewMut, PlaneView};
pub use geometry::{Display, FineRect, Orientation, Rect, letterbox};
pub use host::{HostLevel, host_kernels, host_kernels_at};
pub use kernels::Kernels;
pub use light::{LightChange, LightDescription, Primaries, REFERENCE_WHITE, ToneMap, Transfer};
pub use params::{Cubic, Lobes, Method};
