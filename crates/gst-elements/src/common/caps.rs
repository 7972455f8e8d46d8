//! Caps of frames in device memory and in system memory.

use gst_hip::CAPS_FEATURE_MEMORY_HIP;

use super::error::Error;

/// Which memory a caps structure is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryFeature {
    /// `memory:HIPMemory` and nothing else.
    Hip,
    /// System memory and nothing else.
    System,
    /// What these elements do not take.
    Other,
}

fn feature_of(features: &gst::CapsFeaturesRef) -> MemoryFeature {
    if features.is_any() {
        MemoryFeature::Other
    } else if features.size() == 1 && features.contains(CAPS_FEATURE_MEMORY_HIP) {
        MemoryFeature::Hip
    } else if features.is_equal(gst::CAPS_FEATURES_MEMORY_SYSTEM_MEMORY.as_ref()) {
        MemoryFeature::System
    } else {
        MemoryFeature::Other
    }
}

/// The memory of the first structure of `caps`.
pub(crate) fn memory_of(caps: &gst::CapsRef) -> MemoryFeature {
    caps.features(0).map_or(MemoryFeature::Other, feature_of)
}

/// The structures of `caps` that are about either memory, each with its memory.
pub(crate) fn structures(
    caps: &gst::CapsRef,
) -> impl Iterator<Item = (&gst::StructureRef, MemoryFeature)> {
    caps.iter_with_features()
        .map(|(structure, features)| (structure, feature_of(features)))
        .filter(|(_, memory)| *memory != MemoryFeature::Other)
}

/// Adds a structure about device memory.
pub(crate) fn append_hip(caps: &mut gst::CapsRef, structure: gst::Structure) {
    let features = gst::CapsFeatures::new([CAPS_FEATURE_MEMORY_HIP]);
    caps.append_structure_full(structure, Some(features));
}

/// The same frames in device memory.
pub(crate) fn to_hip(caps: &gst::CapsRef) -> gst::Caps {
    let mut hip = gst::Caps::new_empty();
    for (structure, _) in structures(caps) {
        append_hip(hip.make_mut(), structure.to_owned());
    }
    hip.simplify();
    hip
}

/// The same frames in system memory.
pub(crate) fn to_system(caps: &gst::CapsRef) -> gst::Caps {
    let mut system = gst::Caps::new_empty();
    for (structure, _) in structures(caps) {
        system.make_mut().append_structure(structure.to_owned());
    }
    system.simplify();
    system
}

/// The same frames in device memory, where nothing has to be done, else in system memory.
pub(crate) fn to_hip_or_system(caps: &gst::CapsRef) -> gst::Caps {
    let mut both = to_hip(caps);
    both.make_mut().append(to_system(caps));
    both
}

/// The same frames in system memory, else in device memory, where nothing has to be done.
pub(crate) fn to_system_or_hip(caps: &gst::CapsRef) -> gst::Caps {
    let mut both = to_system(caps);
    both.make_mut().append(to_hip(caps));
    both
}

/// What `filter` leaves of `caps`, in the filter's order.
pub(crate) fn filtered(caps: gst::Caps, filter: Option<&gst::Caps>) -> gst::Caps {
    match filter {
        Some(filter) => filter.intersect_with_mode(&caps, gst::CapsIntersectMode::First),
        None => caps,
    }
}

/// What fixed caps say of a frame.
///
/// # Errors
/// They lack a size or a format, or say that a buffer holds several pictures.
pub(crate) fn video_info(caps: &gst::CapsRef) -> Result<gst_video::VideoInfo, Error> {
    let refuse = |why: &str| Err(Error::input(format!("{why}: {caps}")));
    let missing = |name| caps.structure(0).is_none_or(|s| !s.has_field(name));
    for name in ["format", "width", "height"] {
        if missing(name) {
            return refuse(&format!("the caps have no {name}"));
        }
    }
    let Ok(info) = gst_video::VideoInfo::from_caps(caps) else {
        return refuse("the caps describe no video frame");
    };
    if info.width() == 0 || info.height() == 0 {
        return refuse("the caps describe an empty frame");
    }
    if info.interlace_mode() == gst_video::VideoInterlaceMode::Fields {
        return refuse("two separate fields in a buffer are not supported");
    }
    if info.multiview_mode() == gst_video::VideoMultiviewMode::Separated {
        return refuse("several separate views in a buffer are not supported");
    }
    Ok(info)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caps(text: &str) -> gst::Caps {
        gst::init().unwrap();
        text.parse().unwrap()
    }

    #[test]
    fn both_memories_are_told_apart() {
        let found = |text| memory_of(&caps(text));
        assert_eq!(found("video/x-raw(memory:HIPMemory)"), MemoryFeature::Hip);
        assert_eq!(found("video/x-raw"), MemoryFeature::System);
        assert_eq!(found("video/x-raw(ANY)"), MemoryFeature::Other);
        assert_eq!(found("video/x-raw(memory:GLMemory)"), MemoryFeature::Other);
        assert_eq!(
            found("video/x-raw(memory:HIPMemory,meta:X)"),
            MemoryFeature::Other
        );
    }

    #[test]
    fn memory_changes_and_nothing_else() {
        let system = caps("video/x-raw,format=NV12,width=[1,9]");
        let hip = caps("video/x-raw(memory:HIPMemory),format=NV12,width=[1,9]");
        assert_eq!(to_hip(&system), hip);
        let both = to_hip_or_system(&hip);
        assert_eq!(both.size(), 2);
        assert_eq!(memory_of(&both), MemoryFeature::Hip);
        assert!(both.can_intersect(&system));
        assert!(to_hip(&caps("video/x-raw(memory:GLMemory)")).is_empty());
    }

    #[test]
    fn caps_that_describe_no_frame_are_refused() {
        let why = |text| video_info(&caps(text)).unwrap_err().to_string();
        assert!(why("video/x-raw,format=NV12,framerate=30/1").contains("no width"));
        assert!(why("video/x-raw,width=8,height=8").contains("no format"));
        assert!(
            why("video/x-raw,format=NV12,width=8,height=8,interlace-mode=fields")
                .contains("separate fields")
        );
        assert!(why("video/x-raw,format=NV12,width=0,height=8").contains("empty frame"));
        assert!(video_info(&caps("video/x-raw,format=NV12,width=8,height=8")).is_ok());
    }
}
