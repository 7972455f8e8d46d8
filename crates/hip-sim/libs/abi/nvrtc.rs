//! NVRTC's API, by nvrtc.h of CUDA 13.0.

use std::ffi::{c_char, c_int};

use hip_sim::code::Code;
use hip_sim::compiler::abi::{
    Handle, add_expression, compile, create, destroy, give, give_bytes, lowered_name, version,
};
use hip_sim::compiler::code::nvrtc_error;

#[unsafe(no_mangle)]
extern "C" fn nvrtcGetErrorString(result: Code) -> *const c_char {
    nvrtc_error(result).as_ptr()
}

hip_sim::compiler_api! {
    nvrtcVersion(major: *mut c_int, minor: *mut c_int) |compiler| version(compiler, major, minor);
    nvrtcGetNumSupportedArchs(count: *mut c_int) |compiler|
        give(count, compiler.architectures().len() as c_int);
    nvrtcGetSupportedArchs(list: *mut c_int) |compiler| {
        let mut known = compiler.architectures().iter().enumerate();
        known.try_for_each(|(at, number)| give(list.wrapping_add(at), *number as c_int))
    };
    nvrtcCreateProgram(
        program: *mut Handle, source: *const c_char, name: *const c_char, count: c_int,
        headers: *const *const c_char, names: *const *const c_char
    ) |compiler| create(compiler, program, source, name, count, headers, names);
    nvrtcDestroyProgram(program: *mut Handle) |compiler| destroy(compiler, program);
    nvrtcCompileProgram(program: Handle, count: c_int, options: *const *const c_char) |compiler|
        compile(compiler, program, count, options);
    nvrtcGetPTXSize(program: Handle, size: *mut usize) |compiler|
        give(size, compiler.ptx(program.addr())?.len());
    nvrtcGetPTX(program: Handle, out: *mut c_char) |compiler|
        give_bytes(out, &compiler.ptx(program.addr())?);
    nvrtcGetCUBINSize(program: Handle, size: *mut usize) |compiler|
        give(size, compiler.binary(program.addr())?.len());
    nvrtcGetCUBIN(program: Handle, out: *mut c_char) |compiler|
        give_bytes(out, &compiler.binary(program.addr())?);
    nvrtcGetProgramLogSize(program: Handle, size: *mut usize) |compiler|
        give(size, compiler.log(program.addr())?.len());
    nvrtcGetProgramLog(program: Handle, out: *mut c_char) |compiler|
        give_bytes(out, &compiler.log(program.addr())?);
    nvrtcAddNameExpression(program: Handle, expression: *const c_char) |compiler|
        add_expression(compiler, program, expression);
    nvrtcGetLoweredName(
        program: Handle, expression: *const c_char, out: *mut *const c_char
    ) |compiler| lowered_name(compiler, program, expression, out);
}
