//! The device of an element: the properties that choose it, and the device and stream in use.

use std::sync::Mutex;

use gst::glib;
use gst::glib::prelude::*;
use gst::prelude::*;
use hip_core::{Device, DeviceSelector, Stream, Vendor};

use super::error::Error;
use super::vendor::VendorChoice;
use super::{CAT, lock};

/// What the user asked for.
#[derive(Debug, Clone)]
struct Settings {
    vendor: VendorChoice,
    device_id: i32,
    device: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            vendor: VendorChoice::Auto,
            device_id: -1,
            device: None,
        }
    }
}

impl Settings {
    /// The device to look for. With nothing set it is `GST_HIP_DEVICE`'s, or the best.
    ///
    /// # Errors
    /// A sentence for the user: the text of `device` or `GST_HIP_DEVICE` names no device, or the
    /// properties contradict each other.
    fn selector(&self) -> Result<DeviceSelector, String> {
        let vendor = self.vendor.vendor();
        let ordinal = u32::try_from(self.device_id).ok();
        let Some(text) = &self.device else {
            return match (vendor, ordinal) {
                (None, None) => gst_hip::env::default_selector().map_err(|e| e.to_string()),
                (None, Some(index)) => Ok(DeviceSelector::Index(index)),
                (Some(vendor), None) => Ok(DeviceSelector::Vendor(vendor)),
                (Some(vendor), Some(ordinal)) => Ok(DeviceSelector::Ordinal(vendor, ordinal)),
            };
        };
        let selector: DeviceSelector = text
            .parse()
            .map_err(|error| format!("property device: {error}"))?;
        let named = match selector {
            DeviceSelector::Vendor(vendor) | DeviceSelector::Ordinal(vendor, _) => Some(vendor),
            _ => None,
        };
        let contradiction = match (vendor, named) {
            (Some(vendor), Some(named)) => vendor != named,
            (Some(_), None) => !matches!(selector, DeviceSelector::Index(_)),
            (None, _) => false,
        };
        if contradiction || ordinal.is_some() {
            return Err(format!(
                "property device ({text}) cannot be combined with vendor={} device-id={}",
                vendor.map_or("auto", Vendor::name),
                self.device_id
            ));
        }
        Ok(match (vendor, selector) {
            (Some(vendor), DeviceSelector::Index(ordinal)) => {
                DeviceSelector::Ordinal(vendor, ordinal)
            }
            (_, selector) => selector,
        })
    }
}

/// What is in use.
#[derive(Debug, Default)]
struct State {
    device: Option<Device>,
    stream: Option<Stream>,
}

/// The part of an element that owns its device.
#[derive(Debug, Default)]
pub(crate) struct DeviceSlot {
    settings: Mutex<Settings>,
    state: Mutex<State>,
}

impl DeviceSlot {
    /// The properties, to be listed among the element's own.
    /// Made anew each time, since a class owns its own.
    pub(crate) fn properties() -> Vec<glib::ParamSpec> {
        let default = Settings::default();
        vec![
            glib::ParamSpecEnum::builder_with_default("vendor", default.vendor)
                .nick("Vendor")
                .blurb("Whose device to use; never another's if one is named")
                .mutable_ready()
                .build(),
            glib::ParamSpecInt::builder("device-id")
                .nick("Device ID")
                .blurb("Number of the device among its vendor's, or among all (-1: the best one)")
                .minimum(-1)
                .default_value(default.device_id)
                .mutable_ready()
                .build(),
            glib::ParamSpecString::builder("device")
                .nick("Device")
                .blurb(
                    "The device by name: nvidia:1, amd, host, a number, a PCI address \
                 (0000:3b:00.0), a UUID (GPU-...) or a render node (/dev/dri/renderD128)",
                )
                .mutable_ready()
                .build(),
            glib::ParamSpecString::builder("device-info")
                .nick("Device info")
                .blurb(
                    "The device in use, from PAUSED on, and why it is no GPU if one was expected",
                )
                .read_only()
                .build(),
        ]
    }

    /// Sets a property; `false` if it is none of these.
    pub(crate) fn set_property(&self, value: &glib::Value, pspec: &glib::ParamSpec) -> bool {
        let mut settings = lock(&self.settings);
        match pspec.name() {
            "vendor" => settings.vendor = value.get().unwrap_or_default(),
            "device-id" => settings.device_id = value.get().unwrap_or(-1),
            "device" => {
                let text: Option<String> = value.get().unwrap_or_default();
                settings.device = text.filter(|text| !text.is_empty());
            }
            _ => return false,
        }
        true
    }

    /// Reads a property; `None` if it is none of these.
    pub(crate) fn property(&self, pspec: &glib::ParamSpec) -> Option<glib::Value> {
        Some(match pspec.name() {
            "vendor" => lock(&self.settings).vendor.to_value(),
            "device-id" => lock(&self.settings).device_id.to_value(),
            "device" => lock(&self.settings).device.to_value(),
            "device-info" => self.device().map(|device| describe(&device)).to_value(),
            _ => return None,
        })
    }

    /// Finds or opens the device and makes the element's stream.
    ///
    /// # Errors
    /// There is no such device: the text says what was looked for and where.
    pub(crate) fn open(&self, element: &gst::Element) -> Result<(), gst::ErrorMessage> {
        let selector = lock(&self.settings)
            .selector()
            .map_err(|text| gst::error_msg!(gst::ResourceError::Settings, ("{}", text)))?;
        let mut device = self.device();
        let opened = gst_hip::context::ensure_device(element, &selector, &mut device);
        let device = opened.map_err(|error| {
            gst::error_msg!(
                gst::ResourceError::NotFound,
                ("No usable device for \"{}\": {}", selector, error)
            )
        })?;
        let stream = Stream::new(&device).map_err(|error| {
            gst::error_msg!(
                gst::LibraryError::Init,
                ("No stream on {}: {}", device.info(), error)
            )
        })?;
        gst::info!(CAT, obj = element, "using {}", describe(&device));
        if let Some(reason) = device.fallback_reason()
            && selector == DeviceSelector::Auto
            && first_in_pipeline(element)
        {
            gst::element_warning!(
                element,
                gst::ResourceError::NotFound,
                ("Running on the CPU ({}): {}", device.info(), reason)
            );
        }
        *lock(&self.state) = State {
            device: Some(device),
            stream: Some(stream),
        };
        element.notify("device-info");
        Ok(())
    }

    /// Lets go of device and stream; work in flight goes on and keeps what it needs.
    pub(crate) fn close(&self) {
        let state = std::mem::take(&mut *lock(&self.state));
        drop(state);
    }

    /// The device in use.
    pub(crate) fn device(&self) -> Option<Device> {
        lock(&self.state).device.clone()
    }

    /// The device and the element's own stream.
    ///
    /// # Errors
    /// The element was stopped.
    pub(crate) fn in_use(&self) -> Result<(Device, Stream), Error> {
        let state = lock(&self.state);
        state
            .device
            .clone()
            .zip(state.stream.clone())
            .ok_or(Error::Flushing)
    }

    /// Takes a device that the application or a neighbour offers, before one is in use.
    pub(crate) fn set_context(&self, element: &gst::Element, context: &gst::Context) {
        let Ok(selector) = lock(&self.settings).selector() else {
            return;
        };
        let mut device = self.device();
        if device.is_none()
            && gst_hip::context::handle_set_context(element, context, &selector, &mut device)
        {
            let mut state = lock(&self.state);
            if state.device.is_none() {
                state.device = device;
            }
        }
    }

    /// Answers a neighbour's query for the device; `false` if it is another query.
    pub(crate) fn query(&self, query: &mut gst::QueryRef) -> bool {
        query.type_() == gst::QueryType::Context
            && gst_hip::context::handle_context_query(query, self.device().as_ref())
    }
}

/// Whether no other element of the pipeline has asked this before.
fn first_in_pipeline(element: &gst::Element) -> bool {
    static ASKED: Mutex<Vec<glib::WeakRef<gst::Object>>> = Mutex::new(Vec::new());
    let mut root: gst::Object = element.clone().upcast();
    while let Some(parent) = root.parent() {
        root = parent;
    }
    let mut asked = lock(&ASKED);
    asked.retain(|known| known.upgrade().is_some());
    let first = !asked
        .iter()
        .any(|known| known.upgrade().as_ref() == Some(&root));
    if first {
        asked.push(root.downgrade());
    }
    first
}

/// The device, and why it is Host if a vendor's library was there.
fn describe(device: &Device) -> String {
    match device.fallback_reason() {
        Some(reason) => format!("{} (no GPU: {reason})", device.info()),
        None => device.info().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(
        vendor: VendorChoice,
        device_id: i32,
        device: Option<&str>,
    ) -> Result<String, String> {
        let settings = Settings {
            vendor,
            device_id,
            device: device.map(str::to_owned),
        };
        settings.selector().map(|selector| selector.to_string())
    }

    #[test]
    fn properties_name_a_device() {
        use VendorChoice::{Amd, Auto, Nvidia};
        for (vendor, device_id, device, expected) in [
            (Auto, 1, None, "1"),
            (Nvidia, -1, None, "nvidia"),
            (Amd, 1, None, "amd:1"),
            (Auto, -1, Some("nvidia:1"), "nvidia:1"),
            (Auto, -1, Some("0000:3b:00.0"), "0000:3b:00.0"),
            (Nvidia, -1, Some("2"), "nvidia:2"),
            (Nvidia, -1, Some("nvidia"), "nvidia"),
        ] {
            assert_eq!(selector(vendor, device_id, device).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn contradictions_are_refused() {
        use VendorChoice::{Amd, Auto, Nvidia};
        for (vendor, device_id, device) in [
            (Amd, -1, "nvidia:1"),
            (Auto, 1, "nvidia:1"),
            (Nvidia, -1, "0000:3b:00.0"),
            (Auto, -1, "voodoo"),
        ] {
            let text = selector(vendor, device_id, Some(device)).unwrap_err();
            assert!(
                text.contains(device) && text.contains("property device"),
                "{text}"
            );
        }
    }
}
