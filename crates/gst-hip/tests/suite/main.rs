//! What applications see of HIP in GStreamer, on the vendor that `HIP_TEST_VENDOR` names (default
//! `host`). One program, so that a GPU machine is handed one file.

mod abi;
mod common;
mod context;
mod env;
mod frame;
mod kernel;
mod kernel_order;
mod kernel_remote;
mod layout;
mod maps;
mod order;
mod pool;
mod share;
