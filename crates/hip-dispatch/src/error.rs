use std::borrow::Cow;

use crate::Vendor;

/// What a vendor call gives.
pub type Result<T, E = HipError> = std::result::Result<T, E>;

/// What kind of failure a vendor code is, for callers that act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument is out of range, a size zero, a pointer null.
    InvalidValue,
    /// Device or host memory is used up.
    OutOfMemory,
    /// The driver is not (or no longer) usable in this process.
    NotInitialized,
    /// There is no device of this vendor.
    NoDevice,
    /// The ordinal names no device.
    InvalidDevice,
    /// The module image is not for this device, or is damaged.
    InvalidImage,
    /// No context is current, or it is not the handle's.
    InvalidContext,
    /// The handle is not one.
    InvalidHandle,
    /// A named symbol is not in the module.
    NotFound,
    /// Work is still in flight: an answer, not a failure.
    NotReady,
    /// The device, driver or library version cannot do this.
    Unsupported,
    /// A kernel touched memory it may not.
    IllegalAddress,
    /// A kernel could not be launched or did not finish.
    LaunchFailure,
    /// The device is gone; everything on it is lost.
    DeviceLost,
    /// Anything else.
    Unknown,
}

impl ErrorKind {
    /// Classifies a code of `CUresult` or `hipError_t`: the two share their numbers for every
    /// code that is told apart here.
    pub fn from_code(code: i32) -> ErrorKind {
        match code {
            1 => ErrorKind::InvalidValue,
            2 => ErrorKind::OutOfMemory,
            3 | 4 => ErrorKind::NotInitialized,
            100 => ErrorKind::NoDevice,
            101 => ErrorKind::InvalidDevice,
            98 | 200 | 209 | 218 | 220 | 221 | 222 | 300 | 301 => ErrorKind::InvalidImage,
            201 | 709 => ErrorKind::InvalidContext,
            400 => ErrorKind::InvalidHandle,
            500 => ErrorKind::NotFound,
            600 => ErrorKind::NotReady,
            700 => ErrorKind::IllegalAddress,
            701 | 702 | 719 | 720 => ErrorKind::LaunchFailure,
            46 | 214 | 710 | 718 => ErrorKind::DeviceLost,
            801 => ErrorKind::Unsupported,
            _ => ErrorKind::Unknown,
        }
    }
}

/// A vendor call that failed: who, which call, the native code, and its text as the driver gave
/// it at that moment (printing an error never calls a driver).
#[derive(Debug, Clone, thiserror::Error)]
#[error("{call} failed on {vendor}: {text} (code {code})")]
#[non_exhaustive]
pub struct HipError {
    /// Whose call it was.
    pub vendor: Vendor,
    /// `CUresult` or `hipError_t`; Host uses the same numbers.
    pub code: i32,
    /// The vendor's name of the call.
    pub call: &'static str,
    /// The code's class.
    pub kind: ErrorKind,
    /// The driver's own words, and whatever else explains the failure (a compiler log).
    pub text: Cow<'static, str>,
}

impl HipError {
    /// An error of `call` with the vendor's `code` and `text`.
    pub fn new(
        vendor: Vendor,
        call: &'static str,
        code: i32,
        text: impl Into<Cow<'static, str>>,
    ) -> Self {
        let kind = ErrorKind::from_code(code);
        HipError {
            vendor,
            code,
            call,
            kind,
            text: text.into(),
        }
    }

    /// The ability is not there: code 801, as both vendors number it.
    pub fn unsupported(
        vendor: Vendor,
        call: &'static str,
        why: impl Into<Cow<'static, str>>,
    ) -> Self {
        HipError::new(vendor, call, 801, why)
    }

    /// An argument is wrong: code 1.
    pub fn invalid_value(
        vendor: Vendor,
        call: &'static str,
        why: impl Into<Cow<'static, str>>,
    ) -> Self {
        HipError::new(vendor, call, 1, why)
    }

    /// Whether the vendor says that there is no usable device: 100, and 101 on ROCm 5.2.
    pub fn is_no_device(&self) -> bool {
        matches!(self.kind, ErrorKind::NoDevice | ErrorKind::InvalidDevice)
    }
}
