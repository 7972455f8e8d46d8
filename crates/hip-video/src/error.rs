use crate::geometry::FineRect;

/// What this crate's calls give.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no conversion.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernels do not know the format.
    #[error("video format {0} is not supported")]
    UnsupportedFormat(String),
    /// The kernels do not know the matrix.
    #[error("colour matrix {0} is not supported")]
    UnsupportedMatrix(String),
    /// A frame is empty or too large.
    #[error("a frame of {width}x{height} pixels is not supported (1 to 16384 in each direction)")]
    UnsupportedSize {
        /// Pixels across.
        width: u32,
        /// Pixels down.
        height: u32,
    },
    /// A rectangle is empty, leaves its frame, or starts at an odd pixel of a subsampled frame.
    #[error(
        "the {side} rectangle {rect:?} is not possible in a frame of {width}x{height} pixels: {why}"
    )]
    InvalidRect {
        /// `source` or `destination`.
        side: &'static str,
        /// The rectangle.
        rect: FineRect,
        /// The frame's width.
        width: u32,
        /// The frame's height.
        height: u32,
        /// What is wrong.
        why: &'static str,
    },
    /// A number of the configuration makes no sense.
    #[error("{0}")]
    InvalidValue(&'static str),
    /// A plane's address or stride cannot be used.
    #[error("plane {plane} of the {side}: {why}")]
    InvalidPlane {
        /// `source` or `destination`.
        side: &'static str,
        /// The plane.
        plane: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// The stream belongs to another device than the converter.
    #[error("the stream belongs to {found}, the converter to {expected}")]
    DeviceMismatch {
        /// The stream's device.
        found: String,
        /// The converter's.
        expected: String,
    },
    /// A module was not loaded or a kernel not launched.
    #[error(transparent)]
    Kernel(#[from] hip_rtc::Error),
    /// A device call failed.
    #[error(transparent)]
    Device(#[from] hip_core::Error),
}
