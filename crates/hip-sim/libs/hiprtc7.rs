//! Stands in for `libhiprtc.so.7`.
#![allow(non_snake_case)] // the vendor's names

#[path = "abi/hiprtc.rs"]
mod hiprtc;
#[path = "abi/record.rs"]
mod record;

const COMPILER: hip_sim::compiler::CompilerProfile = hip_sim::compiler::profile::HIPRTC7;
