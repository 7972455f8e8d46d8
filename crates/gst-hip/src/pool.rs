use std::sync::{Arc, Mutex, PoisonError};

use gst::glib::ffi::{GFALSE, GTRUE, gboolean};
use gst::glib::translate::{IntoGlib, IntoGlibPtr};
use gst::prelude::*;
use gst::{BufferPoolConfigRef, glib};
use gst_video::{VideoInfo, VideoMeta};
use hip_core::Device;

use crate::abi::{
    GST_HIP_RS_ABI_VERSION, GST_HIP_RS_KIND_PINNED, GstHipRsDevice, GstHipRsPool,
    GstHipRsPoolClass, GstHipRsPoolVTable, adopt, guard, kind_number, pool_type, size_of,
};
use crate::memory::DeviceStreams;
use crate::{Error, FrameLayout, HipAllocator, MemoryKind, Result};

glib::wrapper! {
    /// A pool of buffers of one HIP memory each.
    ///
    /// Configured as any pool. For video caps the buffers carry a `GstVideoMeta`: device memory
    /// always, in the layout the device likes; pinned memory where the configuration has
    /// `GST_BUFFER_POOL_OPTION_VIDEO_META`, and GStreamer's own layout otherwise, since a consumer
    /// without the option would assume it. Pinned pools also take
    /// `GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT`. The configured size is raised to the layout's.
    ///
    /// A buffer may come back while the device still works on it: the order is in its
    /// allocation, and the next user waits on the device.
    ///
    /// The type is the process's, registered by the first copy of this crate that needs it; a
    /// pool's work is done by the copy that made it, and the others may use it like their own.
    pub struct HipBufferPool(Object<GstHipRsPool, GstHipRsPoolClass>)
        @extends gst::BufferPool, gst::Object;

    match fn {
        type_ => || pool_type().into_glib(),
    }
}

// SAFETY: `GstBufferPool` may be used from any thread; what is added is set before anybody has the
// pool, or behind a lock.
unsafe impl Send for HipBufferPool {}
// SAFETY: as above.
unsafe impl Sync for HipBufferPool {}

/// `Send` and `Sync` of the above rest on this.
const _: fn() = || {
    fn both<T: Send + Sync>() {}
    both::<Own>();
};

impl HipBufferPool {
    /// A pool of a device; it has to be configured and activated.
    pub fn new(device: &Device, kind: MemoryKind) -> HipBufferPool {
        let pool: HipBufferPool = glib::Object::new();
        let streams = DeviceStreams::of(device);
        let own = Own {
            kind,
            streams,
            plan: Mutex::new(None),
        };
        let raw: *mut GstHipRsPool = pool.as_ptr();
        // SAFETY: a new object of the pool type, which nobody else has.
        unsafe {
            (*raw).kind = kind_number(kind);
            (*raw).data = Box::into_raw(Box::new(own)).cast();
            (*raw).vtable = &VTABLE;
        }
        pool
    }

    /// The device its memory is of; for another copy's pool this copy's device for the context.
    ///
    /// # Errors
    /// Another copy's device cannot be used here.
    pub fn device(&self) -> Result<Device> {
        let raw: *mut GstHipRsPool = self.as_ptr();
        // SAFETY: a live pool; its maker filled in the table, if there is one, before anybody saw it.
        unsafe {
            let vtable = (*raw).vtable.as_ref();
            let vtable = vtable.filter(|vtable| vtable.abi_version == GST_HIP_RS_ABI_VERSION);
            let vtable = vtable
                .ok_or_else(|| Error::InvalidValue("a pool that nobody has filled in".into()))?;
            adopt((vtable.device)(raw.cast()))
        }
    }

    /// Where its memory is.
    pub fn kind(&self) -> MemoryKind {
        let raw: *mut GstHipRsPool = self.as_ptr();
        // SAFETY: a live pool; the field is set before anybody sees it.
        match unsafe { (*raw).kind } {
            GST_HIP_RS_KIND_PINNED => MemoryKind::Pinned,
            _ => MemoryKind::Device,
        }
    }

    /// The layout of its buffers; `None` before a configuration with video caps, and for another
    /// copy's pool, whose buffers say it in their `GstVideoMeta`.
    pub fn layout(&self) -> Option<FrameLayout> {
        // SAFETY: a live pool.
        let own = unsafe { Own::of(self.as_ptr().cast()) }?;
        own.plan().and_then(|plan| plan.layout)
    }

    /// Configures the pool for `caps`: `min` buffers are made at the start, at most `max` (0 for
    /// no limit) exist. `size` is what non-video caps need, in bytes; for video it may be 0.
    ///
    /// # Errors
    /// The caps have no layout, the size is 0, or the pool is active.
    pub fn configure(&self, caps: &gst::Caps, size: u32, min: u32, max: u32) -> Result<()> {
        let mut config = self.config();
        config.set_params(Some(caps), size, min, max);
        config.add_option(gst_video::BUFFER_POOL_OPTION_VIDEO_META.as_str());
        self.set_config(config)
            .map_err(|error| Error::Gst(error.to_string()))
    }
}

/// What buffers look like.
#[derive(Debug, Clone)]
struct Plan {
    size: usize,
    /// The planes, for video.
    layout: Option<FrameLayout>,
    /// Whether the buffers say where their planes are.
    add_meta: bool,
    /// Padding that a neighbour asked for.
    alignment: Option<gst_video::VideoAlignment>,
}

impl Plan {
    fn new(device: &Device, kind: MemoryKind, config: &mut BufferPoolConfigRef) -> Result<Plan> {
        let invalid = |text: &str| Error::InvalidValue(text.into());
        let (caps, size, min, max) = config
            .params()
            .ok_or_else(|| invalid("the configuration has no parameters"))?;
        let mut plan = Plan {
            size: size as usize,
            layout: None,
            add_meta: false,
            alignment: None,
        };
        let is_video = |caps: &gst::Caps| {
            caps.structure(0)
                .is_some_and(|structure| structure.name() == "video/x-raw")
        };
        if let Some(caps) = caps.as_ref().filter(|caps| is_video(caps)) {
            let info = VideoInfo::from_caps(caps).map_err(|e| Error::Layout(e.to_string()))?;
            plan.lay_out(device, kind, &info, config)?;
        }
        if plan.size == 0 {
            return Err(invalid("buffers of 0 bytes cannot be made"));
        }
        let size = u32::try_from(plan.size).map_err(|_| invalid("the frame is too large"))?;
        config.set_params(caps.as_ref(), size, min, max);
        Ok(plan)
    }

    fn lay_out(
        &mut self,
        device: &Device,
        kind: MemoryKind,
        info: &VideoInfo,
        config: &mut BufferPoolConfigRef,
    ) -> Result<()> {
        use gst_video::VideoBufferPoolConfig;
        let pitch = device.info().limits.pitch_alignment.max(1);
        let with_meta = config.has_option(gst_video::BUFFER_POOL_OPTION_VIDEO_META.as_str());
        let alignment = config
            .has_option(gst_video::BUFFER_POOL_OPTION_VIDEO_ALIGNMENT.as_str())
            .then(|| config.video_alignment())
            .flatten();
        let layout = match (kind, alignment) {
            (MemoryKind::Device, _) => FrameLayout::new(info, pitch)?,
            (MemoryKind::Pinned, _) if !with_meta => FrameLayout::of_gstreamer(info, None)?,
            (MemoryKind::Pinned, Some(mut alignment)) => {
                let layout = FrameLayout::of_gstreamer(info, Some(&mut alignment))?;
                // Whoever asked learns what came out, as from GStreamer's own pool.
                config.set_video_alignment(&alignment);
                self.alignment = Some(alignment);
                layout
            }
            (MemoryKind::Pinned, None) => FrameLayout::new(info, pitch)?,
        };
        self.size = self.size.max(layout.size());
        self.add_meta = with_meta || kind == MemoryKind::Device;
        self.layout = Some(layout);
        Ok(())
    }

    fn make_buffer(&self, device: &Device, kind: MemoryKind) -> Result<gst::Buffer> {
        let mut buffer = gst::Buffer::new();
        if let Some(writable) = buffer.get_mut() {
            writable.append_memory(HipAllocator::alloc(device, kind, self.size)?);
            if let Some(layout) = self.layout.as_ref().filter(|_| self.add_meta) {
                layout.add_video_meta(writable)?;
            }
            if let (Some(mut meta), Some(alignment)) =
                (writable.meta_mut::<VideoMeta>(), &self.alignment)
            {
                meta.set_alignment(alignment)
                    .map_err(|e| Error::Gst(e.to_string()))?;
            }
        }
        Ok(buffer)
    }
}

/// What a pool of this copy's knows.
struct Own {
    kind: MemoryKind,
    /// The device; and it keeps the streams of the memory from coming and going with the buffers.
    streams: Arc<DeviceStreams>,
    plan: Mutex<Option<Plan>>,
}

impl Own {
    /// # Safety
    /// `pool` is a live pool of the pool type.
    unsafe fn of<'a>(pool: *const gst::ffi::GstBufferPool) -> Option<&'a Own> {
        // SAFETY: by the caller's word. Only `HipBufferPool::new` sets our table, with our data,
        // which lives until the pool's end.
        unsafe {
            let pool = &*pool.cast::<GstHipRsPool>();
            std::ptr::eq(pool.vtable, &VTABLE).then(|| &*pool.data.cast_const().cast::<Own>())
        }
    }

    fn plan(&self) -> Option<Plan> {
        self.plan
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

static VTABLE: GstHipRsPoolVTable = GstHipRsPoolVTable {
    size: size_of::<GstHipRsPoolVTable>(),
    abi_version: GST_HIP_RS_ABI_VERSION,
    device: own_device,
    set_config: own_set_config,
    alloc_buffer: own_alloc_buffer,
    finalize: own_finalize,
};

unsafe extern "C" fn own_device(pool: *const gst::ffi::GstBufferPool) -> *const GstHipRsDevice {
    guard("pool device", std::ptr::null(), || {
        // SAFETY: the caller's pool is alive.
        let own = unsafe { Own::of(pool) };
        own.map_or(std::ptr::null(), |own| own.streams.payload().as_abi())
    })
}

unsafe extern "C" fn own_set_config(
    pool: *mut gst::ffi::GstBufferPool,
    config: *mut gst::ffi::GstStructure,
) -> gboolean {
    guard("set_config", GFALSE, || {
        // SAFETY: GStreamer asks a live pool and hands over the configuration, to be changed.
        let (own, config) = unsafe {
            let config: &mut BufferPoolConfigRef =
                BufferPoolConfigRef::from_glib_borrow_mut(config);
            (Own::of(pool), config)
        };
        let Some(own) = own else { return GFALSE };
        match Plan::new(own.streams.device(), own.kind, config) {
            Ok(plan) => {
                *own.plan.lock().unwrap_or_else(PoisonError::into_inner) = Some(plan);
                GTRUE
            }
            Err(error) => {
                tracing::warn!(%error, "pool not configured");
                GFALSE
            }
        }
    })
}

unsafe extern "C" fn own_alloc_buffer(
    pool: *mut gst::ffi::GstBufferPool,
    buffer: *mut *mut gst::ffi::GstBuffer,
    _: *mut gst::ffi::GstBufferPoolAcquireParams,
) -> gst::ffi::GstFlowReturn {
    guard("alloc_buffer", gst::ffi::GST_FLOW_ERROR, || {
        // SAFETY: GStreamer asks a live pool.
        let own = unsafe { Own::of(pool) };
        let Some((own, plan)) = own.and_then(|own| Some((own, own.plan()?))) else {
            return gst::ffi::GST_FLOW_NOT_NEGOTIATED;
        };
        match plan.make_buffer(own.streams.device(), own.kind) {
            Ok(made) => {
                // SAFETY: the caller's, to be filled in with a reference of its own.
                unsafe { *buffer = made.into_glib_ptr() };
                gst::ffi::GST_FLOW_OK
            }
            Err(error) => {
                tracing::error!(%error, "no buffer could be made");
                gst::ffi::GST_FLOW_ERROR
            }
        }
    })
}

unsafe extern "C" fn own_finalize(pool: *mut gst::ffi::GstBufferPool) {
    guard("finalize", (), || {
        let pool = pool.cast::<GstHipRsPool>();
        // SAFETY: the end of a pool with our table: `HipBufferPool::new` leaked the box, which is
        // taken back once.
        drop(unsafe { Box::from_raw((*pool).data.cast::<Own>()) });
    });
}
