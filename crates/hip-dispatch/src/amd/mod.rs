//! AMD GPUs through ROCm's HIP runtime, versions 5.2 and newer.

#[doc(hidden)]
pub mod abi;
mod names;
mod properties;

use std::ffi::{c_char, c_int};

use crate::driver::{Attributes, Code, Dialect, Driver, Resolver, c_text};
use crate::loader::Library;
use crate::rtc::{RtcLibrary, RuntimeFile};
use crate::{ContextGuardToken, ContextHandle, ImageKind, LoadError, LoaderConfig, Result, Vendor};
use properties::Properties;

/// AMD's runtime (`libamdhip64.so.N`, `amdhip64_N.dll`).
pub(crate) type AmdRocm = Driver<Hip>;

impl AmdRocm {
    /// Opens the runtime and initialises it.
    ///
    /// # Errors
    /// No file loads, or the runtime is too old to have a function that nothing works without.
    pub(crate) fn load(config: &LoaderConfig) -> Result<AmdRocm, LoadError> {
        Driver::load_from(config, names::runtime_candidates(config), c"hipInit")
    }
}

type ErrorText = unsafe extern "C" fn(Code) -> *const c_char;
type GetInt = unsafe extern "C" fn(*mut c_int) -> Code;
type SetDevice = unsafe extern "C" fn(c_int) -> Code;

/// What AMD does in its own way: the current device is a number, set on each thread.
#[derive(Debug)]
pub(crate) struct Hip {
    get_error_name: ErrorText,
    get_error_string: ErrorText,
    get_device: GetInt,
    runtime_get_version: GetInt,
    set_device: SetDevice,
    properties: Properties,
    /// ROCm 6.0 and newer: `hipMemoryType` was renumbered.
    new_memory_types: bool,
}

/// `hipMemoryTypeHost` and `hipMemoryTypeDevice`: up to 5.x, and `new` from 6.0.
const fn memory_types(new: bool) -> (u32, u32) {
    if new { (1, 2) } else { (0, 1) }
}

impl Dialect for Hip {
    const VENDOR: Vendor = Vendor::Amd;
    const IMAGE_KIND: ImageKind = ImageKind::AmdCodeObject;
    const ROLE: &'static str = "runtime";
    // `hipDeviceAttribute_t`: equal in 5.2.3 to 7.2.
    const ATTRIBUTES: Attributes = Attributes {
        integrated: 16,
        max_block_threads: 56,
        max_block_shared_memory: 74,
        // All of the local data share is there for the asking.
        max_block_shared_memory_optin: 74,
        max_grid_dim: [29, 30, 31],
        multiprocessors: 63,
        texture_pitch_alignment: 82,
        warp_size: 87,
    };
    // The runtime looks a stream up on the thread's device.
    const LAUNCH_NEEDS_CONTEXT: bool = true;
    const ASKS_FOR_SHARED_MEMORY: bool = false;

    fn resolve(library: &Library) -> Result<Self, LoadError> {
        let mut resolver = Resolver::new(Vendor::Amd, library);
        // SAFETY: the signatures are those of hip_runtime_api.h.
        let (name, text, get_device, set_device, runtime_version) = unsafe {
            (
                resolver.get::<ErrorText>(c"hipGetErrorName"),
                resolver.get::<ErrorText>(c"hipGetErrorString"),
                resolver.get::<GetInt>(c"hipGetDevice"),
                resolver.get::<SetDevice>(c"hipSetDevice"),
                resolver.get::<GetInt>(c"hipRuntimeGetVersion"),
            )
        };
        let properties = Properties::resolve(&mut resolver);
        let mut version = 0;
        // SAFETY: `version` is writable; the call needs no device.
        let known = runtime_version.is_some_and(|get| unsafe { get(&mut version) } == 0);
        let build = || {
            Some(Hip {
                get_error_name: name?,
                get_error_string: text?,
                get_device: get_device?,
                runtime_get_version: runtime_version?,
                set_device: set_device?,
                properties: properties?,
                // A version that cannot be asked for: the R0600 properties came with 6.0 too.
                new_memory_types: match known {
                    true => version >= 60_000_000,
                    false => library.symbol(c"hipGetDevicePropertiesR0600").is_some(),
                },
            })
        };
        resolver.finish(build())
    }

    fn error_text(&self, code: Code) -> String {
        // SAFETY: both give a static string for any code.
        let name = unsafe { c_text((self.get_error_name)(code)) };
        // SAFETY: as above.
        let words = unsafe { c_text((self.get_error_string)(code)) };
        match (name, words) {
            (Some(name), Some(words)) if name != words => format!("{name}, {words}"),
            (Some(text), _) | (None, Some(text)) => text,
            (None, None) => "the runtime has no text for it".to_owned(),
        }
    }

    fn runtime_version(&self) -> Option<Result<i32, (&'static str, Code)>> {
        let mut version = 0;
        // SAFETY: `version` is writable.
        Some(match unsafe { (self.runtime_get_version)(&mut version) } {
            0 => Ok(version),
            code => Err(("hipRuntimeGetVersion", code)),
        })
    }

    fn memory_types(&self) -> (u32, u32) {
        memory_types(self.new_memory_types)
    }

    fn architecture(&self, driver: &Driver<Self>, device: c_int) -> Result<String> {
        let (call, result) = self.properties.gcn_arch_name(device);
        result
            .map_err(|code| crate::HipError::new(Vendor::Amd, call, code, self.error_text(code)))
            .and_then(|name| match name.is_empty() {
                false => Ok(name),
                true => Err(crate::HipError::unsupported(
                    Vendor::Amd,
                    call,
                    format!(
                        "device {device} of {:?} has no architecture name",
                        driver.libraries()
                    ),
                )),
            })
    }

    fn primary_retain(&self, device: c_int) -> Result<ContextHandle, (&'static str, Code)> {
        // HIP's context is the device. The number is kept off null.
        let handle = ContextHandle::from_raw((device as usize + 1) as *mut _);
        let token = self.push(handle)?;
        self.pop(token)?;
        Ok(handle)
    }

    fn primary_release(&self, _device: c_int) -> Result<(), (&'static str, Code)> {
        // The runtime keeps a device's context until the process ends.
        Ok(())
    }

    fn push(&self, context: ContextHandle) -> Result<ContextGuardToken, (&'static str, Code)> {
        let device = context.as_raw() as usize as c_int - 1;
        let mut previous = -1;
        // SAFETY: `previous` is writable.
        match unsafe { (self.get_device)(&mut previous) } {
            0 => {}
            code => return Err(("hipGetDevice", code)),
        }
        if previous != device {
            // SAFETY: takes a number.
            match unsafe { (self.set_device)(device) } {
                0 => {}
                code => return Err(("hipSetDevice", code)),
            }
        }
        Ok(ContextGuardToken {
            previous: if previous == device { -1 } else { previous },
        })
    }

    fn pop(&self, token: ContextGuardToken) -> Result<(), (&'static str, Code)> {
        if token.previous < 0 {
            return Ok(());
        }
        // SAFETY: takes a number.
        match unsafe { (self.set_device)(token.previous) } {
            0 => Ok(()),
            code => Err(("hipSetDevice", code)),
        }
    }

    fn open_compiler(driver: &Driver<Self>) -> Result<RtcLibrary, LoadError> {
        let runtime = driver.runtime_file();
        RtcLibrary::open_hiprtc(driver.config(), Some(&runtime))
    }
}

impl Driver<Hip> {
    /// The runtime, which the compiler must be of the same version as.
    fn runtime_file(&self) -> RuntimeFile {
        RuntimeFile {
            path: self.library_path().to_owned(),
            version: self.known_versions().map_or(0, |versions| versions.runtime),
        }
    }
}
