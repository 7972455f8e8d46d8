//! Which frames can become which.

use gst::prelude::*;

use crate::common::caps::{MemoryFeature, append_hip, structures};

/// The fields that a conversion is free to change, apart from size and aspect ratio.
const CONVERTED: [&str; 3] = ["format", "colorimetry", "chroma-site"];

/// What the frames of `caps` can become, seen from either side: themselves, and, if they are
/// progressive, frames of any format, colour and size.
///
/// Interlaced frames only pass through: their fields would have to be scaled one by one, and
/// their chroma lies elsewhere.
pub(super) fn transform_caps(caps: &gst::CapsRef) -> gst::Caps {
    let mut result = gst::Caps::new_empty();
    let target = result.make_mut();
    for (structure, memory) in structures(caps) {
        if memory != MemoryFeature::Hip {
            continue;
        }
        append_hip(target, structure.to_owned());
        let progressive = "progressive".to_value();
        let mode = structure.value("interlace-mode").ok();
        if mode.is_none_or(|mode| mode.intersect(&progressive).is_some()) {
            append_hip(target, converted(structure));
        }
    }
    result.simplify();
    result
}

fn converted(structure: &gst::StructureRef) -> gst::Structure {
    let mut converted = structure.to_owned();
    converted.remove_fields(CONVERTED);
    for name in ["width", "height"] {
        converted.set(name, gst::IntRange::new(1, i32::MAX));
    }
    if converted.has_field("pixel-aspect-ratio") {
        let least = gst::Fraction::new(1, i32::MAX);
        let most = gst::Fraction::new(i32::MAX, 1);
        converted.set("pixel-aspect-ratio", gst::FractionRange::new(least, most));
    }
    converted.set("interlace-mode", "progressive");
    converted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hip(fields: &str) -> gst::Caps {
        gst::init().unwrap();
        format!("video/x-raw(memory:HIPMemory),{fields}")
            .parse()
            .unwrap()
    }

    #[test]
    fn progressive_frames_become_anything() {
        let from = hip("format=NV12,width=64,height=32,pixel-aspect-ratio=1/1,colorimetry=bt709");
        let to = transform_caps(&from);
        for target in [
            "format=RGBA,width=1,height=4000,pixel-aspect-ratio=3/4",
            "format=I420,width=64,height=32,pixel-aspect-ratio=1/1,colorimetry=bt601",
            "format=NV12,width=64,height=32,pixel-aspect-ratio=1/1,colorimetry=bt709",
        ] {
            assert!(to.can_intersect(&hip(target)), "{target}");
        }
        assert!(!to.can_intersect(&hip(
            "format=RGBA,width=64,height=32,interlace-mode=interleaved"
        )));
    }

    #[test]
    fn interlaced_frames_only_pass() {
        let from = hip("format=NV12,width=64,height=32,interlace-mode=interleaved");
        assert_eq!(transform_caps(&from), from);
        let either = hip("format=NV12,width=64,height=32,interlace-mode={progressive,mixed}");
        let to = transform_caps(&either);
        assert!(to.can_intersect(&hip(
            "format=RGB,width=1,height=1,interlace-mode=progressive"
        )));
        assert!(!to.can_intersect(&hip("format=RGB,width=1,height=1,interlace-mode=mixed")));
        assert!(to.can_intersect(&hip("format=NV12,width=64,height=32,interlace-mode=mixed")));
    }

    #[test]
    fn frame_rate_stays() {
        let to = transform_caps(&hip("format=NV12,width=64,height=32,framerate=25/1"));
        assert!(!to.can_intersect(&hip("format=NV12,width=64,height=32,framerate=30/1")));
    }

    #[test]
    fn other_memory_is_not_taken() {
        gst::init().unwrap();
        let system: gst::Caps = "video/x-raw,format=NV12".parse().unwrap();
        assert!(transform_caps(&system).is_empty());
    }
}
