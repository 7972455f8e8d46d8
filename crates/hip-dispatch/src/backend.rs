use std::ffi::{CStr, c_void};
use std::fmt;
use std::path::Path;
use std::ptr::NonNull;

use bitflags::bitflags;

use crate::host::HostKernel;
use crate::{
    ContextGuardToken, ContextHandle, DeviceInfo, DevicePtr, EventHandle, FunctionHandle, HipError,
    LoadError, LoadedLibrary, ModuleHandle, Result, RtcLibrary, StreamHandle, Vendor,
};

bitflags! {
    /// Flags of a new stream; the numbers are both vendors'.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct StreamFlags: u32 {
        /// Does not wait for the default stream, nor the default stream for it.
        const NON_BLOCKING = 1;
    }
}

bitflags! {
    /// Flags of a new event; the numbers are both vendors'.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct EventFlags: u32 {
        /// A thread that waits sleeps rather than spins.
        const BLOCKING_SYNC = 1;
        /// Carries no time stamp, which makes recording and waiting cheaper.
        const DISABLE_TIMING = 2;
    }
}

bitflags! {
    /// Flags of pinned host memory; the numbers are both vendors'.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct HostAllocFlags: u32 {
        /// Pinned for every context, not only the current one.
        const PORTABLE = 1;
        /// Mapped into the device's address space.
        const MAPPED = 2;
        /// Write-combined: fast for the device to read, very slow for the CPU to read.
        const WRITE_COMBINED = 4;
    }
}

/// A host function enqueued on a stream; it must not call the vendor's library.
pub type HostFn = unsafe extern "C" fn(*mut c_void);

/// Versions as the vendor numbers them (CUDA 13.0 is 13000; HIP 6.4.43484 is 60443484).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Versions {
    /// `cuDriverGetVersion` / `hipDriverGetVersion`.
    pub driver: i32,
    /// `hipRuntimeGetVersion`; the driver's own where there is no runtime.
    pub runtime: i32,
}

/// Device memory in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct MemoryInfo {
    /// What can still be allocated.
    pub free: u64,
    /// What the device has.
    pub total: u64,
}

/// One end of a 2D copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyEnd {
    /// CPU memory, pinned or not.
    Host(*mut u8),
    /// Device memory.
    Device(DevicePtr),
}

/// A 2D copy of `height` rows of `width_bytes` bytes; strides in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memcpy2D {
    /// Where to.
    pub dst: CopyEnd,
    /// Bytes from one row to the next at `dst`.
    pub dst_stride: usize,
    /// Where from; never written.
    pub src: CopyEnd,
    /// Bytes from one row to the next at `src`.
    pub src_stride: usize,
    /// Bytes copied of each row.
    pub width_bytes: usize,
    /// Rows.
    pub height: usize,
}

/// What a memset writes, and so how wide one element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemsetValue {
    /// One byte.
    U8(u8),
    /// Two bytes; the address is even.
    U16(u16),
    /// Four bytes; the address is a multiple of four.
    U32(u32),
}

/// The kind of module image a backend loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ImageKind {
    /// PTX text or a CUBIN.
    Cuda,
    /// An AMD code object (ELF) for the device's architecture.
    AmdCodeObject,
    /// A table of functions of this process, or a shared object of such.
    Host,
}

/// A module image.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum ModuleImage<'a> {
    /// PTX text.
    Ptx(&'a CStr),
    /// A CUBIN or an AMD code object.
    Binary(&'a [u8]),
    /// Functions of this process, for Host.
    HostTable(&'static [HostKernel]),
    /// A shared object that `hip-rtc` built from a kernel text, for Host: the file's bytes.
    HostObject(&'a [u8]),
}

impl fmt::Debug for ModuleImage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModuleImage::Ptx(text) => write!(f, "Ptx({} bytes)", text.count_bytes()),
            ModuleImage::Binary(bytes) => write!(f, "Binary({} bytes)", bytes.len()),
            ModuleImage::HostObject(bytes) => write!(f, "HostObject({} bytes)", bytes.len()),
            ModuleImage::HostTable(table) => write!(f, "HostTable({} kernels)", table.len()),
        }
    }
}

/// Shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LaunchConfig {
    /// Blocks in x, y, z.
    pub grid_dim: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block_dim: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared_mem_bytes: u32,
}

impl LaunchConfig {
    /// A launch without dynamic shared memory.
    pub const fn new(grid_dim: [u32; 3], block_dim: [u32; 3]) -> LaunchConfig {
        LaunchConfig {
            grid_dim,
            block_dim,
            shared_mem_bytes: 0,
        }
    }

    /// At least one thread for each of `count` elements, along x, in blocks of 256: a multiple of
    /// every warp size that leaves each thread enough registers.
    pub const fn for_num_elems(count: u32) -> LaunchConfig {
        const BLOCK: u32 = 256;
        LaunchConfig::new([count.div_ceil(BLOCK), 1, 1], [BLOCK, 1, 1])
    }

    /// With dynamic shared memory of so many bytes a block.
    pub const fn with_shared_mem_bytes(mut self, bytes: u32) -> LaunchConfig {
        self.shared_mem_bytes = bytes;
        self
    }
}

/// What a kernel was compiled to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FunctionAttributes {
    /// The most threads a block of it may have, which registers limit.
    pub max_threads_per_block: u32,
    /// Static shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Constant memory, in bytes.
    pub const_bytes: u32,
    /// Local memory (spilled registers, arrays) of a thread, in bytes.
    pub local_bytes: u32,
    /// Registers of a thread.
    pub registers: u32,
}

/// The block size that fills a device best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SuggestedBlockSize {
    /// Threads of a block.
    pub block_threads: u32,
    /// Blocks from which on the device is full.
    pub min_grid_blocks: u32,
}

/// What one vendor call does, for every vendor.
///
/// Held as `Arc<dyn Backend>`: the vendor is a fact of run time. Not here: pools, reference
/// counts, pixel formats, caching, validation.
///
/// Unless it takes an ordinal or says otherwise, a call acts on the context that
/// [`Backend::context_push`] made current on the calling thread. Where a call takes
/// `Option<StreamHandle>`, `None` blocks the calling thread until the work is done and `Some`
/// enqueues it.
///
/// # Safety of the unsafe calls
/// Every handle and device address must come from this backend, be alive, and belong to the
/// current context; host addresses must be valid for the sizes given until the work is done.
#[allow(clippy::missing_safety_doc)] // one contract for all, stated above
pub trait Backend: Send + Sync + fmt::Debug {
    /// Whose library this is.
    fn vendor(&self) -> Vendor;

    /// The libraries in use, and where they were found.
    fn libraries(&self) -> Vec<LoadedLibrary>;

    /// Tells whether handles and addresses of two backends mean the same: they do where this is
    /// equal. Backends of one loaded library share it, whichever copy of this crate made them; by
    /// default a backend is alone with its handles.
    fn identity(&self) -> usize {
        std::ptr::from_ref(self).cast::<()>().addr()
    }

    /// Optional functions that the library lacks, by the vendor's names.
    fn missing_symbols(&self) -> Vec<&'static str>;

    /// The library's versions.
    fn versions(&self) -> Result<Versions>;

    /// What [`Backend::module_load`] takes.
    fn image_kind(&self) -> ImageKind;

    /// How many devices there are. A vendor without one gives 0 or an error for which
    /// [`crate::HipError::is_no_device`] holds. Needs no context.
    fn device_count(&self) -> Result<u32>;

    /// What the device is. Needs no context.
    fn device_info(&self, ordinal: u32) -> Result<DeviceInfo>;

    /// Retains the device's primary context, which is shared with every other user of the
    /// vendor's runtime in the process (`cuDevicePrimaryCtxRetain`).
    fn primary_context_retain(&self, ordinal: u32) -> Result<ContextHandle>;

    /// Releases what [`Backend::primary_context_retain`] retained; the last release ends everything
    /// in the context.
    unsafe fn primary_context_release(&self, ordinal: u32) -> Result<()>;

    /// Makes `context` current on this thread (`cuCtxPushCurrent`, `hipSetDevice`).
    unsafe fn context_push(&self, context: ContextHandle) -> Result<ContextGuardToken>;

    /// Puts back what was current before the matching [`Backend::context_push`].
    fn context_pop(&self, token: ContextGuardToken) -> Result<()>;

    /// Waits until all work of the current context is done.
    fn context_synchronize(&self) -> Result<()>;

    /// Free and total device memory.
    fn mem_get_info(&self) -> Result<MemoryInfo>;

    /// Allocates `bytes` of device memory, at least 256-byte aligned. `bytes` is not 0.
    fn mem_alloc(&self, bytes: usize) -> Result<DevicePtr>;

    /// Allocates `height` rows of at least `width_bytes` bytes at the pitch the device likes;
    /// gives the address and the stride in bytes. `element_bytes` is 4, 8 or 16.
    fn mem_alloc_pitch(
        &self,
        width_bytes: usize,
        height: usize,
        element_bytes: u32,
    ) -> Result<(DevicePtr, usize)>;

    /// Frees device memory.
    unsafe fn mem_free(&self, ptr: DevicePtr) -> Result<()>;

    /// As [`Backend::mem_free`] for memory that no work uses any more, which need not wait for the
    /// device. The vendors' own calls wait all the same.
    unsafe fn mem_free_idle(&self, ptr: DevicePtr) -> Result<()> {
        // SAFETY: the caller promises more.
        unsafe { self.mem_free(ptr) }
    }

    /// Allocates `bytes` of pinned host memory, page aligned. `bytes` is not 0.
    fn host_alloc(&self, bytes: usize, flags: HostAllocFlags) -> Result<NonNull<u8>>;

    /// Frees pinned host memory.
    unsafe fn host_free(&self, ptr: NonNull<u8>) -> Result<()>;

    /// As [`Backend::mem_free_idle`], for pinned host memory.
    unsafe fn host_free_idle(&self, ptr: NonNull<u8>) -> Result<()> {
        // SAFETY: the caller promises more.
        unsafe { self.host_free(ptr) }
    }

    /// Copies from the CPU to the device.
    unsafe fn memcpy_htod(
        &self,
        dst: DevicePtr,
        src: *const u8,
        bytes: usize,
        stream: Option<StreamHandle>,
    ) -> Result<()>;

    /// Copies from the device to the CPU.
    unsafe fn memcpy_dtoh(
        &self,
        dst: *mut u8,
        src: DevicePtr,
        bytes: usize,
        stream: Option<StreamHandle>,
    ) -> Result<()>;

    /// Copies within the device.
    unsafe fn memcpy_dtod(
        &self,
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
        stream: Option<StreamHandle>,
    ) -> Result<()>;

    /// Copies rows between any two places. Strides are at least `width_bytes`.
    unsafe fn memcpy_2d(&self, copy: &Memcpy2D, stream: Option<StreamHandle>) -> Result<()>;

    /// Writes `count` elements.
    unsafe fn memset(
        &self,
        dst: DevicePtr,
        value: MemsetValue,
        count: usize,
        stream: Option<StreamHandle>,
    ) -> Result<()>;

    /// Writes `height` rows of `width_bytes` bytes.
    unsafe fn memset_2d(
        &self,
        dst: DevicePtr,
        stride: usize,
        value: u8,
        width_bytes: usize,
        height: usize,
        stream: Option<StreamHandle>,
    ) -> Result<()>;

    /// Creates a stream. Smaller numbers are more urgent; 0 is the default priority, and values
    /// outside the device's range are clamped by the driver.
    fn stream_create(&self, flags: StreamFlags, priority: i32) -> Result<StreamHandle>;

    /// Destroys a stream; work already on it still finishes.
    unsafe fn stream_destroy(&self, stream: StreamHandle) -> Result<()>;

    /// Blocks until all work on the stream is done.
    unsafe fn stream_synchronize(&self, stream: StreamHandle) -> Result<()>;

    /// Whether all work on the stream is done.
    unsafe fn stream_query(&self, stream: StreamHandle) -> Result<bool>;

    /// Later work on the stream waits, on the device, for what the event last recorded.
    unsafe fn stream_wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()>;

    /// Calls `function(data)` on a thread of the driver once all earlier work on the stream is
    /// done. It is called exactly once if this succeeds (even where the device was lost on the
    /// vendors that say so) and never if it fails.
    unsafe fn launch_host_func(
        &self,
        stream: StreamHandle,
        function: HostFn,
        data: *mut c_void,
    ) -> Result<()>;

    /// Creates an event.
    fn event_create(&self, flags: EventFlags) -> Result<EventHandle>;

    /// Destroys an event; a record still pending completes harmlessly.
    unsafe fn event_destroy(&self, event: EventHandle) -> Result<()>;

    /// Records the point that all work enqueued so far on the stream reaches.
    unsafe fn event_record(&self, event: EventHandle, stream: StreamHandle) -> Result<()>;

    /// Whether what was last recorded is done; an event never recorded is done.
    unsafe fn event_query(&self, event: EventHandle) -> Result<bool>;

    /// Blocks until what was last recorded is done.
    unsafe fn event_synchronize(&self, event: EventHandle) -> Result<()>;

    /// Milliseconds between two recorded events that carry time stamps.
    unsafe fn event_elapsed_time(&self, start: EventHandle, end: EventHandle) -> Result<f32>;

    /// Loads a module into the current context. An image that does not load gives an error with
    /// the driver's log in its text.
    unsafe fn module_load(&self, image: ModuleImage<'_>) -> Result<ModuleHandle>;

    /// Unloads a module.
    unsafe fn module_unload(&self, module: ModuleHandle) -> Result<()>;

    /// Looks a kernel up by name.
    unsafe fn module_get_function(
        &self,
        module: ModuleHandle,
        name: &CStr,
    ) -> Result<FunctionHandle>;

    /// Enqueues a launch. `args` holds the address of each argument; the arguments are copied
    /// before this returns.
    unsafe fn launch_kernel(
        &self,
        function: FunctionHandle,
        config: &LaunchConfig,
        stream: StreamHandle,
        args: &mut [*mut c_void],
    ) -> Result<()>;

    /// As [`Backend::launch_kernel`], for a caller that has not made `context` current: function and
    /// stream are of that context (the null stream is meant as its), whatever is current on the
    /// thread, which stays so. Where the driver knows the context by the stream, nothing is pushed.
    unsafe fn launch_on_stream(
        &self,
        context: ContextHandle,
        function: FunctionHandle,
        config: &LaunchConfig,
        stream: StreamHandle,
        args: &mut [*mut c_void],
    ) -> Result<()> {
        // SAFETY: the context is alive by the caller's promise.
        let token = unsafe { self.context_push(context) }?;
        // SAFETY: the caller's promise; the context is current now.
        let launched = unsafe { self.launch_kernel(function, config, stream, args) };
        if let Err(error) = self.context_pop(token) {
            // The launch is made or not, whatever becomes of the thread's context.
            tracing::warn!(%error, "previous context not restored");
        }
        launched
    }

    /// What a kernel was compiled to (`cuFuncGetAttribute`, `hipFuncGetAttribute`).
    unsafe fn function_attributes(&self, function: FunctionHandle) -> Result<FunctionAttributes> {
        let _ = function;
        Err(lacks(self.vendor(), "function_attributes"))
    }

    /// Lets launches of the kernel ask for `bytes` of dynamic shared memory, more than
    /// [`crate::Limits::max_shared_memory_per_block`] together with its static shared memory
    /// (`cuFuncSetAttribute`). Where a launch may simply ask, nothing is done.
    unsafe fn allow_dynamic_shared_memory(
        &self,
        function: FunctionHandle,
        bytes: u32,
    ) -> Result<()> {
        let _ = (function, bytes);
        Ok(())
    }

    /// How many blocks of the kernel one multiprocessor holds at a time
    /// (`…OccupancyMaxActiveBlocksPerMultiprocessor`).
    unsafe fn occupancy(
        &self,
        function: FunctionHandle,
        block_threads: u32,
        dynamic_shared_bytes: u32,
    ) -> Result<u32> {
        let _ = (function, block_threads, dynamic_shared_bytes);
        Err(lacks(self.vendor(), "occupancy"))
    }

    /// The block size that fills the device best (`…OccupancyMaxPotentialBlockSize`).
    unsafe fn suggested_block_size(
        &self,
        function: FunctionHandle,
        dynamic_shared_bytes: u32,
    ) -> Result<SuggestedBlockSize> {
        let _ = (function, dynamic_shared_bytes);
        Err(lacks(self.vendor(), "suggested_block_size"))
    }

    /// The vendor's run-time compiler, opened by the first call; `None` where the compiler is no
    /// library (Host's is a program).
    fn compiler(&self) -> Option<Result<&RtcLibrary, LoadError>> {
        None
    }

    /// The compiler's file, where [`crate::LoaderConfig`] names it.
    fn configured_compiler(&self) -> Option<&Path> {
        None
    }
}

fn lacks(vendor: Vendor, call: &'static str) -> HipError {
    HipError::unsupported(vendor, call, "this backend does not have the call")
}
