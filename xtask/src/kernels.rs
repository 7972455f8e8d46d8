//! `cargo xtask kernels`: builds the prebuilt device code of `hip-video`, and proves the kernels
//! with every real compiler.
//!
//! No compilation needs a GPU or an installed toolkit: NVRTC is a Python wheel, HIPRTC comes of
//! Debian's packages; both are unpacked below the target folder.
//!
//! `--check` changes nothing. It always compares `manifest.toml` with the kernel texts and the blobs
//! on disk. It compiles again and compares byte for byte with each compiler of exactly the version
//! that wrote the blobs: the NVRTC wheel is pinned, Debian's suites are not, and a mirror has only a
//! suite's present version.

mod child;
mod compiler;
mod families;
mod fetch;
mod manifest;
mod matrix;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use crate::apt::{self, Consent};
use crate::args::{Args, flag};
use crate::bounded::run_within;
use crate::workspace::Workspace;

use compiler::{Api, Compiler, Installed, in_parallel};
use families::{Blob, blobs, file_name, files_in, normalised};
use fetch::{COMPILERS, Missing, fetch};
use manifest::Identities;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const HELP: &str = "\
Usage: cargo xtask kernels [--check | --compilers] [--yes]

Compiles the prebuilt device code of hip-video; fetches the compilers when they are not there.

  --check      change nothing: compare manifest, texts and blobs, and compile again where possible
  --compilers  change nothing: compile every kernel with every NVRTC and HIPRTC there is for every
               architecture each knows, print a table, and test hip-rtc with the same compilers
  --yes        install missing packages without asking
";

/// The most that all blobs may weigh deflated, as every program that converts video holds them.
const SIZE_LIMIT: usize = 4 << 20;

/// Where an ELF file says the version of its operating system's ABI, and what AMD's says there for
/// code object version 4.
const EI_ABIVERSION: usize = 8;
const CODE_VERSION_4: u8 = 2;

/// Runs the command; see the module's documentation.
///
/// # Errors
/// When a compiler cannot be had (without `--check`), a kernel does not compile, or with `--check`
/// when a blob or the manifest is not what the texts give.
pub(crate) fn main(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [child::COMPILE, rest @ ..] => return child::compile(rest),
        [child::ARCHITECTURES, rest @ ..] => return child::architectures(rest),
        _ => {}
    }
    if crate::wants_help(arguments) {
        print!("{HELP}");
        return Ok(());
    }
    let options = [flag("--check"), flag("--compilers"), flag("--yes")];
    let args = Args::parse(arguments, &options, 0, false)?;
    if args.has("--check") && args.has("--compilers") {
        return Err("kernels: --check and --compilers are two commands".into());
    }
    let workspace = Workspace::locate()?;
    let consent = Consent {
        yes: args.has("--yes"),
        quiet: false,
    };
    apt::ensure(&workspace, &["kernels", "rocm"], consent)?;
    if args.has("--check") {
        check(&workspace)
    } else if args.has("--compilers") {
        compilers(&workspace).map(drop)
    } else {
        build(&workspace)
    }
}

/// How long hip-rtc's tests with every compiler may take; building them is included.
const TEST_LIMIT: Duration = Duration::from_secs(20 * 60);

/// Every kernel by every compiler, and hip-rtc's own tests with them; gives a line for each compiler
/// that cannot be had here.
pub(crate) fn compilers(workspace: &Workspace) -> Result<Vec<String>> {
    let (installed, skipped) = matrix::run(&workspace.target, &kernels(workspace))?;
    let mut test = workspace.cargo();
    test.args(["test", "--package", "hip-rtc", "--test", "compilers"]);
    for (variable, api) in [
        ("HIP_TEST_NVRTC", Api::Nvrtc),
        ("HIP_TEST_HIPRTC", Api::Hiprtc),
    ] {
        let own = installed.iter().filter(|one| one.compiler.api == api);
        test.env(variable, env::join_paths(own.map(|one| &one.library))?);
    }
    run_within(&test, TEST_LIMIT)?;
    Ok(skipped)
}

fn kernels(workspace: &Workspace) -> PathBuf {
    workspace.root.join("crates/hip-video/kernels")
}

fn prebuilt(workspace: &Workspace) -> PathBuf {
    workspace.root.join("crates/hip-video/prebuilt")
}

fn build(workspace: &Workspace) -> Result<()> {
    let (kernels, prebuilt) = (kernels(workspace), prebuilt(workspace));
    let blobs = blobs(&kernels)?;
    fs::create_dir_all(&prebuilt)?;
    let mut identities = Identities::new();
    for compiler in &COMPILERS {
        let own: Vec<&Blob> = blobs_of(&blobs, compiler);
        if own.is_empty() {
            continue;
        }
        let installed = fetch(compiler, &workspace.target)
            .map_err(|missing| format!("{}: {missing}", compiler.label))?;
        for (blob, image) in own.iter().zip(compile_all(&installed, &kernels, &own)) {
            fs::write(prebuilt.join(&blob.file), image?)?;
        }
        identities.insert(compiler.label.to_owned(), installed.identity);
    }
    remove_strangers(&prebuilt, &blobs)?;
    let manifest = manifest::compose(&kernels, &prebuilt, &blobs, &identities)?;
    fs::write(prebuilt.join(manifest::FILE), manifest)?;
    report_size(&prebuilt, &blobs)
}

fn blobs_of<'a>(blobs: &'a [Blob], compiler: &Compiler) -> Vec<&'a Blob> {
    let own = |blob: &&Blob| blob.compiler.label == compiler.label;
    blobs.iter().filter(own).collect()
}

/// The images of a compiler's blobs, in their order.
fn compile_all(
    installed: &Installed,
    kernels: &Path,
    blobs: &[&Blob],
) -> Vec<std::result::Result<Vec<u8>, String>> {
    in_parallel(blobs, |blob| {
        let products = installed
            .compile(kernels, &blob.text, &blob.options)
            .map_err(|error| format!("{}: {error}", blob.file))?;
        let image = match installed.compiler.api {
            Api::Nvrtc => products.ptx,
            Api::Hiprtc => products.code_object,
        };
        let image = image.ok_or_else(|| format!("{}: no product", blob.file))?;
        let entry = blob.entry.as_bytes();
        if !image.windows(entry.len()).any(|bytes| bytes == entry) {
            return Err(format!("{} does not hold its entry point", blob.file));
        }
        if installed.compiler.api == Api::Hiprtc
            && image.get(EI_ABIVERSION) != Some(&CODE_VERSION_4)
        {
            return Err(format!(
                "{} has another code object version than 4",
                blob.file
            ));
        }
        Ok(image)
    })
}

/// Deletes blobs that no entry point has any more.
fn remove_strangers(prebuilt: &Path, blobs: &[Blob]) -> Result<()> {
    for path in files_in(prebuilt)? {
        let name = file_name(&path);
        if name != manifest::FILE && !blobs.iter().any(|blob| blob.file == name) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Prints what the blobs weigh; above the limit that is an error.
fn report_size(prebuilt: &Path, blobs: &[Blob]) -> Result<()> {
    let (mut plain, mut deflated) = (0, 0);
    for blob in blobs {
        let image = fs::read(prebuilt.join(&blob.file))?;
        plain += image.len();
        // As hip-video's build script does.
        deflated += miniz_oxide::deflate::compress_to_vec(&image, 9).len();
    }
    println!(
        "kernels: {} blobs, {} KiB, deflated {} KiB of {} KiB allowed",
        blobs.len(),
        plain / 1024,
        deflated / 1024,
        SIZE_LIMIT / 1024
    );
    match deflated <= SIZE_LIMIT {
        true => Ok(()),
        false => Err("the prebuilt kernels are too large".into()),
    }
}

/// Compares manifest, texts and blobs; see the module's documentation.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let (kernels, prebuilt) = (kernels(workspace), prebuilt(workspace));
    let blobs = blobs(&kernels)?;
    let found = fs::read(prebuilt.join(manifest::FILE))
        .map_err(|error| format!("prebuilt/manifest.toml: {error}; run `cargo xtask kernels`"))?;
    let found = String::from_utf8(normalised(&found))?;
    let identities = manifest::identities(&found);
    let expected = manifest::compose(&kernels, &prebuilt, &blobs, &identities)?;
    if found != expected {
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
    println!("kernels: the blobs match the manifest and the texts");
    report_size(&prebuilt, &blobs)?;
    for compiler in &COMPILERS {
        let own = blobs_of(&blobs, compiler);
        if own.is_empty() {
            continue;
        }
        let recorded = identities
            .get(compiler.label)
            .ok_or_else(|| format!("the manifest does not say which {} it was", compiler.label))?;
        match fetch(compiler, &workspace.target) {
            Ok(installed) if installed.identity == *recorded => {
                recompile(&installed, &kernels, &prebuilt, &own)?;
            }
            Ok(installed) => println!(
                "kernels: SKIP compiling again with {}: the blobs are of {recorded}, to be had is {}",
                compiler.label, installed.identity
            ),
            Err(Missing::Here(reason)) => println!(
                "kernels: SKIP compiling again with {}: {reason}",
                compiler.label
            ),
            Err(Missing::Failed(error)) => {
                return Err(format!("{}: {error}", compiler.label).into());
            }
        }
    }
    Ok(())
}

/// Compiles every blob of one compiler and compares it with the file.
fn recompile(
    installed: &Installed,
    kernels: &Path,
    prebuilt: &Path,
    blobs: &[&Blob],
) -> Result<()> {
    for (blob, image) in blobs.iter().zip(compile_all(installed, kernels, blobs)) {
        if image? != fs::read(prebuilt.join(&blob.file))? {
            return Err(format!(
                "{} compiles to other bytes; run `cargo xtask kernels`",
                blob.file
            )
            .into());
        }
    }
    println!(
        "kernels: {} blobs compiled again with {} ({}), bytes equal",
        blobs.len(),
        installed.compiler.label,
        installed.version
    );
    Ok(())
}
