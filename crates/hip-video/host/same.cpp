// The kernels as host code. build.rs compiles this once for each instruction set, with another
// KERNEL_SUFFIX each time.
#include "same.cu"
