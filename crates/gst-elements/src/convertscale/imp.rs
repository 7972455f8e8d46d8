use std::sync::{Arc, LazyLock, Mutex};

use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::prelude::*;
use gst_hip::MemoryKind;
use hip_video::Converter;

use super::conversion::{Frames, Options};
use super::{caps as possible, fixate, metas};
use crate::common::caps;
use crate::common::device::DeviceSlot;
use crate::common::error::Error;
use crate::common::formats::Formats;
use crate::common::import::ImportSlot;
use crate::common::pool::{self, PoolLayout};
use crate::common::{CAT, element, lock};

/// What the caps in use mean.
#[derive(Debug, Default)]
struct State {
    frames: Option<Arc<Frames>>,
    /// For these frames and `options`; made anew when the properties change.
    converter: Option<Arc<Converter>>,
    options: Options,
}

/// The element's parts.
#[derive(Debug, Default)]
pub struct HipConvertScale {
    device: DeviceSlot,
    import: ImportSlot,
    settings: Mutex<Options>,
    state: Mutex<State>,
}

impl HipConvertScale {
    /// The frames in use, and a converter for them as the properties are now.
    fn conversion(&self) -> Result<(Arc<Frames>, Arc<Converter>), Error> {
        let options = *lock(&self.settings);
        let state = lock(&self.state);
        let frames = state
            .frames
            .clone()
            .ok_or_else(|| Error::gst("no caps yet"))?;
        let current = state.converter.clone().filter(|_| state.options == options);
        drop(state);
        if let Some(converter) = current {
            return Ok((frames, converter));
        }
        let (device, _) = self.device.in_use()?;
        let converter = Arc::new(frames.converter(&device, options)?);
        let mut state = lock(&self.state);
        let old = state.converter.replace(converter.clone());
        state.options = options;
        drop(state);
        drop(old);
        Ok((frames, converter))
    }

    fn convert(&self, input: &gst::BufferRef, output: &mut gst::BufferRef) -> Result<(), Error> {
        let (_, stream) = self.device.in_use()?;
        let (frames, converter) = self.conversion()?;
        frames.convert(&converter, &stream, input, output)
    }

    fn set_frames(&self, incaps: &gst::Caps, outcaps: &gst::Caps) -> Result<(), Error> {
        let frames = Frames::new(caps::video_info(incaps)?, caps::video_info(outcaps)?)?;
        self.import.set_caps(incaps, &frames.input);
        let passthrough = frames.are_the_same();
        let old = std::mem::take(&mut *lock(&self.state));
        drop(old);
        lock(&self.state).frames = Some(Arc::new(frames));
        if !passthrough {
            // What cannot be converted is refused now, not at the first frame.
            self.conversion()?;
        }
        self.obj().set_passthrough(passthrough);
        Ok(())
    }
}

#[glib::object_subclass]
impl ObjectSubclass for HipConvertScale {
    const NAME: &'static str = "GstHipRsConvertScale";
    type Type = super::HipConvertScale;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for HipConvertScale {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let default = Options::default();
            let own = [
                glib::ParamSpecBoolean::builder("add-borders")
                    .nick("Add borders")
                    .blurb("Keep the display aspect ratio, with black borders where needed")
                    .default_value(default.add_borders)
                    .mutable_playing()
                    .build(),
                glib::ParamSpecEnum::builder_with_default("method", default.method)
                    .nick("Method")
                    .blurb("How the picture is read between its pixels")
                    .mutable_playing()
                    .build(),
            ];
            DeviceSlot::properties().into_iter().chain(own).collect()
        });
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        if self.device.set_property(value, pspec) {
            return;
        }
        let mut settings = lock(&self.settings);
        match pspec.name() {
            "add-borders" => settings.add_borders = value.get().unwrap_or_default(),
            "method" => settings.method = value.get().unwrap_or_default(),
            _ => {}
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        match pspec.name() {
            "add-borders" => lock(&self.settings).add_borders.to_value(),
            "method" => lock(&self.settings).method.to_value(),
            _ => self
                .device
                .property(pspec)
                .unwrap_or_else(|| pspec.default_value().clone()),
        }
    }
}

impl GstObjectImpl for HipConvertScale {}

impl ElementImpl for HipConvertScale {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "HIP converter and scaler",
                "Filter/Converter/Video/Scaler/Colorspace",
                "Converts format, colour and size of video in HIP device memory",
                "The gst-hip authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let caps = Formats::Converted.hip_caps();
            element::pad_templates(&caps, &caps)
        });
        &TEMPLATES
    }

    element::context_glue!();
}

impl BaseTransformImpl for HipConvertScale {
    element::transform_glue!();

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        let state = std::mem::take(&mut *lock(&self.state));
        drop(state);
        self.import.clear();
        self.device.close();
        Ok(())
    }

    fn transform_caps(
        &self,
        _direction: gst::PadDirection,
        caps: &gst::Caps,
        filter: Option<&gst::Caps>,
    ) -> Option<gst::Caps> {
        Some(caps::filtered(possible::transform_caps(caps), filter))
    }

    fn fixate_caps(
        &self,
        direction: gst::PadDirection,
        caps: &gst::Caps,
        others: gst::Caps,
    ) -> gst::Caps {
        let fixed = fixate::fixate(direction, caps, others);
        gst::debug!(CAT, imp = self, "{} becomes {}", caps, fixed);
        fixed
    }

    fn set_caps(&self, incaps: &gst::Caps, outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        self.set_frames(incaps, outcaps).map_err(|error| {
            let _ = error.post(&*self.obj());
            gst::loggable_error!(CAT, "{} to {}: {}", incaps, outcaps, error)
        })
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        if decide_query.is_none() {
            return Ok(());
        }
        element::propose_pool(&self.device, query, MemoryKind::Device)
    }

    fn decide_allocation(
        &self,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        // Metas that downstream understands are about other pixels than upstream's.
        pool::remove_metas(query);
        element::decide_pool(&self.device, query, MemoryKind::Device, PoolLayout::Device)
    }

    fn transform_meta<'a>(
        &self,
        output: &mut gst::BufferRef,
        meta: gst::MetaRef<'a, gst::Meta>,
        _input: &'a gst::BufferRef,
    ) -> bool {
        let frames = lock(&self.state).frames.clone();
        frames.is_some_and(|frames| metas::transform(&frames, output, &meta))
    }

    fn transform(
        &self,
        input: &gst::Buffer,
        output: &mut gst::BufferRef,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        match self.convert(input, output) {
            Ok(()) => Ok(gst::FlowSuccess::Ok),
            Err(error) => Err(error.post(&*self.obj())),
        }
    }
}
