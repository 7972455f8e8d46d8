//! A shared object in memory, opened by the system's loader, which takes files only.

use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::loader;

/// A loaded object. Fields are dropped in order: the code goes before its file.
pub(super) struct Library {
    library: libloading::Library,
    /// Holds the number of the memory file: glibc takes a second object of the same path for the
    /// first one, and the path is the number.
    _memory: Option<File>,
    _file: Option<Removed>,
}

/// A file that is removed with this.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            tracing::debug!(%error, file = %self.0.display(), "a file of kernels stays");
        }
    }
}

impl Library {
    /// Looks a function up.
    ///
    /// # Safety
    /// The symbol, if there, is of the function pointer type `T`; what it gives is not used after
    /// this is dropped.
    pub(super) unsafe fn symbol<T: Copy>(&self, name: &CStr) -> Result<T, String> {
        // SAFETY: the caller's promise.
        let symbol = unsafe { self.library.get::<T>(name) };
        symbol
            .map(|symbol| *symbol)
            .map_err(|error| error.to_string())
    }
}

/// Opens an object, its symbols visible to nobody else.
///
/// # Safety
/// The object's initialisers may be run.
pub(super) unsafe fn open(image: &[u8]) -> Result<Library, String> {
    // SAFETY: the caller's promise.
    match unsafe { open_memory(image) } {
        Some(library) => Ok(library),
        // SAFETY: as above.
        None => unsafe { open_file(image) },
    }
}

/// Through a file that exists in memory only; `None` where there are no such, where they may not be
/// executed, or where `/proc` is not there.
///
/// # Safety
/// As [`open`].
#[cfg(any(target_os = "linux", target_os = "android"))]
unsafe fn open_memory(image: &[u8]) -> Option<Library> {
    use std::os::fd::{AsRawFd, FromRawFd};

    // SAFETY: the name is a string; the result is checked.
    let number = unsafe { libc::memfd_create(c"hip-kernels".as_ptr(), libc::MFD_CLOEXEC) };
    if number < 0 {
        return None;
    }
    // SAFETY: a descriptor just made, which nobody else knows.
    let mut file = unsafe { File::from_raw_fd(number) };
    file.write_all(image).ok()?;
    // With the process's number: somebody else's object may be loaded under `/proc/self`, from a
    // file since closed.
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    // SAFETY: the caller's promise.
    let library = unsafe { load(Path::new(&path)) };
    match library {
        Ok(library) => Some(Library {
            library,
            _memory: Some(file),
            _file: None,
        }),
        Err(error) => {
            tracing::debug!(%error, "kernels are not loaded from memory; a file it is");
            None
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
unsafe fn open_memory(_image: &[u8]) -> Option<Library> {
    None
}

/// Through a file in the temporary folder that only this user can read or write.
///
/// # Safety
/// As [`open`].
unsafe fn open_file(image: &[u8]) -> Result<Library, String> {
    let (mut file, path) = new_file()?;
    let removed = Removed(path);
    let path = removed.0.as_path();
    let failed = |error: std::io::Error| format!("{} cannot be written: {error}", path.display());
    file.write_all(image).map_err(failed)?;
    // Windows refuses to load what is open for writing.
    drop(file);
    // SAFETY: the caller's promise; nobody else writes the file.
    let library = unsafe { load(path) }?;
    Ok(Library {
        library,
        _memory: None,
        _file: Some(removed),
    })
}

/// Files tried before the temporary folder is given up.
const TRIES: u32 = 100;

fn new_file() -> Result<(File, PathBuf), String> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let folder = std::env::temp_dir();
    for _ in 0..TRIES {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(
            "hip-kernels-{}-{count}{}",
            std::process::id(),
            std::env::consts::DLL_SUFFIX
        );
        let path = folder.join(name);
        let mut options = OpenOptions::new();
        // New, so that it is no file, and no link, that somebody else laid there.
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("{} cannot be made: {error}", path.display())),
        }
    }
    Err(format!("{} is full of files of kernels", folder.display()))
}

/// # Safety
/// As [`open`].
unsafe fn load(path: &Path) -> Result<libloading::Library, String> {
    #[cfg(unix)]
    {
        use libloading::os::unix;
        let flags = unix::RTLD_NOW | unix::RTLD_LOCAL;
        // SAFETY: the caller's promise.
        let library = unsafe { unix::Library::open(Some(path), flags) };
        library
            .map(Into::into)
            .map_err(|error| loader::reason(&error))
    }
    #[cfg(not(unix))]
    // SAFETY: the caller's promise.
    unsafe { libloading::Library::new(path) }.map_err(|error| loader::reason(&error))
}
