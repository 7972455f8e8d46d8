use std::ffi::{CStr, c_uint, c_void};
use std::ptr::NonNull;

use super::table::{Code, Handle};
use super::{Dialect, Driver};
use crate::rtc::RtcLibrary;
use crate::{
    Backend, ContextGuardToken, ContextHandle, DeviceInfo, DevicePtr, EventFlags, EventHandle,
    FunctionAttributes, FunctionHandle, HipError, HostAllocFlags, HostFn, ImageKind, LaunchConfig,
    LoadError, LoadedLibrary, Memcpy2D, MemoryInfo, MemsetValue, ModuleHandle, ModuleImage, Result,
    StreamFlags, StreamHandle, SuggestedBlockSize, Vendor, Versions,
};

/// Calls an entry of the table and turns the code into a `Result`.
macro_rules! call {
    ($driver:expr, $entry:ident($($arg:expr),*)) => {{
        let entry = $driver.table.$entry;
        $driver.alive(entry.name)?;
        // SAFETY: the arguments follow the vendor's documented signature; handles, addresses and
        // sizes are valid by the contract of `Backend`, outputs are writable locals.
        let code = unsafe { (entry.call)($($arg),*) };
        $driver.check(entry.name, code)
    }};
}

/// Calls the asynchronous entry with the stream, or the blocking one without.
macro_rules! call_on {
    ($driver:expr, $stream:expr, $sync:ident, $async:ident($($arg:expr),*)) => {
        match $stream {
            Some(stream) => call!($driver, $async($($arg,)* stream.as_raw())),
            None => call!($driver, $sync($($arg),*)),
        }
    };
}

/// As [`call_on`], for work that both vendors leave running when the blocking entry returns: fills,
/// and copies within the device.
macro_rules! call_on_and_wait {
    ($driver:expr, $stream:expr, $sync:ident, $async:ident($($arg:expr),*)) => {{
        call_on!($driver, $stream, $sync, $async($($arg),*))?;
        match $stream {
            Some(_) => Ok(()),
            None => call!($driver, stream_synchronize(std::ptr::null_mut())),
        }
    }};
}

impl<D: Dialect> Driver<D> {
    /// An answer that may be "not ready".
    fn ready(&self, result: Result<()>) -> Result<bool> {
        match result {
            Ok(()) => Ok(true),
            Err(error) if error.kind == crate::ErrorKind::NotReady => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// A host function on its way through `…StreamAddCallback`, which passes more arguments.
struct HostCall {
    function: HostFn,
    data: *mut c_void,
}

unsafe extern "C" fn forward_callback(_stream: Handle, _code: Code, data: *mut c_void) {
    // SAFETY: `data` is the box leaked by `launch_host_func`; the driver calls this once.
    let call = unsafe { Box::from_raw(data.cast::<HostCall>()) };
    // SAFETY: the caller of `launch_host_func` vouches for the pair.
    unsafe { (call.function)(call.data) };
}

impl<D: Dialect> Backend for Driver<D> {
    fn vendor(&self) -> Vendor {
        D::VENDOR
    }

    fn libraries(&self) -> Vec<LoadedLibrary> {
        Driver::libraries(self)
    }

    fn identity(&self) -> usize {
        // A library is in a process once, however often it is opened.
        (self.table.init.call as *const ()).addr()
    }

    fn missing_symbols(&self) -> Vec<&'static str> {
        self.table.missing.clone()
    }

    fn versions(&self) -> Result<Versions> {
        self.versions.clone()
    }

    fn image_kind(&self) -> ImageKind {
        D::IMAGE_KIND
    }

    fn device_count(&self) -> Result<u32> {
        self.alive("device_count")?;
        self.initialised.clone()?;
        let mut count = 0;
        call!(self, device_get_count(&mut count))?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    fn device_info(&self, ordinal: u32) -> Result<DeviceInfo> {
        self.describe(ordinal)
    }

    fn primary_context_retain(&self, ordinal: u32) -> Result<ContextHandle> {
        let device = self.device(ordinal)?;
        self.dialect_result(self.dialect.primary_retain(device))
    }

    unsafe fn primary_context_release(&self, ordinal: u32) -> Result<()> {
        // Only the number is asked for again: a release that fails may have released.
        let device = self.device(ordinal).or_else(|_| self.device(ordinal))?;
        self.dialect_result(self.dialect.primary_release(device))
    }

    unsafe fn context_push(&self, context: ContextHandle) -> Result<ContextGuardToken> {
        self.alive("context_push")?;
        self.dialect_result(self.dialect.push(context))
    }

    fn context_pop(&self, token: ContextGuardToken) -> Result<()> {
        self.alive("context_pop")?;
        self.dialect_result(self.dialect.pop(token))
    }

    fn context_synchronize(&self) -> Result<()> {
        call!(self, context_synchronize())
    }

    fn mem_get_info(&self) -> Result<MemoryInfo> {
        let (mut free, mut total) = (0, 0);
        call!(self, mem_get_info(&mut free, &mut total))?;
        Ok(MemoryInfo {
            free: free as u64,
            total: total as u64,
        })
    }

    fn mem_alloc(&self, bytes: usize) -> Result<DevicePtr> {
        let mut ptr = 0;
        call!(self, mem_alloc(&mut ptr, bytes))?;
        Ok(DevicePtr(ptr))
    }

    fn mem_alloc_pitch(
        &self,
        width_bytes: usize,
        height: usize,
        element_bytes: u32,
    ) -> Result<(DevicePtr, usize)> {
        let (mut ptr, mut pitch) = (0, 0);
        call!(
            self,
            mem_alloc_pitch(&mut ptr, &mut pitch, width_bytes, height, element_bytes)
        )?;
        Ok((DevicePtr(ptr), pitch))
    }

    unsafe fn mem_free(&self, ptr: DevicePtr) -> Result<()> {
        call!(self, mem_free(ptr.0))
    }

    fn host_alloc(&self, bytes: usize, flags: HostAllocFlags) -> Result<NonNull<u8>> {
        let mut ptr = std::ptr::null_mut();
        call!(self, host_alloc(&mut ptr, bytes, flags.bits()))?;
        NonNull::new(ptr.cast()).ok_or_else(|| {
            HipError::new(
                D::VENDOR,
                self.table.host_alloc.name,
                2,
                "the driver gave no memory",
            )
        })
    }

    unsafe fn host_free(&self, ptr: NonNull<u8>) -> Result<()> {
        call!(self, host_free(ptr.as_ptr().cast()))
    }

    unsafe fn memcpy_htod(
        &self,
        dst: DevicePtr,
        src: *const u8,
        bytes: usize,
        stream: Option<StreamHandle>,
    ) -> Result<()> {
        call_on!(
            self,
            stream,
            memcpy_htod,
            memcpy_htod_async(dst.0, src.cast(), bytes)
        )
    }

    unsafe fn memcpy_dtoh(
        &self,
        dst: *mut u8,
        src: DevicePtr,
        bytes: usize,
        stream: Option<StreamHandle>,
    ) -> Result<()> {
        call_on!(
            self,
            stream,
            memcpy_dtoh,
            memcpy_dtoh_async(dst.cast(), src.0, bytes)
        )
    }

    unsafe fn memcpy_dtod(
        &self,
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
        stream: Option<StreamHandle>,
    ) -> Result<()> {
        call_on!(
            self,
            stream,
            memcpy_dtod,
            memcpy_dtod_async(dst.0, src.0, bytes)
        )
    }

    unsafe fn memcpy_2d(&self, copy: &Memcpy2D, stream: Option<StreamHandle>) -> Result<()> {
        let raw = self.raw_copy(copy);
        call_on_and_wait!(self, stream, memcpy_2d, memcpy_2d_async(&raw))
    }

    unsafe fn memset(
        &self,
        dst: DevicePtr,
        value: MemsetValue,
        count: usize,
        stream: Option<StreamHandle>,
    ) -> Result<()> {
        match value {
            MemsetValue::U8(value) => {
                call_on!(
                    self,
                    stream,
                    memset_d8,
                    memset_d8_async(dst.0, value, count)
                )
            }
            MemsetValue::U16(value) => {
                call_on!(
                    self,
                    stream,
                    memset_d16,
                    memset_d16_async(dst.0, value, count)
                )
            }
            MemsetValue::U32(value) => {
                call_on!(
                    self,
                    stream,
                    memset_d32,
                    memset_d32_async(dst.0, value, count)
                )
            }
        }
    }

    unsafe fn memset_2d(
        &self,
        dst: DevicePtr,
        stride: usize,
        value: u8,
        width_bytes: usize,
        height: usize,
        stream: Option<StreamHandle>,
    ) -> Result<()> {
        let value = c_uint::from(value);
        call_on_and_wait!(
            self,
            stream,
            memset_2d,
            memset_2d_async(dst.0, stride, value, width_bytes, height)
        )
    }

    fn stream_create(&self, flags: StreamFlags, priority: i32) -> Result<StreamHandle> {
        let mut stream = std::ptr::null_mut();
        call!(self, stream_create(&mut stream, flags.bits(), priority))?;
        Ok(StreamHandle::from_raw(stream))
    }

    unsafe fn stream_destroy(&self, stream: StreamHandle) -> Result<()> {
        call!(self, stream_destroy(stream.as_raw()))
    }

    unsafe fn stream_synchronize(&self, stream: StreamHandle) -> Result<()> {
        call!(self, stream_synchronize(stream.as_raw()))
    }

    unsafe fn stream_query(&self, stream: StreamHandle) -> Result<bool> {
        self.ready(call!(self, stream_query(stream.as_raw())))
    }

    unsafe fn stream_wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        call!(self, stream_wait_event(stream.as_raw(), event.as_raw(), 0))
    }

    unsafe fn launch_host_func(
        &self,
        stream: StreamHandle,
        function: HostFn,
        data: *mut c_void,
    ) -> Result<()> {
        self.alive("launch_host_func")?;
        if let Some(entry) = self.table.launch_host_func {
            // SAFETY: the contract of `Backend`.
            let code = unsafe { (entry.call)(stream.as_raw(), function, data) };
            return self.check(entry.name, code);
        }
        let Some(entry) = self.table.stream_add_callback else {
            let why = "this version has neither host functions nor stream callbacks";
            return Err(HipError::unsupported(D::VENDOR, "launch_host_func", why));
        };
        let call = Box::into_raw(Box::new(HostCall { function, data }));
        // SAFETY: the contract of `Backend`; the box lives until `forward_callback` takes it.
        let code = unsafe { (entry.call)(stream.as_raw(), forward_callback, call.cast(), 0) };
        if code != 0 {
            // SAFETY: a failed call never runs the callback, so the box is still ours.
            drop(unsafe { Box::from_raw(call) });
        }
        self.check(entry.name, code)
    }

    fn event_create(&self, flags: EventFlags) -> Result<EventHandle> {
        let mut event = std::ptr::null_mut();
        call!(self, event_create(&mut event, flags.bits()))?;
        Ok(EventHandle::from_raw(event))
    }

    unsafe fn event_destroy(&self, event: EventHandle) -> Result<()> {
        call!(self, event_destroy(event.as_raw()))
    }

    unsafe fn event_record(&self, event: EventHandle, stream: StreamHandle) -> Result<()> {
        call!(self, event_record(event.as_raw(), stream.as_raw()))
    }

    unsafe fn event_query(&self, event: EventHandle) -> Result<bool> {
        self.ready(call!(self, event_query(event.as_raw())))
    }

    unsafe fn event_synchronize(&self, event: EventHandle) -> Result<()> {
        call!(self, event_synchronize(event.as_raw()))
    }

    unsafe fn event_elapsed_time(&self, start: EventHandle, end: EventHandle) -> Result<f32> {
        let mut milliseconds = 0.0;
        call!(
            self,
            event_elapsed_time(&mut milliseconds, start.as_raw(), end.as_raw())
        )?;
        Ok(milliseconds)
    }

    unsafe fn module_load(&self, image: ModuleImage<'_>) -> Result<ModuleHandle> {
        let (data, log) = match (image, D::IMAGE_KIND) {
            (ModuleImage::Ptx(text), ImageKind::Cuda) => (text.as_ptr().cast::<c_void>(), true),
            (ModuleImage::Binary(bytes), _) if !bytes.is_empty() => (
                bytes.as_ptr().cast::<c_void>(),
                D::IMAGE_KIND == ImageKind::Cuda,
            ),
            _ => {
                let why = format!("{image:?} is not a module of {}", D::VENDOR);
                return Err(HipError::new(
                    D::VENDOR,
                    self.table.module_load_data_ex.name,
                    200,
                    why,
                ));
            }
        };
        self.alive("module_load")?;
        self.load_module(data, log).map(ModuleHandle::from_raw)
    }

    unsafe fn module_unload(&self, module: ModuleHandle) -> Result<()> {
        call!(self, module_unload(module.as_raw()))
    }

    unsafe fn module_get_function(
        &self,
        module: ModuleHandle,
        name: &CStr,
    ) -> Result<FunctionHandle> {
        let mut function = std::ptr::null_mut();
        call!(
            self,
            module_get_function(&mut function, module.as_raw(), name.as_ptr())
        )
        .map_err(|mut error| {
            error.text = format!("{}: {}", error.text, name.to_string_lossy()).into();
            error
        })?;
        Ok(FunctionHandle::from_raw(function))
    }

    unsafe fn launch_kernel(
        &self,
        function: FunctionHandle,
        config: &LaunchConfig,
        stream: StreamHandle,
        args: &mut [*mut c_void],
    ) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { self.launch_in_current(function, config, stream, args) }
    }

    unsafe fn launch_on_stream(
        &self,
        context: ContextHandle,
        function: FunctionHandle,
        config: &LaunchConfig,
        stream: StreamHandle,
        args: &mut [*mut c_void],
    ) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { self.launch_in(context, function, config, stream, args) }
    }

    unsafe fn function_attributes(&self, function: FunctionHandle) -> Result<FunctionAttributes> {
        // SAFETY: the caller's.
        unsafe { self.attributes_of(function) }
    }

    unsafe fn allow_dynamic_shared_memory(
        &self,
        function: FunctionHandle,
        bytes: u32,
    ) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { self.allow_dynamic_shared(function, bytes) }
    }

    unsafe fn occupancy(
        &self,
        function: FunctionHandle,
        block_threads: u32,
        dynamic_shared_bytes: u32,
    ) -> Result<u32> {
        // SAFETY: the caller's.
        unsafe { self.occupancy_of(function, block_threads, dynamic_shared_bytes) }
    }

    unsafe fn suggested_block_size(
        &self,
        function: FunctionHandle,
        dynamic_shared_bytes: u32,
    ) -> Result<SuggestedBlockSize> {
        // SAFETY: the caller's.
        unsafe { self.block_size_for(function, dynamic_shared_bytes) }
    }

    fn compiler(&self) -> Option<Result<&RtcLibrary, LoadError>> {
        Some(Driver::compiler(self))
    }

    fn configured_compiler(&self) -> Option<&std::path::Path> {
        match D::VENDOR {
            Vendor::Amd => self.config().hiprtc.as_deref(),
            _ => self.config().nvrtc.as_deref(),
        }
    }
}
