use std::sync::{LazyLock, Mutex};

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
use crate::common::pool::PoolLayout;
use crate::common::transfer::copy_frame;
use crate::common::{CAT, element, lock};

/// The element's parts.
#[derive(Debug, Default)]
pub struct HipDownload {
    device: DeviceSlot,
    import: ImportSlot,
    info: Mutex<Option<VideoInfo>>,
}

impl HipDownload {
    /// Enqueues the copy; the frame's memory waits for it when it is mapped.
    fn download(&self, input: &gst::BufferRef, output: &mut gst::BufferRef) -> Result<(), Error> {
        let (_, stream) = self.device.in_use()?;
        let info = lock(&self.info)
            .clone()
            .ok_or_else(|| Error::gst("no caps yet"))?;
        copy_frame(&stream, input, output, &info)
    }

    fn set_frames(&self, caps: &gst::Caps) -> Result<(), Error> {
        let info = caps::video_info(caps)?;
        self.import.set_caps(caps, &info);
        *lock(&self.info) = Some(info);
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
    fn constructed(&self) {
        self.parent_constructed();
        // Who takes either memory gets what the element is for.
        self.obj().set_prefer_passthrough(false);
    }

    element::property_glue!();
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

    element::context_glue!();
}

impl BaseTransformImpl for HipDownload {
    element::transform_glue!();
    element::copy_glue!();

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *lock(&self.info) = None;
        self.import.clear();
        self.device.close();
        Ok(())
    }

    fn transform_caps(
        &self,
        direction: gst::PadDirection,
        caps: &gst::Caps,
        filter: Option<&gst::Caps>,
    ) -> Option<gst::Caps> {
        let others = match direction {
            gst::PadDirection::Sink => caps::to_system_or_hip(caps),
            _ => caps::to_hip(caps),
        };
        Some(caps::filtered(others, filter))
    }

    fn set_caps(&self, incaps: &gst::Caps, _outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        self.set_frames(incaps).map_err(|error| {
            let _ = error.post(&*self.obj());
            gst::loggable_error!(CAT, "{}: {}", incaps, error)
        })
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

    fn transform_meta<'a>(
        &self,
        _output: &mut gst::BufferRef,
        meta: gst::MetaRef<'a, gst::Meta>,
        _input: &'a gst::BufferRef,
    ) -> bool {
        element::outlives_memory(&meta)
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
