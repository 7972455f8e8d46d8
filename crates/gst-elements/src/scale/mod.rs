//! SECTION:element-hipscale
//!
//! Scales, turns and crops video on the device, and leaves its format and colours. The half of
//! `hipconvertscale` that does not convert; see there for sizes, borders and directions.
//!
//! ## Example
//! ```text
//! gst-launch-1.0 videotestsrc ! "video/x-raw,format=NV12,width=1280,height=720" ! hipupload ! \
//!     hipscale method=lanczos ! "video/x-raw(memory:HIPMemory),width=1920,height=1080" ! \
//!     hipdownload ! autovideosink
//! ```

use gst::glib;
use gst::prelude::*;

use crate::convertscale::{HipConvertBase, VideoDirection, element_imp};

element_imp! {
    HipScale, "GstHipRsScale",
    Abilities { converts: false, scales: true },
    interfaces (crate::convertscale::VideoDirection,),
    "HIP scaler", "Filter/Converter/Video/Scaler",
    "Scales and turns video in HIP device memory"
}

glib::wrapper! {
    /// The element `hipscale`.
    pub struct HipScale(ObjectSubclass<element::HipScale>)
        @extends HipConvertBase, gst_base::BaseTransform, gst::Element, gst::Object,
        @implements VideoDirection;
}

/// Registers the element.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    let type_ = HipScale::static_type();
    gst::Element::register(Some(plugin), "hipscale", gst::Rank::NONE, type_)
}
