//! The vendors' real compilers, without a device: those that `HIP_TEST_NVRTC` and `HIP_TEST_HIPRTC`
//! name, as lists of files (`:` between them), each driven through `hip-rtc-compile` in a process of
//! its own. `cargo xtask kernels` fetches them; without them this says that it skips.

#[cfg(unix)]
#[path = "../../hip-dispatch/tests/support/locale.rs"]
mod locale;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hip_dispatch::{LoaderConfig, RtcLibrary};
use hip_rtc::KernelSource;
use hip_rtc::image::{self, ImageFormat};

/// Everything that a text may include, and that each compiler must then understand.
const TEXT: &str = r#"
#include <cuda_runtime.h>
#include <hip/hip_runtime.h>
#include <cuda_fp16.h>
#include <hip/hip_fp16.h>
#include <stdint.h>
#include <cstdint>
#include <stddef.h>
#include <cstddef>
#include <climits>
#include <limits.h>
#include <math.h>
#include <cmath>
#include <cstdlib>
#include <stdlib.h>
#include <cassert>
#include <assert.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <device_launch_parameters.h>
#include <vector_types.h>
#include <vector_functions.h>
#include <math_constants.h>
#include <hip/hip_vector_types.h>
#include "own.h"

extern "C" __global__ void mix(float *out, const __half *in, uint32_t count, uint64_t big) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    const size_t size = (size_t)big;
    const ptrdiff_t difference = (ptrdiff_t)size;
    if (i >= count || i > INT_MAX) return;
    assert(size != 1);
    const float4 four = make_float4(CUDART_INF_F, CUDART_NAN_F, fabsf(-1.0f), 0.0f);
    if (four.x < four.z || four.y == four.y) return;
    __half value = __hadd(__hfma(in[i], __float2half(2.0f), __float2half(0.5f)), in[0]);
    value = value * value + __float2half_rn(1.0f);
    const __half2 two = __floats2half2_rn(1.0f, 2.0f);
    const float2 wide = __half22float2(__hmul2(two, two));
    out[i] = own(__half2float(value)) + (float)difference + sqrtf(wide.x) * FACTOR;
}
"#;

const OWN: &str = "static __device__ float own(float x) { return x + 1.0f; }\n";

/// The files that a variable lists.
fn listed(variable: &str) -> Vec<PathBuf> {
    let list = std::env::var_os(variable).unwrap_or_default();
    let files: Vec<PathBuf> = std::env::split_paths(&list)
        .filter(|file| !file.as_os_str().is_empty())
        .collect();
    if files.is_empty() {
        println!("skipped: {variable} names no compiler");
    }
    files
}

/// A folder with the text and its header.
struct Lab {
    folder: tempfile::TempDir,
}

impl Lab {
    fn new() -> Lab {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mix.cu"), TEXT).unwrap();
        std::fs::write(folder.path().join("own.h"), OWN).unwrap();
        Lab { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// AMD's compilers of another system bring a program that starts others against them, `run`, three
    /// folders above.
    fn program(&self, compiler: &Path) -> Command {
        let run = compiler.ancestors().nth(4).map(|root| root.join("run"));
        match run.filter(|run| run.is_file()) {
            Some(run) => {
                let mut command = Command::new(run);
                command.arg(env!("CARGO_BIN_EXE_hip-rtc-compile"));
                command
            }
            None => Command::new(env!("CARGO_BIN_EXE_hip-rtc-compile")),
        }
    }

    fn architectures(&self, flag: &str, compiler: &Path) -> Vec<String> {
        let output = self
            .program(compiler)
            .arg(flag)
            .arg(compiler)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let (version, list) = text.trim().split_once(": ").unwrap();
        println!("{version} ({}): {list}", compiler.display());
        list.split(' ').map(str::to_owned).collect()
    }

    fn compile(&self, flag: &str, compiler: &Path, architecture: &str, more: &[&str]) -> Output {
        let header = format!("own.h={}", self.path("own.h").display());
        let mut command = self.program(compiler);
        command
            .arg(flag)
            .arg(compiler)
            .args(["--arch", architecture, "--header", &header]);
        command
            .arg("-o")
            .arg(self.path("image"))
            .arg(self.path("mix.cu"));
        command.args(["--", "--use_fast_math"]).args(more);
        command.output().unwrap()
    }

    fn image(&self) -> Vec<u8> {
        std::fs::read(self.path("image")).unwrap()
    }
}

/// Compiles for an architecture and looks at what came out.
fn check(lab: &Lab, flag: &str, compiler: &Path, architecture: &str, format: ImageFormat) {
    let output = lab.compile(flag, compiler, architecture, &["-DFACTOR=1.5f"]);
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{architecture}: {log}");
    let image = lab.image();
    assert_eq!(image::format(&image), Some(format), "{architecture}");
    let kernels = image::kernels(&image).unwrap();
    assert_eq!(kernels[0].name, "mix");
    let sizes: Vec<usize> = kernels[0].params.iter().map(|param| param.size).collect();
    assert_eq!(sizes, [8, 8, 4, 8], "{architecture}");
}

/// A text that does not compile, and an architecture that nobody knows, end no process.
fn check_refusals(lab: &Lab, flag: &str, compiler: &Path, architecture: &str) {
    let output = lab.compile(flag, compiler, architecture, &[]);
    let log = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{log}");
    assert!(log.contains("FACTOR") && log.contains("mix.cu"), "{log}");
    for unknown in [
        "sm_1",
        "compute_80x",
        "gfx1",
        "gfx1030:xnack-",
        "gfx906:sramecc",
    ] {
        let output = lab.compile(flag, compiler, unknown, &["-DFACTOR=1.5f"]);
        let log = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{unknown}: {log}");
    }
    let output = lab.compile(flag, compiler, architecture, &["--offload-arch=gfx1"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn nvrtc_compiles_for_all_that_it_knows() {
    for compiler in listed("HIP_TEST_NVRTC") {
        let lab = Lab::new();
        let known = lab.architectures("--nvrtc", &compiler);
        // fp16's fused multiply-add is there from sm_53 on.
        let number = |name: &String| name.strip_prefix("sm_").unwrap().parse::<u32>().unwrap();
        for architecture in known.iter().filter(|name| number(name) >= 53) {
            check(&lab, "--nvrtc", &compiler, architecture, ImageFormat::Cubin);
        }
        let oldest = known.iter().map(number).filter(|n| *n >= 53).min().unwrap();
        let ptx = format!("compute_{oldest}");
        check(&lab, "--nvrtc", &compiler, &ptx, ImageFormat::Ptx);
        check_refusals(&lab, "--nvrtc", &compiler, &ptx);
    }
}

#[test]
fn eight_threads_compile_a_hundred_kernels_with_nvrtc() {
    const THREADS: usize = 8;
    const EACH: usize = 13;
    for file in listed("HIP_TEST_NVRTC") {
        let config = LoaderConfig::default().nvrtc(file);
        let compiler = RtcLibrary::open_nvrtc(&config, &[]).unwrap();
        let compile = |number: usize| {
            let text =
                format!("extern \"C\" __global__ void k{number}(int *o) {{ *o = {number}; }}");
            let source = KernelSource::new(&text);
            let compiled = hip_rtc::compile_for(&compiler, "sm_80", &source, &[]).unwrap();
            let kernels = image::kernels(&compiled.image).unwrap();
            assert_eq!(kernels[0].name, format!("k{number}"));
        };
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let compile = &compile;
                scope.spawn(move || (0..EACH).for_each(|k| compile(thread * EACH + k)));
            }
        });
    }
}

#[test]
fn hiprtc_compiles_for_all_that_it_was_seen_to_know() {
    for compiler in listed("HIP_TEST_HIPRTC") {
        let lab = Lab::new();
        let known = lab.architectures("--hiprtc", &compiler);
        for architecture in &known {
            check(
                &lab,
                "--hiprtc",
                &compiler,
                architecture,
                ImageFormat::AmdCodeObject,
            );
        }
        check_refusals(&lab, "--hiprtc", &compiler, &known[0]);
    }
}

/// `0.25f` is as many bits whatever the decimal point of the process's locale.
#[test]
#[cfg(unix)]
fn nvrtc_reads_numbers_under_a_decimal_comma() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "decimal_comma"])
        .envs(locale::environment(folder.path()))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

#[test]
#[cfg(unix)]
#[ignore = "run by nvrtc_reads_numbers_under_a_decimal_comma"]
fn decimal_comma() {
    if !locale::enter() {
        return;
    }
    for file in listed("HIP_TEST_NVRTC") {
        let config = LoaderConfig::default().nvrtc(file);
        let compiler = RtcLibrary::open_nvrtc(&config, &[]).unwrap();
        let text = "extern \"C\" __global__ void k(float *o) { o[0] = o[1] * 0.25f + FACTOR; }";
        let options = ["-DFACTOR=1.5e-1f"];
        let compiled = hip_rtc::compile_for(&compiler, "compute_80", &text.into(), &options);
        let ptx = String::from_utf8(compiled.unwrap().image).unwrap();
        assert!(
            ptx.contains("0f3E800000") && ptx.contains("0f3E19999A"),
            "{ptx}"
        );
    }
}
