//! Headers that a text may include without having them: the vendors' and C's, as texts for GPUs'
//! run-time compilers, which come without any, and for Host's compiler, which has C's.

/// A header's name and texts.
pub(crate) struct Header {
    pub(crate) name: &'static str,
    /// For NVRTC and HIPRTC; `None` where they cannot have what it declares.
    gpu: Option<&'static str>,
    pub(crate) host: OnHost,
}

/// Where Host's compiler has a header from.
pub(crate) enum OnHost {
    /// It has its own.
    Compiler,
    /// From the prelude, which is read before every text: all that the header declares is there
    /// already, or is refused by its name where it is used.
    Prelude,
    /// From this part of the prelude, which is read only where it is included.
    Part(&'static str),
}

const fn header(name: &'static str, gpu: Option<&'static str>, host: OnHost) -> Header {
    Header { name, gpu, host }
}

/// All that it declares is built in.
const BUILT_IN: Option<&str> = Some("#pragma once\n");
const CONSTANTS: Option<&str> = Some(include_str!("../kernels-include/math_constants.h"));
const FP16: Option<&str> = Some(include_str!("../kernels-include/fp16.h"));
const STDINT: Option<&str> = Some(include_str!("../kernels-include/stdint.h"));
const STDDEF: Option<&str> = Some(include_str!("../kernels-include/stddef.h"));
const LIMITS: Option<&str> = Some(include_str!("../kernels-include/limits.h"));
const ASSERT: Option<&str> = Some(include_str!("../kernels-include/assert.h"));

/// Mathematics in namespace `std`, for texts that name it.
const STD_MATH: OnHost = OnHost::Part("std_math.h");
/// Half precision, without which `half` is a name like any other.
const HALF: OnHost = OnHost::Part("fp16.h");

pub(crate) const TABLE: &[Header] = &[
    header("cuda.h", BUILT_IN, OnHost::Prelude),
    header("cuda_runtime.h", BUILT_IN, OnHost::Prelude),
    header("cuda_runtime_api.h", BUILT_IN, OnHost::Prelude),
    header("device_launch_parameters.h", BUILT_IN, OnHost::Prelude),
    header("vector_types.h", BUILT_IN, OnHost::Prelude),
    header("vector_functions.h", BUILT_IN, OnHost::Prelude),
    header("math_constants.h", CONSTANTS, OnHost::Prelude),
    header("hip/hip_runtime.h", BUILT_IN, OnHost::Prelude),
    header("hip/hip_vector_types.h", BUILT_IN, OnHost::Prelude),
    header("cooperative_groups.h", None, OnHost::Prelude),
    header("hip/hip_cooperative_groups.h", None, OnHost::Prelude),
    header("mma.h", None, OnHost::Prelude),
    header("cuda_fp16.h", FP16, HALF),
    header("hip/hip_fp16.h", FP16, HALF),
    header("assert.h", ASSERT, OnHost::Prelude),
    header("cassert", ASSERT, OnHost::Prelude),
    header("math.h", BUILT_IN, STD_MATH),
    header("cmath", BUILT_IN, STD_MATH),
    header("stdlib.h", BUILT_IN, STD_MATH),
    header("cstdlib", BUILT_IN, STD_MATH),
    header("stdint.h", STDINT, OnHost::Compiler),
    header("cstdint", STDINT, OnHost::Compiler),
    header("stddef.h", STDDEF, OnHost::Compiler),
    header("cstddef", STDDEF, OnHost::Compiler),
    header("limits.h", LIMITS, OnHost::Compiler),
    header("climits", LIMITS, OnHost::Compiler),
];

/// Name and text of each that a GPU's compiler is given along with a text.
pub(crate) fn for_gpus() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE
        .iter()
        .filter_map(|header| Some((header.name, header.gpu?)))
}

/// Whether a header is one of those that [`crate::compile`] hands to a GPU's compiler along with a
/// text, and not the text's own under one of their names.
pub fn is_bundled_header(name: &str, text: &str) -> bool {
    for_gpus().any(|bundled| bundled == (name, text))
}
