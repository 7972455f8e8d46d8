//! A library installed in a folder of its own, and so with a state of its own, and loaded.

/// A call on contexts; the stand-in refuses those that are none, and says so.
macro_rules! context_call {
    ($call:expr) => {
        // SAFETY: the stand-in checks every handle it is given.
        unsafe { $call }
    };
}
pub(crate) use context_call;

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hip_dispatch::{
    Backend, ContextGuardToken, ContextHandle, HipError, LoaderConfig, Runtime, StreamFlags,
    StreamHandle, Vendor,
};
use hip_sim::install::Install;

/// The names of every library.
pub(crate) const ALL: [&str; 4] = ["amd5", "amd6", "amd7", "nvidia"];

/// A folder that goes away.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("hip-sim-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left over at worst.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An installed library.
pub(crate) struct Library {
    pub(crate) vendor: Vendor,
    pub(crate) runtime: Arc<Runtime>,
    /// For the extensions: the same library, opened once more.
    symbols: libloading::Library,
    pub(crate) folder: Folder,
}

impl Library {
    pub(crate) fn load(name: &str, settings: &[(&str, &str)]) -> Library {
        let with = |install: Install, (name, value): &(&str, &str)| install.with(name, value);
        Library::install(&settings.iter().fold(Install::library(name), with))
    }

    pub(crate) fn install(install: &Install) -> Library {
        let folder = Folder::new();
        let files = install.install_into(folder.path()).unwrap();
        // Its compiler may lie beside it.
        let file = &files[0];
        assert!(files.len() <= 2, "one library is installed: {files:?}");
        let amd = file.to_string_lossy().contains("amd");
        let mut config = LoaderConfig::default();
        let place = if amd {
            &mut config.amd_runtime
        } else {
            &mut config.cuda_driver
        };
        *place = Some(file.clone());
        // SAFETY: the library's initialisers are Rust's and do nothing of note.
        let symbols = unsafe { libloading::Library::new(file) }.unwrap();
        let vendor = if amd { Vendor::Amd } else { Vendor::Nvidia };
        Library {
            vendor,
            runtime: Runtime::new(config),
            symbols,
            folder,
        }
    }

    pub(crate) fn backend(&self) -> Arc<dyn Backend> {
        self.runtime.backend(self.vendor).unwrap().clone()
    }

    /// A function of the library's by its documented signature.
    ///
    /// # Safety
    /// `F` is a function pointer of that signature.
    pub(crate) unsafe fn function<F: Copy>(&self, name: &str) -> F {
        // SAFETY: the caller's promise.
        *unsafe { self.symbols.get::<F>(name.as_bytes()) }.unwrap()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        // SAFETY: the address is not used.
        unsafe { self.symbols.get::<*const c_void>(name.as_bytes()) }.is_ok()
    }

    fn number(&self, name: &str) -> u64 {
        // SAFETY: these extensions take nothing and give a number.
        unsafe { self.function::<extern "C" fn() -> u64>(name)() }
    }

    pub(crate) fn races(&self) -> u64 {
        self.number("hipSimRaces")
    }

    pub(crate) fn unproven(&self) -> u64 {
        self.number("hipSimUnproven")
    }

    pub(crate) fn last_finding(&self) -> String {
        let mut text = vec![0_u8; 1000];
        // SAFETY: the extension's signature; the room has the size told.
        unsafe {
            let write: unsafe extern "C" fn(*mut c_char, c_int) -> c_int =
                self.function("hipSimLastFinding");
            write(text.as_mut_ptr().cast(), 1000);
        }
        text.truncate(text.iter().position(|byte| *byte == 0).unwrap());
        String::from_utf8(text).unwrap()
    }

    pub(crate) fn calls(&self, name: &str) -> u64 {
        self.calls_on(name, "")
    }

    pub(crate) fn calls_on(&self, name: &str, thread: &str) -> u64 {
        let (name, thread) = (CString::new(name).unwrap(), CString::new(thread).unwrap());
        // SAFETY: the extension's signature, and C strings.
        unsafe {
            let count: unsafe extern "C" fn(*const c_char, *const c_char) -> u64 =
                self.function("hipSimCallsOn");
            count(name.as_ptr(), thread.as_ptr())
        }
    }

    pub(crate) fn live(&self, what: c_int) -> u64 {
        // SAFETY: the extension's signature.
        unsafe { self.function::<extern "C" fn(c_int) -> u64>("hipSimLive")(what) }
    }

    pub(crate) fn fail(&self, faults: &str) {
        let faults = CString::new(faults).unwrap();
        // SAFETY: the extension's signature, and a C string.
        let code = unsafe {
            self.function::<unsafe extern "C" fn(*const c_char) -> c_int>("hipSimFail")(
                faults.as_ptr(),
            )
        };
        assert_eq!(code, 0);
    }

    pub(crate) fn host_access(&self, address: *const u8, bytes: usize, write: bool) -> i32 {
        // SAFETY: the extension's signature; the address is not followed.
        unsafe {
            let access: extern "C" fn(*const c_void, usize, c_int) -> c_int =
                self.function("hipSimHostAccess");
            access(address.cast(), bytes, c_int::from(write))
        }
    }
}

/// A loaded library with a context current on this thread.
pub(crate) struct Lab {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) context: ContextHandle,
    token: Option<ContextGuardToken>,
    /// Declared last: it goes after what uses it.
    pub(crate) library: Library,
}

impl Lab {
    pub(crate) fn new(name: &str) -> Lab {
        Lab::with(name, &[])
    }

    pub(crate) fn with(name: &str, settings: &[(&str, &str)]) -> Lab {
        let library = Library::load(name, settings);
        let backend = library.backend();
        let context = backend.primary_context_retain(0).unwrap();
        let token = Some(context_call!(backend.context_push(context)).unwrap());
        Lab {
            backend,
            context,
            token,
            library,
        }
    }

    pub(crate) fn stream(&self) -> StreamHandle {
        self.backend
            .stream_create(StreamFlags::NON_BLOCKING, 0)
            .unwrap()
    }

    /// Takes the context away from this thread.
    pub(crate) fn leave(&mut self) {
        if let Some(token) = self.token.take() {
            self.backend.context_pop(token).unwrap();
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.leave();
            context_call!(self.backend.primary_context_release(0)).unwrap();
        }
    }
}

/// The code of a failure.
pub(crate) fn code<T: std::fmt::Debug>(result: Result<T, HipError>) -> i32 {
    result.unwrap_err().code
}

/// Bytes that repeat with a long period.
pub(crate) fn pattern(size: usize) -> Vec<u8> {
    let byte = |index: usize| (index as u32).wrapping_mul(2_654_435_761).to_be_bytes()[1];
    (0..size).map(byte).collect()
}
