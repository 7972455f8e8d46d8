//! The structures that cross. C layout; a pointer is to what its comment says and never null
//! unless the comment says so.
//!
//! Every structure that may grow starts with its `size` in bytes and the `abi_version` of who
//! filled it in. Within one version fields are only added at the end, so a reader looks at `size`
//! before it looks at a field that the first edition lacked.

use std::ffi::{c_char, c_void};

use gst::ffi::{GstBuffer, GstBufferPool, GstBufferPoolAcquireParams, GstMemory, GstStructure};
use gst::glib::ffi::gboolean;

/// Version of everything here. Another version is another, unknown, layout.
pub const GST_HIP_RS_ABI_VERSION: u32 = 1;

/// What stands behind the `GstMemory` of HIP memory: "GstHipRs" as a big-endian number.
pub const GST_HIP_RS_MAGIC: u64 = 0x4773_7448_6970_5273;

/// Memory is on the device.
pub const GST_HIP_RS_KIND_DEVICE: u32 = 0;
/// Memory is page-locked CPU memory.
pub const GST_HIP_RS_KIND_PINNED: u32 = 1;

/// [`GstHipRsMemory::flags`]: a CPU map shows the bytes that the device works on.
pub const GST_HIP_RS_MEMORY_HOST_ADDRESSABLE: u32 = 1;

/// The work reads the bytes.
pub const GST_HIP_RS_ACCESS_READ: u32 = 0;
/// The work writes some of the bytes; the others are kept.
pub const GST_HIP_RS_ACCESS_WRITE: u32 = 1;
/// The work writes all bytes that matter; what the CPU wrote before is not uploaded first.
pub const GST_HIP_RS_ACCESS_OVERWRITE: u32 = 2;

/// [`GstHipRsAccess::flags`]: the stream means nothing to the memory's owner. The owner has waited
/// for earlier work; whoever ends the access has first waited for its own.
pub const GST_HIP_RS_ACCESS_CPU_ORDERED: u32 = 1;

/// [`GstHipRsDevice::flags`]: `uuid` is set.
pub const GST_HIP_RS_DEVICE_HAS_UUID: u32 = 1;
/// [`GstHipRsDevice::flags`]: the `pci_*` fields are set.
pub const GST_HIP_RS_DEVICE_HAS_PCI: u32 = 2;
/// [`GstHipRsDevice::flags`]: device memory is the CPU's own.
pub const GST_HIP_RS_DEVICE_HOST_ADDRESSABLE: u32 = 4;
/// [`GstHipRsDevice::flags`]: the context is the device's primary one.
pub const GST_HIP_RS_DEVICE_PRIMARY: u32 = 8;

/// Done.
pub const GST_HIP_RS_OK: i32 = 0;
/// Somebody holds the memory in a way that the access would race with.
pub const GST_HIP_RS_BUSY: i32 = 1;
/// The stream is of another device or context than the memory.
pub const GST_HIP_RS_WRONG_DEVICE: i32 = 2;
/// An argument makes no sense.
pub const GST_HIP_RS_INVALID: i32 = 3;
/// There is no room.
pub const GST_HIP_RS_OUT_OF_MEMORY: i32 = 4;
/// The device is gone.
pub const GST_HIP_RS_DEVICE_LOST: i32 = 5;
/// The device or library cannot do this.
pub const GST_HIP_RS_UNSUPPORTED: i32 = 6;
/// There is no such device.
pub const GST_HIP_RS_NO_DEVICE: i32 = 7;
/// Anything else; the text says what.
pub const GST_HIP_RS_FAILED: i32 = 8;

/// Why a call failed; the caller's, filled in by the callee where a call does not give
/// [`GST_HIP_RS_OK`].
#[repr(C)]
#[derive(Clone, Copy)]
pub struct GstHipRsError {
    /// Bytes of the structure, set by the caller.
    pub size: u32,
    /// [`GST_HIP_RS_ABI_VERSION`].
    pub abi_version: u32,
    /// `GST_HIP_RS_BUSY` and so on.
    pub status: i32,
    /// UTF-8, cut off where it is too long, always with a zero byte at its end.
    pub message: [c_char; 244],
}

/// A device and one of its contexts. Counted by its owner through `vtable`; never changes.
#[repr(C)]
pub struct GstHipRsDevice {
    /// Bytes of the structure.
    pub size: u32,
    /// [`GST_HIP_RS_ABI_VERSION`].
    pub abi_version: u32,
    /// The owner's functions.
    pub vtable: *const GstHipRsDeviceVTable,
    /// 1 AMD, 2 NVIDIA, 3 Host.
    pub vendor: u32,
    /// Its number among the vendor's in this process.
    pub ordinal: u32,
    /// Handles of two devices mean the same only where this is equal: it tells the vendor's
    /// library as it is loaded, or, on Host, whose threads do the work.
    pub library: u64,
    /// `CUcontext`; on AMD the ordinal plus one. Null means nothing here.
    pub context: *mut c_void,
    /// `GST_HIP_RS_DEVICE_HAS_UUID` and so on.
    pub flags: u32,
    /// PCI segment.
    pub pci_domain: u32,
    /// PCI bus.
    pub pci_bus: u8,
    /// PCI device.
    pub pci_device: u8,
    /// PCI function.
    pub pci_function: u8,
    /// Zero.
    pub reserved: u8,
    /// The UUID.
    pub uuid: [u8; 16],
    /// What it is called, for people: UTF-8, with a zero byte at its end.
    pub name: [c_char; 128],
}

/// What the owner of a [`GstHipRsDevice`] does for others. All of it from any thread.
#[repr(C)]
pub struct GstHipRsDeviceVTable {
    /// Bytes of the structure.
    pub size: u32,
    /// [`GST_HIP_RS_ABI_VERSION`].
    pub abi_version: u32,
    /// Adds a reference; gives its argument. The context lives as long as there is one.
    pub retain: unsafe extern "C" fn(*const GstHipRsDevice) -> *const GstHipRsDevice,
    /// Gives a reference back.
    pub release: unsafe extern "C" fn(*const GstHipRsDevice),
}

/// A stream, told to another copy for the time of one call or access.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct GstHipRsStreamDesc {
    /// Bytes of the structure.
    pub size: u32,
    /// [`GST_HIP_RS_ABI_VERSION`].
    pub abi_version: u32,
    /// As [`GstHipRsDevice::library`].
    pub library: u64,
    /// As [`GstHipRsDevice::context`].
    pub context: *mut c_void,
    /// `CUstream` or `hipStream_t`; on Host of no use to others.
    pub stream: *mut c_void,
    /// Tells copies of the library apart.
    pub copy: u64,
    /// Tells the copy's streams apart; never used twice, unlike handles.
    pub id: u64,
}

/// Leave to enqueue work on a memory's bytes, on one stream.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct GstHipRsAccess {
    /// Bytes of the structure, set by the caller.
    pub size: u32,
    /// [`GST_HIP_RS_ABI_VERSION`].
    pub abi_version: u32,
    /// The first byte of the memory object on the device; 0 for pinned memory.
    pub device_ptr: u64,
    /// The first byte for copies from and to the CPU; null where the CPU cannot address it.
    pub host_ptr: *mut c_void,
    /// Bytes that may be touched.
    pub len: u64,
    /// [`GST_HIP_RS_ACCESS_CPU_ORDERED`].
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
    /// The owner's. It keeps the bytes alive, not the memory object.
    pub token: *mut c_void,
}

/// A memory object of type `GstHipRsAllocator`. The first four fields stay where they are in
/// every version, so that any copy can tell whether it may look further.
#[repr(C)]
pub struct GstHipRsMemory {
    /// GStreamer's part.
    pub memory: GstMemory,
    /// [`GST_HIP_RS_MAGIC`].
    pub magic: u64,
    /// [`GST_HIP_RS_ABI_VERSION`].
    pub abi_version: u32,
    /// [`GST_HIP_RS_KIND_DEVICE`] or [`GST_HIP_RS_KIND_PINNED`].
    pub kind: u32,
    /// The owner's functions.
    pub vtable: *const GstHipRsMemoryVTable,
    /// The allocation, which is the owner's business. Two objects with equal `vtable` and `data`
    /// show the same one.
    pub data: *mut c_void,
    /// [`GST_HIP_RS_MEMORY_HOST_ADDRESSABLE`].
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
}

/// What the owner of a memory does for others. All of it from any thread. CPU maps, copies and
/// sub-memories go through the functions of the memory's `GstAllocator`, which is the owner's too.
#[repr(C)]
pub struct GstHipRsMemoryVTable {
    /// Bytes of the structure.
    pub size: u32,
    /// [`GST_HIP_RS_ABI_VERSION`].
    pub abi_version: u32,
    /// Ends a memory object that nobody refers to. Here in every version.
    pub free: unsafe extern "C" fn(*mut GstMemory),
    /// The device; the reference is the memory's.
    pub device: unsafe extern "C" fn(*const GstMemory) -> *const GstHipRsDevice,
    /// Orders the stream behind what the access must not overtake and fills in the access; gives a
    /// status. Waits for nothing but as [`GST_HIP_RS_ACCESS_CPU_ORDERED`] says. The stream lives
    /// until the access is ended. The error may be null.
    pub begin_access: unsafe extern "C" fn(
        *const GstMemory,
        u32,
        *const GstHipRsStreamDesc,
        *mut GstHipRsAccess,
        *mut GstHipRsError,
    ) -> i32,
    /// The work is enqueued: the owner records an event of its own behind it. Once for each access
    /// that was begun; the memory object may be gone.
    pub end_access: unsafe extern "C" fn(*mut GstHipRsAccess),
    /// The stream that maps for the device are ordered on, alive as long as the memory.
    pub map_stream:
        unsafe extern "C" fn(*const GstMemory, *mut GstHipRsStreamDesc, *mut GstHipRsError) -> i32,
}

/// A pool of type `GstHipRsBufferPool`. Never grows within a version: the copy that registered the
/// type fixed the size of every pool in the process.
#[repr(C)]
pub struct GstHipRsPool {
    /// GStreamer's part.
    pub pool: GstBufferPool,
    /// The functions of the copy that made it; null until it has filled them in.
    pub vtable: *const GstHipRsPoolVTable,
    /// That copy's.
    pub data: *mut c_void,
    /// [`GST_HIP_RS_KIND_DEVICE`] or [`GST_HIP_RS_KIND_PINNED`].
    pub kind: u32,
    /// Zero.
    pub reserved: u32,
}

/// The class of [`GstHipRsPool`]: its functions go to the pool's own `vtable`.
#[repr(C)]
pub struct GstHipRsPoolClass {
    /// GStreamer's part.
    pub parent_class: gst::ffi::GstBufferPoolClass,
}

/// What the copy that made a pool does when the class is asked.
#[repr(C)]
pub struct GstHipRsPoolVTable {
    /// Bytes of the structure.
    pub size: u32,
    /// [`GST_HIP_RS_ABI_VERSION`].
    pub abi_version: u32,
    /// The device; the reference is the pool's.
    pub device: unsafe extern "C" fn(*const GstBufferPool) -> *const GstHipRsDevice,
    /// Takes note of a configuration and raises its size; the class hands it to GStreamer then.
    pub set_config: unsafe extern "C" fn(*mut GstBufferPool, *mut GstStructure) -> gboolean,
    /// `GstBufferPoolClass::alloc_buffer`.
    pub alloc_buffer: unsafe extern "C" fn(
        *mut GstBufferPool,
        *mut *mut GstBuffer,
        *mut GstBufferPoolAcquireParams,
    ) -> gst::ffi::GstFlowReturn,
    /// Gives back `data`.
    pub finalize: unsafe extern "C" fn(*mut GstBufferPool),
}
