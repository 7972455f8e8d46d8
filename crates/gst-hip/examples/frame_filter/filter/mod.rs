//! `hipemboss`: an element whose kernel is the application's. Copy this folder, put a kernel of
//! your own into `imp.rs`, and rename the type.

mod imp;

use gst::glib;
use gst::prelude::*;
use gst_hip::{HipDevice, HipKernelFunction, KernelError};

glib::wrapper! {
    /// Embosses RGBA frames in `memory:HIPMemory`.
    pub(crate) struct HipEmboss(ObjectSubclass<imp::HipEmboss>)
        @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Makes `hipemboss` known to this process. A plugin passes itself instead of `None`.
pub(crate) fn register() -> Result<(), glib::BoolError> {
    gst::Element::register(None, "hipemboss", gst::Rank::NONE, HipEmboss::static_type())
}

/// The kernel for a device. Compiled once: later calls, by other processes too, find it in the
/// cache.
pub(crate) fn compile(device: &HipDevice) -> Result<HipKernelFunction, KernelError> {
    imp::compile(device)
}
