//! What the two vendors share, written once over a symbol table; what they do not share is a
//! [`Dialect`].

mod calls;
mod copy;
mod functions;
mod launch;
mod table;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;

use crate::fork::ForkOnce;
use crate::loader::{Attempt, Library, driver_name};
use crate::rtc::RtcLibrary;
use crate::{
    Backend, ContextGuardToken, ContextHandle, DeviceInfo, HipError, ImageKind, Limits, LoadError,
    LoadedLibrary, LoaderConfig, PciAddress, ProcessStamp, Result, Uuid, Vendor, Versions,
};
use launch::ContextNeed;
pub(crate) use table::{Code, Handle, Ptr, RawMemcpy2D, Table};

/// What one vendor does in its own way.
pub(crate) trait Dialect: fmt::Debug + Send + Sync + Sized + 'static {
    /// Whose.
    const VENDOR: Vendor;
    /// What modules it loads.
    const IMAGE_KIND: ImageKind;
    /// What [`LoadedLibrary::role`] says.
    const ROLE: &'static str;
    /// Attribute numbers of `…DeviceGetAttribute`.
    const ATTRIBUTES: Attributes;
    /// Whether a launch never does without its context current on the thread. Where it may, the
    /// driver is tried.
    const LAUNCH_NEEDS_CONTEXT: bool;
    /// Whether a kernel must be allowed more dynamic shared memory than a block has by itself.
    const ASKS_FOR_SHARED_MEMORY: bool;

    /// Resolves the vendor's own functions, or names the required ones that are missing.
    fn resolve(library: &Library) -> Result<Self, LoadError>;
    /// The driver's text for a code.
    fn error_text(&self, code: Code) -> String;
    /// `…RuntimeGetVersion`, where there is a runtime.
    fn runtime_version(&self) -> Option<Result<i32, (&'static str, Code)>>;
    /// Numbers of "host" and "device" in a 2D copy.
    fn memory_types(&self) -> (u32, u32);
    /// The architecture that a kernel is compiled for.
    fn architecture(&self, driver: &Driver<Self>, device: c_int) -> Result<String>;
    /// See [`crate::Backend::primary_context_retain`].
    fn primary_retain(&self, device: c_int) -> Result<ContextHandle, (&'static str, Code)>;
    /// See [`crate::Backend::primary_context_release`].
    fn primary_release(&self, device: c_int) -> Result<(), (&'static str, Code)>;
    /// See [`crate::Backend::context_push`].
    fn push(&self, context: ContextHandle) -> Result<ContextGuardToken, (&'static str, Code)>;
    /// See [`crate::Backend::context_pop`].
    fn pop(&self, token: ContextGuardToken) -> Result<(), (&'static str, Code)>;
    /// Opens the vendor's run-time compiler.
    fn open_compiler(driver: &Driver<Self>) -> Result<RtcLibrary, LoadError>;
}

/// Numbers of the device attributes that are asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attributes {
    pub(crate) integrated: c_int,
    pub(crate) max_block_threads: c_int,
    pub(crate) max_block_shared_memory: c_int,
    /// With leave asked for, see [`crate::Backend::allow_dynamic_shared_memory`].
    pub(crate) max_block_shared_memory_optin: c_int,
    /// x, y, z.
    pub(crate) max_grid_dim: [c_int; 3],
    pub(crate) multiprocessors: c_int,
    pub(crate) texture_pitch_alignment: c_int,
    pub(crate) warp_size: c_int,
}

/// A vendor's driver: its library, the functions found in it, and its dialect.
#[derive(Debug)]
pub(crate) struct Driver<D> {
    table: Table,
    dialect: D,
    /// Declared last: nothing of the above may outlive the code it points to.
    library: Library,
    attempts: Vec<Attempt>,
    /// What `…Init` said.
    initialised: Result<()>,
    /// Asked when the library was loaded, see [`Driver::load_from`].
    versions: Result<Versions>,
    /// How the compiler is looked for, once one is needed.
    config: LoaderConfig,
    compiler: ForkOnce<Result<RtcLibrary, LoadError>>,
    context_need: ContextNeed,
    process: ProcessStamp,
}

impl<D: Dialect> Driver<D> {
    /// Opens the first library of `candidates` that loads, and initialises it. That the library
    /// has no device is not an error here: [`crate::Backend::device_count`] says it.
    pub(crate) fn load_from(
        config: &LoaderConfig,
        candidates: impl IntoIterator<Item = std::path::PathBuf>,
        probe: &CStr,
    ) -> Result<Self, LoadError> {
        let (library, attempts) = Library::open_first(D::VENDOR, candidates, probe)?;
        let resolved = Table::resolve(D::VENDOR, &library)
            .and_then(|table| Ok((table, D::resolve(&library)?)));
        let (table, dialect) = match resolved {
            Ok(resolved) => resolved,
            Err(mut error) => {
                error.attempts = attempts;
                if let Some(loaded) = error.attempts.last_mut() {
                    loaded.file = library.path().to_owned();
                }
                return Err(error);
            }
        };
        let mut driver = Driver {
            table,
            dialect,
            library,
            attempts,
            initialised: Ok(()),
            versions: Ok(Versions::default()),
            config: config.clone(),
            compiler: ForkOnce::new(),
            context_need: ContextNeed::new(D::LAUNCH_NEEDS_CONTEXT),
            process: ProcessStamp::now(),
        };
        // SAFETY: both vendors' Init takes flags that must be 0.
        let code = unsafe { (driver.table.init.call)(0) };
        driver.initialised = driver.check(driver.table.init.name, code);
        if let Err(error) = &driver.initialised {
            tracing::info!(%error, "driver loaded but not usable");
        }
        // Asked here and kept, so that a runtime without a device is called by no other thread than
        // the one that loaded it: AMD's 6.4 crashes at exit if the main thread, not having loaded
        // it, called anything (its own exit handler uses that thread's freed state).
        driver.versions = driver.ask_versions();
        Ok(driver)
    }

    /// Every file tried until one loaded.
    pub(crate) fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// How libraries are looked for.
    pub(crate) fn config(&self) -> &LoaderConfig {
        &self.config
    }

    /// The file of the driver or runtime itself.
    pub(crate) fn library_path(&self) -> &std::path::Path {
        self.library.path()
    }

    /// The versions, if the library told them.
    pub(crate) fn known_versions(&self) -> Option<Versions> {
        self.versions.as_ref().ok().copied()
    }

    /// The architectures of the devices there are, each once.
    pub(crate) fn architectures(&self) -> Vec<String> {
        let count = self.device_count().unwrap_or(0);
        let ask = |ordinal| {
            let device = self.device(ordinal).ok()?;
            self.dialect.architecture(self, device).ok()
        };
        let mut all: Vec<String> = (0..count).filter_map(ask).collect();
        all.sort();
        all.dedup();
        all
    }

    /// The compiler, opened by the first call.
    fn compiler(&self) -> Result<&RtcLibrary, LoadError> {
        let forked = || LoadError::forked(D::VENDOR, crate::rtc::library_name(D::VENDOR));
        if !self.process.is_current() {
            return Err(forked());
        }
        match self.compiler.get_or_init(|| D::open_compiler(self)) {
            Some(opened) => opened.as_ref().map_err(Clone::clone),
            None => Err(forked()),
        }
    }

    pub(crate) fn check(&self, call: &'static str, code: Code) -> Result<()> {
        match code {
            0 => Ok(()),
            code => Err(self.error(call, code)),
        }
    }

    fn ask_versions(&self) -> Result<Versions> {
        let call = self.table.driver_get_version;
        let mut driver = 0;
        // SAFETY: `driver` is writable.
        self.check(call.name, unsafe { (call.call)(&mut driver) })?;
        let runtime = match self.dialect.runtime_version() {
            Some(version) => self.dialect_result(version)?,
            None => driver,
        };
        Ok(Versions { driver, runtime })
    }

    fn error(&self, call: &'static str, code: Code) -> HipError {
        HipError::new(D::VENDOR, call, code, self.dialect.error_text(code))
    }

    fn dialect_result<T>(&self, result: Result<T, (&'static str, Code)>) -> Result<T> {
        result.map_err(|(call, code)| self.error(call, code))
    }

    pub(crate) fn libraries(&self) -> Vec<LoadedLibrary> {
        vec![LoadedLibrary {
            role: D::ROLE,
            path: self.library.path().to_owned(),
        }]
    }

    /// Fails in the child of a process that had loaded the driver.
    #[inline]
    fn alive(&self, call: &'static str) -> Result<()> {
        self.process.check(D::VENDOR, call)
    }

    fn device(&self, ordinal: u32) -> Result<c_int> {
        self.alive("device")?;
        self.initialised.clone()?;
        let call = self.table.device_get;
        let Ok(ordinal) = c_int::try_from(ordinal) else {
            return Err(self.error(call.name, 101));
        };
        let mut device = -1;
        // SAFETY: `device` is writable.
        self.check(call.name, unsafe { (call.call)(&mut device, ordinal) })?;
        Ok(device)
    }

    pub(crate) fn attribute(&self, device: c_int, attribute: c_int) -> Result<u32> {
        let call = self.table.device_get_attribute;
        let mut value = 0;
        // SAFETY: `value` is writable.
        self.check(call.name, unsafe {
            (call.call)(&mut value, attribute, device)
        })?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// Calls something that fills a text of at most 255 bytes.
    fn text(
        &self,
        entry: table::Entry<unsafe extern "C" fn(*mut c_char, c_int, c_int) -> Code>,
        device: c_int,
    ) -> Result<String> {
        let mut text = [0; 256];
        // SAFETY: the buffer has the 255 bytes announced, and a NUL behind them in any case.
        let code = unsafe { (entry.call)(text.as_mut_ptr(), 255, device) };
        self.check(entry.name, code)?;
        // SAFETY: the buffer ends with a NUL whatever was written.
        Ok(unsafe { CStr::from_ptr(text.as_ptr()) }
            .to_string_lossy()
            .into_owned())
    }

    fn describe(&self, ordinal: u32) -> Result<DeviceInfo> {
        let device = self.device(ordinal)?;
        let numbers = D::ATTRIBUTES;
        let mut total = 0;
        let call = self.table.device_total_mem;
        // SAFETY: `total` is writable.
        self.check(call.name, unsafe { (call.call)(&mut total, device) })?;
        let pci_address: Option<PciAddress> = self
            .text(self.table.device_get_pci_bus_id, device)
            .ok()
            .and_then(|t| t.parse().ok());
        let max_grid_dim = [
            self.attribute(device, numbers.max_grid_dim[0])?,
            self.attribute(device, numbers.max_grid_dim[1])?,
            self.attribute(device, numbers.max_grid_dim[2])?,
        ];
        let pitch = self.attribute(device, numbers.texture_pitch_alignment)? as usize;
        let shared = self.attribute(device, numbers.max_block_shared_memory)?;
        // A driver that does not know the attribute has no more to give.
        let optin = self.attribute(device, numbers.max_block_shared_memory_optin);
        Ok(DeviceInfo {
            vendor: D::VENDOR,
            ordinal,
            name: self.text(self.table.device_get_name, device)?,
            pci_address,
            uuid: self.uuid(device),
            render_node: pci_address.and_then(crate::device_info::render_node),
            total_memory: total as u64,
            architecture: self.dialect.architecture(self, device)?,
            integrated: self.attribute(device, numbers.integrated)? != 0,
            multiprocessors: self.attribute(device, numbers.multiprocessors)?,
            warp_size: self.attribute(device, numbers.warp_size)?,
            limits: Limits {
                // 256 bytes is what both vendors' pitched allocations round to at least; a
                // texture's demand (32 on Hopper) is less than the memory system likes.
                pitch_alignment: pitch.next_power_of_two().clamp(256, 4096),
                max_threads_per_block: self.attribute(device, numbers.max_block_threads)?,
                max_shared_memory_per_block: shared,
                max_shared_memory_per_block_optin: optin.unwrap_or(0).max(shared),
                max_grid_dim,
                host_addressable: false,
            },
        })
    }

    fn uuid(&self, device: c_int) -> Option<Uuid> {
        let call = self.table.device_get_uuid?;
        let mut bytes = [0; 16];
        // SAFETY: the struct of both vendors is 16 bytes.
        let code = unsafe { (call.call)(&mut bytes, device) };
        (code == 0 && bytes != [0; 16]).then_some(Uuid(bytes))
    }

    fn load_module(&self, image: *const c_void, log: bool) -> Result<Handle> {
        /// `CU_JIT_ERROR_LOG_BUFFER` and its size; an AMD image is never compiled here.
        const LOG_OPTIONS: [c_int; 2] = [5, 6];
        let call = self.table.module_load_data_ex;
        let mut module = std::ptr::null_mut();
        let mut text = vec![0u8; if log { 8192 } else { 0 }];
        let mut options = LOG_OPTIONS;
        let mut values = [
            text.as_mut_ptr().cast::<c_void>(),
            text.len() as *mut c_void,
        ];
        let count = if log { 2 } else { 0 };
        // SAFETY: the image is valid for its kind (the caller's promise); the option arrays have
        // `count` entries and the log buffer the size told.
        let code = unsafe {
            (call.call)(
                &mut module,
                image,
                count,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        self.check(call.name, code).map_err(|mut error| {
            let log = text.split(|byte| *byte == 0).next().unwrap_or_default();
            if !log.is_empty() {
                let log = String::from_utf8_lossy(log);
                error.text = format!("{}\n{}", error.text, log.trim_end()).into();
            }
            error
        })?;
        Ok(module)
    }
}

/// Finds the functions that a dialect cannot do without, and remembers those that are missing.
pub(crate) struct Resolver<'a> {
    vendor: Vendor,
    library: &'a Library,
    missing: Vec<&'static str>,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(vendor: Vendor, library: &'a Library) -> Self {
        Resolver {
            vendor,
            library,
            missing: Vec::new(),
        }
    }

    /// Whether the library has the function.
    pub(crate) fn has(&self, name: &CStr) -> bool {
        self.library.symbol(name).is_some()
    }

    /// The function `name`, whose documented signature is `F`.
    ///
    /// # Safety
    /// `F` is a function pointer of the signature that the vendor documents.
    pub(crate) unsafe fn get<F: Copy>(&mut self, name: &'static CStr) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
        let Some(address) = self.library.symbol(name) else {
            self.missing.extend(name.to_str());
            return None;
        };
        // SAFETY: of equal size, checked above; the caller vouches for the signature.
        Some(unsafe { std::mem::transmute_copy::<*const c_void, F>(&address) })
    }

    /// What was built from the functions, or the names of those that were missing.
    pub(crate) fn finish<T>(self, built: Option<T>) -> Result<T, LoadError> {
        let (vendor, missing_symbols) = (self.vendor, self.missing);
        built.ok_or(LoadError {
            vendor,
            library: driver_name(vendor),
            attempts: Vec::new(),
            missing_symbols,
        })
    }
}

/// A C string the driver owns, as text.
///
/// # Safety
/// `text` is null or a NUL-terminated string that stays valid during the call.
pub(crate) unsafe fn c_text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null; the caller vouches for the rest.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}
