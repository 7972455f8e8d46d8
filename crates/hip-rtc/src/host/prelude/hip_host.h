// Included before every kernel text: what NVRTC and HIPRTC have built in.
#ifndef HIP_HOST_H
#define HIP_HOST_H
#include "hip_host/types.h"
#include "hip_host/execution.h"
#include "hip_host/atomics.h"
#include "hip_host/math.h"
#include "hip_host/intrinsics.h"
#endif
