//! Memory, video buffers, pools, and accesses.

use gst::ffi::{GstBuffer, GstBufferPool, GstMemory};
use gst::glib::ffi::{GError, GFALSE, GTRUE, gboolean};
use gst::glib::prelude::*;
use gst::glib::translate::{IntoGlibPtr, from_glib_none};
use gst_hip::abi::{
    self, GST_HIP_RS_ABI_VERSION, GST_HIP_RS_ACCESS_OVERWRITE, GST_HIP_RS_ACCESS_READ,
    GST_HIP_RS_ACCESS_WRITE, GST_HIP_RS_KIND_DEVICE, GST_HIP_RS_KIND_PINNED, GstHipRsAccess,
    GstHipRsDevice,
};
use gst_hip::{
    Copy2D, DeviceAccess, Error, FrameLayout, HipAllocator, HipBufferPool, HipMemoryRef,
    MemoryKind, Result,
};
use gst_video::ffi::GstVideoInfo;

use crate::device::device_of;
use crate::failure::{checked, guarded, has_room, missing};
use crate::stream::{GstHipRsStream, stream_of};

fn kind_of(kind: u32) -> Result<MemoryKind> {
    match kind {
        GST_HIP_RS_KIND_DEVICE => Ok(MemoryKind::Device),
        GST_HIP_RS_KIND_PINNED => Ok(MemoryKind::Pinned),
        other => Err(Error::InvalidValue(format!("no kind of memory: {other}"))),
    }
}

/// The HIP memory of a handle, whichever copy of the library made it.
///
/// # Safety
/// `memory` is null or a live memory.
unsafe fn hip_memory<'a>(memory: *const GstMemory) -> Result<HipMemoryRef<'a>> {
    if memory.is_null() {
        return Err(missing("the memory"));
    }
    // SAFETY: not null, and alive by the caller's word.
    let memory = unsafe { gst::MemoryRef::from_ptr(memory) };
    HipMemoryRef::from_memory(memory)
        .ok_or_else(|| Error::InvalidValue("the memory is not HIP memory".into()))
}

/// `size` bytes on the device (`GST_HIP_RS_KIND_DEVICE`) or in pinned CPU memory
/// (`GST_HIP_RS_KIND_PINNED`), not initialised.
///
/// Returns: (transfer full): the memory, null on failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_memory_new(
    device: *const GstHipRsDevice,
    kind: u32,
    size: usize,
    error: *mut *mut GError,
) -> *mut GstMemory {
    let make = || {
        // SAFETY: null or a live device.
        let device = unsafe { device_of(device) }?;
        let memory = match kind_of(kind)? {
            MemoryKind::Pinned => HipAllocator::alloc_pinned(&device, size),
            _ => HipAllocator::alloc_device(&device, size),
        }?;
        Ok(memory.into_glib_ptr())
    };
    // SAFETY: the error is the caller's, or null.
    unsafe { checked(error, std::ptr::null_mut(), make) }
}

/// A buffer of one memory for a video frame, in the layout the device likes, which its
/// `GstVideoMeta` says.
///
/// Returns: (transfer full): the buffer, null on failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_buffer_new_video(
    device: *const GstHipRsDevice,
    kind: u32,
    info: *const GstVideoInfo,
    error: *mut *mut GError,
) -> *mut GstBuffer {
    let make = || {
        // SAFETY: null or a live device.
        let device = unsafe { device_of(device) }?;
        if info.is_null() {
            return Err(missing("the video info"));
        }
        // SAFETY: not null, and the caller's.
        let info: gst_video::VideoInfo = unsafe { from_glib_none(info) };
        let layout = FrameLayout::new(&info, device.info().limits.pitch_alignment.max(1))?;
        let memory = HipAllocator::alloc_video(&device, kind_of(kind)?, &layout)?;
        let mut buffer = gst::Buffer::new();
        // A new buffer has one reference, ours.
        if let Some(writable) = buffer.get_mut() {
            writable.append_memory(memory);
            layout.add_video_meta(writable)?;
        }
        Ok(buffer.into_glib_ptr())
    };
    // SAFETY: the error is the caller's, or null.
    unsafe { checked(error, std::ptr::null_mut(), make) }
}

/// A pool of buffers of one memory each, configured and activated as any pool.
///
/// Returns: (transfer full): the pool, null on failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_buffer_pool_new(
    device: *const GstHipRsDevice,
    kind: u32,
    error: *mut *mut GError,
) -> *mut GstBufferPool {
    let make = || {
        // SAFETY: null or a live device.
        let device = unsafe { device_of(device) }?;
        let pool = HipBufferPool::new(&device, kind_of(kind)?);
        Ok(pool.upcast::<gst::BufferPool>().into_glib_ptr())
    };
    // SAFETY: the error is the caller's, or null.
    unsafe { checked(error, std::ptr::null_mut(), make) }
}

/// Whether the memory is HIP memory that can be used here, whichever copy of the library made it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_memory_is_hip(memory: *const GstMemory) -> gboolean {
    // SAFETY: null or a live memory.
    guarded(GFALSE, || unsafe { i32::from(hip_memory(memory).is_ok()) })
}

/// `GST_HIP_RS_KIND_DEVICE` or `GST_HIP_RS_KIND_PINNED`; -1 if it is not HIP memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_memory_get_kind(memory: *const GstMemory) -> i32 {
    // SAFETY: null or a live memory.
    guarded(-1, || match unsafe { hip_memory(memory) } {
        Ok(memory) if memory.kind() == MemoryKind::Pinned => GST_HIP_RS_KIND_PINNED as i32,
        Ok(_) => GST_HIP_RS_KIND_DEVICE as i32,
        Err(_) => -1,
    })
}

/// The memory's device.
///
/// Returns: (transfer full): the device, null if it is not HIP memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_memory_get_device(
    memory: *const GstMemory,
) -> *const GstHipRsDevice {
    // SAFETY: null or a live memory.
    guarded(std::ptr::null(), || match unsafe { hip_memory(memory) } {
        Ok(memory) => abi::export_device(memory.device()),
        Err(_) => std::ptr::null(),
    })
}

fn begin(memory: &HipMemoryRef<'_>, mode: u32, stream: &gst_hip::Stream) -> Result<DeviceAccess> {
    match mode {
        GST_HIP_RS_ACCESS_READ => memory.begin_read(stream),
        GST_HIP_RS_ACCESS_WRITE => memory.begin_write(stream),
        GST_HIP_RS_ACCESS_OVERWRITE => memory.begin_overwrite(stream),
        other => Err(Error::InvalidValue(format!("no access mode: {other}"))),
    }
}

/// Begins work on a memory's bytes, on one stream, with the vendor's own calls, say: the stream
/// waits for what the work must not overtake, the thread does not. `access` is filled in
/// with the address; gst_hip_rs_access_end() follows once the work is enqueued. The caller sets
/// `access->size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_memory_begin_access(
    memory: *const GstMemory,
    mode: u32,
    stream: *const GstHipRsStream,
    access: *mut GstHipRsAccess,
    error: *mut *mut GError,
) -> gboolean {
    let begin = || {
        // SAFETY: null or alive; null or the caller's.
        let (memory, stream, out) =
            unsafe { (hip_memory(memory)?, stream_of(stream)?, access.as_mut()) };
        let out = out.ok_or_else(|| missing("the access"))?;
        has_room(out.size, size_of::<GstHipRsAccess>())?;
        let granted = begin(&memory, mode, stream)?;
        *out = GstHipRsAccess {
            size: size_of::<GstHipRsAccess>() as u32,
            abi_version: GST_HIP_RS_ABI_VERSION,
            device_ptr: granted.device_ptr().0,
            host_ptr: granted.host_ptr().cast(),
            len: granted.len() as u64,
            flags: 0,
            reserved: 0,
            token: Box::into_raw(Box::new(granted)).cast(),
        };
        Ok(GTRUE)
    };
    // SAFETY: the error is the caller's, or null.
    unsafe { checked(error, GFALSE, begin) }
}

/// Ends an access: later accesses, CPU maps and the next user of a pool's buffer wait for the work
/// enqueued so far. Null, or an access that was ended, is no error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_access_end(access: *mut GstHipRsAccess) {
    guarded((), || {
        // SAFETY: null, or what `gst_hip_rs_memory_begin_access` filled in.
        let Some(access) = (unsafe { access.as_mut() }) else {
            return;
        };
        let token = std::mem::replace(&mut access.token, std::ptr::null_mut());
        if !token.is_null() {
            // SAFETY: the box leaked there, taken back once.
            drop(unsafe { Box::from_raw(token.cast::<DeviceAccess>()) });
        }
    });
}

/// Enqueues a copy of all bytes of one memory to another as long, pinned or on the device, and
/// returns. Later users of both wait for it by themselves.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gst_hip_rs_memory_copy_async(
    destination: *mut GstMemory,
    source: *const GstMemory,
    stream: *const GstHipRsStream,
    error: *mut *mut GError,
) -> gboolean {
    let copy = || {
        // SAFETY: null or alive.
        let (to, from, stream) = unsafe {
            (
                hip_memory(destination)?,
                hip_memory(source)?,
                stream_of(stream)?,
            )
        };
        if from.len() != to.len() {
            let text = format!("{} bytes do not go into {}", from.len(), to.len());
            return Err(Error::InvalidValue(text));
        }
        let apart = from.offset().abs_diff(to.offset()) >= from.len();
        if from.shares_allocation(&to) && !apart {
            return Err(Error::InvalidValue("the memories overlap".into()));
        }
        let source = from.begin_read(stream)?;
        let target = to.begin_overwrite(stream)?;
        let copy = Copy2D {
            dst: target.end(),
            dst_stride: target.len(),
            src: source.end(),
            src_stride: source.len(),
            width_bytes: source.len(),
            height: 1,
        };
        // SAFETY: the accesses vouch for both ranges while the work is enqueued, and the event
        // keeps the bytes alive.
        unsafe { stream.copy_2d_raw(&copy) }?;
        let event = stream.record()?;
        source.finish(&event)?;
        target.finish(&event)?;
        Ok(GTRUE)
    };
    // SAFETY: the error is the caller's, or null.
    unsafe { checked(error, GFALSE, copy) }
}
