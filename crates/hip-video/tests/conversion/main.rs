//! Conversions on a device, against the double-precision oracle. `HIP_TEST_VENDOR` names the device
//! (default `host`).

mod identity;
mod lab;
mod pairs;
mod rectangles;
mod refusals;
mod sites;
