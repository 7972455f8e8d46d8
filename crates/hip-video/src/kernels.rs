//! The kernels loaded on a device, shared by its converters.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use hip_core::Device;
use hip_rtc::{Function, KernelModule};

use crate::error::Result;
use crate::prebuilt::CONVERT;

/// The conversion kernels of one device, each loaded when it is first needed. As long as someone
/// keeps this (every converter does), further converters on the device load nothing twice.
#[derive(Debug)]
pub struct Kernels {
    device: Device,
    loaded: Mutex<[Option<Function>; CONVERT.len()]>,
}

/// Those that somebody keeps. They are few: one for each context in use.
static KEPT: Mutex<Vec<Weak<Kernels>>> = Mutex::new(Vec::new());

impl Kernels {
    /// The kernels of a device: those already in use, or none loaded yet.
    pub fn of(device: &Device) -> Arc<Kernels> {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kernels| kernels.strong_count() > 0);
        if let Some(found) = kept
            .iter()
            .filter_map(Weak::upgrade)
            .find(|k| k.device == *device)
        {
            return found;
        }
        let loaded = Mutex::new([const { None }; CONVERT.len()]);
        let kernels = Arc::new(Kernels {
            device: device.clone(),
            loaded,
        });
        kept.push(Arc::downgrade(&kernels));
        kernels
    }

    /// The device they are for.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The entry point of that number in [`CONVERT`], loaded if it was not.
    pub(crate) fn get(&self, number: usize) -> Result<Function> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = &loaded[number] {
            return Ok(function.clone());
        }
        let prebuilt = &CONVERT[number];
        let function =
            KernelModule::from_prebuilt(&self.device, prebuilt)?.function(prebuilt.name)?;
        Ok(loaded[number].insert(function).clone())
    }
}
