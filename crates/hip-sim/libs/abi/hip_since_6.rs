//! What ROCm 6 and 7 have and 5.2 has not.

use std::ffi::{c_char, c_int, c_void};

use hip_dispatch::HostFn;
use hip_sim::abi::{R0000, R0600, give, hip_error};
use hip_sim::code::{self, Code};
use hip_sim::streams::Callback;

use super::hip::give_properties;

#[unsafe(no_mangle)]
unsafe extern "C" fn hipDrvGetErrorName(error: Code, name: *mut *const c_char) -> Code {
    // SAFETY: the caller's place is null or writable.
    unsafe { give(name, || Ok(hip_error(error).0.as_ptr())) }
        .err()
        .unwrap_or(0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hipDrvGetErrorString(error: Code, words: *mut *const c_char) -> Code {
    // SAFETY: the caller's place is null or writable.
    unsafe { give(words, || Ok(hip_error(error).1.as_ptr())) }
        .err()
        .unwrap_or(0)
}

hip_sim::api! {
    Local hipGetDevicePropertiesR0000(out: *mut c_void, device: c_int) |sim|
        give_properties(sim, out, device, &R0000);
    Local hipGetDevicePropertiesR0600(out: *mut c_void, device: c_int) |sim|
        give_properties(sim, out, device, &R0600);
    Plain hipLaunchHostFunc(stream: *mut c_void, function: Option<HostFn>, data: *mut c_void) |sim| {
        let function = function.ok_or(code::INVALID_VALUE)?;
        sim.host_function(stream.addr(), Callback::Plain(function, data))
    };
}
