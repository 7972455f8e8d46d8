//! The GTypes of the process: registered once, by the first copy that needs them, and found again.

use std::ffi::{CStr, CString, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use gst::glib::ffi::{GFALSE, GTRUE, gboolean, gpointer};
use gst::glib::translate::{FromGlib, IntoGlib};
use gst::glib::{self, gobject_ffi};
use gst::{ffi, prelude::*};

use super::layout::*;
use super::{guard, size_of};

/// What a type carries so that a copy that finds it knows what its objects look like.
#[repr(C)]
struct TypeMark {
    magic: u64,
    size: u32,
    abi_version: u32,
}

static MARK: TypeMark = TypeMark {
    magic: GST_HIP_RS_MAGIC,
    size: size_of::<TypeMark>(),
    abi_version: GST_HIP_RS_ABI_VERSION,
};

/// The type of a name with our mark on it, or one that `register` makes. A name that somebody else
/// took, or a copy of another version, is left alone: `NAME-abi1` is the next choice, then
/// `NAME-abi1-2` and so on.
fn find_or_register(name: &str, register: impl Fn(&CStr) -> usize) -> usize {
    let registry = gst::Registry::get();
    // A lock that every copy sees: between looking and registering nobody else registers.
    let _lock = registry.object_lock();
    let mark = glib::Quark::from_str("gst-hip-rs-type-mark").into_glib();
    let version = GST_HIP_RS_ABI_VERSION;
    let names = std::iter::once(name.to_owned())
        .chain(std::iter::once(format!("{name}-abi{version}")))
        .chain((2..).map(|n| format!("{name}-abi{version}-{n}")));
    for name in names {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: the string has a zero byte at its end; GObject takes copies.
        let found = unsafe { gobject_ffi::g_type_from_name(name.as_ptr()) };
        if found == gobject_ffi::G_TYPE_INVALID {
            let registered = register(&name);
            let data = std::ptr::from_ref(&MARK).cast_mut().cast::<c_void>();
            // SAFETY: the type was just registered; the mark is static and never written.
            unsafe { gobject_ffi::g_type_set_qdata(registered, mark, data) };
            return registered;
        }
        // SAFETY: a type of the process; whoever set this quark set it to a `TypeMark`.
        let found_mark = unsafe {
            gobject_ffi::g_type_get_qdata(found, mark)
                .cast::<TypeMark>()
                .as_ref()
        };
        let fits = |m: &TypeMark| (m.magic, m.abi_version) == (GST_HIP_RS_MAGIC, version);
        if found_mark.is_some_and(fits) {
            return found;
        }
    }
    gobject_ffi::G_TYPE_INVALID
}

fn register_class(
    parent: glib::Type,
    name: &CStr,
    class_size: usize,
    class_init: unsafe extern "C" fn(gpointer, gpointer),
    instance_size: usize,
) -> usize {
    let info = gobject_ffi::GTypeInfo {
        class_size: class_size as u16,
        base_init: None,
        base_finalize: None,
        class_init: Some(class_init),
        class_finalize: None,
        class_data: std::ptr::null(),
        instance_size: instance_size as u16,
        n_preallocs: 0,
        instance_init: None,
        value_table: std::ptr::null(),
    };
    // SAFETY: the sizes are those of structures that start with the parent's, and `class_init`
    // fills in such a class.
    unsafe { gobject_ffi::g_type_register_static(parent.into_glib(), name.as_ptr(), &info, 0) }
}

/// `GstHipRsAllocator`. Its instances carry the functions of the copy that made them.
pub(crate) fn allocator_type() -> glib::Type {
    static TYPE: OnceLock<usize> = OnceLock::new();
    let found = *TYPE.get_or_init(|| {
        find_or_register("GstHipRsAllocator", |name| {
            register_class(
                gst::Allocator::static_type(),
                name,
                size_of::<ffi::GstAllocatorClass>() as usize,
                allocator_class_init,
                size_of::<ffi::GstAllocator>() as usize,
            )
        })
    });
    // SAFETY: a registered type.
    unsafe { glib::Type::from_glib(found) }
}

unsafe extern "C" fn allocator_class_init(class: gpointer, _: gpointer) {
    // SAFETY: GObject hands over the class that was registered with this function.
    let class = unsafe { &mut *class.cast::<ffi::GstAllocatorClass>() };
    class.alloc = Some(allocator_alloc);
    class.free = Some(allocator_free);
}

unsafe extern "C" fn allocator_alloc(
    _: *mut ffi::GstAllocator,
    size: usize,
    _: *mut ffi::GstAllocationParams,
) -> *mut ffi::GstMemory {
    guard("alloc", (), || {
        tracing::warn!(size, "memory was asked for without saying on which device");
    });
    std::ptr::null_mut()
}

unsafe extern "C" fn allocator_free(_: *mut ffi::GstAllocator, memory: *mut ffi::GstMemory) {
    // SAFETY: GStreamer frees memory of an allocator of this type once. All such memory, of any
    // version, starts as `GstHipRsMemory` does, and its table as `GstHipRsMemoryVTable`.
    unsafe {
        let ours = &*memory.cast::<GstHipRsMemory>();
        if ours.magic == GST_HIP_RS_MAGIC && !ours.vtable.is_null() {
            ((*ours.vtable).free)(memory);
        }
    }
}

/// `GstHipRsDevice`: a boxed [`GstHipRsDevice`], counted by its owner.
pub fn device_type() -> glib::Type {
    static TYPE: OnceLock<usize> = OnceLock::new();
    let found = *TYPE.get_or_init(|| {
        find_or_register("GstHipRsDevice", |name| {
            // SAFETY: the functions take and give what the boxed type holds.
            unsafe {
                gobject_ffi::g_boxed_type_register_static(
                    name.as_ptr(),
                    Some(device_copy),
                    Some(device_free),
                )
            }
        })
    });
    // SAFETY: a registered type.
    unsafe { glib::Type::from_glib(found) }
}

unsafe extern "C" fn device_copy(device: gpointer) -> gpointer {
    // SAFETY: a boxed value of this type is a live payload.
    unsafe { super::device::retain_any(device.cast()) }
        .cast_mut()
        .cast()
}

unsafe extern "C" fn device_free(device: gpointer) {
    // SAFETY: as above; the value's reference goes back.
    unsafe { super::device::release_any(device.cast()) }
}

/// `GstHipRsBufferPool`. Its instances carry the functions of the copy that made them.
pub(crate) fn pool_type() -> glib::Type {
    static TYPE: OnceLock<usize> = OnceLock::new();
    let found = *TYPE.get_or_init(|| {
        find_or_register("GstHipRsBufferPool", |name| {
            register_class(
                gst::BufferPool::static_type(),
                name,
                size_of::<GstHipRsPoolClass>() as usize,
                pool_class_init,
                size_of::<GstHipRsPool>() as usize,
            )
        })
    });
    // SAFETY: a registered type.
    unsafe { glib::Type::from_glib(found) }
}

/// The class of `GstBufferPool`, which the pool's functions chain up to.
static POOL_PARENT: AtomicPtr<ffi::GstBufferPoolClass> = AtomicPtr::new(std::ptr::null_mut());

unsafe extern "C" fn pool_class_init(class: gpointer, _: gpointer) {
    // SAFETY: GObject hands over the class that was registered with this function, which starts
    // with its parents' classes; the parent's class lives as long as there is a subclass.
    unsafe {
        let parent = gobject_ffi::g_type_class_peek_parent(class);
        POOL_PARENT.store(parent.cast(), Ordering::Release);
        (*class.cast::<gobject_ffi::GObjectClass>()).finalize = Some(pool_finalize);
        let class = &mut (*class.cast::<GstHipRsPoolClass>()).parent_class;
        class.get_options = Some(pool_options);
        class.set_config = Some(pool_set_config);
        class.start = Some(pool_start);
        class.alloc_buffer = Some(pool_alloc_buffer);
    }
}

/// The functions of the copy that made a pool.
///
/// # Safety
/// `pool` is a live object of the pool type.
unsafe fn pool_vtable<'a>(pool: *mut ffi::GstBufferPool) -> Option<&'a GstHipRsPoolVTable> {
    // SAFETY: by the caller's word; the table is null until it is filled in, and static then.
    unsafe { (*pool.cast::<GstHipRsPool>()).vtable.as_ref() }
}

unsafe extern "C" fn pool_options(_: *mut ffi::GstBufferPool) -> *mut *const std::ffi::c_char {
    struct Options([*const std::ffi::c_char; 3]);
    // SAFETY: pointers to static strings.
    unsafe impl Send for Options {}
    // SAFETY: as above.
    unsafe impl Sync for Options {}
    static OPTIONS: Options = Options([
        gst_video::ffi::GST_BUFFER_POOL_OPTION_VIDEO_META
            .as_ptr()
            .cast(),
        gst_video::ffi::GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT
            .as_ptr()
            .cast(),
        std::ptr::null(),
    ]);
    // The caller does not write to it: C has no word for that here.
    OPTIONS.0.as_ptr().cast_mut()
}

unsafe extern "C" fn pool_set_config(
    pool: *mut ffi::GstBufferPool,
    config: *mut ffi::GstStructure,
) -> gboolean {
    // SAFETY: GStreamer asks a live pool of this class, and hands the configuration over to be
    // changed; the parent's class has the function.
    unsafe {
        let Some(vtable) = pool_vtable(pool) else {
            return GFALSE;
        };
        if (vtable.set_config)(pool, config) == GFALSE {
            return GFALSE;
        }
        let parent = POOL_PARENT.load(Ordering::Acquire);
        match parent.as_ref().and_then(|class| class.set_config) {
            Some(set_config) => set_config(pool, config),
            None => GFALSE,
        }
    }
}

/// As the parent's; but the buffers that were made before one could not be are freed. GStreamer
/// forgets them, and the device with them, since a pool that did not start is never stopped.
unsafe extern "C" fn pool_start(pool: *mut ffi::GstBufferPool) -> gboolean {
    let parent = POOL_PARENT.load(Ordering::Acquire);
    // SAFETY: GStreamer starts a live pool of this class, under its lock, as it stops one; the
    // parent's functions take any pool.
    unsafe {
        let Some(parent) = parent.as_ref() else {
            return GFALSE;
        };
        let started = parent.start.map_or(GTRUE, |start| start(pool));
        if started == GFALSE
            && let Some(stop) = parent.stop
        {
            stop(pool);
        }
        started
    }
}

unsafe extern "C" fn pool_alloc_buffer(
    pool: *mut ffi::GstBufferPool,
    buffer: *mut *mut ffi::GstBuffer,
    params: *mut ffi::GstBufferPoolAcquireParams,
) -> ffi::GstFlowReturn {
    // SAFETY: GStreamer asks a live pool of this class.
    unsafe {
        match pool_vtable(pool) {
            Some(vtable) => (vtable.alloc_buffer)(pool, buffer, params),
            None => ffi::GST_FLOW_NOT_NEGOTIATED,
        }
    }
}

unsafe extern "C" fn pool_finalize(object: *mut gobject_ffi::GObject) {
    // SAFETY: GObject ends a pool of this class once; the parent's class has the function.
    unsafe {
        let pool = object.cast::<ffi::GstBufferPool>();
        // No buffer is left: `dispose` stopped the pool, and a buffer on loan holds it.
        let parent = POOL_PARENT.load(Ordering::Acquire);
        if let Some(vtable) = pool_vtable(pool) {
            (vtable.finalize)(pool);
        }
        if let Some(finalize) = parent
            .cast::<gobject_ffi::GObjectClass>()
            .as_ref()
            .and_then(|class| class.finalize)
        {
            finalize(object);
        }
    }
}
