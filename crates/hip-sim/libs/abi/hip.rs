//! HIP's runtime and driver-style API, as far as 5.2, 6.4 and 7.2 agree (hip_runtime_api.h).

use std::ffi::{c_char, c_int, c_uint, c_void};

use hip_dispatch::{LaunchConfig, MemsetValue};
use hip_sim::Sim;
use hip_sim::abi::{
    self, Memcpy2D, PropertiesShape, R0000, args, give, give_text, hip_attribute, hip_error,
    pci_address, properties, rows, text, unnamed_stream,
};
use hip_sim::code::{self, Code, Result};
use hip_sim::memory::{Fill, Rows, Side};
use hip_sim::state::Kind;
use hip_sim::streams::Callback;

type Handle = *mut c_void;
type StatusFn = unsafe extern "C" fn(Handle, Code, *mut c_void);

const TYPES: [u32; 2] = super::PROFILE.memory_types;
/// `HIP_LAUNCH_PARAM_END`
const PARAM_END: usize = 3;

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

/// The value is an int of which the lowest byte counts.
fn bytes_2d(address: u64, pitch: usize, value: c_int, width: usize, height: usize) -> Fill {
    Fill {
        address,
        stride: pitch,
        value: MemsetValue::U8(value as u8),
        width,
        height,
    }
}

/// Fills one of the two structs of properties.
///
/// # Safety
/// `out` is null or has room for the struct.
pub(super) unsafe fn give_properties(
    sim: &Sim,
    out: *mut c_void,
    device: c_int,
    shape: &PropertiesShape,
) -> Result<()> {
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let bytes = properties(sim, sim.device(device)?, shape);
    // SAFETY: the caller's promise; the bytes are the struct's size.
    unsafe {
        out.cast::<u8>()
            .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
    };
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn hipGetErrorName(error: Code) -> *const c_char {
    hip_error(error).0.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn hipGetErrorString(error: Code) -> *const c_char {
    hip_error(error).1.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn hipGetLastError() -> Code {
    Sim::get(&super::PROFILE).last_error(true)
}

#[unsafe(no_mangle)]
extern "C" fn hipPeekAtLastError() -> Code {
    Sim::get(&super::PROFILE).last_error(false)
}

/// `hipPointerAttribute_t`: 32 bytes in every version.
#[repr(C)]
struct PointerAttributes {
    memory_type: u32,
    device: c_int,
    device_pointer: u64,
    host_pointer: u64,
    is_managed: c_int,
    allocation_flags: c_uint,
}

const _: () = assert!(size_of::<PointerAttributes>() == 32);

/// What is known of an address; plain memory is of type 0 since 6.0 and an error before.
fn pointer_attributes(sim: &Sim, address: u64) -> Result<PointerAttributes> {
    let found = sim.kind_at(address);
    if found.is_none() && TYPES[0] == 0 {
        return Err(code::INVALID_VALUE);
    }
    let pinned = matches!(found, Some((Kind::Pinned, _)));
    Ok(PointerAttributes {
        memory_type: found.map_or(0, |(kind, _)| TYPES[usize::from(kind == Kind::Device)]),
        device: found.map_or(-1, |(_, device)| device as c_int),
        device_pointer: if found.is_some() { address } else { 0 },
        host_pointer: if pinned || found.is_none() {
            address
        } else {
            0
        },
        is_managed: 0,
        allocation_flags: 0,
    })
}

hip_sim::api! {
    Always hipInit(flags: c_uint) |sim| sim.initialise(flags);
    Always hipDriverGetVersion(version: *mut c_int) |sim| give(version, || Ok(sim.profile.version));
    Always hipRuntimeGetVersion(version: *mut c_int) |sim| give(version, || Ok(sim.profile.version));
    // With no device: code 100 in every version, and a count of 0.
    Always hipGetDeviceCount(count: *mut c_int) |sim| {
        give(count, || Ok(sim.devices() as c_int))?;
        if sim.devices() == 0 { Err(100) } else { Ok(()) }
    };

    Local hipDeviceGet(device: *mut c_int, ordinal: c_int) |sim|
        give(device, || sim.device(ordinal).map(|device| device as c_int));
    Local hipDeviceGetName(name: *mut c_char, size: c_int, device: c_int) |sim|
        sim.device(device).and_then(|_| give_text(name, size, sim.profile.device_name));
    Local hipDeviceTotalMem(bytes: *mut usize, device: c_int) |sim|
        give(bytes, || sim.device(device).map(|_| sim.total_memory() as usize));
    Local hipDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) |sim|
        give(value, || {
            hip_attribute(sim, sim.device(device)?, attribute).ok_or(code::INVALID_VALUE)
        });
    Local hipDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: c_int) |sim| {
        let device = sim.device(device)?;
        give(major, || hip_attribute(sim, device, 23).ok_or(code::INVALID_VALUE))?;
        give(minor, || hip_attribute(sim, device, 61).ok_or(code::INVALID_VALUE))
    };
    Local hipDeviceGetPCIBusId(id: *mut c_char, size: c_int, device: c_int) |sim|
        sim.device(device).and_then(|device| give_text(id, size, &pci_address(sim, device)));
    Local hipDeviceGetByPCIBusId(device: *mut c_int, id: *const c_char) |sim| give(device, || {
        let id = text(id)?.to_str().map_err(|_| code::INVALID_VALUE)?;
        let found = (0..sim.devices()).find(|device| pci_address(sim, *device) == id);
        found.map(|device| device as c_int).ok_or(code::INVALID_VALUE)
    });
    Local hipDeviceGetUuid(uuid: *mut [u8; 16], device: c_int) |sim|
        give(uuid, || sim.device(device).map(|device| abi::uuid(sim, device)));
    // The unversioned name fills the old struct in every version.
    Local hipGetDeviceProperties(out: *mut c_void, device: c_int) |sim|
        give_properties(sim, out, device, &R0000);
    Local hipDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) |sim|
        give(can, || sim.device(device).and(sim.device(peer)).map(|_| 0));
    Local hipGetDevice(device: *mut c_int) |sim|
        give(device, || sim.current_device().map(|device| device as c_int));
    Local hipSetDevice(device: c_int) |sim| sim.set_device(device);
    Local hipDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) |_sim| {
        give(least, || Ok(1))?;
        give(greatest, || Ok(-1))
    };
    Plain hipDeviceSynchronize() |sim| sim.synchronize();

    Plain hipMemGetInfo(free: *mut usize, total: *mut usize) |sim| {
        let info = sim.mem_get_info()?;
        give(free, || Ok(info.0))?;
        give(total, || Ok(info.1))
    };
    // No bytes are no error here, and no memory either.
    Plain hipMalloc(address: *mut u64, bytes: usize) |sim|
        give(address, || if bytes == 0 { Ok(0) } else { sim.mem_alloc(bytes) });
    Plain hipMemAllocPitch(
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
    Release hipFree(address: u64) |sim| if address == 0 { Ok(()) } else { sim.mem_free(address) };
    Plain hipHostMalloc(address: *mut Handle, bytes: usize, _flags: c_uint) |sim|
        give(address, || match bytes {
            0 => Ok(std::ptr::null_mut()),
            _ => Ok(std::ptr::with_exposed_provenance_mut(sim.host_alloc(bytes)? as usize)),
        });
    Release hipHostFree(address: Handle) |sim|
        if address.is_null() { Ok(()) } else { sim.host_free(address.addr() as u64) };
    Plain hipHostGetDevicePointer(device: *mut u64, host: Handle, _flags: c_uint) |sim|
        give(device, || match sim.kind_at(host.addr() as u64) {
            Some((Kind::Pinned, _)) => Ok(host.addr() as u64),
            _ => Err(code::INVALID_VALUE),
        });
    Plain hipPointerGetAttributes(out: *mut PointerAttributes, address: *const c_void) |sim|
        give(out, || pointer_attributes(sim, address.addr() as u64));
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

/// The sides of a `hipMemcpyKind`: destination and source.
fn sides(kind: c_int) -> Result<(Side, Side)> {
    match kind {
        0 => Ok((Host, Host)),
        1 => Ok((Dev, Host)),
        2 => Ok((Host, Dev)),
        3 => Ok((Dev, Dev)),
        4 => Ok((Any, Any)),
        // hipErrorInvalidMemcpyDirection
        _ => Err(21),
    }
}

use Side::{Any, Device as Dev, Host};

fn at(address: *const c_void) -> u64 {
    address.expose_provenance() as u64
}

hip_sim::api! {
    Plain hipMemcpy(dst: *mut c_void, src: *const c_void, bytes: usize, kind: c_int) |sim| {
        let (to, from) = sides(kind)?;
        copy(sim, "hipMemcpy", (to, at(dst)), (from, at(src)), bytes, None)
    };
    Plain hipMemcpyAsync(
        dst: *mut c_void, src: *const c_void, bytes: usize, kind: c_int, stream: Handle
    ) |sim| {
        let (to, from) = sides(kind)?;
        copy(sim, "hipMemcpyAsync", (to, at(dst)), (from, at(src)), bytes, Some(stream))
    };
    Plain hipMemcpyHtoD(dst: u64, src: *const c_void, bytes: usize) |sim|
        copy(sim, "hipMemcpyHtoD", (Dev, dst), (Host, at(src)), bytes, None);
    Plain hipMemcpyHtoDAsync(dst: u64, src: *const c_void, bytes: usize, stream: Handle) |sim|
        copy(sim, "hipMemcpyHtoDAsync", (Dev, dst), (Host, at(src)), bytes, Some(stream));
    Plain hipMemcpyDtoH(dst: *mut c_void, src: u64, bytes: usize) |sim|
        copy(sim, "hipMemcpyDtoH", (Host, at(dst)), (Dev, src), bytes, None);
    Plain hipMemcpyDtoHAsync(dst: *mut c_void, src: u64, bytes: usize, stream: Handle) |sim|
        copy(sim, "hipMemcpyDtoHAsync", (Host, at(dst)), (Dev, src), bytes, Some(stream));
    Plain hipMemcpyDtoD(dst: u64, src: u64, bytes: usize) |sim|
        copy(sim, "hipMemcpyDtoD", (Dev, dst), (Dev, src), bytes, None);
    Plain hipMemcpyDtoDAsync(dst: u64, src: u64, bytes: usize, stream: Handle) |sim|
        copy(sim, "hipMemcpyDtoDAsync", (Dev, dst), (Dev, src), bytes, Some(stream));
    Plain hipMemcpyParam2D(rows: *const Memcpy2D) |sim|
        copy_2d(sim, "hipMemcpyParam2D", rows, None);
    Plain hipMemcpyParam2DAsync(rows: *const Memcpy2D, stream: Handle) |sim|
        copy_2d(sim, "hipMemcpyParam2DAsync", rows, Some(stream));

    // Fills do not block the caller: those without a stream are the null stream's.
    Plain hipMemset(dst: u64, value: c_int, bytes: usize) |sim|
        sim.fill("hipMemset", &bytes_of(MemsetValue::U8(value as u8), dst, bytes), Some(0));
    Plain hipMemsetAsync(dst: u64, value: c_int, bytes: usize, stream: Handle) |sim|
        sim.fill("hipMemsetAsync", &bytes_of(MemsetValue::U8(value as u8), dst, bytes), Some(stream.addr()));
    Plain hipMemsetD8(dst: u64, value: u8, count: usize) |sim|
        sim.fill("hipMemsetD8", &bytes_of(MemsetValue::U8(value), dst, count), Some(0));
    Plain hipMemsetD8Async(dst: u64, value: u8, count: usize, stream: Handle) |sim|
        sim.fill("hipMemsetD8Async", &bytes_of(MemsetValue::U8(value), dst, count), Some(stream.addr()));
    Plain hipMemsetD16(dst: u64, value: u16, count: usize) |sim|
        sim.fill("hipMemsetD16", &bytes_of(MemsetValue::U16(value), dst, count), Some(0));
    Plain hipMemsetD16Async(dst: u64, value: u16, count: usize, stream: Handle) |sim|
        sim.fill("hipMemsetD16Async", &bytes_of(MemsetValue::U16(value), dst, count), Some(stream.addr()));
    Plain hipMemsetD32(dst: u64, value: c_int, count: usize) |sim|
        sim.fill("hipMemsetD32", &bytes_of(MemsetValue::U32(value as u32), dst, count), Some(0));
    Plain hipMemsetD32Async(dst: u64, value: c_int, count: usize, stream: Handle) |sim|
        sim.fill("hipMemsetD32Async", &bytes_of(MemsetValue::U32(value as u32), dst, count), Some(stream.addr()));
    Plain hipMemset2D(dst: u64, pitch: usize, value: c_int, width: usize, height: usize) |sim|
        sim.fill("hipMemset2D", &bytes_2d(dst, pitch, value, width, height), Some(0));
    Plain hipMemset2DAsync(
        dst: u64, pitch: usize, value: c_int, width: usize, height: usize, stream: Handle
    ) |sim|
        sim.fill("hipMemset2DAsync", &bytes_2d(dst, pitch, value, width, height), Some(stream.addr()));

    Plain hipStreamCreate(stream: *mut Handle) |sim|
        give(stream, || sim.stream_create(0, 0).map(pointer));
    Plain hipStreamCreateWithFlags(stream: *mut Handle, flags: c_uint) |sim|
        give(stream, || sim.stream_create(flags, 0).map(pointer));
    Plain hipStreamCreateWithPriority(stream: *mut Handle, flags: c_uint, priority: c_int) |sim|
        give(stream, || sim.stream_create(flags, priority).map(pointer));
    Release hipStreamDestroy(stream: Handle) |sim| sim.stream_destroy(stream.addr());
    Plain hipStreamSynchronize(stream: Handle) |sim| sim.stream_synchronize(stream.addr());
    Plain hipStreamQuery(stream: Handle) |sim| sim.stream_query(stream.addr());
    Plain hipStreamWaitEvent(stream: Handle, event: Handle, _flags: c_uint) |sim|
        sim.stream_wait_event(stream.addr(), event.addr());
    Plain hipStreamAddCallback(
        stream: Handle, function: Option<StatusFn>, data: *mut c_void, flags: c_uint
    ) |sim| {
        let function = function.filter(|_| flags == 0).ok_or(code::INVALID_VALUE)?;
        sim.host_function(stream.addr(), Callback::WithStatus(function, stream, data))
    };

    Plain hipEventCreate(event: *mut Handle) |sim|
        give(event, || sim.event_create(0).map(pointer));
    Plain hipEventCreateWithFlags(event: *mut Handle, flags: c_uint) |sim|
        give(event, || sim.event_create(flags).map(pointer));
    Release hipEventDestroy(event: Handle) |sim| sim.event_destroy(event.addr());
    Plain hipEventRecord(event: Handle, stream: Handle) |sim|
        sim.event_record(event.addr(), stream.addr());
    Plain hipEventQuery(event: Handle) |sim| sim.event_query(event.addr());
    Plain hipEventSynchronize(event: Handle) |sim| sim.event_synchronize(event.addr());
    Plain hipEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle) |sim|
        give(milliseconds, || sim.event_elapsed(start.addr(), end.addr()));

    Plain hipModuleLoadData(module: *mut Handle, image: *const c_void) |sim|
        give(module, || {
            sim.module_load(image).map(pointer).map_err(|refusal| refusal.code)
        });
    // Options are accepted and not looked at: nothing is compiled here.
    Plain hipModuleLoadDataEx(
        module: *mut Handle, image: *const c_void, _count: c_uint, _options: *mut c_int,
        _values: *mut *mut c_void
    ) |sim|
        give(module, || {
            sim.module_load(image).map(pointer).map_err(|refusal| refusal.code)
        });
    Release hipModuleUnload(module: Handle) |sim| sim.module_unload(module.addr());
    Plain hipModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char) |sim|
        give(function, || sim.module_get_function(module.addr(), text(name)?).map(pointer));
    Plain hipModuleLaunchKernel(
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

    Plain hipFuncGetAttribute(value: *mut c_int, attribute: c_int, function: Handle) |sim|
        give(value, || sim.function_attribute(function.addr(), attribute));
    // hipErrorInvalidDeviceFunction: it wants the address of a host function, which no kernel of a
    // module has.
    Plain hipFuncSetAttribute(
        _function: *const c_void, _attribute: c_int, _value: c_int
    ) |_sim| Err(98);
    Plain hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int, function: Handle, threads: c_int, shared: usize
    ) |sim| give(blocks, || sim.occupancy(function.addr(), threads, shared));
    Plain hipModuleOccupancyMaxPotentialBlockSize(
        blocks: *mut c_int, threads: *mut c_int, function: Handle, shared: usize, limit: c_int
    ) |sim| {
        let found = sim.suggested_block(function.addr(), |_| shared, limit)?;
        give(blocks, || Ok(found.0))?;
        give(threads, || Ok(found.1))
    };
}
