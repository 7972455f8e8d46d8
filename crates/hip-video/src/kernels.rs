//! The kernels loaded on a device, shared by its converters.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use hip_core::Device;
use hip_rtc::{Function, KernelModule, Prebuilt};

use crate::error::Result;

/// The kernels of one device, each loaded when it is first needed. As long as someone keeps this
/// (every converter does), further converters on the device load nothing twice.
#[derive(Debug)]
pub struct Kernels {
    device: Device,
    /// By the entry point's name.
    loaded: Mutex<HashMap<&'static str, Function>>,
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
        let kernels = Arc::new(Kernels {
            device: device.clone(),
            loaded: Mutex::default(),
        });
        kept.push(Arc::downgrade(&kernels));
        kernels
    }

    /// The device they are for.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The entry point of a module, loaded if it was not.
    pub(crate) fn get(&self, prebuilt: &'static Prebuilt) -> Result<Function> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = loaded.get(prebuilt.name) {
            return Ok(function.clone());
        }
        let function =
            KernelModule::from_prebuilt(&self.device, prebuilt)?.function(prebuilt.name)?;
        loaded.insert(prebuilt.name, function.clone());
        Ok(function)
    }
}
