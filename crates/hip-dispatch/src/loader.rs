//! Opening a vendor's library: by versioned name, local, lazily, remembering what was tried.

use std::ffi::{CStr, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use crate::Vendor;
use crate::elf_file;
use crate::locale::CLocale;

/// One file that was tried, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// Name or path given to the system's loader.
    pub file: PathBuf,
    /// `None` when it loaded; else the loader's reason.
    pub error: Option<String>,
}

impl Attempt {
    /// Whether the loader's reason says no more than that there is no such file. A file that is
    /// there and needs another one that is not gives the same words about the other one.
    fn is_absent(&self) -> bool {
        self.error.as_ref().is_some_and(|error| {
            if cfg!(windows) {
                // ERROR_MOD_NOT_FOUND: the system does not say which of the two it means.
                return error.contains("os error 126");
            }
            // With what follows it: that `libx.so` needs `libx.so.1` is another matter.
            error.contains(&format!("{}:", self.file.display()))
                && error.contains("No such file")
                && !error.contains("needed by")
        })
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            None => write!(f, "{}: loaded", self.file.display()),
            Some(_) if self.is_absent() => write!(f, "{}: not there", self.file.display()),
            // The loader's words start with the file's name.
            Some(error) => match error.starts_with(&*self.file.to_string_lossy()) {
                true => f.write_str(error),
                false => write!(f, "{}: {error}", self.file.display()),
            },
        }
    }
}

/// A library in use.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadedLibrary {
    /// What it is for: `runtime`, `driver` or `compiler`.
    pub role: &'static str,
    /// The file that the system's loader found.
    pub path: PathBuf,
}

/// Why a vendor's library is not in use.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadError {
    /// Whose library.
    pub vendor: Vendor,
    /// What the library is, for people: `NVIDIA's CUDA driver`.
    pub library: &'static str,
    /// Every file that was tried, in order.
    pub attempts: Vec<Attempt>,
    /// Functions that a loaded library lacks and that nothing works without.
    pub missing_symbols: Vec<&'static str>,
}

impl LoadError {
    /// The process was forked while another thread loaded the library: nobody will finish.
    pub(crate) fn forked(vendor: Vendor, library: &'static str) -> LoadError {
        let error = "the process was forked while the library was being loaded".to_owned();
        LoadError {
            vendor,
            library,
            attempts: vec![Attempt {
                file: "its library".into(),
                error: Some(error),
            }],
            missing_symbols: Vec::new(),
        }
    }

    /// Whether there is no such file (as opposed to one that does not load, or lacks functions).
    pub fn not_found(&self) -> bool {
        self.not_loaded() && self.attempts.iter().all(Attempt::is_absent)
    }

    fn not_loaded(&self) -> bool {
        self.missing_symbols.is_empty()
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.library;
        if self.not_loaded() {
            write!(f, "{what} could not be loaded; looked for ")?;
        } else {
            // A library that is no driver at all lacks dozens.
            let named = self.missing_symbols.len().min(3);
            write!(
                f,
                "{what} lacks {}",
                self.missing_symbols[..named].join(", ")
            )?;
            match self.missing_symbols.len() - named {
                0 => {}
                more => write!(f, " and {more} more functions")?,
            }
            f.write_str("; loaded from ")?;
        }
        // Where a library lacks functions, those that were not even there are no matter.
        let shown = |attempt: &&Attempt| self.not_loaded() || attempt.error.is_none();
        for (index, attempt) in self.attempts.iter().filter(shown).enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            match attempt.error.is_none() || attempt.is_absent() {
                true => write!(f, "{}", attempt.file.display())?,
                false => write!(f, "{attempt}")?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for LoadError {}

/// What a vendor's driver or runtime is called in [`LoadError::library`].
pub(crate) const fn driver_name(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::Amd => "AMD's HIP runtime",
        Vendor::Nvidia => "NVIDIA's CUDA driver",
        Vendor::Host => "the CPU backend",
    }
}

/// The system's own words: libloading says only which call failed and keeps them as the source.
pub(crate) fn reason(error: &libloading::Error) -> String {
    use std::error::Error;
    error
        .source()
        .map_or_else(|| error.to_string(), |source| source.to_string())
}

/// An open library that knows the file it came from.
///
/// It is never closed: a vendor's threads, thread-local objects and exit handlers outlive whoever
/// loaded it. (AMD's 6.4, closed by another thread than loaded it, crashes the process at exit.)
pub(crate) struct Library {
    library: ManuallyDrop<libloading::Library>,
    path: PathBuf,
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Library({})", self.path.display())
    }
}

impl Library {
    /// Opens the first candidate that loads. `probe` is a function that any such library has; it
    /// tells where the file was found.
    pub(crate) fn open_first(
        vendor: Vendor,
        candidates: impl IntoIterator<Item = PathBuf>,
        probe: &CStr,
    ) -> Result<(Library, Vec<Attempt>), LoadError> {
        let mut attempts = Vec::new();
        for file in candidates {
            if let Some(library) = Library::open(vendor, file, probe, &mut attempts) {
                return Ok((library, attempts));
            }
        }
        Err(LoadError {
            vendor,
            library: driver_name(vendor),
            attempts,
            missing_symbols: Vec::new(),
        })
    }

    /// Opens one file, and notes what came of it.
    pub(crate) fn open(
        vendor: Vendor,
        file: PathBuf,
        probe: &CStr,
        attempts: &mut Vec<Attempt>,
    ) -> Option<Library> {
        if let Some(flaw) = elf_file::flaw(&file) {
            tracing::debug!(%vendor, file = %file.display(), flaw, "library not loaded");
            attempts.push(Attempt {
                file,
                error: Some(flaw),
            });
            return None;
        }
        let opened = {
            // The system's words are looked into.
            let _locale = CLocale::enter();
            open_local(&file)
        };
        match opened {
            Ok(library) => {
                let mut library = Library {
                    library: ManuallyDrop::new(library),
                    path: file.clone(),
                };
                if let Some(path) = library.symbol(probe).and_then(file_of_address) {
                    library.path = path;
                }
                tracing::debug!(%vendor, path = %library.path.display(), "library loaded");
                attempts.push(Attempt { file, error: None });
                Some(library)
            }
            Err(error) => {
                let error = Some(reason(&error));
                tracing::debug!(%vendor, file = %file.display(), ?error, "library not loaded");
                attempts.push(Attempt { file, error });
                None
            }
        }
    }

    /// The address of a function, if the library has it.
    pub(crate) fn symbol(&self, name: &CStr) -> Option<*const c_void> {
        // SAFETY: only the address is taken here; whoever casts it states the signature.
        let symbol = unsafe { self.library.get::<*const c_void>(name.to_bytes_with_nul()) }.ok()?;
        let address = *symbol;
        (!address.is_null()).then_some(address)
    }

    /// The file that was loaded.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(unix)]
fn open_local(file: &Path) -> Result<libloading::Library, libloading::Error> {
    use libloading::os::unix;
    // Local, so that two vendors' copies of one library (LLVM in comgr and in Mesa) do not meet;
    // lazy, because drivers carry functions that need libraries of their own.
    // SAFETY: vendor libraries' initialisers are meant to run in any process that opens them.
    unsafe { unix::Library::open(Some(file), unix::RTLD_LAZY | unix::RTLD_LOCAL) }.map(Into::into)
}

#[cfg(windows)]
fn open_local(file: &Path) -> Result<libloading::Library, libloading::Error> {
    use libloading::os::windows;
    // What a library by path needs lies beside it, not beside the program. The flag is for paths
    // from the root only.
    let flags = match file.is_absolute() {
        true => windows::LOAD_WITH_ALTERED_SEARCH_PATH,
        false => 0,
    };
    // SAFETY: as on Unix.
    unsafe { windows::Library::load_with_flags(file, flags) }.map(Into::into)
}

#[cfg(unix)]
fn file_of_address(address: *const c_void) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    // SAFETY: an all-zero Dl_info is valid: it is made of pointers.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `address` lies in a loaded library and `info` is writable.
    if unsafe { libc::dladdr(address, &mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr gave a NUL-terminated name that lives as long as the library is loaded.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())))
}

#[cfg(not(unix))]
fn file_of_address(_address: *const c_void) -> Option<PathBuf> {
    None
}

/// Files in `folder` whose name starts with `prefix`, the highest version number first.
pub(crate) fn versioned_files(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut entries: Vec<(Vec<u32>, PathBuf)> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let version = name.to_str()?.strip_prefix(prefix)?;
            Some((numbers(version), entry.path()))
        })
        .collect();
    entries.sort_by(|a, b| b.cmp(a));
    entries.into_iter().map(|(_, path)| path).collect()
}

/// The numbers in `-6.10.1`: versions compare as these, not as text.
fn numbers(version: &str) -> Vec<u32> {
    version
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|part| part.parse().ok())
        .collect()
}

// Miri opens no libraries.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn absence_names_every_file_tried() {
        let files = ["libno-such-thing.so.3", "libno-such-thing.so.2"].map(PathBuf::from);
        let error = Library::open_first(Vendor::Nvidia, files, c"cuInit").unwrap_err();
        assert!(error.not_found());
        assert_eq!(
            error.to_string(),
            "NVIDIA's CUDA driver could not be loaded; looked for libno-such-thing.so.3, \
             libno-such-thing.so.2"
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_damaged_file_is_told_from_an_absent_one() {
        let error =
            Library::open_first(Vendor::Amd, ["/proc/self/status".into()], c"hipInit").unwrap_err();
        assert!(error.to_string().contains("/proc/self/status: "), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn a_file_that_lacks_another_one_is_there() {
        let attempt = |error: &str| Attempt {
            file: "libamdhip64.so.6".into(),
            error: Some(error.into()),
        };
        let end = ": cannot open shared object file: No such file or directory";
        let absent = attempt(&format!("libamdhip64.so.6{end}"));
        let lacking = attempt(&format!("libamd_comgr.so.2{end}"));
        assert_eq!(absent.to_string(), "libamdhip64.so.6: not there");
        assert!(
            lacking.to_string().contains("libamd_comgr.so.2"),
            "{lacking}"
        );
        let link = Attempt {
            file: "libamdhip64.so".into(),
            error: Some(format!("libamdhip64.so.7{end}")),
        };
        assert!(!link.is_absent(), "{link}");
        let mut error = LoadError {
            vendor: Vendor::Amd,
            library: driver_name(Vendor::Amd),
            attempts: vec![absent, lacking],
            missing_symbols: Vec::new(),
        };
        assert!(!error.not_found());
        assert!(error.to_string().contains("libamd_comgr.so.2"), "{error}");
        error.attempts.pop();
        assert!(error.not_found());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_loaded_file_is_reported() {
        let (library, attempts) = Library::open_first(
            Vendor::Amd,
            ["none.so".into(), "libc.so.6".into()],
            c"getpid",
        )
        .unwrap();
        assert!(library.path().is_absolute(), "{library:?}");
        assert_eq!(attempts.len(), 2);
        assert!(library.symbol(c"no_such_function_at_all").is_none());
    }

    #[test]
    fn versions_sort_as_numbers() {
        let folder = std::env::temp_dir().join(format!("hip-dispatch-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for version in ["6", "7.2.4", "10", "7", "6.4", "6.10"] {
            std::fs::write(folder.join(format!("libx.so.{version}")), "").unwrap();
        }
        let found = versioned_files(&folder, "libx.so.");
        let names: Vec<_> = found
            .iter()
            .map(|path| path.file_name().unwrap().to_str().unwrap())
            .collect();
        assert_eq!(
            names,
            [
                "libx.so.10",
                "libx.so.7.2.4",
                "libx.so.7",
                "libx.so.6.10",
                "libx.so.6.4",
                "libx.so.6"
            ]
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
