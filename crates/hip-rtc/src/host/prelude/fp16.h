// Half precision: storage and conversion, which is all that a CPU does with it.
#ifndef HIP_HOST_FP16_H
#define HIP_HOST_FP16_H

struct __align__(2) __half;

namespace hip_host {

// To the nearest, ties to even; NaN stays NaN, and what is too large becomes infinite.
static inline unsigned short half_from_float(float value) {
    const unsigned int word = bits<unsigned int>(value);
    const unsigned int sign = word >> 16 & 0x8000u;
    const unsigned int magnitude = word & 0x7fffffffu;
    // Of a NaN the top of the payload stays, made quiet.
    const unsigned int special =
        magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x1ffu) : 0x7c00u;
    // Below 2^-14 the addition of 0.5 leaves the half's subnormal steps in the low bits, rounded.
    const unsigned int small =
        bits<unsigned int>(bits<float>(magnitude) + 0.5f) - bits<unsigned int>(0.5f);
    const unsigned int normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    const unsigned int half = magnitude >= 0x47800000u   ? special
                              : magnitude >= 0x38800000u ? normal
                                                         : small;
    return (unsigned short)(sign | half);
}

static inline float half_to_float(unsigned short half) {
    const unsigned int sign = (half & 0x8000u) << 16;
    const unsigned int magnitude = half & 0x7fffu;
    const unsigned int normal = (magnitude << 13) + 0x38000000u;
    // A subnormal counts in steps of 2^-24.
    const unsigned int small = bits<unsigned int>((float)magnitude * 5.9604644775390625e-8f);
    const unsigned int special = magnitude << 13 | 0x7f800000u;
    const unsigned int word = magnitude >= 0x7c00u ? special : magnitude >= 0x400u ? normal : small;
    return bits<float>(sign | word);
}

}  // namespace hip_host

struct __align__(2) __half {
    unsigned short __x;
    __half() = default;
    __half(float value) : __x(hip_host::half_from_float(value)) {}
    __half(double value) : __x(hip_host::half_from_float((float)value)) {}
    __half(int value) : __x(hip_host::half_from_float((float)value)) {}
    operator float() const { return hip_host::half_to_float(__x); }
};
typedef __half half;

struct __align__(4) __half2 {
    __half x, y;
    __half2() = default;
    __half2(__half low, __half high) : x(low), y(high) {}
};
typedef __half2 half2;

static inline __half __float2half(float value) { return __half(value); }
static inline __half __float2half_rn(float value) { return __half(value); }
static inline __half __double2half(double value) { return __half(value); }
static inline __half __int2half_rn(int value) { return __half((float)value); }
static inline float __half2float(__half value) { return (float)value; }
static inline unsigned short __half_as_ushort(__half value) { return value.__x; }
static inline short __half_as_short(__half value) { return (short)value.__x; }
static inline __half __ushort_as_half(unsigned short value) {
    __half half;
    half.__x = value;
    return half;
}
static inline __half __short_as_half(short value) { return __ushort_as_half((unsigned short)value); }

static inline __half2 make_half2(__half x, __half y) { return __half2(x, y); }
static inline __half2 __halves2half2(__half x, __half y) { return __half2(x, y); }
static inline __half2 __half2half2(__half x) { return __half2(x, x); }
static inline __half2 __float2half2_rn(float x) { return __half2(__half(x), __half(x)); }
static inline __half2 __floats2half2_rn(float x, float y) { return __half2(__half(x), __half(y)); }
static inline __half2 __float22half2_rn(float2 v) { return __half2(__half(v.x), __half(v.y)); }
static inline float2 __half22float2(__half2 v) { return make_float2((float)v.x, (float)v.y); }
static inline float __low2float(__half2 v) { return (float)v.x; }
static inline float __high2float(__half2 v) { return (float)v.y; }
static inline __half __low2half(__half2 v) { return v.x; }
static inline __half __high2half(__half2 v) { return v.y; }

#define HIP_HOST_HALF(NAME, OPERATOR)                                                          \
    static inline __half NAME(__half a, __half b) { return __half((float)a OPERATOR(float) b); } \
    static inline __half2 NAME##2(__half2 a, __half2 b) {                                      \
        return __half2(NAME(a.x, b.x), NAME(a.y, b.y));                                        \
    }
HIP_HOST_HALF(__hadd, +)
HIP_HOST_HALF(__hsub, -)
HIP_HOST_HALF(__hmul, *)
#undef HIP_HOST_HALF
static inline __half __hdiv(__half a, __half b) { return __half((float)a / (float)b); }
static inline __half __hneg(__half a) { return __ushort_as_half(a.__x ^ 0x8000u); }
// The product of two halves is exact in float; the sum is rounded to float and then to half.
static inline __half __hfma(__half a, __half b, __half c) {
    return __half((float)((double)(float)a * (float)b + (float)c));
}
static inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
    return __half2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
static inline bool __heq(__half a, __half b) { return (float)a == (float)b; }
static inline bool __hne(__half a, __half b) { return (float)a != (float)b; }
static inline bool __hlt(__half a, __half b) { return (float)a < (float)b; }
static inline bool __hle(__half a, __half b) { return (float)a <= (float)b; }
static inline bool __hgt(__half a, __half b) { return (float)a > (float)b; }
static inline bool __hge(__half a, __half b) { return (float)a >= (float)b; }
static inline bool __hisnan(__half a) { return (a.__x & 0x7fffu) > 0x7c00u; }

#endif
