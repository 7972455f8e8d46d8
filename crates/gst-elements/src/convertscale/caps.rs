//! Which frames can become which.

use gst_video::VideoColorimetry;
use hip_video::{AlphaMode, Orientation, PixelFormat};

use super::base::Abilities;
use super::fields;
use super::light;
use super::options::Options;
use crate::common::caps::{MemoryFeature, append_hip, structures};

/// The fields that say what samples mean; the last two describe HDR content.
const COLOUR: [&str; 5] = [
    "format",
    "colorimetry",
    "chroma-site",
    "mastering-display-info",
    "content-light-level",
];

/// What the frames of `caps` can become, seen from either side: themselves, and frames of any size, or of any
/// format and colour, or both, as the element is able to. Frames with fields become frames with fields, if
/// [`fields`] has them.
pub(super) fn transform_caps(
    caps: &gst::CapsRef,
    abilities: Abilities,
    options: &Options,
) -> gst::Caps {
    let mut result = gst::Caps::new_empty();
    let target = result.make_mut();
    for (structure, memory) in structures(caps) {
        if memory != MemoryFeature::Hip {
            continue;
        }
        if let Some(unchanged) = unchanged(structure, options) {
            append_hip(target, unchanged);
        }
        let turned = options.orientation().swaps_axes();
        for part in fields::convertible(structure, caps.is_fixed(), turned) {
            if let Some(part) = fields::whole_fields(converted(&part, abilities, options)) {
                append_hip(target, part);
            }
        }
    }
    result.simplify();
    result
}

/// What of a structure passes through.
fn unchanged(structure: &gst::StructureRef, options: &Options) -> Option<gst::Structure> {
    if options.orientation() != Orientation::Identity {
        return None;
    }
    let mut unchanged = structure.to_owned();
    if options.alpha() != AlphaMode::Copy {
        let opaque = formats(structure)
            .unwrap_or_else(|| PixelFormat::ALL.to_vec())
            .into_iter()
            .filter(|format| !format.info().alpha);
        let names: Vec<_> = opaque.map(PixelFormat::name).collect();
        match names[..] {
            [] => return None,
            [name] => unchanged.set("format", name),
            _ => unchanged.set("format", gst::List::new(names)),
        }
    }
    Some(unchanged)
}

/// The formats that a structure allows, in its order; `None` where it allows any.
pub(super) fn formats(structure: &gst::StructureRef) -> Option<Vec<PixelFormat>> {
    let format = structure.value("format").ok()?;
    if let Ok(name) = format.get::<&str>() {
        return Some(PixelFormat::from_name(name).into_iter().collect());
    }
    let list = format.get::<gst::ListRef>().ok()?;
    let named = |value: &gst::glib::SendValue| PixelFormat::from_name(value.get::<&str>().ok()?);
    Some(list.iter().filter_map(named).collect())
}

fn converted(
    structure: &gst::StructureRef,
    abilities: Abilities,
    options: &Options,
) -> gst::Structure {
    let mut converted = structure.to_owned();
    if abilities.converts {
        let stays = options.converts_light() && has_unsupported_transfer(structure);
        converted.remove_fields(
            COLOUR
                .into_iter()
                .filter(|name| !(stays && *name == "colorimetry")),
        );
    }
    if abilities.scales {
        for name in ["width", "height"] {
            converted.set(name, gst::IntRange::new(1, i32::MAX));
        }
        if converted.has_field("pixel-aspect-ratio") {
            let least = gst::Fraction::new(1, i32::MAX);
            let most = gst::Fraction::new(i32::MAX, 1);
            converted.set("pixel-aspect-ratio", gst::FractionRange::new(least, most));
        }
    }
    converted
}

/// Whether the structure's colorimetry is one whose light cannot be told.
fn has_unsupported_transfer(structure: &gst::StructureRef) -> bool {
    let text = structure.get::<&str>("colorimetry").ok();
    let colorimetry = text.and_then(|text| text.parse::<VideoColorimetry>().ok());
    colorimetry.is_some_and(|colorimetry| light::is_unsupported(colorimetry.transfer()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gst_video::{VideoGammaMode, VideoOrientationMethod};

    const BOTH: Abilities = Abilities {
        converts: true,
        scales: true,
    };

    fn hip(fields: &str) -> gst::Caps {
        gst::init().unwrap();
        format!("video/x-raw(memory:HIPMemory),{fields}")
            .parse()
            .unwrap()
    }

    fn both(from: &gst::Caps) -> gst::Caps {
        transform_caps(from, BOTH, &Options::default())
    }

    #[test]
    fn progressive_frames_become_anything() {
        let from = hip("format=NV12,width=64,height=32,pixel-aspect-ratio=1/1,colorimetry=bt709");
        let to = both(&from);
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
    fn each_half_keeps_what_is_the_others() {
        let from = hip("format=NV12,width=64,height=32,colorimetry=bt709");
        let halves = [true, false].map(|converts| Abilities {
            converts,
            scales: !converts,
        });
        let [convert, scale] = halves.map(|half| transform_caps(&from, half, &Options::default()));
        let (format, size) = (
            hip("format=RGBA,width=64,height=32,colorimetry=sRGB"),
            hip("format=NV12,width=99,height=2,colorimetry=bt709"),
        );
        assert!(convert.can_intersect(&format) && !convert.can_intersect(&size));
        assert!(scale.can_intersect(&size) && !scale.can_intersect(&format));
        assert!(!scale.can_intersect(&hip("format=NV12,width=9,height=9,colorimetry=bt601")));
    }

    #[test]
    fn fields_stay_fields() {
        let to = both(&hip(
            "format=NV12,width=64,height=32,interlace-mode=interleaved",
        ));
        for (mode, possible) in [
            ("interleaved", true),
            ("mixed", false),
            ("progressive", false),
        ] {
            let other = hip(&format!(
                "format=RGB,width=1,height=1,interlace-mode={mode}"
            ));
            assert_eq!(to.can_intersect(&other), possible, "{mode}");
        }
        let either = both(&hip(
            "format=NV12,width=64,height=32,interlace-mode={progressive,mixed,fields}",
        ));
        for (mode, possible) in [("progressive", true), ("mixed", true), ("fields", false)] {
            let other = hip(&format!(
                "format=RGB,width=1,height=1,interlace-mode={mode}"
            ));
            assert_eq!(either.can_intersect(&other), possible, "{mode}");
        }
        // Towards upstream nothing said means anything.
        let any = both(&hip("format={RGB,NV12}"));
        let fields = "width=1,height=1,interlace-mode=interleaved";
        assert!(any.can_intersect(&hip(&format!("format=RGBA,{fields}"))));
        assert!(!any.can_intersect(&hip("format=RGBA,interlace-mode=fields")));
    }

    #[test]
    fn each_field_has_chroma_rows_of_its_own() {
        let convert = Abilities {
            converts: true,
            scales: false,
        };
        for (format, height, possible) in [
            ("NV12", 16, true),
            ("NV12", 18, false),
            ("RGBA", 18, true),
            ("Y42B", 17, true),
        ] {
            let mixed = |format: &str| {
                hip(&format!(
                    "format={format},width=8,height={height},interlace-mode=mixed"
                ))
            };
            let to = transform_caps(&mixed("RGB"), convert, &Options::default());
            let case = format!("{format} of {height}");
            assert_eq!(to.can_intersect(&mixed(format)), possible, "{case}");
        }
        // These pass and do nothing else.
        let odd = hip("format=NV12,width=8,height=18,interlace-mode=mixed");
        assert_eq!(both(&odd), odd);
    }

    #[test]
    fn fields_are_not_turned() {
        let from = hip("format=RGBA,width=64,height=32,interlace-mode={progressive,interleaved}");
        for (direction, possible) in [
            (VideoOrientationMethod::_90r, false),
            (VideoOrientationMethod::_180, true),
        ] {
            let options = Options {
                direction,
                ..Options::default()
            };
            let to = transform_caps(&from, BOTH, &options);
            let fields = hip("format=RGBA,width=64,height=32,interlace-mode=interleaved");
            assert_eq!(to.can_intersect(&fields), possible, "{direction:?}");
            let whole = hip("format=RGBA,width=64,height=32,interlace-mode=progressive");
            assert!(to.can_intersect(&whole), "{direction:?}");
        }
    }

    #[test]
    fn light_that_cannot_be_told_stays() {
        // 9 is log100.
        let from = hip("format=NV12,width=64,height=32,colorimetry=(string)2:3:9:1");
        let other = hip("format=NV12,width=64,height=32,colorimetry=bt709");
        assert!(both(&from).can_intersect(&other));
        let remap = Options {
            gamma_mode: VideoGammaMode::Remap,
            ..Options::default()
        };
        let to = transform_caps(&from, BOTH, &remap);
        assert!(!to.can_intersect(&other), "{to}");
        let same = hip("format=I420,width=6,height=3,colorimetry=(string)2:3:9:1");
        assert!(to.can_intersect(&same), "{to}");
    }

    #[test]
    fn frame_rate_stays() {
        let to = both(&hip("format=NV12,width=64,height=32,framerate=25/1"));
        assert!(!to.can_intersect(&hip("format=NV12,width=64,height=32,framerate=30/1")));
    }

    #[test]
    fn other_memory_is_not_taken() {
        gst::init().unwrap();
        let system: gst::Caps = "video/x-raw,format=NV12".parse().unwrap();
        assert!(both(&system).is_empty());
    }
}
