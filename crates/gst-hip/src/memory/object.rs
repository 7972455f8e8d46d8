//! The memory object: a `GstMemory` with an allocation behind it, this copy's or another's.

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use gst::ffi;
use gst::glib::prelude::*;
use gst::glib::translate::from_glib_full;
use hip_core::{Device, Stream};

use super::allocation::{Allocation, Mode};
use super::remote;
use super::{DeviceAccess, HipAllocator, MemoryKind};
use crate::Result;
use crate::abi::{
    GST_HIP_RS_ABI_VERSION, GST_HIP_RS_KIND_DEVICE, GST_HIP_RS_KIND_PINNED, GST_HIP_RS_MAGIC,
    GST_HIP_RS_MEMORY_HOST_ADDRESSABLE, GstHipRsMemory, GstHipRsMemoryVTable, adopt,
    allocator_type, kind_number, size_of,
};

/// Alignment of every allocation's start, as `GstMemory` states it: a mask.
const ALIGN_MASK: usize = 255;

/// What a new memory object shows of its allocation.
pub(super) struct Window {
    pub(super) flags: ffi::GstMemoryFlags,
    pub(super) parent: *mut ffi::GstMemory,
    pub(super) offset: usize,
    pub(super) size: usize,
}

/// A memory object of our allocator's, with one reference, which is the caller's.
///
/// # Safety
/// `window.parent` is null or a live memory of the same allocation without a parent of its
/// own, and the window lies inside the allocation.
pub(super) unsafe fn create(allocation: Arc<Allocation>, window: &Window) -> *mut ffi::GstMemory {
    let (maxsize, kind) = (allocation.size(), allocation.kind());
    // SAFETY: an all-zero value is valid for every field: integers, pointers, options of
    // function pointers. `gst_memory_init` fills the first.
    let mut memory: Box<GstHipRsMemory> = Box::new(unsafe { std::mem::zeroed() });
    memory.magic = GST_HIP_RS_MAGIC;
    memory.abi_version = GST_HIP_RS_ABI_VERSION;
    memory.kind = kind_number(kind);
    memory.vtable = &remote::OWN;
    if allocation.host_ptr().is_some() {
        memory.flags = GST_HIP_RS_MEMORY_HOST_ADDRESSABLE;
    }
    memory.data = Arc::into_raw(allocation).cast_mut().cast();
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
/// `memory` came from [`create`] and nobody refers to it any more.
pub(super) unsafe fn destroy(memory: *mut ffi::GstMemory) {
    // SAFETY: `create` made the box; the caller vouches that this is its end.
    let memory = unsafe { Box::from_raw(memory.cast::<GstHipRsMemory>()) };
    // SAFETY: `create` leaked this reference; it is given back once, here.
    drop(unsafe { Arc::from_raw(memory.data.cast_const().cast::<Allocation>()) });
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
    unsafe { from_glib_full(create(allocation, &window)) }
}

/// A memory object that this copy of the crate made.
#[derive(Clone, Copy)]
pub(super) struct Own<'a>(&'a GstHipRsMemory);

impl<'a> Own<'a> {
    /// The object at an address that somebody handed to one of our functions, if it is ours.
    ///
    /// # Safety
    /// `memory` is null or alive for `'a`.
    pub(super) unsafe fn from_raw(memory: *const ffi::GstMemory) -> Option<Own<'a>> {
        if memory.is_null() {
            return None;
        }
        // SAFETY: not null, and alive by the caller's word.
        let header = header(unsafe { gst::MemoryRef::from_ptr(memory) })?;
        Own::of(header)
    }

    fn of(header: &'a GstHipRsMemory) -> Option<Own<'a>> {
        std::ptr::eq(header.vtable, &remote::OWN).then_some(Own(header))
    }

    pub(super) fn memory(self) -> &'a ffi::GstMemory {
        &self.0.memory
    }

    pub(super) fn borrowed(self) -> &'a Allocation {
        // SAFETY: only `create` makes objects with our table; they own a reference to the
        // allocation for as long as they live.
        unsafe { &*self.0.data.cast_const().cast::<Allocation>() }
    }

    pub(super) fn allocation(self) -> Arc<Allocation> {
        // SAFETY: as above; the object's reference is only borrowed here.
        let own = ManuallyDrop::new(unsafe {
            Arc::from_raw(self.0.data.cast_const().cast::<Allocation>())
        });
        Arc::clone(&own)
    }
}

/// A memory's own part if it is HIP memory of this version, whoever made it: told by the
/// allocator's type and by its marks. The type string is not looked at, since upstream's library
/// may be in the process too.
fn header(memory: &gst::MemoryRef) -> Option<&GstHipRsMemory> {
    if !memory.allocator()?.type_().is_a(allocator_type()) {
        return None;
    }
    // SAFETY: memory of an allocator of this type starts as `GstHipRsMemory` does, in every
    // version up to and including the table's address; it is alive as long as the borrow.
    let header = unsafe { &*std::ptr::from_ref(memory).cast::<GstHipRsMemory>() };
    let ours = header.magic == GST_HIP_RS_MAGIC && header.abi_version == GST_HIP_RS_ABI_VERSION;
    (ours && !header.vtable.is_null()).then_some(header)
}

/// Whose the allocation is.
#[derive(Clone)]
enum Owner<'a> {
    Own(Own<'a>),
    /// Another copy's; the device is this copy's for the same context.
    Other(Device),
}

/// A `GstMemory` that is HIP memory, made by this copy of the crate or by another.
#[derive(Clone)]
pub struct HipMemoryRef<'a> {
    header: &'a GstHipRsMemory,
    owner: Owner<'a>,
}

// SAFETY: the fields are set once, before anybody else sees the object, except those that
// GStreamer itself guards; the allocation behind the pointer is `Send` and `Sync`, and another
// copy's functions may be called from any thread.
unsafe impl Send for HipMemoryRef<'_> {}
// SAFETY: as above.
unsafe impl Sync for HipMemoryRef<'_> {}

/// `Send` and `Sync` of the above rest on this.
const _: fn() = || {
    fn both<T: Send + Sync>() {}
    both::<Allocation>();
    both::<Device>();
};

impl<'a> HipMemoryRef<'a> {
    /// The memory as HIP memory, if it is, and its device can be used here. Memory of another
    /// version, or of a device that this copy cannot use, is foreign: it is to be copied.
    pub fn from_memory(memory: &'a gst::MemoryRef) -> Option<HipMemoryRef<'a>> {
        let header = header(memory)?;
        if let Some(own) = Own::of(header) {
            let owner = Owner::Own(own);
            return Some(HipMemoryRef { header, owner });
        }
        // SAFETY: the table is static in the copy that made the memory.
        let vtable = unsafe { &*header.vtable };
        if vtable.abi_version != GST_HIP_RS_ABI_VERSION
            || vtable.size < size_of::<GstHipRsMemoryVTable>()
            || !matches!(header.kind, GST_HIP_RS_KIND_DEVICE | GST_HIP_RS_KIND_PINNED)
        {
            return None;
        }
        // SAFETY: the memory is alive, and so is the device that it holds.
        match unsafe { adopt((vtable.device)(memory.as_ptr())) } {
            Ok(device) => {
                let owner = Owner::Other(device);
                Some(HipMemoryRef { header, owner })
            }
            Err(error) => {
                tracing::debug!(%error, "another copy's memory cannot be used");
                None
            }
        }
    }

    /// The device it belongs to; for another copy's memory this copy's device for the context.
    pub fn device(&self) -> &Device {
        match &self.owner {
            Owner::Own(own) => own.borrowed().owner(),
            Owner::Other(device) => device,
        }
    }

    /// Where its bytes are.
    pub fn kind(&self) -> MemoryKind {
        match self.header.kind {
            GST_HIP_RS_KIND_PINNED => MemoryKind::Pinned,
            _ => MemoryKind::Device,
        }
    }

    /// Bytes that the object shows.
    #[allow(clippy::len_without_is_empty)] // never made empty
    pub fn len(&self) -> usize {
        self.header.memory.size
    }

    /// Where in its allocation the object's first byte is.
    pub fn offset(&self) -> usize {
        self.header.memory.offset
    }

    /// Whether this copy of the crate made it. Another's is used through its owner.
    pub fn is_own(&self) -> bool {
        matches!(self.owner, Owner::Own(_))
    }

    /// Whether both objects show the same allocation.
    pub fn shares_allocation(&self, other: &HipMemoryRef<'_>) -> bool {
        std::ptr::eq(self.header.vtable, other.header.vtable)
            && std::ptr::eq(self.header.data, other.header.data)
    }

    /// Whether a CPU map shows the very bytes that the device works on, without a copy.
    pub fn is_host_addressable(&self) -> bool {
        self.header.flags & GST_HIP_RS_MEMORY_HOST_ADDRESSABLE != 0
    }

    /// The stream that maps with [`crate::MAP_HIP`] are ordered on.
    ///
    /// # Errors
    /// It could not be created, or it is another copy's and means nothing here (Host).
    pub fn map_stream(&self) -> Result<Stream> {
        match &self.owner {
            Owner::Own(own) => Ok(own.borrowed().streams().map()?.clone()),
            // SAFETY: `from_memory` checked the memory.
            Owner::Other(device) => unsafe { remote::map_stream(self.header, device) },
        }
    }

    /// Begins work on `stream` that reads the bytes. The stream waits, on the device, for the
    /// last write of another stream; if the CPU wrote last, the upload is enqueued first. The thread
    /// waits for nothing, except for another copy's Host memory: there it waits for the last write.
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
        match &self.owner {
            Owner::Own(own) => own
                .allocation()
                .begin(stream, mode, self.offset(), self.len()),
            // SAFETY: `from_memory` checked the memory.
            Owner::Other(device) => unsafe { remote::begin(self.header, device, stream, mode) },
        }
    }
}

impl fmt::Debug for HipMemoryRef<'_> {
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
