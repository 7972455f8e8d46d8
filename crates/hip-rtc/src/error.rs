use hip_core::ErrorKind;

/// What this crate's calls give.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a module was not loaded or a kernel not launched.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A call below failed; a module that does not load carries the driver's log.
    #[error(transparent)]
    Core(#[from] hip_core::Error),
    /// None of the images is for this device.
    #[error("{module} has no image for {device}; it has {have}")]
    NoImage {
        /// The module's name.
        module: String,
        /// The device and its architecture.
        device: String,
        /// The architectures there are.
        have: String,
    },
    /// The module has no such kernel.
    #[error("{module} has no kernel named {name:?}")]
    FunctionNotFound {
        /// The module's name.
        module: String,
        /// What was asked for.
        name: String,
    },
    /// A name or an image text has a NUL inside.
    #[error("{0} contains a NUL")]
    Nul(String),
    /// An image within the program cannot be unpacked: the program's file is damaged.
    #[error("a kernel image is damaged: {0}")]
    Damaged(String),
    /// Grid or block has a dimension of 0, or more threads or blocks than the device takes.
    #[error("a launch of {grid:?} blocks of {block:?} threads is not possible: {why}")]
    InvalidLaunch {
        /// Blocks.
        grid: [u32; 3],
        /// Threads of a block.
        block: [u32; 3],
        /// What is wrong.
        why: String,
    },
}

impl From<hip_dispatch::HipError> for Error {
    fn from(error: hip_dispatch::HipError) -> Self {
        Error::Core(error.into())
    }
}

impl Error {
    /// The class of the failure, as for a vendor call.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Core(error) => error.kind(),
            Error::NoImage { .. } | Error::Damaged(_) => ErrorKind::InvalidImage,
            Error::FunctionNotFound { .. } => ErrorKind::NotFound,
            Error::Nul(_) | Error::InvalidLaunch { .. } => ErrorKind::InvalidValue,
        }
    }
}
