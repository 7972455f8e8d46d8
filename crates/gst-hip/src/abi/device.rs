//! Devices of this copy as others see them, and devices of others as this copy uses them.

use std::sync::{Arc, Mutex, PoisonError};

use gst::glib;
use gst::glib::translate::{IntoGlib, from_glib_full, from_glib_none};
use hip_core::{Device, DeviceSelector, Vendor, WeakDevice};
use hip_dispatch::ContextHandle;

use super::error::{read_text, write_text};
use super::layout::*;
use super::size_of;
use super::types::device_type;
use crate::{Error, MemoryKind, Result, env};

/// A device that others may hold. Counted as an `Arc`.
#[repr(C)]
pub(crate) struct Payload {
    /// First, so that a pointer to it is a pointer to the whole.
    abi: GstHipRsDevice,
    device: Device,
}

// SAFETY: the structure never changes; its pointers are to a static table and a handle that is a
// number to this process. The device is `Send` and `Sync` itself.
unsafe impl Send for Payload {}
// SAFETY: as above.
unsafe impl Sync for Payload {}

static OWN: GstHipRsDeviceVTable = GstHipRsDeviceVTable {
    size: size_of::<GstHipRsDeviceVTable>(),
    abi_version: GST_HIP_RS_ABI_VERSION,
    retain,
    release,
};

unsafe extern "C" fn retain(device: *const GstHipRsDevice) -> *const GstHipRsDevice {
    // SAFETY: `device` is the start of a live `Payload` in an `Arc`: only those have this table.
    unsafe { Arc::increment_strong_count(device.cast::<Payload>()) };
    device
}

unsafe extern "C" fn release(device: *const GstHipRsDevice) {
    super::guard("device release", (), || {
        // SAFETY: as above; the caller gives back a reference that it has.
        unsafe { Arc::decrement_strong_count(device.cast::<Payload>()) }
    });
}

impl Payload {
    /// The device as others see it.
    pub(crate) fn new(device: &Device) -> Arc<Payload> {
        let info = device.info();
        let mut abi = GstHipRsDevice {
            size: size_of::<GstHipRsDevice>(),
            abi_version: GST_HIP_RS_ABI_VERSION,
            vtable: &OWN,
            vendor: vendor_number(info.vendor),
            ordinal: info.ordinal,
            library: device.backend().identity() as u64,
            context: device.as_raw_context().as_raw(),
            flags: 0,
            pci_domain: 0,
            pci_bus: 0,
            pci_device: 0,
            pci_function: 0,
            reserved: 0,
            uuid: [0; 16],
            name: [0; 128],
        };
        if let Some(uuid) = info.uuid {
            abi.flags |= GST_HIP_RS_DEVICE_HAS_UUID;
            abi.uuid = uuid.0;
        }
        if let Some(pci) = info.pci_address {
            abi.flags |= GST_HIP_RS_DEVICE_HAS_PCI;
            (abi.pci_domain, abi.pci_bus) = (pci.domain, pci.bus);
            (abi.pci_device, abi.pci_function) = (pci.device, pci.function);
        }
        if info.limits.host_addressable {
            abi.flags |= GST_HIP_RS_DEVICE_HOST_ADDRESSABLE;
        }
        if !device.is_foreign() {
            abi.flags |= GST_HIP_RS_DEVICE_PRIMARY;
        }
        write_text(&mut abi.name, &info.to_string());
        remember(Key::of(&abi), device);
        Arc::new(Payload {
            abi,
            device: device.clone(),
        })
    }

    /// What others are given; lives as long as the payload.
    pub(crate) fn as_abi(&self) -> *const GstHipRsDevice {
        std::ptr::from_ref(self).cast()
    }
}

/// A device of this copy's as others see it, with a reference for the caller, which goes back by
/// the `release` of its table.
pub fn export_device(device: &Device) -> *const GstHipRsDevice {
    Arc::into_raw(Payload::new(device)).cast()
}

pub(crate) fn kind_number(kind: MemoryKind) -> u32 {
    match kind {
        MemoryKind::Device => GST_HIP_RS_KIND_DEVICE,
        MemoryKind::Pinned => GST_HIP_RS_KIND_PINNED,
    }
}

/// The numbers of [`GstHipRsDevice::vendor`].
const VENDORS: [(Vendor, u32); 3] = [(Vendor::Amd, 1), (Vendor::Nvidia, 2), (Vendor::Host, 3)];

fn vendor_number(vendor: Vendor) -> u32 {
    VENDORS
        .iter()
        .find(|(known, _)| *known == vendor)
        .map_or(0, |(_, number)| *number)
}

/// What tells one context of the process from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    library: u64,
    context: usize,
    vendor: u32,
    ordinal: u32,
}

impl Key {
    fn of(abi: &GstHipRsDevice) -> Key {
        Key {
            library: abi.library,
            context: abi.context.addr(),
            vendor: abi.vendor,
            ordinal: abi.ordinal,
        }
    }
}

/// This copy's device for each context it has met, its own and others'.
static KNOWN: Mutex<Vec<(Key, WeakDevice)>> = Mutex::new(Vec::new());

fn remember(key: Key, device: &Device) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.retain(|(_, weak)| weak.upgrade().is_some());
    if !known.iter().any(|(other, _)| *other == key) {
        known.push((key, device.downgrade()));
    }
}

fn known(wanted: impl Fn(&Key, &Device) -> bool) -> Option<Device> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known
        .iter()
        .filter_map(|(key, weak)| Some((key, weak.upgrade()?)))
        .find(|(key, device)| wanted(key, device))
        .map(|(_, device)| device)
}

glib::wrapper! {
    /// A reference to a payload, whoever's it is; in a `glib::Value`, `GstHipRsDevice`.
    #[derive(Debug)]
    pub(crate) struct DeviceRef(Boxed<GstHipRsDevice>);

    match fn {
        copy => |device| retain_any(device).cast_mut(),
        free => |device| release_any(device),
        type_ => || device_type().into_glib(),
    }
}

// SAFETY: a payload's functions may be called from any thread, as its layout says.
unsafe impl Send for DeviceRef {}
// SAFETY: as above; what a payload says never changes.
unsafe impl Sync for DeviceRef {}

impl DeviceRef {
    /// This copy's device as others see it.
    pub(crate) fn new(device: &Device) -> DeviceRef {
        // SAFETY: the reference is the new object's.
        unsafe { from_glib_full(export_device(device).cast_mut()) }
    }

    /// See [`adopt`].
    pub(crate) fn adopt(&self) -> Result<Device> {
        // SAFETY: alive by the reference.
        unsafe { adopt(self.as_ptr()) }
    }
}

/// Adds a reference.
///
/// # Safety
/// `device` is a live payload.
pub(super) unsafe fn retain_any(device: *const GstHipRsDevice) -> *const GstHipRsDevice {
    // SAFETY: alive by the caller's word, so its table is too.
    unsafe { ((*(*device).vtable).retain)(device) }
}

/// Gives a reference back.
///
/// # Safety
/// `device` is a live payload, and the reference is the caller's.
pub(super) unsafe fn release_any(device: *const GstHipRsDevice) {
    // SAFETY: as above.
    unsafe { ((*(*device).vtable).release)(device) }
}

/// This copy's device for a payload: the one it came from if it is our own, one for the same
/// context if both copies use the same vendor library, this copy's device of the same number
/// where device memory is the CPU's own.
///
/// # Errors
/// The payload is of another version, or of a library that is not this copy's.
///
/// # Safety
/// `device` is null or a live payload.
pub unsafe fn adopt(device: *const GstHipRsDevice) -> Result<Device> {
    // SAFETY: null or alive, by the caller's word.
    let Some(abi) = (unsafe { device.as_ref() }) else {
        return Err(Error::InvalidValue("there is no device".into()));
    };
    if abi.abi_version != GST_HIP_RS_ABI_VERSION || abi.size < size_of::<GstHipRsDevice>() {
        let text = format!("a device of ABI version {}", abi.abi_version);
        return Err(Error::InvalidValue(text));
    }
    if std::ptr::eq(abi.vtable, &OWN) {
        // SAFETY: only `Payload`s have our table.
        return Ok(unsafe { &*device.cast::<Payload>() }.device.clone());
    }
    let key = Key::of(abi);
    if let Some(found) = known(|other, _| *other == key) {
        return Ok(found);
    }
    let found = open_for(abi, device)?;
    tracing::info!(device = %found.info(), "another copy's device");
    remember(key, &found);
    Ok(found)
}

fn open_for(abi: &GstHipRsDevice, raw: *const GstHipRsDevice) -> Result<Device> {
    let strange = |why: &str| {
        let name = read_text(&abi.name);
        Error::InvalidValue(format!("another copy's {name}: {why}"))
    };
    let vendor = VENDORS
        .iter()
        .find(|(_, number)| *number == abi.vendor)
        .map(|(vendor, _)| *vendor)
        .ok_or_else(|| strange("a vendor that is not known here"))?;
    let selector = DeviceSelector::Ordinal(vendor, abi.ordinal);
    let backend = env::runtime()?
        .backend(vendor)
        .map_err(|error| strange(&error.to_string()))?
        .clone();
    if backend.identity() as u64 == abi.library {
        if abi.flags & GST_HIP_RS_DEVICE_PRIMARY != 0 {
            let device = env::open_device(&selector)?;
            if device.as_raw_context().as_raw() == abi.context {
                return Ok(device);
            }
        }
        // SAFETY: the payload is alive by the caller's word.
        let keep_alive: DeviceRef = unsafe { from_glib_none(raw.cast_mut()) };
        let context = ContextHandle::from_raw(abi.context);
        // SAFETY: the context is the payload's, of the same loaded library, and lives as long as
        // the reference just taken.
        let device = unsafe {
            Device::from_foreign_context(backend, abi.ordinal, context, Box::new(keep_alive))
        };
        return Ok(device?);
    }
    if abi.flags & GST_HIP_RS_DEVICE_HOST_ADDRESSABLE == 0 {
        return Err(strange("its library is not the one loaded here"));
    }
    // Each copy has threads of its own, and the memory is everybody's.
    let same = |key: &Key, device: &Device| {
        (key.vendor, key.ordinal) == (abi.vendor, abi.ordinal)
            && device.backend().identity() as u64 == key.library
    };
    let device = match known(same) {
        Some(device) => device,
        None => env::open_device(&selector)?,
    };
    match device.info().limits.host_addressable {
        true => Ok(device),
        false => Err(strange("its memory cannot be addressed here")),
    }
}
