//! The table itself.

use super::{ComponentInfo, FormatInfo, Model, PlaneInfo, SampleKind};

const fn plane(group_width: usize, group_bytes: usize, subsampling: usize) -> PlaneInfo {
    PlaneInfo {
        group_width,
        group_bytes,
        subsampling,
    }
}

const fn at(
    plane: usize,
    offset: usize,
    step: usize,
    kind: SampleKind,
    shift: u32,
    depth: u32,
) -> Option<ComponentInfo> {
    Some(ComponentInfo {
        plane,
        offset,
        step,
        kind,
        shift,
        depth,
    })
}

/// Bytes of a sample of `depth` bits, and how it lies.
const fn sample(depth: u32) -> (usize, SampleKind) {
    match depth {
        0 => (4, SampleKind::F32),
        8 => (1, SampleKind::U8),
        _ => (2, SampleKind::U16),
    }
}

/// Planes of their own: `planes` says in which plane each component is.
const fn planar(
    name: &'static str,
    model: Model,
    depth: u32,
    subsampling: [usize; 2],
    order: [usize; 4],
    planes: &'static [PlaneInfo],
) -> FormatInfo {
    let (bytes, kind) = sample(depth);
    let alpha = planes.len() == 4;
    let gray = matches!(model, Model::Gray);
    FormatInfo {
        name,
        model,
        depth,
        subsampling,
        planes,
        components: [
            at(order[0], 0, bytes, kind, 0, depth),
            if gray {
                None
            } else {
                at(order[1], 0, bytes, kind, 0, depth)
            },
            if gray {
                None
            } else {
                at(order[2], 0, bytes, kind, 0, depth)
            },
            if alpha {
                at(order[3], 0, bytes, kind, 0, depth)
            } else {
                None
            },
        ],
        alpha,
    }
}

/// Y; then Cb and Cr in turn, with `first` telling which of them is first (0: Cb). Samples lie in the
/// high bits of 16.
const fn pairs(
    name: &'static str,
    depth: u32,
    subsampling: [usize; 2],
    first: usize,
    planes: &'static [PlaneInfo],
) -> FormatInfo {
    let (bytes, kind) = sample(depth);
    let shift = if depth > 8 { 16 - depth } else { 0 };
    FormatInfo {
        name,
        model: Model::Yuv,
        depth,
        subsampling,
        planes,
        components: [
            at(0, 0, bytes, kind, shift, depth),
            at(1, first * bytes, 2 * bytes, kind, shift, depth),
            at(1, (1 - first) * bytes, 2 * bytes, kind, shift, depth),
            None,
        ],
        alpha: false,
    }
}

/// One plane of 4:2:2, two pixels together; `places` of Y0, Cb, Cr in samples.
const fn packed_422(
    name: &'static str,
    depth: u32,
    places: [usize; 3],
    planes: &'static [PlaneInfo],
) -> FormatInfo {
    let (bytes, kind) = sample(depth);
    let shift = if depth > 8 { 16 - depth } else { 0 };
    FormatInfo {
        name,
        model: Model::Yuv,
        depth,
        subsampling: [2, 1],
        planes,
        components: [
            at(0, places[0] * bytes, 2 * bytes, kind, shift, depth),
            at(0, places[1] * bytes, 4 * bytes, kind, shift, depth),
            at(0, places[2] * bytes, 4 * bytes, kind, shift, depth),
            None,
        ],
        alpha: false,
    }
}

/// One plane of whole samples, `count` a pixel; `places` of the components in samples.
const fn packed(
    name: &'static str,
    model: Model,
    depth: u32,
    places: [usize; 4],
    alpha: bool,
    planes: &'static [PlaneInfo],
) -> FormatInfo {
    let (bytes, kind) = sample(depth);
    // Only Y412 has samples that do not fill their 16 bits.
    let shift = if depth == 12 { 4 } else { 0 };
    let step = planes[0].group_bytes;
    let fourth = step / bytes > 3;
    FormatInfo {
        name,
        model,
        depth,
        subsampling: [1, 1],
        planes,
        components: [
            at(0, places[0] * bytes, step, kind, shift, depth),
            at(0, places[1] * bytes, step, kind, shift, depth),
            at(0, places[2] * bytes, step, kind, shift, depth),
            if fourth {
                at(0, places[3] * bytes, step, kind, shift, depth)
            } else {
                None
            },
        ],
        alpha,
    }
}

/// One 32-bit word a pixel: three components of ten bits at `shifts`, alpha in the two high ones.
const fn word(name: &'static str, model: Model, shifts: [u32; 3]) -> FormatInfo {
    const PLANES: &[PlaneInfo] = &[plane(1, 4, 1)];
    FormatInfo {
        name,
        model,
        depth: 10,
        subsampling: [1, 1],
        planes: PLANES,
        components: [
            at(0, 0, 4, SampleKind::U32, shifts[0], 10),
            at(0, 0, 4, SampleKind::U32, shifts[1], 10),
            at(0, 0, 4, SampleKind::U32, shifts[2], 10),
            at(0, 0, 4, SampleKind::U32, 30, 2),
        ],
        alpha: true,
    }
}

const fn v210() -> FormatInfo {
    const PLANES: &[PlaneInfo] = &[plane(6, 16, 1)];
    FormatInfo {
        name: "v210",
        model: Model::Yuv,
        depth: 10,
        subsampling: [2, 1],
        planes: PLANES,
        components: [
            at(0, 0, 0, SampleKind::V210, 1, 10),
            at(0, 0, 0, SampleKind::V210, 0, 10),
            at(0, 0, 0, SampleKind::V210, 2, 10),
            None,
        ],
        alpha: false,
    }
}

/// Floating-point R'G'B': interleaved in one plane, or three planes.
const fn float(name: &'static str, half: bool, planes: &'static [PlaneInfo]) -> FormatInfo {
    let (bytes, kind) = if half {
        (2, SampleKind::F16)
    } else {
        (4, SampleKind::F32)
    };
    let split = planes.len() == 3;
    let step = if split { bytes } else { 3 * bytes };
    FormatInfo {
        name,
        model: Model::Rgb,
        depth: 0,
        subsampling: [1, 1],
        planes,
        components: [
            at(0, 0, step, kind, 0, 0),
            if split {
                at(1, 0, step, kind, 0, 0)
            } else {
                at(0, bytes, step, kind, 0, 0)
            },
            if split {
                at(2, 0, step, kind, 0, 0)
            } else {
                at(0, 2 * bytes, step, kind, 0, 0)
            },
            None,
        ],
        alpha: false,
    }
}

// Planes: 1 or 2 bytes a sample; full, half width, half width and height.
const ONE: PlaneInfo = plane(1, 1, 1);
const TWO: PlaneInfo = plane(1, 2, 1);
const P420: &[PlaneInfo] = &[ONE, plane(2, 1, 2), plane(2, 1, 2)];
const P422: &[PlaneInfo] = &[ONE, plane(2, 1, 1), plane(2, 1, 1)];
const P444: &[PlaneInfo] = &[ONE, ONE, ONE];
const A420: &[PlaneInfo] = &[ONE, plane(2, 1, 2), plane(2, 1, 2), ONE];
const A422: &[PlaneInfo] = &[ONE, plane(2, 1, 1), plane(2, 1, 1), ONE];
const A444: &[PlaneInfo] = &[ONE, ONE, ONE, ONE];
const W420: &[PlaneInfo] = &[TWO, plane(2, 2, 2), plane(2, 2, 2)];
const W422: &[PlaneInfo] = &[TWO, plane(2, 2, 1), plane(2, 2, 1)];
const W444: &[PlaneInfo] = &[TWO, TWO, TWO];
const WA420: &[PlaneInfo] = &[TWO, plane(2, 2, 2), plane(2, 2, 2), TWO];
const WA422: &[PlaneInfo] = &[TWO, plane(2, 2, 1), plane(2, 2, 1), TWO];
const WA444: &[PlaneInfo] = &[TWO, TWO, TWO, TWO];
const NV420: &[PlaneInfo] = &[ONE, plane(2, 2, 2)];
const NV422: &[PlaneInfo] = &[ONE, plane(2, 2, 1)];
const NV444: &[PlaneInfo] = &[ONE, plane(1, 2, 1)];
const WNV420: &[PlaneInfo] = &[TWO, plane(2, 4, 2)];
const PAIR4: &[PlaneInfo] = &[plane(2, 4, 1)];
const PAIR8: &[PlaneInfo] = &[plane(2, 8, 1)];
const PIXEL3: &[PlaneInfo] = &[plane(1, 3, 1)];
const PIXEL4: &[PlaneInfo] = &[plane(1, 4, 1)];
const PIXEL8: &[PlaneInfo] = &[plane(1, 8, 1)];
const GRAY: &[PlaneInfo] = &[ONE];
const WGRAY: &[PlaneInfo] = &[TWO];

const S420: [usize; 2] = [2, 2];
const S422: [usize; 2] = [2, 1];
const S444: [usize; 2] = [1, 1];
const YUV: [usize; 4] = [0, 1, 2, 3];
/// Planes G; B; R; A.
const GBR: [usize; 4] = [2, 0, 1, 3];

macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident = $info:expr;)*) => {
        /// A format the kernels read and write.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum PixelFormat {
            $($(#[$doc])* $variant,)*
        }

        impl PixelFormat {
            /// Every format, in the order in which caps offer them.
            pub const ALL: [PixelFormat; [$(PixelFormat::$variant),*].len()] =
                [$(PixelFormat::$variant),*];

            /// The table's entry.
            pub fn info(self) -> &'static FormatInfo {
                match self {
                    $(PixelFormat::$variant => {
                        static INFO: FormatInfo = $info;
                        &INFO
                    })*
                }
            }
        }
    };
}

use Model::{Gray, Rgb, Yuv};

formats! {
    /// 4:2:0, 8 bit: Y; CbCr pairs.
    Nv12 = pairs("NV12", 8, S420, 0, NV420);
    /// 4:2:0, 8 bit: Y; Cb; Cr.
    I420 = planar("I420", Yuv, 8, S420, YUV, P420);
    /// 4:2:0, 10 bit in the high bits of 16, little endian: Y; CbCr pairs.
    P010Le = pairs("P010_10LE", 10, S420, 0, WNV420);
    /// Four bytes a pixel: R, G, B, A.
    Rgba = packed("RGBA", Rgb, 8, [0, 1, 2, 3], true, PIXEL4);
    /// Four bytes a pixel: B, G, R, A.
    Bgra = packed("BGRA", Rgb, 8, [2, 1, 0, 3], true, PIXEL4);
    /// Three bytes a pixel: R, G, B.
    Rgb = packed("RGB", Rgb, 8, [0, 1, 2, 3], false, PIXEL3);
    /// 8 bit: R; G; B.
    Rgbp = planar("RGBP", Rgb, 8, S444, YUV, P444);
    /// 4:2:0, 8 bit: Y; Cr; Cb.
    Yv12 = planar("YV12", Yuv, 8, S420, [0, 2, 1, 3], P420);
    /// 4:2:0, 8 bit: Y; CrCb pairs.
    Nv21 = pairs("NV21", 8, S420, 1, NV420);
    /// 4:2:2, 8 bit: Y; CbCr pairs.
    Nv16 = pairs("NV16", 8, S422, 0, NV422);
    /// 4:2:2, 8 bit: Y; CrCb pairs.
    Nv61 = pairs("NV61", 8, S422, 1, NV422);
    /// 4:4:4, 8 bit: Y; CbCr pairs.
    Nv24 = pairs("NV24", 8, S444, 0, NV444);
    /// As [`PixelFormat::P010Le`], 12 bit.
    P012Le = pairs("P012_LE", 12, S420, 0, WNV420);
    /// As [`PixelFormat::P010Le`], 16 bit.
    P016Le = pairs("P016_LE", 16, S420, 0, WNV420);
    /// 4:2:0, 10 bit in the low bits of 16, little endian: Y; Cb; Cr.
    I420Le10 = planar("I420_10LE", Yuv, 10, S420, YUV, W420);
    /// As [`PixelFormat::I420Le10`], 12 bit.
    I420Le12 = planar("I420_12LE", Yuv, 12, S420, YUV, W420);
    /// 4:2:2, 8 bit: Y; Cb; Cr.
    Y42b = planar("Y42B", Yuv, 8, S422, YUV, P422);
    /// 4:2:2, 10 bit: Y; Cb; Cr.
    I422Le10 = planar("I422_10LE", Yuv, 10, S422, YUV, W422);
    /// 4:2:2, 12 bit: Y; Cb; Cr.
    I422Le12 = planar("I422_12LE", Yuv, 12, S422, YUV, W422);
    /// 4:4:4, 8 bit: Y; Cb; Cr.
    Y444 = planar("Y444", Yuv, 8, S444, YUV, P444);
    /// 4:4:4, 10 bit: Y; Cb; Cr.
    Y444Le10 = planar("Y444_10LE", Yuv, 10, S444, YUV, W444);
    /// 4:4:4, 12 bit: Y; Cb; Cr.
    Y444Le12 = planar("Y444_12LE", Yuv, 12, S444, YUV, W444);
    /// 4:4:4, 16 bit: Y; Cb; Cr.
    Y444Le16 = planar("Y444_16LE", Yuv, 16, S444, YUV, W444);
    /// 4:2:2, 8 bit, two pixels together: Y, Cb, Y, Cr.
    Yuy2 = packed_422("YUY2", 8, [0, 1, 3], PAIR4);
    /// 4:2:2, 8 bit, two pixels together: Cb, Y, Cr, Y.
    Uyvy = packed_422("UYVY", 8, [1, 0, 2], PAIR4);
    /// 4:2:2, 8 bit, two pixels together: Cr, Y, Cb, Y.
    Vyuy = packed_422("VYUY", 8, [1, 2, 0], PAIR4);
    /// 4:2:2, 8 bit, two pixels together: Y, Cr, Y, Cb.
    Yvyu = packed_422("YVYU", 8, [0, 3, 1], PAIR4);
    /// 4:2:2, 10 bit in the high bits of 16: Y, Cb, Y, Cr.
    Y210 = packed_422("Y210", 10, [0, 1, 3], PAIR8);
    /// 4:2:2, 12 bit in the high bits of 16: Y, Cb, Y, Cr.
    Y212Le = packed_422("Y212_LE", 12, [0, 1, 3], PAIR8);
    /// 4:2:2, 10 bit: six pixels in four words.
    V210 = v210();
    /// 4:4:4, 8 bit: A, Y, Cb, Cr.
    Ayuv = packed("AYUV", Yuv, 8, [1, 2, 3, 0], true, PIXEL4);
    /// 4:4:4, 8 bit: Cr, Cb, Y, A.
    Vuya = packed("VUYA", Yuv, 8, [2, 1, 0, 3], true, PIXEL4);
    /// 4:4:4, 10 bit and two of alpha in a word: Cb, Y, Cr, A from bit 0.
    Y410 = word("Y410", Yuv, [10, 0, 20]);
    /// 4:4:4, 12 bit in the high bits of 16: Cb, Y, Cr, A.
    Y412Le = packed("Y412_LE", Yuv, 12, [1, 0, 2, 3], true, PIXEL8);
    /// 4:2:0 with alpha, 8 bit: Y; Cb; Cr; A.
    A420 = planar("A420", Yuv, 8, S420, YUV, A420);
    /// 4:2:2 with alpha, 8 bit.
    A422 = planar("A422", Yuv, 8, S422, YUV, A422);
    /// 4:4:4 with alpha, 8 bit.
    A444 = planar("A444", Yuv, 8, S444, YUV, A444);
    /// 4:2:0 with alpha, 10 bit.
    A420Le10 = planar("A420_10LE", Yuv, 10, S420, YUV, WA420);
    /// 4:2:2 with alpha, 10 bit.
    A422Le10 = planar("A422_10LE", Yuv, 10, S422, YUV, WA422);
    /// 4:4:4 with alpha, 10 bit.
    A444Le10 = planar("A444_10LE", Yuv, 10, S444, YUV, WA444);
    /// 4:2:0 with alpha, 12 bit.
    A420Le12 = planar("A420_12LE", Yuv, 12, S420, YUV, WA420);
    /// 4:2:2 with alpha, 12 bit.
    A422Le12 = planar("A422_12LE", Yuv, 12, S422, YUV, WA422);
    /// 4:4:4 with alpha, 12 bit.
    A444Le12 = planar("A444_12LE", Yuv, 12, S444, YUV, WA444);
    /// 4:2:0 with alpha, 16 bit.
    A420Le16 = planar("A420_16LE", Yuv, 16, S420, YUV, WA420);
    /// 4:2:2 with alpha, 16 bit.
    A422Le16 = planar("A422_16LE", Yuv, 16, S422, YUV, WA422);
    /// 4:4:4 with alpha, 16 bit.
    A444Le16 = planar("A444_16LE", Yuv, 16, S444, YUV, WA444);
    /// Y, 8 bit.
    Gray8 = planar("GRAY8", Gray, 8, S444, YUV, GRAY);
    /// Y, 10 bit in the low bits of 16.
    Gray10Le16 = planar("GRAY10_LE16", Gray, 10, S444, YUV, WGRAY);
    /// Y, 16 bit.
    Gray16Le = planar("GRAY16_LE", Gray, 16, S444, YUV, WGRAY);
    /// Four bytes: A, R, G, B.
    Argb = packed("ARGB", Rgb, 8, [1, 2, 3, 0], true, PIXEL4);
    /// Four bytes: A, B, G, R.
    Abgr = packed("ABGR", Rgb, 8, [3, 2, 1, 0], true, PIXEL4);
    /// Four bytes: R, G, B, unused.
    Rgbx = packed("RGBx", Rgb, 8, [0, 1, 2, 3], false, PIXEL4);
    /// Four bytes: B, G, R, unused.
    Bgrx = packed("BGRx", Rgb, 8, [2, 1, 0, 3], false, PIXEL4);
    /// Four bytes: unused, R, G, B.
    Xrgb = packed("xRGB", Rgb, 8, [1, 2, 3, 0], false, PIXEL4);
    /// Four bytes: unused, B, G, R.
    Xbgr = packed("xBGR", Rgb, 8, [3, 2, 1, 0], false, PIXEL4);
    /// Three bytes: B, G, R.
    Bgr = packed("BGR", Rgb, 8, [2, 1, 0, 3], false, PIXEL3);
    /// 8 bit: B; G; R.
    Bgrp = planar("BGRP", Rgb, 8, S444, [2, 1, 0, 3], P444);
    /// 8 bit: G; B; R.
    Gbr = planar("GBR", Rgb, 8, S444, GBR, P444);
    /// 8 bit: G; B; R; A.
    Gbra = planar("GBRA", Rgb, 8, S444, GBR, A444);
    /// 10 bit: G; B; R.
    GbrLe10 = planar("GBR_10LE", Rgb, 10, S444, GBR, W444);
    /// 12 bit: G; B; R.
    GbrLe12 = planar("GBR_12LE", Rgb, 12, S444, GBR, W444);
    /// 16 bit: G; B; R.
    GbrLe16 = planar("GBR_16LE", Rgb, 16, S444, GBR, W444);
    /// 10 bit: G; B; R; A.
    GbraLe10 = planar("GBRA_10LE", Rgb, 10, S444, GBR, WA444);
    /// 12 bit: G; B; R; A.
    GbraLe12 = planar("GBRA_12LE", Rgb, 12, S444, GBR, WA444);
    /// 10 bit and two of alpha in a word: R, G, B, A from bit 0.
    Rgb10A2Le = word("RGB10A2_LE", Rgb, [0, 10, 20]);
    /// 10 bit and two of alpha in a word: B, G, R, A from bit 0.
    Bgr10A2Le = word("BGR10A2_LE", Rgb, [20, 10, 0]);
    /// Four 16-bit samples: R, G, B, A.
    Rgba64Le = packed("RGBA64_LE", Rgb, 16, [0, 1, 2, 3], true, PIXEL8);
    /// Four 16-bit samples: B, G, R, A.
    Bgra64Le = packed("BGRA64_LE", Rgb, 16, [2, 1, 0, 3], true, PIXEL8);
    /// Four 16-bit samples: A, R, G, B.
    Argb64Le = packed("ARGB64_LE", Rgb, 16, [1, 2, 3, 0], true, PIXEL8);
    /// Four 16-bit samples: A, B, G, R.
    Abgr64Le = packed("ABGR64_LE", Rgb, 16, [3, 2, 1, 0], true, PIXEL8);
    /// Interleaved R, G, B, binary32; not a GStreamer format.
    RgbF32 = float("RgbF32", false, &[plane(1, 12, 1)]);
    /// Interleaved R, G, B, binary16; not a GStreamer format.
    RgbF16 = float("RgbF16", true, &[plane(1, 6, 1)]);
    /// Planes R; G; B, binary32; not a GStreamer format.
    RgbpF32 = float("RgbpF32", false, &[plane(1, 4, 1), plane(1, 4, 1), plane(1, 4, 1)]);
    /// Planes R; G; B, binary16; not a GStreamer format.
    RgbpF16 = float("RgbpF16", true, &[plane(1, 2, 1), plane(1, 2, 1), plane(1, 2, 1)]);
}
