//! Test only: stand-ins for the vendors' libraries.
//!
//! `libamdhip64.so.5`, `.so.6`, `.so.7` and `libcuda.so.1` with the vendors' C ABI, error codes and
//! struct layouts, over the CPU backend of `hip-dispatch`; and the run-time compilers that belong
//! to them: `libnvrtc.so.13`, `libhiprtc.so.6`, `.so.7`, and HIPRTC within the runtimes 5 and 6
//! ([`compiler`]). `hip-sim-install DIR` puts them into a folder under their real names, for
//! `LD_LIBRARY_PATH` or a `LoaderConfig`; `--without-compiler` leaves the compilers out.
//!
//! * They accept only real module images: they read kernels and parameters from PTX, CUBIN or
//!   AMD's code objects ([`image`]), check a launch against that, and run the host build of the
//!   kernel: the one that a stand-in for a compiler put into the image ([`image::carried`]), or
//!   else that of the kernel of this workspace with that name.
//! * They refuse what a driver would: handles of another context, memory of another device, freed or
//!   never allocated, ranges outside a block, a missing current context.
//! * They check that accesses to memory are ordered ([`order`]).
//! * They count and log calls, and fail on demand ([`faults`]).
//!
//! The semantic core is [`Sim`]; the ABI layers are in `libs/`, thin and once for each vendor.
//!
//! # Settings
//! Environment variables, or lines `NAME=value` of a file `hip-sim.conf` beside the library:
//!
//! | name | meaning |
//! |---|---|
//! | `HIP_SIM_DEVICES` | devices shown (1); with 0 every call fails as that version's does |
//! | `HIP_SIM_ARCH` | architecture (`gfx90a:sramecc+:xnack-`, `sm_90`) |
//! | `HIP_SIM_MEMORY` | bytes of each device |
//! | `HIP_SIM_SLOW` | microseconds that each kernel, copy and fill takes longer |
//! | `HIP_SIM_LOG` | file to which each call adds a line: number, thread, function, code, separated by tabs; lines with `!` are findings |
//! | `HIP_SIM_FAIL` | `name:n[:thread][=code]`, separated by commas: the n-th call of a function (on threads whose name contains `thread`) fails; with `n+` every later one too. A call that gives something back does so and fails afterwards. With `=0` the call says that it succeeded and does nothing: `cuStreamWaitEvent:3=0` leaves out one wait, which the checker should find. |
//! | `HIP_SIM_LOST` | `n[=code]`: the device is gone from the n-th call on that would need it |
//! | `HIP_SIM_STRICT` | 1: order that only unseen communication between threads can explain counts as a race |
//! | `HIP_SIM_ABORT` | 1: a race ends the process |
//!
//! A symbol cannot vanish at run time: `hip-sim-install --without SYMBOL` takes it out of the file.
//!
//! # Extensions
//! Every library exports `hipSimCalls`, `hipSimCallsOn`, `hipSimFail` (`libs/abi/record.rs`), and
//! the drivers `hipSimRaces`, `hipSimUnproven`, `hipSimLastFinding`, `hipSimLive`,
//! `hipSimHostAccess` (`libs/abi/extensions.rs`).

pub mod abi;
pub mod attributes;
pub mod calls;
pub mod clock;
pub mod code;
pub mod compiler;
pub mod contexts;
pub mod faults;
pub mod image;
pub mod install;
pub mod kernels;
pub mod memory;
pub mod modules;
pub mod order;
pub mod profile;
pub mod record;
pub mod settings;
mod sim;
pub mod state;
pub mod streams;

pub use profile::Profile;
pub use sim::{Class, Sim};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, whatever became of an earlier holder: a test that fails must not hang others.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
