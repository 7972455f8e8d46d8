use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use gst::prelude::*;
use gst::subclass::prelude::*;
use gst::{BufferPoolConfigRef, glib};
use gst_video::{VideoInfo, VideoMeta};
use hip_core::Device;

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
    pub struct HipBufferPool(ObjectSubclass<imp::HipBufferPool>)
        @extends gst::BufferPool, gst::Object;
}

impl HipBufferPool {
    /// A pool of a device; it has to be configured and activated.
    pub fn new(device: &Device, kind: MemoryKind) -> HipBufferPool {
        let pool: HipBufferPool = glib::Object::new();
        pool.imp().set_owner(device, kind);
        pool
    }

    /// The device its memory is of.
    pub fn device(&self) -> &Device {
        &self.imp().owner().0
    }

    /// Where its memory is.
    pub fn kind(&self) -> MemoryKind {
        self.imp().owner().1
    }

    /// The layout of its buffers; `None` before a configuration with video caps.
    pub fn layout(&self) -> Option<FrameLayout> {
        self.imp().plan().and_then(|plan| plan.layout)
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

mod imp {
    use super::*;

    #[derive(Default)]
    pub struct HipBufferPool {
        /// Set once, before anybody else has the pool.
        owner: OnceLock<(Device, MemoryKind)>,
        /// Keeps the streams of the memory from coming and going with the buffers.
        streams: OnceLock<Arc<DeviceStreams>>,
        plan: Mutex<Option<Plan>>,
    }

    impl HipBufferPool {
        pub(super) fn set_owner(&self, device: &Device, kind: MemoryKind) {
            let _ = self.owner.set((device.clone(), kind));
            let _ = self.streams.set(DeviceStreams::of(device));
        }

        pub(super) fn owner(&self) -> &(Device, MemoryKind) {
            match self.owner.get() {
                Some(owner) => owner,
                None => unreachable!("`HipBufferPool::new`, the only way to one, sets it"),
            }
        }

        pub(super) fn plan(&self) -> Option<Plan> {
            self.plan
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone()
        }
    }

    #[glib::object_subclass]
    impl ObjectSubclass for HipBufferPool {
        const NAME: &'static str = "GstHipRsBufferPool";
        // Another copy of this crate may have registered the name.
        const ALLOW_NAME_CONFLICT: bool = true;
        type Type = super::HipBufferPool;
        type ParentType = gst::BufferPool;
    }

    impl ObjectImpl for HipBufferPool {}
    impl GstObjectImpl for HipBufferPool {}

    impl BufferPoolImpl for HipBufferPool {
        fn options() -> &'static [&'static str] {
            // Both are static strings of GStreamer's.
            static OPTIONS: OnceLock<[&'static str; 2]> = OnceLock::new();
            OPTIONS.get_or_init(|| {
                [
                    gst_video::BUFFER_POOL_OPTION_VIDEO_META.as_str(),
                    gst_video::BUFFER_POOL_OPTION_VIDEO_ALIGNMENT.as_str(),
                ]
            })
        }

        fn set_config(&self, config: &mut BufferPoolConfigRef) -> bool {
            let Some((device, kind)) = self.owner.get() else {
                return false;
            };
            match Plan::new(device, *kind, config) {
                Ok(plan) => {
                    *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = Some(plan);
                    self.parent_set_config(config)
                }
                Err(error) => {
                    tracing::warn!(%error, "pool not configured");
                    false
                }
            }
        }

        fn alloc_buffer(
            &self,
            _params: Option<&gst::BufferPoolAcquireParams>,
        ) -> Result<gst::Buffer, gst::FlowError> {
            let (Some((device, kind)), Some(plan)) = (self.owner.get(), self.plan()) else {
                return Err(gst::FlowError::NotNegotiated);
            };
            plan.make_buffer(device, *kind).map_err(|error| {
                tracing::error!(%error, "no buffer could be made");
                gst::FlowError::Error
            })
        }
    }
}
