//! SECTION:element-hipconvertscale
//!
//! Converts format, colour matrix, range and chroma site, and scales, on the device and in one
//! pass. Primaries and transfer functions are not converted.
//!
//! With `add-borders` the picture keeps its display aspect ratio and gets black bars where the
//! output has another; without, it is stretched.
//!
//! ## Example
//! ```text
//! gst-launch-1.0 videotestsrc ! hipupload ! hipconvertscale ! \
//!     "video/x-raw(memory:HIPMemory),format=RGBA,width=640" ! hipdownload ! autovideosink
//! ```

mod caps;
mod conversion;
mod fixate;
mod imp;
mod metas;
mod method;

use gst::glib;
use gst::prelude::*;

pub use method::MethodChoice;

glib::wrapper! {
    /// The element `hipconvertscale`.
    pub struct HipConvertScale(ObjectSubclass<imp::HipConvertScale>)
        @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Registers the element.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    let type_ = HipConvertScale::static_type();
    gst::Element::register(Some(plugin), "hipconvertscale", gst::Rank::NONE, type_)
}
