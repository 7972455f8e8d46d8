//! What this crate takes for granted of `hip_runtime_api.h`, by the header's own names, for
//! `tests/amd_runtime.rs` to compare with the headers. Not part of the crate's interface.

use std::mem::offset_of;

use super::properties::{R0000, R0600};
use super::{Hip, memory_types};
use crate::driver::{Code, Dialect, RawMemcpy2D};
use crate::{EventFlags, HostAllocFlags, StreamFlags};

/// Every name and its value as the crate uses it with a runtime of `major` version: sizes and
/// offsets in bytes, numbers of enumerators and flags.
pub fn assumed(major: u32) -> Vec<(&'static str, i64)> {
    let mut all = properties(major);
    all.extend(sizes());
    all.extend(memcpy_2d());
    all.extend(attributes());
    all.extend(flags());
    let (host, device) = memory_types(major >= 6);
    all.push(("hipMemoryTypeHost", host.into()));
    all.push(("hipMemoryTypeDevice", device.into()));
    all
}

fn bytes(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// The struct that the unversioned function fills, and from 6.0 the one of `…R0600` too.
fn properties(major: u32) -> Vec<(&'static str, i64)> {
    let mut all = vec![
        ("sizeof R0000", bytes(R0000.size)),
        ("R0000.gcnArchName", bytes(R0000.gcn_arch_name)),
    ];
    if major >= 6 {
        all.push(("sizeof R0600", bytes(R0600.size)));
        all.push(("R0600.gcnArchName", bytes(R0600.gcn_arch_name)));
    }
    all
}

/// Types that cross by value or by pointer.
fn sizes() -> Vec<(&'static str, i64)> {
    vec![
        ("sizeof hipError_t", bytes(size_of::<Code>())),
        ("sizeof hipDevice_t", bytes(size_of::<std::ffi::c_int>())),
        (
            "sizeof hipDeviceptr_t",
            bytes(size_of::<crate::driver::Ptr>()),
        ),
        ("sizeof hipUUID", bytes(size_of::<crate::Uuid>())),
        ("sizeof hip_Memcpy2D", bytes(size_of::<RawMemcpy2D>())),
    ]
}

fn memcpy_2d() -> Vec<(&'static str, i64)> {
    macro_rules! offsets {
        ($($name:literal $field:ident,)*) => {
            vec![$(($name, bytes(offset_of!(RawMemcpy2D, $field))),)*]
        };
    }
    offsets! {
        "hip_Memcpy2D.srcXInBytes" src_x_bytes,
        "hip_Memcpy2D.srcY" src_y,
        "hip_Memcpy2D.srcMemoryType" src_memory_type,
        "hip_Memcpy2D.srcHost" src_host,
        "hip_Memcpy2D.srcDevice" src_device,
        "hip_Memcpy2D.srcArray" src_array,
        "hip_Memcpy2D.srcPitch" src_pitch,
        "hip_Memcpy2D.dstXInBytes" dst_x_bytes,
        "hip_Memcpy2D.dstY" dst_y,
        "hip_Memcpy2D.dstMemoryType" dst_memory_type,
        "hip_Memcpy2D.dstHost" dst_host,
        "hip_Memcpy2D.dstDevice" dst_device,
        "hip_Memcpy2D.dstArray" dst_array,
        "hip_Memcpy2D.dstPitch" dst_pitch,
        "hip_Memcpy2D.WidthInBytes" width_bytes,
        "hip_Memcpy2D.Height" height,
    }
}

fn attributes() -> Vec<(&'static str, i64)> {
    let numbers = Hip::ATTRIBUTES;
    let named = [
        ("hipDeviceAttributeIntegrated", numbers.integrated),
        (
            "hipDeviceAttributeMaxThreadsPerBlock",
            numbers.max_block_threads,
        ),
        (
            "hipDeviceAttributeMaxSharedMemoryPerBlock",
            numbers.max_block_shared_memory,
        ),
        ("hipDeviceAttributeMaxGridDimX", numbers.max_grid_dim[0]),
        ("hipDeviceAttributeMaxGridDimY", numbers.max_grid_dim[1]),
        ("hipDeviceAttributeMaxGridDimZ", numbers.max_grid_dim[2]),
        (
            "hipDeviceAttributeMultiprocessorCount",
            numbers.multiprocessors,
        ),
        (
            "hipDeviceAttributeTexturePitchAlignment",
            numbers.texture_pitch_alignment,
        ),
        ("hipDeviceAttributeWarpSize", numbers.warp_size),
    ];
    named
        .into_iter()
        .map(|(name, number)| (name, number.into()))
        .collect()
}

fn flags() -> Vec<(&'static str, i64)> {
    let named = [
        ("hipStreamNonBlocking", StreamFlags::NON_BLOCKING.bits()),
        ("hipEventBlockingSync", EventFlags::BLOCKING_SYNC.bits()),
        ("hipEventDisableTiming", EventFlags::DISABLE_TIMING.bits()),
        ("hipHostMallocPortable", HostAllocFlags::PORTABLE.bits()),
        ("hipHostMallocMapped", HostAllocFlags::MAPPED.bits()),
        (
            "hipHostMallocWriteCombined",
            HostAllocFlags::WRITE_COMBINED.bits(),
        ),
    ];
    named
        .into_iter()
        .map(|(name, bits)| (name, bits.into()))
        .collect()
}
