//! The GStreamer plugin `hip` (`libgsthip.so`): elements that bring raw video to a GPU, work on it
//! there, and bring it back. The device is an AMD GPU, an NVIDIA GPU or the CPU, chosen at run
//! time; the work itself is `gst-hip`'s and `hip-video`'s.
//!
//! * `hipupload`: system memory → `memory:HIPMemory`
//! * `hipdownload`: `memory:HIPMemory` → system memory
//! * `hipconvertscale`: format, colour and size, all on the device; `hipconvert` and `hipscale` are
//!   its halves
//!
//! Loading the plugin registers the elements, rank NONE, and calls no vendor's library: a device
//! is looked for when an element goes to PAUSED.

#![allow(missing_docs)] // `plugin_define!` makes public items without documentation.

mod common;
mod convert;
mod convertscale;
mod download;
mod scale;
mod upload;

use gst::glib;

pub use common::vendor::VendorChoice;
pub use convertscale::{DitherChoice, MethodChoice, ToneMappingChoice};

/// Registers the elements and sends the libraries' `tracing` output to GST_DEBUG.
fn plugin_init(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst_hip::log::install();
    upload::register(plugin)?;
    download::register(plugin)?;
    convertscale::register(plugin)?;
    convert::register(plugin)?;
    scale::register(plugin)
}

gst::plugin_define!(
    hip,
    env!("CARGO_PKG_DESCRIPTION"),
    plugin_init,
    env!("CARGO_PKG_VERSION"),
    "MIT/X11",
    env!("CARGO_PKG_NAME"),
    env!("CARGO_PKG_NAME"),
    "unknown origin"
);
