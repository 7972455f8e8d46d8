//! What no vendor has: what the checker found, and what exists.

use std::ffi::{c_char, c_int, c_void};

use hip_sim::Sim;
use hip_sim::abi::give_text;

fn sim() -> &'static Sim {
    Sim::get(&super::PROFILE)
}

/// Accesses that were not ordered after those they conflict with.
#[unsafe(no_mangle)]
extern "C" fn hipSimRaces() -> u64 {
    sim().findings().0
}

/// Accesses whose order only communication between threads, which is not seen, can explain.
#[unsafe(no_mangle)]
extern "C" fn hipSimUnproven() -> u64 {
    sim().findings().1
}

/// Writes the last finding in words, cut to `size` bytes with its NUL; 1 if there is one.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipSimLastFinding(out: *mut c_char, size: c_int) -> c_int {
    let finding = sim().last_finding();
    // SAFETY: the caller says that there is room for `size` bytes.
    let written = unsafe { give_text(out, size, &finding) };
    c_int::from(written.is_ok() && !finding.is_empty())
}

/// What exists: 0 blocks of device memory, 1 their bytes, 2 blocks of pinned memory, 3 their
/// bytes, 4 streams, 5 events, 6 modules, 7 contexts that are retained (on NVIDIA).
#[unsafe(no_mangle)]
extern "C" fn hipSimLive(what: c_int) -> u64 {
    sim().live(what)
}

/// Says that this thread reads or writes memory that the library pinned; inside a host function,
/// that the function does. 0 if that is ordered after the device's work, 1 if not (it is reported
/// too), -1 if it is no such memory.
#[unsafe(no_mangle)]
extern "C" fn hipSimHostAccess(address: *const c_void, bytes: usize, write: c_int) -> c_int {
    sim().host_access(address.addr() as u64, bytes, write != 0)
}
