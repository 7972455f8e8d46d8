//! Frames that are larger than their caps, with a `GstVideoCropMeta` that says what of them is the picture.

use gst_video::{VideoCropMeta, VideoInfo, VideoMeta};

use super::error::Error;

/// The size of the frame in a buffer of these caps: larger than theirs where a cropped frame's `GstVideoMeta`
/// says so.
pub(crate) fn frame_size(buffer: &gst::BufferRef, info: &VideoInfo) -> (u32, u32) {
    let meta = buffer.meta::<VideoMeta>();
    match meta.filter(|_| buffer.meta::<VideoCropMeta>().is_some()) {
        Some(meta) => (meta.width(), meta.height()),
        None => (info.width(), info.height()),
    }
}

/// The same kind of frame in another size, in GStreamer's own layout unless the size is the same.
///
/// # Errors
/// The size is too large for GStreamer.
pub(crate) fn resized(info: &VideoInfo, (width, height): (u32, u32)) -> Result<VideoInfo, Error> {
    if (width, height) == (info.width(), info.height()) {
        return Ok(info.clone());
    }
    VideoInfo::builder(info.format(), width, height)
        .interlace_mode(info.interlace_mode())
        .colorimetry(&info.colorimetry())
        .chroma_site(info.chroma_site())
        .flags(info.flags())
        .par(info.par())
        .build()
        .map_err(|error| Error::input(format!("a frame of {width}x{height}: {error}")))
}
