//! What every element does the same way with its pads and events.

use gst_hip::MemoryKind;

use super::CAT;
use super::caps::video_info;
use super::device::DeviceSlot;
use super::import::ImportSlot;
use super::pool::{self, PoolLayout};

/// What `BaseTransformImpl` of every element of ours has alike: bodies of methods that the bindings want
/// from each type. The type has the field `device` ([`super::device::DeviceSlot`]).
macro_rules! transform_glue {
    () => {
        const MODE: gst_base::subclass::BaseTransformMode =
            gst_base::subclass::BaseTransformMode::NeverInPlace;
        const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

        fn start(&self) -> Result<(), gst::ErrorMessage> {
            self.device.open(self.obj().upcast_ref())
        }

        fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
            self.device.query(query) || BaseTransformImplExt::parent_query(self, direction, query)
        }

        fn unit_size(&self, caps: &gst::Caps) -> Option<usize> {
            gst_video::VideoInfo::from_caps(caps)
                .ok()
                .map(|info| info.size())
        }
    };
}

/// What the elements that copy have alike beyond [`transform_glue`]. The type has the field `import` too
/// ([`super::import::ImportSlot`]).
macro_rules! copy_glue {
    () => {
        const PASSTHROUGH_ON_SAME_CAPS: bool = true;

        fn sink_event(&self, event: gst::Event) -> bool {
            $crate::common::element::check_caps_event(self.obj().upcast_ref(), &event)
                && self.parent_sink_event(event)
        }

        fn submit_input_buffer(
            &self,
            is_discont: bool,
            buffer: gst::Buffer,
        ) -> Result<gst::FlowSuccess, gst::FlowError> {
            let element = self.obj();
            let buffer = $crate::common::element::localise(
                element.upcast_ref(),
                &self.import,
                &self.device,
                buffer,
            )?;
            self.parent_submit_input_buffer(is_discont, buffer)
        }
    };
}

/// `ObjectImpl` of an element that has the common properties and no others.
macro_rules! property_glue {
    () => {
        fn properties() -> &'static [glib::ParamSpec] {
            static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> =
                LazyLock::new(DeviceSlot::properties);
            &PROPERTIES
        }

        fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
            self.device.set_property(value, pspec);
        }

        fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
            self.device
                .property(pspec)
                .unwrap_or_else(|| pspec.default_value().clone())
        }
    };
}

/// What `ElementImpl` of every element of ours has alike.
macro_rules! context_glue {
    () => {
        fn set_context(&self, context: &gst::Context) {
            self.device.set_context(self.obj().upcast_ref(), context);
            self.parent_set_context(context);
        }
    };
}

pub(crate) use {context_glue, copy_glue, property_glue, transform_glue};

/// The two always-there pads.
pub(crate) fn pad_templates(sink: &gst::Caps, src: &gst::Caps) -> Vec<gst::PadTemplate> {
    let template = |name, direction, caps| {
        gst::PadTemplate::new(name, direction, gst::PadPresence::Always, caps)
            .expect("a pad template of constant names is valid")
    };
    vec![
        template("sink", gst::PadDirection::Sink, sink),
        template("src", gst::PadDirection::Src, src),
    ]
}

/// Looks at a caps event before it is acted on; `false`, and an error on the bus, if the caps
/// describe no frame. Other events are fine.
pub(crate) fn check_caps_event(element: &gst::Element, event: &gst::Event) -> bool {
    let gst::EventView::Caps(event) = event.view() else {
        return true;
    };
    match video_info(event.caps()) {
        Ok(_) => true,
        Err(error) => {
            let _ = error.post(element);
            false
        }
    }
}

/// Whether a meta is still true of a picture that was moved to other memory.
pub(crate) fn outlives_memory(meta: &gst::MetaRef<'_, gst::Meta>) -> bool {
    !meta.has_tag::<gst::meta::tags::Memory>()
}

/// Gives back the buffer, or a copy of it that the element's device can use.
///
/// # Errors
/// The frame cannot be copied; the reason is on the bus.
pub(crate) fn localise(
    element: &gst::Element,
    import: &ImportSlot,
    device: &DeviceSlot,
    buffer: gst::Buffer,
) -> Result<gst::Buffer, gst::FlowError> {
    import
        .localise(element, device, buffer)
        .map_err(|error| error.post(element))
}

/// Puts the pool for the element's output into its allocation query.
///
/// # Errors
/// There is no device or no pool.
pub(crate) fn decide_pool(
    device: &DeviceSlot,
    query: &mut gst::query::Allocation,
    kind: MemoryKind,
    layout: PoolLayout,
) -> Result<(), gst::LoggableError> {
    let device = device
        .device()
        .ok_or_else(|| gst::loggable_error!(CAT, "no device"))?;
    pool::decide(query, &device, kind, layout).map_err(|e| gst::loggable_error!(CAT, "{}", e))
}

/// Offers upstream a pool for the element's input.
///
/// # Errors
/// There is no device or no pool.
pub(crate) fn propose_pool(
    device: &DeviceSlot,
    query: &mut gst::query::Allocation,
    kind: MemoryKind,
) -> Result<(), gst::LoggableError> {
    let device = device
        .device()
        .ok_or_else(|| gst::loggable_error!(CAT, "no device"))?;
    pool::propose(query, &device, kind).map_err(|e| gst::loggable_error!(CAT, "{}", e))
}
