//! The formats: which components they have and where each sample lies.

use std::sync::LazyLock;

use crate::table;

/// What one number of a pixel means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Component {
    /// Luma Y'.
    Y,
    /// Blue difference.
    Cb,
    /// Red difference.
    Cr,
    /// R'.
    R,
    /// G'.
    G,
    /// B'.
    B,
    /// Alpha.
    A,
}

impl Component {
    /// The place of the component in an analogue pixel: `[Y', Cb, Cr, A]` or `[R', G', B', A]`.
    pub const fn slot(self) -> usize {
        match self {
            Self::Y | Self::R => 0,
            Self::Cb | Self::G => 1,
            Self::Cr | Self::B => 2,
            Self::A => 3,
        }
    }

    /// Whether the component is a colour difference.
    pub const fn is_chroma(self) -> bool {
        matches!(self, Self::Cb | Self::Cr)
    }
}

/// What the first three components of a pixel are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Y', Cb, Cr, or Y' alone: the matrix and the chroma site of the frame apply.
    Yuv,
    /// R', G', B': the matrix and the chroma site of the frame mean nothing.
    Rgb,
}

/// How a sample is written as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Number {
    /// An unsigned integer of so many bits.
    Bits(u32),
    /// IEEE 754 binary16.
    F16,
    /// IEEE 754 binary32.
    F32,
}

impl Number {
    /// Bits that the sample takes.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bits(bits) => bits,
            Self::F16 => 16,
            Self::F32 => 32,
        }
    }

    /// Whether the sample is floating point: its code value is the analogue value itself.
    pub const fn is_float(self) -> bool {
        !matches!(self, Self::Bits(_))
    }

    /// The largest code value, 2^n - 1; the analogue 1 for floating point.
    pub const fn max_code(self) -> u32 {
        match self {
            Self::Bits(bits) => (1 << bits) - 1,
            Self::F16 | Self::F32 => 1,
        }
    }

    /// A code value clamped to `0..=2^n - 1`; floating point is not clamped.
    pub fn clamp(self, code: f64) -> f64 {
        match self {
            Self::Bits(_) => code.clamp(0.0, f64::from(self.max_code())),
            Self::F16 | Self::F32 => code,
        }
    }
}

/// A plane of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaneInfo {
    /// Luma rows to one row of the plane.
    pub sub_y: usize,
    /// Luma pixels to one group of samples.
    pub group_pixels: usize,
    /// Bytes from one group of samples to the next.
    pub group_bytes: usize,
    /// Bytes of the little-endian words that a group is made of.
    pub word_bytes: usize,
    /// Bytes of a group that hold nothing and are written as 255: the `x` of `RGBx`.
    pub filler: Vec<usize>,
}

/// Where one sample lies in its group: bits of a little-endian word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Bytes from the start of the group to the word.
    pub byte: usize,
    /// How far the sample is shifted left in the word.
    pub shift: u32,
}

/// Where the samples of one component lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentInfo {
    /// The component.
    pub component: Component,
    /// Index of its plane.
    pub plane: usize,
    /// Luma pixels to one sample, horizontally.
    pub sub_x: usize,
    /// Luma pixels to one sample, vertically.
    pub sub_y: usize,
    /// How a sample is written.
    pub number: Number,
    /// The samples of one group, from left to right.
    pub slots: Vec<Slot>,
}

/// Everything the oracle knows about a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatInfo {
    /// YUV or RGB.
    pub family: Family,
    /// The planes, in memory order.
    pub planes: Vec<PlaneInfo>,
    /// The components, in the order of their analogue slots.
    pub components: Vec<ComponentInfo>,
}

macro_rules! formats {
    ($($variant:ident $name:literal,)*) => {
        /// A pixel format. All but the floating-point ones have the name that GStreamer's caps give
        /// them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Format {
            $(#[doc = concat!("`", $name, "`; its layout is in `docs/conversion.md`.")] $variant,)*
        }

        impl Format {
            /// Every format.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// The format's name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

formats! {
    I420 "I420", Yv12 "YV12", Y42b "Y42B", Y444 "Y444", A420 "A420", A422 "A422", A444 "A444",
    I420_10Le "I420_10LE", I420_12Le "I420_12LE", I422_10Le "I422_10LE", I422_12Le "I422_12LE",
    Y444_10Le "Y444_10LE", Y444_12Le "Y444_12LE", Y444_16Le "Y444_16LE",
    A420_10Le "A420_10LE", A422_10Le "A422_10LE", A444_10Le "A444_10LE",
    A420_12Le "A420_12LE", A422_12Le "A422_12LE", A444_12Le "A444_12LE",
    A420_16Le "A420_16LE", A422_16Le "A422_16LE", A444_16Le "A444_16LE",
    Nv12 "NV12", Nv21 "NV21", Nv16 "NV16", Nv61 "NV61", Nv24 "NV24",
    P010Le "P010_10LE", P012Le "P012_LE", P016Le "P016_LE",
    Yuy2 "YUY2", Uyvy "UYVY", Vyuy "VYUY", Yvyu "YVYU", Y210 "Y210", Y212Le "Y212_LE",
    V210 "v210",
    Ayuv "AYUV", Vuya "VUYA", Y410 "Y410", Y412Le "Y412_LE",
    Gray8 "GRAY8", Gray16Le "GRAY16_LE", Gray10Le16 "GRAY10_LE16",
    Rgba "RGBA", Bgra "BGRA", Argb "ARGB", Abgr "ABGR",
    Rgbx "RGBx", Bgrx "BGRx", Xrgb "xRGB", Xbgr "xBGR", Rgb "RGB", Bgr "BGR",
    Rgba64Le "RGBA64_LE", Bgra64Le "BGRA64_LE", Argb64Le "ARGB64_LE", Abgr64Le "ABGR64_LE",
    Rgb10a2Le "RGB10A2_LE", Bgr10a2Le "BGR10A2_LE",
    Rgbp "RGBP", Bgrp "BGRP", Gbr "GBR", Gbra "GBRA",
    Gbr10Le "GBR_10LE", Gbr12Le "GBR_12LE", Gbr16Le "GBR_16LE",
    Gbra10Le "GBRA_10LE", Gbra12Le "GBRA_12LE",
    RgbF32 "RgbF32", RgbF16 "RgbF16", RgbpF32 "RgbpF32", RgbpF16 "RgbpF16",
}

static INFOS: LazyLock<Vec<FormatInfo>> =
    LazyLock::new(|| Format::ALL.into_iter().map(table::describe).collect());

impl Format {
    /// Seven formats that between them have every kind of plane but packed 4:2:2, for tests that
    /// go over pairs of formats many times.
    pub const COMMON: [Self; 7] = [
        Self::Nv12,
        Self::I420,
        Self::P010Le,
        Self::Rgba,
        Self::Bgra,
        Self::Rgb,
        Self::Rgbp,
    ];

    /// The format of that name, if the oracle knows it.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The format's line of the table.
    pub fn info(self) -> &'static FormatInfo {
        &INFOS[self as usize]
    }

    /// How a colour sample is written. Alpha differs where a word has two bits of it.
    pub fn number(self) -> Number {
        self.info().components[0].number
    }

    /// Bits of a colour sample.
    pub fn depth(self) -> u32 {
        self.number().bits()
    }

    /// The largest code value of a colour, 2^depth - 1; the analogue 1 for floating point.
    pub fn max_code(self) -> u32 {
        self.number().max_code()
    }

    /// Whether samples are floating point.
    pub fn is_float(self) -> bool {
        self.number().is_float()
    }

    /// YUV or RGB.
    pub fn family(self) -> Family {
        self.info().family
    }

    /// Whether the format stores alpha.
    pub fn has_alpha(self) -> bool {
        self.component(Component::A).is_some()
    }

    /// Where `component` lies, if the format has it.
    pub fn component(self, component: Component) -> Option<&'static ComponentInfo> {
        let mut components = self.info().components.iter();
        components.find(|info| info.component == component)
    }

    /// Luma pixels to one chroma sample `(horizontally, vertically)`; `(1, 1)` without chroma.
    pub fn chroma_subsampling(self) -> (usize, usize) {
        self.component(Component::Cb)
            .map_or((1, 1), |info| (info.sub_x, info.sub_y))
    }

    /// Whether chroma has fewer samples than luma.
    pub fn is_subsampled(self) -> bool {
        self.chroma_subsampling() != (1, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_find_their_format() {
        for format in Format::ALL {
            assert_eq!(Format::from_name(format.name()), Some(format));
        }
        assert_eq!(Format::from_name("nv12"), None);
        assert_eq!(Format::ALL.len(), 74);
    }

    #[test]
    fn bits_of_a_group_belong_to_one_sample_at_most() {
        for format in Format::ALL {
            for (index, plane) in format.info().planes.iter().enumerate() {
                let mut used = vec![0; plane.group_bytes * 8];
                let components = format.info().components.iter();
                for component in components.filter(|c| c.plane == index) {
                    assert_eq!(
                        component.slots.len() * component.sub_x,
                        plane.group_pixels,
                        "{format:?}"
                    );
                    for slot in &component.slots {
                        assert_eq!(slot.byte % plane.word_bytes, 0, "{format:?}");
                        let end = slot.shift + component.number.bits();
                        assert!(end as usize <= plane.word_bytes * 8, "{format:?}");
                        for bit in slot.shift..end {
                            used[slot.byte * 8 + bit as usize] += 1;
                        }
                    }
                }
                for &byte in &plane.filler {
                    used[byte * 8..byte * 8 + 8]
                        .iter_mut()
                        .for_each(|bit| *bit += 1);
                }
                assert!(used.iter().all(|&count| count <= 1), "{format:?} {index}");
                let free = used.iter().filter(|&&count| count == 0).count();
                let words = plane.group_bytes / plane.word_bytes;
                // What no sample uses is at most the six low bits of a 10-bit word.
                assert!(free <= words * 6, "{format:?} {index}: {free} bits");
            }
        }
    }
}
