//! What is wrong with an image.

use super::ImageFormat;

/// Why an image cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// It starts like nothing that is known.
    #[error(
        "this is no module image: neither PTX text, a CUBIN, an AMD code object, a clang offload \
         bundle nor a host object"
    )]
    Unknown,
    /// Its own header says that it is longer.
    #[error("the {format} is cut off: it has {actual} bytes, and its header tells of {expected}")]
    Truncated {
        /// What it is.
        format: ImageFormat,
        /// Bytes by the header.
        expected: usize,
        /// Bytes that there are.
        actual: usize,
    },
    /// A part is not as the format wants it.
    #[error("the {format} is damaged, or not of a kind known here: {what}")]
    Damaged {
        /// What it is.
        format: ImageFormat,
        /// Which part.
        what: String,
    },
}

impl ImageError {
    pub(super) fn damaged(format: ImageFormat, what: impl Into<String>) -> ImageError {
        ImageError::Damaged {
            format,
            what: what.into(),
        }
    }
}
