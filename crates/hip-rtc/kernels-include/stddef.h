// What run-time compilers have of stddef.h built in is size_t.
#ifndef HIP_RTC_STDDEF_H
#define HIP_RTC_STDDEF_H

typedef decltype(static_cast<char*>(nullptr) - static_cast<char*>(nullptr)) ptrdiff_t;

#ifndef NULL
#define NULL 0
#endif
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif

#endif
