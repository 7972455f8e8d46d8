//! The vendor calls by name, dispatched by [`Vendor`] through the process's [`Runtime`]:
//! `hip_foo_bar(vendor, …)` calls AMD's `hipFooBar`, NVIDIA's `cuFooBar` or Host's equivalent.
//!
//! This is the thinnest layer there is. It holds nothing and frees nothing; the context that
//! [`hip_ctx_push_current`] made current on the thread is acted on. `hip-core` is the safe one.
//!
//! # Safety of the unsafe calls
//! As for [`Backend`]: handles and addresses are alive and of the current context, host addresses
//! valid for the sizes given until the work is done.
#![allow(clippy::missing_safety_doc)] // one contract for all, stated above

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::{
    Backend, ContextGuardToken, ContextHandle, DeviceInfo, DevicePtr, EventFlags, EventHandle,
    FunctionAttributes, FunctionHandle, HipError, HostAllocFlags, HostFn, LaunchConfig, Memcpy2D,
    MemoryInfo, MemsetValue, ModuleHandle, ModuleImage, Result, Runtime, StreamFlags, StreamHandle,
    SuggestedBlockSize, Vendor, Versions,
};

/// The vendor's backend in the process's runtime.
fn backend(vendor: Vendor) -> Result<&'static Arc<dyn Backend>> {
    // Code 100: no device, as a vendor without a library has none.
    Runtime::global()
        .backend(vendor)
        .map_err(|error| HipError::new(vendor, "load library", 100, error.to_string()))
}

macro_rules! wrappers {
    ($($(#[$doc:meta])* $name:ident => $method:ident($($arg:ident: $type:ty),*) -> $out:ty;)*) => {
        $($(#[$doc])*
        ///
        /// # Errors
        /// The vendor's library does not load, or the call fails.
        pub fn $name(vendor: Vendor, $($arg: $type),*) -> Result<$out> {
            backend(vendor)?.$method($($arg),*)
        })*
    };
}

macro_rules! unsafe_wrappers {
    ($($(#[$doc:meta])* $name:ident => $method:ident($($arg:ident: $type:ty),*) -> $out:ty;)*) => {
        $($(#[$doc])*
        ///
        /// # Errors
        /// The vendor's library does not load, or the call fails.
        pub unsafe fn $name(vendor: Vendor, $($arg: $type),*) -> Result<$out> {
            // SAFETY: the caller's, by the module's contract, which is the trait's.
            unsafe { backend(vendor)?.$method($($arg),*) }
        })*
    };
}

wrappers! {
    /// `hipDriverGetVersion` and `hipRuntimeGetVersion` / `cuDriverGetVersion`.
    hip_get_versions => versions() -> Versions;
    /// `hipGetDeviceCount` / `cuDeviceGetCount`.
    hip_get_device_count => device_count() -> u32;
    /// `hipGetDeviceProperties…`, `hipDeviceGetAttribute` / `cuDeviceGetAttribute` and others.
    hip_get_device_info => device_info(ordinal: u32) -> DeviceInfo;
    /// `hipDevicePrimaryCtxRetain` / `cuDevicePrimaryCtxRetain`.
    hip_device_primary_ctx_retain => primary_context_retain(ordinal: u32) -> ContextHandle;
    /// `hipSetDevice` / `cuCtxPopCurrent`.
    hip_ctx_pop_current => context_pop(token: ContextGuardToken) -> ();
    /// `hipDeviceSynchronize` / `cuCtxSynchronize`.
    hip_device_synchronize => context_synchronize() -> ();
    /// `hipMemGetInfo` / `cuMemGetInfo`.
    hip_mem_get_info => mem_get_info() -> MemoryInfo;
    /// `hipMalloc` / `cuMemAlloc`.
    hip_malloc => mem_alloc(bytes: usize) -> DevicePtr;
    /// `hipMemAllocPitch` / `cuMemAllocPitch`: the address and the stride in bytes.
    hip_mem_alloc_pitch =>
        mem_alloc_pitch(width_bytes: usize, height: usize, element_bytes: u32) -> (DevicePtr, usize);
    /// `hipHostMalloc` / `cuMemHostAlloc`.
    hip_host_malloc => host_alloc(bytes: usize, flags: HostAllocFlags) -> NonNull<u8>;
    /// `hipStreamCreateWithPriority` / `cuStreamCreateWithPriority`.
    hip_stream_create => stream_create(flags: StreamFlags, priority: i32) -> StreamHandle;
    /// `hipEventCreateWithFlags` / `cuEventCreate`.
    hip_event_create => event_create(flags: EventFlags) -> EventHandle;
}

unsafe_wrappers! {
    /// `hipDevicePrimaryCtxRelease` / `cuDevicePrimaryCtxRelease`.
    hip_device_primary_ctx_release => primary_context_release(ordinal: u32) -> ();
    /// `hipSetDevice` / `cuCtxPushCurrent`.
    hip_ctx_push_current => context_push(context: ContextHandle) -> ContextGuardToken;
    /// `hipFree` / `cuMemFree`.
    hip_free => mem_free(ptr: DevicePtr) -> ();
    /// `hipHostFree` / `cuMemFreeHost`.
    hip_host_free => host_free(ptr: NonNull<u8>) -> ();
    /// `hipMemcpyHtoD(Async)` / `cuMemcpyHtoD(Async)`.
    hip_memcpy_htod => memcpy_htod(
        dst: DevicePtr, src: *const u8, bytes: usize, stream: Option<StreamHandle>
    ) -> ();
    /// `hipMemcpyDtoH(Async)` / `cuMemcpyDtoH(Async)`.
    hip_memcpy_dtoh => memcpy_dtoh(
        dst: *mut u8, src: DevicePtr, bytes: usize, stream: Option<StreamHandle>
    ) -> ();
    /// `hipMemcpyDtoD(Async)` / `cuMemcpyDtoD(Async)`.
    hip_memcpy_dtod => memcpy_dtod(
        dst: DevicePtr, src: DevicePtr, bytes: usize, stream: Option<StreamHandle>
    ) -> ();
    /// `hipMemcpyParam2D(Async)` / `cuMemcpy2D(Async)`.
    hip_memcpy_2d => memcpy_2d(copy: &Memcpy2D, stream: Option<StreamHandle>) -> ();
    /// `hipMemsetD8/D16/D32(Async)` / `cuMemsetD8/D16/D32(Async)`.
    hip_memset => memset(
        dst: DevicePtr, value: MemsetValue, count: usize, stream: Option<StreamHandle>
    ) -> ();
    /// `hipMemset2D(Async)` / `cuMemsetD2D8(Async)`.
    hip_memset_2d => memset_2d(
        dst: DevicePtr, stride: usize, value: u8, width_bytes: usize, height: usize,
        stream: Option<StreamHandle>
    ) -> ();
    /// `hipStreamDestroy` / `cuStreamDestroy`.
    hip_stream_destroy => stream_destroy(stream: StreamHandle) -> ();
    /// `hipStreamSynchronize` / `cuStreamSynchronize`.
    hip_stream_synchronize => stream_synchronize(stream: StreamHandle) -> ();
    /// `hipStreamQuery` / `cuStreamQuery`: whether all work is done.
    hip_stream_query => stream_query(stream: StreamHandle) -> bool;
    /// `hipStreamWaitEvent` / `cuStreamWaitEvent`.
    hip_stream_wait_event => stream_wait_event(stream: StreamHandle, event: EventHandle) -> ();
    /// `hipLaunchHostFunc` or `hipStreamAddCallback` / `cuLaunchHostFunc`.
    hip_launch_host_func =>
        launch_host_func(stream: StreamHandle, function: HostFn, data: *mut c_void) -> ();
    /// `hipEventDestroy` / `cuEventDestroy`.
    hip_event_destroy => event_destroy(event: EventHandle) -> ();
    /// `hipEventRecord` / `cuEventRecord`.
    hip_event_record => event_record(event: EventHandle, stream: StreamHandle) -> ();
    /// `hipEventQuery` / `cuEventQuery`: whether the work is done.
    hip_event_query => event_query(event: EventHandle) -> bool;
    /// `hipEventSynchronize` / `cuEventSynchronize`.
    hip_event_synchronize => event_synchronize(event: EventHandle) -> ();
    /// `hipEventElapsedTime` / `cuEventElapsedTime`, in milliseconds.
    hip_event_elapsed_time => event_elapsed_time(start: EventHandle, end: EventHandle) -> f32;
    /// `hipModuleLoadDataEx` / `cuModuleLoadDataEx`.
    hip_module_load_data => module_load(image: ModuleImage<'_>) -> ModuleHandle;
    /// `hipModuleUnload` / `cuModuleUnload`.
    hip_module_unload => module_unload(module: ModuleHandle) -> ();
    /// `hipModuleGetFunction` / `cuModuleGetFunction`.
    hip_module_get_function =>
        module_get_function(module: ModuleHandle, name: &CStr) -> FunctionHandle;
    /// `hipModuleLaunchKernel` / `cuLaunchKernel`.
    hip_module_launch_kernel => launch_kernel(
        function: FunctionHandle, config: &LaunchConfig, stream: StreamHandle,
        args: &mut [*mut c_void]
    ) -> ();
    /// `hipFuncGetAttribute` / `cuFuncGetAttribute`, for each attribute.
    hip_func_get_attributes => function_attributes(function: FunctionHandle) -> FunctionAttributes;
    /// Nothing / `cuFuncSetAttribute` of the maximum dynamic shared memory.
    hip_func_set_max_dynamic_shared_memory =>
        allow_dynamic_shared_memory(function: FunctionHandle, bytes: u32) -> ();
    /// `hipModuleOccupancyMaxActiveBlocksPerMultiprocessor` /
    /// `cuOccupancyMaxActiveBlocksPerMultiprocessor`.
    hip_occupancy_max_active_blocks_per_multiprocessor => occupancy(
        function: FunctionHandle, block_threads: u32, dynamic_shared_bytes: u32
    ) -> u32;
    /// `hipModuleOccupancyMaxPotentialBlockSize` / `cuOccupancyMaxPotentialBlockSize`.
    hip_occupancy_max_potential_block_size => suggested_block_size(
        function: FunctionHandle, dynamic_shared_bytes: u32
    ) -> SuggestedBlockSize;
}
