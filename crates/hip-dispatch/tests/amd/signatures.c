/* The signatures that the crate calls each function by (src/driver/table.rs, src/amd), against the
 * headers: compiled, not run, with a mismatch as an error. hipDeviceptr_t is void *, which the crate
 * holds as 64 bits. */
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_PLATFORM_HCC__ 1 /* what 5.x's headers ask for too */
#include <stdbool.h>
#include <stddef.h>

#include <hip/hip_runtime_api.h>

#define IS(function, ...) \
    hipError_t (*check_##function)(__VA_ARGS__); \
    void set_##function(void) { check_##function = function; }

IS(hipInit, unsigned)
IS(hipDriverGetVersion, int *)
IS(hipRuntimeGetVersion, int *)
IS(hipGetDeviceCount, int *)
IS(hipGetDevice, int *)
IS(hipSetDevice, int)
IS(hipDeviceGet, hipDevice_t *, int)
IS(hipDeviceGetName, char *, int, hipDevice_t)
IS(hipDeviceTotalMem, size_t *, hipDevice_t)
IS(hipDeviceGetAttribute, int *, hipDeviceAttribute_t, int)
IS(hipDeviceGetPCIBusId, char *, int, int)
IS(hipDeviceGetUuid, hipUUID *, hipDevice_t)
IS(hipGetDeviceProperties, hipDeviceProp_t *, int)
IS(hipDeviceSynchronize, void)
IS(hipMemGetInfo, size_t *, size_t *)
IS(hipMalloc, void **, size_t)
IS(hipMemAllocPitch, hipDeviceptr_t *, size_t *, size_t, size_t, unsigned)
IS(hipFree, void *)
IS(hipHostMalloc, void **, size_t, unsigned)
IS(hipHostFree, void *)
IS(hipMemcpyDtoH, void *, hipDeviceptr_t, size_t)
IS(hipMemcpyDtoHAsync, void *, hipDeviceptr_t, size_t, hipStream_t)
IS(hipMemcpyDtoD, hipDeviceptr_t, hipDeviceptr_t, size_t)
IS(hipMemcpyDtoDAsync, hipDeviceptr_t, hipDeviceptr_t, size_t, hipStream_t)
IS(hipMemcpyParam2D, const hip_Memcpy2D *)
IS(hipMemcpyParam2DAsync, const hip_Memcpy2D *, hipStream_t)
IS(hipMemsetD8, hipDeviceptr_t, unsigned char, size_t)
IS(hipMemsetD8Async, hipDeviceptr_t, unsigned char, size_t, hipStream_t)
IS(hipMemsetD16, hipDeviceptr_t, unsigned short, size_t)
IS(hipMemsetD16Async, hipDeviceptr_t, unsigned short, size_t, hipStream_t)
IS(hipMemsetD32, hipDeviceptr_t, int, size_t)
IS(hipMemsetD32Async, hipDeviceptr_t, int, size_t, hipStream_t)
IS(hipMemset2D, void *, size_t, int, size_t, size_t)
IS(hipMemset2DAsync, void *, size_t, int, size_t, size_t, hipStream_t)
IS(hipStreamCreateWithPriority, hipStream_t *, unsigned, int)
IS(hipStreamDestroy, hipStream_t)
IS(hipStreamSynchronize, hipStream_t)
IS(hipStreamQuery, hipStream_t)
IS(hipStreamWaitEvent, hipStream_t, hipEvent_t, unsigned)
IS(hipStreamAddCallback, hipStream_t, void (*)(hipStream_t, hipError_t, void *), void *, unsigned)
IS(hipEventCreateWithFlags, hipEvent_t *, unsigned)
IS(hipEventDestroy, hipEvent_t)
IS(hipEventRecord, hipEvent_t, hipStream_t)
IS(hipEventQuery, hipEvent_t)
IS(hipEventSynchronize, hipEvent_t)
IS(hipEventElapsedTime, float *, hipEvent_t, hipEvent_t)
IS(hipModuleLoadDataEx, hipModule_t *, const void *, unsigned, hipJitOption *, void **)
IS(hipModuleUnload, hipModule_t)
IS(hipModuleGetFunction, hipFunction_t *, hipModule_t, const char *)
IS(hipModuleLaunchKernel, hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
   unsigned, hipStream_t, void **, void **)
#if HIP_VERSION_MAJOR >= 6
IS(hipLaunchHostFunc, hipStream_t, void (*)(void *), void *)
#endif

/* The source is a plain pointer from 7 on, and was not const before. */
#if HIP_VERSION_MAJOR >= 7
#define SOURCE const void *
#else
#define SOURCE void *
#endif
IS(hipMemcpyHtoD, hipDeviceptr_t, SOURCE, size_t)
IS(hipMemcpyHtoDAsync, hipDeviceptr_t, SOURCE, size_t, hipStream_t)

const char *(*check_name)(hipError_t) = hipGetErrorName;
const char *(*check_text)(hipError_t) = hipGetErrorString;

#ifdef WRONG
/* Proves that a mismatch is noticed. */
hipError_t (*wrong)(void *, int, size_t) = hipMemset2D;
#endif
