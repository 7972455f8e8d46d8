use crate::env::EnvError;

/// What this crate's calls give.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call did not do what was asked.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device or its library.
    #[error(transparent)]
    Core(#[from] hip_core::Error),
    /// An environment variable has a value that means nothing.
    #[error(transparent)]
    Env(#[from] EnvError),
    /// Somebody holds the memory in a way that the access would race with. Nothing was waited for.
    #[error("the memory is in use: {0}")]
    Busy(&'static str),
    /// The memory belongs to another device or context than the stream.
    #[error("the memory belongs to {found}, not to {expected}")]
    WrongDevice {
        /// The memory's device.
        found: String,
        /// The stream's device.
        expected: String,
    },
    /// Another copy of this library, whose memory or device it is, refused.
    #[error("{text}")]
    Remote {
        /// The class of the failure.
        kind: hip_core::ErrorKind,
        /// Its words.
        text: String,
    },
    /// A video format or size that has no layout here.
    #[error("no layout for this video: {0}")]
    Layout(String),
    /// An argument makes no sense.
    #[error("{0}")]
    InvalidValue(String),
    /// GStreamer refused something.
    #[error("GStreamer: {0}")]
    Gst(String),
}
