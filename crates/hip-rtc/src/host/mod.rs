//! Kernel texts compiled by the system C++ compiler, for Host.
//!
//! [`compile`] gives the bytes of a shared object, which
//! [`hip_dispatch::ModuleImage::HostObject`] loads. The text is CUDA/HIP C++ as NVRTC and HIPRTC
//! take it. What a CPU cannot do (warp shuffles and votes, textures, cooperative groups, inline
//! assembly) is an error that names it; a warp has one thread.
//!
//! The compiler runs twice: it preprocesses, then this module changes what C++ does not have
//! (`pass`), then it compiles for this machine's CPU. The threads of a block become a loop that
//! can be vectorised, or, if they wait for each other, fibers of one OS thread.

mod compiler;
mod error;
mod headers;
mod invoke;
mod pass;
mod process;
mod scratch;

pub use compiler::Compiler;
pub(crate) use compiler::{INSTALL, configured, cpu};
pub use error::HostError;
pub(crate) use headers::FILES as PRELUDE;

use crate::check::check;
use crate::headers::{OnHost, TABLE};
use crate::image::{KernelInfo, place};
use crate::{KernelSource, options};
use scratch::Scratch;

/// What a text was compiled to.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HostBuild {
    /// A complete shared object.
    pub object: Vec<u8>,
    /// What the compiler said, and which options mean nothing on a CPU; empty if nothing.
    pub log: String,
    /// The compiler's first line about itself.
    pub compiler: String,
    /// The kernels that can be looked up.
    pub kernels: Vec<KernelInfo>,
    /// Kernels that are not `extern "C"`, or are templates: they cannot be looked up, on any vendor.
    pub nameless: Vec<String>,
}

/// Compiles a text for this machine's CPU.
///
/// # Errors
/// See [`HostError`]. Nothing of it depends on the locale.
pub fn compile(source: &KernelSource<'_>, options: &[&str]) -> Result<HostBuild, HostError> {
    compile_with(&Compiler::find()?, source, options)
}

/// As [`compile`], with a compiler found before.
///
/// # Errors
/// See [`HostError`].
pub fn compile_with(
    compiler: &Compiler,
    source: &KernelSource<'_>,
    options: &[&str],
) -> Result<HostBuild, HostError> {
    check(source, options)?;
    let translated = options::translate(compiler.style.dialect(), options);
    let scratch = Scratch::new()?;
    write_files(&scratch, source)?;
    let refused = |log: String| HostError::Compile {
        compiler: compiler.version().to_owned(),
        options: options.iter().map(|option| (*option).to_owned()).collect(),
        log,
    };

    let command = invoke::preprocess(compiler, &scratch, &translated.arguments);
    let output = process::run(command, &scratch)?;
    if !output.status.success() {
        return Err(refused(output.stderr));
    }
    let mut log = output.stderr;
    let text = String::from_utf8_lossy(&output.stdout);
    let passed = pass::run(&text, invoke::spelling(compiler.style))?;
    scratch.write("", invoke::PASSED, passed.text.as_bytes())?;

    let command = invoke::compile(compiler, &scratch, &translated.arguments, passed.waits);
    let output = process::run(command, &scratch)?;
    // MSVC's messages are its output.
    if compiler.style == compiler::Style::Msvc {
        log.push_str(&String::from_utf8_lossy(&output.stdout));
    }
    log.push_str(&output.stderr);
    if !output.status.success() {
        return Err(refused(log));
    }
    translated.note(&mut log);
    let object = std::fs::read(scratch.path(invoke::OBJECT))
        .map_err(HostError::io("cannot read the compiled object"))?;
    let kernels = kernels_of_object(&object)
        .ok_or_else(|| refused(format!("{log}the object has no table of kernels")))?;
    Ok(HostBuild {
        object,
        log,
        compiler: compiler.version().to_owned(),
        kernels,
        nameless: passed.nameless,
    })
}

/// The kernels of an object that [`compile`] made, from its bytes; `None` if it did not.
pub fn kernels_of_object(object: &[u8]) -> Option<Vec<KernelInfo>> {
    let kernels = hip_dispatch::host::object_kernels(object)?;
    let info = |kernel: hip_dispatch::host::ObjectKernel| {
        let params = kernel.params.iter();
        Some(KernelInfo {
            params: place(params.map(|param| (param.size, param.align, Some(param.pointer))))?,
            name: kernel.name,
            max_threads: kernel.max_threads,
        })
    };
    kernels.into_iter().map(info).collect()
}

/// The kernels of an object's text that cannot be looked up ([`HostBuild::nameless`]), from its
/// bytes; empty if [`compile`] did not make it.
pub fn nameless_of_object(object: &[u8]) -> Vec<String> {
    hip_dispatch::host::object_nameless(object)
}

/// Writes text and headers. Each starts with its name as the user knows it, so that messages carry
/// that; what a file includes is looked for beside the file itself all the same.
fn write_files(scratch: &Scratch, source: &KernelSource<'_>) -> Result<(), HostError> {
    let named = |name: &str, text: &str| {
        // Editors on Windows write a mark that compilers take at a file's start only.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let name: String = name.replace(['\\', '"', '\n', '\r'], "_");
        format!("#line 1 \"{name}\"\n{text}\n")
    };
    scratch.write(
        "",
        invoke::SOURCE,
        named(source.name, source.text).as_bytes(),
    )?;
    // Also makes the folder that the compiler runs in.
    scratch.write("user", "hip_host_source", b"")?;
    for (name, text) in &source.headers {
        scratch.write("user", name, named(name, text).as_bytes())?;
    }
    for (name, text) in headers::FILES {
        scratch.write("prelude", name, named(name, text).as_bytes())?;
    }
    for header in TABLE {
        let name = header.name;
        let text = match header.host {
            OnHost::Compiler => continue,
            OnHost::Prelude => String::new(),
            OnHost::Part(part) => named(
                &format!("hip_host/{name}"),
                &format!("#include <hip_host/{part}>"),
            ),
        };
        scratch.write("prelude", name, text.as_bytes())?;
    }
    Ok(())
}
