//! The kernels as functions of this process, for the Host backend.

use std::ffi::c_void;
use std::sync::OnceLock;

use hip_dispatch::host::{HostKernel, HostLaunch};

use crate::params::ConvertParams;

/// Instruction sets that the kernels were compiled for, plainest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
                convert_planar_8_scaled convert_planar_8_unscaled);
        }
    };
    (@functions $suffix:literal $($name:ident)*) => {
        unsafe extern "C" {
            $(
                #[link_name = concat!(stringify!($name), $suffix)]
                fn $name(args: *const *const c_void, launch: *const HostLaunch, first: u64, end: u64);
            )*
        }
        pub(super) static TABLE: [HostKernel; 8] = [$(HostKernel {
            name: stringify!($name),
            function: $name,
            arg_sizes: &[size_of::<ConvertParams>()],
        }),*];
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
mod tests {
    use super::*;

    #[test]
    fn the_best_level_is_available() {
        assert!(HostLevel::best().is_available());
        assert!(host_kernels_at(HostLevel::Baseline).is_some());
        assert_eq!(host_kernels().len(), 8);
    }

    #[test]
    fn levels_are_different_code_under_the_same_names() {
        let tables = HostLevel::ALL.map(host_kernels_at);
        for (first, second) in tables.iter().flatten().zip(tables.iter().flatten().skip(1)) {
            for (left, right) in first.iter().zip(*second) {
                assert_eq!(left.name, right.name);
                assert_ne!(left.function as usize, right.function as usize);
            }
        }
    }
}
