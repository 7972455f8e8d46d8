// Mathematical functions of float and double. The C library's headers are not read: their
// overloads would collide with these, and C++'s cost more time than a small kernel.
#ifndef HIP_HOST_MATH_H
#define HIP_HOST_MATH_H

#ifdef _MSC_VER
#include <cmath>
#include <cstdlib>
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;
#define HIP_HOST_OVERLOADS 0
#else
#define HIP_HOST_OVERLOADS 1
#endif

#if HIP_HOST_OVERLOADS
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VAL __builtin_inf()
#define HUGE_VALF __builtin_inff()
#endif
#define CUDART_INF_F INFINITY
#define CUDART_NAN_F NAN
#ifndef M_PI
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif

#if HIP_HOST_OVERLOADS
namespace hip_host {

// Integers, and operands of two types, are calculated with as doubles.
template <class T> struct Number {};
#define HIP_HOST_NUMBER(T)             \
    template <> struct Number<T> {     \
        typedef double Double;         \
    };
HIP_HOST_NUMBER(bool)
HIP_HOST_NUMBER(char)
HIP_HOST_NUMBER(signed char)
HIP_HOST_NUMBER(unsigned char)
HIP_HOST_NUMBER(short)
HIP_HOST_NUMBER(unsigned short)
HIP_HOST_NUMBER(int)
HIP_HOST_NUMBER(unsigned int)
HIP_HOST_NUMBER(long)
HIP_HOST_NUMBER(unsigned long)
HIP_HOST_NUMBER(long long)
HIP_HOST_NUMBER(unsigned long long)
HIP_HOST_NUMBER(float)
HIP_HOST_NUMBER(double)
#undef HIP_HOST_NUMBER
template <class A, class B> struct Numbers {
    typedef typename Number<A>::Double First;
    typedef typename Number<B>::Double Double;
};

}  // namespace hip_host

#define HIP_HOST_MATH1(name)                                                              \
    static inline float name##f(float x) { return __builtin_##name##f(x); }               \
    static inline double name(double x) { return __builtin_##name(x); }                   \
    static inline float name(float x) { return __builtin_##name##f(x); }                  \
    template <class T> static inline typename hip_host::Number<T>::Double name(T x) {     \
        return __builtin_##name((double)x);                                               \
    }
#define HIP_HOST_MATH2(name)                                                                 \
    static inline float name##f(float x, float y) { return __builtin_##name##f(x, y); }      \
    static inline double name(double x, double y) { return __builtin_##name(x, y); }         \
    static inline float name(float x, float y) { return __builtin_##name##f(x, y); }         \
    template <class A, class B>                                                              \
    static inline typename hip_host::Numbers<A, B>::Double name(A x, B y) {                  \
        return __builtin_##name((double)x, (double)y);                                       \
    }
HIP_HOST_MATH1(acos)
HIP_HOST_MATH1(acosh)
HIP_HOST_MATH1(asin)
HIP_HOST_MATH1(asinh)
HIP_HOST_MATH1(atan)
HIP_HOST_MATH1(atanh)
HIP_HOST_MATH1(cbrt)
HIP_HOST_MATH1(ceil)
HIP_HOST_MATH1(cos)
HIP_HOST_MATH1(cosh)
HIP_HOST_MATH1(erf)
HIP_HOST_MATH1(erfc)
HIP_HOST_MATH1(exp)
HIP_HOST_MATH1(exp2)
HIP_HOST_MATH1(expm1)
HIP_HOST_MATH1(fabs)
HIP_HOST_MATH1(floor)
HIP_HOST_MATH1(lgamma)
HIP_HOST_MATH1(log)
HIP_HOST_MATH1(log10)
HIP_HOST_MATH1(log1p)
HIP_HOST_MATH1(log2)
HIP_HOST_MATH1(logb)
HIP_HOST_MATH1(nearbyint)
HIP_HOST_MATH1(rint)
HIP_HOST_MATH1(round)
HIP_HOST_MATH1(sin)
HIP_HOST_MATH1(sinh)
HIP_HOST_MATH1(sqrt)
HIP_HOST_MATH1(tan)
HIP_HOST_MATH1(tanh)
HIP_HOST_MATH1(tgamma)
HIP_HOST_MATH1(trunc)
HIP_HOST_MATH2(atan2)
HIP_HOST_MATH2(copysign)
HIP_HOST_MATH2(fdim)
HIP_HOST_MATH2(fmax)
HIP_HOST_MATH2(fmin)
HIP_HOST_MATH2(fmod)
HIP_HOST_MATH2(hypot)
HIP_HOST_MATH2(nextafter)
HIP_HOST_MATH2(pow)
HIP_HOST_MATH2(remainder)
#undef HIP_HOST_MATH1
#undef HIP_HOST_MATH2

static inline double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
static inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
static inline float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
static inline double ldexp(double x, int n) { return __builtin_ldexp(x, n); }
static inline float ldexp(float x, int n) { return __builtin_ldexpf(x, n); }
static inline float ldexpf(float x, int n) { return __builtin_ldexpf(x, n); }
static inline double scalbn(double x, int n) { return __builtin_ldexp(x, n); }
static inline float scalbnf(float x, int n) { return __builtin_ldexpf(x, n); }
static inline double frexp(double x, int* n) { return __builtin_frexp(x, n); }
static inline float frexpf(float x, int* n) { return __builtin_frexpf(x, n); }
static inline double modf(double x, double* whole) { return __builtin_modf(x, whole); }
static inline float modff(float x, float* whole) { return __builtin_modff(x, whole); }
static inline int ilogb(double x) { return __builtin_ilogb(x); }
static inline int ilogbf(float x) { return __builtin_ilogbf(x); }
static inline long lrint(double x) { return __builtin_lrint(x); }
static inline long lrintf(float x) { return __builtin_lrintf(x); }
static inline long lround(double x) { return __builtin_lround(x); }
static inline long lroundf(float x) { return __builtin_lroundf(x); }
static inline long long llrint(double x) { return __builtin_llrint(x); }
static inline long long llrintf(float x) { return __builtin_llrintf(x); }
static inline long long llround(double x) { return __builtin_llround(x); }
static inline long long llroundf(float x) { return __builtin_llroundf(x); }
static inline void sincos(double x, double* sine, double* cosine) {
    *sine = __builtin_sin(x);
    *cosine = __builtin_cos(x);
}
static inline void sincosf(float x, float* sine, float* cosine) {
    *sine = __builtin_sinf(x);
    *cosine = __builtin_cosf(x);
}
static inline bool isnan(float x) { return __builtin_isnan(x); }
static inline bool isnan(double x) { return __builtin_isnan(x); }
static inline bool isinf(float x) { return __builtin_isinf(x); }
static inline bool isinf(double x) { return __builtin_isinf(x); }
static inline bool isfinite(float x) { return __builtin_isfinite(x); }
static inline bool isfinite(double x) { return __builtin_isfinite(x); }
static inline bool signbit(float x) { return __builtin_signbit(x); }
static inline bool signbit(double x) { return __builtin_signbit(x); }
extern "C" {
int abs(int) noexcept;
long labs(long) noexcept;
long long llabs(long long) noexcept;
void* malloc(size_t) noexcept;
void free(void*) noexcept;
void abort() noexcept;
}
static inline long abs(long x) { return x < 0 ? -x : x; }
static inline long long abs(long long x) { return x < 0 ? -x : x; }
static inline float abs(float x) { return __builtin_fabsf(x); }
static inline double abs(double x) { return __builtin_fabs(x); }
#else
static inline void sincos(double x, double* sine, double* cosine) {
    *sine = sin(x);
    *cosine = cos(x);
}
static inline void sincosf(float x, float* sine, float* cosine) {
    *sine = sinf(x);
    *cosine = cosf(x);
}
#endif

static inline float exp10f(float x) { return (float)pow(10.0, (double)x); }
static inline double exp10(double x) { return pow(10.0, x); }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline float rsqrt(float x) { return 1.0f / sqrtf(x); }
static inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
static inline double rcbrt(double x) { return 1.0 / cbrt(x); }
static inline float sinpif(float x) { return (float)sin(M_PI * fmod((double)x, 2.0)); }
static inline double sinpi(double x) { return sin(M_PI * fmod(x, 2.0)); }
static inline float cospif(float x) { return (float)cos(M_PI * fmod((double)x, 2.0)); }
static inline double cospi(double x) { return cos(M_PI * fmod(x, 2.0)); }
static inline float norm3df(float x, float y, float z) { return sqrtf(x * x + y * y + z * z); }
static inline float fdividef(float x, float y) { return x / y; }
static inline float saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

// The types mix as on a GPU: unsigned wins over signed of the same size, the wider over the
// narrower, and of floating-point operands the number wins over NaN.
#define HIP_HOST_MIN_MAX(T, A, B)                                                       \
    static inline T min(A a, B b) { return (T)a < (T)b ? (T)a : (T)b; }                 \
    static inline T max(A a, B b) { return (T)a > (T)b ? (T)a : (T)b; }
HIP_HOST_MIN_MAX(int, int, int)
HIP_HOST_MIN_MAX(unsigned int, unsigned int, unsigned int)
HIP_HOST_MIN_MAX(unsigned int, int, unsigned int)
HIP_HOST_MIN_MAX(unsigned int, unsigned int, int)
HIP_HOST_MIN_MAX(long, long, long)
HIP_HOST_MIN_MAX(unsigned long, unsigned long, unsigned long)
HIP_HOST_MIN_MAX(unsigned long, long, unsigned long)
HIP_HOST_MIN_MAX(unsigned long, unsigned long, long)
HIP_HOST_MIN_MAX(long long, long long, long long)
HIP_HOST_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
HIP_HOST_MIN_MAX(unsigned long long, long long, unsigned long long)
HIP_HOST_MIN_MAX(unsigned long long, unsigned long long, long long)
#undef HIP_HOST_MIN_MAX
#define HIP_HOST_MIN_MAX(T, A, B, SUFFIX)                                   \
    static inline T min(A a, B b) { return fmin##SUFFIX((T)a, (T)b); }      \
    static inline T max(A a, B b) { return fmax##SUFFIX((T)a, (T)b); }
HIP_HOST_MIN_MAX(float, float, float, f)
HIP_HOST_MIN_MAX(double, double, double, )
HIP_HOST_MIN_MAX(double, float, double, )
HIP_HOST_MIN_MAX(double, double, float, )
#undef HIP_HOST_MIN_MAX
static inline unsigned int umin(unsigned int a, unsigned int b) { return min(a, b); }
static inline unsigned int umax(unsigned int a, unsigned int b) { return max(a, b); }

#endif
