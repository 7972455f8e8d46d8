//! Who am I: indices and dimensions, in kernels and in functions that they call.

use hip_dispatch::LaunchConfig;

use crate::rig::{Rig, arg, grid};

const TEXT: &str = r#"
struct Seen { uint3 thread, block; dim3 block_dim, grid_dim; };

__device__ unsigned flat(uint3 at, dim3 dim) { return at.x + dim.x * (at.y + dim.y * at.z); }
__device__ unsigned mine() {
    return flat(blockIdx, gridDim) * (blockDim.x * blockDim.y * blockDim.z) + flat(threadIdx, blockDim);
}

extern "C" __global__ void kernel_reads(Seen* out) {
    const unsigned at = flat(blockIdx, gridDim) * (blockDim.x * blockDim.y * blockDim.z) +
                        flat(threadIdx, blockDim);
    out[at] = Seen{threadIdx, blockIdx, blockDim, gridDim};
}
extern "C" __global__ void function_reads(Seen* out) {
    out[mine()] = Seen{threadIdx, blockIdx, blockDim, gridDim};
}
extern "C" __global__ void function_reads_after_barrier(Seen* out) {
    __syncthreads();
    out[mine()] = Seen{threadIdx, blockIdx, blockDim, gridDim};
}
extern "C" __global__ void lambda_reads(Seen* out) {
    auto at = [&] { return flat(blockIdx, gridDim) * (blockDim.x * blockDim.y * blockDim.z) +
                           flat(threadIdx, blockDim); };
    out[at()] = Seen{threadIdx, blockIdx, blockDim, gridDim};
}
"#;

#[test]
fn every_thread_runs_once_and_knows_its_place() {
    let rig = Rig::new(TEXT);
    let shapes = [
        ([1, 1, 1], [1, 1, 1]),
        ([3, 1, 1], [7, 1, 1]),
        ([2, 3, 1], [5, 4, 1]),
        ([3, 2, 4], [3, 2, 5]),
        ([17, 2, 1], [16, 16, 4]),
    ];
    for kernel in [
        "kernel_reads",
        "function_reads",
        "function_reads_after_barrier",
        "lambda_reads",
    ] {
        for (grid_dim, block_dim) in shapes {
            let count = |dim: [u32; 3]| dim.iter().product::<u32>();
            let threads = count(grid_dim) * count(block_dim);
            let mut seen = vec![[u32::MAX; 12]; threads as usize];
            let config = LaunchConfig {
                grid_dim,
                block_dim,
                shared_mem_bytes: 0,
            };
            rig.run(kernel, config, &[arg(&seen.as_mut_ptr())]);
            for (at, seen) in (0..).zip(seen) {
                let place = |flat: u32, dim: [u32; 3]| {
                    [
                        flat % dim[0],
                        flat / dim[0] % dim[1],
                        flat / dim[0] / dim[1],
                    ]
                };
                let expected = [
                    place(at % count(block_dim), block_dim),
                    place(at / count(block_dim), grid_dim),
                    block_dim,
                    grid_dim,
                ];
                assert_eq!(
                    seen[..],
                    expected.concat(),
                    "{kernel} {grid_dim:?} {block_dim:?}"
                );
            }
        }
    }
}

#[test]
fn arguments_of_every_kind_arrive() {
    let rig = Rig::new(
        r#"
        struct Pair { char a; double b; };
        struct __align__(32) Wide { float v[9]; };
        extern "C" __global__ void k(double* out, char c, const short s, unsigned long long u,
                                     float f, Pair p, uchar4 v, Wide w, bool b, const int* __restrict__ i) {
            const double all[] = {(double)c, (double)s, (double)u, f, (double)p.a, p.b, (double)v.z,
                                  w.v[8], (double)b, (double)*i};
            for (int n = 0; n < 10; n++) out[n] = all[n];
        }"#,
    );
    #[repr(C)]
    struct Pair(i8, f64);
    #[repr(C, align(32))]
    struct Wide([f32; 9]);
    let mut out = [0f64; 10];
    let number = 77;
    let mut wide = Wide([0.0; 9]);
    wide.0[8] = 8.5;
    rig.run(
        "k",
        crate::rig::block(1),
        &[
            arg(&out.as_mut_ptr()),
            arg(&-3i8),
            arg(&-300i16),
            arg(&(1u64 << 50)),
            arg(&0.25f32),
            arg(&Pair(5, 1e300)),
            arg(&[1u8, 2, 250, 4]),
            arg(&wide),
            arg(&true),
            arg(&&raw const number),
        ],
    );
    let expected = [
        -3.0,
        -300.0,
        (1u64 << 50) as f64,
        0.25,
        5.0,
        1e300,
        250.0,
        8.5,
        1.0,
        77.0,
    ];
    assert_eq!(out, expected);
}

/// One address in every iteration of the loop over threads, which compilers make vectors of.
#[test]
fn an_array_of_a_threads_own_is_its_own() {
    let rig = Rig::new(
        r#"
        extern "C" __global__ void mix(int* out, const int* in) {
            const int i = blockIdx.x * blockDim.x + threadIdx.x;
            int own[8];
            for (int k = 0; k < 8; k++) own[k] = in[i + k];
            const int a = in[i] & 7, b = in[i + 1] & 7;
            own[a] = i;
            own[b] += 3;
            out[i] = own[(a + b) & 7] + 1000 * own[a];
        }
        extern "C" __global__ void pick(int* out, const int* in) {
            const int i = blockIdx.x * blockDim.x + threadIdx.x;
            int own[16];
            const int a = in[i] & 15, b = in[i + 1] & 15, c = in[i + 2] & 15;
            own[c] = 7;
            own[a] = i;
            own[b] = in[i + 3];
            out[i] = own[c];
        }"#,
    );
    const THREADS: usize = 2048;
    let scrambled = |i: i32| i.wrapping_mul(0x9e37_79b1_u32 as i32) >> 12 & 0xffff;
    let input: Vec<i32> = (0..THREADS as i32 + 8).map(scrambled).collect();
    let run = |name| {
        let mut out = vec![0i32; THREADS];
        rig.run(
            name,
            grid(2, THREADS as u32 / 2),
            &[arg(&out.as_mut_ptr()), arg(&input.as_ptr())],
        );
        out
    };
    let (mixed, picked) = (run("mix"), run("pick"));
    for i in 0..THREADS {
        let [a, b, c] = [0, 1, 2].map(|next| input[i + next] as usize);
        let mut own = input[i..i + 8].to_vec();
        own[a % 8] = i as i32;
        own[b % 8] += 3;
        let expected = own[(a + b) % 8] + 1000 * own[a % 8];
        assert_eq!(mixed[i], expected, "thread {i}");
        let mut own = [7; 16];
        own[a % 16] = i as i32;
        own[b % 16] = input[i + 3];
        assert_eq!(picked[i], own[c % 16], "thread {i}");
    }
}
