//! Conversions on a device, against the double-precision oracle. `HIP_TEST_VENDOR` names the device
//! (default `host`).

mod alpha;
mod case;
mod edges;
mod every;
mod identity;
mod lab;
mod outcome;
mod pairs;
mod random;
mod rectangles;
mod refusals;
mod sites;
