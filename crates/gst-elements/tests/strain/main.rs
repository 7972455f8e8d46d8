//! The elements under strain, on the vendor that `HIP_TEST_VENDOR` names (default `host`): order,
//! what a steady state costs, cycles without growth, and calls that fail.
//!
//! Every test runs in a process of its own, which it starts itself: what they count is a process's.
//! What needs a stand-in for a vendor's library (`cargo xtask test --vendor sim-nvidia`) is skipped
//! elsewhere, with a line that says so.

#[path = "../common/mod.rs"]
mod common;
mod cycles;
mod faults;
mod frames;
mod order;
mod process;
mod scenario;
mod sim;
mod steady;
