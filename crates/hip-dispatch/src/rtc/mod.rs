//! Vendors' run-time compilers: NVRTC and HIPRTC, which have the same functions under two prefixes.
//!
//! [`crate::Backend::compiler`] opens the one that fits the driver, at the first call. Nothing is
//! cached here and no option is added but the architecture's, which an [`RtcTarget`] holds: HIPRTC up
//! to 6.x ends the process over an architecture that it does not know, so no text that was not
//! checked can get there.

mod compile;
mod error;
mod names;
mod table;
mod target;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::loader::{Attempt, Library};
use crate::{ImageKind, LoadError, LoadedLibrary, LoaderConfig, Vendor};
pub use compile::{RtcOutput, RtcSource};
pub use error::RtcError;
use table::Table;
pub use target::{RtcProduct, RtcTarget, sets_architecture};

/// What a vendor's compiler is called in [`LoadError::library`].
pub(crate) const fn library_name(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::Amd => "AMD's run-time compiler (HIPRTC)",
        Vendor::Nvidia => "NVIDIA's run-time compiler (NVRTC)",
        Vendor::Host => "a C++ compiler",
    }
}

/// AMD's runtime in use: HIPRTC must be of the same version, which its own number does not tell (it
/// is 9.0 in all of 5.x).
#[derive(Debug, Clone)]
pub struct RuntimeFile {
    /// The file of `libamdhip64`.
    pub path: PathBuf,
    /// `hipRuntimeGetVersion`; 0 where unknown.
    pub version: i32,
}

impl RuntimeFile {
    /// Major and minor of ROCm's release: 6.4 of 60443484. `None` where it is unknown.
    fn release(&self) -> Option<(u32, u32)> {
        let version = u32::try_from(self.version).ok().filter(|v| *v > 0)?;
        Some((version / 10_000_000, version / 100_000 % 100))
    }
}

/// An open run-time compiler. It is never closed.
pub struct RtcLibrary {
    vendor: Vendor,
    table: Table,
    version: (u32, u32),
    /// Whether it is HIPRTC of the version of the runtime that shows the devices: it knows them all.
    of_runtime: bool,
    /// The architectures it compiles for, as numbers (`75`), where NVRTC tells.
    architectures: Option<Vec<u32>>,
    /// Declared last: the table points into it.
    library: Library,
    attempts: Vec<Attempt>,
}

impl RtcLibrary {
    /// Opens NVRTC: the file that `config` names, or the first found that knows all of
    /// `architectures` (`sm_90`), else the first that can make PTX for them, else the first.
    ///
    /// # Errors
    /// No file loads, or none has the functions.
    pub fn open_nvrtc(
        config: &LoaderConfig,
        architectures: &[String],
    ) -> Result<RtcLibrary, LoadError> {
        let mut attempts = Vec::new();
        let mut second: Option<RtcLibrary> = None;
        let mut missing = Vec::new();
        for file in names::nvrtc_candidates(config) {
            let Some(opened) = RtcLibrary::open(Vendor::Nvidia, file, None, &mut attempts) else {
                continue;
            };
            match opened {
                Ok(compiler) if architectures.iter().all(|a| compiler.makes_binary(a)) => {
                    return Ok(compiler.with_attempts(attempts));
                }
                Ok(compiler) => {
                    let serves = |c: &RtcLibrary| architectures.iter().all(|a| c.makes_ptx(a));
                    let better = match &second {
                        None => true,
                        Some(other) => !serves(other) && serves(&compiler),
                    };
                    if better {
                        second = Some(compiler);
                    }
                }
                Err(names) => missing = names,
            }
        }
        match second {
            Some(compiler) => Ok(compiler.with_attempts(attempts)),
            None => Err(load_error(Vendor::Nvidia, attempts, missing)),
        }
    }

    /// Opens HIPRTC: the file that `config` names, or the one of the runtime's version. In 5.x its
    /// functions are in the runtime itself, in 6.x in both, in 7.x in `libhiprtc.so.7` only.
    ///
    /// A file that `config` names may be of any version, whatever the runtime's is; it is given the
    /// architectures that its own version was seen to take.
    ///
    /// # Errors
    /// No file loads, or none has the functions.
    pub fn open_hiprtc(
        config: &LoaderConfig,
        runtime: Option<&RuntimeFile>,
    ) -> Result<RtcLibrary, LoadError> {
        let mut attempts = Vec::new();
        let mut missing = Vec::new();
        let found = runtime.filter(|_| config.hiprtc.is_none());
        for file in names::hiprtc_candidates(config, runtime) {
            match RtcLibrary::open(Vendor::Amd, file, found, &mut attempts) {
                Some(Ok(mut compiler)) => {
                    let version = runtime.and_then(RuntimeFile::release);
                    compiler.of_runtime = version == Some(compiler.version);
                    return Ok(compiler.with_attempts(attempts));
                }
                Some(Err(names)) => missing = names,
                None => {}
            }
        }
        Err(load_error(Vendor::Amd, attempts, missing))
    }

    /// Opens one file. `None` if it does not load, the missing functions if it is no compiler.
    fn open(
        vendor: Vendor,
        file: PathBuf,
        runtime: Option<&RuntimeFile>,
        attempts: &mut Vec<Attempt>,
    ) -> Option<Result<RtcLibrary, Vec<&'static str>>> {
        let library = Library::open(vendor, file, table::probe(vendor), attempts)?;
        let table = match Table::resolve(vendor, &library) {
            Ok(table) => table,
            Err(missing) => {
                // The file is there: that it is none of the compilers is the reason to tell.
                if let Some(attempt) = attempts.last_mut() {
                    attempt.error = Some(format!("{LACKS}{}", missing.join(", ")));
                }
                return Some(Err(missing));
            }
        };
        let version = match vendor {
            // Without a version it is given no architecture that could end the process.
            Vendor::Amd => names::hiprtc_version(&library, runtime).unwrap_or_default(),
            _ => table.version(),
        };
        if vendor == Vendor::Nvidia {
            preload_builtins(library.path(), version);
        }
        Some(Ok(RtcLibrary {
            vendor,
            architectures: table.architectures(),
            table,
            version,
            of_runtime: false,
            library,
            attempts: Vec::new(),
        }))
    }

    fn with_attempts(mut self, attempts: Vec<Attempt>) -> RtcLibrary {
        self.attempts = attempts;
        tracing::debug!(compiler = %self, path = %self.path().display(), "compiler opened");
        self
    }

    /// Whose compiler it is.
    pub fn vendor(&self) -> Vendor {
        self.vendor
    }

    /// What modules it makes.
    pub fn image_kind(&self) -> ImageKind {
        match self.vendor {
            Vendor::Amd => ImageKind::AmdCodeObject,
            Vendor::Nvidia => ImageKind::Cuda,
            Vendor::Host => ImageKind::Host,
        }
    }

    /// The file that was loaded.
    pub fn path(&self) -> &Path {
        self.library.path()
    }

    /// The file, with what it is for.
    pub fn loaded_library(&self) -> LoadedLibrary {
        LoadedLibrary {
            role: "compiler",
            path: self.path().to_owned(),
        }
    }

    /// Every file tried until one served.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// Major and minor: NVRTC's own (12.9), and ROCm's (6.4) for HIPRTC.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }
}

impl fmt::Display for RtcLibrary {
    /// `NVRTC 12.9`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.vendor {
            Vendor::Amd => "HIPRTC",
            _ => "NVRTC",
        };
        write!(f, "{name} {}.{}", self.version.0, self.version.1)
    }
}

impl fmt::Debug for RtcLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RtcLibrary({self} from {})", self.path().display())
    }
}

/// How the reason starts why a file that loads was not taken.
const LACKS: &str = "it lacks ";

fn load_error(
    vendor: Vendor,
    mut attempts: Vec<Attempt>,
    missing_symbols: Vec<&'static str>,
) -> LoadError {
    // The error names the functions itself, and the file as one that loaded.
    for attempt in &mut attempts {
        attempt.error.take_if(|error| error.starts_with(LACKS));
    }
    LoadError {
        vendor,
        library: library_name(vendor),
        attempts,
        missing_symbols,
    }
}

/// NVRTC opens its builtins library by bare name when it compiles. It lies beside NVRTC, in a folder
/// that the system's loader need not know; a library that is loaded already is found by its name.
fn preload_builtins(nvrtc: &Path, version: (u32, u32)) {
    let Some(folder) = nvrtc.parent().filter(|folder| folder.is_absolute()) else {
        return;
    };
    let file = folder.join(names::builtins_name(version));
    if file.exists() {
        let mut attempts = Vec::new();
        // Kept open, as every vendor library is; a failure is in the log, and NVRTC's to report.
        let _ = Library::open(Vendor::Nvidia, file, c"getArchBuiltins", &mut attempts);
    }
}

// Miri opens no libraries.
#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_no_compiler_is_named() {
        let config = LoaderConfig::default()
            .nvrtc("libc.so.6")
            .hiprtc("libc.so.6");
        for error in [
            RtcLibrary::open_nvrtc(&config, &[]).unwrap_err(),
            RtcLibrary::open_hiprtc(&config, None).unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(text.contains("rtcCreateProgram"), "{text}");
            assert!(text.contains("loaded from libc.so.6"), "{text}");
            assert!(!text.contains(LACKS), "{text}");
        }
    }
}
