//! The kernels that can be run, and which memory each of them touches.

use hip_dispatch::host::HostKernel;

use crate::order::Area;
use crate::state::State;

/// Every kernel of this workspace, built for this processor.
pub fn table() -> &'static [HostKernel] {
    hip_video::host_kernels()
}

/// Memory that a launch touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touch {
    /// Start of the block.
    pub block: u64,
    /// Where in it.
    pub area: Area,
    /// Whether it is written.
    pub write: bool,
}

/// What a launch with these arguments touches; an address that is no memory of the context's is
/// an error.
pub fn touches(
    state: &State,
    context: usize,
    name: &str,
    args: &[Vec<u8>],
) -> Result<Vec<Touch>, u64> {
    match args {
        [params] if name.starts_with("convert_") && params.len() >= convert::LEAST => {
            convert::touches(state, context, name, params)
        }
        _ => Ok(unknown(state, context, args)),
    }
}

/// A kernel that nothing is known of may write whatever an aligned word of its arguments points
/// to, as far as the block goes.
fn unknown(state: &State, context: usize, args: &[Vec<u8>]) -> Vec<Touch> {
    let words = args.iter().flat_map(|arg| arg.chunks_exact(8));
    let addresses = words.filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?)));
    let touch = |address| {
        let area = Area::linear(address, 1);
        let block = state.device_range(context, &area).ok()?;
        let whole = Area::linear(block, state.blocks.get(&block)?.len);
        Some(Touch {
            block,
            area: whole,
            write: true,
        })
    };
    addresses.filter_map(touch).collect()
}

/// The conversion kernels of `hip-video`, whose one argument is `ConvertParams`.
pub mod convert {
    use super::{Area, State, Touch};

    /// Offsets in bytes; a test compares them with the header.
    pub const SRC: usize = 0;
    /// See [`SRC`].
    pub const DST: usize = 32;
    /// See [`SRC`].
    pub const SRC_STRIDE: usize = 144;
    /// See [`SRC`].
    pub const DST_STRIDE: usize = 160;
    /// See [`SRC`].
    pub const SRC_SIZE: usize = 176;
    /// See [`SRC`].
    pub const SRC_CHROMA_SIZE: usize = 184;
    /// See [`SRC`].
    pub const DST_SIZE: usize = 192;
    /// See [`SRC`].
    pub const READER: usize = 216;
    /// The struct has at least so many bytes.
    pub const LEAST: usize = READER + 4;
    /// Readers from this number on read RGB, whose components all have the picture's size.
    const FIRST_RGB_READER: i32 = 3;

    fn word(params: &[u8], offset: usize) -> u64 {
        let bytes = params[offset..offset + 8].try_into();
        bytes.map_or(0, u64::from_le_bytes)
    }

    fn int(params: &[u8], offset: usize) -> i32 {
        let bytes = params[offset..offset + 4].try_into();
        bytes.map_or(0, i32::from_le_bytes)
    }

    /// The planes that a launch reads and writes.
    pub(super) fn touches(
        state: &State,
        context: usize,
        name: &str,
        params: &[u8],
    ) -> Result<Vec<Touch>, u64> {
        let yuv_source = int(params, READER) < FIRST_RGB_READER;
        let yuv_destination = name.contains("yuv");
        let height = int(params, DST_SIZE + 4);
        let mut touches = Vec::new();
        for plane in 0..4 {
            let chroma = plane == 1 || plane == 2;
            let read_rows = match chroma && yuv_source {
                true => int(params, SRC_CHROMA_SIZE + 4),
                false => int(params, SRC_SIZE + 4),
            };
            let written_rows = match chroma && yuv_destination {
                true => (height + 1) / 2,
                false => height,
            };
            let planes = [
                (SRC, SRC_STRIDE, read_rows, false),
                (DST, DST_STRIDE, written_rows, true),
            ];
            for (pointers, strides, rows, write) in planes {
                let address = word(params, pointers + 8 * plane);
                let stride = int(params, strides + 4 * plane);
                if address != 0 {
                    let touch = rows_of(state, context, address, stride, rows, write);
                    touches.push(touch.ok_or(address)?);
                }
            }
        }
        Ok(touches)
    }

    /// Whole rows from an address on, as far as its block goes: what a plane's last row leaves
    /// out is taken as touched.
    fn rows_of(
        state: &State,
        context: usize,
        address: u64,
        stride: i32,
        rows: i32,
        write: bool,
    ) -> Option<Touch> {
        let block = state
            .device_range(context, &Area::linear(address, 1))
            .ok()?;
        let end = block + state.blocks.get(&block)?.len;
        let bytes =
            |rows: i32| u64::from(stride.unsigned_abs()) * u64::from(rows.max(0).unsigned_abs());
        let (from, to) = match stride < 0 {
            true => (address.checked_sub(bytes(rows - 1))?, address + bytes(1)),
            false => (address, address + bytes(rows)),
        };
        let area = Area::linear(from, to.min(end).checked_sub(from)?.max(1));
        (from >= block).then_some(Touch { block, area, write })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Kind;

    unsafe extern "C" {
        /// Size and offsets of `ConvertParams`, as `hip-video/host/layout.cpp` lists them.
        fn hip_video_convert_layout(count: *mut u32) -> *const u32;
    }

    #[test]
    fn the_offsets_are_the_headers() {
        // The library that has the function is linked only if the crate is used.
        assert!(!table().is_empty());
        let mut count = 0;
        // SAFETY: the function gives a table that lives for ever, and its length.
        let layout = unsafe {
            let first = hip_video_convert_layout(&mut count);
            std::slice::from_raw_parts(first, count as usize)
        };
        use convert::{
            DST, DST_SIZE, DST_STRIDE, READER, SRC, SRC_CHROMA_SIZE, SRC_SIZE, SRC_STRIDE,
        };
        let named = [
            (1, SRC),
            (2, DST),
            (8, SRC_STRIDE),
            (9, DST_STRIDE),
            (10, SRC_SIZE),
            (11, SRC_CHROMA_SIZE),
            (12, DST_SIZE),
            (15, READER),
        ];
        for (index, offset) in named {
            assert_eq!(layout[index] as usize, offset, "entry {index}");
        }
    }

    fn state() -> State {
        let mut state = State::default();
        let context = state.add_context(0, 1);
        state.add_block(0x1000, 0x100, Kind::Device, context);
        state.add_block(0x2000, 0x100, Kind::Device, context);
        state
    }

    fn params(src: u64, dst: u64, dst_stride: i32) -> Vec<u8> {
        let mut bytes = vec![0; 368];
        let mut put = |offset: usize, value: &[u8]| {
            bytes[offset..offset + value.len()].copy_from_slice(value);
        };
        put(convert::SRC, &src.to_le_bytes());
        put(convert::DST, &dst.to_le_bytes());
        put(convert::SRC_STRIDE, &16_i32.to_le_bytes());
        put(convert::DST_STRIDE, &dst_stride.to_le_bytes());
        put(convert::SRC_SIZE + 4, &4_i32.to_le_bytes());
        put(convert::DST_SIZE + 4, &3_i32.to_le_bytes());
        put(convert::READER, &3_i32.to_le_bytes());
        bytes
    }

    #[test]
    fn a_conversion_reads_and_writes_its_planes() {
        let state = state();
        let find = |params| touches(&state, 0, "convert_packed_8_scaled", &[params]);
        let source = Touch {
            block: 0x1000,
            area: Area::linear(0x1010, 64),
            write: false,
        };
        let written = |start, bytes| Touch {
            block: 0x2000,
            area: Area::linear(start, bytes),
            write: true,
        };
        assert_eq!(
            find(params(0x1010, 0x2000, 32)),
            Ok(vec![source, written(0x2000, 96)])
        );
        assert_eq!(
            find(params(0x1010, 0x20c0, 32)),
            Ok(vec![source, written(0x20c0, 64)])
        );
        assert_eq!(
            find(params(0x1010, 0x2040, -32)),
            Ok(vec![source, written(0x2000, 96)])
        );
        assert_eq!(find(params(0x1010, 0x3000, 32)), Err(0x3000));
        assert_eq!(find(params(0x1100, 0x2000, 32)), Err(0x1100));
    }

    #[test]
    fn an_unknown_kernel_may_write_what_it_points_to() {
        let state = state();
        let mut struct_arg = 7_u64.to_le_bytes().to_vec();
        struct_arg.extend(0x1050_u64.to_le_bytes());
        let args = [vec![1, 2, 3, 4], struct_arg];
        let whole = Touch {
            block: 0x1000,
            area: Area::linear(0x1000, 0x100),
            write: true,
        };
        assert_eq!(touches(&state, 0, "mystery", &args), Ok(vec![whole]));
    }
}
