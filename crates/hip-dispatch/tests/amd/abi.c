/* Prints what hip_runtime_api.h says of every name that the crate relies on, as `name<TAB>value`:
 * sizes and offsets in bytes, numbers of enumerators. Compiled against each version's headers by
 * tests/amd_runtime.rs. */
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_PLATFORM_HCC__ 1 /* what 5.x's headers ask for too */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <hip/hip_runtime_api.h>
#if HIP_VERSION_MAJOR >= 6
#include <hip/hip_deprecated.h>
typedef hipDeviceProp_tR0000 R0000;
typedef hipDeviceProp_tR0600 R0600;
#else
typedef hipDeviceProp_t R0000;
#endif

#define NUMBER(name) printf("%s\t%lld\n", #name, (long long)(name))
#define SIZE(type) printf("sizeof %s\t%zu\n", #type, sizeof(type))
#define OFFSET(type, field) printf("%s.%s\t%zu\n", #type, #field, offsetof(type, field))

static void structs(void) {
    SIZE(R0000);
    OFFSET(R0000, gcnArchName);
#if HIP_VERSION_MAJOR >= 6
    SIZE(R0600);
    OFFSET(R0600, gcnArchName);
#endif
    SIZE(hipError_t);
    SIZE(hipDevice_t);
    SIZE(hipDeviceptr_t);
    SIZE(hipUUID);
    SIZE(hip_Memcpy2D);
    OFFSET(hip_Memcpy2D, srcXInBytes);
    OFFSET(hip_Memcpy2D, srcY);
    OFFSET(hip_Memcpy2D, srcMemoryType);
    OFFSET(hip_Memcpy2D, srcHost);
    OFFSET(hip_Memcpy2D, srcDevice);
    OFFSET(hip_Memcpy2D, srcArray);
    OFFSET(hip_Memcpy2D, srcPitch);
    OFFSET(hip_Memcpy2D, dstXInBytes);
    OFFSET(hip_Memcpy2D, dstY);
    OFFSET(hip_Memcpy2D, dstMemoryType);
    OFFSET(hip_Memcpy2D, dstHost);
    OFFSET(hip_Memcpy2D, dstDevice);
    OFFSET(hip_Memcpy2D, dstArray);
    OFFSET(hip_Memcpy2D, dstPitch);
    OFFSET(hip_Memcpy2D, WidthInBytes);
    OFFSET(hip_Memcpy2D, Height);
}

static void numbers(void) {
    NUMBER(hipMemoryTypeHost);
    NUMBER(hipMemoryTypeDevice);
    NUMBER(hipDeviceAttributeIntegrated);
    NUMBER(hipDeviceAttributeMaxThreadsPerBlock);
    NUMBER(hipDeviceAttributeMaxSharedMemoryPerBlock);
    NUMBER(hipDeviceAttributeMaxGridDimX);
    NUMBER(hipDeviceAttributeMaxGridDimY);
    NUMBER(hipDeviceAttributeMaxGridDimZ);
    NUMBER(hipDeviceAttributeMultiprocessorCount);
    NUMBER(hipDeviceAttributeTexturePitchAlignment);
    NUMBER(hipDeviceAttributeWarpSize);
    NUMBER(hipStreamNonBlocking);
    NUMBER(hipEventBlockingSync);
    NUMBER(hipEventDisableTiming);
    NUMBER(hipHostMallocPortable);
    NUMBER(hipHostMallocMapped);
    NUMBER(hipHostMallocWriteCombined);
}

static void errors(void) {
    NUMBER(hipSuccess);
    NUMBER(hipErrorInvalidValue);
    NUMBER(hipErrorOutOfMemory);
    NUMBER(hipErrorNotInitialized);
    NUMBER(hipErrorDeinitialized);
    NUMBER(hipErrorInvalidDeviceFunction);
    NUMBER(hipErrorNoDevice);
    NUMBER(hipErrorInvalidDevice);
    NUMBER(hipErrorInvalidImage);
    NUMBER(hipErrorInvalidContext);
    NUMBER(hipErrorNoBinaryForGpu);
    NUMBER(hipErrorECCNotCorrectable);
    NUMBER(hipErrorInvalidKernelFile);
    NUMBER(hipErrorInvalidSource);
    NUMBER(hipErrorFileNotFound);
    NUMBER(hipErrorInvalidHandle);
    NUMBER(hipErrorNotFound);
    NUMBER(hipErrorNotReady);
    NUMBER(hipErrorIllegalAddress);
    NUMBER(hipErrorLaunchOutOfResources);
    NUMBER(hipErrorLaunchTimeOut);
    NUMBER(hipErrorContextIsDestroyed);
    NUMBER(hipErrorAssert);
    NUMBER(hipErrorLaunchFailure);
    NUMBER(hipErrorCooperativeLaunchTooLarge);
    NUMBER(hipErrorNotSupported);
    NUMBER(hipErrorUnknown);
}

int main(void) {
    NUMBER(HIP_VERSION_MAJOR);
    structs();
    numbers();
    errors();
    return 0;
}
