//! The formats, as a table of planes and components.

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
    /// Alpha, straight.
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
    /// Y', Cb, Cr: the matrix and the chroma site of the frame apply.
    Yuv,
    /// R', G', B': the matrix and the chroma site of the frame mean nothing.
    Rgb,
}

/// A plane of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneInfo {
    /// Luma pixels to one sample, horizontally.
    pub sub_x: usize,
    /// Luma pixels to one sample, vertically.
    pub sub_y: usize,
    /// Bytes from one sample (or group of interleaved samples) to the next.
    pub step: usize,
}

/// Where the samples of one component lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComponentInfo {
    /// The component.
    pub component: Component,
    /// Index of its plane.
    pub plane: usize,
    /// Bytes from the start of the plane's sample group to this component.
    pub offset: usize,
}

/// Everything the oracle knows about a format.
#[derive(Debug, PartialEq, Eq)]
pub struct FormatInfo {
    /// The format's name in GStreamer's caps.
    pub name: &'static str,
    /// YUV or RGB.
    pub family: Family,
    /// Bits of a code value.
    pub depth: u32,
    /// Bytes in which a code value is stored, little endian.
    pub bytes: usize,
    /// How far the code value is shifted left in those bytes; the bits below are padding.
    pub shift: u32,
    /// The planes, in memory order.
    pub planes: &'static [PlaneInfo],
    /// The components, those with the largest planes first.
    pub components: &'static [ComponentInfo],
}

/// A pixel format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// 8-bit 4:2:0: Y; CbCr interleaved.
    Nv12,
    /// 8-bit 4:2:0: Y; Cb; Cr.
    I420,
    /// 10-bit 4:2:0 as `Nv12`, each value in the high bits of a little-endian 16-bit word.
    P010Le,
    /// 8-bit R, G, B, A, interleaved.
    Rgba,
    /// 8-bit B, G, R, A, interleaved.
    Bgra,
    /// 8-bit R, G, B, interleaved.
    Rgb,
    /// 8-bit R; G; B in three planes.
    Rgbp,
}

const fn plane(sub: usize, step: usize) -> PlaneInfo {
    PlaneInfo {
        sub_x: sub,
        sub_y: sub,
        step,
    }
}

const fn at(component: Component, plane: usize, offset: usize) -> ComponentInfo {
    ComponentInfo {
        component,
        plane,
        offset,
    }
}

use Component::{A, B, Cb, Cr, G, R, Y};

static NV12: FormatInfo = FormatInfo {
    name: "NV12",
    family: Family::Yuv,
    depth: 8,
    bytes: 1,
    shift: 0,
    planes: &[plane(1, 1), plane(2, 2)],
    components: &[at(Y, 0, 0), at(Cb, 1, 0), at(Cr, 1, 1)],
};
static I420: FormatInfo = FormatInfo {
    name: "I420",
    family: Family::Yuv,
    depth: 8,
    bytes: 1,
    shift: 0,
    planes: &[plane(1, 1), plane(2, 1), plane(2, 1)],
    components: &[at(Y, 0, 0), at(Cb, 1, 0), at(Cr, 2, 0)],
};
static P010_LE: FormatInfo = FormatInfo {
    name: "P010_10LE",
    family: Family::Yuv,
    depth: 10,
    bytes: 2,
    shift: 6,
    planes: &[plane(1, 2), plane(2, 4)],
    components: &[at(Y, 0, 0), at(Cb, 1, 0), at(Cr, 1, 2)],
};
static RGBA: FormatInfo = FormatInfo {
    name: "RGBA",
    family: Family::Rgb,
    depth: 8,
    bytes: 1,
    shift: 0,
    planes: &[plane(1, 4)],
    components: &[at(R, 0, 0), at(G, 0, 1), at(B, 0, 2), at(A, 0, 3)],
};
static BGRA: FormatInfo = FormatInfo {
    name: "BGRA",
    family: Family::Rgb,
    depth: 8,
    bytes: 1,
    shift: 0,
    planes: &[plane(1, 4)],
    components: &[at(R, 0, 2), at(G, 0, 1), at(B, 0, 0), at(A, 0, 3)],
};
static RGB: FormatInfo = FormatInfo {
    name: "RGB",
    family: Family::Rgb,
    depth: 8,
    bytes: 1,
    shift: 0,
    planes: &[plane(1, 3)],
    components: &[at(R, 0, 0), at(G, 0, 1), at(B, 0, 2)],
};
static RGBP: FormatInfo = FormatInfo {
    name: "RGBP",
    family: Family::Rgb,
    depth: 8,
    bytes: 1,
    shift: 0,
    planes: &[plane(1, 1), plane(1, 1), plane(1, 1)],
    components: &[at(R, 0, 0), at(G, 1, 0), at(B, 2, 0)],
};

impl Format {
    /// Every format.
    pub const ALL: [Self; 7] = [
        Self::Nv12,
        Self::I420,
        Self::P010Le,
        Self::Rgba,
        Self::Bgra,
        Self::Rgb,
        Self::Rgbp,
    ];

    /// The format of that name in GStreamer's caps, if the oracle knows it.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The format's line of the table.
    pub const fn info(self) -> &'static FormatInfo {
        match self {
            Self::Nv12 => &NV12,
            Self::I420 => &I420,
            Self::P010Le => &P010_LE,
            Self::Rgba => &RGBA,
            Self::Bgra => &BGRA,
            Self::Rgb => &RGB,
            Self::Rgbp => &RGBP,
        }
    }

    /// The format's name in GStreamer's caps.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// Bits of a code value.
    pub const fn depth(self) -> u32 {
        self.info().depth
    }

    /// The largest code value, 2^depth - 1.
    pub const fn max_code(self) -> u32 {
        (1 << self.depth()) - 1
    }

    /// YUV or RGB.
    pub const fn family(self) -> Family {
        self.info().family
    }

    /// Where `component` lies, if the format has it.
    pub fn component(self, component: Component) -> Option<&'static ComponentInfo> {
        self.info()
            .components
            .iter()
            .find(|info| info.component == component)
    }

    /// Luma pixels to one chroma sample `(horizontally, vertically)`; `(1, 1)` for RGB.
    pub fn chroma_subsampling(self) -> (usize, usize) {
        self.component(Component::Cb).map_or((1, 1), |info| {
            let plane = &self.info().planes[info.plane];
            (plane.sub_x, plane.sub_y)
        })
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
        for name in ["NV12", "I420", "P010_10LE", "RGBA", "BGRA", "RGB", "RGBP"] {
            assert_eq!(Format::from_name(name).map(Format::name), Some(name));
        }
        assert_eq!(Format::from_name("nv12"), None);
    }

    #[test]
    fn components_fill_each_group_of_samples_without_overlap() {
        for format in Format::ALL {
            let info = format.info();
            for (index, plane) in info.planes.iter().enumerate() {
                let mut used = vec![0; plane.step];
                for component in info.components.iter().filter(|c| c.plane == index) {
                    for byte in &mut used[component.offset..component.offset + info.bytes] {
                        *byte += 1;
                    }
                }
                assert!(
                    used.iter().all(|&count| count == 1),
                    "{} plane {index}",
                    info.name
                );
            }
            assert_eq!(info.bytes * 8, (info.depth + info.shift) as usize);
        }
    }
}
