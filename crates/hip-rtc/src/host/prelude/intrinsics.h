// Functions that are instructions on a GPU. What is fast and rough there is exact here.
#ifndef HIP_HOST_INTRINSICS_H
#define HIP_HOST_INTRINSICS_H

static inline float __cosf(float x) { return cosf(x); }
static inline float __sinf(float x) { return sinf(x); }
static inline float __tanf(float x) { return tanf(x); }
static inline float __expf(float x) { return expf(x); }
static inline float __exp10f(float x) { return exp10f(x); }
static inline float __logf(float x) { return logf(x); }
static inline float __log2f(float x) { return log2f(x); }
static inline float __log10f(float x) { return log10f(x); }
static inline float __powf(float x, float y) { return powf(x, y); }
static inline void __sincosf(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
static inline float __fdividef(float x, float y) { return x / y; }
static inline float __saturatef(float x) { return saturatef(x); }
static inline float __fadd_rn(float x, float y) { return x + y; }
static inline float __fsub_rn(float x, float y) { return x - y; }
static inline float __fdiv_rn(float x, float y) { return x / y; }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __frsqrt_rn(float x) { return (float)(1.0 / sqrt((double)x)); }
static inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
static inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
static inline double __ddiv_rn(double x, double y) { return x / y; }
static inline double __drcp_rn(double x) { return 1.0 / x; }
static inline double __dsqrt_rn(double x) { return sqrt(x); }
// Through a volatile, so that the product is not contracted with an addition of the caller's.
static inline float __fmul_rn(float x, float y) {
    volatile float product = x * y;
    return product;
}
static inline double __dmul_rn(double x, double y) {
    volatile double product = x * y;
    return product;
}
static inline double __dadd_rn(double x, double y) { return x + y; }

static inline int __float_as_int(float x) { return hip_host::bits<int>(x); }
static inline unsigned int __float_as_uint(float x) { return hip_host::bits<unsigned int>(x); }
static inline float __int_as_float(int x) { return hip_host::bits<float>(x); }
static inline float __uint_as_float(unsigned int x) { return hip_host::bits<float>(x); }
static inline long long __double_as_longlong(double x) { return hip_host::bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return hip_host::bits<double>(x); }
static inline int __double2hiint(double x) { return (int)(hip_host::bits<long long>(x) >> 32); }
static inline int __double2loint(double x) { return (int)hip_host::bits<long long>(x); }
static inline double __hiloint2double(int high, int low) {
    return hip_host::bits<double>((long long)high << 32 | (unsigned int)low);
}

namespace hip_host {

// A number out of range becomes the nearest one that fits, and NaN 0, as on a GPU; a C++ cast of
// such a value means nothing.
template <class T, class F> static inline T saturate(F value, T least, T most) {
    if (!(value == value)) return 0;
    // The limit may be rounded up by the conversion, so that `>=` is the right comparison.
    if (value >= (F)most) return most;
    return value <= (F)least ? least : (T)value;
}
template <class F> static inline int to_int(F x) {
    return saturate<int>(x, -0x7fffffff - 1, 0x7fffffff);
}
template <class F> static inline unsigned int to_uint(F x) {
    return saturate<unsigned int>(x, 0u, 0xffffffffu);
}
template <class F> static inline long long to_longlong(F x) {
    return saturate<long long>(x, -0x7fffffffffffffffll - 1, 0x7fffffffffffffffll);
}
template <class F> static inline unsigned long long to_ulonglong(F x) {
    return saturate<unsigned long long>(x, 0ull, 0xffffffffffffffffull);
}

}  // namespace hip_host

#define HIP_HOST_CONVERT(FROM, TYPE, TO, FUNCTION)                                             \
    static inline TO __##FROM##_rn(TYPE x) { return hip_host::FUNCTION(rint(x)); }             \
    static inline TO __##FROM##_rz(TYPE x) { return hip_host::FUNCTION(trunc(x)); }            \
    static inline TO __##FROM##_ru(TYPE x) { return hip_host::FUNCTION(ceil(x)); }             \
    static inline TO __##FROM##_rd(TYPE x) { return hip_host::FUNCTION(floor(x)); }
HIP_HOST_CONVERT(float2int, float, int, to_int)
HIP_HOST_CONVERT(float2uint, float, unsigned int, to_uint)
HIP_HOST_CONVERT(float2ll, float, long long, to_longlong)
HIP_HOST_CONVERT(float2ull, float, unsigned long long, to_ulonglong)
HIP_HOST_CONVERT(double2int, double, int, to_int)
HIP_HOST_CONVERT(double2uint, double, unsigned int, to_uint)
HIP_HOST_CONVERT(double2ll, double, long long, to_longlong)
HIP_HOST_CONVERT(double2ull, double, unsigned long long, to_ulonglong)
#undef HIP_HOST_CONVERT
static inline float __int2float_rn(int x) { return (float)x; }
static inline float __uint2float_rn(unsigned int x) { return (float)x; }
static inline float __ll2float_rn(long long x) { return (float)x; }
static inline float __ull2float_rn(unsigned long long x) { return (float)x; }
static inline double __int2double_rn(int x) { return (double)x; }
static inline double __uint2double_rn(unsigned int x) { return (double)x; }
static inline double __ll2double_rn(long long x) { return (double)x; }
static inline float __double2float_rn(double x) { return (float)x; }

static inline int __popcll(unsigned long long x) {
    x -= x >> 1 & 0x5555555555555555ull;
    x = (x & 0x3333333333333333ull) + (x >> 2 & 0x3333333333333333ull);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
    return (int)(x * 0x0101010101010101ull >> 56);
}
static inline int __popc(unsigned int x) { return __popcll(x); }
// Bits below the highest set one, counted.
static inline int __clzll(long long value) {
    unsigned long long x = (unsigned long long)value;
    for (int shift = 1; shift < 64; shift *= 2) x |= x >> shift;
    return 64 - __popcll(x);
}
static inline int __clz(int x) { return __clzll((unsigned int)x) - 32; }
static inline int __ffsll(long long value) {
    const unsigned long long x = (unsigned long long)value;
    return x ? __popcll((x & (0 - x)) - 1) + 1 : 0;
}
static inline int __ffs(int x) { return __ffsll((unsigned int)x); }
static inline unsigned int __brev(unsigned int x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    x = (x >> 8 & 0x00ff00ffu) | (x & 0x00ff00ffu) << 8;
    return x >> 16 | x << 16;
}
static inline unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev((unsigned int)x) << 32 | __brev((unsigned int)(x >> 32));
}
// Each nibble of the selector takes a byte of the eight, or, with its top bit, that byte's sign.
static inline unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector) {
    const unsigned long long bytes = (unsigned long long)y << 32 | x;
    unsigned int result = 0;
    for (int index = 0; index < 4; index++) {
        const unsigned int nibble = selector >> 4 * index;
        unsigned int byte = (unsigned int)(bytes >> 8 * (nibble & 7)) & 0xffu;
        if (nibble & 8) byte = byte & 0x80u ? 0xffu : 0;
        result |= byte << 8 * index;
    }
    return result;
}
static inline unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int by) {
    return (unsigned int)(((unsigned long long)high << 32 | low) << (by & 31) >> 32);
}
static inline unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int by) {
    return (unsigned int)(((unsigned long long)high << 32 | low) >> (by & 31));
}
static inline int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
static inline unsigned int __umulhi(unsigned int x, unsigned int y) {
    return (unsigned int)((unsigned long long)x * y >> 32);
}
static inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    const unsigned long long a = x >> 32, b = x & 0xffffffffu, c = y >> 32, d = y & 0xffffffffu;
    const unsigned long long middle = (b * d >> 32) + (a * d & 0xffffffffu) + (b * c & 0xffffffffu);
    return a * c + (a * d >> 32) + (b * c >> 32) + (middle >> 32);
}
static inline long long __mul64hi(long long x, long long y) {
    const unsigned long long high = __umul64hi((unsigned long long)x, (unsigned long long)y);
    return (long long)(high - (x < 0 ? (unsigned long long)y : 0) -
                       (y < 0 ? (unsigned long long)x : 0));
}
static inline int __mul24(int x, int y) {
    return (int)((unsigned int)((int)((unsigned int)x << 8) >> 8) *
                 (unsigned int)((int)((unsigned int)y << 8) >> 8));
}
static inline unsigned int __umul24(unsigned int x, unsigned int y) {
    return (x & 0xffffffu) * (y & 0xffffffu);
}
static inline unsigned int __sad(int x, int y, unsigned int z) {
    return z + (x > y ? (unsigned int)x - (unsigned int)y : (unsigned int)y - (unsigned int)x);
}
static inline int __hadd(int x, int y) { return (int)(((long long)x + y) >> 1); }
static inline int __rhadd(int x, int y) { return (int)(((long long)x + y + 1) >> 1); }

template <class T> static inline T __ldg(const T* address) { return *address; }
template <class T> static inline T __ldcg(const T* address) { return *address; }
template <class T> static inline T __ldcs(const T* address) { return *address; }
template <class T> static inline void __stcg(T* address, T value) { *address = value; }
template <class T> static inline void __stcs(T* address, T value) { *address = value; }

// A count that goes up with time, of the CPU's own rate.
#if defined(_M_X64) || defined(__x86_64__)
#ifdef _MSC_VER
static inline long long clock64() { return (long long)__rdtsc(); }
#else
static inline long long clock64() { return (long long)__builtin_ia32_rdtsc(); }
#endif
#elif defined(_M_ARM64)
static inline long long clock64() { return _ReadStatusReg(ARM64_CNTVCT); }
#elif defined(__aarch64__)
static inline long long clock64() {
    long long count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
}
#endif
#if defined(_M_X64) || defined(__x86_64__) || defined(_M_ARM64) || defined(__aarch64__)
typedef long clock_t;
static inline clock_t clock() { return (clock_t)clock64(); }
static inline long long wall_clock64() { return clock64(); }
#endif
static inline void __nanosleep(unsigned int) {}

#endif
