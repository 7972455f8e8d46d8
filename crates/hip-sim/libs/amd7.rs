//! Stands in for `libamdhip64.so.7`.
#![allow(non_snake_case)] // the vendor's names

#[path = "abi/extensions.rs"]
mod extensions;
#[path = "abi/hip.rs"]
mod hip;
#[path = "abi/hip_since_6.rs"]
mod hip_since_6;
#[path = "abi/record.rs"]
mod record;

const PROFILE: hip_sim::Profile = hip_sim::profile::AMD7;
