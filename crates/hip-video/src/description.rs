//! What a frame is: size, format, colour, chroma site.

use gst_video::{VideoChromaSite, VideoColorMatrix, VideoColorRange, VideoInfo};

use crate::colour::{ChromaSite, Encoding, Matrix, Range};
use crate::error::{Error, Result};
use crate::format::{Model, PixelFormat};

/// Frames up to this many pixels in each direction.
pub const MAX_SIZE: u32 = 16384;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FrameDescription {
    /// The format.
    pub format: PixelFormat,
    /// Luma pixels across, 1..=[`MAX_SIZE`].
    pub width: u32,
    /// Luma pixels down, 1..=[`MAX_SIZE`].
    pub height: u32,
    /// The matrix; R'G'B' formats ignore it.
    pub matrix: Matrix,
    /// The range.
    pub range: Range,
    /// Where chroma lies; formats that are not subsampled ignore it.
    pub site: ChromaSite,
    /// Whether colour was multiplied by alpha; formats without alpha ignore it.
    pub premultiplied: bool,
}

impl FrameDescription {
    /// A frame with what GStreamer takes caps without colorimetry for: R'G'B' and grey in full range; Y'CbCr
    /// in limited range, BT.709 with chroma on the left above 576 rows, else BT.601, centred.
    pub fn new(format: PixelFormat, width: u32, height: u32) -> FrameDescription {
        let (matrix, site) = if height > 576 {
            (Matrix::Bt709, ChromaSite::Left)
        } else {
            (Matrix::Bt601, ChromaSite::Centre)
        };
        let range = match format.info().model {
            Model::Yuv => Range::Limited,
            Model::Rgb | Model::Gray => Range::Full,
        };
        FrameDescription {
            format,
            width,
            height,
            matrix,
            range,
            site,
            premultiplied: false,
        }
    }

    /// What caps say. Unknown parts of the colorimetry are as in [`FrameDescription::new`].
    ///
    /// Interlaced frames are described as if they were progressive;
    /// [`ConverterConfig::interlaced`](crate::ConverterConfig::interlaced) is said beside it. DV's alternating chroma lines are taken as cosited.
    ///
    /// # Errors
    /// The format is none of [`PixelFormat::ALL`], its matrix is none of [`Matrix`], or the size is
    /// out of range.
    pub fn from_video_info(info: &VideoInfo) -> Result<FrameDescription> {
        let format = PixelFormat::from_gst(info.format())
            .ok_or_else(|| Error::UnsupportedFormat(info.format().to_str().to_string()))?;
        let mut frame = FrameDescription::new(format, info.width(), info.height());
        let colorimetry = info.colorimetry();
        match colorimetry.range() {
            VideoColorRange::Range0_255 => frame.range = Range::Full,
            VideoColorRange::Range16_235 => frame.range = Range::Limited,
            _ => {}
        }
        frame.premultiplied = format.info().alpha
            && info
                .flags()
                .contains(gst_video::VideoFlags::PREMULTIPLIED_ALPHA);
        if format.is_yuv() {
            frame.matrix = match colorimetry.matrix() {
                VideoColorMatrix::Bt601 => Matrix::Bt601,
                VideoColorMatrix::Bt709 => Matrix::Bt709,
                VideoColorMatrix::Bt2020 => Matrix::Bt2020,
                VideoColorMatrix::Fcc => Matrix::Fcc,
                VideoColorMatrix::Smpte240m => Matrix::Smpte240m,
                VideoColorMatrix::Unknown => frame.matrix,
                other => return Err(Error::UnsupportedMatrix(format!("{other:?}"))),
            };
            frame.site = site_from_gst(info.chroma_site()).unwrap_or(frame.site);
        }
        frame.check_size()?;
        Ok(frame)
    }

    /// What its code values mean.
    pub fn encoding(&self) -> Encoding {
        Encoding::new(self.format, self.matrix, self.range)
    }

    pub(crate) fn check_size(&self) -> Result<()> {
        let good = 1..=MAX_SIZE;
        if good.contains(&self.width) && good.contains(&self.height) {
            return Ok(());
        }
        Err(Error::UnsupportedSize {
            width: self.width,
            height: self.height,
        })
    }
}

/// GStreamer's flags; `None` for "unknown".
fn site_from_gst(site: VideoChromaSite) -> Option<ChromaSite> {
    let across = site.contains(VideoChromaSite::H_COSITED);
    let down = site.contains(VideoChromaSite::V_COSITED);
    match (across, down) {
        (true, true) => Some(ChromaSite::TopLeft),
        (true, false) => Some(ChromaSite::Left),
        (false, true) => Some(ChromaSite::Top),
        (false, false) => site
            .contains(VideoChromaSite::NONE)
            .then_some(ChromaSite::Centre),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gst_video::{VideoFormat, VideoInfo};

    fn described(caps: &str) -> Result<FrameDescription> {
        gst::init().expect("GStreamer starts");
        let caps: gst::Caps = caps.parse().expect("valid caps");
        FrameDescription::from_video_info(&VideoInfo::from_caps(&caps).expect("video caps"))
    }

    #[test]
    fn defaults_are_those_of_gstreamer() {
        gst::init().expect("GStreamer starts");
        for format in PixelFormat::ALL {
            for height in [480, 576, 577, 2160] {
                let theirs = VideoFormat::from_string(format.name());
                if theirs == VideoFormat::Unknown {
                    continue; // newer than this GStreamer, or this crate's own
                }
                let info = VideoInfo::builder(theirs, 640, height)
                    .build()
                    .expect("a valid size");
                let found = FrameDescription::from_video_info(&info).expect("a known format");
                let expected = FrameDescription::new(format, 640, height);
                if format.info().model == Model::Yuv {
                    assert_eq!(found, expected);
                } else {
                    assert_eq!(
                        (found.format, found.range),
                        (expected.format, expected.range)
                    );
                }
            }
        }
    }

    #[test]
    fn colorimetry_and_site_of_caps() {
        let caps = "video/x-raw,format=P010_10LE,width=64,height=32,colorimetry=bt2020,chroma-site=cosited";
        let frame = described(caps).expect("a known format");
        assert_eq!(frame.matrix, Matrix::Bt2020);
        assert_eq!(
            (frame.range, frame.site),
            (Range::Limited, ChromaSite::TopLeft)
        );
        let caps =
            "video/x-raw,format=NV12,width=64,height=32,colorimetry=1:3:5:1,chroma-site=v-cosited";
        let frame = described(caps).expect("a known format");
        assert_eq!((frame.matrix, frame.range), (Matrix::Bt709, Range::Full));
        assert_eq!(frame.site, ChromaSite::Top);
    }

    #[test]
    fn what_is_not_supported_is_refused() {
        let unknown = described("video/x-raw,format=NV12_64Z32,width=64,height=32");
        assert!(matches!(unknown, Err(Error::UnsupportedFormat(name)) if name == "NV12_64Z32"));
        let large = described("video/x-raw,format=RGBA,width=20000,height=2");
        assert!(matches!(
            large,
            Err(Error::UnsupportedSize {
                width: 20000,
                height: 2
            })
        ));
    }
}
