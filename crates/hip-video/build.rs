//! Compiles the kernels as host code, once for each level of instruction sets that
//! `src/host.rs` chooses from at run time; deflates the images of `prebuilt/`.

use std::path::PathBuf;
use std::{env, fs};

/// Suffix of the symbols, and what the compiler is told.
const X86_64_LEVELS: [(&str, &[&str]); 4] = [
    ("_base", &[]),
    ("_v2", &["-march=x86-64-v2"]),
    ("_v3", &["-march=x86-64-v3"]),
    ("_v4", &["-march=x86-64-v4", "-mprefer-vector-width=512"]),
];
const OTHER_LEVELS: [(&str, &[&str]); 1] = [("_base", &[])];

fn main() {
    println!("cargo::rerun-if-changed=kernels");
    println!("cargo::rerun-if-changed=host");
    println!("cargo::rerun-if-changed=prebuilt");
    deflate_images();
    let texts = fs::read_dir("kernels").expect("the folder of kernels");
    let mut texts: Vec<String> = texts
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    texts.sort();
    // For a test that none is left out of `prebuilt::TEXTS`.
    println!("cargo::rustc-env=KERNEL_TEXTS={}", texts.join(" "));
    let x86_64 = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "x86_64");
    let levels: &[(&str, &[&str])] = if x86_64 {
        &X86_64_LEVELS
    } else {
        &OTHER_LEVELS
    };
    for (suffix, flags) in levels {
        let mut build = compiler();
        build.define("KERNEL_SUFFIX", *suffix).flags(*flags);
        build
            .file("host/convert.cpp")
            .compile(&format!("hip_video_convert{suffix}"));
    }
    compiler()
        .file("host/layout.cpp")
        .compile("hip_video_layout");
    // For tests only; no program links it. Optimised less, for it takes the longest to compile.
    compiler()
        .opt_level(1)
        .flag_if_supported("-Wno-unknown-pragmas")
        .file("host/device_branch.cpp")
        .compile("hip_video_device_branch");
}

/// 1.3 MiB of images become 0.3: every program that converts video holds them.
fn deflate_images() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for entry in fs::read_dir("prebuilt").expect("the folder of images") {
        let path = entry.expect("an entry").path();
        let image = fs::read(&path).expect("an image");
        let mut name = path.file_name().expect("a name").to_owned();
        name.push(".deflate");
        fs::write(
            out.join(name),
            miniz_oxide::deflate::compress_to_vec(&image, 9),
        )
        .expect("OUT_DIR is writable");
    }
}

/// Always optimised: unoptimised kernels would make the Host backend useless in debug builds.
fn compiler() -> cc::Build {
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .cpp_link_stdlib(None)
        .std("c++17")
        .include("kernels")
        .opt_level(3)
        .debug(false)
        .pic(true)
        .flag_if_supported("-fno-exceptions")
        .flag_if_supported("-fno-rtti")
        // Memory is read as bytes and as words.
        .flag_if_supported("-fno-strict-aliasing")
        // Selections become masks only where a comparison is known not to trap.
        .flag_if_supported("-fno-trapping-math")
        .flag_if_supported("-fno-math-errno");
    build
}
