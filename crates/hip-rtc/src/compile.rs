//! Kernel texts to module images, by the compiler that fits the device, through the cache.

mod key;

use std::path::Path;
use std::time::UNIX_EPOCH;

use hip_core::Device;
use hip_dispatch::ImageKind;
use hip_dispatch::RtcLibrary;
use hip_dispatch::rtc::{RtcError, RtcProduct, RtcTarget};

use crate::cache::{self, Cache, Entry, Origin};
use crate::check::check;
use crate::image::{ImageError, ImageFormat};
use crate::options::{self, Dialect, Translated};
use crate::{CompileError, Error, KernelSource, Result, headers, host};

/// A module image made of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compiled {
    /// The image, for [`crate::KernelModule::from_binary`].
    pub image: Vec<u8>,
    /// What it is.
    pub format: ImageFormat,
    /// The compiler and its version.
    pub compiler: String,
    /// The compiler's warnings; may be empty.
    pub log: String,
    /// Whether it was in the cache, or another thread was making it: nothing was compiled for this
    /// call.
    pub cached: bool,
}

/// Compiles a text for a device, unless the process's cache has it ([`cache::global`]).
///
/// The text is C++17, compiled by NVRTC to a CUBIN (or to PTX, by one that is older than the
/// device), by HIPRTC to a code object, or by the system's C++ compiler. Options may be spelled as
/// NVRTC or as clang has them: definitions (`-D`), include folders (`-I`), `--use_fast_math`, the
/// language standard, and so on; one that means nothing for the device is named in the log, and one
/// that is not known is passed on as it is.
///
/// The usual headers (`cuda_runtime.h`, `hip/hip_runtime.h`, `cuda_fp16.h`, `hip/hip_fp16.h`,
/// `stdint.h`, `stddef.h`, `math.h`, `assert.h`, their C++ names, and so on) can be included without any vendor's
/// development package. The source's own header of such a name, or one in an include folder, is
/// taken instead.
///
/// Numbers are read with a decimal point whatever the process's locale; on Windows the vendors'
/// compilers follow the process's, which is the "C" locale unless the program sets another.
///
/// A text that includes files which are not in memory is compiled anew each time: nobody would
/// notice that they change. (`<name>` without a dot is a header of C++'s own, which changes with the
/// compiler.)
///
/// # Errors
/// There is no compiler or it cannot be run, the text does not compile, an option sets an
/// architecture or asks for something else than a module, a header's name is none, or a text or
/// option contains a NUL.
pub fn compile(device: &Device, source: &KernelSource<'_>, options: &[&str]) -> Result<Compiled> {
    compile_in(cache::global(), device, source, options)
}

/// As [`compile`], with a cache of one's own.
///
/// # Errors
/// As [`compile`].
pub fn compile_in(
    cache: &Cache,
    device: &Device,
    source: &KernelSource<'_>,
    options: &[&str],
) -> Result<Compiled> {
    device.check_process("compile")?;
    check(source, options)?;
    let job = Job::new(device, source, options);
    let make = || job.make();
    let (entry, cached) = match key::reads_files(&job.source, &job.options.arguments) {
        true => (make()?, false),
        false => cache.get_or_insert_with(&job.key(), is_fresh, make)?,
    };
    let format = format_of(entry.kind)
        .ok_or_else(|| Error::Damaged(format!("the cache's entry is of kind {}", entry.kind)))?;
    tracing::debug!(
        name = source.name, device = %device.info(), compiler = entry.origin.compiler, cached,
        bytes = entry.image.len(), "kernel compiled"
    );
    Ok(Compiled {
        image: entry.image,
        format,
        compiler: entry.origin.compiler,
        log: entry.log,
        cached,
    })
}

/// One text for one device.
struct Job<'a> {
    device: &'a Device,
    kind: ImageKind,
    /// With the headers that the compiler lacks.
    source: KernelSource<'a>,
    /// As the compiler spells them; Host's are translated where it is driven.
    options: Translated,
}

impl<'a> Job<'a> {
    fn new(device: &'a Device, source: &KernelSource<'a>, options: &[&str]) -> Job<'a> {
        let kind = device.backend().image_kind();
        let (source, options) = match dialect(kind) {
            Some(dialect) => prepare(dialect, source, options),
            None => {
                let arguments = options.iter().map(|option| (*option).to_owned()).collect();
                let ignored = Vec::new();
                (source.clone(), Translated { arguments, ignored })
            }
        };
        Job {
            device,
            kind,
            source,
            options,
        }
    }

    /// Opens the compiler and compiles.
    fn make(&self) -> Result<Entry> {
        match self.kind {
            ImageKind::Host => self.make_on_host(),
            _ => self.make_with_library(),
        }
    }

    fn make_with_library(&self) -> Result<Entry> {
        let device = self.device;
        let compiler = match device.backend().compiler() {
            Some(Ok(compiler)) => compiler,
            Some(Err(error)) => return Err(Error::no_library(device, &error)),
            None => {
                return Err(Error::CompilerMissing {
                    device: device.info().to_string(),
                    why: "its backend has none".to_owned(),
                    install: install_hint(self.kind),
                });
            }
        };
        let target = compiler
            .target_for(device.info())
            .map_err(|error| Error::CompilerTooOld {
                device: device.info().to_string(),
                why: error.to_string(),
                install: install_hint(self.kind),
            })?;
        compile_with(compiler, &target, &self.source, &self.options)
    }

    fn make_on_host(&self) -> Result<Entry> {
        let options: Vec<&str> = self.options.arguments.iter().map(String::as_str).collect();
        let failed = |error: host::HostError| error.into_error(self.device, &self.source, &options);
        let compiler = host::Compiler::find().map_err(failed)?;
        let built = host::compile_with(&compiler, &self.source, &options).map_err(failed)?;
        Ok(Entry {
            kind: kind_of(ImageFormat::HostObject),
            origin: Origin {
                compiler: built.compiler,
                file: file_identity(compiler.path()),
            },
            log: built.log,
            image: built.object,
        })
    }
}

/// How a vendor's compiler spells its options; `None` for Host, whose compiler is driven elsewhere.
fn dialect(kind: ImageKind) -> Option<Dialect> {
    match kind {
        ImageKind::Cuda => Some(Dialect::Nvrtc),
        ImageKind::AmdCodeObject => Some(Dialect::Clang),
        _ => None,
    }
}

/// The source with the headers that its compiler lacks, and the options translated.
fn prepare<'a>(
    dialect: Dialect,
    source: &KernelSource<'a>,
    options: &[&str],
) -> (KernelSource<'a>, Translated) {
    let mut source = source.clone();
    let folders = options::include_folders(options);
    for (name, text) in headers::for_gpus() {
        let own = source.headers.iter().any(|(own, _)| *own == name);
        if !own
            && !folders
                .iter()
                .any(|folder| Path::new(folder).join(name).exists())
        {
            source.headers.push((name, text));
        }
    }
    (source, options::translate(dialect, options))
}

/// Compiles with an open library, for a target that it made.
fn compile_with(
    compiler: &RtcLibrary,
    target: &RtcTarget,
    source: &KernelSource<'_>,
    translated: &Translated,
) -> Result<Entry> {
    let options: Vec<&str> = translated.arguments.iter().map(String::as_str).collect();
    let output = compiler.compile(&source.as_rtc(), target, &options);
    let mut output = output.map_err(|error| {
        let (why, log) = match error {
            RtcError::Nul(what) => return Error::Nul(what),
            RtcError::Compile {
                call,
                code,
                text,
                log,
            } => (format!("{call} gave {text} (code {code})"), log),
            error @ RtcError::Call { .. } => {
                return Error::CompilerFailed {
                    device: target.architecture().to_owned(),
                    why: format!("{compiler}: {error}"),
                };
            }
            other => (other.to_string(), String::new()),
        };
        refused(compiler, target.architecture(), source, &options, why, log)
    })?;
    let format = match target.product() {
        RtcProduct::Ptx => ImageFormat::Ptx,
        RtcProduct::Cubin => ImageFormat::Cubin,
        _ => crate::image::format(&output.image).ok_or(ImageError::Unknown)?,
    };
    translated.note(&mut output.log);
    Ok(Entry {
        kind: kind_of(format),
        origin: Origin {
            compiler: compiler.to_string(),
            file: file_identity(compiler.path()),
        },
        log: output.log,
        image: output.image,
    })
}

fn refused(
    compiler: &RtcLibrary,
    architecture: &str,
    source: &KernelSource<'_>,
    options: &[&str],
    why: String,
    log: String,
) -> Error {
    Error::Compile(Box::new(CompileError {
        name: source.name.to_owned(),
        compiler: compiler.to_string(),
        architecture: architecture.to_owned(),
        options: options.iter().map(|option| (*option).to_owned()).collect(),
        why,
        log,
    }))
}

/// Compiles for an architecture that is named rather than a device's, with any compiler: for tools
/// that build ahead of time. Options and headers are as with [`compile`]; nothing is cached.
///
/// # Errors
/// As [`compile`], and the compiler is not known to take the architecture.
pub fn compile_for(
    compiler: &RtcLibrary,
    architecture: &str,
    source: &KernelSource<'_>,
    options: &[&str],
) -> Result<Compiled> {
    check(source, options)?;
    let refused = |why| refused(compiler, architecture, source, options, why, String::new());
    let Some(dialect) = dialect(compiler.image_kind()) else {
        return Err(refused("it is no library".to_owned()));
    };
    let target = compiler
        .target_named(architecture)
        .map_err(|error| refused(error.to_string()))?;
    let (source, options) = prepare(dialect, source, options);
    let entry = compile_with(compiler, &target, &source, &options)?;
    Ok(Compiled {
        format: format_of(entry.kind).ok_or(ImageError::Unknown)?,
        image: entry.image,
        compiler: entry.origin.compiler,
        log: entry.log,
        cached: false,
    })
}

/// What to install where there is no compiler.
pub(crate) fn install_hint(kind: ImageKind) -> &'static str {
    match kind {
        ImageKind::Cuda => {
            "install NVRTC: the CUDA toolkit's cuda-nvrtc package, or the Python package \
             nvidia-cuda-nvrtc (nvidia-cuda-nvrtc-cu12 for CUDA 12)"
        }
        ImageKind::AmdCodeObject => {
            "install HIPRTC of the same version as the HIP runtime: ROCm's package hip-runtime-amd, or \
             libhiprtc and libhiprtc-builtins of the distribution"
        }
        _ => host::INSTALL,
    }
}

/// A compiler's file, as [`Origin::file`] has it.
pub(crate) fn file_identity(path: &Path) -> Option<(std::path::PathBuf, u64, i128)> {
    let path = std::fs::canonicalize(path).ok()?;
    let metadata = std::fs::metadata(&path).ok()?;
    let modified = metadata.modified().ok()?;
    let nanoseconds = match modified.duration_since(UNIX_EPOCH) {
        Ok(after) => after.as_nanos() as i128,
        Err(before) => -(before.duration().as_nanos() as i128),
    };
    Some((path, metadata.len(), nanoseconds))
}

/// Whether an entry is what would be made now, as far as that can be told without opening a compiler:
/// it is not if its compiler's file was replaced. One whose file is gone is still good.
fn is_fresh(entry: &Entry) -> bool {
    if format_of(entry.kind).is_none() {
        return false;
    }
    let Some((path, size, modified)) = &entry.origin.file else {
        return true;
    };
    match file_identity(path) {
        Some((_, size_now, modified_now)) => (size_now, modified_now) == (*size, *modified),
        None => true,
    }
}

/// [`Entry::kind`] of each format.
const KINDS: [(u32, ImageFormat); 5] = [
    (1, ImageFormat::Ptx),
    (2, ImageFormat::Cubin),
    (3, ImageFormat::AmdCodeObject),
    (4, ImageFormat::OffloadBundle),
    (5, ImageFormat::HostObject),
];

fn kind_of(format: ImageFormat) -> u32 {
    let found = KINDS.iter().find(|(_, known)| *known == format);
    found.map_or(0, |(kind, _)| *kind)
}

fn format_of(kind: u32) -> Option<ImageFormat> {
    let found = KINDS.iter().find(|(known, _)| *known == kind);
    found.map(|(_, format)| *format)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: u32, file: Option<(std::path::PathBuf, u64, i128)>) -> Entry {
        Entry {
            kind,
            origin: Origin {
                compiler: String::new(),
                file,
            },
            log: String::new(),
            image: Vec::new(),
        }
    }

    #[test]
    fn an_entry_of_a_kind_unknown_here_is_stale() {
        for (kind, format) in KINDS {
            assert_eq!((kind_of(format), format_of(kind)), (kind, Some(format)));
            assert!(is_fresh(&entry(kind, None)));
        }
        for kind in [0, 6, u32::MAX] {
            assert!(!is_fresh(&entry(kind, None)));
        }
    }

    #[test]
    fn an_entry_is_stale_once_its_compiler_was_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let compiler = folder.path().join("c++");
        std::fs::write(&compiler, "one").unwrap();
        let made = entry(5, file_identity(&compiler));
        assert!(is_fresh(&made));
        std::fs::write(&compiler, "three").unwrap();
        assert!(!is_fresh(&made));
        // What it made is good without it.
        std::fs::remove_file(&compiler).unwrap();
        assert!(is_fresh(&made));
    }
}
