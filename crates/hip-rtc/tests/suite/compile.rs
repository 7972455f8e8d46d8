//! Texts to images, and the cache between.

use std::sync::Barrier;

use hip_core::Stream;
use hip_dispatch::ImageKind;
use hip_rtc::{Error, KernelArgs, KernelModule, KernelSource, LaunchConfig};

use crate::support::{read_back, upload};
use crate::{TestCache, device_with_compiler, module};

const ADD: &str = r#"
extern "C" __global__ void add(float *out, const float *in, float value, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = in[i] + value;
}
"#;

fn floats(bytes: &[u8]) -> Vec<f32> {
    let four = |four: &[u8]| f32::from_le_bytes(four.try_into().unwrap());
    bytes.chunks_exact(4).map(four).collect()
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

#[test]
fn a_text_is_compiled_and_runs() {
    let Some(device) = device_with_compiler() else {
        return;
    };
    let module = module(&device, ADD, &[]);
    let stream = Stream::new(&device).unwrap();
    let values: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let input = upload(&stream, &bytes(&values));
    let output = upload(&stream, &bytes(&vec![-1.0; 1000]));
    let mut args = KernelArgs::new();
    args.add_buffer(&output, 0).unwrap();
    args.add_buffer(&input, 0).unwrap();
    args.add(0.5_f32);
    args.add(999_u32);
    let config = LaunchConfig::for_num_elems(999);
    let function = module.function("add").unwrap();
    // SAFETY: the arguments are the kernel's, and the buffers live until the stream is done.
    unsafe { function.launch(Some(&stream), &config, &args) }.unwrap();
    let result = floats(&read_back(&stream, &output));
    assert!((0..999).all(|i| result[i] == values[i] + 0.5));
    assert_eq!(result[999], -1.0);
}

#[test]
fn headers_and_options_reach_the_compiler() {
    let Some(device) = device_with_compiler() else {
        return;
    };
    let text = r#"
#include "own/scale.h"
#include <cuda_runtime.h>
#include <hip/hip_runtime.h>
#include <cuda_fp16.h>
#include <cstdint>
#include <cstddef>
extern "C" __global__ void scale(uint32_t *out, uint64_t big) {
    float half = __half2float(__float2half(1.5f));
    out[threadIdx.x] = (uint32_t)(SCALE * half) + own_offset() + (uint32_t)(big >> 32);
}
"#;
    let source = KernelSource::new(text).header(
        "own/scale.h",
        "static __device__ inline unsigned own_offset() { return OFFSET; }",
    );
    let cache = TestCache::new();
    let options = ["-DSCALE=4", "--define-macro=OFFSET=7", "--use_fast_math"];
    let module = KernelModule::from_source_in(&cache.cache, &device, source, &options)
        .unwrap_or_else(|error| panic!("{error}"));
    let stream = Stream::new(&device).unwrap();
    let output = upload(&stream, &[0; 16]);
    let mut args = KernelArgs::new();
    args.add_buffer(&output, 0).unwrap();
    args.add(3_u64 << 32);
    // SAFETY: the arguments are the kernel's, and the buffer lives until the stream is done.
    unsafe { module.launch("scale", Some(&stream), [1, 1, 1], [4, 1, 1], &args) }.unwrap();
    let out = read_back(&stream, &output);
    assert_eq!(out, [16_u32.to_le_bytes(); 4].concat());
}

#[test]
fn a_text_that_does_not_compile_says_where() {
    let Some(device) = device_with_compiler() else {
        return;
    };
    let text = "extern \"C\" __global__ void broken() {\n    int x = missing_name;\n}\n";
    let cache = TestCache::new();
    let source = KernelSource::new(text).named("broken.cu");
    let options = ["-DUNUSED=1"];
    let error = KernelModule::from_source_in(&cache.cache, &device, source, &options).unwrap_err();
    let Error::Compile(error) = error else {
        panic!("{error}");
    };
    let (options, log) = (&error.options, &error.log);
    assert_eq!(error.name, "broken.cu");
    assert!(!error.architecture.is_empty() && !error.compiler.is_empty());
    assert!(
        options.iter().any(|option| option == "-DUNUSED=1"),
        "{options:?}"
    );
    assert!(
        log.contains("missing_name") && log.contains("broken.cu"),
        "{log}"
    );
    // A failure is not kept.
    assert_eq!(cache.cache.statistics().stores, 0);
}

#[test]
fn a_second_time_nothing_is_compiled() {
    let Some(device) = device_with_compiler() else {
        return;
    };
    let cache = TestCache::new();
    let source = KernelSource::new(ADD);
    let compile = |options: &[&str]| {
        hip_rtc::compile_in(&cache.cache, &device, &source, options)
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let first = compile(&[]);
    let second = compile(&[]);
    assert!(!first.cached && second.cached);
    assert_eq!(first.image, second.image);
    assert_eq!(first.compiler, second.compiler);
    assert!(!compile(&["-DOTHER"]).cached);
    // What includes files is not known to be the same.
    assert!(!compile(&["-I/nowhere"]).cached);
    assert!(!compile(&["-I/nowhere"]).cached);
    let statistics = cache.cache.statistics();
    assert_eq!((statistics.hits, statistics.stores), (1, 2));
}

#[test]
fn an_image_loads_again_by_its_bytes() {
    let Some(device) = device_with_compiler() else {
        return;
    };
    let cache = TestCache::new();
    let source = KernelSource::new(ADD);
    let compiled = hip_rtc::compile_in(&cache.cache, &device, &source, &[]).unwrap();
    // SAFETY: the image was just compiled from the text above.
    let module = unsafe { KernelModule::from_binary(&device, &compiled.image) }.unwrap();
    let functions = module
        .functions()
        .expect("a fresh image describes its kernels");
    assert_eq!(functions.len(), 1);
    assert_eq!(functions[0].name, "add");
    let sizes: Vec<usize> = functions[0].params.iter().map(|param| param.size).collect();
    assert_eq!(sizes, [8, 8, 4, 4]);
}

#[test]
fn eight_threads_compile_distinct_kernels_at_once() {
    let Some(device) = device_with_compiler() else {
        return;
    };
    let cache = TestCache::new();
    let (threads, start) = (8, Barrier::new(8));
    // 100 with the vendors' compilers; `host_model` has as many for the C++ compiler.
    let each = match device.backend().image_kind() {
        ImageKind::Host => 2,
        _ => 13,
    };
    let compile = |number: usize| {
        let text = format!("extern \"C\" __global__ void k{number}(int *o) {{ *o = {number}; }}");
        let source = KernelSource::new(&text);
        let compiled = hip_rtc::compile_in(&cache.cache, &device, &source, &[]);
        let image = compiled.unwrap_or_else(|error| panic!("{error}")).image;
        let kernels = hip_rtc::image::kernels(&image).unwrap();
        assert_eq!(kernels[0].name, format!("k{number}"));
    };
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (start, compile) = (&start, &compile);
            scope.spawn(move || {
                start.wait();
                // Each its own, and one that every thread wants.
                (0..each).for_each(|k| compile(thread * each + k));
                compile(1000);
            });
        }
    });
    assert_eq!(cache.cache.statistics().stores, 8 * each as u64 + 1);
}
