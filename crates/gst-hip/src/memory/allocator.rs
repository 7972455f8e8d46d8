use std::ffi::c_char;
use std::ptr::null_mut;
use std::sync::OnceLock;

use gst::glib::ffi::{GFALSE, GTRUE, gboolean, gpointer};
use gst::glib::translate::IntoGlib;
use gst::prelude::*;
use gst::{ffi, glib};
use hip_core::Device;

use super::allocation::{Allocation, Mode};
use super::object::{self, Own, Window};
use super::order::MapMode;
use super::{DeviceAccess, MAP_HIP, MemoryKind};
use crate::abi::{allocator_type, guard};
use crate::{Error, FrameLayout, Result};

/// Our memory's type string; what is ours is told by the allocator's GType.
const MEMORY_TYPE: &std::ffi::CStr = c"GstHipRsMemory";

glib::wrapper! {
    /// Makes HIP memory. There is one; it holds no device.
    ///
    /// The type is the process's, registered by the first copy of this crate that needs it; each
    /// copy has an allocator of its own, with its own functions.
    pub struct HipAllocator(Object<ffi::GstAllocator, ffi::GstAllocatorClass>)
        @extends gst::Allocator, gst::Object;

    match fn {
        type_ => || allocator_type().into_glib(),
    }
}

// SAFETY: `GstAllocator` may be used from any thread; its functions are set before anybody has it.
unsafe impl Send for HipAllocator {}
// SAFETY: as above.
unsafe impl Sync for HipAllocator {}

impl HipAllocator {
    /// The allocator.
    pub fn get() -> gst::Allocator {
        static ALLOCATOR: OnceLock<gst::Allocator> = OnceLock::new();
        let allocator = ALLOCATOR.get_or_init(|| {
            let allocator: HipAllocator = glib::Object::new();
            fill_in(&allocator);
            allocator.set_object_flags(gst::ObjectFlags::MAY_BE_LEAKED);
            allocator.upcast()
        });
        allocator.clone()
    }

    /// `size` bytes on the device, not initialised.
    ///
    /// # Errors
    /// `size` is 0, or there is no room.
    pub fn alloc_device(device: &Device, size: usize) -> Result<gst::Memory> {
        Ok(object::whole(Allocation::device(device, size, false)?))
    }

    /// As [`HipAllocator::alloc_device`], mapped by the CPU through a pinned copy even where the CPU
    /// addresses the device's memory. For tests of that path on a machine without a GPU.
    ///
    /// # Errors
    /// As [`HipAllocator::alloc_device`].
    #[doc(hidden)]
    pub fn alloc_device_staged(device: &Device, size: usize) -> Result<gst::Memory> {
        Ok(object::whole(Allocation::device(device, size, true)?))
    }

    /// `size` bytes of pinned memory.
    ///
    /// # Errors
    /// As [`HipAllocator::alloc_device`].
    pub fn alloc_pinned(device: &Device, size: usize) -> Result<gst::Memory> {
        Ok(object::whole(Allocation::pinned(device, size)?))
    }

    /// One memory for a video frame.
    ///
    /// # Errors
    /// There is no room.
    pub fn alloc_video(
        device: &Device,
        kind: MemoryKind,
        layout: &FrameLayout,
    ) -> Result<gst::Memory> {
        HipAllocator::alloc(device, kind, layout.size())
    }

    pub(crate) fn alloc(device: &Device, kind: MemoryKind, size: usize) -> Result<gst::Memory> {
        match kind {
            MemoryKind::Device => HipAllocator::alloc_device(device, size),
            MemoryKind::Pinned => HipAllocator::alloc_pinned(device, size),
        }
    }
}

/// Makes an allocator's functions this copy's.
fn fill_in(allocator: &HipAllocator) {
    let allocator: *mut ffi::GstAllocator = allocator.upcast_ref::<gst::Allocator>().as_ptr();
    // SAFETY: a new allocator that nobody else has; the string is static.
    unsafe {
        (*allocator).mem_type = MEMORY_TYPE.as_ptr().cast::<c_char>();
        (*allocator).mem_map_full = Some(map);
        (*allocator).mem_unmap_full = Some(unmap);
        (*allocator).mem_copy = Some(copy);
        (*allocator).mem_share = Some(share);
        (*allocator).mem_is_span = Some(is_span);
        (*allocator).object.flags |= ffi::GST_ALLOCATOR_FLAG_CUSTOM_ALLOC;
    }
}

/// Gives the pointer, or null with the reason logged.
fn or_null<T>(what: &'static str, result: Result<*mut T>) -> *mut T {
    result.unwrap_or_else(|error| {
        tracing::warn!(what, %error, "refused");
        null_mut()
    })
}

fn not_ours() -> Error {
    Error::InvalidValue("the memory is not ours".into())
}

fn wants_write(flags: ffi::GstMapFlags) -> bool {
    flags & ffi::GST_MAP_WRITE != 0
}

fn map_mode(flags: ffi::GstMapFlags) -> MapMode {
    match (wants_write(flags), flags & ffi::GST_MAP_READ != 0) {
        (false, _) => MapMode::Read,
        (true, false) => MapMode::Write,
        (true, true) => MapMode::ReadWrite,
    }
}

/// `GstMemoryMapFullFunction`: the address of the allocation's first byte; GStreamer adds the offset.
unsafe extern "C" fn map(
    memory: *mut ffi::GstMemory,
    info: *mut ffi::GstMapInfo,
    _maxsize: usize,
) -> gpointer {
    let map = || {
        // SAFETY: GStreamer maps live memory, and `info` is the caller's, to be filled in.
        let (ours, info) = unsafe { (Own::from_raw(memory), &mut *info) };
        let (ours, write) = (ours.ok_or_else(not_ours)?, wants_write(info.flags));
        let allocation = ours.allocation();
        if info.flags & MAP_HIP == 0 {
            return Ok(allocation
                .map_cpu(memory as usize, map_mode(info.flags))?
                .cast());
        }
        if allocation.kind() != MemoryKind::Device {
            return Err(Error::InvalidValue(
                "pinned memory has no address on the device".into(),
            ));
        }
        let mode = if write { Mode::Write } else { Mode::Read };
        let access = allocation.begin(allocation.streams().map()?, mode, 0, allocation.size())?;
        let ptr = access.device_ptr().as_ptr();
        info.user_data[0] = Box::into_raw(Box::new(access)).cast();
        Ok(ptr.cast())
    };
    guard("map", null_mut(), || or_null("map", map()))
}

/// `GstMemoryUnmapFullFunction`.
unsafe extern "C" fn unmap(memory: *mut ffi::GstMemory, info: *mut ffi::GstMapInfo) {
    guard("unmap", (), || {
        // SAFETY: GStreamer unmaps live memory with what `map` filled in.
        let (ours, info) = unsafe { (Own::from_raw(memory), &mut *info) };
        let Some(ours) = ours else { return };
        if info.flags & MAP_HIP == 0 {
            let allocation = ours.allocation();
            allocation.unmap_cpu(memory as usize, map_mode(info.flags));
            return;
        }
        let access = std::mem::replace(&mut info.user_data[0], null_mut()).cast::<DeviceAccess>();
        if !access.is_null() {
            // SAFETY: `map` leaked this box; it is taken back once. Dropping the access records
            // the event after the work.
            drop(unsafe { Box::from_raw(access) });
        }
    });
}

/// `GstMemoryCopyFunction`: a deep copy, on the device, not waited for. A size of -1 is the rest.
unsafe extern "C" fn copy(
    memory: *mut ffi::GstMemory,
    offset: isize,
    size: isize,
) -> *mut ffi::GstMemory {
    let copy = || {
        // SAFETY: GStreamer copies live memory.
        let ours = unsafe { Own::from_raw(memory) }.ok_or_else(not_ours)?;
        let (start, size) = sub_range(ours, offset, size)?;
        let copied = ours.allocation().copy(start, size)?;
        Ok(gst::glib::translate::IntoGlibPtr::into_glib_ptr(
            object::whole(copied),
        ))
    };
    guard("copy", null_mut(), || or_null("copy", copy()))
}

/// `GstMemoryShareFunction`: a read-only window on the same allocation.
unsafe extern "C" fn share(
    memory: *mut ffi::GstMemory,
    offset: isize,
    size: isize,
) -> *mut ffi::GstMemory {
    let share = || {
        // SAFETY: GStreamer shares live memory.
        let ours = unsafe { Own::from_raw(memory) }.ok_or_else(not_ours)?;
        let (offset, size) = sub_range(ours, offset, size)?;
        let whole = ours.memory();
        let parent = if whole.parent.is_null() {
            memory
        } else {
            whole.parent
        };
        let flags = whole.mini_object.flags | ffi::GST_MINI_OBJECT_FLAG_LOCK_READONLY;
        let window = Window {
            flags,
            parent,
            offset,
            size,
        };
        // SAFETY: the parent is alive (this memory, or what it keeps alive) and has no parent
        // itself, since sub-memories are given their parent's; the range was checked.
        Ok(unsafe { object::create(ours.allocation(), &window) })
    };
    guard("share", null_mut(), || or_null("share", share()))
}

/// The range of the allocation that is `size` bytes from `offset` of the memory on; a size of -1
/// is the rest.
fn sub_range(memory: Own<'_>, offset: isize, size: isize) -> Result<(usize, usize)> {
    let (base, have) = (memory.memory().offset, memory.memory().size);
    // Negative offsets are allowed: they reach back to what a resize cut off.
    let start = base.checked_add_signed(offset);
    let len = match size {
        -1 => have.checked_add_signed(offset.saturating_neg()),
        size => usize::try_from(size).ok(),
    };
    let max = memory.memory().maxsize;
    match (start, len) {
        (Some(start), Some(len)) if len > 0 && start.checked_add(len).is_some_and(|e| e <= max) => {
            Ok((start, len))
        }
        _ => Err(Error::InvalidValue(format!(
            "{size} bytes from {offset} are no part of a memory of {have} bytes"
        ))),
    }
}

/// `GstMemoryIsSpanFunction`: whether the second follows the first in their parent, and where in
/// the parent the first begins.
unsafe extern "C" fn is_span(
    first: *mut ffi::GstMemory,
    second: *mut ffi::GstMemory,
    offset: *mut usize,
) -> gboolean {
    guard("is_span", GFALSE, || {
        // SAFETY: GStreamer asks about live memory.
        let (a, b) = unsafe { (Own::from_raw(first), Own::from_raw(second)) };
        let (Some(a), Some(b)) = (a, b) else {
            return GFALSE;
        };
        // SAFETY: a memory keeps its parent alive.
        let parent = unsafe { Own::from_raw(a.memory().parent) };
        let base = parent.map_or(0, |parent| parent.memory().offset);
        let (one, other) = (a.memory(), b.memory());
        if !offset.is_null() {
            // SAFETY: not null, and the caller's to be filled in.
            unsafe { *offset = one.offset.wrapping_sub(base) };
        }
        let together = std::ptr::eq(a.borrowed(), b.borrowed());
        match together && one.offset + one.size == other.offset {
            true => GTRUE,
            false => GFALSE,
        }
    })
}
