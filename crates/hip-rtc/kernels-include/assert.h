// A check that ends the launch, for run-time compilers, which come without a C library.
#ifndef HIP_RTC_ASSERT_H
#define HIP_RTC_ASSERT_H

#ifndef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#elif defined(__CUDACC__)
#define assert(condition) ((condition) ? (void)0 : __trap())
#else
#define assert(condition) ((condition) ? (void)0 : __builtin_trap())
#endif
#endif

#endif
