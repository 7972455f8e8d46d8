use gst_video::video_meta::{VideoMetaTransformScale, tags};
use gst_video::{VideoCropMeta, VideoRegionOfInterestMeta};
use hip_video::{Orientation, Rect};

use super::conversion::Frames;
use super::placement::Placement;

/// Takes a meta of the input over to the output. `true` if it is to be copied as it is.
///
/// What describes memory or colours stays behind, and so does the crop that was applied; regions of interest
/// follow the picture; what else is about places in the picture is scaled, unless the picture was cropped, turned or
/// given borders too, of which a scale transform knows nothing; what has no tag, or only says that it is
/// about video, is copied.
pub(super) fn transform(
    frames: &Frames,
    placement: &Placement,
    output: &mut gst::BufferRef,
    meta: &gst::MetaRef<'_, gst::Meta>,
) -> bool {
    let names = meta.tags();
    let known = ["video", "size", "orientation"];
    if meta.downcast_ref::<VideoCropMeta>().is_some() {
        return false;
    }
    if let Some(region) = meta.downcast_ref::<VideoRegionOfInterestMeta>() {
        take_over(region, placement, output);
        return false;
    }
    if !names.iter().all(|tag| known.contains(&tag.as_str())) {
        return false;
    }
    let is_turned = placement.orientation != Orientation::Identity;
    if !meta.has_tag::<tags::Size>() {
        return !(is_turned && meta.has_tag::<tags::Orientation>());
    }
    let only_scaled = placement.source == whole(&frames.input)
        && placement.picture == whole(&frames.output)
        && !is_turned;
    if only_scaled {
        let scale = VideoMetaTransformScale::new(&frames.input, &frames.output);
        // A meta that cannot be scaled is left out, and says so itself.
        let _ = meta.transform(output, &scale);
    }
    false
}

fn whole(info: &gst_video::VideoInfo) -> Rect {
    Rect::of_size(info.width(), info.height())
}

/// Adds the region as it is seen in the output, if any of it is.
fn take_over(
    region: &VideoRegionOfInterestMeta,
    placement: &Placement,
    output: &mut gst::BufferRef,
) {
    let (x, y, width, height) = region.rect();
    let seen = placement.region_in_output(Rect {
        x,
        y,
        width,
        height,
    });
    let Some(seen) = seen else { return };
    let rect = (seen.x, seen.y, seen.width, seen.height);
    let mut added = VideoRegionOfInterestMeta::add(output, region.roi_type(), rect);
    added.set_id(region.id());
    added.set_parent_id(region.parent_id());
    for param in region.params() {
        added.add_param(param.to_owned());
    }
}
