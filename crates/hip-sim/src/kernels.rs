//! The kernels that can be run, and which memory each of them touches.

use hip_dispatch::host::HostKernel;
use hip_rtc::image::KernelInfo;

use crate::order::Area;
use crate::state::State;

/// A kernel of a loaded module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// What the image says of it.
    pub info: KernelInfo,
    /// What is known of the host build that the image carries; without one, that of the kernel of
    /// this name in [`table`] is run.
    pub carried: Option<CarriedKernel>,
}

/// A kernel that a stand-in for a compiler built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedKernel {
    /// Whether each parameter is an address, where the host build says so.
    pub pointers: Vec<Option<bool>>,
    /// Places of those that are only read through.
    pub reads: Vec<usize>,
}

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
    kernel: &Kernel,
    args: &[Vec<u8>],
) -> Result<Vec<Touch>, u64> {
    if let Some(kernel) = &kernel.carried {
        return carried(state, context, kernel, args);
    }
    let name = &*kernel.info.name;
    match args {
        [params] if name.starts_with("convert_") && params.len() >= convert::LEAST => {
            convert::touches(state, context, name, params)
        }
        [params] if name.starts_with("any_") => frames(state, context, params, &ANY),
        [params] if name.starts_with("same_") => frames(state, context, params, &SAME),
        _ => Ok(args
            .iter()
            .flat_map(|arg| unknown(state, context, arg))
            .collect()),
    }
}

/// Where a kernel's only argument has addresses: offset in bytes, and whether it writes there.
type Addresses<const N: usize> = [(usize, bool); N];

/// `AnyParams`: the plan with its tables, four components read, four written.
const ANY: Addresses<9> = [
    (0, false),
    (8, false),
    (16, false),
    (24, false),
    (32, false),
    (56, true),
    (64, true),
    (72, true),
    (80, true),
];

/// `SameParams`: three planes read, three written.
const SAME: Addresses<6> = [
    (0, false),
    (8, false),
    (16, false),
    (24, true),
    (32, true),
    (40, true),
];

/// The blocks that a conversion's addresses point into, as a whole: frames have memory of their own.
fn frames<const N: usize>(
    state: &State,
    context: usize,
    params: &[u8],
    places: &Addresses<N>,
) -> Result<Vec<Touch>, u64> {
    let mut touches = Vec::new();
    for (offset, write) in places {
        let bytes = params
            .get(*offset..offset + 8)
            .and_then(|bytes| bytes.try_into().ok());
        let address = bytes.map_or(0, u64::from_le_bytes);
        if address != 0 {
            touches.push(whole_block(state, context, address, *write).ok_or(address)?);
        }
    }
    Ok(touches)
}

/// An argument that nothing is known of may lead to whatever an aligned word of it points to, as
/// far as the block goes, and that may be written.
fn unknown(state: &State, context: usize, arg: &[u8]) -> Vec<Touch> {
    let words = arg.chunks_exact(8);
    let addresses = words.filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?)));
    addresses
        .filter_map(|address| whole_block(state, context, address, true))
        .collect()
}

/// The block of an address, as touched.
fn whole_block(state: &State, context: usize, address: u64, write: bool) -> Option<Touch> {
    let area = Area::linear(address, 1);
    let block = state.device_range(context, &area).ok()?;
    let area = Area::linear(block, state.blocks.get(&block)?.len);
    Some(Touch { block, area, write })
}

/// A kernel of the user's reads the blocks that its `const` pointers lead to, and may write those
/// of the others.
fn carried(
    state: &State,
    context: usize,
    kernel: &CarriedKernel,
    args: &[Vec<u8>],
) -> Result<Vec<Touch>, u64> {
    let mut touches = Vec::new();
    for (place, arg) in args.iter().enumerate() {
        let is_pointer = kernel.pointers.get(place) == Some(&Some(true));
        let (true, Ok(address)) = (is_pointer, <[u8; 8]>::try_from(&**arg)) else {
            touches.extend(unknown(state, context, arg));
            continue;
        };
        let address = u64::from_le_bytes(address);
        let write = !kernel.reads.contains(&place);
        match whole_block(state, context, address, write) {
            Some(touch) => touches.push(touch),
            // Null, and the end of an array of nothing, lead nowhere.
            None if address == 0 || state.ends_block(address) => {}
            None => return Err(address),
        }
    }
    Ok(touches)
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

    fn kernel(name: &str, carried: Option<CarriedKernel>) -> Kernel {
        let info = KernelInfo {
            name: name.to_owned(),
            params: Vec::new(),
            max_threads: None,
        };
        Kernel { info, carried }
    }

    #[test]
    fn the_frames_addresses_are_where_the_headers_have_them() {
        unsafe extern "C" {
            /// Sizes and offsets, as `hip-video/host/layout.cpp` lists them.
            fn hip_video_any_layout(count: *mut u32) -> *const u32;
            /// See above.
            fn hip_video_same_layout(count: *mut u32) -> *const u32;
        }
        assert!(!table().is_empty());
        let list = |get: unsafe extern "C" fn(*mut u32) -> *const u32| {
            let mut count = 0;
            // SAFETY: the functions give tables that live for ever, and their lengths.
            unsafe { std::slice::from_raw_parts(get(&mut count), count as usize) }
        };
        // Size of AnyParams, then where the plan, the source and the destination are.
        let any = list(hip_video_any_layout);
        assert!(
            any.windows(4).any(|four| four == [104, 0, 8, 56]),
            "{any:?}"
        );
        let same = list(hip_video_same_layout);
        assert_eq!(same[1..3], [0, 24]);
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
        let kernel = kernel("convert_packed_8_scaled", None);
        let find = |params| touches(&state, 0, &kernel, &[params]);
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
        let mystery = kernel("mystery", None);
        assert_eq!(touches(&state, 0, &mystery, &args), Ok(vec![whole]));
    }

    #[test]
    fn a_kernel_of_the_users_reads_through_its_const_pointers() {
        let state = state();
        let pointers = vec![Some(true), Some(true), Some(false)];
        let reads = vec![1];
        let kernel = kernel("user", Some(CarriedKernel { pointers, reads }));
        let find = |addresses: [u64; 3]| {
            let args = addresses.map(|address| address.to_le_bytes().to_vec());
            touches(&state, 0, &kernel, &args)
        };
        let whole = |block, write| Touch {
            block,
            area: Area::linear(block, 0x100),
            write,
        };
        let both = vec![whole(0x1000, true), whole(0x2000, false)];
        assert_eq!(find([0x1010, 0x2020, 7]), Ok(both));
        assert_eq!(find([0, 0x2100, 7]), Ok(vec![]), "null, and an end");
        assert_eq!(find([0x3000, 0x2000, 7]), Err(0x3000));
        // A struct may hold an address.
        assert_eq!(find([0, 0, 0x1000]), Ok(vec![whole(0x1000, true)]));
    }
}
