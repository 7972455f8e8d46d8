//! A conversion worked out for `any.cu`.

use hip_core::{DevicePtr, LaunchConfig};

use super::axis::{Axis, Ends, Field, Lattice, Span, box_weights};
use super::filter::Table;
use super::params::{
    AnyAxis, AnyComponent, AnyFrame, AnyLight, AnyParams, PlanParams, alpha, kind, tone,
};
use crate::colour::{Affine, Encoding};
use crate::converter::{AlphaMode, Conversion};
use crate::description::FrameDescription;
use crate::format::{ComponentInfo, Model};
use crate::frame::PlaneView;
use crate::light::REFERENCE_WHITE;
use crate::work::covering;

/// A conversion worked out: the kernels' argument but for addresses, and the tables it points to.
#[derive(Debug, Clone)]
pub(crate) struct AnyPlan {
    /// Addresses in `axes` count from the start of `tables`.
    params: PlanParams,
    /// The source's row that is row 0, of the pixels' lattice and of chroma's, and the
    /// destination's; of a field, rows are `field.count` apart.
    source_rows: [i64; 2],
    field: Field,
    /// Starts and weights of all axes.
    tables: Vec<u8>,
    /// Whether light changes, or premultiplication: the other entry point.
    pub(crate) light: bool,
}

/// What an image in device memory must be aligned to: it starts with addresses.
const IMAGE_ALIGNMENT: usize = 16;

impl AnyPlan {
    /// The conversion of one field, or of a whole frame.
    ///
    /// # Panics
    /// Never for a conversion whose rectangles were checked.
    pub(crate) fn new(conversion: &Conversion, field: Field) -> AnyPlan {
        let (input, output) = (&conversion.input, &conversion.output);
        let (from, to) = (input.encoding(), output.encoding());
        let axes = axes(conversion, field);
        let mut tables = Vec::new();
        let mut chroma_low = [0; 2];
        let chroma_of = |frame: &FrameDescription, axis: usize| {
            let halves = frame.site.halves()[axis];
            Lattice::chroma(frame.format.info().subsampling[axis], halves)
        };
        let tie = |axis: usize| axis ^ usize::from(conversion.orientation.swaps_axes());
        let all = [0, 1].map(|destination| {
            [0, 1].map(|source| {
                [0, 1].map(|axis| {
                    let to = [Lattice::LUMA, chroma_of(output, axis)][destination];
                    let from = [Lattice::LUMA, chroma_of(input, tie(axis))][source];
                    let (first, table) = axes[axis].table(to, destination == 1, from);
                    if destination == 1 {
                        chroma_low[axis] = first as i32;
                    }
                    append(&mut tables, &table)
                })
            })
        });
        let source_rows = [Lattice::LUMA, chroma_of(input, 1)].map(|lattice| {
            let Ends { base, .. } = axes[1].ends(lattice);
            // Turned pictures have no fields, and axis 1 is not the source's.
            if field == Field::WHOLE { 0 } else { base }
        });
        let pixels = axes.map(|axis| axis.pixels());
        let matrix = normalised(Affine::between(from, to), conversion);
        let info = output.format.info();
        let (light, changes) = light(conversion);
        let subsampling = info.subsampling.map(|step| step as i32);
        let chroma_rows = i64::from(output.height.div_ceil(info.subsampling[1] as u32));
        let group = info.planes[0].group_width as i32;
        let yuv_colours = info.model == Model::Yuv;
        let (alpha_mode, alpha_value) = alpha_of(conversion);
        let params = PlanParams {
            src: components(input, false),
            dst: components(output, true),
            axes: all,
            dst_size: [
                output.width as i32,
                field.lines(i64::from(output.height)) as i32,
            ],
            rect_low: pixels.map(|(low, _)| low as i32),
            rect_high: pixels.map(|(_, high)| high as i32),
            chroma_low,
            chroma_rows: field.lines(chroma_rows) as i32,
            row_first: field.index as i32,
            row_step: field.count as i32,
            subsampling,
            unit: [group.max(subsampling[0]), subsampling[1]],
            group,
            transpose: i32::from(conversion.orientation.swaps_axes()),
            luma_mixes: i32::from(matrix.0[0][1] != 0.0 || matrix.0[0][2] != 0.0),
            chroma_mixes: i32::from(matrix.0[1][0] != 0.0 || matrix.0[2][0] != 0.0),
            alpha_mode,
            dither: i32::from(conversion.dither && loses_depth(from, to)),
            alpha_value,
            alpha_in: 1.0 / largest(input, 3),
            alpha_out: largest(output, 3),
            border: border(conversion, to),
            matrix: matrix.rows(),
            pixel_box: [0, 1].map(|axis| match chroma_of(output, axis) {
                lattice if lattice.step == 2 && yuv_colours => {
                    box_weights(lattice, axes[axis].field).map(|weight| weight as f32)
                }
                _ => [0.0, 1.0, 0.0, 0.0],
            }),
            light,
        };
        AnyPlan {
            params,
            source_rows,
            field,
            tables,
            light: changes,
        }
    }

    /// Threads and blocks of a launch.
    pub(crate) fn launch(&self) -> LaunchConfig {
        let [size, tile] =
            [self.params.dst_size, self.params.unit].map(|pair| pair.map(|value| value as u32));
        covering(size, tile, [32, 8])
    }

    /// Bytes of [`AnyPlan::image`], a multiple of what it must be aligned to.
    pub(crate) fn image_size(&self) -> usize {
        (size_of::<PlanParams>() + self.tables.len()).next_multiple_of(IMAGE_ALIGNMENT)
    }

    /// What lies at `address` in the device's memory: what the kernels are told, then the tables.
    pub(crate) fn image(&self, address: DevicePtr) -> Vec<u8> {
        let mut params = self.params;
        let tables = address.offset(size_of::<PlanParams>());
        for axis in params.axes.iter_mut().flatten().flatten() {
            axis.start = tables.offset(axis.start.0 as usize);
            axis.weights = tables.offset(axis.weights.0 as usize);
        }
        let mut image = params.bytes().to_vec();
        image.extend_from_slice(&self.tables);
        image.resize(self.image_size(), 0);
        image
    }

    /// The kernels' argument for an image at `plan` and these planes.
    pub(crate) fn params(
        &self,
        conversion: &Conversion,
        plan: DevicePtr,
        source: &[PlaneView; 4],
        destination: &[PlaneView; 4],
    ) -> AnyParams {
        let from = self.params.src.map(|component| {
            let row = self.source_rows[usize::from(component.chroma != 0)];
            (component.kind, row)
        });
        let to = self
            .params
            .dst
            .map(|component| (component.kind, self.field.index));
        AnyParams {
            plan,
            src: place(from, &conversion.input, source, self.field),
            dst: place(to, &conversion.output, destination, self.field),
        }
    }

    /// Whether there is nothing to write: a frame of one row has no bottom field.
    pub(crate) fn is_empty(&self) -> bool {
        self.params.dst_size[1] == 0
    }
}

/// The destination's x and y.
fn axes(conversion: &Conversion, field: Field) -> [Axis; 2] {
    let swapped = usize::from(conversion.orientation.swaps_axes());
    let mirrors = conversion.orientation.mirrors();
    [0, 1].map(|axis| {
        let source = axis ^ swapped;
        let span = |rect: &crate::FineRect, axis: usize| Span {
            start: rect.start[axis],
            length: rect.size[axis],
        };
        Axis {
            source: span(&conversion.src_rect, source),
            destination: span(&conversion.dst_rect, axis),
            mirrored: mirrors[source],
            method: conversion.method,
            field: if axis == 1 { field } else { Field::WHOLE },
        }
    })
}

/// Adds a table and tells where it lies, counted from the start.
fn append(tables: &mut Vec<u8>, table: &Table) -> AnyAxis {
    let start = tables.len() as u64;
    tables.extend(table.starts.iter().flat_map(|start| start.to_le_bytes()));
    let weights = tables.len() as u64;
    tables.extend(table.weights.iter().flat_map(|weight| weight.to_le_bytes()));
    AnyAxis {
        start: DevicePtr(start),
        weights: DevicePtr(weights),
        taps: table.taps as i32,
        unused: 0,
    }
}

/// Floating-point results are shifted and scaled for a model.
fn normalised(mut matrix: Affine, conversion: &Conversion) -> Affine {
    if let Some(normalisation) = conversion
        .normalisation
        .filter(|_| conversion.output.format.is_float())
    {
        for (row, values) in matrix.0.iter_mut().enumerate() {
            let (mean, scale) = (normalisation.mean[row], normalisation.scale[row]);
            values[3] -= f64::from(mean);
            values
                .iter_mut()
                .for_each(|value| *value *= f64::from(scale));
        }
    }
    matrix
}

fn loses_depth(from: Encoding, to: Encoding) -> bool {
    to.depth != 0 && (from.depth == 0 || from.depth > to.depth)
}

/// The largest code value of a component; 1 where it is missing.
fn largest(frame: &FrameDescription, component: usize) -> f32 {
    let depth = frame.format.info().components[component].map_or(1, |info| info.depth);
    ((1_u32 << depth) - 1) as f32
}

fn components(frame: &FrameDescription, is_destination: bool) -> [AnyComponent; 4] {
    let info = frame.format.info();
    let grey = frame.encoding().encode().apply([0.0; 3]);
    [0, 1, 2, 3].map(|index| {
        // An `x` byte is written and not read.
        let unread = index == 3 && !info.alpha && !is_destination;
        match info.components[index].filter(|_| !unread) {
            Some(component) => AnyComponent {
                unused: 0,
                step: component.step as i32,
                kind: component.kind.number(),
                shift: component.shift as i32,
                mask: ((1_u64 << component.depth) - 1) as u32,
                chroma: i32::from(is_chroma(
                    info.model,
                    index,
                    info.subsampling,
                    is_destination,
                )),
            },
            None if index == 1 || index == 2 => AnyComponent::absent(grey[index] as u32),
            None => AnyComponent::absent(0),
        }
    })
}

/// Cb and Cr of a destination are always resampled as chroma is; those of a source lie on a lattice
/// of their own only where they are fewer.
fn is_chroma(model: Model, index: usize, subsampling: [usize; 2], is_destination: bool) -> bool {
    let colour = model == Model::Yuv && (index == 1 || index == 2);
    colour && (is_destination || subsampling != [1, 1])
}

/// Fills in addresses and strides; `row` tells which row of a component's plane is its first.
/// Where the components that are there begin, each with its kind and its first row.
fn place(
    components: [(i32, i64); 4],
    frame: &FrameDescription,
    planes: &[PlaneView; 4],
    field: Field,
) -> AnyFrame {
    let mut placed = AnyFrame::default();
    let infos = frame.format.info().components;
    for (index, ((kind, row), info)) in components.into_iter().zip(infos).enumerate() {
        let Some(ComponentInfo { plane, offset, .. }) = info.filter(|_| kind != kind::ABSENT)
        else {
            continue;
        };
        let stride = i64::from(planes[plane].stride);
        let first = planes[plane].ptr.offset(offset).0;
        placed.base[index] = DevicePtr(first.wrapping_add_signed(stride * row));
        // Checked with the planes: twice the stride of an interlaced frame fits.
        placed.stride[index] = (stride * field.count) as i32;
    }
    placed
}

fn alpha_of(conversion: &Conversion) -> (i32, f32) {
    if !conversion.output.format.info().alpha {
        // An `x` byte is written as opaque.
        return (alpha::SET, 1.0);
    }
    match conversion.alpha {
        AlphaMode::Copy => (alpha::COPY, 1.0),
        AlphaMode::Set(value) => (alpha::SET, value),
        AlphaMode::Multiply(value) => (alpha::MULTIPLY, value),
    }
}

/// The border's colour in code values of the destination, not rounded.
fn border(conversion: &Conversion, to: Encoding) -> [f32; 4] {
    let [red, green, blue, alpha] = conversion.border.0.map(f64::from);
    let share = if conversion.output.premultiplied {
        alpha
    } else {
        1.0
    };
    let analogue = [red, green, blue].map(|part| part * share);
    let codes = normalised(Affine::from_rgb(to), conversion).apply(analogue);
    let opaque = largest(&conversion.output, 3);
    let alpha = if conversion.output.format.info().alpha {
        alpha as f32
    } else {
        1.0
    };
    [
        codes[0] as f32,
        codes[1] as f32,
        codes[2] as f32,
        alpha * opaque,
    ]
}

/// What light does, and whether it does anything.
fn light(conversion: &Conversion) -> (AnyLight, bool) {
    let (from, to) = (conversion.input.encoding(), conversion.output.encoding());
    let change = conversion.light.filter(|change| !change.is_identity());
    let (linear, described) = (change.is_some(), change.unwrap_or_default());
    let premultiplied = [
        conversion.input.premultiplied,
        conversion.output.premultiplied,
    ];
    // Premultiplied colour that changes in no other way stays as it is.
    let [divide, multiply] = match premultiplied {
        [true, true] if !linear && conversion.alpha == AlphaMode::Copy => [false, false],
        both => both,
    };
    let (decode, decode_gamma) = described.source.transfer.number();
    let (encode, encode_gamma) = described.destination.transfer.number();
    let peaks = described.peaks();
    let unit = |peak: f64| (peak / REFERENCE_WHITE) as f32;
    let light = AnyLight {
        to_rgb: Affine::to_rgb(from).rows(),
        from_rgb: normalised(Affine::from_rgb(to), conversion).rows(),
        primaries: described.primaries(),
        linear: i32::from(linear),
        decode,
        encode,
        decode_gamma,
        encode_gamma,
        tone: match described.tone_map {
            _ if !described.tone_maps() => tone::NONE,
            crate::ToneMap::Reinhard => tone::REINHARD,
            _ => tone::BT2390,
        },
        source_peak: unit(peaks[0]),
        destination_peak: unit(peaks[1]),
        encode_limit: unit(described.destination.transfer.peak()),
        divide: i32::from(divide),
        multiply: i32::from(multiply),
    };
    (light, linear || divide || multiply)
}
