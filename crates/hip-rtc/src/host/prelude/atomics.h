// Atomics and fences. Blocks run on several OS threads, so these are the CPU's own, in relaxed order
// as on a GPU.
#ifndef HIP_HOST_ATOMICS_H
#define HIP_HOST_ATOMICS_H

#ifdef _MSC_VER
#include <intrin.h>
#endif

namespace hip_host {

template <unsigned BYTES> struct Word;
template <> struct Word<2> {
    typedef unsigned short Type;
};
template <> struct Word<4> {
    typedef unsigned int Type;
};
template <> struct Word<8> {
    typedef unsigned long long Type;
};

template <class To, class From> static inline To bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "bits of another size");
    To to;
    memcpy(&to, &from, sizeof(To));
    return to;
}

// Stores `wanted` where `expected` was found, and gives what was found.
template <class W> static inline W exchange_if(W* at, W expected, W wanted) {
#ifdef _MSC_VER
    if (sizeof(W) == 2)
        return (W)_InterlockedCompareExchange16((volatile short*)at, (short)wanted, (short)expected);
    if (sizeof(W) == 4)
        return (W)_InterlockedCompareExchange((volatile long*)at, (long)wanted, (long)expected);
    return (W)_InterlockedCompareExchange64((volatile long long*)at, (long long)wanted,
                                            (long long)expected);
#else
    __atomic_compare_exchange_n(at, &expected, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
#endif
}

// Replaces a value by a function of it, and gives the old one.
template <class T, class F> static inline T update(T* at, F function) {
    typedef typename Word<sizeof(T)>::Type W;
    W* word = reinterpret_cast<W*>(at);
    W seen = *const_cast<volatile W*>(word);
    for (;;) {
        const W wanted = bits<W>((T)function(bits<T>(seen)));
        const W found = exchange_if(word, seen, wanted);
        if (found == seen) return bits<T>(found);
        seen = found;
    }
}

template <class T> static inline T fetch_add(T* at, T value) {
#ifdef _MSC_VER
    return update(at, [=](T old) { return old + value; });
#else
    return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
#endif
}
static inline float fetch_add(float* at, float value) {
    return update(at, [=](float old) { return old + value; });
}
static inline double fetch_add(double* at, double value) {
    return update(at, [=](double old) { return old + value; });
}

}  // namespace hip_host

// A function of (T* address, T value) whose new value is EXPRESSION of `old` and `value`, under its
// three names: a narrower scope is served by the whole device's.
#define HIP_HOST_ATOMIC_AS(NAME, T, BODY)                    \
    static inline T NAME(T* address, T value) { BODY }       \
    static inline T NAME##_block(T* address, T value) { BODY } \
    static inline T NAME##_system(T* address, T value) { BODY }
#define HIP_HOST_ATOMIC(NAME, T, EXPRESSION) \
    HIP_HOST_ATOMIC_AS(                      \
        NAME, T, return hip_host::update(address, [=](T old) -> T { return EXPRESSION; });)
#define HIP_HOST_ATOMIC_INTEGER(T)                                                  \
    HIP_HOST_ATOMIC_AS(atomicAdd, T, return hip_host::fetch_add(address, value);)   \
    HIP_HOST_ATOMIC(atomicMin, T, value < old ? value : old)                        \
    HIP_HOST_ATOMIC(atomicMax, T, value > old ? value : old)                        \
    HIP_HOST_ATOMIC(atomicAnd, T, old& value)                                       \
    HIP_HOST_ATOMIC(atomicOr, T, old | value)                                       \
    HIP_HOST_ATOMIC(atomicXor, T, old ^ value)                                      \
    HIP_HOST_ATOMIC(atomicSub, T, old - value)                                      \
    HIP_HOST_ATOMIC_EXCHANGE(T)
#define HIP_HOST_ATOMIC_EXCHANGE(T)                                                           \
    HIP_HOST_ATOMIC(atomicExch, T, ((void)old, value))                                        \
    HIP_HOST_ATOMIC_CAS(T)
#define HIP_HOST_ATOMIC_CAS_AS(NAME, T)                                                       \
    static inline T NAME(T* address, T compare, T value) {                                    \
        typedef hip_host::Word<sizeof(T)>::Type W;                                            \
        return hip_host::bits<T>(hip_host::exchange_if(                                       \
            reinterpret_cast<W*>(address), hip_host::bits<W>(compare), hip_host::bits<W>(value))); \
    }
#define HIP_HOST_ATOMIC_CAS(T)                 \
    HIP_HOST_ATOMIC_CAS_AS(atomicCAS, T)       \
    HIP_HOST_ATOMIC_CAS_AS(atomicCAS_block, T) \
    HIP_HOST_ATOMIC_CAS_AS(atomicCAS_system, T)

HIP_HOST_ATOMIC_INTEGER(int)
HIP_HOST_ATOMIC_INTEGER(unsigned int)
HIP_HOST_ATOMIC_INTEGER(long long)
HIP_HOST_ATOMIC_INTEGER(unsigned long long)
#ifdef __LP64__
HIP_HOST_ATOMIC_INTEGER(unsigned long)
#endif
HIP_HOST_ATOMIC_CAS(unsigned short)
HIP_HOST_ATOMIC_EXCHANGE(float)
HIP_HOST_ATOMIC_EXCHANGE(double)
HIP_HOST_ATOMIC_AS(atomicAdd, float, return hip_host::fetch_add(address, value);)
HIP_HOST_ATOMIC_AS(atomicAdd, double, return hip_host::fetch_add(address, value);)
HIP_HOST_ATOMIC(atomicInc, unsigned int, old >= value ? 0 : old + 1)
HIP_HOST_ATOMIC(atomicDec, unsigned int, old == 0 || old > value ? value : old - 1)

#undef HIP_HOST_ATOMIC
#undef HIP_HOST_ATOMIC_AS
#undef HIP_HOST_ATOMIC_INTEGER
#undef HIP_HOST_ATOMIC_EXCHANGE
#undef HIP_HOST_ATOMIC_CAS
#undef HIP_HOST_ATOMIC_CAS_AS

static inline void __threadfence() {
#ifdef _MSC_VER
    _ReadWriteBarrier();
    __faststorefence();
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}
static inline void __threadfence_block() { __threadfence(); }
static inline void __threadfence_system() { __threadfence(); }

#endif
