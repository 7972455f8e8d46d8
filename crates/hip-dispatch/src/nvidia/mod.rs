//! NVIDIA GPUs through the CUDA driver API: no CUDA runtime, no toolkit.

mod names;

use std::ffi::{c_char, c_int, c_void};

use crate::driver::{Attributes, Code, Dialect, Driver, Resolver, c_text};
use crate::loader::Library;
use crate::rtc::RtcLibrary;
use crate::{ContextGuardToken, ContextHandle, ImageKind, LoadError, LoaderConfig, Result, Vendor};

/// NVIDIA's driver (`libcuda.so.1`, `nvcuda.dll`).
pub(crate) type NvidiaCuda = Driver<Cuda>;

impl NvidiaCuda {
    /// Opens the driver and initialises it.
    ///
    /// # Errors
    /// No file loads, or the driver is too old to have a function that nothing works without.
    pub(crate) fn load(config: &LoaderConfig) -> Result<NvidiaCuda, LoadError> {
        Driver::load_from(config, names::driver_candidates(config), c"cuInit")
    }
}

type ErrorText = unsafe extern "C" fn(Code, *mut *const c_char) -> Code;
type CtxPush = unsafe extern "C" fn(*mut c_void) -> Code;
type CtxPop = unsafe extern "C" fn(*mut *mut c_void) -> Code;
type PrimaryRetain = unsafe extern "C" fn(*mut *mut c_void, c_int) -> Code;
type PrimaryRelease = unsafe extern "C" fn(c_int) -> Code;

/// What NVIDIA does in its own way: contexts are objects, pushed and popped on each thread.
#[derive(Debug)]
pub(crate) struct Cuda {
    get_error_name: ErrorText,
    get_error_string: ErrorText,
    push: CtxPush,
    pop: CtxPop,
    /// Spares both where the context is current already: it reads a variable of the thread's.
    get_current: Option<CtxPop>,
    retain: PrimaryRetain,
    release: PrimaryRelease,
}

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `…_MINOR`.
const COMPUTE_CAPABILITY: [c_int; 2] = [75, 76];

/// In a token: the context was pushed, or was current already.
const PUSHED: c_int = 0;
const CURRENT: c_int = -1;

impl Dialect for Cuda {
    const VENDOR: Vendor = Vendor::Nvidia;
    const IMAGE_KIND: ImageKind = ImageKind::Cuda;
    const ROLE: &'static str = "driver";
    // `CUdevice_attribute` of cuda.h; the numbers never change.
    const ATTRIBUTES: Attributes = Attributes {
        integrated: 18,
        max_block_threads: 1,
        max_block_shared_memory: 8,
        max_block_shared_memory_optin: 97,
        max_grid_dim: [5, 6, 7],
        multiprocessors: 16,
        texture_pitch_alignment: 51,
        warp_size: 10,
    };
    // Driver 580 takes it from the stream.
    const LAUNCH_NEEDS_CONTEXT: bool = false;
    const ASKS_FOR_SHARED_MEMORY: bool = true;

    fn resolve(library: &Library) -> Result<Self, LoadError> {
        let mut resolver = Resolver::new(Vendor::Nvidia, library);
        // SAFETY: the signatures are those of cuda.h.
        let (name, text, push, pop, retain, release) = unsafe {
            (
                resolver.get::<ErrorText>(c"cuGetErrorName"),
                resolver.get::<ErrorText>(c"cuGetErrorString"),
                resolver.get::<CtxPush>(c"cuCtxPushCurrent_v2"),
                resolver.get::<CtxPop>(c"cuCtxPopCurrent_v2"),
                resolver.get::<PrimaryRetain>(c"cuDevicePrimaryCtxRetain"),
                resolver.get::<PrimaryRelease>(c"cuDevicePrimaryCtxRelease_v2"),
            )
        };
        // SAFETY: as above; its signature is that of cuCtxPopCurrent.
        let get_current = unsafe { resolver.get::<CtxPop>(c"cuCtxGetCurrent") };
        let build = || {
            Some(Cuda {
                get_error_name: name?,
                get_error_string: text?,
                push: push?,
                pop: pop?,
                get_current,
                retain: retain?,
                release: release?,
            })
        };
        resolver.finish(build())
    }

    fn error_text(&self, code: Code) -> String {
        let text = |get: ErrorText| {
            let mut text = std::ptr::null();
            // SAFETY: `text` is writable; the driver gives a string that lives for ever.
            let found = unsafe { get(code, &mut text) } == 0;
            // SAFETY: as above.
            found.then(|| unsafe { c_text(text) }).flatten()
        };
        match (text(self.get_error_name), text(self.get_error_string)) {
            (Some(name), Some(words)) => format!("{name}, {words}"),
            (Some(text), None) | (None, Some(text)) => text,
            (None, None) => "the driver has no text for it".to_owned(),
        }
    }

    fn runtime_version(&self) -> Option<Result<i32, (&'static str, Code)>> {
        None
    }

    fn memory_types(&self) -> (u32, u32) {
        // CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE.
        (1, 2)
    }

    fn architecture(&self, driver: &Driver<Self>, device: c_int) -> Result<String> {
        let major = driver.attribute(device, COMPUTE_CAPABILITY[0])?;
        let minor = driver.attribute(device, COMPUTE_CAPABILITY[1])?;
        Ok(format!("sm_{major}{minor}"))
    }

    fn primary_retain(&self, device: c_int) -> Result<ContextHandle, (&'static str, Code)> {
        let mut context = std::ptr::null_mut();
        // SAFETY: `context` is writable.
        match unsafe { (self.retain)(&mut context, device) } {
            0 => Ok(ContextHandle::from_raw(context)),
            code => Err(("cuDevicePrimaryCtxRetain", code)),
        }
    }

    fn primary_release(&self, device: c_int) -> Result<(), (&'static str, Code)> {
        // SAFETY: takes a number.
        match unsafe { (self.release)(device) } {
            0 => Ok(()),
            code => Err(("cuDevicePrimaryCtxRelease_v2", code)),
        }
    }

    #[inline]
    fn push(&self, context: ContextHandle) -> Result<ContextGuardToken, (&'static str, Code)> {
        if let Some(get_current) = self.get_current {
            let mut current = std::ptr::null_mut();
            // SAFETY: `current` is writable.
            if unsafe { get_current(&mut current) } == 0 && current == context.as_raw() {
                return Ok(ContextGuardToken { previous: CURRENT });
            }
        }
        // SAFETY: the context is alive by the contract of `Backend`.
        match unsafe { (self.push)(context.as_raw()) } {
            0 => Ok(ContextGuardToken { previous: PUSHED }),
            code => Err(("cuCtxPushCurrent_v2", code)),
        }
    }

    #[inline]
    fn pop(&self, token: ContextGuardToken) -> Result<(), (&'static str, Code)> {
        if token.previous == CURRENT {
            return Ok(());
        }
        let mut popped = std::ptr::null_mut();
        // SAFETY: `popped` is writable.
        match unsafe { (self.pop)(&mut popped) } {
            0 => Ok(()),
            code => Err(("cuCtxPopCurrent_v2", code)),
        }
    }

    fn open_compiler(driver: &Driver<Self>) -> Result<RtcLibrary, LoadError> {
        RtcLibrary::open_nvrtc(driver.config(), &driver.architectures())
    }
}
