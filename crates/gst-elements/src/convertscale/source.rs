//! Which part of a buffer is the picture.

use gst_video::{VideoCropMeta, VideoInfo};
use hip_video::Rect;

use crate::common::crop::{frame_size, resized};
use crate::common::error::Error;

/// The frame that a buffer holds and the part of it that is the picture. Without a `GstVideoCropMeta` both
/// are what the caps say; with one the caps have the picture's size and the `GstVideoMeta` the frame's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Source {
    /// Width and height of the frame.
    pub(super) frame: (u32, u32),
    /// The picture.
    pub(super) picture: Rect,
}

impl Source {
    /// The whole of a frame.
    pub(super) fn whole(info: &VideoInfo) -> Source {
        let (width, height) = (info.width(), info.height());
        Source {
            frame: (width, height),
            picture: Rect::of_size(width, height),
        }
    }

    /// What a buffer of these caps holds.
    ///
    /// # Errors
    /// The crop metadata names no part of the frame.
    pub(super) fn of(buffer: &gst::BufferRef, info: &VideoInfo) -> Result<Source, Error> {
        let Some(crop) = buffer.meta::<VideoCropMeta>() else {
            return Ok(Source::whole(info));
        };
        let frame = frame_size(buffer, info);
        let (x, y, width, height) = crop.rect();
        let picture = Rect {
            x,
            y,
            width,
            height,
        };
        if picture.fits(frame.0, frame.1) {
            return Ok(Source { frame, picture });
        }
        Err(Error::input(format!(
            "the crop metadata says {width}x{height} at {x},{y}, the frame has {}x{}",
            frame.0, frame.1
        )))
    }

    /// The caps' description with the frame's size.
    ///
    /// # Errors
    /// The frame is too large for GStreamer.
    pub(super) fn info(&self, info: &VideoInfo) -> Result<VideoInfo, Error> {
        resized(info, self.frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gst_video::VideoMeta;

    fn info() -> VideoInfo {
        gst::init().unwrap();
        VideoInfo::builder(gst_video::VideoFormat::Nv12, 32, 16)
            .build()
            .unwrap()
    }

    fn source(frame: (u32, u32), crop: (u32, u32, u32, u32)) -> Result<Source, Error> {
        let info = info();
        let mut buffer = gst::Buffer::with_size(64 * 64 * 2).unwrap();
        let writable = buffer.get_mut().unwrap();
        let flags = gst_video::VideoFrameFlags::empty();
        VideoMeta::add(writable, flags, info.format(), frame.0, frame.1).unwrap();
        VideoCropMeta::add(writable, crop);
        Source::of(&buffer, &info)
    }

    #[test]
    fn cropped_frames_are_larger_than_their_caps() {
        let found = source((64, 48), (8, 4, 32, 16)).unwrap();
        assert_eq!(found.frame, (64, 48));
        assert_eq!((found.picture.x, found.picture.width), (8, 32));
        assert_eq!(found.info(&info()).unwrap().height(), 48);
    }

    #[test]
    fn without_crop_metadata_the_caps_count() {
        let info = info();
        let buffer = gst::Buffer::with_size(32 * 16 * 2).unwrap();
        let found = Source::of(&buffer, &info).unwrap();
        assert_eq!(found, Source::whole(&info));
    }

    #[test]
    fn crops_outside_the_frame_are_refused() {
        for crop in [(40, 0, 32, 16), (0, 0, 0, 16), (u32::MAX, 0, 2, 2)] {
            let error = source((64, 48), crop).unwrap_err().to_string();
            assert!(error.contains("crop metadata"), "{error}");
        }
    }
}
