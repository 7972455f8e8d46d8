//! SECTION:element-hipupload
//!
//! Brings raw video from system memory to a GPU (or to the CPU's own memory if there is none),
//! as `memory:HIPMemory`.
//!
//! Upstream is offered pinned buffers: what arrives in them goes up with one DMA and no copy by the
//! CPU. Other memory is copied into a pinned buffer first. Nothing waits for the device here;
//! whoever reads the frame on the device waits there.
//!
//! ## Example
//! ```text
//! gst-launch-1.0 videotestsrc ! hipupload ! hipconvertscale ! \
//!     "video/x-raw(memory:HIPMemory),format=RGBA,width=640" ! hipdownload ! autovideosink
//! ```

mod imp;

use gst::glib;
use gst::prelude::*;

glib::wrapper! {
    /// The element `hipupload`.
    pub struct HipUpload(ObjectSubclass<imp::HipUpload>)
        @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Registers the element.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(
        Some(plugin),
        "hipupload",
        gst::Rank::NONE,
        HipUpload::static_type(),
    )
}
