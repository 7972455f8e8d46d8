//! Codes that `CUresult` and `hipError_t` share.

/// `CUresult` / `hipError_t`.
pub type Code = i32;
/// What the semantic core gives: a value, or the code of the failure.
pub type Result<T, E = Code> = std::result::Result<T, E>;

/// The call succeeded.
pub const SUCCESS: Code = 0;
/// An argument is wrong.
pub const INVALID_VALUE: Code = 1;
/// There is no room.
pub const OUT_OF_MEMORY: Code = 2;
/// `cuInit` was not called, or the process is a child of the one that called it.
pub const NOT_INITIALIZED: Code = 3;
/// The ordinal names no device.
pub const INVALID_DEVICE: Code = 101;
/// The module image is not one.
pub const INVALID_IMAGE: Code = 200;
/// No context is current, or the handle is none.
pub const INVALID_CONTEXT: Code = 201;
/// The module image is for another architecture.
pub const NO_BINARY_FOR_GPU: Code = 209;
/// The PTX does not compile.
pub const INVALID_PTX: Code = 218;
/// The PTX is newer than the driver.
pub const UNSUPPORTED_PTX_VERSION: Code = 222;
/// The handle is not one, or belongs to another context.
pub const INVALID_HANDLE: Code = 400;
/// The module has no such function.
pub const NOT_FOUND: Code = 500;
/// Work is in flight.
pub const NOT_READY: Code = 600;
/// A kernel touched memory it may not.
pub const ILLEGAL_ADDRESS: Code = 700;
/// The current context was destroyed.
pub const CONTEXT_IS_DESTROYED: Code = 709;
/// A host function called the library.
pub const NOT_PERMITTED: Code = 800;
/// The ability is not there.
pub const NOT_SUPPORTED: Code = 801;
/// Anything else.
pub const UNKNOWN: Code = 999;
