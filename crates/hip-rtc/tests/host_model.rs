//! Kernel texts compiled by the system's C++ compiler and run on the CPU, against values computed
//! here.

#[path = "host_model/barriers.rs"]
mod barriers;
#[path = "host_model/compiling.rs"]
mod compiling;
#[path = "host_model/indices.rs"]
mod indices;
#[path = "host_model/library.rs"]
mod library;
#[path = "host_model/rig.rs"]
mod rig;
#[path = "host_model/shared.rs"]
mod shared;
