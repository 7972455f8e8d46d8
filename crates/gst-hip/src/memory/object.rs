//! The memory object: a `GstMemory` with an allocation behind it.

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use gst::ffi;
use gst::glib::prelude::*;
use gst::glib::translate::from_glib_full;
use hip_core::{Device, Stream};

use super::allocation::{Allocation, Mode};
use super::{DeviceAccess, HipAllocator, MemoryKind};
use crate::Result;

/// First word of what follows the `GstMemory`.
const MAGIC: u64 = u64::from_be_bytes(*b"GstHipRs");
/// Changes with the layout or the meaning of the fields.
const ABI_VERSION: u32 = 1;

/// Alignment of every allocation's start, as `GstMemory` states it: a mask.
const ALIGN_MASK: usize = 255;

#[repr(C)]
pub(super) struct HipMemory {
    pub(super) memory: ffi::GstMemory,
    magic: u64,
    abi_version: u32,
    /// 0 device, 1 pinned.
    kind: u32,
    /// From `Arc::into_raw`; one reference is this object's.
    allocation: *const Allocation,
}

/// What a new memory object shows of its allocation.
pub(super) struct Window {
    pub(super) flags: ffi::GstMemoryFlags,
    pub(super) parent: *mut ffi::GstMemory,
    pub(super) offset: usize,
    pub(super) size: usize,
}

impl HipMemory {
    /// A memory object of our allocator's, with one reference, which is the caller's.
    ///
    /// # Safety
    /// `window.parent` is null or a live memory of the same allocation without a parent of its
    /// own, and the window lies inside the allocation.
    pub(super) unsafe fn create(
        allocation: Arc<Allocation>,
        window: &Window,
    ) -> *mut ffi::GstMemory {
        let (maxsize, kind) = (allocation.size(), allocation.kind());
        // SAFETY: an all-zero value is valid for every field: integers, pointers, options of
        // function pointers. `gst_memory_init` fills the first.
        let mut memory: Box<HipMemory> = Box::new(unsafe { std::mem::zeroed() });
        memory.magic = MAGIC;
        memory.abi_version = ABI_VERSION;
        memory.kind = u32::from(kind == MemoryKind::Pinned);
        memory.allocation = Arc::into_raw(allocation);
        let raw = Box::into_raw(memory).cast::<ffi::GstMemory>();
        let allocator = HipAllocator::get();
        // SAFETY: `raw` points at a `GstMemory` at the start of the box; the allocator is alive,
        // and GStreamer takes references of its own to it and to the parent.
        unsafe {
            ffi::gst_memory_init(
                raw,
                window.flags,
                allocator.as_ptr(),
                window.parent,
                maxsize,
                ALIGN_MASK,
                window.offset,
                window.size,
            );
        }
        raw
    }

    /// Frees a memory object.
    ///
    /// # Safety
    /// `memory` came from [`HipMemory::create`] and nobody refers to it any more.
    pub(super) unsafe fn destroy(memory: *mut ffi::GstMemory) {
        // SAFETY: `create` made the box; the caller vouches that this is its end.
        let memory = unsafe { Box::from_raw(memory.cast::<HipMemory>()) };
        // SAFETY: `create` leaked this reference; it is given back once, here.
        drop(unsafe { Arc::from_raw(memory.allocation) });
    }

    pub(super) fn allocation(&self) -> Arc<Allocation> {
        // SAFETY: the object owns a reference, so the allocation is alive; that reference is
        // only borrowed here.
        let own = ManuallyDrop::new(unsafe { Arc::from_raw(self.allocation) });
        Arc::clone(&own)
    }

    fn borrowed(&self) -> &Allocation {
        // SAFETY: the object owns a reference to the allocation for as long as it lives.
        unsafe { &*self.allocation }
    }
}

/// A memory object of a whole allocation.
pub(super) fn whole(allocation: Arc<Allocation>) -> gst::Memory {
    let size = allocation.size();
    let window = Window {
        flags: 0,
        parent: std::ptr::null_mut(),
        offset: 0,
        size,
    };
    // SAFETY: there is no parent, and the window is the allocation.
    unsafe { from_glib_full(HipMemory::create(allocation, &window)) }
}

/// A `GstMemory` that is ours.
#[repr(transparent)]
pub struct HipMemoryRef(HipMemory);

// SAFETY: the fields are set once, before anybody else sees the object, except those that
// GStreamer itself guards; the allocation behind the pointer is `Send` and `Sync`.
unsafe impl Send for HipMemoryRef {}
// SAFETY: as above.
unsafe impl Sync for HipMemoryRef {}

/// `Send` and `Sync` of the above rest on this.
const _: fn() = || {
    fn both<T: Send + Sync>() {}
    both::<Allocation>();
};

impl HipMemoryRef {
    /// The memory as ours, if it is: made by this crate's allocator type, with its marks. The
    /// type string is not looked at, since upstream's library may be in the process too.
    pub fn from_memory(memory: &gst::MemoryRef) -> Option<&HipMemoryRef> {
        if !memory.allocator()?.is::<HipAllocator>() {
            return None;
        }
        // SAFETY: only `HipMemory::create` makes memory with our allocator type (its alloc
        // function gives none), so the object is a `HipMemory`, alive as long as the borrow.
        let ours = unsafe { &*std::ptr::from_ref(memory).cast::<HipMemoryRef>() };
        (ours.0.magic == MAGIC && ours.0.abi_version == ABI_VERSION).then_some(ours)
    }

    /// The object at an address that GStreamer handed to one of the allocator's functions.
    ///
    /// # Safety
    /// `memory` is alive for `'a`.
    pub(super) unsafe fn from_raw<'a>(memory: *mut ffi::GstMemory) -> Option<&'a HipMemoryRef> {
        if memory.is_null() {
            return None;
        }
        // SAFETY: not null, and alive by the caller's word.
        HipMemoryRef::from_memory(unsafe { gst::MemoryRef::from_ptr(memory) })
    }

    pub(super) fn inner(&self) -> &HipMemory {
        &self.0
    }

    /// The device it belongs to.
    pub fn device(&self) -> &Device {
        self.0.borrowed().owner()
    }

    /// Where its bytes are.
    pub fn kind(&self) -> MemoryKind {
        self.0.borrowed().kind()
    }

    /// Bytes that the object shows.
    #[allow(clippy::len_without_is_empty)] // never made empty
    pub fn len(&self) -> usize {
        self.0.memory.size
    }

    /// Where in its allocation the object's first byte is.
    pub fn offset(&self) -> usize {
        self.0.memory.offset
    }

    /// Whether both objects show the same allocation.
    pub fn shares_allocation(&self, other: &HipMemoryRef) -> bool {
        std::ptr::eq(self.0.allocation, other.0.allocation)
    }

    /// Whether a CPU map shows the very bytes that the device works on, without a copy.
    pub fn is_host_addressable(&self) -> bool {
        self.0.borrowed().host_ptr().is_some()
    }

    /// The stream that maps with [`crate::MAP_HIP`] are ordered on.
    ///
    /// # Errors
    /// It could not be created.
    pub fn map_stream(&self) -> Result<Stream> {
        Ok(self.0.borrowed().streams().map()?.clone())
    }

    /// Begins work on `stream` that reads the bytes. The stream waits, on the device, for the
    /// last write of another stream; if the CPU wrote last, the upload is enqueued first. The thread
    /// waits for nothing.
    ///
    /// # Errors
    /// [`crate::Error::Busy`] while the CPU holds a write map or another stream's write is being
    /// enqueued; [`crate::Error::WrongDevice`]; or a vendor call fails.
    pub fn begin_read(&self, stream: &Stream) -> Result<DeviceAccess> {
        self.begin(stream, Mode::Read)
    }

    /// Begins work on `stream` that writes some of the bytes, or reads and writes them. The stream
    /// waits, on the device, for the last write and all reads of other streams.
    ///
    /// # Errors
    /// As [`HipMemoryRef::begin_read`], and [`crate::Error::Busy`] too while the CPU holds any
    /// map or another stream's read is being enqueued.
    pub fn begin_write(&self, stream: &Stream) -> Result<DeviceAccess> {
        self.begin(stream, Mode::Write)
    }

    /// As [`HipMemoryRef::begin_write`] for work that keeps nothing of what was there, so that what
    /// the CPU wrote last need not be uploaded first.
    ///
    /// # Errors
    /// As [`HipMemoryRef::begin_write`].
    pub fn begin_overwrite(&self, stream: &Stream) -> Result<DeviceAccess> {
        self.begin(stream, Mode::Overwrite)
    }

    pub(crate) fn begin(&self, stream: &Stream, mode: Mode) -> Result<DeviceAccess> {
        self.0
            .allocation()
            .begin(stream, mode, self.offset(), self.len())
    }
}

impl fmt::Debug for HipMemoryRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, device) = (self.kind(), self.device().info());
        write!(
            f,
            "HipMemory({kind:?}, {} bytes at {}, {device})",
            self.len(),
            self.offset()
        )
    }
}
