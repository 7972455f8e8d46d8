//! Stands in for `libamdhip64.so.5`.
#![allow(non_snake_case)] // the vendor's names

#[path = "abi/extensions.rs"]
mod extensions;
#[path = "abi/hip.rs"]
mod hip;
#[path = "abi/hiprtc.rs"]
mod hiprtc;
#[path = "abi/record.rs"]
mod record;

const PROFILE: hip_sim::Profile = hip_sim::profile::AMD5;
const COMPILER: hip_sim::compiler::CompilerProfile = hip_sim::compiler::profile::HIPRTC5;
