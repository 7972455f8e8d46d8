//! Names of codes, and what they mean, in each vendor's words.

use std::ffi::CStr;

use crate::code::Code;

/// Code, CUDA's name and words, HIP's name and words. Null names: the vendor has no such code.
type Row = (
    Code,
    &'static CStr,
    &'static CStr,
    &'static CStr,
    &'static CStr,
);

const ROWS: [Row; 30] = [
    (0, c"CUDA_SUCCESS", c"no error", c"hipSuccess", c"no error"),
    (
        1,
        c"CUDA_ERROR_INVALID_VALUE",
        c"invalid argument",
        c"hipErrorInvalidValue",
        c"invalid argument",
    ),
    (
        2,
        c"CUDA_ERROR_OUT_OF_MEMORY",
        c"out of memory",
        c"hipErrorOutOfMemory",
        c"out of memory",
    ),
    (
        3,
        c"CUDA_ERROR_NOT_INITIALIZED",
        c"initialization error",
        c"hipErrorNotInitialized",
        c"initialization error",
    ),
    (
        4,
        c"CUDA_ERROR_DEINITIALIZED",
        c"driver shutting down",
        c"hipErrorDeinitialized",
        c"driver shutting down",
    ),
    (
        46,
        c"CUDA_ERROR_DEVICE_UNAVAILABLE",
        c"CUDA-capable device(s) is/are busy or unavailable",
        c"",
        c"",
    ),
    (
        100,
        c"CUDA_ERROR_NO_DEVICE",
        c"no CUDA-capable device is detected",
        c"hipErrorNoDevice",
        c"no ROCm-capable device is detected",
    ),
    (
        101,
        c"CUDA_ERROR_INVALID_DEVICE",
        c"invalid device ordinal",
        c"hipErrorInvalidDevice",
        c"invalid device ordinal",
    ),
    (
        200,
        c"CUDA_ERROR_INVALID_IMAGE",
        c"device kernel image is invalid",
        c"hipErrorInvalidImage",
        c"device kernel image is invalid",
    ),
    (
        201,
        c"CUDA_ERROR_INVALID_CONTEXT",
        c"invalid device context",
        c"hipErrorInvalidContext",
        c"invalid device context",
    ),
    (
        209,
        c"CUDA_ERROR_NO_BINARY_FOR_GPU",
        c"no kernel image is available for execution on the device",
        c"hipErrorNoBinaryForGpu",
        c"no kernel image is available for execution on the device",
    ),
    (
        214,
        c"CUDA_ERROR_ECC_UNCORRECTABLE",
        c"uncorrectable ECC error encountered",
        c"hipErrorECCNotCorrectable",
        c"uncorrectable ECC error encountered",
    ),
    (
        218,
        c"CUDA_ERROR_INVALID_PTX",
        c"a PTX JIT compilation failed",
        c"hipErrorInvalidKernelFile",
        c"invalid kernel file",
    ),
    (
        222,
        c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        c"the provided PTX was compiled with an unsupported toolchain.",
        c"",
        c"",
    ),
    (
        300,
        c"CUDA_ERROR_INVALID_SOURCE",
        c"device kernel image is invalid",
        c"hipErrorInvalidSource",
        c"invalid source",
    ),
    (
        301,
        c"CUDA_ERROR_FILE_NOT_FOUND",
        c"file not found",
        c"hipErrorFileNotFound",
        c"file not found",
    ),
    (
        303,
        c"CUDA_ERROR_SHARED_OBJECT_INIT_FAILED",
        c"shared object initialization failed",
        c"hipErrorSharedObjectInitFailed",
        c"shared object initialization failed",
    ),
    (
        400,
        c"CUDA_ERROR_INVALID_HANDLE",
        c"invalid resource handle",
        c"hipErrorInvalidHandle",
        c"invalid resource handle",
    ),
    (
        500,
        c"CUDA_ERROR_NOT_FOUND",
        c"named symbol not found",
        c"hipErrorNotFound",
        c"named symbol not found",
    ),
    (
        600,
        c"CUDA_ERROR_NOT_READY",
        c"device not ready",
        c"hipErrorNotReady",
        c"device not ready",
    ),
    (
        700,
        c"CUDA_ERROR_ILLEGAL_ADDRESS",
        c"an illegal memory access was encountered",
        c"hipErrorIllegalAddress",
        c"an illegal memory access was encountered",
    ),
    (
        701,
        c"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
        c"too many resources requested for launch",
        c"hipErrorLaunchOutOfResources",
        c"out of resources",
    ),
    (
        702,
        c"CUDA_ERROR_LAUNCH_TIMEOUT",
        c"the launch timed out and was terminated",
        c"hipErrorLaunchTimeOut",
        c"the launch timed out and was terminated",
    ),
    (
        709,
        c"CUDA_ERROR_CONTEXT_IS_DESTROYED",
        c"context is destroyed",
        c"hipErrorContextIsDestroyed",
        c"context is destroyed",
    ),
    (
        710,
        c"CUDA_ERROR_ASSERT",
        c"device-side assert triggered",
        c"hipErrorAssert",
        c"device kernel assertion triggered",
    ),
    (
        719,
        c"CUDA_ERROR_LAUNCH_FAILED",
        c"unspecified launch failure",
        c"hipErrorLaunchFailure",
        c"unspecified launch failure",
    ),
    (
        720,
        c"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
        c"too many blocks in cooperative launch",
        c"hipErrorCooperativeLaunchTooLarge",
        c"too many blocks in cooperative launch",
    ),
    (
        800,
        c"CUDA_ERROR_NOT_PERMITTED",
        c"operation not permitted",
        c"",
        c"",
    ),
    (
        801,
        c"CUDA_ERROR_NOT_SUPPORTED",
        c"operation not supported",
        c"hipErrorNotSupported",
        c"operation not supported",
    ),
    (
        999,
        c"CUDA_ERROR_UNKNOWN",
        c"unknown error",
        c"hipErrorUnknown",
        c"unknown error",
    ),
];

fn row(code: Code) -> Option<&'static Row> {
    static TABLE: [Row; 30] = ROWS;
    TABLE.iter().find(|row| row.0 == code)
}

/// Name and words of a `CUresult`; `None` for a number that is none.
pub fn cuda_error(code: Code) -> Option<(&'static CStr, &'static CStr)> {
    row(code).map(|row| (row.1, row.2))
}

/// Name and words of a `hipError_t`; HIP has words for any number.
pub fn hip_error(code: Code) -> (&'static CStr, &'static CStr) {
    let known = row(code).filter(|row| !row.3.is_empty());
    known.map_or((c"hipErrorUnknown", c"unknown error"), |row| (row.3, row.4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_listed_once_in_order() {
        assert!(ROWS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(
            cuda_error(222).map(|texts| texts.0),
            Some(c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION")
        );
        assert_eq!(cuda_error(12345), None);
        assert_eq!(
            (hip_error(209).0, hip_error(222).0),
            (c"hipErrorNoBinaryForGpu", c"hipErrorUnknown")
        );
    }
}
