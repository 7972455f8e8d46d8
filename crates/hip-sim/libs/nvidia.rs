//! Stands in for `libcuda.so.1` of driver 580.
#![allow(non_snake_case)] // the vendor's names

#[path = "abi/cuda.rs"]
mod cuda;
#[path = "abi/extensions.rs"]
mod extensions;
#[path = "abi/record.rs"]
mod record;

const PROFILE: hip_sim::Profile = hip_sim::profile::NVIDIA;
