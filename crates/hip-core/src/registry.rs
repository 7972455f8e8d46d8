use std::sync::{Arc, Mutex, PoisonError, Weak};

use hip_dispatch::{Backend, DeviceSelector, Runtime};

use crate::device::DeviceInner;
use crate::{Device, Result};

/// Devices open now, by their primary context.
static OPEN: Mutex<Vec<Weak<DeviceInner>>> = Mutex::new(Vec::new());

/// Opens the device asked for, with its primary context, through `runtime`. While it is open, the
/// same object is given again, so that pools and counters are shared.
///
/// # Errors
/// There is no such device (see [`Runtime::select`]) or its context cannot be made.
pub fn open_device(runtime: &Runtime, selector: &DeviceSelector) -> Result<Device> {
    let selected = runtime.select(selector)?;
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|device| device.strong_count() > 0);
    let found = open
        .iter()
        .filter_map(Weak::upgrade)
        .map(Device)
        .find(|device| {
            device.info().ordinal == selected.info.ordinal
                && same_backend(device.backend(), &selected.backend)
                && !device.is_foreign()
        });
    // An automatic choice that fell back carries its reason; the object found may lack it.
    if let Some(device) = found
        && device.fallback_reason() == selected.fallback.as_deref()
    {
        return Ok(device);
    }
    let device = Device::retain_primary(selected.backend, selected.info, selected.fallback)?;
    open.push(Arc::downgrade(&device.0));
    Ok(device)
}

fn same_backend(a: &Arc<dyn Backend>, b: &Arc<dyn Backend>) -> bool {
    Arc::ptr_eq(a, b)
}
