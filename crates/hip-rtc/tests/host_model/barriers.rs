//! Threads that wait for each other.

use std::sync::atomic::{AtomicU32, Ordering};

use hip_dispatch::ErrorKind;
use hip_rtc::host::{self, HostError};

use crate::rig::{Rig, arg, block, grid};

#[test]
fn a_barrier_in_a_function_in_a_loop_orders_all_threads() {
    let rig = Rig::new(
        r#"
        __device__ void meet() { __syncthreads(); }
        // Every thread hands a value to its neighbour, once a round.
        extern "C" __global__ void ring(int* out, int rounds) {
            __shared__ int slots[1024];
            int value = threadIdx.x;
            for (int round = 0; round < rounds; round++) {
                slots[threadIdx.x] = value;
                meet();
                value = slots[(threadIdx.x + 1) % blockDim.x] + 1;
                meet();
            }
            out[blockIdx.x * blockDim.x + threadIdx.x] = value;
        }"#,
    );
    for (blocks, threads, rounds) in [(1, 1, 3), (2, 33, 40), (9, 1024, 5)] {
        let mut out = vec![0i32; blocks * threads];
        let shape = grid(blocks as u32, threads as u32);
        rig.run(
            "ring",
            shape,
            &[arg(&out.as_mut_ptr()), arg(&(rounds as i32))],
        );
        for (at, value) in out.iter().enumerate() {
            assert_eq!(
                *value as usize,
                (at + rounds) % threads + rounds,
                "{threads}"
            );
        }
    }
}

#[test]
fn threads_that_ended_are_not_waited_for() {
    let rig = Rig::new(
        r#"
        // Thread t leaves after t rounds, and counts who came to each.
        extern "C" __global__ void leave(int* came) {
            for (int round = 0; round < (int)threadIdx.x; round++) {
                const int here = __syncthreads_count(1);
                if (threadIdx.x == blockDim.x - 1) came[round] = here;
            }
        }
        // Half the threads never come, and the first of them never waits.
        extern "C" __global__ void half(int* sum) {
            __shared__ int total;
            if (threadIdx.x == 0) total = 0;
            if (threadIdx.x % 2) return;
            __syncthreads();
            atomicAdd(&total, 1);
            __syncthreads();
            if (threadIdx.x == 2) *sum = total;
        }"#,
    );
    let mut came = [0i32; 63];
    rig.run("leave", block(64), &[arg(&came.as_mut_ptr())]);
    let expected: Vec<i32> = (0..63).map(|round| 63 - round).collect();
    assert_eq!(came[..], expected);
    let mut sum = 0i32;
    rig.run("half", block(100), &[arg(&&raw mut sum)]);
    assert_eq!(sum, 50);
}

#[test]
fn votes_are_of_this_barrier_and_this_block() {
    let rig = Rig::new(
        r#"
        extern "C" __global__ void votes(int* out) {
            const int t = threadIdx.x, b = blockIdx.x;
            int* mine = out + 5 * (b * blockDim.x + t);
            mine[0] = __syncthreads_count(t < b);
            mine[1] = __syncthreads_and(t < b);
            mine[2] = __syncthreads_or(t < b);
            __syncthreads();
            mine[3] = __syncthreads_count(t % 3 == 0);
            mine[4] = __syncthreads_and(7);
        }"#,
    );
    let (blocks, threads) = (41, 40);
    let mut out = vec![[0i32; 5]; blocks * threads];
    rig.run("votes", grid(41, 40), &[arg(&out.as_mut_ptr())]);
    for (at, votes) in out.iter().enumerate() {
        let count = at / threads;
        let expected = [
            count as i32,
            i32::from(count == threads),
            i32::from(count > 0),
            14,
            1,
        ];
        assert_eq!(votes, &expected, "{at}");
    }
}

#[test]
fn atomics_count_across_blocks_on_several_threads() {
    let rig = Rig::new(
        r#"
        struct Counts { int i; unsigned u; unsigned long long l; float f; double d; int sub; int least, most;
                        unsigned bits, ring; int lock, locked; };
        extern "C" __global__ void count(Counts* c) {
            const int id = blockIdx.x * blockDim.x + threadIdx.x;
            atomicAdd(&c->i, 1);
            atomicAdd_system(&c->u, 2u);
            atomicAdd(&c->l, 1ull << 33);
            atomicAdd(&c->f, 1.0f);
            atomicAdd_block(&c->d, 0.5);
            atomicSub(&c->sub, 1);
            atomicMin(&c->least, -id);
            atomicMax(&c->most, id);
            atomicOr(&c->bits, 1u << (id % 32));
            atomicInc(&c->ring, 99u);
            while (atomicCAS(&c->lock, 0, 1) != 0) {}
            __threadfence();
            c->locked++;
            __threadfence();
            atomicExch(&c->lock, 0);
        }"#,
    );
    #[repr(C)]
    #[derive(Debug, Default, PartialEq)]
    struct Counts {
        i: i32,
        u: u32,
        l: u64,
        f: f32,
        d: f64,
        sub: i32,
        least: i32,
        most: i32,
        bits: u32,
        ring: u32,
        lock: i32,
        locked: i32,
    }
    let mut counts = Counts::default();
    rig.run("count", grid(400, 128), &[arg(&&raw mut counts)]);
    let n = 400 * 128;
    let expected = Counts {
        i: n,
        u: 2 * n as u32,
        l: (n as u64) << 33,
        f: n as f32,
        d: f64::from(n) / 2.0,
        sub: -n,
        least: 1 - n,
        most: n - 1,
        bits: u32::MAX,
        ring: n as u32 % 100,
        lock: 0,
        locked: n,
    };
    assert_eq!(counts, expected);
}

#[test]
fn a_frame_that_a_waiting_threads_stack_cannot_hold_does_not_compile() {
    let text = |barrier: &str| {
        format!(
            "__device__ void use(volatile float* all) {{ all[threadIdx.x] = 1; }}\n\
             extern \"C\" __global__ void large(float* out) {{\n\
               volatile float own[20000];\n  use(own);\n  {barrier}\n  *out = own[0];\n}}"
        )
    };
    let error = host::compile(&text("__syncthreads();")[..].into(), &[]).unwrap_err();
    let HostError::Compile { log, .. } = error else {
        panic!("{error}")
    };
    assert!(log.contains("frame size"), "{log}");
    // A thread that waits for nobody runs on a thread's own stack.
    let rig = Rig::new(&text(""));
    let mut out = 0.0_f32;
    rig.run("large", block(1), &[arg(&&raw mut out)]);
    assert_eq!(out, 1.0);
}

#[test]
fn a_barrier_reached_through_a_table_orders_threads() {
    let rig = Rig::new(
        r#"
        __device__ void meet() { __syncthreads(); }
        typedef void (*Step)();
        static __device__ Step steps[] = {meet};
        extern "C" __global__ void turn(int* out, int step) {
            __shared__ int slots[64];
            slots[threadIdx.x] = threadIdx.x;
            steps[step]();
            out[threadIdx.x] = slots[blockDim.x - 1 - threadIdx.x];
        }"#,
    );
    let mut out = [0i32; 64];
    rig.run("turn", block(64), &[arg(&out.as_mut_ptr()), arg(&0)]);
    let expected: Vec<i32> = (0..64).rev().collect();
    assert_eq!(out[..], expected);
}

#[test]
fn a_failed_assertion_fails_the_stream_and_nothing_else() {
    let rig = Rig::new(
        r#"
        #include <assert.h>
        extern "C" __global__ void asserts(int* ran, int bad) {
            atomicAdd(ran, 1);
            __syncthreads();
            assert((int)threadIdx.x != bad);
            __syncthreads();
            atomicAdd(ran, 1000);
        }
        extern "C" __global__ void traps(int* ran) { if (threadIdx.x == 3) __trap(); }
        "#,
    );
    let ran = AtomicU32::new(0);
    rig.run("asserts", block(64), &[arg(&ran.as_ptr()), arg(&-1)]);
    assert_eq!(ran.swap(0, Ordering::Relaxed), 64 * 1001);
    rig.enqueue("asserts", block(64), &[arg(&ran.as_ptr()), arg(&5)])
        .unwrap();
    let error = rig.finish().unwrap_err();
    assert_eq!(error.kind, ErrorKind::LaunchFailure);
    assert_eq!(ran.load(Ordering::Relaxed), 64);

    // The stacks of the threads that were left waiting serve the next launch.
    let next =
        Rig::new("extern \"C\" __global__ void k(int* n) { __syncthreads(); atomicAdd(n, 1); }");
    for _ in 0..20 {
        next.run("k", grid(8, 256), &[arg(&ran.as_ptr())]);
    }
    assert_eq!(ran.load(Ordering::Relaxed), 64 + 20 * 8 * 256);

    let rig = Rig::new("extern \"C\" __global__ void traps() { if (threadIdx.x == 3) __trap(); }");
    rig.enqueue("traps", block(32), &[]).unwrap();
    assert_eq!(rig.finish().unwrap_err().kind, ErrorKind::LaunchFailure);
}
