// How a kernel runs: the loop over a block's threads, barriers, and what the loader reads.
// hip-dispatch's `host/object.rs` and `host/fiber.rs` mirror the structures here.
#ifndef HIP_HOST_EXECUTION_H
#define HIP_HOST_EXECUTION_H

namespace hip_host {

struct Launch {
    uint32_t grid_dim[3];
    uint32_t block_dim[3];
    uint32_t shared_mem_bytes;
};

// The threads of a block that may wait at a barrier. The runtime hands the loop over `next` from
// a fiber whose thread waits to another, and tells the first through `parked`.
struct Threads {
    uint32_t next;
    uint32_t count;
    uint32_t* parked;
};

struct Runtime {
    uint32_t bytes;
    uint32_t version;
    // Runs `threads(context)` on as many fibers as it takes; 0 if the block failed.
    uint32_t (*run_block)(void (*threads)(void* context), void* context, Threads* state);
    // Waits for the block's other threads. Gives how many predicates were not 0 in the low half
    // and how many threads came in the high half.
    uint64_t (*barrier)(uint32_t predicate);
    // Memory of this OS thread for a block, 64-byte aligned; null if there is none.
    unsigned char* (*shared)(uint32_t bytes);
    // Fails the launch; does not return.
    void (*fail)(const char* text);
};

struct Param {
    uint32_t size;
    uint32_t align;
    uint32_t pointer;
};

// What a kernel takes, without addresses, so that it is found in the file as it is in memory.
template <unsigned COUNT, unsigned NAME> struct Info {
    unsigned char magic[16];
    uint32_t version;
    uint32_t max_threads;
    uint32_t param_count;
    uint32_t name_bytes;
    Param params[COUNT + 1];
    char name[NAME];
};

typedef void (*Run)(const void* const* args, const Launch* launch, uint64_t first, uint64_t end);

struct Kernel {
    const char* name;
    const void* info;
    Run run;
    const Kernel* next;
};

struct Module {
    unsigned char magic[16];
    uint32_t bytes;
    uint32_t version;
    const Kernel* first;
};

#define HIP_HOST_VERSION 1
#define HIP_HOST_MAGIC(kind) \
    { 0x8f, 'h', 'i', 'p', '-', 'h', 'o', 's', 't', '-', kind, 0xd1, 0x1e, 0xa5, 0x93, 0x0a }

static Module module = {HIP_HOST_MAGIC('m'), sizeof(Module), HIP_HOST_VERSION, 0};
static const Runtime* runtime;

// What a kernel sees of its thread.
struct Thread {
    uint3 thread;
    uint3 block;
    dim3 block_dim;
    dim3 grid_dim;
    unsigned char* shared;
};

// A block's dynamic shared memory, for functions other than kernels.
static thread_local unsigned char* shared;

// Binds to a reference to an array of any type.
struct Shared {
    unsigned char* at;
    template <class T> operator T&() const { return *reinterpret_cast<T*>(at); }
};

// `extern __shared__ T name[]` outside of functions.
template <class T> struct SharedArray;
template <class T> struct SharedArray<T[]> {
    operator T*() const { return reinterpret_cast<T*>(shared); }
};

}  // namespace hip_host

// What functions other than kernels read; a kernel has locals of these names. Set only for kernels
// that call a function which mentions them.
static thread_local uint3 threadIdx;
static thread_local uint3 blockIdx;
static thread_local dim3 blockDim;
static thread_local dim3 gridDim;
static const int warpSize = 1;

namespace hip_host {

// A block's most threads, which the launch has checked.
#define HIP_HOST_MAX_THREADS 1024u
// Of these blocks `blockIdx.x * blockDim.x + threadIdx.x` is below 2^31: a compiler that knows it
// does not reckon with the sum's overflow, and loads neighbours together instead of one by one. GCC
// has to be told; Clang tests for the overflow itself, and is misled by what GCC needs.
#define HIP_HOST_FEW_BLOCKS (1u << 21)

enum {
    // Threads may wait at a barrier, or end the launch.
    PARKS = 1,
    // A function that is called reads the thread-local indices.
    READS_INDEX = 2,
};

template <class T> struct Bare {
    typedef T Type;
};
template <class T> struct Bare<const T> {
    typedef T Type;
};
template <class T> struct IsPointer {
    enum { VALUE = 0 };
};
template <class T> struct IsPointer<T*> {
    enum { VALUE = 1 };
};

template <unsigned... I> struct Indices {};
template <unsigned N, unsigned... I> struct Count : Count<N - 1, N - 1, I...> {};
template <unsigned... I> struct Count<0, I...> {
    typedef Indices<I...> Type;
};

static inline void set_block(const Thread& thread) {
    blockIdx = thread.block;
    blockDim = thread.block_dim;
    gridDim = thread.grid_dim;
}

template <unsigned FLAGS, class Body> struct Block {
    const Body& body;
    const Thread& thread;
    Threads state;

    // The loop of one fiber. A fiber whose thread waited has been overtaken by another that does
    // the rest.
    static void threads(void* context) {
        Block& block = *static_cast<Block*>(context);
        const dim3 dim = block.thread.block_dim;
        while (block.state.next < block.state.count) {
            const uint32_t index = block.state.next++;
            uint32_t parked = 0;
            block.state.parked = &parked;
            Thread thread = block.thread;
            thread.thread = make_uint3(index % dim.x, index / dim.x % dim.y, index / dim.x / dim.y);
            if (FLAGS & READS_INDEX) threadIdx = thread.thread;
            block.body(thread);
            if (*static_cast<volatile uint32_t*>(&parked)) return;
        }
    }

    // Threads of a block run in no order on a GPU either, but the compiler is not told that the
    // iterations are independent (`ivdep`, `assume_safety`): an array of a thread's own has one
    // address in all of them, and GCC with AVX-512 and Clang then mix the threads' elements. Where
    // pointers may overlap, the compiler compares them when the loop starts.
    static HIP_HOST_INLINE void loop(const Body& body, const Thread& thread) {
        const dim3 dim = thread.block_dim;
        for (unsigned int z = 0; z < dim.z; z++) {
            for (unsigned int y = 0; y < dim.y; y++) {
                for (unsigned int x = 0; x < dim.x; x++) {
                    Thread one = thread;
                    one.thread = make_uint3(x, y, z);
                    if (FLAGS & READS_INDEX) threadIdx = one.thread;
                    body(one);
                }
            }
        }
    }

    // By value: what another function has the address of stays in memory in the loop above, too.
    static HIP_HOST_COLD void loop_of_many(Body body, Thread thread) {
        loop(body, thread);
    }

    static bool run(const Body& body, const Thread& thread) {
        const dim3 dim = thread.block_dim;
        if (FLAGS & PARKS) {
            Block block = {body, thread, {0, dim.x * dim.y * dim.z, 0}};
            return runtime->run_block(threads, &block, &block.state) != 0;
        }
#if HIP_HOST_TELL_RANGES
        if (thread.block.x < HIP_HOST_FEW_BLOCKS) {
            // Says so in the values themselves: gcc 12 forgets what a branch has shown.
            Thread few = thread;
            HIP_HOST_FORGET(few.block.x);
            few.block.x &= HIP_HOST_FEW_BLOCKS - 1;
            few.block_dim.x = dim.x < HIP_HOST_MAX_THREADS ? dim.x : HIP_HOST_MAX_THREADS;
            loop(body, few);
        } else {
            loop_of_many(body, thread);
        }
#else
        loop(body, thread);
#endif
        return true;
    }
};

template <class Fn, Fn* F, unsigned FLAGS> struct Entry;

template <class... P, void (*F)(const Thread&, P...), unsigned FLAGS>
struct Entry<void(const Thread&, P...), F, FLAGS> {
    static void blocks(const Launch* launch, uint64_t first, uint64_t end, P... values) {
        const uint32_t* grid = launch->grid_dim;
        const uint32_t* block = launch->block_dim;
        Thread thread;
        thread.grid_dim = dim3(grid[0], grid[1], grid[2]);
        thread.block_dim = dim3(block[0], block[1], block[2]);
        thread.thread = make_uint3(0, 0, 0);
        thread.shared = runtime->shared(launch->shared_mem_bytes);
        if (!thread.shared) return;
        shared = thread.shared;
        const auto body = [=](const Thread& one) { F(one, values...); };
        for (uint64_t index = first; index < end; index++) {
            thread.block = make_uint3((unsigned int)(index % grid[0]),
                                      (unsigned int)(index / grid[0] % grid[1]),
                                      (unsigned int)(index / grid[0] / grid[1]));
            if (FLAGS & READS_INDEX) set_block(thread);
            if (!Block<FLAGS, decltype(body)>::run(body, thread)) return;
        }
    }

    template <unsigned... I>
    static void load(const void* const* args, const Launch* launch, uint64_t first, uint64_t end,
                     Indices<I...>) {
        (void)args;
        blocks(launch, first, end, *static_cast<const typename Bare<P>::Type*>(args[I])...);
    }

    static void run(const void* const* args, const Launch* launch, uint64_t first, uint64_t end) {
        load(args, launch, first, end, typename Count<sizeof...(P)>::Type());
    }
};

template <class Fn> struct Signature;
template <class... P> struct Signature<void(const Thread&, P...)> {
    enum { COUNT = sizeof...(P) };

    template <unsigned NAME, unsigned... I>
    static constexpr Info<COUNT, NAME> info(const char (&name)[NAME], unsigned max_threads,
                                            Indices<I...>) {
        return {HIP_HOST_MAGIC('k'),
                HIP_HOST_VERSION,
                max_threads,
                COUNT,
                NAME - 1,
                {{(uint32_t)sizeof(P), (uint32_t)alignof(P),
                  (uint32_t)IsPointer<typename Bare<P>::Type>::VALUE}...,
                 {0, 0, 0}},
                {name[I]...}};
    }
};

// The name of a kernel that cannot be looked up, for the message to one who tries. Found in the file
// as `Info` is.
template <unsigned NAME> struct Nameless {
    unsigned char magic[16];
    uint32_t version;
    uint32_t name_bytes;
    char name[NAME];
};

template <unsigned NAME, unsigned... I>
static constexpr Nameless<NAME> nameless(const char (&name)[NAME], Indices<I...>) {
    return {HIP_HOST_MAGIC('n'), HIP_HOST_VERSION, NAME - 1, {name[I]...}};
}

// Keeps what nothing else uses in the file.
static const void* volatile kept;
struct Keep {
    Keep(const void* record) { kept = record; }
};

// Puts a kernel into the module's list when the object is loaded.
struct Registration {
    Kernel kernel;
    Registration(const char* name, const void* info, Run run)
        : kernel{name, info, run, module.first} {
        module.first = &kernel;
    }
};

}  // namespace hip_host

// The one symbol that the loader looks for.
extern "C" HIP_HOST_EXPORT const hip_host::Module* hip_host_module(const hip_host::Runtime* table) {
    hip_host::runtime = table;
    return &hip_host::module;
}

namespace hip_host {

// The other threads of the block run meanwhile, on this OS thread.
static inline uint64_t barrier(uint32_t predicate) {
    const uint3 index = threadIdx;
    const uint64_t votes = runtime->barrier(predicate);
    threadIdx = index;
    return votes;
}

static inline void assert_failed(const char* text) { runtime->fail(text); }

}  // namespace hip_host

static inline void __syncthreads() { hip_host::barrier(0); }
static inline int __syncthreads_count(int predicate) {
    return (int)(uint32_t)hip_host::barrier(predicate != 0);
}
static inline int __syncthreads_and(int predicate) {
    const uint64_t votes = hip_host::barrier(predicate != 0);
    return (uint32_t)votes == (uint32_t)(votes >> 32);
}
static inline int __syncthreads_or(int predicate) {
    return (uint32_t)hip_host::barrier(predicate != 0) != 0;
}
static inline void __trap() { hip_host::runtime->fail("__trap was called"); }

#define HIP_HOST_STRING_(text) #text
#define HIP_HOST_STRING(text) HIP_HOST_STRING_(text)
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition)           \
    ((condition) ? (void)0          \
                 : ::hip_host::assert_failed(__FILE__ ":" HIP_HOST_STRING(__LINE__) ": " #condition))
#endif

#endif
