//! The formats, by name: a name that the running GStreamer does not know drops out of the caps.

use gst_hip::CAPS_FEATURE_MEMORY_HIP;
use gst_video::VideoFormat;
use hip_video::{MAX_SIZE, PixelFormat};

/// What the transfer elements carry beyond what is converted: planes of whole bytes, neither tiled
/// nor bit-packed across pixels, so that a plane is rows of `pixel stride × samples` bytes.
const COPIED: [&str; 2] = ["AYUV64", "ARGB64"];

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
        let copied: &[&str] = match self {
            Formats::Transfer => &COPIED,
            Formats::Converted => &[],
        };
        let known = |name: &&str| {
            name.parse::<VideoFormat>()
                .is_ok_and(|f| f != VideoFormat::Unknown)
        };
        let names = PixelFormat::ALL.into_iter().map(PixelFormat::name);
        names.chain(copied.iter().copied()).filter(known).collect()
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
    fn what_is_only_copied_is_rows_of_whole_bytes() {
        gst::init().unwrap();
        for name in COPIED {
            assert_eq!(PixelFormat::from_name(name), None, "{name} is converted");
            let info = gst_video::VideoFormatInfo::from_format(name.parse().unwrap());
            assert!(
                !info.is_tiled() && !info.is_complex() && !info.has_palette(),
                "{name}"
            );
            for component in 0..info.n_components() as usize {
                assert!(info.pixel_stride()[component] > 0, "{name}");
            }
        }
    }

    #[test]
    fn all_that_is_converted_is_copied_too() {
        gst::init().unwrap();
        let (converted, copied) = (Formats::Converted.names(), Formats::Transfer.names());
        assert_eq!(copied[..converted.len()], converted);
        // What GStreamer 1.22 knows of the table; four are no formats of GStreamer's.
        assert!(converted.len() >= 60, "{}", converted.len());
        assert!(!converted.contains(&"RgbF32"));
    }
}
