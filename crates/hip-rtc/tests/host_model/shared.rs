//! Shared memory, and what kernels are written for that use it.

use hip_dispatch::{Backend, LaunchConfig};

use crate::rig::{Rig, arg, grid};

/// Numbers between -1 and 1 that repeat with no short period.
fn numbers(count: usize) -> Vec<f32> {
    let mut state = 12345u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn with_shared(config: LaunchConfig, shared_mem_bytes: u32) -> LaunchConfig {
    LaunchConfig {
        shared_mem_bytes,
        ..config
    }
}

#[test]
fn a_tiled_matrix_product_is_right() {
    let rig = Rig::new(
        r#"
        #define TILE 16
        extern "C" __global__ void __launch_bounds__(TILE * TILE)
        multiply(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
            __shared__ float tile_a[TILE][TILE];
            __shared__ float tile_b[TILE][TILE];
            const int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
            float sum = 0;
            for (int k = 0; k < n; k += TILE) {
                const int ax = k + threadIdx.x, by = k + threadIdx.y;
                tile_a[threadIdx.y][threadIdx.x] = y < n && ax < n ? a[y * n + ax] : 0;
                tile_b[threadIdx.y][threadIdx.x] = by < n && x < n ? b[by * n + x] : 0;
                __syncthreads();
                for (int i = 0; i < TILE; i++) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
                __syncthreads();
            }
            if (x < n && y < n) c[y * n + x] = sum;
        }"#,
    );
    let n = 100usize;
    let (a, b) = (numbers(n * n), numbers(2 * n * n).split_off(n * n));
    let mut c = vec![f32::NAN; n * n];
    let tiles = n.div_ceil(16) as u32;
    let config = LaunchConfig {
        grid_dim: [tiles, tiles, 1],
        block_dim: [16, 16, 1],
        shared_mem_bytes: 0,
    };
    let (from_a, from_b, to, size) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr(), n as i32);
    let args = [arg(&from_a), arg(&from_b), arg(&to), arg(&size)];
    rig.run("multiply", config, &args);
    for (at, found) in c.iter().enumerate() {
        let products = (0..n).map(|k| (f64::from(a[at / n * n + k]), f64::from(b[k * n + at % n])));
        let (mut exact, mut size) = (0.0, 0.0);
        for (a, b) in products {
            exact += a * b;
            size += (a * b).abs();
        }
        let error = (f64::from(*found) - exact).abs() / size;
        assert!(error < 1e-5, "{at}: {found} for {exact}");
    }
    let too_many = LaunchConfig {
        block_dim: [16, 17, 1],
        ..config
    };
    assert!(rig.enqueue("multiply", too_many, &args).is_err());
}

#[test]
fn a_block_reduction_in_dynamic_shared_memory_is_right() {
    let rig = Rig::new(
        r#"
        extern __shared__ __align__(16) float outside[];
        __device__ void add(float* part, int from) { part[threadIdx.x] += part[threadIdx.x + from]; }
        template <class T> __device__ T* dynamic() {
            extern __shared__ T inside[];
            return inside;
        }
        #define REDUCE(name, memory)                                                     \
            extern "C" __global__ void name(const float* in, float* out, int n) {         \
                memory;                                                                  \
                const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;               \
                part[t] = i < n ? in[i] : 0.0f;                                          \
                __syncthreads();                                                         \
                for (int half = blockDim.x / 2; half > 0; half /= 2) {                    \
                    if (t < half) add(part, half);                                       \
                    __syncthreads();                                                     \
                }                                                                        \
                if (t == 0) out[blockIdx.x] = part[0];                                   \
            }
        REDUCE(in_kernel, extern __shared__ float part[])
        REDUCE(in_function, float* part = dynamic<float>())
        REDUCE(in_file, float* part = outside)
        REDUCE(rows, extern __shared__ float grid[][4]; float* part = grid[0])
        "#,
    );
    let input = numbers(100_000);
    let (blocks, threads) = (input.len().div_ceil(256), 256);
    for kernel in ["in_kernel", "in_function", "in_file", "rows"] {
        let mut out = vec![f32::NAN; blocks];
        let config = with_shared(grid(blocks as u32, threads), 4 * threads);
        rig.run(
            kernel,
            config,
            &[
                arg(&input.as_ptr()),
                arg(&out.as_mut_ptr()),
                arg(&(input.len() as i32)),
            ],
        );
        for (part, found) in input.chunks(threads as usize).zip(out) {
            let exact: f64 = part.iter().map(|x| f64::from(*x)).sum();
            let size: f64 = part.iter().map(|x| f64::from(x.abs())).sum();
            assert!((f64::from(found) - exact).abs() / size < 1e-5, "{kernel}");
        }
    }
}

#[test]
fn all_of_the_dynamic_memory_is_there_and_aligned() {
    let rig = Rig::new(
        r#"
        extern "C" __global__ void fill(int* bad, unsigned bytes) {
            extern __shared__ unsigned char all[];
            if ((size_t)all % 16) atomicAdd(bad, 1);
            for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x) all[i] = (unsigned char)(i + blockIdx.x);
            __syncthreads();
            for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x)
                if (all[bytes - 1 - i] != (unsigned char)(bytes - 1 - i + blockIdx.x)) atomicAdd(bad, 1);
        }"#,
    );
    let mut bad = 0i32;
    let limits = rig.host.device_info(0).unwrap().limits;
    let bytes = limits.max_shared_memory_per_block;
    let config = with_shared(grid(50, 64), bytes);
    rig.run("fill", config, &[arg(&&raw mut bad), arg(&bytes)]);
    assert_eq!(bad, 0);
    let more = with_shared(grid(1, 1), bytes + 1);
    assert!(
        rig.enqueue("fill", more, &[arg(&&raw mut bad), arg(&bytes)])
            .is_err()
    );
}
