//! GStreamer's memory as a kernel's argument.
//!
//! An argument must not hold a reference to its memory: a pool throws a buffer away whose memory
//! somebody else refers to, and nobody else could write it. So it holds a [`Place`], which tells
//! where the memory is for as long as it is there. The memory carries its place as data of its
//! own, which GStreamer clears before it frees the memory. This serves memory that another copy
//! of the crate made, too: only its owner has the allocation behind it.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use gst::glib::translate::IntoGlib;
use gst::{ffi, glib};
use hip_core::{Device, DevicePtr, Event, Stream};
use hip_rtc::KernelMemory;

use crate::abi::{copy_id, guard};
use crate::memory::Mode;
use crate::{HipMemoryRef, MemoryKind};

/// Arguments kept with a memory for the next who wants the same, so that a steady state makes none.
const MAX_KEPT: usize = 8;

/// Why memory cannot be a kernel's argument.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum KernelMemoryError {
    /// The memory is foreign: it has to be copied to the device first.
    #[error("the memory is not HIP memory; copy it to the device first (hipupload)")]
    NotHipMemory,
    /// The memory is pinned CPU memory: it has to be uploaded first.
    #[error("the memory is pinned CPU memory, not device memory; upload it first")]
    NotOnDevice,
    /// The kernel would be given an address behind the memory's end.
    #[error("offset {offset} lies outside the memory of {size} bytes")]
    OutOfRange {
        /// Bytes from the memory's start.
        offset: usize,
        /// Bytes that the memory has.
        size: usize,
    },
    /// Rows of 4 GiB are no picture.
    #[error("a stride of {0} bytes does not fit 32 bits")]
    Stride(usize),
    /// The memory was freed after it was made an argument.
    #[error("the memory was freed before the launch")]
    Freed,
    /// It is in use in a way that the launch would race with, or the device failed.
    #[error(transparent)]
    Access(#[from] crate::Error),
}

/// Where a memory is, as long as it is there.
struct Place {
    device: Device,
    memory: Mutex<Option<MemoryAddress>>,
}

#[derive(Clone, Copy)]
struct MemoryAddress(NonNull<ffi::GstMemory>);

// SAFETY: an address; `GstMemory` may be used from any thread.
unsafe impl Send for MemoryAddress {}

impl Place {
    fn lock(&self) -> MutexGuard<'_, Option<MemoryAddress>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is attached to a memory.
struct Attached {
    place: Arc<Place>,
    made: Mutex<Vec<Arc<MemoryArgument>>>,
}

impl Drop for Attached {
    /// The memory is about to be freed: whoever opens an access has the lock, and is waited for.
    fn drop(&mut self) {
        if self.place.device.check_process("free").is_err() {
            // In the child of a fork nobody launches, and a thread that is gone may have the lock.
            return;
        }
        *self.place.lock() = None;
    }
}

/// A memory, from some byte on, as a kernel uses it.
struct MemoryArgument {
    place: Arc<Place>,
    offset: usize,
    mode: Mode,
}

/// The argument for `memory`, checked.
pub(super) fn argument(
    memory: &gst::MemoryRef,
    offset: usize,
    mode: Mode,
) -> Result<Arc<dyn KernelMemory>, KernelMemoryError> {
    let ours = HipMemoryRef::from_memory(memory).ok_or(KernelMemoryError::NotHipMemory)?;
    if ours.kind() != MemoryKind::Device {
        return Err(KernelMemoryError::NotOnDevice);
    }
    within(offset, ours.len())?;
    // A thread that is gone may hold the locks in the child of a fork.
    let process = ours.device().check_process("add_memory");
    process.map_err(crate::Error::from)?;
    let attached = attached(memory, ours.device());
    let mut made = attached.made.lock().unwrap_or_else(PoisonError::into_inner);
    let same = |known: &&Arc<MemoryArgument>| known.offset == offset && known.mode == mode;
    if let Some(known) = made.iter().find(same) {
        return Ok(known.clone());
    }
    let argument = Arc::new(MemoryArgument {
        place: attached.place.clone(),
        offset,
        mode,
    });
    if made.len() < MAX_KEPT {
        made.push(argument.clone());
    }
    Ok(argument)
}

fn within(offset: usize, size: usize) -> Result<(), KernelMemoryError> {
    match offset < size {
        true => Ok(()),
        false => Err(KernelMemoryError::OutOfRange { offset, size }),
    }
}

/// What this copy of the crate attached to a memory; attached now if it was not.
fn attached<'a>(memory: &'a gst::MemoryRef, device: &Device) -> &'a Attached {
    /// Held while one is attached: what is replaced would be dropped, and its place cleared.
    static ATTACHING: Mutex<()> = Mutex::new(());
    static QUARK: OnceLock<glib::Quark> = OnceLock::new();
    // Another copy of the crate attaches another type, under a name of its own.
    let name = || glib::Quark::from_str(format!("gst-hip-kernel-memory-{:x}", copy_id()));
    let quark = QUARK.get_or_init(name).into_glib();
    let object: *mut ffi::GstMiniObject = memory.as_ptr().cast_mut().cast();
    // SAFETY: a live mini object; only this function sets data of this name.
    let find = || unsafe { ffi::gst_mini_object_get_qdata(object, quark).cast::<Attached>() };
    let _attaching = ATTACHING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut found = find();
    if found.is_null() {
        let place = Place {
            device: device.clone(),
            memory: Mutex::new(NonNull::new(memory.as_ptr().cast_mut()).map(MemoryAddress)),
        };
        found = Box::into_raw(Box::new(Attached {
            place: Arc::new(place),
            made: Mutex::default(),
        }));
        // SAFETY: as above; `detach` takes the box back, once, before the memory is freed.
        unsafe { ffi::gst_mini_object_set_qdata(object, quark, found.cast(), Some(detach)) };
    }
    // SAFETY: set by this function, never replaced, and dropped only with the memory, which the
    // caller's borrow keeps.
    unsafe { &*found }
}

unsafe extern "C" fn detach(data: *mut c_void) {
    guard("detach", (), || {
        // SAFETY: `attached` leaked this box, and GStreamer hands it over once.
        drop(unsafe { Box::from_raw(data.cast::<Attached>()) });
    });
}

impl MemoryArgument {
    /// Opens an access; what it gives keeps the bytes, so that the memory may go.
    fn begin(&self, stream: &Stream) -> Result<crate::DeviceAccess, KernelMemoryError> {
        let place = self.place.lock();
        let address = place.ok_or(KernelMemoryError::Freed)?;
        // SAFETY: the memory is not freed before its place is cleared, which takes the lock.
        let memory = unsafe { gst::MemoryRef::from_ptr(address.0.as_ptr()) };
        let ours = HipMemoryRef::from_memory(memory).ok_or(KernelMemoryError::NotHipMemory)?;
        // It may have been resized since.
        within(self.offset, ours.len())?;
        Ok(ours.begin(stream, self.mode)?)
    }
}

impl KernelMemory for MemoryArgument {
    fn device(&self) -> &Device {
        &self.place.device
    }

    fn access(
        &self,
        stream: &Stream,
        enqueue: &mut dyn FnMut(DevicePtr) -> hip_rtc::Result<Event>,
    ) -> hip_rtc::Result<Event> {
        let access = self.begin(stream).map_err(hip_rtc::Error::memory)?;
        let event = enqueue(access.device_ptr().offset(self.offset))?;
        let finished = access.finish(&event).map_err(KernelMemoryError::from);
        finished.map_err(hip_rtc::Error::memory)?;
        Ok(event)
    }
}
