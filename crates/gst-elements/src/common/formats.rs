//! The formats, by name: a name that the running GStreamer does not know drops out of the caps.

use gst_hip::CAPS_FEATURE_MEMORY_HIP;
use gst_video::VideoFormat;
use hip_video::{MAX_SIZE, PixelFormat};

/// What the transfer elements carry: planes of whole bytes, neither tiled nor bit-packed across
/// pixels, so that a plane is rows of `pixel stride × samples` bytes. The first seven are
/// those that `hipconvertscale` converts.
const TRANSFER: &[&str] = &[
    "NV12",
    "I420",
    "P010_10LE",
    "RGBA",
    "BGRA",
    "RGB",
    "RGBP", // converted too
    "YV12",
    "NV21",
    "NV16",
    "NV61",
    "NV24",
    "P012_LE",
    "P016_LE",
    "I420_10LE",
    "I420_12LE",
    "Y42B",
    "I422_10LE",
    "I422_12LE",
    "Y444",
    "Y444_10LE",
    "Y444_12LE",
    "Y444_16LE",
    "YUY2",
    "UYVY",
    "YVYU",
    "VYUY",
    "AYUV",
    "VUYA",
    "AYUV64",
    "A420",
    "RGBx",
    "BGRx",
    "xRGB",
    "xBGR",
    "ARGB",
    "ABGR",
    "BGR",
    "BGRP",
    "GBR",
    "GBRA",
    "GBR_10LE",
    "GBR_12LE",
    "GBR_16LE",
    "RGB10A2_LE",
    "BGR10A2_LE",
    "ARGB64",
    "RGBA64_LE",
    "BGRA64_LE",
    "GRAY8",
    "GRAY16_LE",
];

/// Which formats a pad takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Formats {
    /// All that can be copied.
    Transfer,
    /// All that can be converted.
    Converted,
}

impl Formats {
    fn names(self) -> Vec<&'static str> {
        let names: &[&str] = match self {
            Formats::Transfer => TRANSFER,
            Formats::Converted => &PixelFormat::ALL.map(PixelFormat::name),
        };
        let known = |name: &&str| {
            name.parse::<VideoFormat>()
                .is_ok_and(|f| f != VideoFormat::Unknown)
        };
        names.iter().copied().filter(known).collect()
    }

    /// The largest width and height.
    fn max_size(self) -> i32 {
        match self {
            Formats::Transfer => i32::MAX,
            Formats::Converted => MAX_SIZE as i32,
        }
    }

    /// `video/x-raw` in these formats, with any frame rate.
    fn structure(self) -> gst::Structure {
        gst::Structure::builder("video/x-raw")
            .field("format", gst::List::new(self.names()))
            .field("width", gst::IntRange::new(1, self.max_size()))
            .field("height", gst::IntRange::new(1, self.max_size()))
            .field(
                "framerate",
                gst::FractionRange::new(gst::Fraction::new(0, 1), gst::Fraction::new(i32::MAX, 1)),
            )
            .build()
    }

    /// Caps of frames in `memory:HIPMemory`.
    pub(crate) fn hip_caps(self) -> gst::Caps {
        let features = gst::CapsFeatures::new([CAPS_FEATURE_MEMORY_HIP]);
        gst::Caps::builder_full_with_features(features)
            .structure(self.structure())
            .build()
    }

    /// Caps of frames in `memory:HIPMemory`, else in system memory.
    pub(crate) fn hip_or_system_caps(self) -> gst::Caps {
        let mut caps = self.hip_caps();
        caps.get_mut()
            .expect("new caps are ours alone")
            .append_structure(self.structure());
        caps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_rows_of_whole_bytes() {
        gst::init().unwrap();
        for name in Formats::Transfer.names() {
            let info = gst_video::VideoFormatInfo::from_format(name.parse().unwrap());
            assert!(
                !info.is_tiled() && !info.is_complex() && !info.has_palette(),
                "{name}"
            );
            for component in 0..info.n_components() as usize {
                assert!(info.pixel_stride()[component] > 0, "{name}");
            }
        }
        assert_eq!(
            Formats::Converted.names().len(),
            7,
            "GStreamer 1.22 knows all seven"
        );
    }

    #[test]
    fn converted_formats_come_first() {
        gst::init().unwrap();
        assert_eq!(TRANSFER[..7], Formats::Converted.names());
    }
}
