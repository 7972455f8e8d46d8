use std::sync::{Arc, LazyLock, Mutex};

use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::prelude::*;
use gst_hip::MemoryKind;
use gst_video::VideoInfo;

use crate::common::caps;
use crate::common::device::DeviceSlot;
use crate::common::error::Error;
use crate::common::formats::Formats;
use crate::common::import::ImportSlot;
use crate::common::planes::{PlaneShape, Planes, plane_shapes};
use crate::common::pool::PoolLayout;
use crate::common::transfer::copy_frame;
use crate::common::{CAT, element, lock};

/// What the caps in use mean.
#[derive(Debug)]
struct State {
    info: VideoInfo,
    shapes: Planes<PlaneShape>,
}

/// The element's parts.
#[derive(Debug, Default)]
pub struct HipDownload {
    device: DeviceSlot,
    import: ImportSlot,
    state: Mutex<Option<Arc<State>>>,
}

impl HipDownload {
    /// Enqueues the copy; the frame's memory waits for it when it is mapped.
    fn download(&self, input: &gst::BufferRef, output: &gst::BufferRef) -> Result<(), Error> {
        let (_, stream) = self.device.in_use()?;
        let state = lock(&self.state).clone().ok_or_else(|| Error::gst("no caps yet"))?;
        copy_frame(&stream, input, output, &state.info, &state.shapes)
    }

    fn set_frames(&self, caps: &gst::Caps) -> Result<(), Error> {
        let info = caps::video_info(caps)?;
        self.import.set_caps(caps, &info);
        let state = State { shapes: plane_shapes(&info), info };
        let old = lock(&self.state).replace(Arc::new(state));
        drop(old);
        Ok(())
    }
}

#[glib::object_subclass]
impl ObjectSubclass for HipDownload {
    const NAME: &'static str = "GstHipRsDownload";
    type Type = super::HipDownload;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for HipDownload {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> =
            LazyLock::new(|| DeviceSlot::properties().collect());
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        self.device.set_property(value, pspec);
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        self.device.property(pspec).unwrap_or_else(|| pspec.default_value().clone())
    }
}

impl GstObjectImpl for HipDownload {}

impl ElementImpl for HipDownload {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "HIP downloader",
                "Filter/Video",
                "Brings video from HIP device memory into system memory",
                "The gst-hip authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            element::pad_templates(
                &Formats::Transfer.hip_caps(),
                &Formats::Transfer.hip_or_system_caps(),
            )
        });
        &TEMPLATES
    }

    fn set_context(&self, context: &gst::Context) {
        self.device.set_context(self.obj().upcast_ref(), context);
        self.parent_set_context(context);
    }
}

impl BaseTransformImpl for HipDownload {
    const MODE: gst_base::subclass::BaseTransformMode =
        gst_base::subclass::BaseTransformMode::NeverInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = true;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        self.device.open(self.obj().upcast_ref())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        let state = lock(&self.state).take();
        drop(state);
        self.import.clear();
        self.device.close();
        Ok(())
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        self.device.query(query) || BaseTransformImplExt::parent_query(self, direction, query)
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        element::check_caps_event(self.obj().upcast_ref(), &event)
            && self.parent_sink_event(event)
    }

    fn accept_caps(&self, direction: gst::PadDirection, caps: &gst::Caps) -> bool {
        element::accepts_without_size(self.obj().upcast_ref(), direction, caps)
            || self.parent_accept_caps(direction, caps)
    }

    fn transform_caps(
        &self,
        direction: gst::PadDirection,
        caps: &gst::Caps,
        filter: Option<&gst::Caps>,
    ) -> Option<gst::Caps> {
        let others = match direction {
            gst::PadDirection::Sink => caps::to_hip_or_system(caps),
            _ => caps::to_hip(caps),
        };
        Some(caps::filtered(others, filter))
    }

    fn unit_size(&self, caps: &gst::Caps) -> Option<usize> {
        VideoInfo::from_caps(caps).ok().map(|info| info.size())
    }

    fn set_caps(&self, incaps: &gst::Caps, _outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        self.set_frames(incaps).map_err(|error| {
            error.post(&*self.obj());
            gst::loggable_error!(CAT, "{}: {}", incaps, error)
        })
    }

    fn submit_input_buffer(
        &self,
        is_discont: bool,
        buffer: gst::Buffer,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        let buffer = element::localise(self.obj().upcast_ref(), &self.import, &self.device, buffer)?;
        self.parent_submit_input_buffer(is_discont, buffer)
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        // Without a query of our own to go by, frames pass through and downstream has answered.
        if decide_query.is_none() {
            return Ok(());
        }
        element::propose_pool(&self.device, query, MemoryKind::Device)
    }

    fn decide_allocation(
        &self,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        // Who does not read a GstVideoMeta expects GStreamer's own strides.
        let layout = match query.find_allocation_meta::<gst_video::VideoMeta>() {
            Some(_) => PoolLayout::Device,
            None => PoolLayout::Default,
        };
        element::decide_pool(&self.device, query, MemoryKind::Pinned, layout)
    }

    fn transform(
        &self,
        input: &gst::Buffer,
        output: &mut gst::BufferRef,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        match self.download(input, output) {
            Ok(()) => Ok(gst::FlowSuccess::Ok),
            Err(error) => Err(error.post(&*self.obj())),
        }
    }
}
