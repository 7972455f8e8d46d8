//! The kernels as functions of this process, for the Host backend.

use std::ffi::c_void;
use std::sync::OnceLock;

use hip_dispatch::host::{HostKernel, HostLaunch};

use crate::any::AnyParams;
use crate::params::ConvertParams;
use crate::prebuilt::{ANY, CONVERT, SAME};
use crate::same::SameParams;

/// Instruction sets that the kernels were compiled for, plainest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum HostLevel {
    /// What every processor of the target has (SSE2 on x86-64, NEON on 64-bit ARM).
    Baseline,
    /// x86-64-v2: up to SSE4.2.
    V2,
    /// x86-64-v3: AVX2 and FMA.
    V3,
    /// x86-64-v4: AVX-512 F, BW, CD, DQ, VL.
    V4,
}

impl HostLevel {
    /// Every level, plainest first.
    pub const ALL: [HostLevel; 4] = [
        HostLevel::Baseline,
        HostLevel::V2,
        HostLevel::V3,
        HostLevel::V4,
    ];

    /// The best level this processor has.
    pub fn best() -> HostLevel {
        static BEST: OnceLock<HostLevel> = OnceLock::new();
        *BEST.get_or_init(|| {
            let usable = HostLevel::ALL
                .into_iter()
                .rev()
                .find(|level| level.is_available());
            usable.unwrap_or(HostLevel::Baseline)
        })
    }

    /// Whether this processor (and operating system) can run the level.
    #[cfg(target_arch = "x86_64")]
    pub fn is_available(self) -> bool {
        macro_rules! has {
            ($($feature:tt)*) => { $(std::arch::is_x86_feature_detected!($feature))&&* };
        }
        // The features that the compiler may use at each level, by the x86-64 psABI.
        let v2 = || has!("cmpxchg16b" "popcnt" "sse3" "ssse3" "sse4.1" "sse4.2");
        let v3 = || v2() && has!("avx" "avx2" "bmi1" "bmi2" "f16c" "fma" "lzcnt" "movbe");
        match self {
            HostLevel::Baseline => true,
            HostLevel::V2 => v2(),
            HostLevel::V3 => v3(),
            HostLevel::V4 => v3() && has!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl"),
        }
    }

    /// Whether this processor can run the level: only the baseline was compiled.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn is_available(self) -> bool {
        self == HostLevel::Baseline
    }
}

/// The kernels for this processor.
pub fn host_kernels() -> &'static [HostKernel] {
    table(HostLevel::best())
}

/// The kernels of one level, for tests; `None` when this processor cannot run them.
pub fn host_kernels_at(level: HostLevel) -> Option<&'static [HostKernel]> {
    level.is_available().then(|| table(level))
}

/// Declares the functions of one level and their table. The names are those of `convert.cu`
/// followed by the level's KERNEL_SUFFIX of build.rs.
macro_rules! level {
    ($module:ident, $suffix:literal) => {
        mod $module {
            use super::*;
            level!(@functions $suffix
                convert_yuv420_8_scaled convert_yuv420_8_unscaled
                convert_yuv420_16_scaled convert_yuv420_16_unscaled
                convert_packed_8_scaled convert_packed_8_unscaled
                convert_planar_8_scaled convert_planar_8_unscaled;
                any_plain any_light;
                same_pairs8_packed same_planes8_packed same_pairs16_packed
                same_pairs8_planar same_planes8_planar same_pairs16_planar
                same_quads_pairs same_quads_planes);
        }
    };
    (@functions $suffix:literal $($few:ident)*; $($any:ident)*; $($same:ident)*) => {
        unsafe extern "C" {
            $(
                #[link_name = concat!(stringify!($few), $suffix)]
                fn $few(args: *const *const c_void, launch: *const HostLaunch, first: u64, end: u64);
            )*
            $(
                #[link_name = concat!(stringify!($any), $suffix)]
                fn $any(args: *const *const c_void, launch: *const HostLaunch, first: u64, end: u64);
            )*
            $(
                #[link_name = concat!(stringify!($same), $suffix)]
                fn $same(args: *const *const c_void, launch: *const HostLaunch, first: u64, end: u64);
            )*
        }
        pub(super) static TABLE: [HostKernel; CONVERT.len() + ANY.len() + SAME.len()] = [
            $(HostKernel {
                name: stringify!($few),
                function: $few,
                arg_sizes: &[size_of::<ConvertParams>()],
            },)*
            $(HostKernel {
                name: stringify!($any),
                function: $any,
                arg_sizes: &[size_of::<AnyParams>()],
            },)*
            $(HostKernel {
                name: stringify!($same),
                function: $same,
                arg_sizes: &[size_of::<SameParams>()],
            },)*
        ];
    };
}

level!(baseline, "_base");
#[cfg(target_arch = "x86_64")]
level!(v2, "_v2");
#[cfg(target_arch = "x86_64")]
level!(v3, "_v3");
#[cfg(target_arch = "x86_64")]
level!(v4, "_v4");

#[cfg(target_arch = "x86_64")]
fn table(level: HostLevel) -> &'static [HostKernel] {
    match level {
        HostLevel::Baseline => &baseline::TABLE,
        HostLevel::V2 => &v2::TABLE,
        HostLevel::V3 => &v3::TABLE,
        HostLevel::V4 => &v4::TABLE,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn table(_level: HostLevel) -> &'static [HostKernel] {
    &baseline::TABLE
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::description::FrameDescription;
    use crate::format::PixelFormat;
    use crate::frame::PlaneView;
    use crate::geometry::Rect;
    use crate::params::{Layout, Method, Plan};
    use crate::prebuilt::CONVERT;
    use hip_core::DevicePtr;

    #[test]
    fn the_best_level_is_available() {
        assert!(HostLevel::best().is_available());
        assert!(host_kernels_at(HostLevel::Baseline).is_some());
        assert_eq!(host_kernels().len(), CONVERT.len() + ANY.len() + SAME.len());
    }

    #[test]
    fn levels_are_different_code_under_the_same_names() {
        let tables: Vec<_> = HostLevel::ALL
            .into_iter()
            .filter_map(host_kernels_at)
            .collect();
        for (first, second) in tables.iter().zip(tables.iter().skip(1)) {
            for (left, right) in first.iter().zip(*second) {
                assert_eq!(left.name, right.name);
                assert_ne!(left.function as usize, right.function as usize);
            }
        }
    }

    const WIDTH: u32 = 301;
    const HEIGHT: u32 = 21;

    /// Memory for three planes with room for any format.
    struct Frame(Vec<u64>);

    impl Frame {
        const STRIDE: usize = 4 * 320;
        const PLANE: usize = Frame::STRIDE * HEIGHT as usize;

        fn planes(&mut self) -> [PlaneView; 4] {
            let base = self.0.as_mut_ptr() as u64;
            [0, 1, 2, 3].map(|plane| PlaneView {
                ptr: DevicePtr(base + (plane * Frame::PLANE) as u64),
                stride: Frame::STRIDE as i32,
            })
        }

        fn of_noise() -> Frame {
            let mut state = 1_u64;
            let words = (0..4 * Frame::PLANE / 8).map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                state ^ state >> 29
            });
            Frame(words.collect())
        }
    }

    /// Runs one entry point as a launch of `block` threads whose blocks come in three ranges.
    fn run(kernel: &HostKernel, plan: &Plan, tile: [u32; 2], block: [u32; 2]) -> Vec<u64> {
        let mut source = Frame::of_noise();
        let mut destination = Frame(vec![0x5a5a_5a5a_5a5a_5a5a; 4 * Frame::PLANE / 8]);
        let mut params = plan.params();
        params.set_source(plan, &source.planes());
        params.set_destination(&destination.planes());
        let grid = [0, 1].map(|axis| [WIDTH, HEIGHT][axis].div_ceil(tile[axis] * block[axis]));
        let launch = HostLaunch {
            grid_dim: [grid[0], grid[1], 1],
            block_dim: [block[0], block[1], 1],
            shared_mem_bytes: 0,
        };
        let blocks = u64::from(grid[0]) * u64::from(grid[1]);
        let args = [(&raw const params).cast::<c_void>()];
        for (first, end) in [
            (blocks / 3, blocks / 2),
            (0, blocks / 3),
            (blocks / 2, blocks),
        ] {
            // SAFETY: the kernel takes one `ConvertParams`, whose planes have room for every row;
            // the processor has the instructions of the table that the kernel comes from.
            unsafe { (kernel.function)(args.as_ptr(), &launch, first, end) };
        }
        destination.0
    }

    /// Every format to every format, through the entry point `number` of a table.
    fn plans(number: usize) -> impl Iterator<Item = Plan> {
        let outputs: &[PixelFormat] = match number / 2 {
            0 => &[PixelFormat::Nv12, PixelFormat::I420],
            1 => &[PixelFormat::P010Le],
            2 => &[PixelFormat::Rgba, PixelFormat::Rgb],
            _ => &[PixelFormat::Rgbp],
        };
        let width = if number % 2 == 1 { WIDTH } else { 200 };
        let inputs = PixelFormat::ALL
            .into_iter()
            .filter_map(|input| Some((input, Layout::of(input)?)));
        inputs.flat_map(move |(input, layout)| {
            outputs.iter().map(move |output| Plan {
                input: FrameDescription::new(input, width, HEIGHT),
                output: FrameDescription::new(*output, WIDTH, HEIGHT),
                src_rect: Rect::of_size(width, HEIGHT),
                dst_rect: Rect::of_size(WIDTH, HEIGHT),
                method: Method::Bilinear,
                layouts: [layout, Layout::of(*output).expect("one of the seven")],
            })
        })
    }

    fn tile_of(number: usize) -> [u32; 2] {
        use crate::params::tile;
        let (scaled, rows) = match number / 2 {
            0 | 1 => (tile::SCALED_YUV420, tile::ROWS_YUV420),
            _ => (tile::SCALED_RGB, tile::ROWS_RGB),
        };
        [
            if number % 2 == 1 {
                tile::UNSCALED
            } else {
                scaled
            },
            rows,
        ]
    }

    #[test]
    fn any_block_shape_gives_the_same_pixels() {
        for (number, kernel) in host_kernels()[..CONVERT.len()].iter().enumerate() {
            for plan in plans(number) {
                let whole = run(kernel, &plan, tile_of(number), [1024, 1]);
                for block in [[32, 8], [1, 1], [7, 3]] {
                    let parts = run(kernel, &plan, tile_of(number), block);
                    assert!(whole == parts, "{} {block:?} {plan:?}", kernel.name);
                }
            }
        }
    }

    #[test]
    fn levels_agree_to_a_code_value() {
        let baseline = host_kernels_at(HostLevel::Baseline).expect("always there");
        for level in HostLevel::ALL {
            let Some(kernels) = host_kernels_at(level) else {
                println!("skipped: this processor has no {level:?}");
                continue;
            };
            for (number, (kernel, plain)) in
                kernels.iter().zip(baseline).take(CONVERT.len()).enumerate()
            {
                for plan in plans(number) {
                    let found = run(kernel, &plan, tile_of(number), [64, 4]);
                    let expected = run(plain, &plan, tile_of(number), [64, 4]);
                    let worst = largest_difference(&found, &expected, plan.output.format);
                    assert!(
                        worst <= 1,
                        "{level:?} {} differs by {worst}: {plan:?}",
                        kernel.name
                    );
                }
            }
        }
    }

    /// The largest difference of two frames in code values.
    pub(crate) fn largest_difference(left: &[u64], right: &[u64], format: PixelFormat) -> u16 {
        let codes = |words: &[u64]| -> Vec<u16> {
            let bytes = words.iter().flat_map(|word| word.to_le_bytes());
            match format {
                PixelFormat::P010Le => {
                    let words = words
                        .iter()
                        .flat_map(|word| [0, 16, 32, 48].map(|bit| word >> bit));
                    words.map(|word| word as u16 >> 6).collect()
                }
                _ => bytes.map(u16::from).collect(),
            }
        };
        let (left, right) = (codes(left), codes(right));
        left.iter()
            .zip(&right)
            .map(|(a, b)| a.abs_diff(*b))
            .max()
            .unwrap_or(0)
    }
}
