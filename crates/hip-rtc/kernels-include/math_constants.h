// Infinity and no number, for run-time compilers, which come without CUDA's header of that name.
#ifndef HIP_RTC_MATH_CONSTANTS_H
#define HIP_RTC_MATH_CONSTANTS_H

#ifndef CUDART_INF_F
#define CUDART_INF_F __int_as_float(0x7f800000)
#define CUDART_NAN_F __int_as_float(0x7fffffff)
#endif

#endif
