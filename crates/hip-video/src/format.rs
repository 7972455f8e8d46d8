//! The pixel formats, as a table.
//!
//! Formats are named as GStreamer names them, so that a binary built for an old GStreamer serves
//! newer ones: nothing here uses `gst_video::VideoFormat`'s numbers.

mod table;

pub use table::PixelFormat;

/// What a format's components are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Model {
    /// Y', Cb, Cr.
    Yuv,
    /// R', G', B'.
    Rgb,
    /// Y' alone.
    Gray,
}

/// How a sample lies in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SampleKind {
    /// A byte.
    U8,
    /// 16 bits, little endian; the sample is `shift` bits from the right.
    U16,
    /// Some bits of a 32-bit little-endian word that other components share, `shift` from the right.
    U32,
    /// One of the twelve 10-bit samples in four 32-bit words; `shift` is 0 for Cb, 1 Y, 2 Cr.
    V210,
    /// IEEE 754 binary16.
    F16,
    /// IEEE 754 binary32.
    F32,
}

impl SampleKind {
    /// Bytes that addresses and strides must be divisible by.
    pub fn alignment(self) -> usize {
        match self {
            SampleKind::U8 => 1,
            SampleKind::U16 | SampleKind::F16 => 2,
            SampleKind::U32 | SampleKind::V210 | SampleKind::F32 => 4,
        }
    }

    /// Whether samples are floating point.
    pub fn is_float(self) -> bool {
        matches!(self, SampleKind::F16 | SampleKind::F32)
    }
}

/// One component of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ComponentInfo {
    /// Its plane.
    pub plane: usize,
    /// Byte of sample 0 in a row.
    pub offset: usize,
    /// Bytes from one sample to the next.
    pub step: usize,
    /// How a sample lies.
    pub kind: SampleKind,
    /// Bits to the right of the sample; see [`SampleKind`].
    pub shift: u32,
    /// Bits of a sample; 0 for floating point.
    pub depth: u32,
}

/// One plane of a format: groups of bytes that hold all components of some neighbouring pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlaneInfo {
    /// Luma pixels across that one group covers.
    pub group_width: usize,
    /// Bytes of one group.
    pub group_bytes: usize,
    /// Luma rows to one row of the plane.
    pub subsampling: usize,
}

/// What the table says about a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormatInfo {
    /// GStreamer's name; for formats that GStreamer has not, a name of this crate's.
    pub name: &'static str,
    /// What the components are.
    pub model: Model,
    /// Bits of a colour sample; 0 for floating point.
    pub depth: u32,
    /// Luma pixels to one chroma sample, across and down.
    pub subsampling: [usize; 2],
    /// The planes.
    pub planes: &'static [PlaneInfo],
    /// Y Cb Cr A, or R G B A; GRAY has the first only.
    pub components: [Option<ComponentInfo>; 4],
    /// Whether pixels have an alpha sample. An `x` byte is a component without being alpha.
    pub alpha: bool,
}

impl PixelFormat {
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

    /// Whether it has a matrix: Y'CbCr or Y' alone rather than R'G'B'.
    pub fn is_yuv(self) -> bool {
        self.info().model != Model::Rgb
    }

    /// Whether chroma has fewer samples than luma.
    pub fn is_subsampled(self) -> bool {
        self.info().subsampling != [1, 1]
    }

    /// Whether samples are floating point.
    pub fn is_float(self) -> bool {
        self.info().components[0].is_some_and(|component| component.kind.is_float())
    }

    /// Bytes of the samples of one row of a plane, without padding.
    ///
    /// # Panics
    /// The format has no such plane.
    pub fn row_bytes(self, plane: usize, width: usize) -> usize {
        let plane = self.info().planes[plane];
        width.div_ceil(plane.group_width) * plane.group_bytes
    }

    /// Rows of a plane.
    ///
    /// # Panics
    /// The format has no such plane.
    pub fn rows(self, plane: usize, height: usize) -> usize {
        height.div_ceil(self.info().planes[plane].subsampling)
    }

    /// What plane addresses and strides must be divisible by: the bytes of a sample or word.
    pub fn sample_bytes(self) -> usize {
        let components = self.info().components.iter().flatten();
        components
            .map(|component| component.kind.alignment())
            .max()
            .unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formats that this GStreamer knows, with its own description.
    fn known() -> Vec<(PixelFormat, gst_video::VideoInfo)> {
        gst::init().expect("GStreamer starts");
        let known = |format: PixelFormat| {
            let theirs = gst_video::VideoFormat::from_string(format.name());
            if theirs == gst_video::VideoFormat::Unknown {
                return None;
            }
            let info = gst_video::VideoInfo::builder(theirs, 64, 32).build();
            Some((format, info.expect("a valid size")))
        };
        PixelFormat::ALL.into_iter().filter_map(known).collect()
    }

    #[test]
    fn names_are_those_of_gstreamer() {
        let known = known();
        // 1.22 has these; the others came later or are this crate's own.
        assert!(known.len() >= 60, "{}", known.len());
        for (format, info) in known {
            assert_eq!(PixelFormat::from_gst(info.format()), Some(format));
        }
        let mut names = PixelFormat::ALL.map(PixelFormat::name);
        names.sort();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn plane_sizes_round_up() {
        assert_eq!(PixelFormat::Nv12.row_bytes(1, 5), 6);
        assert_eq!(PixelFormat::I420.row_bytes(2, 5), 3);
        assert_eq!(PixelFormat::P010Le.row_bytes(1, 1), 4);
        assert_eq!(PixelFormat::Rgb.row_bytes(0, 5), 15);
        assert_eq!(PixelFormat::Yuy2.row_bytes(0, 5), 12);
        assert_eq!(PixelFormat::V210.row_bytes(0, 7), 32);
        assert_eq!(PixelFormat::Nv12.rows(1, 5), 3);
        assert_eq!(PixelFormat::Nv16.rows(1, 5), 5);
        assert_eq!(PixelFormat::Rgbp.rows(2, 5), 5);
    }

    #[test]
    fn the_table_agrees_with_gstreamer() {
        for (format, theirs) in known() {
            let (name, ours, info) = (format.name(), format.info(), theirs.format_info());
            assert_eq!(theirs.n_planes() as usize, ours.planes.len(), "{name}");
            // Its flags of Y410 and Y412 lack alpha, which its converter handles.
            let unflagged = name.starts_with("Y41");
            assert!(unflagged || theirs.has_alpha() == ours.alpha, "{name}");
            assert_eq!(theirs.is_yuv(), ours.model == Model::Yuv, "{name}");
            assert_eq!(theirs.is_gray(), ours.model == Model::Gray, "{name}");
            assert_eq!(info.depth()[0], ours.depth, "{name}");
            let last = ours.planes.len() - 1;
            if ours.components[0].map(|component| component.kind) != Some(SampleKind::V210) {
                let bytes = format.row_bytes(last, 64) * format.rows(last, 32);
                assert_eq!(theirs.size(), theirs.offset()[last] + bytes, "{name}");
            }
            for (index, component) in ours.components.iter().enumerate() {
                let Some(component) = component else { continue };
                if index == 3 && (!ours.alpha || unflagged) {
                    continue;
                }
                assert_eq!(info.plane()[index] as usize, component.plane, "{name}");
                if matches!(component.kind, SampleKind::U8 | SampleKind::U16) {
                    assert_eq!(
                        info.pixel_stride()[index] as usize,
                        component.step,
                        "{name}"
                    );
                    // Of Y210, Y212 and Y412 its table says 0; its own converter uses the high bits.
                    let packed = name.starts_with("Y2") || name == "Y412_LE";
                    assert!(packed || info.shift()[index] == component.shift, "{name}");
                }
                // GStreamer says 1 for the second of a pair of 16-bit samples (P010_10LE), and for VYUY
                // what UYVY has; its own converter has them as we do.
                if component.kind == SampleKind::U8 && name != "VYUY" {
                    assert_eq!(info.poffset()[index] as usize, component.offset, "{name}");
                }
                assert_eq!(info.depth()[index], component.depth, "{name} {index}");
                if index == 1 || index == 2 {
                    assert_eq!(1 << info.w_sub()[index], ours.subsampling[0], "{name}");
                    assert_eq!(1 << info.h_sub()[index], ours.subsampling[1], "{name}");
                }
            }
        }
    }
}
