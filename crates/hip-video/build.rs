//! Compiles the kernels as host code, once for each level of instruction sets that
//! `src/host.rs` chooses from at run time; deflates the images of `prebuilt/` and makes their tables.

use std::path::{Path, PathBuf};
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
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    deflate_images(&out);
    fs::write(out.join("prebuilt.rs"), tables()).expect("OUT_DIR is writable");
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
            .file("host/any.cpp")
            .file("host/same.cpp")
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

/// 2.1 MiB of images become 0.7: every program that converts video holds them.
fn deflate_images(out: &Path) {
    for path in files_in("prebuilt") {
        let image = fs::read(&path).expect("an image");
        fs::write(
            out.join(name_of(&path) + ".deflate"),
            miniz_oxide::deflate::compress_to_vec(&image, 9),
        )
        .expect("OUT_DIR is writable");
    }
}

/// The Rust tables of `src/prebuilt.rs`: the families' texts and entry points, and the headers.
/// `cargo xtask kernels` reads the folder by the same rules: `NAME.cu` is a family, `NAME.entries`
/// lists its entry points, and anything else is a header.
fn tables() -> String {
    let files = files_in("kernels");
    let with = |extension: &'static str| {
        let fits = move |path: &&PathBuf| path.extension().is_some_and(|found| found == extension);
        files.iter().filter(fits)
    };
    let mut text = String::new();
    let mut families = Vec::new();
    for path in with("cu") {
        let name = path.file_stem().expect("a name").to_string_lossy();
        let list = fs::read_to_string(path.with_extension("entries")).expect("a list of entries");
        let entries: Vec<&str> = list
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .collect();
        let table = name.to_uppercase();
        let modules: String = entries.iter().map(|entry| module(entry)).collect();
        text += &format!(
            "/// One module for each entry point of `{name}.cu`, and called like it: a driver that \
             has to\n/// translate PTX then translates only what is used.\n\
             pub static {table}: [Prebuilt; {}] = [{modules}];\n",
            entries.len()
        );
        families.push(format!(
            "Family {{ name: {name:?}, file: {:?}, text: {}, entries: &{table} }},",
            name_of(path),
            include(path)
        ));
    }
    let headers: String = files
        .iter()
        .filter(|path| {
            with("cu")
                .chain(with("entries"))
                .all(|other| other != *path)
        })
        .map(|path| format!("({:?}, {}),", name_of(path), include(path)))
        .collect();
    text += &format!("static HEADERS: &[(&str, &str)] = &[{headers}];\n");
    text += &format!(
        "/// Every family there is.\npub static FAMILIES: [Family; {}] = [{}];\n",
        families.len(),
        families.concat()
    );
    text
}

/// The images of one entry point: its PTX and every code object that lies in `prebuilt`, by
/// architecture from the oldest to the newest.
fn module(entry: &str) -> String {
    let mut architectures: Vec<String> = files_in("prebuilt")
        .iter()
        .filter_map(|path| {
            let rest = name_of(path);
            let rest = rest.strip_prefix(entry)?.strip_prefix('.')?;
            Some(rest.strip_suffix(".hsaco")?.to_owned())
        })
        .collect();
    architectures.sort_by_key(|arch| (arch.len(), arch.clone()));
    let blob = |file: String| format!("Blob(include_bytes!({:?}))", file + ".deflate");
    let objects: String = architectures
        .iter()
        .map(|arch| {
            let image = blob(format!("{entry}.{arch}.hsaco"));
            format!("CodeObject {{ arch: {arch:?}, image: {image} }},")
        })
        .collect();
    format!(
        "Prebuilt {{ name: {entry:?}, ptx: {}, code_objects: &[{objects}], host: host_kernels }},",
        blob(format!("{entry}.ptx"))
    )
}

/// The expression for a kernel text.
fn include(path: &Path) -> String {
    let folder = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    format!("include_str!({:?})", Path::new(&folder).join(path))
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().expect("a name");
    name.to_str().expect("names are ASCII").to_owned()
}

/// The files of a folder, sorted.
fn files_in(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folders of kernels and of images");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files
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
