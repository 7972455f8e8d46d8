//! What a stand-in for a compiler pretends to be.

/// One compiler in one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompilerProfile {
    /// `…Version`.
    pub version: (i32, i32),
    /// What the compiler calls a program without a name.
    pub default_name: &'static str,
    /// Which compiler.
    pub kind: CompilerKind,
}

/// The two compilers, and in which they differ by version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompilerKind {
    /// NVIDIA's.
    Nvrtc {
        /// Compute capabilities it knows: 90 for `sm_90` and `compute_90`.
        architectures: &'static [u32],
    },
    /// AMD's.
    Hiprtc {
        /// Processors it knows, without features.
        architectures: &'static [&'static str],
        /// An unknown architecture ends the process instead of failing the call.
        aborts: bool,
    },
}

/// NVRTC 13.0, whose `nvrtcGetSupportedArchs` gives this list.
pub const NVRTC13: CompilerProfile = CompilerProfile {
    version: (13, 0),
    default_name: "default_program",
    kind: CompilerKind::Nvrtc {
        architectures: &[75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121],
    },
};

/// HIPRTC of ROCm 5.2.3.
pub const HIPRTC5: CompilerProfile = CompilerProfile {
    version: (5, 2),
    default_name: "CompileSourceUnknown",
    kind: CompilerKind::Hiprtc {
        architectures: &["gfx906", "gfx90a", "gfx1030"],
        aborts: true,
    },
};

/// What 6.4 and 7.2 know.
const SINCE_6: &[&str] = &[
    "gfx906", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1201",
];

/// HIPRTC of ROCm 6.4.3.
pub const HIPRTC6: CompilerProfile = CompilerProfile {
    version: (6, 4),
    kind: CompilerKind::Hiprtc {
        architectures: SINCE_6,
        aborts: true,
    },
    ..HIPRTC5
};

/// HIPRTC of ROCm 7.2.4.
pub const HIPRTC7: CompilerProfile = CompilerProfile {
    version: (7, 2),
    kind: CompilerKind::Hiprtc {
        architectures: SINCE_6,
        aborts: false,
    },
    ..HIPRTC5
};
