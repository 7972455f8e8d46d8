//! Codes that `nvrtcResult` and `hiprtcResult` share (nvrtc.h, hiprtc.h), and their names.

use std::ffi::CStr;

use crate::code::Code;

/// An address is null, or a number is out of range.
pub const INVALID_INPUT: Code = 3;
/// The handle is no program.
pub const INVALID_PROGRAM: Code = 4;
/// An option is not understood.
pub const INVALID_OPTION: Code = 5;
/// The text does not compile.
pub const COMPILATION: Code = 6;
/// A name was asked for too late.
pub const NO_NAME_EXPRESSIONS_AFTER_COMPILATION: Code = 8;
/// Nothing was compiled yet.
pub const NO_LOWERED_NAMES_BEFORE_COMPILATION: Code = 9;
/// The name was not asked for.
pub const NAME_EXPRESSION_NOT_VALID: Code = 10;
/// Anything else.
pub const INTERNAL_ERROR: Code = 11;

/// NVRTC's names, by code.
const NVRTC: [&CStr; 12] = [
    c"NVRTC_SUCCESS",
    c"NVRTC_ERROR_OUT_OF_MEMORY",
    c"NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
    c"NVRTC_ERROR_INVALID_INPUT",
    c"NVRTC_ERROR_INVALID_PROGRAM",
    c"NVRTC_ERROR_INVALID_OPTION",
    c"NVRTC_ERROR_COMPILATION",
    c"NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
    c"NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
    c"NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
    c"NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
    c"NVRTC_ERROR_INTERNAL_ERROR",
];

/// HIPRTC's names, by code.
const HIPRTC: [&CStr; 12] = [
    c"HIPRTC_SUCCESS",
    c"HIPRTC_ERROR_OUT_OF_MEMORY",
    c"HIPRTC_ERROR_PROGRAM_CREATION_FAILURE",
    c"HIPRTC_ERROR_INVALID_INPUT",
    c"HIPRTC_ERROR_INVALID_PROGRAM",
    c"HIPRTC_ERROR_INVALID_OPTION",
    c"HIPRTC_ERROR_COMPILATION",
    c"HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE",
    c"HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
    c"HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
    c"HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
    c"HIPRTC_ERROR_INTERNAL_ERROR",
];

fn of(names: &[&'static CStr], code: Code) -> Option<&'static CStr> {
    names.get(usize::try_from(code).ok()?).copied()
}

/// `nvrtcGetErrorString`.
pub fn nvrtc_error(code: Code) -> &'static CStr {
    of(&NVRTC, code).unwrap_or(c"NVRTC_ERROR unknown")
}

/// `hiprtcGetErrorString`.
pub fn hiprtc_error(code: Code) -> &'static CStr {
    of(&HIPRTC, code).unwrap_or(c"HIPRTC_ERROR_INTERNAL_ERROR")
}
