//! The elements on the vendor that `HIP_TEST_VENDOR` names (default `host`), as far as tests may
//! share a process. One program, so that a GPU machine is handed one file.

#[path = "../common/mod.rs"]
mod common;
mod convert;
mod interlaced;
mod lab;
mod negotiation;
mod pipeline;
mod places;
mod properties;
mod round_trip;
