// What the CUBIN files beside this were compiled from, by the NVRTC and for the architecture that
// their names say, with --std=c++17.
struct S { char a; double b; int c[5]; };
extern "C" __global__ void __launch_bounds__(96) first(char a, const S s, float *out) { out[threadIdx.x] = a + s.b + s.c[1]; }
extern "C" __global__ void second() {}
