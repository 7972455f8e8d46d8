// The kernels' device branches (wide accesses, small tiles) as host code, so that tests can run them
// without a GPU. This is a stand-in for what a device compiler has built in.
#define __CUDACC__ 1
#define __device__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(threads)

namespace {

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

struct alignas(8) uint2 {
    unsigned x, y;
};

struct Dim3 {
    unsigned x, y, z;
};

thread_local Dim3 blockIdx, blockDim, threadIdx;

inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
template <class T> inline T __ldg(const T* pointer) { return *pointer; }

}  // namespace

#include "convert.cu"

// Runs every thread of a launch of entry point `number`, one after the other.
extern "C" void hip_video_device_branch(u32 number, const ConvertParams* params, const u32* grid,
                                        const u32* block) {
    typedef void (*Kernel)(const ConvertParams);
    static const Kernel kernels[] = {
        convert_yuv420_8_scaled,    convert_yuv420_8_unscaled, convert_yuv420_16_scaled,
        convert_yuv420_16_unscaled, convert_packed_8_scaled,   convert_packed_8_unscaled,
        convert_planar_8_scaled,    convert_planar_8_unscaled,
    };
    blockDim = {block[0], block[1], 1};
    for (u32 y = 0; y < grid[1]; y++) {
        for (u32 x = 0; x < grid[0]; x++) {
            blockIdx = {x, y, 0};
            for (u32 thread_y = 0; thread_y < block[1]; thread_y++) {
                for (u32 thread_x = 0; thread_x < block[0]; thread_x++) {
                    threadIdx = {thread_x, thread_y, 0};
                    kernels[number](*params);
                }
            }
        }
    }
}
