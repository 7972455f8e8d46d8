use std::sync::{Arc, LazyLock, Mutex};

use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::prelude::*;
use gst_hip::MemoryKind;
use gst_video::VideoInfo;

use crate::common::caps;
use crate::common::device::DeviceSlot;
use crate::common::error::Error;
use crate::common::formats::Formats;
use crate::common::import::{ImportSlot, Staging};
use crate::common::planes::{PlaneShape, Planes, plane_places, plane_shapes};
use crate::common::pool::PoolLayout;
use crate::common::transfer::{copy_frame, is_ours};
use crate::common::{CAT, element, lock};

/// What the caps in use mean.
#[derive(Debug)]
struct State {
    info: VideoInfo,
    shapes: Planes<PlaneShape>,
    staging: Staging,
}

/// The element's parts.
#[derive(Debug, Default)]
pub struct HipUpload {
    device: DeviceSlot,
    import: ImportSlot,
    state: Mutex<Option<Arc<State>>>,
}

impl HipUpload {
    fn upload(&self, input: &gst::BufferRef, output: &mut gst::BufferRef) -> Result<(), Error> {
        let (device, stream) = self.device.in_use()?;
        let state = lock(&self.state)
            .clone()
            .ok_or_else(|| Error::gst("no caps yet"))?;
        let State {
            info,
            shapes,
            staging,
        } = &*state;
        let places = plane_places(input, info, shapes)?;
        let forward = places.iter().all(|place| place.stride >= 0);
        if forward && is_ours(input, &device, MemoryKind::Pinned) {
            return copy_frame(&stream, input, output, info);
        }
        gst::trace!(
            CAT,
            imp = self,
            "the frame is in ordinary memory and is staged"
        );
        copy_frame(&stream, &*staging.stage(input)?, output, info)
    }

    fn set_frames(&self, caps: &gst::Caps) -> Result<(), Error> {
        let (device, _) = self.device.in_use()?;
        let info = caps::video_info(caps)?;
        self.import.set_caps(caps, &info);
        let staging = Staging::new(&device, caps, &info)?;
        let state = State {
            shapes: plane_shapes(&info),
            info,
            staging,
        };
        let old = lock(&self.state).replace(Arc::new(state));
        drop(old);
        Ok(())
    }
}

#[glib::object_subclass]
impl ObjectSubclass for HipUpload {
    const NAME: &'static str = "GstHipRsUpload";
    type Type = super::HipUpload;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for HipUpload {
    element::property_glue!();
}

impl GstObjectImpl for HipUpload {}

impl ElementImpl for HipUpload {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "HIP uploader",
                "Filter/Video",
                "Brings raw video from system memory into HIP device memory",
                "The gst-hip authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            element::pad_templates(
                &Formats::Transfer.hip_or_system_caps(),
                &Formats::Transfer.hip_caps(),
            )
        });
        &TEMPLATES
    }

    element::context_glue!();
}

impl BaseTransformImpl for HipUpload {
    element::transform_glue!();
    element::copy_glue!();

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        let state = lock(&self.state).take();
        drop(state);
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
            gst::PadDirection::Sink => caps::to_hip(caps),
            _ => caps::to_hip_or_system(caps),
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
        element::propose_pool(&self.device, query, MemoryKind::Pinned)
    }

    fn decide_allocation(
        &self,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        element::decide_pool(&self.device, query, MemoryKind::Device, PoolLayout::Device)
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
        match self.upload(input, output) {
            Ok(()) => Ok(gst::FlowSuccess::Ok),
            Err(error) => Err(error.post(&*self.obj())),
        }
    }
}
