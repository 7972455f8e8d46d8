//! SECTION:element-hipdownload
//!
//! Brings `memory:HIPMemory` back to system memory.
//!
//! The frames come out in pinned memory, with the copy still under way: the first one who maps
//! a frame waits for it, and for nothing else. A `queue` behind this element lets the next frame's
//! copy run while the last one is used.
//!
//! ## Example
//! ```text
//! gst-launch-1.0 videotestsrc ! hipupload ! hipdownload ! queue ! autovideosink
//! ```

mod imp;

use gst::glib;
use gst::prelude::*;

glib::wrapper! {
    /// The element `hipdownload`.
    pub struct HipDownload(ObjectSubclass<imp::HipDownload>)
        @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Registers the element.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(
        Some(plugin),
        "hipdownload",
        gst::Rank::NONE,
        HipDownload::static_type(),
    )
}
