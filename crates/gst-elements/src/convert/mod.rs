//! SECTION:element-hipconvert
//!
//! Converts format and colours of video on the device, and leaves its size. The half of `hipconvertscale` that
//! does not scale; see there for what is converted.
//!
//! ## Example
//! ```text
//! gst-launch-1.0 videotestsrc ! "video/x-raw,format=NV12,width=1280,height=720" ! hipupload ! \
//!     hipconvert dither=bayer ! "video/x-raw(memory:HIPMemory),format=RGBA" ! \
//!     hipdownload ! autovideosink
//! ```

use gst::glib;
use gst::prelude::*;

use crate::convertscale::{HipConvertBase, element_imp};

element_imp! {
    HipConvert, "GstHipRsConvert",
    Abilities { converts: true, scales: false },
    interfaces (),
    "HIP converter", "Filter/Converter/Video/Colorspace",
    "Converts format and colour of video in HIP device memory"
}

glib::wrapper! {
    /// The element `hipconvert`.
    pub struct HipConvert(ObjectSubclass<element::HipConvert>)
        @extends HipConvertBase, gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Registers the element.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    let type_ = HipConvert::static_type();
    gst::Element::register(Some(plugin), "hipconvert", gst::Rank::NONE, type_)
}
