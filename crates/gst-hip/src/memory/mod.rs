//! `GstMemory` of devices.
//!
//! A memory object is a window (offset and size) on an allocation, which it may share with others:
//! sub-memories, copies of a buffer. The order of accesses is the allocation's, so it is right whichever
//! object, buffer or pool an access comes through. Memory that another copy of this crate made is used
//! through that copy's functions (see [`crate::abi`]).

mod access;
mod allocation;
mod allocator;
mod object;
mod order;
mod remote;
mod streams;

pub use access::DeviceAccess;
pub(crate) use allocation::Mode;
pub use allocator::HipAllocator;
pub use object::HipMemoryRef;
pub(crate) use streams::DeviceStreams;

/// Map flag for the device's address in place of the CPU's, for code that knows `GstMemory` only;
/// elements use [`HipMemoryRef::begin_read`] and [`HipMemoryRef::begin_write`].
///
/// Such a map waits for nothing. It is ordered on [`HipMemoryRef::map_stream`]: the work belongs on that
/// stream, or behind it and done before the unmap; the unmap records the event that later
/// accesses wait for. Pinned memory refuses it. Map the memory, not a buffer of several memories, which
/// GStreamer would merge in system memory.
pub const MAP_HIP: gst::ffi::GstMapFlags = gst::ffi::GST_MAP_FLAG_LAST << 1;

/// Where an allocation's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryKind {
    /// On the device; goes under caps with [`crate::CAPS_FEATURE_MEMORY_HIP`].
    Device,
    /// In page-locked CPU memory, from and to which the device copies; goes under plain caps.
    Pinned,
}
