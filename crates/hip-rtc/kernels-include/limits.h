// Limits of the integers, for run-time compilers, which come without a C library.
#ifndef HIP_RTC_LIMITS_H
#define HIP_RTC_LIMITS_H

#ifndef INT_MAX
#define CHAR_BIT 8
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295u
#define LLONG_MIN (-9223372036854775807ll - 1)
#define LLONG_MAX 9223372036854775807ll
#define ULLONG_MAX 18446744073709551615ull
#endif

#endif
