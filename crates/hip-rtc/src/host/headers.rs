//! Headers that a kernel text may include without having them.

/// Read before every text.
pub(super) const PRELUDE: &str = "hip_host/hip_host.h";

/// Name and text of each. Their `#line` name tells the source pass that they are the prelude.
pub(crate) const FILES: &[(&str, &str)] = &[
    (PRELUDE, include_str!("prelude/hip_host.h")),
    ("hip_host/types.h", include_str!("prelude/types.h")),
    ("hip_host/execution.h", include_str!("prelude/execution.h")),
    ("hip_host/atomics.h", include_str!("prelude/atomics.h")),
    ("hip_host/math.h", include_str!("prelude/math.h")),
    (
        "hip_host/intrinsics.h",
        include_str!("prelude/intrinsics.h"),
    ),
    ("hip_host/fp16.h", include_str!("prelude/fp16.h")),
    // In namespace std, for texts that name it.
    ("hip_host/std_math.h", include_str!("prelude/std_math.h")),
];

/// Vendors' headers, and C's that would collide with the prelude: all that they declare is there
/// already, or is refused by its name where it is used.
pub(super) const EMPTY: &[&str] = &[
    "cuda.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "device_launch_parameters.h",
    "math_constants.h",
    "vector_types.h",
    "vector_functions.h",
    "cooperative_groups.h",
    "mma.h",
    "hip/hip_runtime.h",
    "hip/hip_vector_types.h",
    "hip/hip_cooperative_groups.h",
    "assert.h",
    "cassert",
];

/// C's and C++'s headers of mathematics.
pub(super) const STD_MATH: &[&str] = &["math.h", "cmath", "stdlib.h", "cstdlib"];

/// The vendors' headers of half precision, without which `half` is a name like any other.
pub(super) const HALF: &[&str] = &["cuda_fp16.h", "hip/hip_fp16.h"];
