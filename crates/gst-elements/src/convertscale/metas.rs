use gst_video::video_meta::VideoMetaTransformScale;

use super::conversion::Frames;

/// Takes a meta of the input over to the output. `true` if it is to be copied as it is.
///
/// What describes memory or colours stays behind; what is about places in the picture is scaled; what
/// has no tag, or only says that it is about video, is copied.
pub(super) fn transform(
    frames: &Frames,
    output: &mut gst::BufferRef,
    meta: &gst::MetaRef<'_, gst::Meta>,
) -> bool {
    let tags = meta.tags();
    let known = ["video", "size", "orientation"];
    if !tags.iter().all(|tag| known.contains(&tag.as_str())) {
        return false;
    }
    if !meta.has_tag::<gst_video::video_meta::tags::Size>() {
        return true;
    }
    let scale = VideoMetaTransformScale::new(&frames.input, &frames.output);
    // A meta that cannot be scaled is left out, and says so itself.
    let _ = meta.transform(output, &scale);
    false
}
