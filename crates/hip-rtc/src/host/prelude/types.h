// Qualifiers, fixed-width integers, vector types and dim3. `__global__`, `__shared__` and
// `__launch_bounds__` are no macros: the source pass has to see them.
#ifndef HIP_HOST_TYPES_H
#define HIP_HOST_TYPES_H

#define __HIP_RTC_HOST__ 1
#define __device__
#define __host__
#define __constant__ static
#define __managed__ static
#define __grid_constant__

#ifdef _MSC_VER
#define __forceinline__ __forceinline
#define __noinline__ __declspec(noinline)
#define __restrict__ __restrict
#define __align__(bytes) __declspec(align(bytes))
#define HIP_HOST_EXPORT __declspec(dllexport)
#define HIP_HOST_INLINE __forceinline
#define HIP_HOST_COLD __declspec(noinline)
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#include <stddef.h>
#else
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define HIP_HOST_EXPORT __attribute__((visibility("default")))
#define HIP_HOST_INLINE inline __attribute__((always_inline))
#define HIP_HOST_COLD __attribute__((noinline, cold))
#ifndef __clang__
#define HIP_HOST_TELL_RANGES 1
// What the compiler knows of a value ends here.
#define HIP_HOST_FORGET(value) __asm__("" : "+r"(value))
#endif
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
#ifndef NULL
#define NULL __null
#endif
#endif

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

// Sizes and alignments are CUDA's: two and four elements are aligned as a whole, up to 16 bytes.
#define HIP_HOST_VECTOR(T, NAME, ALIGN2, ALIGN4)                                              \
    struct NAME##1 {                                                                          \
        T x;                                                                                  \
    };                                                                                        \
    struct __align__(ALIGN2) NAME##2 {                                                        \
        T x, y;                                                                               \
    };                                                                                        \
    struct NAME##3 {                                                                          \
        T x, y, z;                                                                            \
    };                                                                                        \
    struct __align__(ALIGN4) NAME##4 {                                                        \
        T x, y, z, w;                                                                         \
    };                                                                                        \
    static inline NAME##1 make_##NAME##1(T x) {                                               \
        NAME##1 v = {x};                                                                      \
        return v;                                                                             \
    }                                                                                         \
    static inline NAME##2 make_##NAME##2(T x, T y) {                                          \
        NAME##2 v = {x, y};                                                                   \
        return v;                                                                             \
    }                                                                                         \
    static inline NAME##3 make_##NAME##3(T x, T y, T z) {                                     \
        NAME##3 v = {x, y, z};                                                                \
        return v;                                                                             \
    }                                                                                         \
    static inline NAME##4 make_##NAME##4(T x, T y, T z, T w) {                                \
        NAME##4 v = {x, y, z, w};                                                             \
        return v;                                                                             \
    }

HIP_HOST_VECTOR(signed char, char, 2, 4)
HIP_HOST_VECTOR(unsigned char, uchar, 2, 4)
HIP_HOST_VECTOR(short, short, 4, 8)
HIP_HOST_VECTOR(unsigned short, ushort, 4, 8)
HIP_HOST_VECTOR(int, int, 8, 16)
HIP_HOST_VECTOR(unsigned int, uint, 8, 16)
#if defined(__LP64__)
HIP_HOST_VECTOR(long, long, 16, 16)
HIP_HOST_VECTOR(unsigned long, ulong, 16, 16)
#else
HIP_HOST_VECTOR(long, long, 8, 16)
HIP_HOST_VECTOR(unsigned long, ulong, 8, 16)
#endif
HIP_HOST_VECTOR(long long, longlong, 16, 16)
HIP_HOST_VECTOR(unsigned long long, ulonglong, 16, 16)
HIP_HOST_VECTOR(float, float, 8, 16)
HIP_HOST_VECTOR(double, double, 16, 16)
#undef HIP_HOST_VECTOR

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1)
        : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    operator uint3() const { return make_uint3(x, y, z); }
};

extern "C" {
int printf(const char*, ...);
#ifndef _MSC_VER
void* memcpy(void*, const void*, size_t) noexcept;
void* memmove(void*, const void*, size_t) noexcept;
void* memset(void*, int, size_t) noexcept;
int memcmp(const void*, const void*, size_t) noexcept;
size_t strlen(const char*) noexcept;
#endif
}
#ifdef _MSC_VER
#include <string.h>
#endif

#endif
