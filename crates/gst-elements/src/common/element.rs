//! What every element does the same way with its pads and events.

use gst_hip::MemoryKind;

use super::CAT;
use super::caps::video_info;
use super::device::DeviceSlot;
use super::import::ImportSlot;
use super::pool::{self, PoolLayout};

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
