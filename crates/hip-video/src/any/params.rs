//! What the kernels in `any.cu` are told; see `kernels/any_params.h` for the fields.
#![allow(missing_docs)] // documented in the header, once

use hip_core::DevicePtr;
use hip_rtc::KernelArg;

use crate::format::SampleKind;

/// `ANY_*`: how samples lie.
pub(crate) mod kind {
    pub(crate) const ABSENT: i32 = 0;
    pub(crate) const U8: i32 = 1;
    pub(crate) const U16: i32 = 2;
    pub(crate) const U32: i32 = 3;
    pub(crate) const V210: i32 = 4;
    pub(crate) const F16: i32 = 5;
    pub(crate) const F32: i32 = 6;
}

/// `ANY_ALPHA_*`.
pub(crate) mod alpha {
    pub(crate) const COPY: i32 = 0;
    pub(crate) const SET: i32 = 1;
    pub(crate) const MULTIPLY: i32 = 2;
}

/// `ANY_TONE_*`.
pub(crate) mod tone {
    pub(crate) const NONE: i32 = 0;
    pub(crate) const BT2390: i32 = 1;
    pub(crate) const REINHARD: i32 = 2;
}

impl SampleKind {
    pub(crate) fn number(self) -> i32 {
        match self {
            SampleKind::U8 => kind::U8,
            SampleKind::U16 => kind::U16,
            SampleKind::U32 => kind::U32,
            SampleKind::V210 => kind::V210,
            SampleKind::F16 => kind::F16,
            SampleKind::F32 => kind::F32,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub(crate) struct AnyComponent {
    pub(crate) step: i32,
    pub(crate) kind: i32,
    pub(crate) shift: i32,
    pub(crate) mask: u32,
    pub(crate) chroma: i32,
    pub(crate) unused: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub(crate) struct AnyFrame {
    pub(crate) base: [DevicePtr; 4],
    pub(crate) stride: [i32; 4],
}

impl AnyComponent {
    /// Nowhere in memory; reads as `code`.
    pub(crate) const fn absent(code: u32) -> AnyComponent {
        AnyComponent {
            step: 0,
            kind: kind::ABSENT,
            shift: 0,
            mask: code,
            chroma: 0,
            unused: 0,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub(crate) struct AnyAxis {
    pub(crate) start: DevicePtr,
    pub(crate) weights: DevicePtr,
    pub(crate) taps: i32,
    pub(crate) unused: i32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub(crate) struct AnyLight {
    pub(crate) to_rgb: [f32; 12],
    pub(crate) from_rgb: [f32; 12],
    pub(crate) primaries: [f32; 9],
    pub(crate) linear: i32,
    pub(crate) decode: i32,
    pub(crate) encode: i32,
    pub(crate) decode_gamma: f32,
    pub(crate) encode_gamma: f32,
    pub(crate) tone: i32,
    pub(crate) source_peak: f32,
    pub(crate) destination_peak: f32,
    pub(crate) encode_limit: f32,
    pub(crate) divide: i32,
    pub(crate) multiply: i32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub(crate) struct PlanParams {
    pub(crate) src: [AnyComponent; 4],
    pub(crate) dst: [AnyComponent; 4],
    pub(crate) axes: [[[AnyAxis; 2]; 2]; 2],
    pub(crate) dst_size: [i32; 2],
    pub(crate) rect_low: [i32; 2],
    pub(crate) rect_high: [i32; 2],
    pub(crate) chroma_low: [i32; 2],
    pub(crate) chroma_rows: i32,
    pub(crate) row_first: i32,
    pub(crate) row_step: i32,
    pub(crate) subsampling: [i32; 2],
    pub(crate) unit: [i32; 2],
    pub(crate) group: i32,
    pub(crate) transpose: i32,
    pub(crate) luma_mixes: i32,
    pub(crate) chroma_mixes: i32,
    pub(crate) alpha_mode: i32,
    pub(crate) dither: i32,
    pub(crate) alpha_value: f32,
    pub(crate) alpha_in: f32,
    pub(crate) alpha_out: f32,
    pub(crate) border: [f32; 4],
    pub(crate) matrix: [f32; 12],
    pub(crate) pixel_box: [[f32; 4]; 2],
    pub(crate) light: AnyLight,
}

/// No padding, so that its bytes may be copied: components and axes of 24 bytes each, and numbers of
/// four.
const _: () = {
    let (records, numbers) = (8 + 8, 24 + 4 + 12 + 8);
    assert!(size_of::<PlanParams>() == 24 * records + 4 * numbers + size_of::<AnyLight>());
    assert!(size_of::<AnyLight>() == 4 * (12 + 12 + 9 + 11));
};

impl PlanParams {
    /// As it lies in the device's memory.
    pub(crate) fn bytes(&self) -> &[u8] {
        let start = std::ptr::from_ref(self).cast();
        // SAFETY: the struct has no padding, as asserted above, so every byte is initialised.
        unsafe { std::slice::from_raw_parts(start, size_of::<PlanParams>()) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub(crate) struct AnyParams {
    pub(crate) plan: DevicePtr,
    pub(crate) src: AnyFrame,
    pub(crate) dst: AnyFrame,
}

// SAFETY: `repr(C)` with fixed-width fields, as the header declares it; a test compares size and
// every offset with what the C++ compiler says.
unsafe impl KernelArg for AnyParams {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    unsafe extern "C" {
        fn hip_video_any_layout(count: *mut u32) -> *const u32;
    }

    macro_rules! offsets {
        ($type:ty: $($field:ident)*) => {
            [size_of::<$type>(), $(offset_of!($type, $field)),*]
        };
    }

    #[test]
    fn layout_is_that_of_the_header() {
        let mut count = 0;
        // SAFETY: the function of host/layout.cpp returns a static array and writes its length.
        let theirs = unsafe {
            let layout = hip_video_any_layout(&mut count);
            std::slice::from_raw_parts(layout, count as usize)
        };
        let mut ours = Vec::new();
        ours.extend(offsets!(AnyComponent: step kind shift mask chroma));
        ours.extend(offsets!(AnyAxis: start weights taps));
        ours.extend(
            offsets!(AnyLight: to_rgb from_rgb primaries linear decode encode decode_gamma
            encode_gamma tone source_peak destination_peak encode_limit divide multiply),
        );
        ours.extend(offsets!(AnyParams: plan src dst));
        ours.extend(offsets!(PlanParams: src dst axes dst_size rect_low rect_high chroma_low
            chroma_rows row_first row_step subsampling unit group transpose luma_mixes chroma_mixes alpha_mode dither alpha_value
            alpha_in alpha_out border matrix pixel_box light));
        use crate::light::transfer;
        let numbers = [
            kind::ABSENT,
            kind::U8,
            kind::U16,
            kind::U32,
            kind::V210,
            kind::F16,
            kind::F32,
            alpha::COPY,
            alpha::SET,
            alpha::MULTIPLY,
            tone::NONE,
            tone::BT2390,
            tone::REINHARD,
            transfer::POWER,
            transfer::SRGB,
            transfer::PQ,
            transfer::HLG,
        ];
        ours.extend(numbers.map(|number| number as usize));
        let theirs: Vec<usize> = theirs.iter().map(|value| *value as usize).collect();
        assert_eq!(theirs, ours);
    }
}
