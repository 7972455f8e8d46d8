//! SECTION:element-hipconvertscale
//!
//! Converts format and colours, scales, turns and crops, on the device and in one pass.
//! `hipconvert` and `hipscale` are its two halves.
//!
//! ## Size and place
//! With `add-borders` the picture keeps its display aspect ratio and gets borders of `border-color` where the
//! output has another; without, it is stretched. `video-direction` turns and mirrors it; `auto` goes by the
//! stream's `image-orientation` tag, and the tag downstream then says that nothing is left to turn. Crop
//! metadata is offered to upstream and applied. `method=auto`, the default, averages where the picture
//! shrinks, so that fine detail does not flicker.
//!
//! ## Colours
//! Matrix, range and chroma site are always converted. Transfer functions are with
//! `gamma-mode=remap`, primaries with `primaries-mode=fast`, and with `merge-only` where the gamma is remapped. From HDR
//! (PQ, HLG) to SDR, `tone-mapping` brings down what is too bright; how bright the content is, is taken from the
//! caps' `content-light-level`, else `mastering-display-info`, else 1000 cd/m² are assumed.
//!
//! ## What is refused
//! Interlaced frames are converted field by field, in `mixed` streams those whose buffers are flagged as
//! interlaced. They are not turned by 90°, and with 4:2:0 their height has to be a multiple of 4; with the mode
//! `fields` they are refused. The transfer functions `log100` and `log316` are not converted to others. All of this
//! is refused in caps.
//!
//! ## Examples
//! ```text
//! gst-launch-1.0 videotestsrc ! hipupload ! hipconvertscale ! \
//!     "video/x-raw(memory:HIPMemory),format=RGBA,width=640" ! hipdownload ! autovideosink
//! ```
//! From a camera on its side, with grey borders:
//! ```text
//! gst-launch-1.0 v4l2src ! hipupload ! \
//!     hipconvertscale video-direction=90r border-color=0xff808080 ! \
//!     "video/x-raw(memory:HIPMemory),width=1920,height=1080,pixel-aspect-ratio=1/1" ! \
//!     hipdownload ! autovideosink
//! ```
//! HDR to SDR:
//! ```text
//! gst-launch-1.0 filesrc location=hdr.mkv ! decodebin ! hipupload ! \
//!     hipconvertscale gamma-mode=remap primaries-mode=fast ! \
//!     "video/x-raw(memory:HIPMemory),format=NV12,colorimetry=bt709" ! \
//!     hipdownload ! autovideosink
//! ```

mod base;
mod caps;
mod conversion;
mod direction;
mod fields;
mod fixate;
mod imp;
mod light;
mod loss;
mod metas;
mod method;
mod navigation;
mod options;
mod placement;
mod shape;
mod source;

use gst::glib;
use gst::prelude::*;

pub(crate) use base::{Abilities, HipConvertBase, HipConvertBaseImpl, element_imp};
pub(crate) use direction::VideoDirection;
pub use method::{DitherChoice, MethodChoice, ToneMappingChoice};

/// The properties of an element with these abilities, but for those of every element.
pub(crate) fn properties(abilities: Abilities) -> Vec<glib::ParamSpec> {
    options::Options::properties(abilities)
}

element_imp! {
    HipConvertScale, "GstHipRsConvertScale",
    Abilities { converts: true, scales: true },
    interfaces (crate::convertscale::VideoDirection,),
    "HIP converter and scaler", "Filter/Converter/Video/Scaler/Colorspace",
    "Converts format, colour and size of video in HIP device memory"
}

glib::wrapper! {
    /// The element `hipconvertscale`.
    pub struct HipConvertScale(ObjectSubclass<element::HipConvertScale>)
        @extends HipConvertBase, gst_base::BaseTransform, gst::Element, gst::Object,
        @implements VideoDirection;
}

/// Registers the element.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    let type_ = HipConvertScale::static_type();
    gst::Element::register(Some(plugin), "hipconvertscale", gst::Rank::NONE, type_)
}
