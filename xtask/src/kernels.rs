//! `cargo xtask kernels [--check]`: builds the prebuilt device code of `hip-video`.
//!
//! PTX comes from NVRTC 11.8, so that every driver since 2022 loads it, and AMD code objects from
//! HIPRTC 5.2.3. Neither needs a GPU or an installed toolkit: the first is a Python wheel, the second
//! two Debian packages, both unpacked under `target/compilers`. A compiler runs in a child process,
//! because an old HIPRTC aborts the process on input it does not like.
//!
//! `--check` changes nothing. It always compares `manifest.toml` with the kernel texts and the blobs
//! on disk, and compiles again and compares byte for byte where a compiler can be had.

mod compiler;
mod fetch;

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use compiler::{Compiler, compile, compile_here};
use fetch::{Installed, find_compiler};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const HELP: &str = "\
Usage: cargo xtask kernels [--check]

Compiles the prebuilt device code of hip-video; fetches the compilers when they are not there.

  --check  change nothing: compare manifest, texts and blobs, and compile again where possible
";

/// First argument of the hidden child command.
const CHILD: &str = "--compile-in-this-process";
const SOURCE: &str = "convert.cu";
/// Entry points of `convert.cu` in the order of its `CONVERT_UNIT` numbers.
const UNITS: [&str; 8] = [
    "convert_yuv420_8_scaled",
    "convert_yuv420_8_unscaled",
    "convert_yuv420_16_scaled",
    "convert_yuv420_16_unscaled",
    "convert_packed_8_scaled",
    "convert_packed_8_unscaled",
    "convert_planar_8_scaled",
    "convert_planar_8_unscaled",
];
/// Architectures that HIPRTC 5.2.3 knows; it aborts on others.
const AMD_ARCHITECTURES: [&str; 3] = ["gfx906", "gfx90a", "gfx1030"];

/// One prebuilt file.
struct Blob {
    file: String,
    compiler: Compiler,
    options: Vec<String>,
}

/// Runs the command; see the module's documentation.
///
/// # Errors
/// When a compiler cannot be had (without `--check`), a kernel does not compile, or with `--check`
/// when a blob or the manifest is not what the texts give.
pub(crate) fn run(args: &[String]) -> Result<()> {
    match args
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        [] => build(),
        ["--check"] => check(),
        ["--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        [CHILD, rest @ ..] => compile_here(rest),
        _ => Err(format!("kernels takes nothing or --check, not {args:?}").into()),
    }
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
        .to_path_buf()
}

fn kernels() -> PathBuf {
    workspace().join("crates/hip-video/kernels")
}

fn prebuilt() -> PathBuf {
    workspace().join("crates/hip-video/prebuilt")
}

fn compilers() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || workspace().join("target"),
        |folder| workspace().join(folder),
    );
    target.join("compilers")
}

fn blobs() -> Vec<Blob> {
    let mut blobs = Vec::new();
    for (unit, name) in UNITS.iter().enumerate() {
        let unit = format!("-DCONVERT_UNIT={unit}");
        blobs.push(Blob {
            file: format!("{name}.ptx"),
            compiler: Compiler::Nvrtc,
            options: vec![
                "--gpu-architecture=compute_52".into(),
                "--std=c++17".into(),
                unit.clone(),
            ],
        });
        for architecture in AMD_ARCHITECTURES {
            blobs.push(Blob {
                file: format!("{name}.{architecture}.hsaco"),
                compiler: Compiler::Hiprtc,
                options: vec![
                    format!("--offload-arch={architecture}"),
                    "-O3".into(),
                    "-std=c++17".into(),
                    unit.clone(),
                ],
            });
        }
    }
    blobs
}

fn build() -> Result<()> {
    let nvrtc = find_compiler(Compiler::Nvrtc)?;
    let hiprtc = find_compiler(Compiler::Hiprtc)?;
    fs::create_dir_all(prebuilt())?;
    let mut total = 0;
    for blob in blobs() {
        let installed = if blob.compiler == Compiler::Nvrtc {
            &nvrtc
        } else {
            &hiprtc
        };
        let image = compile(&blob, installed)?;
        total += image.len();
        fs::write(prebuilt().join(&blob.file), image)?;
    }
    remove_strangers()?;
    fs::write(prebuilt().join("manifest.toml"), manifest()?)?;
    println!(
        "kernels: wrote {} files, {} KiB",
        blobs().len(),
        total / 1024
    );
    Ok(())
}

/// Deletes blobs that no entry point has any more.
fn remove_strangers() -> Result<()> {
    for path in files_in(&prebuilt())? {
        let name = file_name(&path);
        if name != "manifest.toml" && !blobs().iter().any(|blob| blob.file == name) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn check() -> Result<()> {
    let expected = manifest()?;
    let found = fs::read_to_string(prebuilt().join("manifest.toml"))
        .map_err(|error| format!("prebuilt/manifest.toml: {error}; run `cargo xtask kernels`"))?;
    if normalised(found.as_bytes()) != normalised(expected.as_bytes()) {
        let differs = expected
            .lines()
            .zip(found.lines())
            .find(|(left, right)| left != right);
        return Err(format!(
            "prebuilt/manifest.toml is not what the kernel texts and blobs give; run `cargo xtask \
             kernels`. First difference (expected, found): {differs:?}"
        )
        .into());
    }
    println!(
        "kernels: {} blobs match the manifest and the texts",
        blobs().len()
    );
    for compiler in [Compiler::Nvrtc, Compiler::Hiprtc] {
        match find_compiler(compiler) {
            Ok(installed) => recompile(compiler, &installed)?,
            Err(reason) => println!(
                "kernels: SKIP compiling again with {}: {reason}",
                compiler.title()
            ),
        }
    }
    Ok(())
}

/// Compiles every blob of one compiler and compares it with the file.
fn recompile(compiler: Compiler, installed: &Installed) -> Result<()> {
    let mut count = 0;
    for blob in blobs().iter().filter(|blob| blob.compiler == compiler) {
        if compile(blob, installed)? != fs::read(prebuilt().join(&blob.file))? {
            return Err(format!(
                "{} compiles to other bytes; run `cargo xtask kernels`",
                blob.file
            )
            .into());
        }
        count += 1;
    }
    println!(
        "kernels: {count} blobs compiled again with {}, bytes equal",
        compiler.title()
    );
    Ok(())
}

/// The manifest that the texts and blobs on disk give.
fn manifest() -> Result<String> {
    let mut text =
        String::from("# Written by `cargo xtask kernels`, which also checks it.\n\n[sources]\n");
    for path in files_in(&kernels())? {
        writeln!(
            text,
            "\"{}\" = \"{}\"",
            file_name(&path),
            hash(&normalised(&fs::read(&path)?))
        )?;
    }
    for blob in blobs() {
        let path = prebuilt().join(&blob.file);
        let image = fs::read(&path).map_err(|error| format!("prebuilt/{}: {error}", blob.file))?;
        let options = blob
            .options
            .iter()
            .map(|option| format!("\"{option}\""))
            .collect::<Vec<_>>();
        writeln!(text, "\n[[blob]]\nfile = \"{}\"", blob.file)?;
        writeln!(text, "compiler = \"{}\"", blob.compiler.title())?;
        writeln!(text, "options = [{}]", options.join(", "))?;
        writeln!(text, "sha256 = \"{}\"", hash(&image))?;
    }
    Ok(text)
}

/// Text without the carriage returns that a checkout on Windows adds.
fn normalised(text: &[u8]) -> Vec<u8> {
    text.iter().copied().filter(|byte| *byte != b'\r').collect()
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Plain files of a folder, sorted.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
