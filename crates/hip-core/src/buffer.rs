use std::fmt;
use std::ptr::NonNull;

use hip_dispatch::{DevicePtr, HostAllocFlags};

use crate::statistics::{add, sub};
use crate::{Device, Error, Result};

/// Device memory. Freed when dropped; both vendors wait there for work in flight, so what is in use
/// belongs in a [`crate::FenceData`] or a [`crate::BufferPool`].
pub struct DeviceBuffer {
    device: Device,
    ptr: DevicePtr,
    size: usize,
    /// Freed without waiting for the device.
    idle: bool,
}

/// Page-locked CPU memory, which the device reads and writes by DMA.
pub struct PinnedBuffer {
    device: Device,
    ptr: NonNull<u8>,
    size: usize,
    /// Freed without waiting for the device.
    idle: bool,
}

fn check_size(size: usize) -> Result<()> {
    match size {
        0 => Err(Error::InvalidValue(
            "a buffer of 0 bytes cannot be allocated".into(),
        )),
        size if isize::try_from(size).is_err() => Err(Error::InvalidValue(format!(
            "a buffer of {size} bytes cannot be addressed"
        ))),
        _ => Ok(()),
    }
}

pub(crate) fn check_range(size: usize, offset: usize, len: usize) -> Result<()> {
    match offset.checked_add(len) {
        Some(end) if end <= size => Ok(()),
        _ => Err(Error::OutOfBounds { offset, len, size }),
    }
}

impl DeviceBuffer {
    /// Allocates `size` bytes, at least 256-byte aligned, not initialised.
    ///
    /// # Errors
    /// `size` is 0, or there is no room.
    pub fn new(device: &Device, size: usize) -> Result<DeviceBuffer> {
        check_size(size)?;
        let _bound = device.bind()?;
        let ptr = device.0.backend.mem_alloc(size)?;
        let counters = &device.0.counters;
        add(&counters.device_allocations, 1);
        add(&counters.device_live, 1);
        add(&counters.device_bytes, size as u64);
        Ok(DeviceBuffer {
            device: device.clone(),
            ptr,
            size,
            idle: false,
        })
    }

    /// The device it belongs to.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Bytes.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.size
    }

    /// The address on the device, valid as long as `self`.
    pub fn as_raw(&self) -> DevicePtr {
        self.ptr
    }

    /// Frees the memory without waiting for work on the device, where the backend can.
    ///
    /// # Safety
    /// No work that was enqueued uses the memory any more.
    pub unsafe fn free_idle(mut self) {
        self.idle = true;
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        self.free();
        // Last: who sees the counters fall sees the memory given back.
        let counters = &self.device.0.counters;
        sub(&counters.device_bytes, self.size as u64);
        sub(&counters.device_live, 1);
    }
}

impl DeviceBuffer {
    /// For drop: gives the memory back once.
    fn free(&mut self) {
        let Some(_bound) = self.device.bind_to_release() else {
            return;
        };
        let backend = &self.device.0.backend;
        // SAFETY: allocated by this backend in this context, freed once; where it is idle,
        // `free_idle`'s caller said so.
        let freed = unsafe {
            match self.idle {
                true => backend.mem_free_idle(self.ptr),
                false => backend.mem_free(self.ptr),
            }
        };
        if let Err(error) = freed {
            tracing::warn!(%error, "device memory not freed");
        }
    }
}

impl fmt::Debug for DeviceBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceBuffer({} bytes at {:#x})", self.size, self.ptr.0)
    }
}

impl PinnedBuffer {
    /// Allocates `size` bytes, page aligned, zeroed the first time the system hands them out but
    /// not otherwise initialised; pinned for every context of the vendor's.
    ///
    /// # Errors
    /// `size` is 0, or there is no room.
    pub fn new(device: &Device, size: usize) -> Result<PinnedBuffer> {
        check_size(size)?;
        let _bound = device.bind()?;
        let ptr = device
            .0
            .backend
            .host_alloc(size, HostAllocFlags::PORTABLE)?;
        let counters = &device.0.counters;
        add(&counters.pinned_allocations, 1);
        add(&counters.pinned_live, 1);
        add(&counters.pinned_bytes, size as u64);
        Ok(PinnedBuffer {
            device: device.clone(),
            ptr,
            size,
            idle: false,
        })
    }

    /// The device it is pinned for.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Bytes.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.size
    }

    /// The address, valid as long as `self`. What the device does to the memory is not ordered
    /// with the CPU: read it behind an event.
    pub fn as_ptr(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }

    /// The bytes, for one who knows that no device work is in flight on them.
    ///
    /// # Safety
    /// No device work writes the memory, and nothing else on the CPU does, while the slice lives;
    /// the process is the one that allocated it (a driver's memory is not there after a fork).
    /// Every byte has been written once (by the CPU or the device).
    pub unsafe fn as_slice(&self) -> &[u8] {
        // SAFETY: the allocation has `size` bytes; the caller vouches for the rest.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.size) }
    }

    /// Copies bytes in.
    ///
    /// # Errors
    /// They do not fit, or this is the child of the process that allocated the memory.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<()> {
        self.device.check_process("write")?;
        check_range(self.size, offset, bytes.len())?;
        // SAFETY: the range was checked; `&mut self` means that no asynchronous copy of this
        // crate's holds the buffer, since those keep a reference of their own.
        unsafe {
            std::ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                self.ptr.as_ptr().add(offset),
                bytes.len(),
            );
        }
        Ok(())
    }

    /// Frees the memory without waiting for work on the device, where the backend can.
    ///
    /// # Safety
    /// No work that was enqueued uses the memory any more.
    pub unsafe fn free_idle(mut self) {
        self.idle = true;
    }
}

impl Drop for PinnedBuffer {
    fn drop(&mut self) {
        self.free();
        // Last: who sees the counters fall sees the memory given back.
        let counters = &self.device.0.counters;
        sub(&counters.pinned_bytes, self.size as u64);
        sub(&counters.pinned_live, 1);
    }
}

impl PinnedBuffer {
    /// For drop: gives the memory back once.
    fn free(&mut self) {
        let Some(_bound) = self.device.bind_to_release() else {
            return;
        };
        let backend = &self.device.0.backend;
        // SAFETY: allocated by this backend, freed once; where it is idle, `free_idle`'s caller
        // said so.
        let freed = unsafe {
            match self.idle {
                true => backend.host_free_idle(self.ptr),
                false => backend.host_free(self.ptr),
            }
        };
        if let Err(error) = freed {
            tracing::warn!(%error, "pinned memory not freed");
        }
    }
}

impl fmt::Debug for PinnedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedBuffer({} bytes at {:p})", self.size, self.ptr)
    }
}

// SAFETY: the memory is plain; access from several threads at once goes through unsafe calls whose
// callers vouch for it, and freeing binds the context on whatever thread it happens.
unsafe impl Send for PinnedBuffer {}
// SAFETY: as above: `&PinnedBuffer` gives an address, not an access.
unsafe impl Sync for PinnedBuffer {}
