//! Conversions without scaling whose frames allow the widest accesses: what the kernels of `same.cu`
//! are told.

mod params;
#[cfg(test)]
mod tests;

use hip_core::LaunchConfig;
use hip_rtc::Prebuilt;

use crate::colour::Affine;
use crate::converter::Conversion;
use crate::description::FrameDescription;
use crate::format::{FormatInfo, Model, SampleKind};
use crate::frame::PlaneView;
use crate::prebuilt::SAME;
use crate::work::covering;
pub(crate) use params::SameParams;

/// What addresses and strides must be divisible by.
const ALIGNMENT: u64 = 16;
/// `SAME_TILE_*` of `same_params.h`: pixels of a row that a thread writes.
const TILE_PAIRS: u32 = 8;
const TILE_PLANES: u32 = 16;
const TILE_QUADS: u32 = 8;
/// What a sample is raised by in the kernels' arithmetic.
const RAISE: f64 = 32768.0;
/// Chroma comes in so many parts of a code value.
const CHROMA_PARTS: f64 = 16.0;

/// How the kernels read and write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Y; CbCr in turn, bytes.
    Pairs8,
    /// Y; Cb; Cr, bytes.
    Planes8,
    /// Y; CbCr in turn, ten bits in the high ones of 16.
    Pairs16,
    /// 32-bit pixels of bytes; which byte R, G, B and A are.
    Quads([u8; 4]),
    /// R'G'B' planes of bytes.
    PlanesRgb,
}

impl Layout {
    fn of(info: &FormatInfo) -> Option<Layout> {
        let [Some(first), Some(second), Some(third), fourth] = info.components else {
            return None;
        };
        let bytes = first.kind == SampleKind::U8;
        match (info.model, info.subsampling) {
            (Model::Yuv, [2, 2]) if fourth.is_none() => match (second.step, bytes) {
                (1, true) => Some(Layout::Planes8),
                (2, true) if second.offset == 0 => Some(Layout::Pairs8),
                (4, false) if second.offset == 0 && info.depth == 10 && first.shift == 6 => {
                    Some(Layout::Pairs16)
                }
                _ => None,
            },
            (Model::Rgb, [1, 1]) if bytes => match (first.step, fourth) {
                (4, Some(fourth)) => {
                    let places = [first, second, third, fourth].map(|c| c.offset as u8);
                    Some(Layout::Quads(places))
                }
                (1, None) => Some(Layout::PlanesRgb),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A conversion that `same.cu` can do, if the frames' addresses allow it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Same {
    params: SameParams,
    /// Its number in [`SAME`].
    entry: usize,
    tile: [u32; 2],
    /// The planes of the kernels' components, of the source and of the destination.
    planes: [[usize; 3]; 2],
    counts: [usize; 2],
}

impl Same {
    /// `None` where sizes, formats or chroma sites are not for these kernels.
    pub(crate) fn new(conversion: &Conversion) -> Option<Same> {
        let (input, output) = (&conversion.input, &conversion.output);
        let [from, to] = [input.format.info(), output.format.info()];
        let (entry, tile) = match (Layout::of(from)?, Layout::of(to)?) {
            (Layout::Pairs8, Layout::Quads(_)) => (0, [TILE_PAIRS, 1]),
            (Layout::Planes8, Layout::Quads(_)) => (1, [TILE_PLANES, 1]),
            (Layout::Pairs16, Layout::Quads(_)) => (2, [TILE_PAIRS, 1]),
            (Layout::Pairs8, Layout::PlanesRgb) => (3, [TILE_PAIRS, 1]),
            (Layout::Planes8, Layout::PlanesRgb) => (4, [TILE_PLANES, 1]),
            (Layout::Pairs16, Layout::PlanesRgb) => (5, [TILE_PAIRS, 1]),
            // Chroma has to lie between the two rows of a tile.
            (Layout::Quads(_), Layout::Pairs8) if output.site.halves()[1] == 1 => {
                (6, [TILE_QUADS, 2])
            }
            (Layout::Quads(_), Layout::Planes8) if output.site.halves()[1] == 1 => {
                (7, [TILE_QUADS, 2])
            }
            _ => return None,
        };
        if !conversion.is_in_place() || !input.width.is_multiple_of(tile[0]) {
            return None;
        }
        let planes = [from, to].map(|info| {
            [0, 1, 2].map(|index| info.components[index].map_or(0, |component| component.plane))
        });
        Some(Same {
            params: params(input, output),
            entry,
            tile,
            planes,
            counts: [from, to].map(|info| info.planes.len()),
        })
    }

    pub(crate) fn prebuilt(&self) -> &'static Prebuilt {
        &SAME[self.entry]
    }

    /// Threads and blocks of a launch.
    pub(crate) fn launch(&self) -> LaunchConfig {
        // The fastest of those tried on an H200, by a few per cent.
        let block: [u32; 2] = match self.tile {
            [TILE_PLANES, _] => [64, 2],
            _ => [32, 8],
        };
        covering(self.params.size.map(|size| size as u32), self.tile, block)
    }

    /// The kernels' argument for these planes; `None` if an address or stride is not aligned.
    pub(crate) fn params(
        &self,
        source: &[PlaneView; 4],
        destination: &[PlaneView; 4],
    ) -> Option<SameParams> {
        let aligned = |plane: &PlaneView| {
            plane.ptr.0.is_multiple_of(ALIGNMENT)
                && u64::from(plane.stride.unsigned_abs()).is_multiple_of(ALIGNMENT)
        };
        let all = source[..self.counts[0]]
            .iter()
            .chain(&destination[..self.counts[1]]);
        if !all.into_iter().all(aligned) {
            return None;
        }
        let mut params = self.params;
        for (index, (from, to)) in self.planes[0].into_iter().zip(self.planes[1]).enumerate() {
            params.src[index] = source[from].ptr;
            params.src_stride[index] = source[from].stride;
            params.dst[index] = destination[to].ptr;
            params.dst_stride[index] = destination[to].stride;
        }
        Some(params)
    }
}

fn params(source: &FrameDescription, destination: &FrameDescription) -> SameParams {
    let (from, to) = (source.encoding(), destination.encoding());
    // The side that has R'G'B' tells the bytes' order, the other the chroma site.
    let reads_yuv = source.format.is_yuv();
    let (yuv, rgb) = if reads_yuv {
        (source, destination)
    } else {
        (destination, source)
    };
    let places = match Layout::of(rgb.format.info()) {
        Some(Layout::Quads(places)) => places,
        _ => [0, 1, 2, 3],
    };
    // Each component's raise, and how many parts of a code value its unit is.
    let parts = if reads_yuv {
        [1.0, CHROMA_PARTS, CHROMA_PARTS]
    } else {
        [1.0; 3]
    };
    let mut matrix = Affine::between(from, to);
    for row in &mut matrix.0 {
        for column in 0..3 {
            row[column] /= parts[column];
            row[3] -= row[column] * RAISE;
        }
        row.iter_mut().for_each(|value| *value /= 255.0);
    }
    // Quarters: chroma sample i lies at luma 2i + site.
    let [even, odd] = [[0, 1, 2], [2, 1, 0]];
    let halves = yuv.site.halves().map(|halves| halves as usize);
    SameParams {
        size: [source.width as i32, source.height as i32],
        order: if reads_yuv {
            written_order(places)
        } else {
            read_order(places)
        },
        even: halves.map(|halves| even[halves]),
        odd: halves.map(|halves| odd[halves]),
        matrix: matrix.rows(),
        box_x: match halves[0] {
            0 => [0.125, 0.25, 0.125],
            _ => [0.0, 0.25, 0.25],
        },
        ..SameParams::default()
    }
}

/// The selector that brings R, G, B, A to the bytes they have in memory.
fn written_order(places: [u8; 4]) -> u32 {
    let byte = |component: usize| (component as u32) << (4 * places[component]);
    (0..4).map(byte).sum()
}

/// The selector that brings a pixel's bytes into the order R, G, B, A.
fn read_order(places: [u8; 4]) -> u32 {
    let byte = |component: usize| u32::from(places[component]) << (4 * component);
    (0..4).map(byte).sum()
}
