//! The prelude: what every text for Host may use.

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
