// The one file that knows which compiler reads the kernels: NVRTC, HIPRTC or a host C++ compiler.
// It includes nothing, so that every header can be handed to a compiler from memory.
//
// What a kernel text may use from here:
//   u8 u16 u32 u64 i32 i64          fixed-width integers
//   KERNEL_FN                       qualifier of every function a kernel calls
//   KERNEL_BULK                     the same for a function that works on a whole tile: called, not
//                                   inlined, on the host, where a tile is long
//   KERNEL_CALLED                   the same for a large function that is used in many places: called
//                                   on a GPU too, so that a driver has less to translate
//   KERNEL_RESTRICT                 a pointer nothing else points into
//   KERNEL_UNROLL                   before a loop that must be unrolled on a GPU (arrays in
//   registers) KERNEL_LOOP                     before a loop that must stay one, to keep the code
//   small KERNEL_TILE_WIDTH(device)       pixels one call of a tile function covers
//   KERNEL_TILE_ENTRY(...)          defines an entry point, see below
//   KERNEL_THREAD_ENTRY(...)        defines an entry point that works a thread at a time on the host too
//   load_words, store_words         one aligned 4-, 8- or 16-byte access
//   address_of                      a pointer as an integer, for alignment checks
#ifndef HIP_VIDEO_PRELUDE_CUH
#define HIP_VIDEO_PRELUDE_CUH

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;

#define KERNEL_RESTRICT __restrict__

static_assert(sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8, "integer widths");

#if defined(__CUDACC_RTC__) || defined(__CUDACC__)
#define KERNEL_ON_DEVICE 1
#define KERNEL_READ_ONLY(pointer) __ldg(pointer)
#elif defined(__HIPCC_RTC__) || defined(__HIPCC__) || defined(__HIP_DEVICE_COMPILE__)
#define KERNEL_ON_DEVICE 1
#define KERNEL_READ_ONLY(pointer) (*(pointer))
#else
#define KERNEL_ON_DEVICE 0
#define KERNEL_READ_ONLY(pointer) (*(pointer))
#endif

// A tile function has the shape
//     template <..., int WIDTH, ...> void tile(const Params& params, i32 x, i32 y, i32 limit)
// It covers WIDTH pixels to the right of x (a multiple of the entry's tile width), the entry's tile
// height downwards from y, and stores nothing at or right of `limit`.
//
// KERNEL_TILE_ENTRY(name, Params, tile_width, tile_height, width, ...): `...` is the tile function,
// `width` the expression for the picture's width in `params`.
//  * On a GPU every thread runs the tile at (thread.x * tile_width, thread.y * tile_height).
//  * On the host the threads of one block row are merged into runs of KERNEL_HOST_WIDTH pixels, so
//    that the compiler sees long loops it can vectorise. Every block size gives the same pixels.
#if KERNEL_ON_DEVICE

#define KERNEL_FN __device__ __forceinline__
#define KERNEL_BULK __device__ __forceinline__
#define KERNEL_CALLED __device__ __noinline__
#define KERNEL_UNROLL _Pragma("unroll")
#define KERNEL_LOOP _Pragma("unroll 1")
#define KERNEL_TILE_WIDTH(device) (device)
#define KERNEL_TILE_ENTRY(name, Params, tile_width, tile_height, width, ...)        \
    extern "C" __global__ void __launch_bounds__(256) name(const Params params) {   \
        const i32 x = (i32)(blockIdx.x * blockDim.x + threadIdx.x) * (tile_width);  \
        const i32 y = (i32)(blockIdx.y * blockDim.y + threadIdx.y) * (tile_height); \
        __VA_ARGS__(params, x, y, width);                                           \
    }

// Every thread calls `...` with its place in the grid.
#define KERNEL_THREAD_ENTRY(name, Params, ...)                                                   \
    extern "C" __global__ void __launch_bounds__(256) name(const Params params) {                \
        __VA_ARGS__(params, (i32)(blockIdx.x * blockDim.x + threadIdx.x),                        \
                    (i32)(blockIdx.y * blockDim.y + threadIdx.y));                               \
    }

#else

#define KERNEL_HOST_WIDTH 192
#define KERNEL_FN inline __attribute__((always_inline))
#define KERNEL_BULK __attribute__((noinline))
#define KERNEL_CALLED inline
#define KERNEL_UNROLL
#define KERNEL_LOOP
#define KERNEL_TILE_WIDTH(device) KERNEL_HOST_WIDTH
#define KERNEL_PASTE_(name, suffix) name##suffix
#define KERNEL_PASTE(name, suffix) KERNEL_PASTE_(name, suffix)
#ifndef KERNEL_SUFFIX
#define KERNEL_SUFFIX
#endif

// Mirrors `HostLaunch` of hip-dispatch.
struct HostLaunch {
    u32 grid_dim[3];
    u32 block_dim[3];
    u32 shared_mem_bytes;
};

#define KERNEL_TILE_ENTRY(name, Params, tile_width, tile_height, width, ...)                    \
    extern "C" void KERNEL_PASTE(name, KERNEL_SUFFIX)(                                          \
        const void* const* args, const HostLaunch* launch, u64 first_block, u64 end_block) {    \
        const Params& params = *static_cast<const Params*>(args[0]);                            \
        const i32 run = (i32)launch->block_dim[0] * (tile_width);                               \
        for (u64 block = first_block; block < end_block; block++) {                             \
            const u64 block_x = block % launch->grid_dim[0];                                    \
            const u64 block_y = block / launch->grid_dim[0] % launch->grid_dim[1];              \
            const i32 left = (i32)block_x * run;                                                \
            const i32 limit = left + run < (width) ? left + run : (width);                      \
            for (u32 thread_y = 0; thread_y < launch->block_dim[1]; thread_y++) {               \
                const i32 y = (i32)(block_y * launch->block_dim[1] + thread_y) * (tile_height); \
                for (i32 x = left; x < limit; x += KERNEL_HOST_WIDTH)                           \
                    __VA_ARGS__(params, x, y, limit);                                           \
            }                                                                                   \
        }                                                                                       \
    }

#define KERNEL_THREAD_ENTRY(name, Params, ...)                                                  \
    extern "C" void KERNEL_PASTE(name, KERNEL_SUFFIX)(                                          \
        const void* const* args, const HostLaunch* launch, u64 first_block, u64 end_block) {    \
        const Params& params = *static_cast<const Params*>(args[0]);                            \
        const u32 across = launch->block_dim[0], down = launch->block_dim[1];                   \
        for (u64 block = first_block; block < end_block; block++) {                             \
            const u32 x = (u32)(block % launch->grid_dim[0]) * across;                          \
            const u32 y = (u32)(block / launch->grid_dim[0] % launch->grid_dim[1]) * down;      \
            for (u32 thread_y = 0; thread_y < down; thread_y++)                                 \
                for (u32 thread_x = 0; thread_x < across; thread_x++)                           \
                    __VA_ARGS__(params, (i32)(x + thread_x), (i32)(y + thread_y));              \
        }                                                                                       \
    }

#endif

// Anonymous: the host texts are compiled once for each instruction set, and a function of one must
// never be merged with the same function of another by the linker.
namespace {

KERNEL_FN u64 address_of(const void* pointer) {
    return (u64) reinterpret_cast<decltype(sizeof(0))>(pointer);
}

#if KERNEL_ON_DEVICE

// One aligned access of COUNT 32-bit words; COUNT is 1, 2 or 4.
template <int COUNT> KERNEL_FN void load_words(const void* from, u32* words) {
    if (COUNT == 4) {
        const uint4 value = KERNEL_READ_ONLY(reinterpret_cast<const uint4*>(from));
        words[0] = value.x;
        words[1 % COUNT] = value.y;
        words[2 % COUNT] = value.z;
        words[3 % COUNT] = value.w;
    } else if (COUNT == 2) {
        const uint2 value = KERNEL_READ_ONLY(reinterpret_cast<const uint2*>(from));
        words[0] = value.x;
        words[1 % COUNT] = value.y;
    } else {
        words[0] = KERNEL_READ_ONLY(reinterpret_cast<const u32*>(from));
    }
}

template <int COUNT> KERNEL_FN void store_words(void* to, const u32* words) {
    if (COUNT == 4) {
        *reinterpret_cast<uint4*>(to) =
            make_uint4(words[0], words[1 % COUNT], words[2 % COUNT], words[3 % COUNT]);
    } else if (COUNT == 2) {
        *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1 % COUNT]);
    } else {
        *reinterpret_cast<u32*>(to) = words[0];
    }
}

#endif

}  // namespace

#endif
