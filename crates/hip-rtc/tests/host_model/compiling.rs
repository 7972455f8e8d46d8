//! From text to object: messages, headers, compilers, many at once, and unloading.

use std::process::Command;
use std::sync::mpsc::channel;

use hip_dispatch::{Backend, ErrorKind, ModuleImage};
use hip_rtc::KernelSource;
use hip_rtc::host::{self, HostError};

use crate::rig::{Rig, arg, block, compile};

const ADD: &str = "extern \"C\" __global__ void add(int* at, int value) { *at += value; }";

#[test]
fn errors_carry_the_users_file_and_line_and_the_options() {
    let source = KernelSource::new(
        "#include \"sub/b.h\"\n\nextern \"C\" __global__ void k() { int x = y; }",
    )
    .named("filter.cu")
    .header("sub/b.h", "int one;\nint two = wrong;\n");
    let Err(HostError::Compile { log, options, .. }) = host::compile(&source, &["-DX=1"]) else {
        panic!("it compiled")
    };
    assert!(log.contains("filter.cu:3:"), "{log}");
    assert!(log.contains("sub/b.h:2:"), "{log}");
    assert_eq!(options, ["-DX=1"]);

    let missing = host::compile(&KernelSource::new("\n#include \"no.h\""), &[]);
    let text = missing.unwrap_err().to_string();
    assert!(
        text.contains("kernel.cu:2:") && text.contains("no.h"),
        "{text}"
    );

    let shuffle = "// one\n__device__ int f(int v) {\n return __shfl_down_sync(~0u, v, 1); }";
    let text = host::compile(&shuffle.into(), &[]).unwrap_err().to_string();
    assert!(
        text.starts_with("kernel.cu:3: __shfl_down_sync (a warp shuffle)"),
        "{text}"
    );
}

#[test]
fn headers_options_and_macros_make_kernels() {
    let source = KernelSource::new(
        "#include <cuda_runtime.h>\n#include <hip/hip_runtime.h>\n#include <cuda_fp16.h>\n\
         #include <math.h>\n#include <stdint.h>\n#include \"kernels/scale.h\"\n\
         #if defined(__CUDACC__) || defined(__HIPCC__) || !defined(__HIP_RTC_HOST__)\n#error device\n#endif\n\
         SCALE(by_int, int) SCALE(by_double, double)\n\
         extern \"C\" { __global__ void plain(uint32_t* x) { *x = (uint32_t)std::sqrt(49.0f); } }\n\
         __global__ void hidden(int) {}\n",
    )
    .header("kernels/scale.h", "#include \"types.h\"\n#define SCALE(name, T) \\\n\
         extern \"C\" __global__ void name(T* x, T by) { x[threadIdx.x] *= by * FACTOR; }\n\
         extern \"C\" __global__ void in_header(Number* x) { *x = 5; }")
    .header("kernels/types.h", "typedef int Number;");
    let build = host::compile(&source, &["-D", "FACTOR=3", "--maxrregcount=32"]).unwrap();
    let names: Vec<_> = build
        .kernels
        .iter()
        .map(|kernel| &kernel.name[..])
        .collect();
    assert_eq!(names, ["by_double", "by_int", "in_header", "plain"]);
    assert_eq!(build.nameless, ["hidden"]);
    assert!(build.log.contains("--maxrregcount=32"), "{}", build.log);
    assert_eq!(
        host::kernels_of_object(&build.object),
        Some(build.kernels.clone())
    );
    let params = &build.kernels[0].params;
    assert_eq!(
        params
            .iter()
            .map(|p| (p.offset, p.size, p.pointer))
            .collect::<Vec<_>>(),
        [(0, 8, Some(true)), (8, 8, Some(false))]
    );
    assert_eq!(host::nameless_of_object(&build.object), ["hidden"]);
    let rig = Rig::load(&build);
    let mut values = [1i32, 2, 3];
    rig.run("by_int", block(3), &[arg(&values.as_mut_ptr()), arg(&2)]);
    assert_eq!(values, [6, 12, 18]);
    rig.run("plain", block(1), &[arg(&values.as_mut_ptr())]);
    rig.run("in_header", block(1), &[arg(&values[1..].as_mut_ptr())]);
    assert_eq!(values, [7, 5, 18]);
    let error = rig.enqueue("hidden", block(1), &[]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    let error = rig.enqueue("plain", block(1), &[]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidValue);
}

#[test]
fn a_function_that_is_nowhere_is_named() {
    let text = "__device__ float nowhere(float);\n\
        extern \"C\" __global__ void k(float* at) { *at = nowhere(*at); }";
    let Err(HostError::Compile { log, .. }) = host::compile(&KernelSource::new(text), &[]) else {
        panic!("it compiled")
    };
    assert!(log.contains("nowhere"), "{log}");
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_text() {
    let text = format!("\u{feff}#include \"a.h\"\n{ADD}");
    let source = KernelSource::new(&text).header("a.h", "\u{feff}typedef int Number;\n");
    let build = host::compile(&source, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(build.kernels.len(), 1);
}

#[test]
fn names_and_texts_that_cannot_be_are_refused() {
    for name in ["../a.h", "/etc/a.h", ""] {
        let error = host::compile(&KernelSource::new(ADD).header(name, ""), &[]);
        assert!(matches!(error, Err(HostError::HeaderName(_))), "{name}");
    }
    let twice = KernelSource::new(ADD)
        .header("a.h", "")
        .header("a.h", "int x;");
    assert!(matches!(
        host::compile(&twice, &[]),
        Err(HostError::HeaderName(_))
    ));
    for source in [
        KernelSource::new("int a;\0"),
        KernelSource::new(ADD).named("a\0"),
        KernelSource::new(ADD).header("a.h", "\0"),
    ] {
        assert!(matches!(
            host::compile(&source, &[]),
            Err(HostError::Nul(_))
        ));
    }
    assert!(matches!(
        host::compile(&ADD.into(), &["-D\0"]),
        Err(HostError::Nul(_))
    ));
    for option in ["-fsanitize=address", "-ofile", "-c", "-march=native"] {
        let error = host::compile(&ADD.into(), &[option]);
        assert!(
            matches!(error, Err(HostError::UnsupportedOption { .. })),
            "{option}"
        );
    }
}

/// Runs one ignored test of this file in a process with another environment.
fn elsewhere(test: &str, environment: &[(&str, &str)]) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", &format!("compiling::{test}")]);
    command.env_remove("CXX").envs(environment.iter().copied());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

#[test]
fn a_process_of_its_own_shows_it() {
    elsewhere("there_is_no_compiler", &[("PATH", "/nowhere")]);
    elsewhere("cxx_names_none", &[("CXX", "no-such-compiler -O2")]);
    elsewhere("cxx_has_arguments", &[("CXX", "c++ -DFROM_CXX=41")]);
    elsewhere("code_goes_with_its_module", &[]);
}

/// A compiler that says what language it was asked to speak, whichever the system has.
#[test]
#[cfg(unix)]
fn messages_are_english() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("speaks");
    let text = "test $1 = --version && exec echo c++ 1\necho \"$LC_ALL,$LANGUAGE.\" >&2; exit 1\n";
    std::fs::write(&script, text).unwrap();
    let cxx = format!("sh {}", script.display());
    let german = [("LC_ALL", "de_DE.UTF-8"), ("LANGUAGE", "de"), ("CXX", &cxx)];
    elsewhere("the_compiler_speaks_english", &german);
}

#[test]
#[ignore = "run by a_process_of_its_own_shows_it"]
fn there_is_no_compiler() {
    let error = host::compile(&ADD.into(), &[]).unwrap_err();
    assert!(matches!(error, HostError::NoCompiler { .. }));
    assert!(error.to_string().contains("install"), "{error}");
}

#[test]
#[ignore = "run by a_process_of_its_own_shows_it"]
fn cxx_names_none() {
    let error = host::compile(&ADD.into(), &[]).unwrap_err().to_string();
    assert!(error.contains("CXX=no-such-compiler -O2"), "{error}");
}

#[test]
#[ignore = "run by a_process_of_its_own_shows_it"]
fn cxx_has_arguments() {
    let rig = Rig::new("extern \"C\" __global__ void k(int* x) { *x = FROM_CXX; }");
    let mut value = 0;
    rig.run("k", block(1), &[arg(&&raw mut value)]);
    assert_eq!(value, 41);
}

#[test]
#[ignore = "run by messages_are_english"]
fn the_compiler_speaks_english() {
    let error = host::compile(&ADD.into(), &[]).unwrap_err();
    let HostError::Compile { log, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(log, "C,.\n");
}

/// All the tests of this file's neighbours with Clang.
#[test]
fn clang_gives_the_same() {
    let installed = Command::new("clang++").arg("--version").output();
    if !installed.is_ok_and(|output| output.status.success()) {
        println!("skipped: there is no clang++");
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    for test in ["barriers::", "indices::", "library::", "shared::"] {
        command.arg(test);
    }
    let output = command.env("CXX", "clang++").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(!text.contains(" 0 passed"), "{text}");
}

#[test]
fn eight_threads_compile_a_hundred_kernels() {
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                for number in (thread..100).step_by(8) {
                    let text =
                        format!("extern \"C\" __global__ void k(int* x) {{ *x = {number}; }}");
                    let rig = Rig::new(&text);
                    let mut value = -1;
                    rig.run("k", block(1), &[arg(&&raw mut value)]);
                    assert_eq!(value, number);
                }
            });
        }
    });
}

#[test]
fn a_module_stays_until_its_launches_are_done_and_then_goes() {
    unsafe extern "C" fn wait(gate: *mut std::ffi::c_void) {
        // SAFETY: the receiver outlives the stream's work. An error says that the gate was dropped,
        // which opens it too.
        let _ = unsafe { &*gate.cast::<std::sync::mpsc::Receiver<()>>() }.recv();
    }
    let rig =
        Rig::new("extern \"C\" __global__ void k(int* x) { __syncthreads(); atomicAdd(x, 1); }");
    let (gate, held) = channel::<()>();
    let mut count = 0i32;
    // SAFETY: function and data belong together; `held` lives until the stream is done.
    unsafe {
        rig.host
            .launch_host_func(rig.stream, wait, (&raw const held).cast_mut().cast())
    }
    .unwrap();
    for _ in 0..3 {
        rig.enqueue("k", block(64), &[arg(&&raw mut count)])
            .unwrap();
    }
    rig.unload();
    drop(gate);
    rig.finish().unwrap();
    assert_eq!(count, 3 * 64);
    let error = rig
        .enqueue("k", block(1), &[arg(&&raw mut count)])
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidHandle);
}

#[test]
fn what_is_no_object_of_kernels_is_refused() {
    let rig = Rig::new(ADD);
    let whole = compile(ADD).object;
    // SAFETY: without the marks nothing is run; a file that was cut does not load.
    let load = |bytes: &[u8]| unsafe { rig.host.module_load(ModuleImage::HostObject(bytes)) };
    for bytes in [&b""[..], b"\x7fELF", &whole[..whole.len() / 2]] {
        assert_eq!(load(bytes).unwrap_err().kind, ErrorKind::InvalidImage);
    }
    assert!(load(&whole).is_ok());
}

#[test]
#[ignore = "run by a_process_of_its_own_shows_it"]
fn code_goes_with_its_module() {
    let Ok(_) = std::fs::read("/proc/self/maps") else {
        println!("skipped: there is no /proc");
        return;
    };
    let mapped = || {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.matches("hip-kernels").count()
    };
    assert_eq!(mapped(), 0);
    // A template's static, which compilers mark so that it is never unloaded.
    let rig = Rig::new(
        "template <class T> struct S { static int n; }; template <class T> int S<T>::n = 4;\n\
         extern \"C\" __global__ void k(int* x) { __shared__ int y; y = S<int>::n++; *x = y; }",
    );
    let mut value = 0;
    rig.run("k", block(1), &[arg(&&raw mut value)]);
    assert_eq!(value, 4);
    assert!(mapped() > 0);
    drop(rig);
    assert_eq!(mapped(), 0);
}
