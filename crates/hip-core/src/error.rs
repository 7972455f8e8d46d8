use hip_dispatch::{ErrorKind, HipError, SelectError};

/// What this crate's calls give.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call did not do what was asked.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A vendor call failed.
    #[error(transparent)]
    Hip(#[from] HipError),
    /// No device was found as asked for.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// An argument makes no sense.
    #[error("{0}")]
    InvalidValue(String),
    /// A range lies outside its buffer.
    #[error("bytes {offset}..{} lie outside a buffer of {size} bytes", offset.saturating_add(*len))]
    OutOfBounds {
        /// First byte asked for.
        offset: usize,
        /// Bytes asked for.
        len: usize,
        /// Bytes there are.
        size: usize,
    },
    /// An object belongs to another device or context than the one it is used with.
    #[error("{what} belongs to {found}, not to {expected}")]
    DeviceMismatch {
        /// The object.
        what: &'static str,
        /// Its device.
        found: String,
        /// The device it was used with.
        expected: String,
    },
    /// A thread of this crate's could not be started.
    #[error("no thread could be started: {0}")]
    Thread(String),
}

impl Error {
    /// The class of the failure, as for a vendor call.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Hip(error) => error.kind,
            Error::Select(error) => error.kind(),
            Error::InvalidValue(_) | Error::OutOfBounds { .. } => ErrorKind::InvalidValue,
            Error::DeviceMismatch { .. } => ErrorKind::InvalidContext,
            Error::Thread(_) => ErrorKind::OutOfMemory,
        }
    }
}
