//! One device for elements that are neighbours, found as other GStreamer GPU libraries do it: ask
//! downstream, ask upstream, ask the application, else open one and tell everybody.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use gst::prelude::*;
use gst::query::QueryViewMut;
use hip_core::{Device, DeviceSelector};

use crate::abi::{DeviceRef, GST_HIP_RS_ABI_VERSION};
use crate::{Result, env};

/// Type of the `GstContext` that carries a device; our own, since upstream's carries another thing.
pub const CONTEXT_TYPE: &str = "gst.hip.rs.device";

const FIELD_ABI: &str = "abi-version";
const FIELD_DEVICE: &str = "device";
const FIELD_NAME: &str = "device-name";

fn write_payload(structure: &mut gst::StructureRef, device: &Device) {
    structure.set(FIELD_ABI, GST_HIP_RS_ABI_VERSION);
    structure.set(FIELD_DEVICE, DeviceRef::new(device));
    structure.set(FIELD_NAME, device.info().to_string());
}

fn read_payload(structure: &gst::StructureRef) -> Option<Device> {
    match structure.get::<u32>(FIELD_ABI) {
        Ok(GST_HIP_RS_ABI_VERSION) => {}
        other => {
            tracing::info!(?other, "a device context of another version is not used");
            return None;
        }
    }
    let payload = match structure.get::<DeviceRef>(FIELD_DEVICE) {
        Ok(payload) => payload,
        Err(error) => {
            tracing::info!(%error, "a device context without a device is not used");
            return None;
        }
    };
    match payload.adopt() {
        Ok(device) => Some(device),
        Err(error) => {
            tracing::info!(%error, "another copy's device context is not used");
            None
        }
    }
}

/// A device as elements and applications pass it on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HipContext {
    device: Device,
}

impl HipContext {
    /// For a device.
    pub fn new(device: &Device) -> HipContext {
        HipContext {
            device: device.clone(),
        }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// As GStreamer passes it; persistent, so that it outlives a stop of the element.
    pub fn to_gst(&self) -> gst::Context {
        let mut context = gst::Context::new(CONTEXT_TYPE, true);
        // A new context has one reference, ours.
        if let Some(context) = context.get_mut() {
            write_payload(context.structure_mut(), &self.device);
        }
        context
    }

    /// Reads what [`HipContext::to_gst`] made, here or in another copy of this crate, whose device
    /// becomes this copy's for the same context (on Host: of the same number); `None` for
    /// anything else.
    pub fn from_gst(context: &gst::ContextRef) -> Option<HipContext> {
        if !context.has_context_type(CONTEXT_TYPE) {
            return None;
        }
        Some(HipContext {
            device: read_payload(context.structure())?,
        })
    }
}

/// Whether a device is one that the selector asks for. Any will do for `auto`: to share a
/// neighbour's is better than to open another.
pub fn satisfies(device: &Device, selector: &DeviceSelector) -> bool {
    let info = device.info();
    match selector {
        DeviceSelector::Auto => true,
        DeviceSelector::Vendor(vendor) => info.vendor == *vendor,
        DeviceSelector::Ordinal(vendor, ordinal) => {
            info.vendor == *vendor && info.ordinal == *ordinal
        }
        DeviceSelector::Pci(address) => info.pci_address == Some(*address),
        DeviceSelector::Uuid(uuid) => info.uuid == Some(*uuid),
        DeviceSelector::RenderNode(path) => info.render_node.as_ref() == Some(path),
        // A number depends on which vendors there are: the runtime knows.
        other => env::runtime().is_ok_and(|runtime| {
            runtime.select(other).is_ok_and(|selected| {
                (selected.info.vendor, selected.info.ordinal) == (info.vendor, info.ordinal)
            })
        }),
    }
}

/// Gives the element a device that `selector` asks for, and stores it in `current`: what it has,
/// what was set on it, a downstream neighbour's, an upstream neighbour's, the application's or
/// bin's (need-context); else one that is opened and announced (have-context), by one element of
/// those that need it at once.
///
/// Messages are posted and neighbours asked, and the application may set a context from there,
/// so no lock that the element's `set_context` or `query` takes may be held: pass a local
/// variable, and store it afterwards.
///
/// # Errors
/// No neighbour has such a device and it cannot be opened.
pub fn ensure_device(
    element: &impl IsA<gst::Element>,
    selector: &DeviceSelector,
    current: &mut Option<Device>,
) -> Result<Device> {
    let element = element.upcast_ref::<gst::Element>();
    let usable = |device: &Device| satisfies(device, selector);
    if let Some(device) = current.clone().filter(usable) {
        return Ok(device);
    }
    let found = set_on(element)
        .filter(usable)
        .or_else(|| ask_neighbours(&element.src_pads(), &usable))
        .or_else(|| ask_neighbours(&element.sink_pads(), &usable))
        .or_else(|| ask_application(element).filter(usable));
    let device = match found {
        Some(device) => device,
        None => open_once(element, selector)?,
    };
    *current = Some(device.clone());
    Ok(device)
}

/// The context that was set on the element (its `set_context` chains up, which keeps it).
fn set_on(element: &gst::Element) -> Option<Device> {
    let context = element.context(CONTEXT_TYPE)?;
    Some(HipContext::from_gst(&context)?.device)
}

/// The first usable device that the peers of these pads, or what is beyond them, tell of.
fn ask_neighbours(pads: &[gst::Pad], usable: &impl Fn(&Device) -> bool) -> Option<Device> {
    pads.iter().find_map(|pad| {
        let mut query = gst::query::Context::new(CONTEXT_TYPE);
        if !pad.peer_query(query.query_mut()) {
            return None;
        }
        let device = HipContext::from_gst(query.context()?)?.device;
        usable(&device).then_some(device)
    })
}

/// Whoever handles the message sets the context on the element before the post returns.
fn ask_application(element: &gst::Element) -> Option<Device> {
    let message = gst::message::NeedContext::builder(CONTEXT_TYPE)
        .src(element)
        .build();
    // Without a bus there is nobody to ask.
    let _ = element.post_message(message);
    set_on(element)
}

/// What an element around this one was told of, by another that announced its device.
fn told_around(element: &gst::Element) -> Option<Device> {
    let mut around = element.parent();
    while let Some(bin) = around {
        let element = bin.downcast_ref::<gst::Element>()?;
        if let Some(device) = set_on(element) {
            return Some(device);
        }
        around = bin.parent();
    }
    None
}

/// Opens and announces a device, one element after the other: of elements that start at once and
/// that nobody answered, the first does it and the others find what their bin was told.
///
/// Only have-context is posted under the lock, which asks nobody for anything. A handler of that
/// message that starts other elements, on the same thread, goes without.
fn open_once(element: &gst::Element, selector: &DeviceSelector) -> Result<Device> {
    static OPENING: Mutex<()> = Mutex::new(());
    thread_local! {
        static MINE: Cell<bool> = const { Cell::new(false) };
    }
    if MINE.get() {
        return open_and_announce(element, selector);
    }
    let _one_at_a_time = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = told_around(element).filter(|device| satisfies(device, selector)) {
        return Ok(device);
    }
    MINE.set(true);
    let opened = open_and_announce(element, selector);
    MINE.set(false);
    opened
}

fn open_and_announce(element: &gst::Element, selector: &DeviceSelector) -> Result<Device> {
    let device = env::open_device(selector)?;
    tracing::info!(device = %device.info(), element = %element.name(), "device opened");
    let context = HipContext::new(&device).to_gst();
    let message = gst::message::HaveContext::builder(context)
        .src(element)
        .build();
    // Without a bus there is nobody to tell; neighbours still ask.
    let _ = element.post_message(message);
    Ok(device)
}

/// For an element's `set_context`, which chains up afterwards: takes the context's device if it is
/// one and `selector` asks for it. A device that is in use and will do is kept until the element
/// lets it go. Gives whether `current` is now the context's device.
pub fn handle_set_context(
    element: &impl IsA<gst::Element>,
    context: &gst::Context,
    selector: &DeviceSelector,
    current: &mut Option<Device>,
) -> bool {
    let Some(HipContext { device }) = HipContext::from_gst(context) else {
        return false;
    };
    if !satisfies(&device, selector) {
        let name = element.upcast_ref::<gst::Element>().name();
        tracing::debug!(device = %device.info(), %selector, element = %name, "context not taken");
        return false;
    }
    if current
        .as_ref()
        .is_none_or(|current| !satisfies(current, selector))
    {
        *current = Some(device.clone());
    }
    *current == Some(device)
}

/// For an element's `query`: answers a neighbour that asks for a device. Gives whether the query
/// was one and was answered.
pub fn handle_context_query(query: &mut gst::QueryRef, device: Option<&Device>) -> bool {
    let (QueryViewMut::Context(query), Some(device)) = (query.view_mut(), device) else {
        return false;
    };
    if query.context_type() != CONTEXT_TYPE {
        return false;
    }
    query.set_context(&HipContext::new(device).to_gst());
    true
}
