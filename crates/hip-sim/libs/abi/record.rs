//! What no vendor has: the counters and faults of any library.

use std::ffi::{c_char, c_int};

use hip_sim::abi::text;
use hip_sim::faults::Fault;
use hip_sim::record::Record;

/// Calls of a function so far; of all functions if the name is null or empty.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipSimCalls(name: *const c_char) -> u64 {
    // SAFETY: as the caller's; an empty name of a thread is part of any.
    unsafe { hipSimCallsOn(name, c"".as_ptr()) }
}

/// Calls of a function so far on threads whose name contains `thread`.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipSimCallsOn(name: *const c_char, thread: *const c_char) -> u64 {
    // SAFETY: the caller gives C strings, or null.
    let (name, thread) = unsafe { (text(name), text(thread)) };
    let (name, thread) = (name.unwrap_or_default(), thread.unwrap_or_default());
    let calls = &Record::get().calls;
    match (name.to_str(), thread.to_str()) {
        (Ok(""), _) => calls.total(),
        (Ok(name), Ok(thread)) => calls.count(name, thread),
        _ => 0,
    }
}

/// Replaces the faults that are still to come (see `HIP_SIM_FAIL`); 0, or 1 if the text is wrong.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipSimFail(faults: *const c_char) -> c_int {
    // SAFETY: the caller gives a C string, or null for no faults.
    let faults = unsafe { text(faults) }.unwrap_or_default();
    match faults.to_str().map(Fault::parse_all) {
        Ok(Ok(faults)) => {
            Record::get().set_faults(faults);
            0
        }
        _ => 1,
    }
}
