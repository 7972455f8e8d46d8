//! The functions that the two vendors share, under each vendor's name for them.
//!
//! AMD's driver-style calls were made after NVIDIA's: but for the names, and for the few calls that
//! a [`super::Dialect`] makes itself, their signatures are equal. So one table serves both.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::backend::HostFn;
use crate::loader::{Library, driver_name};
use crate::{LoadError, Vendor};

/// `CUresult` / `hipError_t`.
pub(crate) type Code = c_int;
/// `CUdeviceptr` / `hipDeviceptr_t`: 64 bits on every platform served.
pub(crate) type Ptr = u64;
/// A stream, event, module or function.
pub(crate) type Handle = *mut c_void;
type StreamCallback = unsafe extern "C" fn(Handle, Code, *mut c_void);

/// `CUDA_MEMCPY2D` / `hip_Memcpy2D`: 128 bytes in every version of both.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawMemcpy2D {
    pub(crate) src_x_bytes: usize,
    pub(crate) src_y: usize,
    pub(crate) src_memory_type: c_uint,
    pub(crate) src_host: *const c_void,
    pub(crate) src_device: Ptr,
    pub(crate) src_array: *mut c_void,
    pub(crate) src_pitch: usize,
    pub(crate) dst_x_bytes: usize,
    pub(crate) dst_y: usize,
    pub(crate) dst_memory_type: c_uint,
    pub(crate) dst_host: *mut c_void,
    pub(crate) dst_device: Ptr,
    pub(crate) dst_array: *mut c_void,
    pub(crate) dst_pitch: usize,
    pub(crate) width_bytes: usize,
    pub(crate) height: usize,
}

const _: () = assert!(size_of::<RawMemcpy2D>() == 128 || size_of::<usize>() != 8);

/// The names of a function, the one wanted first. Where several are named, their signatures are equal.
type Names = &'static [&'static CStr];

macro_rules! driver_table {
    (
        required { $($name:ident($($arg:ty),*) = $amd:expr, $nvidia:expr;)* }
        optional { $($opt:ident($($opt_arg:ty),*) = $opt_amd:expr, $opt_nvidia:expr;)* }
    ) => {
        /// A vendor's functions, resolved once.
        #[derive(Debug)]
        pub(crate) struct Table {
            $(pub(crate) $name: Entry<unsafe extern "C" fn($($arg),*) -> Code>,)*
            $(pub(crate) $opt: Option<Entry<unsafe extern "C" fn($($opt_arg),*) -> Code>>,)*
            /// Optional functions that the library lacks.
            pub(crate) missing: Vec<&'static str>,
        }

        impl Table {
            /// Resolves every function, or names the required ones that are missing.
            pub(crate) fn resolve(vendor: Vendor, library: &Library) -> Result<Table, LoadError> {
                let names = |amd: Names, nvidia: Names| match vendor {
                    Vendor::Nvidia => nvidia,
                    _ => amd,
                };
                let mut absent: Vec<&'static str> = Vec::new();
                let mut missing: Vec<&'static str> = Vec::new();
                $(let $name = find(library, names(&$amd, &$nvidia), &mut absent);)*
                $(let $opt = find(library, names(&$opt_amd, &$opt_nvidia), &mut missing);)*
                match ($($name,)*) {
                    ($(Some($name),)*) => Ok(Table {
                        $($name: Entry {
                            name: $name.0,
                            // SAFETY: the vendor documents this signature for this name.
                            call: unsafe {
                                std::mem::transmute::<
                                    *const c_void,
                                    unsafe extern "C" fn($($arg),*) -> Code,
                                >($name.1)
                            },
                        },)*
                        $($opt: $opt.map(|(name, address)| Entry {
                            name,
                            // SAFETY: the vendor documents this signature for this name.
                            call: unsafe {
                                std::mem::transmute::<
                                    *const c_void,
                                    unsafe extern "C" fn($($opt_arg),*) -> Code,
                                >(address)
                            },
                        }),)*
                        missing,
                    }),
                    _ => Err(LoadError {
                        vendor,
                        library: driver_name(vendor),
                        attempts: Vec::new(),
                        missing_symbols: absent,
                    }),
                }
            }
        }
    };
}

/// A function and the vendor's name of it, for errors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<F> {
    pub(crate) name: &'static str,
    pub(crate) call: F,
}

fn find(
    library: &Library,
    names: Names,
    missing: &mut Vec<&'static str>,
) -> Option<(&'static str, *const c_void)> {
    for name in names {
        if let Some(address) = library.symbol(name) {
            return Some((text(name), address));
        }
    }
    missing.extend(names.first().map(|name| text(name)));
    None
}

fn text(name: &'static CStr) -> &'static str {
    name.to_str().unwrap_or("a function")
}

driver_table! {
    required {
        init(c_uint) = [c"hipInit"], [c"cuInit"];
        driver_get_version(*mut c_int) = [c"hipDriverGetVersion"], [c"cuDriverGetVersion"];
        device_get_count(*mut c_int) = [c"hipGetDeviceCount"], [c"cuDeviceGetCount"];
        device_get(*mut c_int, c_int) = [c"hipDeviceGet"], [c"cuDeviceGet"];
        device_get_name(*mut c_char, c_int, c_int) = [c"hipDeviceGetName"], [c"cuDeviceGetName"];
        device_total_mem(*mut usize, c_int) = [c"hipDeviceTotalMem"], [c"cuDeviceTotalMem_v2"];
        device_get_attribute(*mut c_int, c_int, c_int) =
            [c"hipDeviceGetAttribute"], [c"cuDeviceGetAttribute"];
        device_get_pci_bus_id(*mut c_char, c_int, c_int) =
            [c"hipDeviceGetPCIBusId"], [c"cuDeviceGetPCIBusId"];
        context_synchronize() = [c"hipDeviceSynchronize"], [c"cuCtxSynchronize"];
        mem_get_info(*mut usize, *mut usize) = [c"hipMemGetInfo"], [c"cuMemGetInfo_v2"];
        mem_alloc(*mut Ptr, usize) = [c"hipMalloc"], [c"cuMemAlloc_v2"];
        mem_alloc_pitch(*mut Ptr, *mut usize, usize, usize, c_uint) =
            [c"hipMemAllocPitch"], [c"cuMemAllocPitch_v2"];
        mem_free(Ptr) = [c"hipFree"], [c"cuMemFree_v2"];
        host_alloc(*mut *mut c_void, usize, c_uint) = [c"hipHostMalloc"], [c"cuMemHostAlloc"];
        host_free(*mut c_void) = [c"hipHostFree"], [c"cuMemFreeHost"];
        memcpy_htod(Ptr, *const c_void, usize) = [c"hipMemcpyHtoD"], [c"cuMemcpyHtoD_v2"];
        memcpy_htod_async(Ptr, *const c_void, usize, Handle) =
            [c"hipMemcpyHtoDAsync"], [c"cuMemcpyHtoDAsync_v2"];
        memcpy_dtoh(*mut c_void, Ptr, usize) = [c"hipMemcpyDtoH"], [c"cuMemcpyDtoH_v2"];
        memcpy_dtoh_async(*mut c_void, Ptr, usize, Handle) =
            [c"hipMemcpyDtoHAsync"], [c"cuMemcpyDtoHAsync_v2"];
        memcpy_dtod(Ptr, Ptr, usize) = [c"hipMemcpyDtoD"], [c"cuMemcpyDtoD_v2"];
        memcpy_dtod_async(Ptr, Ptr, usize, Handle) =
            [c"hipMemcpyDtoDAsync"], [c"cuMemcpyDtoDAsync_v2"];
        memcpy_2d(*const RawMemcpy2D) =
            [c"hipMemcpyParam2D"], [c"cuMemcpy2DUnaligned_v2"];
        memcpy_2d_async(*const RawMemcpy2D, Handle) =
            [c"hipMemcpyParam2DAsync"], [c"cuMemcpy2DAsync_v2"];
        memset_d8(Ptr, u8, usize) = [c"hipMemsetD8"], [c"cuMemsetD8_v2"];
        memset_d8_async(Ptr, u8, usize, Handle) = [c"hipMemsetD8Async"], [c"cuMemsetD8Async"];
        memset_d16(Ptr, u16, usize) = [c"hipMemsetD16"], [c"cuMemsetD16_v2"];
        memset_d16_async(Ptr, u16, usize, Handle) =
            [c"hipMemsetD16Async"], [c"cuMemsetD16Async"];
        memset_d32(Ptr, u32, usize) = [c"hipMemsetD32"], [c"cuMemsetD32_v2"];
        memset_d32_async(Ptr, u32, usize, Handle) =
            [c"hipMemsetD32Async"], [c"cuMemsetD32Async"];
        // The value is an int at AMD's and an unsigned char at NVIDIA's: passed alike in a
        // register as long as it is within a byte.
        memset_2d(Ptr, usize, c_uint, usize, usize) = [c"hipMemset2D"], [c"cuMemsetD2D8_v2"];
        memset_2d_async(Ptr, usize, c_uint, usize, usize, Handle) =
            [c"hipMemset2DAsync"], [c"cuMemsetD2D8Async"];
        stream_create(*mut Handle, c_uint, c_int) =
            [c"hipStreamCreateWithPriority"], [c"cuStreamCreateWithPriority"];
        stream_destroy(Handle) = [c"hipStreamDestroy"], [c"cuStreamDestroy_v2"];
        stream_synchronize(Handle) = [c"hipStreamSynchronize"], [c"cuStreamSynchronize"];
        stream_query(Handle) = [c"hipStreamQuery"], [c"cuStreamQuery"];
        stream_wait_event(Handle, Handle, c_uint) =
            [c"hipStreamWaitEvent"], [c"cuStreamWaitEvent"];
        event_create(*mut Handle, c_uint) = [c"hipEventCreateWithFlags"], [c"cuEventCreate"];
        event_destroy(Handle) = [c"hipEventDestroy"], [c"cuEventDestroy_v2"];
        event_record(Handle, Handle) = [c"hipEventRecord"], [c"cuEventRecord"];
        event_query(Handle) = [c"hipEventQuery"], [c"cuEventQuery"];
        event_synchronize(Handle) = [c"hipEventSynchronize"], [c"cuEventSynchronize"];
        event_elapsed_time(*mut f32, Handle, Handle) =
            [c"hipEventElapsedTime"], [c"cuEventElapsedTime"];
        module_load_data_ex(*mut Handle, *const c_void, c_uint, *mut c_int, *mut *mut c_void) =
            [c"hipModuleLoadDataEx"], [c"cuModuleLoadDataEx"];
        module_unload(Handle) = [c"hipModuleUnload"], [c"cuModuleUnload"];
        module_get_function(*mut Handle, Handle, *const c_char) =
            [c"hipModuleGetFunction"], [c"cuModuleGetFunction"];
        launch_kernel(
            Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle,
            *mut *mut c_void, *mut *mut c_void
        ) = [c"hipModuleLaunchKernel"], [c"cuLaunchKernel"];
    }
    optional {
        // Both exist from ROCm 5.2 and CUDA 9.2; with MIG only _v2 names the instance.
        device_get_uuid(*mut [u8; 16], c_int) =
            [c"hipDeviceGetUuid"], [c"cuDeviceGetUuid_v2", c"cuDeviceGetUuid"];
        launch_host_func(Handle, HostFn, *mut c_void) =
            [c"hipLaunchHostFunc"], [c"cuLaunchHostFunc"];
        // What ROCm 5.2 has in place of the above.
        stream_add_callback(Handle, StreamCallback, *mut c_void, c_uint) =
            [c"hipStreamAddCallback"], [c"cuStreamAddCallback"];
        func_get_attribute(*mut c_int, c_int, Handle) =
            [c"hipFuncGetAttribute"], [c"cuFuncGetAttribute"];
        // AMD's hipFuncSetAttribute takes no module's function, and nothing there needs it.
        func_set_attribute(Handle, c_int, c_int) = [], [c"cuFuncSetAttribute"];
        occupancy_blocks(*mut c_int, Handle, c_int, usize) =
            [c"hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"],
            [c"cuOccupancyMaxActiveBlocksPerMultiprocessor"];
        // NVIDIA's takes a function that tells the dynamic shared memory of a block size: two
        // signatures, so two entries.
        occupancy_block_size(*mut c_int, *mut c_int, Handle, usize, c_int) =
            [c"hipModuleOccupancyMaxPotentialBlockSize"], [];
        occupancy_block_size_with(
            *mut c_int, *mut c_int, Handle, *const c_void, usize, c_int
        ) = [], [c"cuOccupancyMaxPotentialBlockSize"];
    }
}
