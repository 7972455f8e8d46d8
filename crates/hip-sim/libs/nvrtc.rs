//! Stands in for `libnvrtc.so.13` of CUDA 13.0.
#![allow(non_snake_case)] // the vendor's names

#[path = "abi/nvrtc.rs"]
mod nvrtc;
#[path = "abi/record.rs"]
mod record;

const COMPILER: hip_sim::compiler::CompilerProfile = hip_sim::compiler::profile::NVRTC13;
