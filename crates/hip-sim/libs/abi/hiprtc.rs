//! HIPRTC's API, as far as 5.2, 6.4 and 7.2 agree (hiprtc.h).

use std::ffi::{c_char, c_int};

use hip_sim::code::Code;
use hip_sim::compiler::abi::{
    Handle, add_expression, compile, create, destroy, give, give_bytes, lowered_name, version,
};
use hip_sim::compiler::code::hiprtc_error;

#[unsafe(no_mangle)]
extern "C" fn hiprtcGetErrorString(result: Code) -> *const c_char {
    hiprtc_error(result).as_ptr()
}

hip_sim::compiler_api! {
    hiprtcVersion(major: *mut c_int, minor: *mut c_int) |compiler| version(compiler, major, minor);
    hiprtcCreateProgram(
        program: *mut Handle, source: *const c_char, name: *const c_char, count: c_int,
        headers: *const *const c_char, names: *const *const c_char
    ) |compiler| create(compiler, program, source, name, count, headers, names);
    hiprtcDestroyProgram(program: *mut Handle) |compiler| destroy(compiler, program);
    hiprtcCompileProgram(program: Handle, count: c_int, options: *const *const c_char) |compiler|
        compile(compiler, program, count, options);
    hiprtcGetCodeSize(program: Handle, size: *mut usize) |compiler|
        give(size, compiler.binary(program.addr())?.len());
    hiprtcGetCode(program: Handle, out: *mut c_char) |compiler|
        give_bytes(out, &compiler.binary(program.addr())?);
    hiprtcGetProgramLogSize(program: Handle, size: *mut usize) |compiler|
        give(size, compiler.log(program.addr())?.len());
    hiprtcGetProgramLog(program: Handle, out: *mut c_char) |compiler|
        give_bytes(out, &compiler.log(program.addr())?);
    hiprtcAddNameExpression(program: Handle, expression: *const c_char) |compiler|
        add_expression(compiler, program, expression);
    hiprtcGetLoweredName(
        program: Handle, expression: *const c_char, out: *mut *const c_char
    ) |compiler| lowered_name(compiler, program, expression, out);
}
