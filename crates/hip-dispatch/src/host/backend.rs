//! [`Host`] as a [`Backend`]: one method, one call.

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

use super::copy::{Copy, Fill};
use super::event::{Event, Progress};
use super::launch::Launch;
use super::memory::Kind;
use super::module::Function;
use super::registry::next_id;
use super::stream::{Stream, Work};
use super::{Host, code, context, device, fail, no_thread, pool, stream_failed, system_memory};
use crate::{
    Backend, ContextGuardToken, ContextHandle, DeviceInfo, DevicePtr, EventFlags, EventHandle,
    FunctionAttributes, FunctionHandle, HostAllocFlags, HostFn, ImageKind, LaunchConfig,
    LoadedLibrary, Memcpy2D, MemoryInfo, MemsetValue, ModuleHandle, ModuleImage, Result,
    StreamFlags, StreamHandle, SuggestedBlockSize, Vendor, Versions,
};

/// This crate's version in the vendors' way: `major * 1000 + minor * 10`.
fn version() -> i32 {
    let number = |text: &str| text.parse::<i32>().unwrap_or(0);
    number(env!("CARGO_PKG_VERSION_MAJOR")) * 1000 + number(env!("CARGO_PKG_VERSION_MINOR")) * 10
}

impl Host {
    fn allocate(&self, call: &'static str, kind: Kind, bytes: usize) -> Result<NonNull<u8>> {
        self.current(call)?;
        if bytes == 0 {
            return Err(fail(call, code::INVALID_VALUE, "the size is 0"));
        }
        self.memory.allocate(kind, bytes).ok_or_else(|| {
            let text = format!("{bytes} bytes are more than the system has left");
            fail(call, code::OUT_OF_MEMORY, text)
        })
    }

    fn function(&self, call: &'static str, handle: FunctionHandle) -> Result<Arc<Function>> {
        self.current(call)?;
        let function = self.functions.get(handle.as_raw());
        function.ok_or_else(|| fail(call, code::INVALID_HANDLE, "the handle is no live function"))
    }

    fn event(&self, call: &'static str, handle: EventHandle) -> Result<Arc<Event>> {
        self.current(call)?;
        let event = self.events.get(handle.as_raw());
        event.ok_or_else(|| fail(call, code::INVALID_HANDLE, "the handle is no live event"))
    }
}

impl Backend for Host {
    fn vendor(&self) -> Vendor {
        Vendor::Host
    }

    fn libraries(&self) -> Vec<LoadedLibrary> {
        Vec::new()
    }

    fn missing_symbols(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn versions(&self) -> Result<Versions> {
        Ok(Versions {
            driver: version(),
            runtime: version(),
        })
    }

    fn image_kind(&self) -> ImageKind {
        ImageKind::Host
    }

    fn device_count(&self) -> Result<u32> {
        self.alive("device_count")?;
        Ok(self.devices.len() as u32)
    }

    fn device_info(&self, ordinal: u32) -> Result<DeviceInfo> {
        self.device("device_info", ordinal)?;
        Ok(device::info(ordinal))
    }

    fn primary_context_retain(&self, ordinal: u32) -> Result<ContextHandle> {
        self.device("primary_context_retain", ordinal)?.retain();
        Ok(ContextHandle::from_raw(std::ptr::without_provenance_mut(
            ordinal as usize + 1,
        )))
    }

    unsafe fn primary_context_release(&self, ordinal: u32) -> Result<()> {
        let call = "primary_context_release";
        if self.device(call, ordinal)?.release() {
            return Ok(());
        }
        Err(fail(
            call,
            code::INVALID_CONTEXT,
            "the context is not retained",
        ))
    }

    unsafe fn context_push(&self, context: ContextHandle) -> Result<ContextGuardToken> {
        self.alive("context_push")?;
        let invalid = |text| fail("context_push", code::INVALID_CONTEXT, text);
        let index = context.as_raw().addr().wrapping_sub(1);
        let device = self
            .devices
            .get(index)
            .ok_or_else(|| invalid("the handle is no context"))?;
        if device.retained() == 0 {
            return Err(invalid("the context is not retained"));
        }
        context::push(self.id, device.ordinal);
        Ok(ContextGuardToken { previous: 0 })
    }

    fn context_pop(&self, _token: ContextGuardToken) -> Result<()> {
        if context::pop(self.id) {
            return Ok(());
        }
        Err(fail(
            "context_pop",
            code::INVALID_CONTEXT,
            "no context is current on this thread",
        ))
    }

    fn context_synchronize(&self) -> Result<()> {
        let call = "context_synchronize";
        if self.current(call)?.synchronize() {
            Ok(())
        } else {
            Err(stream_failed(call))
        }
    }

    fn mem_get_info(&self) -> Result<MemoryInfo> {
        let call = "mem_get_info";
        self.current(call)?;
        system_memory::info().ok_or_else(|| {
            let text = "this system does not say how much memory there is";
            crate::HipError::unsupported(Vendor::Host, call, text)
        })
    }

    fn mem_alloc(&self, bytes: usize) -> Result<DevicePtr> {
        let block = self.allocate("mem_alloc", Kind::Device, bytes)?;
        Ok(DevicePtr(block.as_ptr().expose_provenance() as u64))
    }

    fn mem_alloc_pitch(
        &self,
        width_bytes: usize,
        height: usize,
        element_bytes: u32,
    ) -> Result<(DevicePtr, usize)> {
        let call = "mem_alloc_pitch";
        if !matches!(element_bytes, 4 | 8 | 16) {
            return Err(fail(
                call,
                code::INVALID_VALUE,
                "the element is not 4, 8 or 16 bytes",
            ));
        }
        let too_large = || fail(call, code::OUT_OF_MEMORY, "no address space holds the rows");
        let stride = width_bytes.checked_next_multiple_of(device::PITCH_ALIGNMENT);
        let stride = stride.ok_or_else(too_large)?;
        let bytes = stride.checked_mul(height).ok_or_else(too_large)?;
        let block = self.allocate(call, Kind::Device, bytes)?;
        Ok((DevicePtr(block.as_ptr().expose_provenance() as u64), stride))
    }

    unsafe fn mem_free(&self, ptr: DevicePtr) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.free("mem_free", Kind::Device, ptr.as_ptr().addr(), true) }
    }

    unsafe fn mem_free_idle(&self, ptr: DevicePtr) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.free("mem_free", Kind::Device, ptr.as_ptr().addr(), false) }
    }

    fn host_alloc(&self, bytes: usize, _flags: HostAllocFlags) -> Result<NonNull<u8>> {
        self.allocate("host_alloc", Kind::Pinned, bytes)
    }

    unsafe fn host_free(&self, ptr: NonNull<u8>) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.free("host_free", Kind::Pinned, ptr.as_ptr().addr(), true) }
    }

    unsafe fn host_free_idle(&self, ptr: NonNull<u8>) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.free("host_free", Kind::Pinned, ptr.as_ptr().addr(), false) }
    }

    unsafe fn memcpy_htod(
        &self,
        dst: DevicePtr,
        src: *const u8,
        bytes: usize,
        stream: Option<StreamHandle>,
    ) -> Result<()> {
        let copy = Copy::linear(dst.as_ptr(), src, bytes);
        // SAFETY: the caller's promise.
        unsafe { self.submit("memcpy_htod", stream, copy.map(|copy| copy.map(Work::Copy))) }
    }

    unsafe fn memcpy_dtoh(
        &self,
        dst: *mut u8,
        src: DevicePtr,
        bytes: usize,
        stream: Option<StreamHandle>,
    ) -> Result<()> {
        let copy = Copy::linear(dst, src.as_ptr(), bytes);
        // SAFETY: the caller's promise.
        unsafe { self.submit("memcpy_dtoh", stream, copy.map(|copy| copy.map(Work::Copy))) }
    }

    unsafe fn memcpy_dtod(
        &self,
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
        stream: Option<StreamHandle>,
    ) -> Result<()> {
        let copy = Copy::linear(dst.as_ptr(), src.as_ptr(), bytes);
        // SAFETY: the caller's promise.
        unsafe { self.submit("memcpy_dtod", stream, copy.map(|copy| copy.map(Work::Copy))) }
    }

    unsafe fn memcpy_2d(&self, copy: &Memcpy2D, stream: Option<StreamHandle>) -> Result<()> {
        let copy = Copy::rect(copy);
        // SAFETY: the caller's promise.
        unsafe { self.submit("memcpy_2d", stream, copy.map(|copy| copy.map(Work::Copy))) }
    }

    unsafe fn memset(
        &self,
        dst: DevicePtr,
        value: MemsetValue,
        count: usize,
        stream: Option<StreamHandle>,
    ) -> Result<()> {
        let fill = Fill::linear(dst, value, count);
        // SAFETY: the caller's promise.
        unsafe { self.submit("memset", stream, fill.map(|fill| fill.map(Work::Fill))) }
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
        let fill = Fill::rect(dst, stride, value, width_bytes, height);
        // SAFETY: the caller's promise.
        unsafe { self.submit("memset_2d", stream, fill.map(|fill| fill.map(Work::Fill))) }
    }

    fn stream_create(&self, flags: StreamFlags, _priority: i32) -> Result<StreamHandle> {
        let call = "stream_create";
        let device = self.current(call)?;
        let id = next_id();
        let stream = Stream::spawn(device, flags, id).map_err(|error| no_thread(call, &error))?;
        Ok(StreamHandle::from_raw(self.streams.insert(id, stream)))
    }

    unsafe fn stream_destroy(&self, stream: StreamHandle) -> Result<()> {
        let call = "stream_destroy";
        self.current(call)?;
        let stream = self
            .streams
            .remove(stream.as_raw())
            .ok_or_else(|| fail(call, code::INVALID_HANDLE, "the handle is no live stream"))?;
        stream.close();
        Ok(())
    }

    unsafe fn stream_synchronize(&self, stream: StreamHandle) -> Result<()> {
        let call = "stream_synchronize";
        let device = self.current(call)?;
        let stream = if stream.is_null() {
            if !device.synchronize_blocking_streams() {
                return Err(stream_failed(call));
            }
            device
                .default_stream()
                .map_err(|error| no_thread(call, &error))?
        } else {
            self.stream(call, stream)?
        };
        stream.wait(stream.mark());
        if stream.failed() {
            Err(stream_failed(call))
        } else {
            Ok(())
        }
    }

    unsafe fn stream_query(&self, stream: StreamHandle) -> Result<bool> {
        let call = "stream_query";
        let device = self.current(call)?;
        if stream.is_null() {
            return Ok(device.default_stream_idle());
        }
        let stream = self.stream(call, stream)?;
        if stream.failed() {
            Err(stream_failed(call))
        } else {
            Ok(stream.idle())
        }
    }

    unsafe fn stream_wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        let call = "stream_wait_event";
        let event = self.event(call, event)?;
        // What is waited for is the record of this moment; a later one does not matter.
        let (generation, progress) = event.last();
        let target = self.target(call, stream)?;
        if progress == Progress::Done {
            return Ok(());
        }
        target.finish(target.enqueue(Work::Wait(event, generation))?)
    }

    unsafe fn launch_host_func(
        &self,
        stream: StreamHandle,
        function: HostFn,
        data: *mut c_void,
    ) -> Result<()> {
        let target = self.target("launch_host_func", stream)?;
        let mark = target.enqueue(Work::Call(function, data))?;
        // The function is called now that it is enqueued, whatever becomes of other work: an
        // error here would say that it is not.
        let _ = target.finish(mark);
        Ok(())
    }

    fn event_create(&self, flags: EventFlags) -> Result<EventHandle> {
        let device = self.current("event_create")?;
        let event = Arc::new(Event::new(device.ordinal, flags));
        Ok(EventHandle::from_raw(self.events.insert(next_id(), event)))
    }

    unsafe fn event_destroy(&self, event: EventHandle) -> Result<()> {
        let call = "event_destroy";
        self.current(call)?;
        let event = self.events.remove(event.as_raw());
        event
            .map(drop)
            .ok_or_else(|| fail(call, code::INVALID_HANDLE, "the handle is no live event"))
    }

    unsafe fn event_record(&self, event: EventHandle, stream: StreamHandle) -> Result<()> {
        let call = "event_record";
        let event = self.event(call, event)?;
        let target = self.target(call, stream)?;
        if event.device != target.stream.device {
            let text = "event and stream belong to different contexts";
            return Err(fail(call, code::INVALID_HANDLE, text));
        }
        let mut mark = 0;
        event.record(|generation| {
            mark = target.enqueue(Work::Record(event.clone(), generation))?;
            Ok(())
        })?;
        target.finish(mark)
    }

    unsafe fn event_query(&self, event: EventHandle) -> Result<bool> {
        let call = "event_query";
        match self.event(call, event)?.last().1 {
            Progress::Pending => Ok(false),
            Progress::Done => Ok(true),
            Progress::Failed => Err(stream_failed(call)),
        }
    }

    unsafe fn event_synchronize(&self, event: EventHandle) -> Result<()> {
        let call = "event_synchronize";
        let event = self.event(call, event)?;
        if event.wait(event.last().0) {
            Ok(())
        } else {
            Err(stream_failed(call))
        }
    }

    unsafe fn event_elapsed_time(&self, start: EventHandle, end: EventHandle) -> Result<f32> {
        let call = "event_elapsed_time";
        let (start, end) = (self.event(call, start)?, self.event(call, end)?);
        start.elapsed_ms(&end, call)
    }

    unsafe fn module_load(&self, image: ModuleImage<'_>) -> Result<ModuleHandle> {
        // SAFETY: the caller's promise.
        unsafe { self.load_module("module_load", image) }
    }

    unsafe fn module_unload(&self, module: ModuleHandle) -> Result<()> {
        self.unload_module("module_unload", module)
    }

    unsafe fn module_get_function(
        &self,
        module: ModuleHandle,
        name: &CStr,
    ) -> Result<FunctionHandle> {
        self.find_function("module_get_function", module, name)
    }

    unsafe fn launch_kernel(
        &self,
        function: FunctionHandle,
        config: &LaunchConfig,
        stream: StreamHandle,
        args: &mut [*mut c_void],
    ) -> Result<()> {
        let call = "launch_kernel";
        let function = self.function(call, function)?;
        // SAFETY: the caller's promise: each address holds the argument that the kernel takes.
        let launch = unsafe { Launch::new(function.kernel.clone(), config, args) };
        let launch = launch.map_err(|text| {
            fail(
                call,
                code::INVALID_VALUE,
                format!("{}: {text}", function.kernel.name),
            )
        })?;
        let target = self.target(call, stream)?;
        if function.device != target.stream.device {
            let text = "function and stream belong to different contexts";
            return Err(fail(call, code::INVALID_HANDLE, text));
        }
        target.finish(target.enqueue(Work::Launch(launch))?)
    }

    /// Registers, and memory of threads and blocks, are the C++ compiler's: they are not counted.
    unsafe fn function_attributes(&self, function: FunctionHandle) -> Result<FunctionAttributes> {
        let function = self.function("function_attributes", function)?;
        Ok(FunctionAttributes {
            max_threads_per_block: function.max_threads(),
            ..FunctionAttributes::default()
        })
    }

    /// A CPU's thread runs one block at a time.
    unsafe fn occupancy(
        &self,
        function: FunctionHandle,
        block_threads: u32,
        dynamic_shared_bytes: u32,
    ) -> Result<u32> {
        let function = self.function("occupancy", function)?;
        let fits = (1..=function.max_threads()).contains(&block_threads)
            && dynamic_shared_bytes <= device::MAX_SHARED_MEMORY;
        Ok(u32::from(fits))
    }

    /// A loop long enough to be vectorised, and a block for each of the CPU's threads.
    unsafe fn suggested_block_size(
        &self,
        function: FunctionHandle,
        dynamic_shared_bytes: u32,
    ) -> Result<SuggestedBlockSize> {
        let _ = dynamic_shared_bytes; // As much as is allowed costs no block its place.
        let function = self.function("suggested_block_size", function)?;
        Ok(SuggestedBlockSize {
            block_threads: function.max_threads().min(256),
            min_grid_blocks: pool::parallelism().try_into().unwrap_or(u32::MAX),
        })
    }
}
