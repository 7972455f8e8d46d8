//! CUDA's driver API, by cuda.h of CUDA 13.0.

use std::ffi::{c_char, c_int, c_uint, c_void};

use hip_dispatch::{HostFn, LaunchConfig, MemsetValue};
use hip_sim::abi::{
    self, Memcpy2D, args, cuda_attribute, cuda_error, give, give_text, pci_address, rows, text,
    unnamed_stream,
};
use hip_sim::code::{self, Code, Result};
use hip_sim::memory::{Fill, Rows, Side};
use hip_sim::state::Kind;
use hip_sim::streams::Callback;
use hip_sim::{Sim, contexts};

type Handle = *mut c_void;
/// `CUoccupancyB2DSize`: bytes of dynamic shared memory that a block of so many threads needs.
type SharedOfBlock = unsafe extern "C" fn(c_int) -> usize;
type StatusFn = unsafe extern "C" fn(Handle, Code, *mut c_void);

const TYPES: [u32; 2] = super::PROFILE.memory_types;
/// `CU_LAUNCH_PARAM_END`
const PARAM_END: usize = 0;

/// A handle as a pointer.
fn pointer(number: usize) -> Handle {
    std::ptr::without_provenance_mut(number)
}

fn bytes_of(value: MemsetValue, address: u64, count: usize) -> Fill {
    Fill {
        address,
        stride: 0,
        value,
        width: count,
        height: 1,
    }
}

fn bytes_2d(address: u64, pitch: usize, value: u8, width: usize, height: usize) -> Fill {
    Fill {
        address,
        stride: pitch,
        value: MemsetValue::U8(value),
        width,
        height,
    }
}

/// Loads a module and, if the options ask for it, writes the log of what went wrong.
///
/// # Safety
/// As `cuModuleLoadDataEx` documents.
unsafe fn load(
    sim: &Sim,
    module: *mut Handle,
    image: *const c_void,
    options: &[c_int],
    values: *mut *mut c_void,
) -> Result<()> {
    /// `CU_JIT_ERROR_LOG_BUFFER` and `…_SIZE_BYTES`.
    const LOG: [c_int; 2] = [5, 6];
    if module.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: the caller's promise about the image.
    let loaded = unsafe { sim.module_load(image) };
    let refusal = match loaded {
        // SAFETY: not null, so writable.
        Ok(handle) => return unsafe { give(module, || Ok(pointer(handle))) },
        Err(refusal) => refusal,
    };
    let value = |key| {
        let index = options.iter().position(|option| *option == key)?;
        // SAFETY: there are as many values as options.
        Some(unsafe { values.add(index).read() })
    };
    if let (Some(buffer), Some(size)) = (value(LOG[0]), value(LOG[1])) {
        let size = c_int::try_from(size.addr()).unwrap_or(c_int::MAX);
        // SAFETY: the options say that the buffer has this size. That there is no room for a log
        // is no failure.
        let _ = unsafe { give_text(buffer.cast(), size, &refusal.text) };
    }
    Err(refusal.code)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(error: Code, name: *mut *const c_char) -> Code {
    let found = cuda_error(error).map(|(name, _)| name.as_ptr());
    // SAFETY: the caller's place is null or writable.
    unsafe { give(name, || found.ok_or(code::INVALID_VALUE)) }
        .err()
        .unwrap_or(0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(error: Code, words: *mut *const c_char) -> Code {
    let found = cuda_error(error).map(|(_, words)| words.as_ptr());
    // SAFETY: the caller's place is null or writable.
    unsafe { give(words, || found.ok_or(code::INVALID_VALUE)) }
        .err()
        .unwrap_or(0)
}

hip_sim::api! {
    Always cuInit(flags: c_uint) |sim| sim.initialise(flags);
    Always cuDriverGetVersion(version: *mut c_int) |sim| give(version, || Ok(sim.profile.version));

    Local cuDeviceGetCount(count: *mut c_int) |sim| give(count, || Ok(sim.devices() as c_int));
    Local cuDeviceGet(device: *mut c_int, ordinal: c_int) |sim|
        give(device, || sim.device(ordinal).map(|device| device as c_int));
    Local cuDeviceGetName(name: *mut c_char, size: c_int, device: c_int) |sim|
        sim.device(device).and_then(|_| give_text(name, size, sim.profile.device_name));
    Local cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) |sim|
        give(bytes, || sim.device(device).map(|_| sim.total_memory() as usize));
    Local cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) |sim|
        give(value, || {
            cuda_attribute(sim, sim.device(device)?, attribute).ok_or(code::INVALID_VALUE)
        });
    Local cuDeviceGetPCIBusId(id: *mut c_char, size: c_int, device: c_int) |sim|
        sim.device(device).and_then(|device| give_text(id, size, &pci_address(sim, device)));
    Local cuDeviceGetByPCIBusId(device: *mut c_int, id: *const c_char) |sim| give(device, || {
        let id = text(id)?.to_str().map_err(|_| code::INVALID_VALUE)?;
        let found = (0..sim.devices()).find(|device| pci_address(sim, *device) == id);
        found.map(|device| device as c_int).ok_or(code::INVALID_DEVICE)
    });
    Local cuDeviceGetUuid(uuid: *mut [u8; 16], device: c_int) |sim|
        give(uuid, || sim.device(device).map(|device| abi::uuid(sim, device)));
    Local cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: c_int) |sim|
        give(uuid, || sim.device(device).map(|device| abi::uuid(sim, device)));
    Local cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) |sim|
        give(can, || sim.device(device).and(sim.device(peer)).map(|_| 0));

    Plain cuDevicePrimaryCtxRetain(context: *mut Handle, device: c_int) |sim|
        give(context, || sim.primary_retain(device).map(pointer));
    Release cuDevicePrimaryCtxRelease_v2(device: c_int) |sim| sim.primary_release(device);
    Local cuDevicePrimaryCtxGetState(device: c_int, flags: *mut c_uint, active: *mut c_int) |sim| {
        give(flags, || sim.device(device).map(|_| 0))?;
        give(active, || sim.primary_retained(device).map(|count| c_int::from(count > 0)))
    };
    Plain cuCtxCreate_v2(context: *mut Handle, _flags: c_uint, device: c_int) |sim|
        give(context, || sim.create_context(device).map(pointer));
    Release cuCtxDestroy_v2(context: Handle) |sim| sim.destroy_context(context.addr());
    Local cuCtxPushCurrent_v2(context: Handle) |sim| sim.push(context.addr());
    Local cuCtxPopCurrent_v2(context: *mut Handle) |sim| {
        let popped = sim.pop()?;
        // What was popped need not be asked for.
        if context.is_null() { Ok(()) } else { give(context, || Ok(pointer(popped))) }
    };
    Local cuCtxSetCurrent(context: Handle) |sim| sim.set_current(context.addr());
    Local cuCtxGetCurrent(context: *mut Handle) |sim|
        give(context, || Ok(pointer(sim.get_current())));
    Local cuCtxGetDevice(device: *mut c_int) |sim|
        give(device, || sim.current_device().map(|device| device as c_int));
    Plain cuCtxSynchronize() |sim| sim.synchronize();
    Local cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) |sim| {
        sim.current()?;
        give(least, || Ok(0))?;
        give(greatest, || Ok(-5))
    };

    Plain cuMemGetInfo_v2(free: *mut usize, total: *mut usize) |sim| {
        let info = sim.mem_get_info()?;
        give(free, || Ok(info.0))?;
        give(total, || Ok(info.1))
    };
    Plain cuMemAlloc_v2(address: *mut u64, bytes: usize) |sim|
        give(address, || sim.mem_alloc(bytes));
    Plain cuMemAllocPitch_v2(
        address: *mut u64, pitch: *mut usize, width: usize, height: usize, element: c_uint
    ) |sim| {
        if pitch.is_null() {
            return Err(code::INVALID_VALUE);
        }
        give(address, || {
            let (address, stride) = sim.mem_alloc_pitch(width, height, element)?;
            give(pitch, || Ok(stride)).map(|()| address)
        })
    };
    Release cuMemFree_v2(address: u64) |sim| sim.mem_free(address);
    Plain cuMemHostAlloc(address: *mut Handle, bytes: usize, flags: c_uint) |sim|
        if flags & !7 == 0 {
            give(address, || Ok(std::ptr::with_exposed_provenance_mut(sim.host_alloc(bytes)? as usize)))
        } else {
            Err(code::INVALID_VALUE)
        };
    Plain cuMemAllocHost_v2(address: *mut Handle, bytes: usize) |sim|
        give(address, || Ok(std::ptr::with_exposed_provenance_mut(sim.host_alloc(bytes)? as usize)));
    Release cuMemFreeHost(address: Handle) |sim| sim.host_free(address.addr() as u64);
    Plain cuMemHostGetDevicePointer_v2(device: *mut u64, host: Handle, _flags: c_uint) |sim|
        give(device, || match sim.kind_at(host.addr() as u64) {
            Some((Kind::Pinned, _)) => Ok(host.addr() as u64),
            _ => Err(code::INVALID_VALUE),
        });
    // CU_POINTER_ATTRIBUTE_CONTEXT and _MEMORY_TYPE; others are not known here.
    Plain cuPointerGetAttribute(value: *mut c_void, attribute: c_int, address: u64) |sim| {
        let (kind, context) = sim.kind_at(address).ok_or(code::INVALID_VALUE)?;
        match attribute {
            1 => give(value.cast::<Handle>(), || Ok(pointer(contexts::handle(context)))),
            2 => give(value.cast::<c_uint>(), || Ok(TYPES[usize::from(kind == Kind::Device)])),
            _ => Err(code::INVALID_VALUE),
        }
    };
}

/// A copy in a row.
///
/// # Safety
/// As the vendor documents the copy.
unsafe fn copy(
    sim: &Sim,
    name: &'static str,
    dst: (Side, u64),
    src: (Side, u64),
    bytes: usize,
    stream: Option<Handle>,
) -> Result<()> {
    let rows = Rows::linear(dst, src, bytes);
    let stream = stream.map(<*mut c_void>::addr).or(unnamed_stream(&rows));
    // SAFETY: the caller's promise.
    unsafe { sim.copy(name, &rows, stream) }
}

/// A 2D copy.
///
/// # Safety
/// As the vendor documents the copy.
unsafe fn copy_2d(
    sim: &Sim,
    name: &'static str,
    copy: *const Memcpy2D,
    stream: Option<Handle>,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let rows = unsafe { rows(copy, TYPES) }?;
    let stream = stream.map(<*mut c_void>::addr).or(unnamed_stream(&rows));
    // SAFETY: the caller's promise.
    unsafe { sim.copy(name, &rows, stream) }
}

use Side::{Any, Device as Dev, Host};

fn at(address: *const c_void) -> u64 {
    address.expose_provenance() as u64
}

hip_sim::api! {
    Plain cuMemcpy(dst: u64, src: u64, bytes: usize) |sim|
        copy(sim, "cuMemcpy", (Any, dst), (Any, src), bytes, None);
    Plain cuMemcpyAsync(dst: u64, src: u64, bytes: usize, stream: Handle) |sim|
        copy(sim, "cuMemcpyAsync", (Any, dst), (Any, src), bytes, Some(stream));
    Plain cuMemcpyHtoD_v2(dst: u64, src: *const c_void, bytes: usize) |sim|
        copy(sim, "cuMemcpyHtoD", (Dev, dst), (Host, at(src)), bytes, None);
    Plain cuMemcpyHtoDAsync_v2(dst: u64, src: *const c_void, bytes: usize, stream: Handle) |sim|
        copy(sim, "cuMemcpyHtoDAsync", (Dev, dst), (Host, at(src)), bytes, Some(stream));
    Plain cuMemcpyDtoH_v2(dst: *mut c_void, src: u64, bytes: usize) |sim|
        copy(sim, "cuMemcpyDtoH", (Host, at(dst)), (Dev, src), bytes, None);
    Plain cuMemcpyDtoHAsync_v2(dst: *mut c_void, src: u64, bytes: usize, stream: Handle) |sim|
        copy(sim, "cuMemcpyDtoHAsync", (Host, at(dst)), (Dev, src), bytes, Some(stream));
    Plain cuMemcpyDtoD_v2(dst: u64, src: u64, bytes: usize) |sim|
        copy(sim, "cuMemcpyDtoD", (Dev, dst), (Dev, src), bytes, None);
    Plain cuMemcpyDtoDAsync_v2(dst: u64, src: u64, bytes: usize, stream: Handle) |sim|
        copy(sim, "cuMemcpyDtoDAsync", (Dev, dst), (Dev, src), bytes, Some(stream));
    Plain cuMemcpy2D_v2(rows: *const Memcpy2D) |sim| copy_2d(sim, "cuMemcpy2D", rows, None);
    Plain cuMemcpy2DUnaligned_v2(rows: *const Memcpy2D) |sim|
        copy_2d(sim, "cuMemcpy2DUnaligned", rows, None);
    Plain cuMemcpy2DAsync_v2(rows: *const Memcpy2D, stream: Handle) |sim|
        copy_2d(sim, "cuMemcpy2DAsync", rows, Some(stream));

    // Fills do not block the caller: those without a stream are the null stream's.
    Plain cuMemsetD8_v2(dst: u64, value: u8, count: usize) |sim|
        sim.fill("cuMemsetD8", &bytes_of(MemsetValue::U8(value), dst, count), Some(0));
    Plain cuMemsetD8Async(dst: u64, value: u8, count: usize, stream: Handle) |sim|
        sim.fill("cuMemsetD8Async", &bytes_of(MemsetValue::U8(value), dst, count), Some(stream.addr()));
    Plain cuMemsetD16_v2(dst: u64, value: u16, count: usize) |sim|
        sim.fill("cuMemsetD16", &bytes_of(MemsetValue::U16(value), dst, count), Some(0));
    Plain cuMemsetD16Async(dst: u64, value: u16, count: usize, stream: Handle) |sim|
        sim.fill("cuMemsetD16Async", &bytes_of(MemsetValue::U16(value), dst, count), Some(stream.addr()));
    Plain cuMemsetD32_v2(dst: u64, value: u32, count: usize) |sim|
        sim.fill("cuMemsetD32", &bytes_of(MemsetValue::U32(value), dst, count), Some(0));
    Plain cuMemsetD32Async(dst: u64, value: u32, count: usize, stream: Handle) |sim|
        sim.fill("cuMemsetD32Async", &bytes_of(MemsetValue::U32(value), dst, count), Some(stream.addr()));
    Plain cuMemsetD2D8_v2(dst: u64, pitch: usize, value: u8, width: usize, height: usize) |sim|
        sim.fill("cuMemsetD2D8", &bytes_2d(dst, pitch, value, width, height), Some(0));
    Plain cuMemsetD2D8Async(
        dst: u64, pitch: usize, value: u8, width: usize, height: usize, stream: Handle
    ) |sim|
        sim.fill("cuMemsetD2D8Async", &bytes_2d(dst, pitch, value, width, height), Some(stream.addr()));

    Plain cuStreamCreate(stream: *mut Handle, flags: c_uint) |sim|
        give(stream, || sim.stream_create(flags, 0).map(pointer));
    Plain cuStreamCreateWithPriority(stream: *mut Handle, flags: c_uint, priority: c_int) |sim|
        give(stream, || sim.stream_create(flags, priority).map(pointer));
    Release cuStreamDestroy_v2(stream: Handle) |sim| sim.stream_destroy(stream.addr());
    Plain cuStreamSynchronize(stream: Handle) |sim| sim.stream_synchronize(stream.addr());
    Plain cuStreamQuery(stream: Handle) |sim| sim.stream_query(stream.addr());
    Plain cuStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint) |sim|
        if flags <= 1 {
            sim.stream_wait_event(stream.addr(), event.addr())
        } else {
            Err(code::INVALID_VALUE)
        };
    Plain cuStreamGetCtx(stream: Handle, context: *mut Handle) |sim|
        give(context, || sim.stream_context(stream.addr()).map(contexts::handle).map(pointer));
    Plain cuLaunchHostFunc(stream: Handle, function: Option<HostFn>, data: *mut c_void) |sim| {
        let function = function.ok_or(code::INVALID_VALUE)?;
        sim.host_function(stream.addr(), Callback::Plain(function, data))
    };
    Plain cuStreamAddCallback(
        stream: Handle, function: Option<StatusFn>, data: *mut c_void, flags: c_uint
    ) |sim| {
        let function = function.filter(|_| flags == 0).ok_or(code::INVALID_VALUE)?;
        sim.host_function(stream.addr(), Callback::WithStatus(function, stream, data))
    };

    Plain cuEventCreate(event: *mut Handle, flags: c_uint) |sim|
        give(event, || sim.event_create(flags).map(pointer));
    Release cuEventDestroy_v2(event: Handle) |sim| sim.event_destroy(event.addr());
    Plain cuEventRecord(event: Handle, stream: Handle) |sim|
        sim.event_record(event.addr(), stream.addr());
    Plain cuEventQuery(event: Handle) |sim| sim.event_query(event.addr());
    Plain cuEventSynchronize(event: Handle) |sim| sim.event_synchronize(event.addr());
    Plain cuEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle) |sim|
        give(milliseconds, || sim.event_elapsed(start.addr(), end.addr()));

    Plain cuModuleLoadData(module: *mut Handle, image: *const c_void) |sim|
        load(sim, module, image, &[], std::ptr::null_mut());
    Plain cuModuleLoadDataEx(
        module: *mut Handle, image: *const c_void, count: c_uint, options: *mut c_int,
        values: *mut *mut c_void
    ) |sim| match count {
        0 => load(sim, module, image, &[], values),
        _ if options.is_null() || values.is_null() => Err(code::INVALID_VALUE),
        _ => {
            let options = std::slice::from_raw_parts(options, count as usize);
            load(sim, module, image, options, values)
        }
    };
    Release cuModuleUnload(module: Handle) |sim| sim.module_unload(module.addr());
    Plain cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char) |sim|
        give(function, || sim.module_get_function(module.addr(), text(name)?).map(pointer));
    Plain cuLaunchKernel(
        function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint,
        block_y: c_uint, block_z: c_uint, shared: c_uint, stream: Handle,
        params: *mut *mut c_void, extra: *mut *mut c_void
    ) |sim| {
        let config = LaunchConfig {
            grid_dim: [grid_x, grid_y, grid_z],
            block_dim: [block_x, block_y, block_z],
            shared_mem_bytes: shared,
        };
        sim.launch(function.addr(), &config, stream.addr(), args(params, extra, PARAM_END)?)
    };

    Plain cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: Handle) |sim|
        give(value, || sim.function_attribute(function.addr(), attribute));
    Plain cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int) |sim|
        sim.set_function_attribute(function.addr(), attribute, value);
    Plain cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int, function: Handle, threads: c_int, shared: usize
    ) |sim| give(blocks, || sim.occupancy(function.addr(), threads, shared));
    Plain cuOccupancyMaxPotentialBlockSize(
        blocks: *mut c_int, threads: *mut c_int, function: Handle,
        shared_of: Option<SharedOfBlock>, shared: usize, limit: c_int
    ) |sim| {
        // SAFETY: the caller's function takes any block size.
        let needs = |size| shared_of.map_or(shared, |of| unsafe { of(size) });
        let found = sim.suggested_block(function.addr(), needs, limit)?;
        give(blocks, || Ok(found.0))?;
        give(threads, || Ok(found.1))
    };
}
