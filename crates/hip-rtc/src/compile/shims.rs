//! Headers that texts written for a vendor's own compiler include, for run-time compilers that come
//! without them. Host's compiler has its own.

/// Name and text.
pub(super) const HEADERS: [(&str, &str); 13] = [
    ("cuda_runtime.h", RUNTIME),
    ("device_launch_parameters.h", RUNTIME),
    ("hip/hip_runtime.h", RUNTIME),
    ("cuda_fp16.h", FP16),
    ("hip/hip_fp16.h", FP16),
    ("stdint.h", STDINT),
    ("cstdint", STDINT),
    ("stddef.h", STDDEF),
    ("cstddef", STDDEF),
    ("math.h", RUNTIME),
    ("cmath", RUNTIME),
    ("limits.h", LIMITS),
    ("climits", LIMITS),
];

/// Both compilers have everything built in.
const RUNTIME: &str = "#pragma once\n";
const FP16: &str = include_str!("../../kernels-include/fp16.h");
const STDINT: &str = include_str!("../../kernels-include/stdint.h");
const STDDEF: &str = include_str!("../../kernels-include/stddef.h");
const LIMITS: &str = include_str!("../../kernels-include/limits.h");
