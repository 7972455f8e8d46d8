//! The kernels' argument, and how it is filled in.

use hip_core::DevicePtr;
use hip_rtc::KernelArg;

use crate::colour::Affine;
use crate::description::FrameDescription;
use crate::format::PixelFormat;
use crate::frame::PlaneView;
use crate::geometry::{FixedAxis, Rect};

/// How a source is read between its samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Method {
    /// Linear interpolation between the four neighbours.
    #[default]
    Bilinear,
    /// The pixel whose area holds the position.
    Nearest,
    /// The average of the area that a destination pixel covers where the picture shrinks, else as
    /// bilinear.
    Area,
    /// A piecewise cubic over four samples, widened where the picture shrinks.
    Bicubic(Cubic),
    /// A windowed sinc, widened where the picture shrinks.
    Lanczos(Lobes),
    /// On each axis: area where the picture shrinks, else bilinear.
    Auto,
}

/// The parameters B and C of a cubic filter (Mitchell and Netravali 1988), in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cubic {
    b: i16,
    c: i16,
}

impl Cubic {
    /// B = 0, C = 1/2: passes through the samples.
    pub const CATMULL_ROM: Cubic = Cubic { b: 0, c: 500 };
    /// B = C = 1/3 (to a thousandth): the authors' choice between blur and ringing.
    pub const MITCHELL: Cubic = Cubic { b: 333, c: 333 };

    /// Parameters in -1..=1 (beyond that they are clamped), kept to a thousandth.
    pub fn new(b: f64, c: f64) -> Cubic {
        let thousandths = |value: f64| (value.clamp(-1.0, 1.0) * 1000.0).round() as i16;
        Cubic {
            b: thousandths(b),
            c: thousandths(c),
        }
    }

    /// B and C.
    pub fn parameters(self) -> [f64; 2] {
        [self.b, self.c].map(|value| f64::from(value) / 1000.0)
    }
}

/// How many lobes of a sinc to either side a Lanczos filter has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lobes(u8);

impl Lobes {
    /// The usual three.
    pub const THREE: Lobes = Lobes(3);

    /// 2, 3 or 4; `None` for any other number.
    pub fn new(lobes: u8) -> Option<Lobes> {
        (2..=4).contains(&lobes).then_some(Lobes(lobes))
    }

    /// The number.
    pub fn get(self) -> u8 {
        self.0
    }
}

/// How the samples of the formats lie that have kernels of their own (`convert.cu`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Y; then Cb and Cr in turn.
    Yuv420Pairs,
    /// Y; Cb; Cr.
    Yuv420Planes,
    /// One plane; `shifts` says at which bit of a little-endian word R, G, B and A lie. A format
    /// without alpha has 24 there.
    Packed { shifts: [i32; 4] },
    /// R; G; B.
    Planar,
}

impl Layout {
    /// `None` for formats that only `any.cu` converts.
    pub(crate) fn of(format: PixelFormat) -> Option<Layout> {
        Some(match format {
            PixelFormat::Nv12 | PixelFormat::P010Le => Layout::Yuv420Pairs,
            PixelFormat::I420 => Layout::Yuv420Planes,
            PixelFormat::Rgba | PixelFormat::Rgb => Layout::Packed {
                shifts: [0, 8, 16, 24],
            },
            PixelFormat::Bgra => Layout::Packed {
                shifts: [16, 8, 0, 24],
            },
            PixelFormat::Rgbp => Layout::Planar,
            _ => return None,
        })
    }
}

/// `CONVERT_READ_*` of `convert_params.h`.
pub(crate) mod reader {
    pub(crate) const YUV8_PAIR: i32 = 0;
    pub(crate) const YUV8_SPLIT: i32 = 1;
    pub(crate) const YUV16: i32 = 2;
    pub(crate) const QUAD: i32 = 3;
    pub(crate) const BYTES: i32 = 4;
}

/// `CONVERT_TILE_*` and `CONVERT_ROWS_*` of `convert_params.h`: pixels a GPU thread writes.
pub(crate) mod tile {
    pub(crate) const UNSCALED: u32 = 4;
    pub(crate) const SCALED_YUV420: u32 = 2;
    pub(crate) const SCALED_RGB: u32 = 1;
    pub(crate) const ROWS_YUV420: u32 = 2;
    pub(crate) const ROWS_RGB: u32 = 1;
}

/// The kernels' only argument; see `kernels/convert_params.h` for the fields.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
#[allow(missing_docs)] // documented in the header, once
pub(crate) struct ConvertParams {
    pub(crate) src: [DevicePtr; 4],
    pub(crate) dst: [DevicePtr; 4],
    pub(crate) origin: [i64; 2],
    pub(crate) step: [i64; 2],
    pub(crate) chroma_origin: [i64; 2],
    pub(crate) chroma_step: [i64; 2],
    pub(crate) src_site: [i64; 2],
    pub(crate) src_stride: [i32; 4],
    pub(crate) dst_stride: [i32; 4],
    pub(crate) src_size: [i32; 2],
    pub(crate) src_chroma_size: [i32; 2],
    pub(crate) dst_size: [i32; 2],
    pub(crate) rect_origin: [i32; 2],
    pub(crate) rect_size: [i32; 2],
    pub(crate) reader: i32,
    pub(crate) src_step: i32,
    pub(crate) src_shift: [i32; 4],
    pub(crate) src_alpha: i32,
    pub(crate) dst_step: i32,
    pub(crate) dst_shift: [i32; 4],
    pub(crate) nearest: i32,
    pub(crate) luma_mixes: i32,
    pub(crate) border: [u32; 4],
    pub(crate) matrix: [f32; 12],
    pub(crate) box_x: [f32; 3],
    pub(crate) box_y: [f32; 4],
}

// SAFETY: `repr(C)` with fixed-width fields, as the header declares it; a test compares size and
// every offset with what the C++ compiler says.
unsafe impl KernelArg for ConvertParams {}

/// The part of a conversion that does not change from frame to frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) input: FrameDescription,
    pub(crate) output: FrameDescription,
    pub(crate) src_rect: Rect,
    pub(crate) dst_rect: Rect,
    pub(crate) method: Method,
    pub(crate) layouts: [Layout; 2],
}

impl Plan {
    /// Whether neighbouring destination pixels are neighbouring source pixels, and tiles start at
    /// even pixels of the rectangle.
    pub(crate) fn is_unscaled(&self) -> bool {
        self.src_rect.width == self.dst_rect.width
            && self.src_rect.height == self.dst_rect.height
            && self.dst_rect.x.is_multiple_of(2)
    }

    /// Everything but addresses, strides and what follows from them.
    pub(crate) fn params(&self) -> ConvertParams {
        let (src, dst) = (self.src_rect, self.dst_rect);
        let site_in = self.input.site.halves();
        let site_out = self.output.site.halves();
        let axes = [(src.width, dst.width), (src.height, dst.height)];
        let nearest = self.method == Method::Nearest;
        let luma = axes.map(|(from, to)| match nearest {
            false => FixedAxis::bilinear(from, to),
            true => FixedAxis::nearest(from, to),
        });
        let chroma = [0, 1].map(|axis| {
            let ((from, to), site_in, site_out) = (axes[axis], site_in[axis], site_out[axis]);
            match nearest {
                false => FixedAxis::chroma_bilinear(from, to, site_in, site_out),
                true => FixedAxis::chroma_nearest(from, to, site_in, site_out),
            }
        });
        let map = Affine::between(self.input.encoding(), self.output.encoding());
        let size = |width: u32, height: u32| [width as i32, height as i32];
        ConvertParams {
            src: [DevicePtr(0); 4],
            dst: [DevicePtr(0); 4],
            origin: luma.map(|axis| axis.origin),
            step: luma.map(|axis| axis.step),
            chroma_origin: chroma.map(|axis| axis.origin),
            chroma_step: chroma.map(|axis| axis.step),
            src_site: site_in.map(|halves| halves << 31),
            src_stride: [0; 4],
            dst_stride: [0; 4],
            src_size: size(src.width, src.height),
            src_chroma_size: size(src.width.div_ceil(2), src.height.div_ceil(2)),
            dst_size: size(self.output.width, self.output.height),
            rect_origin: size(dst.x, dst.y),
            rect_size: size(dst.width, dst.height),
            reader: 0,
            src_step: 0,
            src_shift: shifts(self.layouts[0]),
            src_alpha: i32::from(self.input.format.info().alpha),
            dst_step: destination_step(self.layouts[1], self.output.format),
            dst_shift: shifts(self.layouts[1]),
            nearest: i32::from(nearest),
            luma_mixes: i32::from(map.0[0][1] != 0.0 || map.0[0][2] != 0.0),
            border: self.output.encoding().black(),
            matrix: map.rows(),
            box_x: match site_out[0] {
                0 => [0.25, 0.5, 0.25],
                _ => [0.0, 0.5, 0.5],
            },
            box_y: match site_out[1] {
                0 => [0.25, 0.5, 0.25, 0.0],
                1 => [0.0, 0.5, 0.5, 0.0],
                _ => [0.0, 0.25, 0.5, 0.25],
            },
        }
    }
}

impl ConvertParams {
    /// Sets the source: which reader, and addresses and strides by component.
    pub(crate) fn set_source(&mut self, plan: &Plan, planes: &[PlaneView; 4]) {
        let (format, rect) = (plan.input.format, plan.src_rect);
        let aligned = |plane: PlaneView, unit: u64| {
            plane.ptr.0.is_multiple_of(unit)
                && u64::from(plane.stride.unsigned_abs()).is_multiple_of(unit)
        };
        let moved = |plane: usize| start(planes[plane], format, plane, rect);
        let mut components = [0, 1, 2, 3].map(|plane| match format.info().planes.get(plane) {
            Some(_) => moved(plane),
            None => PlaneView::NONE,
        });
        match plan.layouts[0] {
            Layout::Yuv420Pairs if format.info().depth > 8 => self.reader = reader::YUV16,
            Layout::Yuv420Pairs if aligned(planes[1], 2) => self.reader = reader::YUV8_PAIR,
            Layout::Yuv420Pairs => {
                (self.reader, self.src_step) = (reader::YUV8_SPLIT, 2);
                components[2] = after(components[1], 1);
            }
            Layout::Yuv420Planes => (self.reader, self.src_step) = (reader::YUV8_SPLIT, 1),
            Layout::Planar => (self.reader, self.src_step) = (reader::BYTES, 1),
            Layout::Packed { .. }
                if format.info().planes[0].group_bytes == 4 && aligned(planes[0], 4) =>
            {
                self.reader = reader::QUAD;
            }
            Layout::Packed { shifts } => {
                (self.reader, self.src_step) =
                    (reader::BYTES, format.info().planes[0].group_bytes as i32);
                components = shifts.map(|shift| after(components[0], shift as u64 / 8));
            }
        }
        self.src = components.map(|plane| plane.ptr);
        self.src_stride = components.map(|plane| plane.stride);
    }

    /// Sets addresses and strides of the destination.
    pub(crate) fn set_destination(&mut self, planes: &[PlaneView; 4]) {
        self.dst = planes.map(|plane| plane.ptr);
        self.dst_stride = planes.map(|plane| plane.stride);
    }
}

fn after(plane: PlaneView, bytes: u64) -> PlaneView {
    PlaneView {
        ptr: DevicePtr(plane.ptr.0.wrapping_add(bytes)),
        ..plane
    }
}

/// The plane from the rectangle's first sample on.
fn start(view: PlaneView, format: PixelFormat, plane: usize, rect: Rect) -> PlaneView {
    let info = format.info().planes[plane];
    let column = (rect.x as usize / info.group_width * info.group_bytes) as i64;
    let row = (rect.y as usize / info.subsampling) as i64 * i64::from(view.stride);
    PlaneView {
        ptr: DevicePtr(view.ptr.0.wrapping_add_signed(row + column)),
        ..view
    }
}

fn shifts(layout: Layout) -> [i32; 4] {
    match layout {
        Layout::Packed { shifts } => shifts,
        _ => [0; 4],
    }
}

fn destination_step(layout: Layout, format: PixelFormat) -> i32 {
    match layout {
        Layout::Yuv420Pairs => 2,
        Layout::Yuv420Planes | Layout::Planar => 1,
        Layout::Packed { .. } => format.info().planes[0].group_bytes as i32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    unsafe extern "C" {
        fn hip_video_convert_layout(count: *mut u32) -> *const u32;
    }

    macro_rules! offsets {
        ($($field:ident)*) => { [$(offset_of!(ConvertParams, $field)),*] };
    }

    #[test]
    fn layout_is_that_of_the_header() {
        let mut count = 0;
        // SAFETY: the function of host/layout.cpp returns a static array and writes its length.
        let theirs = unsafe {
            let layout = hip_video_convert_layout(&mut count);
            std::slice::from_raw_parts(layout, count as usize)
        };
        let mut ours = vec![size_of::<ConvertParams>()];
        ours.extend(offsets!(
            src dst origin step chroma_origin chroma_step src_site src_stride dst_stride src_size
            src_chroma_size dst_size rect_origin rect_size reader src_step src_shift src_alpha
            dst_step dst_shift nearest luma_mixes border matrix box_x box_y
        ));
        let readers = [
            reader::YUV8_PAIR,
            reader::YUV8_SPLIT,
            reader::YUV16,
            reader::QUAD,
            reader::BYTES,
        ];
        ours.extend(readers.map(|number| number as usize));
        let tiles = [
            tile::UNSCALED,
            tile::SCALED_YUV420,
            tile::SCALED_RGB,
            tile::ROWS_YUV420,
            tile::ROWS_RGB,
        ];
        ours.extend(tiles.map(|pixels| pixels as usize));
        assert_eq!(
            theirs
                .iter()
                .map(|value| *value as usize)
                .collect::<Vec<_>>(),
            ours
        );
    }

    #[test]
    fn source_rectangles_move_every_plane() {
        let plan = |format| Plan {
            input: FrameDescription::new(format, 64, 32),
            output: FrameDescription::new(format, 64, 32),
            src_rect: Rect {
                x: 6,
                y: 4,
                width: 8,
                height: 8,
            },
            dst_rect: Rect::of_size(64, 32),
            method: Method::Bilinear,
            layouts: [Layout::of(format).expect("a format with kernels of its own"); 2],
        };
        let planes =
            [(0x1000, 64), (0x2000, -32), (0x3000, 32), (0, 0)].map(|(ptr, stride)| PlaneView {
                ptr: DevicePtr(ptr),
                stride,
            });
        let addresses = |format, planes: &[PlaneView; 4]| {
            let mut params = plan(format).params();
            params.set_source(&plan(format), planes);
            (params.reader, params.src.map(|ptr| ptr.0))
        };
        let (reader, src) = addresses(PixelFormat::I420, &planes);
        assert_eq!(reader, reader::YUV8_SPLIT);
        assert_eq!(
            src[..3],
            [
                0x1000 + 4 * 64 + 6,
                0x2000 - 2 * 32 + 3,
                0x3000 + 2 * 32 + 3
            ]
        );
        let (reader, src) = addresses(PixelFormat::Nv12, &planes);
        assert_eq!((reader, src[1]), (reader::YUV8_PAIR, 0x2000 - 2 * 32 + 6));
        let mut odd = planes;
        odd[1].ptr = DevicePtr(0x2001);
        let (reader, src) = addresses(PixelFormat::Nv12, &odd);
        assert_eq!((reader, src[2] - src[1]), (reader::YUV8_SPLIT, 1));
        let (reader, src) = addresses(PixelFormat::Bgra, &planes);
        assert_eq!((reader, src[0]), (reader::QUAD, 0x1000 + 4 * 64 + 24));
        odd[0].ptr = DevicePtr(0x1001);
        let (reader, src) = addresses(PixelFormat::Bgra, &odd);
        let base = 0x1001 + 4 * 64 + 24;
        assert_eq!(
            (reader, src),
            (reader::BYTES, [base + 2, base + 1, base, base + 3])
        );
    }

    #[test]
    fn unscaled_needs_equal_sizes_and_an_even_start() {
        let mut plan = Plan {
            input: FrameDescription::new(PixelFormat::Rgba, 8, 8),
            output: FrameDescription::new(PixelFormat::Rgba, 12, 12),
            src_rect: Rect::of_size(8, 8),
            dst_rect: Rect {
                x: 2,
                y: 1,
                width: 8,
                height: 8,
            },
            method: Method::Bilinear,
            layouts: [Layout::of(PixelFormat::Rgba).expect("RGBA has kernels of its own"); 2],
        };
        assert!(plan.is_unscaled());
        plan.dst_rect.x = 1;
        assert!(!plan.is_unscaled());
        plan.dst_rect = Rect {
            x: 2,
            y: 1,
            width: 8,
            height: 7,
        };
        assert!(!plan.is_unscaled());
    }
}
