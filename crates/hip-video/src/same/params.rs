//! The argument of the kernels in `same.cu`; see `kernels/same_params.h` for the fields.
#![allow(missing_docs)] // documented in the header, once

use hip_core::DevicePtr;
use hip_rtc::KernelArg;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub(crate) struct SameParams {
    pub(crate) src: [DevicePtr; 3],
    pub(crate) dst: [DevicePtr; 3],
    pub(crate) src_stride: [i32; 3],
    pub(crate) dst_stride: [i32; 3],
    pub(crate) size: [i32; 2],
    pub(crate) order: u32,
    pub(crate) even: [u32; 2],
    pub(crate) odd: [u32; 2],
    pub(crate) matrix: [f32; 12],
    pub(crate) box_x: [f32; 3],
}

// SAFETY: `repr(C)` with fixed-width fields, as the header declares it; a test compares size and
// every offset with what the C++ compiler says.
unsafe impl KernelArg for SameParams {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    unsafe extern "C" {
        fn hip_video_same_layout(count: *mut u32) -> *const u32;
    }

    #[test]
    fn layout_is_that_of_the_header() {
        let mut count = 0;
        // SAFETY: the function of host/layout.cpp returns a static array and writes its length.
        let theirs = unsafe {
            let layout = hip_video_same_layout(&mut count);
            std::slice::from_raw_parts(layout, count as usize)
        };
        macro_rules! offsets {
            ($($field:ident)*) => { [$(offset_of!(SameParams, $field)),*] };
        }
        let mut ours = vec![size_of::<SameParams>()];
        ours.extend(offsets!(src dst src_stride dst_stride size order even odd matrix box_x));
        ours.extend(
            [
                super::super::TILE_PAIRS,
                super::super::TILE_PLANES,
                super::super::TILE_QUADS,
            ]
            .map(|n| n as usize),
        );
        let theirs: Vec<usize> = theirs.iter().map(|value| *value as usize).collect();
        assert_eq!(theirs, ours);
    }
}
