use gst_video::{VideoFormat, VideoFormatInfo, VideoInfo, VideoInterlaceMode};
use smallvec::SmallVec;

use crate::{Error, Result};

/// Planes start at multiples of this many bytes: wide accesses and every vendor's copies like it.
const OFFSET_ALIGNMENT: usize = 256;
/// Strides are multiples of this whatever the device says: AMD's 2D copies are tens of times slower
/// otherwise, and GStreamer's own strides are.
const STRIDE_ALIGNMENT: usize = 4;

/// Samples of one plane of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlaneShape {
    /// Samples in a row (a pair of chroma samples that share a place is one).
    pub(crate) width: u32,
    /// Rows.
    pub(crate) height: u32,
    /// Bytes of a row that carry samples.
    pub(crate) row_bytes: usize,
}

/// The planes of a picture, from the format alone.
///
/// # Errors
/// The format is tiled, has a palette, or is not one of plain memory.
pub(crate) fn plane_shapes(info: &VideoInfo) -> Result<SmallVec<[PlaneShape; 4]>> {
    let (format, width, height) = (info.format_info(), info.width(), info.field_height());
    let refuse = |why: &str| Err(Error::Layout(format!("{} {why}", info.format())));
    if matches!(info.format(), VideoFormat::Unknown | VideoFormat::Encoded)
        || info.format().to_str() == "DMA_DRM"
    {
        return refuse("is not in plain memory");
    }
    if format.is_tiled() || format.has_palette() {
        return refuse("is tiled or has a palette");
    }
    let plain = VideoInfo::builder(info.format(), width, height)
        .build()
        .map_err(|error| Error::Layout(error.to_string()))?;
    (0..format.n_planes())
        .map(|plane| plane_shape(&format, &plain, plane))
        .collect()
}

fn plane_shape(format: &VideoFormatInfo, plain: &VideoInfo, plane: u32) -> Result<PlaneShape> {
    let of_plane = |component: &u8| format.plane()[usize::from(*component)] == plane;
    let components = (0..format.n_components() as u8).filter(of_plane);
    let (mut shape, mut any) = (
        PlaneShape {
            width: 0,
            height: 0,
            row_bytes: 0,
        },
        false,
    );
    for component in components {
        let width = format.scale_width(component, plain.width());
        let height = format.scale_height(component, plain.height());
        let pixel_stride = format.pixel_stride()[usize::from(component)] as usize;
        if !any {
            (shape.width, shape.height, any) = (width, height, true);
        }
        shape.row_bytes = shape.row_bytes.max(width as usize * pixel_stride);
    }
    if !any {
        return Err(Error::Layout(format!(
            "{} has a plane without samples",
            plain.format()
        )));
    }
    if plain.format() == VideoFormat::V210 {
        shape.row_bytes = v210_row_bytes(plain.width());
    } else if shape.row_bytes == 0 || format.is_complex() {
        // Samples that are not bytes apart: GStreamer's stride is the row.
        shape.row_bytes = plain.stride()[plane as usize] as usize;
    }
    Ok(shape)
}

/// Bytes of a row of v210: four 32-bit words for six pixels. GStreamer's own stride is a multiple of 128
/// bytes, which is padding; a neighbour's may be as short as the row.
fn v210_row_bytes(width: u32) -> usize {
    width.div_ceil(6) as usize * 16
}

/// Where the planes of a video frame are in one memory; the same on the device and for the CPU.
#[derive(Debug, Clone)]
pub struct FrameLayout {
    info: VideoInfo,
}

impl FrameLayout {
    /// Lays out a frame of `info`'s format and size, whose own strides and offsets do not count.
    /// Strides are multiples of `pitch_alignment` bytes (a power of two) and of 4, planes start at multiples of
    /// 256, and every plane has its own rows: none is padded to the luma plane's size.
    /// Interlaced 4:2:0 has an even number of chroma rows, as GStreamer wants it.
    ///
    /// # Errors
    /// The format is tiled, has a palette or is no plain memory; the frame is too large; or the
    /// alignment is not a power of two.
    pub fn new(info: &VideoInfo, pitch_alignment: usize) -> Result<FrameLayout> {
        if !pitch_alignment.is_power_of_two() {
            let text = format!("a pitch alignment of {pitch_alignment} is not a power of two");
            return Err(Error::Layout(text));
        }
        let too_large =
            || Error::Layout(format!("{}x{} is too large", info.width(), info.height()));
        let shapes = plane_shapes(info)?;
        let (mut strides, mut offsets) =
            (SmallVec::<[i32; 4]>::new(), SmallVec::<[usize; 4]>::new());
        let mut size = 0_usize;
        for (plane, shape) in shapes.iter().enumerate() {
            let stride = shape
                .row_bytes
                .checked_next_multiple_of(pitch_alignment.max(STRIDE_ALIGNMENT))
                .and_then(|stride| i32::try_from(stride).ok())
                .ok_or_else(too_large)?;
            let offset = size.next_multiple_of(OFFSET_ALIGNMENT);
            let rows = rows(info, plane, shape.height) as usize;
            let bytes = rows.checked_mul(stride as usize).ok_or_else(too_large)?;
            size = offset.checked_add(bytes).ok_or_else(too_large)?;
            strides.push(stride);
            offsets.push(offset);
        }
        FrameLayout::build(info, &offsets, &strides, size)
    }

    /// GStreamer's own layout, for neighbours that know no `GstVideoMeta`; with `alignment`, the
    /// padding and strides that a neighbour asked for. Gives the alignment as it came out.
    ///
    /// # Errors
    /// The format is no plain memory, or the alignment cannot be had.
    pub(crate) fn of_gstreamer(
        info: &VideoInfo,
        alignment: Option<&mut gst_video::VideoAlignment>,
    ) -> Result<FrameLayout> {
        plane_shapes(info)?;
        let failed = |error: gst::glib::BoolError| Error::Layout(error.to_string());
        // The size and strides given may be another memory's.
        let mut plain = VideoInfo::builder(info.format(), info.width(), info.height())
            .interlace_mode(info.interlace_mode())
            .build()
            .map_err(failed)?;
        if let Some(alignment) = alignment {
            plain.align(alignment).map_err(failed)?;
        }
        FrameLayout::build(info, plain.offset(), plain.stride(), plain.size())
    }

    fn build(info: &VideoInfo, offsets: &[usize], strides: &[i32], size: usize) -> Result<Self> {
        let info = VideoInfo::builder_from_info(info)
            .offset(offsets)
            .stride(strides)
            .size(size)
            .build()
            .map_err(|error| Error::Layout(error.to_string()))?;
        Ok(FrameLayout { info })
    }

    /// Bytes of the whole frame.
    pub fn size(&self) -> usize {
        self.info.size()
    }

    /// Bytes from row to row, of each plane.
    pub fn strides(&self) -> &[i32] {
        self.info.stride()
    }

    /// Where each plane starts, in bytes.
    pub fn offsets(&self) -> &[usize] {
        self.info.offset()
    }

    /// How many planes there are, 1 to 4.
    pub fn n_planes(&self) -> usize {
        self.info.stride().len()
    }

    /// Rows of each plane that carry samples.
    pub fn plane_heights(&self) -> SmallVec<[u32; 4]> {
        let shapes = plane_shapes(&self.info).unwrap_or_default();
        shapes.iter().map(|shape| shape.height).collect()
    }

    /// Format, size, interlacing, colorimetry, with these strides, offsets and size.
    pub fn to_video_info(&self) -> VideoInfo {
        self.info.clone()
    }

    /// As [`FrameLayout::to_video_info`], borrowed.
    pub fn video_info(&self) -> &VideoInfo {
        &self.info
    }

    /// Tells whoever gets the buffer where the planes are.
    ///
    /// # Errors
    /// The buffer is not writable enough for GStreamer.
    pub fn add_video_meta(&self, buffer: &mut gst::BufferRef) -> Result<()> {
        gst_video::VideoMeta::add_full(
            buffer,
            gst_video::VideoFrameFlags::empty(),
            self.info.format(),
            self.info.width(),
            self.info.height(),
            self.info.offset(),
            self.info.stride(),
        )
        .map(|_| ())
        .map_err(|error| Error::Gst(error.to_string()))
    }
}

impl PartialEq for FrameLayout {
    fn eq(&self, other: &FrameLayout) -> bool {
        self.info == other.info
    }
}

/// Rows to make room for. Two fields of 4:2:0 that share a frame have whole chroma rows each.
fn rows(info: &VideoInfo, plane: usize, height: u32) -> u32 {
    let format = info.format_info();
    let subsampled = (0..format.n_components() as usize).any(|component| {
        format.plane()[component] as usize == plane && format.h_sub()[component] > 0
    });
    let fields = info.is_interlaced() && info.interlace_mode() != VideoInterlaceMode::Alternate;
    if subsampled && fields {
        height.next_multiple_of(2)
    } else {
        height
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_v210_are_groups_of_six_pixels() {
        gst::init().expect("GStreamer starts");
        for (width, bytes) in [(1, 16), (6, 16), (7, 32), (48, 128), (49, 144)] {
            let info = VideoInfo::builder(VideoFormat::V210, width, 3)
                .build()
                .expect("a valid size");
            let shapes = plane_shapes(&info).expect("plain memory");
            assert_eq!((shapes[0].row_bytes, shapes[0].height), (bytes, 3));
            let layout = FrameLayout::new(&info, 16).expect("a layout");
            assert_eq!(layout.strides(), [bytes as i32]);
        }
    }
}
