//! Accesses across copies of the crate: what this copy does with another's memory, and what it does
//! with its own when another asks.

use gst::ffi;
use gst::glib::translate::from_glib_none;
use hip_core::{Device, DevicePtr, Event, Stream};
use hip_dispatch::StreamHandle;

use super::allocation::Mode;
use super::object::{self, Own};
use super::{DeviceAccess, MemoryKind};
use crate::abi::{
    self, GST_HIP_RS_ABI_VERSION, GST_HIP_RS_ACCESS_CPU_ORDERED, GST_HIP_RS_ACCESS_OVERWRITE,
    GST_HIP_RS_ACCESS_READ, GST_HIP_RS_ACCESS_WRITE, GST_HIP_RS_FAILED, GST_HIP_RS_KIND_PINNED,
    GstHipRsAccess, GstHipRsDevice, GstHipRsError, GstHipRsMemory, GstHipRsMemoryVTable,
    GstHipRsStreamDesc, guard, size_of,
};
use crate::{Error, Result};

/// The functions behind every memory object that this copy makes.
pub(super) static OWN: GstHipRsMemoryVTable = GstHipRsMemoryVTable {
    size: size_of::<GstHipRsMemoryVTable>(),
    abi_version: GST_HIP_RS_ABI_VERSION,
    free: own_free,
    device: own_device,
    begin_access: own_begin,
    end_access: own_end,
    map_stream: own_map_stream,
};

unsafe extern "C" fn own_free(memory: *mut ffi::GstMemory) {
    // SAFETY: called once for each memory with our table, when its last reference is gone.
    guard("free", (), || unsafe { object::destroy(memory) });
}

fn not_ours() -> Error {
    Error::InvalidValue("the memory is not ours".into())
}

unsafe extern "C" fn own_device(memory: *const ffi::GstMemory) -> *const GstHipRsDevice {
    guard("device", std::ptr::null(), || {
        // SAFETY: the caller's memory is alive.
        match unsafe { Own::from_raw(memory) } {
            Some(own) => own.borrowed().streams().payload().as_abi(),
            None => std::ptr::null(),
        }
    })
}

unsafe extern "C" fn own_begin(
    memory: *const ffi::GstMemory,
    mode: u32,
    stream: *const GstHipRsStreamDesc,
    access: *mut GstHipRsAccess,
    error: *mut GstHipRsError,
) -> i32 {
    let begin = || {
        // SAFETY: the caller's memory, stream and structure are alive, or null.
        let (own, stream, out) =
            unsafe { (Own::from_raw(memory), stream.as_ref(), access.as_mut()) };
        let own = own.ok_or_else(not_ours)?;
        let invalid = |text: &str| Error::InvalidValue(text.into());
        let stream = stream
            .filter(|stream| stream.abi_version == GST_HIP_RS_ABI_VERSION)
            .filter(|stream| stream.size >= size_of::<GstHipRsStreamDesc>())
            .ok_or_else(|| invalid("no stream, or one of another ABI version"))?;
        let out = out
            .filter(|out| out.size >= size_of::<GstHipRsAccess>())
            .ok_or_else(|| invalid("no room for the access"))?;
        let mode = match mode {
            GST_HIP_RS_ACCESS_READ => Mode::Read,
            GST_HIP_RS_ACCESS_WRITE => Mode::Write,
            GST_HIP_RS_ACCESS_OVERWRITE => Mode::Overwrite,
            other => return Err(invalid(&format!("no access mode: {other}"))),
        };
        // SAFETY: the caller keeps the stream until the access ends.
        let (stream, cpu_ordered) = unsafe { own.borrowed().streams().proxy(stream) }?;
        let (offset, len) = (own.memory().offset, own.memory().size);
        let granted = own.allocation().begin(&stream, mode, offset, len)?;
        if cpu_ordered {
            stream.synchronize()?;
        }
        out.abi_version = GST_HIP_RS_ABI_VERSION;
        out.device_ptr = granted.device_ptr().0;
        out.host_ptr = granted.host_ptr().cast();
        out.len = len as u64;
        out.flags = if cpu_ordered {
            GST_HIP_RS_ACCESS_CPU_ORDERED
        } else {
            0
        };
        out.reserved = 0;
        out.token = Box::into_raw(Box::new(granted)).cast();
        Ok(())
    };
    // SAFETY: the error is the caller's, or null.
    guard("begin_access", GST_HIP_RS_FAILED, || unsafe {
        abi::report(begin(), error)
    })
}

unsafe extern "C" fn own_end(access: *mut GstHipRsAccess) {
    guard("end_access", (), || {
        // SAFETY: null, or an access that `own_begin` filled in.
        let Some(access) = (unsafe { access.as_mut() }) else {
            return;
        };
        let token = std::mem::replace(&mut access.token, std::ptr::null_mut());
        if !token.is_null() {
            // SAFETY: `own_begin` leaked this box; it is taken back once. Dropping the access
            // records the event after the work.
            drop(unsafe { Box::from_raw(token.cast::<DeviceAccess>()) });
        }
    });
}

unsafe extern "C" fn own_map_stream(
    memory: *const ffi::GstMemory,
    out: *mut GstHipRsStreamDesc,
    error: *mut GstHipRsError,
) -> i32 {
    let find = || {
        // SAFETY: the caller's memory and structure are alive, or null.
        let (own, out) = unsafe { (Own::from_raw(memory), out.as_mut()) };
        let own = own.ok_or_else(not_ours)?;
        let out = out
            .filter(|out| out.size >= size_of::<GstHipRsStreamDesc>())
            .ok_or_else(|| Error::InvalidValue("no room for the stream".into()))?;
        *out = abi::describe(own.borrowed().streams().map()?);
        Ok(())
    };
    // SAFETY: the error is the caller's, or null.
    guard("map_stream", GST_HIP_RS_FAILED, || unsafe {
        abi::report(find(), error)
    })
}

/// Another copy's leave to work on its memory.
pub(super) struct RemoteGrant {
    raw: GstHipRsAccess,
    kind: MemoryKind,
    end: unsafe extern "C" fn(*mut GstHipRsAccess),
    ended: bool,
}

// SAFETY: the pointers are addresses of memory that the owner keeps until the end; its functions
// may be called from any thread.
unsafe impl Send for RemoteGrant {}
// SAFETY: as above; a shared reference gives numbers only.
unsafe impl Sync for RemoteGrant {}

impl RemoteGrant {
    pub(super) fn device_ptr(&self) -> DevicePtr {
        DevicePtr(self.raw.device_ptr)
    }

    pub(super) fn host_ptr(&self) -> *mut u8 {
        self.raw.host_ptr.cast()
    }

    pub(super) fn kind(&self) -> MemoryKind {
        self.kind
    }

    /// Ends the access behind the work on `stream`; where the owner cannot order itself behind
    /// the stream, that work is waited for here (by `event`, if there is one).
    pub(super) fn end(&mut self, stream: &Stream, event: Option<&Event>) -> Result<()> {
        if std::mem::replace(&mut self.ended, true) {
            return Ok(());
        }
        let waited = match (self.raw.flags & GST_HIP_RS_ACCESS_CPU_ORDERED, event) {
            (0, _) => Ok(()),
            (_, Some(event)) => event.synchronize(),
            (_, None) => stream.synchronize(),
        };
        // SAFETY: the owner filled the access in, and it is ended once.
        unsafe { (self.end)(&mut self.raw) };
        Ok(waited?)
    }
}

/// Begins an access to another copy's memory.
///
/// # Safety
/// `memory` is a live memory of another copy's, of our version, and `device` is this copy's device
/// for it.
pub(super) unsafe fn begin(
    memory: &GstHipRsMemory,
    device: &Device,
    stream: &Stream,
    mode: Mode,
) -> Result<DeviceAccess> {
    if stream.device() != device {
        return Err(Error::WrongDevice {
            found: device.info().to_string(),
            expected: stream.device().info().to_string(),
        });
    }
    // SAFETY: the table is static in the copy that made the memory.
    let vtable = unsafe { &*memory.vtable };
    let number = match mode {
        Mode::Read => GST_HIP_RS_ACCESS_READ,
        Mode::Write => GST_HIP_RS_ACCESS_WRITE,
        Mode::Overwrite => GST_HIP_RS_ACCESS_OVERWRITE,
    };
    let desc = abi::describe(stream);
    let mut error = GstHipRsError::new();
    let mut raw = GstHipRsAccess {
        size: size_of::<GstHipRsAccess>(),
        abi_version: GST_HIP_RS_ABI_VERSION,
        device_ptr: 0,
        host_ptr: std::ptr::null_mut(),
        len: 0,
        flags: 0,
        reserved: 0,
        token: std::ptr::null_mut(),
    };
    // SAFETY: the memory and the stream are alive; the access that is returned keeps the stream.
    let status =
        unsafe { (vtable.begin_access)(&memory.memory, number, &desc, &mut raw, &mut error) };
    abi::from_status(status, &error)?;
    let kind = match memory.kind {
        GST_HIP_RS_KIND_PINNED => MemoryKind::Pinned,
        _ => MemoryKind::Device,
    };
    let len = raw.len as usize;
    let grant = RemoteGrant {
        raw,
        kind,
        end: vtable.end_access,
        ended: false,
    };
    Ok(DeviceAccess::remote(grant, stream.clone(), mode, len))
}

/// The stream that maps of another copy's memory for the device are ordered on.
///
/// # Safety
/// As [`begin`].
pub(super) unsafe fn map_stream(memory: &GstHipRsMemory, device: &Device) -> Result<Stream> {
    // SAFETY: the table is static in the copy that made the memory.
    let vtable = unsafe { &*memory.vtable };
    // Filled in by the owner, who looks at the size.
    let mut desc = GstHipRsStreamDesc {
        size: size_of::<GstHipRsStreamDesc>(),
        abi_version: GST_HIP_RS_ABI_VERSION,
        library: 0,
        context: std::ptr::null_mut(),
        stream: std::ptr::null_mut(),
        copy: 0,
        id: 0,
    };
    let mut error = GstHipRsError::new();
    // SAFETY: the memory is alive; both structures are ours.
    let status = unsafe { (vtable.map_stream)(&memory.memory, &mut desc, &mut error) };
    abi::from_status(status, &error)?;
    if desc.library != device.backend().identity() as u64
        || desc.context != device.as_raw_context().as_raw()
    {
        return Err(Error::InvalidValue(
            "the stream belongs to another copy of the library, whose streams mean nothing here"
                .into(),
        ));
    }
    // SAFETY: a live memory; the new reference keeps it, and so the owner's stream.
    let keep_alive: gst::Memory =
        unsafe { from_glib_none(std::ptr::from_ref(&memory.memory).cast_mut()) };
    let handle = StreamHandle::from_raw(desc.stream);
    // SAFETY: a stream of the device's context, alive as long as the memory.
    Ok(unsafe { Stream::from_foreign(device, handle, Box::new(keep_alive)) })
}
