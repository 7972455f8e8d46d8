use std::sync::Arc;

use hip_core::ErrorKind;
use hip_dispatch::LoadError;

use crate::image::{ImageError, ImageFormat};

/// What this crate's calls give.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a module was not compiled or loaded, or a kernel not launched.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A call below failed; a module that does not load carries the driver's log.
    #[error(transparent)]
    Core(#[from] hip_core::Error),
    /// The text does not compile.
    #[error(transparent)]
    Compile(Box<CompileError>),
    /// There is no compiler for the device.
    #[error("kernels for {device} cannot be compiled: {why}; {install}")]
    CompilerMissing {
        /// The device.
        device: String,
        /// What was looked for, and where.
        why: String,
        /// What to install.
        install: &'static str,
    },
    /// The compiler there is does not know the device's architecture.
    #[error("kernels for {device} cannot be compiled: {why}; {install}")]
    CompilerTooOld {
        /// The device.
        device: String,
        /// The compiler's version, and what it knows.
        why: String,
        /// What to install.
        install: &'static str,
    },
    /// The compiler could not be run, or did not come to an end: nothing is known of the text.
    #[error("kernels for {device} cannot be compiled now: {why}")]
    CompilerFailed {
        /// The device or its architecture.
        device: String,
        /// What failed.
        why: String,
    },
    /// The driver refuses what the compiler made.
    #[error(transparent)]
    Refused(Box<RefusedError>),
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
    /// The image is of another kind than the device loads.
    #[error("{found} is no image for {device}, which takes {takes}")]
    WrongImage {
        /// What the image is.
        found: ImageFormat,
        /// The device.
        device: String,
        /// What it loads.
        takes: &'static str,
    },
    /// The image is damaged or cut off.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The module has no such kernel.
    #[error("{module} has no kernel named {name:?}{hint}")]
    FunctionNotFound {
        /// The module's name.
        module: String,
        /// What was asked for.
        name: String,
        /// What may be wrong, where it can be told; starts with `; `.
        hint: String,
    },
    /// The arguments are not what the kernel takes.
    #[error("the arguments do not fit the kernel {kernel}: {why}")]
    Arguments {
        /// The kernel.
        kernel: String,
        /// Which argument, and how.
        why: String,
    },
    /// An argument's memory belongs to another device, or to another of its contexts.
    #[error("{what} belongs to {found}, not to {expected}")]
    WrongDevice {
        /// Which argument.
        what: String,
        /// Its device.
        found: String,
        /// The kernel's device.
        expected: String,
    },
    /// A text, name or option has a NUL inside, which would end it there.
    #[error("{0} contains a NUL")]
    Nul(String),
    /// A header's name that is empty, absolute, leaves its folder, or is there twice.
    #[error("{0:?} is no name for a header in memory")]
    HeaderName(String),
    /// An option that is not the caller's to give.
    #[error("the option {option:?} cannot be used: {why}")]
    UnsupportedOption {
        /// The option.
        option: String,
        /// Why not.
        why: &'static str,
    },
    /// An image within the program cannot be unpacked: the program's file is damaged.
    #[error("a kernel image is damaged: {0}")]
    Damaged(String),
    /// Grid or block has a dimension of 0, or more threads, blocks or shared memory than the device
    /// has.
    #[error("a launch of {grid:?} blocks of {block:?} threads is not possible: {why}")]
    InvalidLaunch {
        /// Blocks.
        grid: [u32; 3],
        /// Threads of a block.
        block: [u32; 3],
        /// What is wrong.
        why: String,
    },
    /// A memory argument cannot be used now; see [`crate::KernelMemory`].
    #[error("a memory argument cannot be used: {0}")]
    Memory(Arc<dyn std::error::Error + Send + Sync>),
}

/// A text that does not compile.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{compiler} does not compile {name} for {architecture} with {options:?}: {why}\n{log}")]
pub struct CompileError {
    /// The source's name.
    pub name: String,
    /// The compiler and its version.
    pub compiler: String,
    /// What it was to compile for.
    pub architecture: String,
    /// The options it was given, defaults among them.
    pub options: Vec<String>,
    /// What the compiler's call gave.
    pub why: String,
    /// The compiler's whole log; may be empty.
    pub log: String,
}

/// An image, just compiled, that the driver does not load.
#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "the {product} that {compiler} made for {architecture} is refused by the driver, version \
     {driver}: {source}"
)]
pub struct RefusedError {
    /// What was made.
    pub product: ImageFormat,
    /// The compiler and its version.
    pub compiler: String,
    /// The device's architecture.
    pub architecture: String,
    /// The driver's version, as the vendor numbers it.
    pub driver: i32,
    /// The driver's reason.
    pub source: hip_core::Error,
}

impl From<hip_dispatch::HipError> for Error {
    fn from(error: hip_dispatch::HipError) -> Self {
        Error::Core(error.into())
    }
}

impl Error {
    /// An error of a [`crate::KernelMemory`].
    pub fn memory(error: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error::Memory(Arc::new(error))
    }

    /// The class of the failure, as for a vendor call.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Core(error) => error.kind(),
            Error::Refused(error) => error.source.kind(),
            Error::CompilerMissing { .. } | Error::CompilerTooOld { .. } => ErrorKind::Unsupported,
            Error::Compile(_)
            | Error::NoImage { .. }
            | Error::WrongImage { .. }
            | Error::Image(_)
            | Error::Damaged(_) => ErrorKind::InvalidImage,
            Error::FunctionNotFound { .. } => ErrorKind::NotFound,
            Error::WrongDevice { .. } => ErrorKind::InvalidContext,
            Error::Nul(_)
            | Error::HeaderName(_)
            | Error::UnsupportedOption { .. }
            | Error::Arguments { .. }
            | Error::InvalidLaunch { .. } => ErrorKind::InvalidValue,
            Error::CompilerFailed { .. } | Error::Memory(_) => ErrorKind::Unknown,
        }
    }

    /// No library of the vendor's compiler loads.
    pub(crate) fn no_library(device: &hip_core::Device, error: &LoadError) -> Error {
        Error::CompilerMissing {
            device: device.info().to_string(),
            why: error.to_string(),
            install: crate::compile::install_hint(device.backend().image_kind()),
        }
    }
}
