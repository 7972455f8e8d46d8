//! What the ABI layers of the two compilers share: the same functions under two prefixes.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::{Compiler, code};
use crate::code::{Code, Result};

/// `nvrtcProgram` / `hiprtcProgram`.
pub type Handle = *mut c_void;

/// Defines exported functions of a compiler: `name(arguments) |compiler| result;`. The library has
/// a `COMPILER` in the module above.
#[macro_export]
macro_rules! compiler_api {
    ($($name:ident($($arg:ident: $type:ty),* $(,)?) |$compiler:ident| $body:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[allow(unused_unsafe)]
            unsafe extern "C" fn $name($($arg: $type),*) -> $crate::code::Code {
                let compiler = $crate::compiler::Compiler::get(&super::COMPILER);
                compiler.call(stringify!($name), |$compiler| {
                    // SAFETY: the program keeps to the vendor's documentation of this function:
                    // addresses are valid for what it reads and writes there.
                    unsafe { $body }
                })
            }
        )*
    };
}

/// Writes a value to a place that must not be null.
///
/// # Safety
/// `out` is null or writable.
///
/// # Errors
/// `out` is null.
pub unsafe fn give<T>(out: *mut T, value: T) -> Result<()> {
    if out.is_null() {
        return Err(code::INVALID_INPUT);
    }
    // SAFETY: not null, so writable by the caller's promise.
    unsafe { out.write(value) };
    Ok(())
}

/// Writes bytes to a place that must not be null, unless there are none.
///
/// # Safety
/// `out` is null or has room for them.
///
/// # Errors
/// `out` is null.
pub unsafe fn give_bytes(out: *mut c_char, bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    if out.is_null() {
        return Err(code::INVALID_INPUT);
    }
    // SAFETY: not null, so there is room by the caller's promise: it asked for the size before.
    unsafe {
        out.cast::<u8>()
            .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
    };
    Ok(())
}

/// A C string; `None` if it is null.
///
/// # Safety
/// `text` is null or NUL-terminated.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: not null, so a C string by the caller's promise.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

/// A list of C strings of a length.
///
/// # Safety
/// `list` is null or holds `count` C strings.
///
/// # Errors
/// The list, or one of its strings, is null where it must not be, or the count is negative; the
/// code is `wrong`.
unsafe fn texts<'a>(
    list: *const *const c_char,
    count: c_int,
    wrong: Code,
) -> Result<Vec<&'a CStr>> {
    let count = usize::try_from(count).map_err(|_| wrong)?;
    if count > 0 && list.is_null() {
        return Err(wrong);
    }
    // SAFETY: the caller's promise about the list.
    let at = |index| unsafe { text(list.add(index).read()) }.ok_or(wrong);
    (0..count).map(at).collect()
}

/// `…Version`.
///
/// # Safety
/// Both are null or writable.
///
/// # Errors
/// One is null.
pub unsafe fn version(compiler: &Compiler, major: *mut c_int, minor: *mut c_int) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        give(major, compiler.profile.version.0)?;
        give(minor, compiler.profile.version.1)
    }
}

/// `…CreateProgram`.
///
/// # Safety
/// As the vendors document it: C strings, and as many headers and names as told.
///
/// # Errors
/// There is no place for the program, no text, or fewer headers than told.
pub unsafe fn create(
    compiler: &Compiler,
    out: *mut Handle,
    source: *const c_char,
    name: *const c_char,
    count: c_int,
    headers: *const *const c_char,
    names: *const *const c_char,
) -> Result<()> {
    if out.is_null() {
        return Err(code::INVALID_PROGRAM);
    }
    // SAFETY: the caller's promise.
    let (source, name, headers, names) = unsafe {
        (
            text(source).ok_or(code::INVALID_INPUT)?,
            text(name),
            texts(headers, count, code::INVALID_INPUT)?,
            texts(names, count, code::INVALID_INPUT)?,
        )
    };
    let headers: Vec<_> = names.into_iter().zip(headers).collect();
    let handle = compiler.create(source, name, &headers);
    // SAFETY: the caller's promise.
    unsafe { give(out, std::ptr::without_provenance_mut(handle)) }
}

/// `…DestroyProgram`, which takes the handle away from the caller.
///
/// # Safety
/// `program` is null or the place of a handle.
///
/// # Errors
/// It is null, or the handle is no program's.
pub unsafe fn destroy(compiler: &Compiler, program: *mut Handle) -> Result<()> {
    if program.is_null() {
        return Err(code::INVALID_PROGRAM);
    }
    // SAFETY: not null, so a readable and writable place.
    let handle = unsafe { program.replace(std::ptr::null_mut()) };
    compiler.destroy(handle.addr())
}

/// `…CompileProgram`.
///
/// # Safety
/// `options` holds `count` C strings, or is null if there are none.
///
/// # Errors
/// As [`Compiler::compile`], or an option is null.
pub unsafe fn compile(
    compiler: &Compiler,
    program: Handle,
    count: c_int,
    options: *const *const c_char,
) -> Result<()> {
    if program.is_null() {
        return Err(code::INVALID_PROGRAM);
    }
    // SAFETY: the caller's promise.
    let options = unsafe { texts(options, count, code::INVALID_OPTION) }?;
    compiler.compile(program.addr(), &options)
}

/// `…AddNameExpression`.
///
/// # Safety
/// `expression` is null or a C string.
///
/// # Errors
/// As [`Compiler::add_expression`], or it is null.
pub unsafe fn add_expression(
    compiler: &Compiler,
    program: Handle,
    expression: *const c_char,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let expression = unsafe { text(expression) }.ok_or(code::INVALID_INPUT)?;
    compiler.add_expression(program.addr(), expression)
}

/// `…GetLoweredName`.
///
/// # Safety
/// `expression` is null or a C string, `out` null or writable.
///
/// # Errors
/// As [`Compiler::lowered_name`], or one is null.
pub unsafe fn lowered_name(
    compiler: &Compiler,
    program: Handle,
    expression: *const c_char,
    out: *mut *const c_char,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let expression = text(expression).ok_or(code::INVALID_INPUT)?;
        give(out, compiler.lowered_name(program.addr(), expression)?)
    }
}
