//! The layouts of the formats, family by family, in the words of `docs/conversion.md`.

use crate::format::{
    Component, ComponentInfo, Family, Format, FormatInfo, Number, PlaneInfo, Slot,
};
use Component::{A, B, Cb, Cr, G, R, Y};

/// A word that holds one sample.
#[derive(Clone, Copy)]
struct Word {
    bytes: usize,
    shift: u32,
    number: Number,
}

const BYTE: Word = lsb(8);

/// A sample in the low bits of one or two bytes.
const fn lsb(bits: u32) -> Word {
    Word {
        bytes: bits.div_ceil(8) as usize,
        shift: 0,
        number: Number::Bits(bits),
    }
}

/// A sample in the high bits of two bytes.
const fn msb(bits: u32) -> Word {
    Word {
        bytes: 2,
        shift: 16 - bits,
        number: Number::Bits(bits),
    }
}

const F16: Word = Word {
    bytes: 2,
    shift: 0,
    number: Number::F16,
};
const F32: Word = Word {
    bytes: 4,
    shift: 0,
    number: Number::F32,
};

/// Luma pixels to a chroma sample, across and down.
const C420: (usize, usize) = (2, 2);
const C422: (usize, usize) = (2, 1);
const C444: (usize, usize) = (1, 1);

/// The layout of a format.
pub(crate) fn describe(format: Format) -> FormatInfo {
    planar_yuv(format)
        .or_else(|| other_yuv(format))
        .or_else(|| packed_rgb(format))
        .unwrap_or_else(|| planar_rgb(format))
}

/// Formats with one plane for each of Y, Cb, Cr and alpha.
fn planar_yuv(format: Format) -> Option<FormatInfo> {
    use Format as F;
    let (word, sub) = match format {
        F::I420 | F::Yv12 | F::A420 => (BYTE, C420),
        F::Y42b | F::A422 => (BYTE, C422),
        F::Y444 | F::A444 => (BYTE, C444),
        F::I420_10Le | F::A420_10Le => (lsb(10), C420),
        F::I420_12Le | F::A420_12Le => (lsb(12), C420),
        F::A420_16Le => (lsb(16), C420),
        F::I422_10Le | F::A422_10Le => (lsb(10), C422),
        F::I422_12Le | F::A422_12Le => (lsb(12), C422),
        F::A422_16Le => (lsb(16), C422),
        F::Y444_10Le | F::A444_10Le => (lsb(10), C444),
        F::Y444_12Le | F::A444_12Le => (lsb(12), C444),
        F::Y444_16Le | F::A444_16Le => (lsb(16), C444),
        _ => return None,
    };
    let order: &[Component] = match format {
        F::Yv12 => &[Y, Cr, Cb],
        _ if format.name().starts_with('A') => &[Y, Cb, Cr, A],
        _ => &[Y, Cb, Cr],
    };
    Some(planar(word, sub, order))
}

/// Formats with Cb and Cr in one plane, packed YUV and grey.
fn other_yuv(format: Format) -> Option<FormatInfo> {
    use Format as F;
    Some(match format {
        F::Nv12 => semi_planar(BYTE, C420, [Cb, Cr]),
        F::Nv21 => semi_planar(BYTE, C420, [Cr, Cb]),
        F::Nv16 => semi_planar(BYTE, C422, [Cb, Cr]),
        F::Nv61 => semi_planar(BYTE, C422, [Cr, Cb]),
        F::Nv24 => semi_planar(BYTE, C444, [Cb, Cr]),
        F::P010Le => semi_planar(msb(10), C420, [Cb, Cr]),
        F::P012Le => semi_planar(msb(12), C420, [Cb, Cr]),
        F::P016Le => semi_planar(msb(16), C420, [Cb, Cr]),
        F::Yuy2 => pairs(BYTE, [Y, Cb, Y, Cr]),
        F::Uyvy => pairs(BYTE, [Cb, Y, Cr, Y]),
        F::Vyuy => pairs(BYTE, [Cr, Y, Cb, Y]),
        F::Yvyu => pairs(BYTE, [Y, Cr, Y, Cb]),
        F::Y210 => pairs(msb(10), [Y, Cb, Y, Cr]),
        F::Y212Le => pairs(msb(12), [Y, Cb, Y, Cr]),
        F::V210 => v210(),
        F::Ayuv => interleaved(BYTE, &[Some(A), Some(Y), Some(Cb), Some(Cr)]),
        F::Vuya => interleaved(BYTE, &[Some(Cr), Some(Cb), Some(Y), Some(A)]),
        F::Y410 => bit_fields([(Cb, 0, 10), (Y, 10, 10), (Cr, 20, 10), (A, 30, 2)]),
        F::Y412Le => interleaved(msb(12), &[Some(Cb), Some(Y), Some(Cr), Some(A)]),
        F::Gray8 => planar(BYTE, C444, &[Y]),
        F::Gray16Le => planar(lsb(16), C444, &[Y]),
        F::Gray10Le16 => planar(lsb(10), C444, &[Y]),
        _ => return None,
    })
}

/// Formats with R, G and B in one plane.
fn packed_rgb(format: Format) -> Option<FormatInfo> {
    use Format as F;
    let (r, g, b, a, x) = (Some(R), Some(G), Some(B), Some(A), None);
    Some(match format {
        F::Rgba => interleaved(BYTE, &[r, g, b, a]),
        F::Bgra => interleaved(BYTE, &[b, g, r, a]),
        F::Argb => interleaved(BYTE, &[a, r, g, b]),
        F::Abgr => interleaved(BYTE, &[a, b, g, r]),
        F::Rgbx => interleaved(BYTE, &[r, g, b, x]),
        F::Bgrx => interleaved(BYTE, &[b, g, r, x]),
        F::Xrgb => interleaved(BYTE, &[x, r, g, b]),
        F::Xbgr => interleaved(BYTE, &[x, b, g, r]),
        F::Rgb => interleaved(BYTE, &[r, g, b]),
        F::Bgr => interleaved(BYTE, &[b, g, r]),
        F::Rgba64Le => interleaved(lsb(16), &[r, g, b, a]),
        F::Bgra64Le => interleaved(lsb(16), &[b, g, r, a]),
        F::Argb64Le => interleaved(lsb(16), &[a, r, g, b]),
        F::Abgr64Le => interleaved(lsb(16), &[a, b, g, r]),
        F::Rgb10a2Le => bit_fields([(R, 0, 10), (G, 10, 10), (B, 20, 10), (A, 30, 2)]),
        F::Bgr10a2Le => bit_fields([(B, 0, 10), (G, 10, 10), (R, 20, 10), (A, 30, 2)]),
        F::RgbF32 => interleaved(F32, &[r, g, b]),
        F::RgbF16 => interleaved(F16, &[r, g, b]),
        _ => return None,
    })
}

/// Formats with one plane for each of R, G, B and alpha.
fn planar_rgb(format: Format) -> FormatInfo {
    use Format as F;
    match format {
        F::Rgbp => planar(BYTE, C444, &[R, G, B]),
        F::Bgrp => planar(BYTE, C444, &[B, G, R]),
        F::Gbr => planar(BYTE, C444, &[G, B, R]),
        F::Gbra => planar(BYTE, C444, &[G, B, R, A]),
        F::Gbr10Le => planar(lsb(10), C444, &[G, B, R]),
        F::Gbr12Le => planar(lsb(12), C444, &[G, B, R]),
        F::Gbr16Le => planar(lsb(16), C444, &[G, B, R]),
        F::Gbra10Le => planar(lsb(10), C444, &[G, B, R, A]),
        F::Gbra12Le => planar(lsb(12), C444, &[G, B, R, A]),
        F::RgbpF32 => planar(F32, C444, &[R, G, B]),
        F::RgbpF16 => planar(F16, C444, &[R, G, B]),
        other => panic!("{} has no line in the table", other.name()),
    }
}

/// One plane for each component, in that order.
fn planar(word: Word, sub: (usize, usize), order: &[Component]) -> FormatInfo {
    let mut planes = Vec::new();
    let mut components = Vec::new();
    for (plane, &component) in order.iter().enumerate() {
        let sub = if component.is_chroma() { sub } else { C444 };
        planes.push(plane_of(sub, word.bytes, word.bytes));
        components.push(component_of(component, plane, sub, word, &[0]));
    }
    format_of(planes, components)
}

/// A plane of Y, and one of Cb and Cr in turn, in that order.
fn semi_planar(word: Word, sub: (usize, usize), order: [Component; 2]) -> FormatInfo {
    let planes = vec![
        plane_of(C444, word.bytes, word.bytes),
        plane_of(sub, 2 * word.bytes, word.bytes),
    ];
    let components = vec![
        component_of(Y, 0, C444, word, &[0]),
        component_of(order[0], 1, sub, word, &[0]),
        component_of(order[1], 1, sub, word, &[word.bytes]),
    ];
    format_of(planes, components)
}

/// One word for each component of a pixel, in that order; `None` is a filler.
fn interleaved(word: Word, order: &[Option<Component>]) -> FormatInfo {
    let mut plane = plane_of(C444, order.len() * word.bytes, word.bytes);
    let mut components = Vec::new();
    for (index, component) in order.iter().enumerate() {
        let byte = index * word.bytes;
        match component {
            Some(component) => components.push(component_of(*component, 0, C444, word, &[byte])),
            None => plane.filler.push(byte),
        }
    }
    format_of(vec![plane], components)
}

/// Two pixels in four words, in that order.
fn pairs(word: Word, order: [Component; 4]) -> FormatInfo {
    let bytes_of = |component| -> Vec<usize> {
        let places = order.iter().enumerate();
        let own = places.filter(|&(_, other)| *other == component);
        own.map(|(index, _)| index * word.bytes).collect()
    };
    let planes = vec![plane_of(C422, 4 * word.bytes, word.bytes)];
    let components = vec![
        component_of(Y, 0, C444, word, &bytes_of(Y)),
        component_of(Cb, 0, C422, word, &bytes_of(Cb)),
        component_of(Cr, 0, C422, word, &bytes_of(Cr)),
    ];
    format_of(planes, components)
}

/// One pixel in a 32-bit word: components with their lowest bit and their width.
fn bit_fields(fields: [(Component, u32, u32); 4]) -> FormatInfo {
    let components = fields.map(|(component, shift, bits)| ComponentInfo {
        component,
        plane: 0,
        sub_x: 1,
        sub_y: 1,
        number: Number::Bits(bits),
        slots: vec![Slot { byte: 0, shift }],
    });
    format_of(vec![plane_of(C444, 4, 4)], components.into())
}

/// Six pixels in four 32-bit words, three samples of 10 bits to a word.
fn v210() -> FormatInfo {
    let order = [Cb, Y, Cr, Y, Cb, Y, Cr, Y, Cb, Y, Cr, Y];
    let component = |component, sub_x| {
        let places = order.iter().enumerate();
        let own = places.filter(|&(_, other)| *other == component);
        let slots = own.map(|(index, _)| Slot {
            byte: index / 3 * 4,
            shift: index as u32 % 3 * 10,
        });
        ComponentInfo {
            component,
            plane: 0,
            sub_x,
            sub_y: 1,
            number: Number::Bits(10),
            slots: slots.collect(),
        }
    };
    let components = vec![component(Y, 1), component(Cb, 2), component(Cr, 2)];
    format_of(vec![plane_of((6, 1), 16, 4)], components)
}

fn plane_of(sub: (usize, usize), group_bytes: usize, word_bytes: usize) -> PlaneInfo {
    PlaneInfo {
        sub_y: sub.1,
        group_pixels: sub.0,
        group_bytes,
        word_bytes,
        filler: Vec::new(),
    }
}

fn component_of(
    component: Component,
    plane: usize,
    sub: (usize, usize),
    word: Word,
    bytes: &[usize],
) -> ComponentInfo {
    let slot = |&byte| Slot {
        byte,
        shift: word.shift,
    };
    ComponentInfo {
        component,
        plane,
        sub_x: sub.0,
        sub_y: sub.1,
        number: word.number,
        slots: bytes.iter().map(slot).collect(),
    }
}

fn format_of(planes: Vec<PlaneInfo>, mut components: Vec<ComponentInfo>) -> FormatInfo {
    components.sort_by_key(|info| info.component.slot());
    let family = match components[0].component {
        R => Family::Rgb,
        _ => Family::Yuv,
    };
    FormatInfo {
        family,
        planes,
        components,
    }
}
