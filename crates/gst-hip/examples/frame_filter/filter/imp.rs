use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::prelude::*;
use gst_hip::env::EnvError;
use gst_hip::{
    CAPS_FEATURE_MEMORY_HIP, DeviceFrame, DeviceSelector, HipBufferPool, HipDevice, HipKernelArgs,
    HipKernelFunction, HipKernelModule, HipStream, KernelError, LaunchConfig, MemoryKind, context,
};
use gst_video::VideoInfo;

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "hipemboss",
        gst::DebugColorFlags::empty(),
        Some("Frames through a kernel of one's own"),
    )
});

/// The plane arguments are those of [`HipKernelArgs::add_plane`].
const SOURCE: &str = r#"
extern "C" __global__ void emboss(const uchar4 *in, unsigned in_stride, unsigned in_width,
                                  unsigned in_height, uchar4 *out, unsigned out_stride,
                                  unsigned width, unsigned height) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    unsigned left = x > 0 ? x - 1 : 0, right = x + 1 < width ? x + 1 : x;
    unsigned above = y > 0 ? y - 1 : 0, below = y + 1 < height ? y + 1 : y;
    uchar4 a = in[above * (in_stride / 4) + left], b = in[below * (in_stride / 4) + right];
    uchar4 pixel = in[y * (in_stride / 4) + x];
    pixel.x = min(max(128 + b.x - a.x, 0), 255);
    pixel.y = min(max(128 + b.y - a.y, 0), 255);
    pixel.z = min(max(128 + b.z - a.z, 0), 255);
    out[y * (out_stride / 4) + x] = pixel;
}
"#;
const BLOCK: [u32; 3] = [32, 8, 1];

/// Buffers that a pool starts with: three frames in flight, and one being filled.
const MIN_BUFFERS: u32 = 4;

pub(super) fn compile(device: &HipDevice) -> Result<HipKernelFunction, KernelError> {
    HipKernelModule::from_source(device, SOURCE, &[])?.function("emboss")
}

/// What the element has between start and stop.
#[derive(Clone)]
struct Started {
    device: HipDevice,
    /// The element's own: neighbours are waited for by events, on the device.
    stream: HipStream,
    kernel: HipKernelFunction,
}

#[derive(Default)]
struct State {
    /// From the application or a neighbour, before start.
    offered: Option<HipDevice>,
    started: Option<Started>,
    info: Option<VideoInfo>,
}

/// The element's parts.
#[derive(Default)]
pub(crate) struct HipEmboss {
    state: Mutex<State>,
}

impl HipEmboss {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn device(&self) -> Option<HipDevice> {
        let state = self.lock();
        let started = state.started.as_ref().map(|started| started.device.clone());
        started.or_else(|| state.offered.clone())
    }

    /// Which device the element wants; an element with properties for it asks them.
    fn selector(&self) -> Result<DeviceSelector, EnvError> {
        gst_hip::env::default_selector()
    }

    /// A pool of frames of `caps` on the element's device.
    fn pool(&self, caps: &gst::CapsRef) -> Result<HipBufferPool, gst::LoggableError> {
        let device = self
            .device()
            .ok_or_else(|| gst::loggable_error!(CAT, "no device"))?;
        let pool = HipBufferPool::new(&device, MemoryKind::Device);
        let mut config = pool.config();
        // The pool knows the size: it lays rows out as the device likes them.
        config.set_params(Some(&caps.to_owned()), 0, MIN_BUFFERS, 0);
        config.add_option(gst_video::BUFFER_POOL_OPTION_VIDEO_META.as_ref());
        pool.set_config(config)?;
        Ok(pool)
    }

    /// Enqueues the kernel. Nothing is waited for here: the stream waits for whoever wrote the
    /// input, and whoever reads the output waits for the event.
    fn enqueue(
        &self,
        input: &gst::BufferRef,
        output: &mut gst::BufferRef,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let state = self.lock();
        let (started, info) = (state.started.clone(), state.info.clone());
        drop(state);
        let (started, info) = started.zip(info).ok_or("not negotiated")?;
        let stream = &started.stream;
        let source = DeviceFrame::read(input, &info, stream)?;
        let target = DeviceFrame::overwrite(output, &info, stream)?;
        let mut args = HipKernelArgs::new();
        for plane in [&source.planes()[0], &target.planes()[0]] {
            // Pools align rows to more than a pixel; somebody else's buffer need not.
            if plane.ptr.0 % 4 != 0 || plane.stride % 4 != 0 {
                return Err("the frame's pixels are not aligned to 4 bytes".into());
            }
            args.add_plane(plane)?;
        }
        let config = LaunchConfig {
            grid_dim: [
                info.width().div_ceil(BLOCK[0]),
                info.height().div_ceil(BLOCK[1]),
                1,
            ],
            block_dim: BLOCK,
            shared_mem_bytes: 0,
        };
        // SAFETY: the arguments are two planes, as the kernel takes them, and the frames vouch
        // that RGBA pixels of this width and height are there; the kernel stays within them.
        unsafe { started.kernel.launch(Some(stream), &config, &args) }?;
        let event = stream.record()?;
        source.finish(&event)?;
        target.finish(&event)?;
        Ok(())
    }
}

#[glib::object_subclass]
impl ObjectSubclass for HipEmboss {
    const NAME: &'static str = "ExampleHipEmboss";
    type Type = super::HipEmboss;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for HipEmboss {}
impl GstObjectImpl for HipEmboss {}

impl ElementImpl for HipEmboss {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "HIP emboss",
                "Filter/Effect/Video",
                "Embosses video in HIP device memory by a kernel compiled at run time",
                "The gst-hip authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let caps = gst_video::VideoCapsBuilder::new()
                .features([CAPS_FEATURE_MEMORY_HIP])
                .format(gst_video::VideoFormat::Rgba)
                .build();
            let template = |name, direction| {
                gst::PadTemplate::new(name, direction, gst::PadPresence::Always, &caps)
                    .expect("a pad template of constant names is valid")
            };
            vec![
                template("sink", gst::PadDirection::Sink),
                template("src", gst::PadDirection::Src),
            ]
        });
        &TEMPLATES
    }

    /// The application's device, or a neighbour's.
    fn set_context(&self, context: &gst::Context) {
        let mut device = self.device();
        if let (None, Ok(selector)) = (&device, self.selector()) {
            let element = self.obj();
            let element: &gst::Element = element.upcast_ref::<gst::Element>();
            context::handle_set_context(element, context, &selector, &mut device);
            self.lock().offered = device;
        }
        self.parent_set_context(context);
    }
}

impl BaseTransformImpl for HipEmboss {
    const MODE: gst_base::subclass::BaseTransformMode =
        gst_base::subclass::BaseTransformMode::NeverInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    /// Takes the neighbours' device, or opens one and tells them.
    fn start(&self) -> Result<(), gst::ErrorMessage> {
        let element = self.obj();
        let selector = self
            .selector()
            .map_err(|e| gst::error_msg!(gst::ResourceError::Settings, ("{}", e)))?;
        let mut device = self.device();
        let device =
            context::ensure_device(element.upcast_ref::<gst::Element>(), &selector, &mut device)
                .map_err(|e| gst::error_msg!(gst::ResourceError::NotFound, ("No device: {}", e)))?;
        let stream = HipStream::new(&device)
            .map_err(|e| gst::error_msg!(gst::LibraryError::Init, ("No stream: {}", e)))?;
        let kernel = compile(&device)
            .map_err(|e| gst::error_msg!(gst::LibraryError::Init, ("No kernel: {}", e)))?;
        self.lock().started = Some(Started {
            device,
            stream,
            kernel,
        });
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        // Work in flight goes on, and keeps what it needs.
        let state = std::mem::take(&mut *self.lock());
        drop(state);
        Ok(())
    }

    /// Tells neighbours the device.
    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        context::handle_context_query(query, self.device().as_ref())
            || BaseTransformImplExt::parent_query(self, direction, query)
    }

    fn set_caps(&self, incaps: &gst::Caps, _outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let info = VideoInfo::from_caps(incaps);
        let info = info.map_err(|_| gst::loggable_error!(CAT, "no frames: {}", incaps))?;
        self.lock().info = Some(info);
        Ok(())
    }

    fn unit_size(&self, caps: &gst::Caps) -> Option<usize> {
        VideoInfo::from_caps(caps).ok().map(|info| info.size())
    }

    /// Offers upstream a pool of the device's.
    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        query.add_allocation_meta::<gst_video::VideoMeta>(None);
        if let (Some(caps), true) = query.get() {
            let pool = self.pool(caps)?;
            let size = pool.config().params().map_or(0, |(_, size, _, _)| size);
            query.add_allocation_pool(Some(&pool), size, MIN_BUFFERS, 0);
        }
        Ok(())
    }

    /// Takes output frames from a pool of the element's own.
    fn decide_allocation(
        &self,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        let (caps, _) = query.get_owned();
        let caps = caps.ok_or_else(|| gst::loggable_error!(CAT, "no caps to allocate for"))?;
        let pool = self.pool(&caps)?;
        let size = pool.config().params().map_or(0, |(_, size, _, _)| size);
        match query.allocation_pools().next().is_some() {
            true => query.set_nth_allocation_pool(0, Some(&pool), size, MIN_BUFFERS, 0),
            false => query.add_allocation_pool(Some(&pool), size, MIN_BUFFERS, 0),
        }
        Ok(())
    }

    fn transform(
        &self,
        input: &gst::Buffer,
        output: &mut gst::BufferRef,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        self.enqueue(input, output).map_err(|error| {
            gst::element_imp_error!(self, gst::StreamError::Failed, ("{}", error));
            gst::FlowError::Error
        })?;
        Ok(gst::FlowSuccess::Ok)
    }
}
