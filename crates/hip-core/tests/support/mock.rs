//! The CPU as a device that fails on demand.

use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};

use hip_core::{Device, DeviceSelector, LoaderConfig, Runtime};
use hip_dispatch::{
    Backend, ContextGuardToken, ContextHandle, DeviceInfo, DevicePtr, EventFlags, EventHandle,
    FunctionHandle, HipError, Host, HostAllocFlags, HostFn, ImageKind, LaunchConfig, LoadedLibrary,
    Memcpy2D, MemoryInfo, MemsetValue, ModuleHandle, ModuleImage, Result, StreamFlags,
    StreamHandle, Vendor, Versions,
};

#[macro_use]
#[path = "../../../hip-dispatch/tests/support/delegate.rs"]
mod delegate;

/// Host with faults. Releases reach Host whatever they report, so that what is left alive at the
/// end is what was never released.
#[derive(Debug)]
pub(crate) struct Mock {
    pub(crate) host: Arc<Host>,
    /// What every call gives once the device is lost; 0 before.
    lost: AtomicI32,
    /// One fault: the n-th call of a name, counted from 1, gives this code.
    planned: Mutex<Option<(&'static str, u32, i32)>>,
    calls: Mutex<HashMap<&'static str, u32>>,
}

impl Mock {
    /// A device of a backend of its own.
    pub(crate) fn open() -> (Arc<Mock>, Device) {
        let mock = Arc::new(Mock {
            host: Host::new(1),
            lost: AtomicI32::new(0),
            planned: Mutex::default(),
            calls: Mutex::default(),
        });
        let device = mock.device().unwrap();
        (mock, device)
    }

    /// The device, opened anew if nobody has it open.
    pub(crate) fn device(self: &Arc<Mock>) -> hip_core::Result<Device> {
        let runtime = Runtime::with_backends(LoaderConfig::default(), vec![self.clone()]);
        hip_core::open_device(&runtime, &DeviceSelector::Vendor(Vendor::Host))
    }

    /// From now on every call but those that make a context current gives `code`, as drivers do
    /// after an error that sticks.
    pub(crate) fn lose(&self, code: i32) {
        self.lost.store(code, Ordering::SeqCst);
    }

    /// The `n`-th call of `call` from now on gives `code`, once.
    pub(crate) fn plan(&self, call: &'static str, n: u32, code: i32) {
        *self.planned.lock().unwrap() = Some((call, n, code));
    }

    /// Whether the planned fault has not happened; it will not any more.
    pub(crate) fn unplan(&self) -> bool {
        self.planned.lock().unwrap().take().is_some()
    }

    /// How often each call was made.
    pub(crate) fn calls(&self) -> HashMap<&'static str, u32> {
        self.calls.lock().unwrap().clone()
    }

    fn before(&self, call: &'static str) -> Result<()> {
        *self.calls.lock().unwrap().entry(call).or_default() += 1;
        let mut planned = self.planned.lock().unwrap();
        if let Some((name, left, code)) = &mut *planned
            && *name == call
        {
            *left -= 1;
            if *left == 0 {
                let code = *code;
                *planned = None;
                return Err(HipError::new(Vendor::Host, call, code, "planned"));
            }
        }
        drop(planned);
        match self.lost.load(Ordering::SeqCst) {
            0 => Ok(()),
            _ if call.starts_with("context_p") => Ok(()),
            code => Err(HipError::new(Vendor::Host, call, code, "lost")),
        }
    }

    fn inner(&self) -> &dyn Backend {
        &*self.host
    }
}

impl Backend for Mock {
    fn vendor(&self) -> Vendor {
        Vendor::Host
    }

    fn device_count(&self) -> Result<u32> {
        self.inner().device_count()
    }

    fn device_info(&self, ordinal: u32) -> Result<DeviceInfo> {
        self.inner().device_info(ordinal)
    }

    delegate_identity!();
    delegate_memory_and_modules!();
    delegate_queues!();
}
