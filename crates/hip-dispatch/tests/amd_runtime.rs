//! AMD's real runtimes, no GPU needed: 5.2.3, 6 and 7 as `cargo xtask rocm` unpacks them, each in a
//! process started with that version's own C library. A version that is not there is a printed skip.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "amd/absence.rs"]
mod absence;
#[path = "amd/headers.rs"]
mod headers;
#[path = "amd/symbols.rs"]
mod symbols;
#[path = "amd/versions.rs"]
mod versions;
