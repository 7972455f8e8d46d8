// 16-bit floating point for run-time compilers without a vendor's headers: the names of
// cuda_fp16.h and hip_fp16.h that kernels use most. Arithmetic goes through float and back, which
// rounds as the 16-bit operation does for + - * / (float has more than twice the digits).
#ifndef HIP_RTC_FP16_H
#define HIP_RTC_FP16_H

// HIPRTC has the whole of hip_fp16.h built in.
#if defined(__CUDACC_RTC__) && !defined(__CUDA_FP16_H__)

struct __attribute__((aligned(2))) __half_raw {
    unsigned short x;
};

struct __attribute__((aligned(2))) __half {
    unsigned short __x;

    __half() = default;
    __device__ __forceinline__ __half(const __half_raw raw) : __x(raw.x) {}
    __device__ __forceinline__ __half(float value) {
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(__x) : "f"(value));
    }
    __device__ __forceinline__ __half(double value) {
        asm("cvt.rn.f16.f64 %0, %1;" : "=h"(__x) : "d"(value));
    }
    __device__ __forceinline__ __half(int value) : __half((float)value) {}
    __device__ __forceinline__ __half(unsigned value) : __half((float)value) {}
    __device__ __forceinline__ operator float() const {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(__x));
        return value;
    }
    __device__ __forceinline__ operator __half_raw() const { return __half_raw{__x}; }
};

struct __attribute__((aligned(4))) __half2 {
    __half x, y;

    __half2() = default;
    __device__ __forceinline__ __half2(const __half a, const __half b) : x(a), y(b) {}
};

typedef __half half;
typedef __half2 half2;

#define HIP_RTC_FN static __device__ __forceinline__

HIP_RTC_FN float __half2float(const __half a) { return (float)a; }
HIP_RTC_FN __half __float2half(const float a) { return __half(a); }
HIP_RTC_FN __half __float2half_rn(const float a) { return __half(a); }
HIP_RTC_FN __half __double2half(const double a) { return __half(a); }

#define HIP_RTC_ROUNDED(mode)                                           \
    HIP_RTC_FN __half __float2half_##mode(const float a) {              \
        __half_raw raw;                                                 \
        asm("cvt." #mode ".f16.f32 %0, %1;" : "=h"(raw.x) : "f"(a));    \
        return __half(raw);                                             \
    }
HIP_RTC_ROUNDED(rz)
HIP_RTC_ROUNDED(rd)
HIP_RTC_ROUNDED(ru)
#undef HIP_RTC_ROUNDED

HIP_RTC_FN unsigned short __half_as_ushort(const __half a) { return a.__x; }
HIP_RTC_FN short __half_as_short(const __half a) { return (short)a.__x; }
HIP_RTC_FN __half __ushort_as_half(const unsigned short a) { return __half(__half_raw{a}); }
HIP_RTC_FN __half __short_as_half(const short a) { return __ushort_as_half((unsigned short)a); }

HIP_RTC_FN int __half2int_rn(const __half a) { return __float2int_rn((float)a); }
HIP_RTC_FN int __half2int_rz(const __half a) { return __float2int_rz((float)a); }
HIP_RTC_FN unsigned __half2uint_rn(const __half a) { return __float2uint_rn((float)a); }
HIP_RTC_FN unsigned __half2uint_rz(const __half a) { return __float2uint_rz((float)a); }
HIP_RTC_FN __half __int2half_rn(const int a) { return __half((float)a); }
HIP_RTC_FN __half __uint2half_rn(const unsigned a) { return __half((float)a); }

#define HIP_RTC_ARITHMETIC(name, symbol)                                          \
    HIP_RTC_FN __half name(const __half a, const __half b) {                      \
        return __half((float)a symbol(float) b);                                  \
    }                                                                             \
    HIP_RTC_FN __half operator symbol(const __half a, const __half b) {           \
        return name(a, b);                                                        \
    }                                                                             \
    HIP_RTC_FN __half& operator symbol##=(__half& a, const __half b) {            \
        return a = name(a, b);                                                    \
    }                                                                             \
    HIP_RTC_FN __half2 name##2(const __half2 a, const __half2 b) {                \
        return __half2(name(a.x, b.x), name(a.y, b.y));                           \
    }
HIP_RTC_ARITHMETIC(__hadd, +)
HIP_RTC_ARITHMETIC(__hsub, -)
HIP_RTC_ARITHMETIC(__hmul, *)
HIP_RTC_ARITHMETIC(__hdiv, /)
#undef HIP_RTC_ARITHMETIC

#define HIP_RTC_COMPARISON(name, symbol)                                                    \
    HIP_RTC_FN bool name(const __half a, const __half b) { return (float)a symbol(float) b; } \
    HIP_RTC_FN bool operator symbol(const __half a, const __half b) { return name(a, b); }
HIP_RTC_COMPARISON(__heq, ==)
HIP_RTC_COMPARISON(__hne, !=)
HIP_RTC_COMPARISON(__hlt, <)
HIP_RTC_COMPARISON(__hle, <=)
HIP_RTC_COMPARISON(__hgt, >)
HIP_RTC_COMPARISON(__hge, >=)
#undef HIP_RTC_COMPARISON

// The product is exact in float, its sum with c is not: only the instruction rounds once.
HIP_RTC_FN __half __hfma(const __half a, const __half b, const __half c) {
    __half_raw raw;
    asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(raw.x) : "h"(a.__x), "h"(b.__x), "h"(c.__x));
    return __half(raw);
}
HIP_RTC_FN __half2 __hfma2(const __half2 a, const __half2 b, const __half2 c) {
    return __half2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
HIP_RTC_FN __half __hneg(const __half a) {
    return __ushort_as_half((unsigned short)(a.__x ^ 0x8000u));
}
HIP_RTC_FN __half operator-(const __half a) { return __hneg(a); }
HIP_RTC_FN __half __habs(const __half a) {
    return __ushort_as_half((unsigned short)(a.__x & 0x7fffu));
}
HIP_RTC_FN bool __hisnan(const __half a) { return (a.__x & 0x7fffu) > 0x7c00u; }
HIP_RTC_FN __half hsqrt(const __half a) { return __half(sqrtf((float)a)); }

HIP_RTC_FN __half __low2half(const __half2 a) { return a.x; }
HIP_RTC_FN __half __high2half(const __half2 a) { return a.y; }
HIP_RTC_FN float __low2float(const __half2 a) { return (float)a.x; }
HIP_RTC_FN float __high2float(const __half2 a) { return (float)a.y; }
HIP_RTC_FN __half2 __half2half2(const __half a) { return __half2(a, a); }
HIP_RTC_FN __half2 __halves2half2(const __half a, const __half b) { return __half2(a, b); }
HIP_RTC_FN __half2 __float2half2_rn(const float a) { return __half2(__half(a), __half(a)); }
HIP_RTC_FN __half2 __floats2half2_rn(const float a, const float b) {
    return __half2(__half(a), __half(b));
}
HIP_RTC_FN __half2 __float22half2_rn(const float2 a) { return __floats2half2_rn(a.x, a.y); }
HIP_RTC_FN float2 __half22float2(const __half2 a) {
    return make_float2((float)a.x, (float)a.y);
}
#undef HIP_RTC_FN

#endif

#endif
