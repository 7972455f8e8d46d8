use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use hip_dispatch::{DeviceSelector, ProcessStamp, Runtime};

use crate::device::DeviceInner;
use crate::{Device, Result};

/// Devices open in one process, by their primary context.
struct Open {
    process: ProcessStamp,
    devices: Mutex<Vec<Weak<DeviceInner>>>,
}

/// This process's list. A child of a fork makes one of its own: the lock of its parent's may be
/// held by a thread that is gone.
fn open_now() -> &'static Open {
    static OPEN: AtomicPtr<Open> = AtomicPtr::new(std::ptr::null_mut());
    let current = OPEN.load(Ordering::Acquire);
    // SAFETY: null, or a list that was leaked below and is never freed.
    if let Some(open) = unsafe { current.as_ref() }
        && open.process.is_current()
    {
        return open;
    }
    let fresh = Box::into_raw(Box::new(Open {
        process: ProcessStamp::now(),
        devices: Mutex::default(),
    }));
    match OPEN.compare_exchange(current, fresh, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: just leaked.
        Ok(_) => unsafe { &*fresh },
        Err(other) => {
            // SAFETY: nobody else has seen `fresh`.
            drop(unsafe { Box::from_raw(fresh) });
            // SAFETY: another thread of this process leaked it a moment ago.
            unsafe { &*other }
        }
    }
}

/// Opens the device asked for, with its primary context, through `runtime`. While it is open, the
/// same object is given again, so that pools and counters are shared.
///
/// # Errors
/// There is no such device (see [`Runtime::select`]) or its context cannot be made.
pub fn open_device(runtime: &Runtime, selector: &DeviceSelector) -> Result<Device> {
    let selected = runtime.select(selector)?;
    let devices = &open_now().devices;
    let mut open = devices.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|device| device.strong_count() > 0);
    let found = open
        .iter()
        .filter_map(Weak::upgrade)
        .map(Device)
        .find(|device| {
            device.info().ordinal == selected.info.ordinal
                && Arc::ptr_eq(device.backend(), &selected.backend)
                && !device.is_foreign()
        });
    let device = match found {
        Some(device) => device,
        None => {
            let device = Device::retain_primary(selected.backend, selected.info)?;
            open.push(Arc::downgrade(&device.0));
            device
        }
    };
    device.note_fallback(selected.fallback);
    Ok(device)
}
