//! The pixel formats, as a table.
//!
//! Formats are named as GStreamer names them, so that a binary built for an old GStreamer serves
//! newer ones: nothing here uses `gst_video::VideoFormat`'s numbers.

/// A format the kernels read and write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PixelFormat {
    /// 4:2:0, 8 bit: Y; CbCr pairs.
    Nv12,
    /// 4:2:0, 8 bit: Y; Cb; Cr.
    I420,
    /// 4:2:0, 10 bit in the high bits of 16, little endian: Y; CbCr pairs.
    P010Le,
    /// Four bytes a pixel: R, G, B, A.
    Rgba,
    /// Four bytes a pixel: B, G, R, A.
    Bgra,
    /// Three bytes a pixel: R, G, B.
    Rgb,
    /// 8 bit: R; G; B.
    Rgbp,
}

/// How the samples of a format lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// Y; then Cb and Cr in turn.
    Yuv420Pairs,
    /// Y; Cb; Cr.
    Yuv420Planes,
    /// One plane; `shifts` says at which bit of a little-endian word R, G, B and A lie.
    Packed {
        /// Bit positions of R, G, B, A. A format without alpha has 24 there.
        shifts: [i32; 4],
    },
    /// R; G; B.
    Planar,
}

/// One plane of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlaneInfo {
    /// Luma pixels to one element of the plane, in each direction: 1 or 2.
    pub subsampling: usize,
    /// Bytes of one element (a sample, a CbCr pair, a packed pixel).
    pub step: usize,
}

/// What the table says about a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormatInfo {
    /// GStreamer's name.
    pub name: &'static str,
    /// How the samples lie.
    pub layout: Layout,
    /// Bits of a sample.
    pub depth: u32,
    /// Whether pixels have an alpha sample.
    pub alpha: bool,
    /// The planes.
    pub planes: &'static [PlaneInfo],
}

const fn plane(subsampling: usize, step: usize) -> PlaneInfo {
    PlaneInfo { subsampling, step }
}

const fn packed(
    name: &'static str,
    shifts: [i32; 4],
    alpha: bool,
    planes: &'static [PlaneInfo],
) -> FormatInfo {
    FormatInfo {
        name,
        layout: Layout::Packed { shifts },
        depth: 8,
        alpha,
        planes,
    }
}

static NV12: FormatInfo = FormatInfo {
    name: "NV12",
    layout: Layout::Yuv420Pairs,
    depth: 8,
    alpha: false,
    planes: &[plane(1, 1), plane(2, 2)],
};
static I420: FormatInfo = FormatInfo {
    name: "I420",
    layout: Layout::Yuv420Planes,
    depth: 8,
    alpha: false,
    planes: &[plane(1, 1), plane(2, 1), plane(2, 1)],
};
static P010: FormatInfo = FormatInfo {
    name: "P010_10LE",
    layout: Layout::Yuv420Pairs,
    depth: 10,
    alpha: false,
    planes: &[plane(1, 2), plane(2, 4)],
};
static RGBA: FormatInfo = packed("RGBA", [0, 8, 16, 24], true, &[plane(1, 4)]);
static BGRA: FormatInfo = packed("BGRA", [16, 8, 0, 24], true, &[plane(1, 4)]);
static RGB: FormatInfo = packed("RGB", [0, 8, 16, 24], false, &[plane(1, 3)]);
static RGBP: FormatInfo = FormatInfo {
    name: "RGBP",
    layout: Layout::Planar,
    depth: 8,
    alpha: false,
    planes: &[plane(1, 1), plane(1, 1), plane(1, 1)],
};

impl PixelFormat {
    /// Every format, in the order in which caps offer them.
    pub const ALL: [PixelFormat; 7] = [
        PixelFormat::Nv12,
        PixelFormat::I420,
        PixelFormat::P010Le,
        PixelFormat::Rgba,
        PixelFormat::Bgra,
        PixelFormat::Rgb,
        PixelFormat::Rgbp,
    ];

    /// The table's entry.
    pub fn info(self) -> &'static FormatInfo {
        match self {
            PixelFormat::Nv12 => &NV12,
            PixelFormat::I420 => &I420,
            PixelFormat::P010Le => &P010,
            PixelFormat::Rgba => &RGBA,
            PixelFormat::Bgra => &BGRA,
            PixelFormat::Rgb => &RGB,
            PixelFormat::Rgbp => &RGBP,
        }
    }

    /// GStreamer's name of the format.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The format of that name, if the kernels know it.
    pub fn from_name(name: &str) -> Option<PixelFormat> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The format of a `gst_video::VideoFormat`, found by its name.
    pub fn from_gst(format: gst_video::VideoFormat) -> Option<PixelFormat> {
        Self::from_name(format.to_str().as_str())
    }

    /// Whether it is Y'CbCr (and 4:2:0) rather than R'G'B'.
    pub fn is_yuv(self) -> bool {
        matches!(
            self.info().layout,
            Layout::Yuv420Pairs | Layout::Yuv420Planes
        )
    }

    /// Whether chroma has fewer samples than luma, so that rectangles have even origins.
    pub fn is_subsampled(self) -> bool {
        self.info().planes.iter().any(|plane| plane.subsampling > 1)
    }

    /// Bytes of the samples of one row of a plane, without padding.
    ///
    /// # Panics
    /// The format has no such plane.
    pub fn row_bytes(self, plane: usize, width: usize) -> usize {
        let plane = self.info().planes[plane];
        width.div_ceil(plane.subsampling) * plane.step
    }

    /// Rows of a plane.
    ///
    /// # Panics
    /// The format has no such plane.
    pub fn rows(self, plane: usize, height: usize) -> usize {
        height.div_ceil(self.info().planes[plane].subsampling)
    }

    /// What plane addresses and strides must be divisible by: the bytes of a sample.
    pub fn sample_bytes(self) -> usize {
        if self.info().depth > 8 { 2 } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_gstreamer() {
        gst::init().expect("GStreamer starts");
        for format in PixelFormat::ALL {
            let theirs = gst_video::VideoFormat::from_string(format.name());
            assert_ne!(theirs, gst_video::VideoFormat::Unknown, "{}", format.name());
            assert_eq!(PixelFormat::from_gst(theirs), Some(format));
        }
        assert_eq!(PixelFormat::from_gst(gst_video::VideoFormat::Y42b), None);
    }

    #[test]
    fn plane_sizes_round_up() {
        assert_eq!(PixelFormat::Nv12.row_bytes(1, 5), 6);
        assert_eq!(PixelFormat::I420.row_bytes(2, 5), 3);
        assert_eq!(PixelFormat::P010Le.row_bytes(1, 1), 4);
        assert_eq!(PixelFormat::Rgb.row_bytes(0, 5), 15);
        assert_eq!(PixelFormat::Nv12.rows(1, 5), 3);
        assert_eq!(PixelFormat::Rgbp.rows(2, 5), 5);
    }

    #[test]
    fn planes_agree_with_gstreamer() {
        gst::init().expect("GStreamer starts");
        for format in PixelFormat::ALL {
            let theirs = gst_video::VideoFormat::from_string(format.name());
            let info = gst_video::VideoInfo::builder(theirs, 64, 32)
                .build()
                .expect("a valid size");
            assert_eq!(info.n_planes() as usize, format.info().planes.len());
            let last = format.info().planes.len() - 1;
            let bytes = format.row_bytes(last, 64) * format.rows(last, 32);
            assert_eq!(
                info.size(),
                info.offset()[last] + bytes,
                "{}",
                format.name()
            );
            assert_eq!(info.format_info().depth()[0], format.info().depth);
            assert_eq!(info.has_alpha(), format.info().alpha);
            assert_eq!(info.is_yuv(), format.is_yuv());
        }
    }
}
