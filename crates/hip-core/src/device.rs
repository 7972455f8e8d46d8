use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock, Weak};

use hip_dispatch::{
    Backend, ContextGuardToken, ContextHandle, DeviceInfo, DeviceSelector, MemoryInfo,
    ProcessStamp, Runtime, Vendor,
};

use crate::event::EventPool;
use crate::statistics::{Counters, Statistics};
use crate::worker::CompletionWorker;
use crate::{Error, Result};

/// A device and one of its contexts. Cheap to clone; equal when the context is the same.
#[derive(Clone)]
pub struct Device(pub(crate) Arc<DeviceInner>);

/// A device that may be closed meanwhile.
#[derive(Clone)]
pub struct WeakDevice(Weak<DeviceInner>);

impl WeakDevice {
    /// The device, if somebody still has it open.
    pub fn upgrade(&self) -> Option<Device> {
        self.0.upgrade().map(Device)
    }
}

impl fmt::Debug for WeakDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WeakDevice({:?})", self.upgrade())
    }
}

pub(crate) struct DeviceInner {
    pub(crate) backend: Arc<dyn Backend>,
    info: DeviceInfo,
    context: ContextHandle,
    /// What keeps a foreign context alive; `None` for the primary one, which is ours to release.
    foreign: Option<Box<dyn Any + Send + Sync>>,
    pub(crate) events: EventPool,
    pub(crate) worker: OnceLock<CompletionWorker>,
    pub(crate) counters: Counters,
    /// Set by the first automatic choice that fell back to this device.
    fallback: OnceLock<String>,
    process: ProcessStamp,
}

impl Device {
    /// Opens the device asked for, with its primary context, through the process's runtime. The
    /// same device opened twice is the same object.
    ///
    /// # Errors
    /// There is no such device (see [`Runtime::select`]) or its context cannot be made.
    pub fn open(selector: &DeviceSelector) -> Result<Device> {
        crate::open_device(Runtime::global(), selector)
    }

    /// Retains the primary context of a device that was chosen.
    pub(crate) fn retain_primary(backend: Arc<dyn Backend>, info: DeviceInfo) -> Result<Device> {
        let context = backend.primary_context_retain(info.ordinal)?;
        let inner = DeviceInner::new(backend, info, context, None);
        Ok(Device(Arc::new(inner)))
    }

    /// Adopts a context that somebody else made (GStreamer's CUDA elements use contexts of their
    /// own). `keep_alive` is dropped with the last object of this device.
    ///
    /// # Safety
    /// `context` is a live context of `backend`'s device `ordinal` and stays so until
    /// `keep_alive` is dropped.
    ///
    /// # Errors
    /// The device cannot be asked what it is.
    pub unsafe fn from_foreign_context(
        backend: Arc<dyn Backend>,
        ordinal: u32,
        context: ContextHandle,
        keep_alive: Box<dyn Any + Send + Sync>,
    ) -> Result<Device> {
        let info = backend.device_info(ordinal)?;
        let inner = DeviceInner::new(backend, info, context, Some(keep_alive));
        Ok(Device(Arc::new(inner)))
    }

    /// What the device is.
    #[inline]
    pub fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    /// Whose it is.
    #[inline]
    pub fn vendor(&self) -> Vendor {
        self.0.info.vendor
    }

    /// Why this is Host although a vendor's library was there; `None` otherwise.
    pub fn fallback_reason(&self) -> Option<&str> {
        self.0.fallback.get().map(String::as_str)
    }

    /// An automatic choice fell back to this device, which may have been open already.
    pub(crate) fn note_fallback(&self, reason: Option<String>) {
        if let Some(reason) = reason {
            self.0.fallback.get_or_init(|| reason);
        }
    }

    /// The vendor's calls. Using them directly is the documented way around this crate.
    #[inline]
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.0.backend
    }

    /// The context's handle.
    #[inline]
    pub fn as_raw_context(&self) -> ContextHandle {
        self.0.context
    }

    /// The device, without keeping it open.
    pub fn downgrade(&self) -> WeakDevice {
        WeakDevice(Arc::downgrade(&self.0))
    }

    /// Whether the context is one that somebody else made.
    pub fn is_foreign(&self) -> bool {
        self.0.foreign.is_some()
    }

    /// Makes the device's context current on this thread until the guard is dropped; what was
    /// current before, a neighbour's perhaps, comes back then.
    ///
    /// # Errors
    /// The context is gone, or this is the child of the process that opened the device.
    #[inline]
    pub fn bind(&self) -> Result<ContextGuard<'_>> {
        self.check_process("bind")?;
        // SAFETY: the context is retained, or kept alive by `foreign`, as long as `self`.
        let token = unsafe { self.0.backend.context_push(self.0.context) }?;
        Ok(ContextGuard {
            device: self,
            token,
            not_send: PhantomData,
        })
    }

    /// As [`Device::bind`], for giving something back: asked a second time where the first fails,
    /// since what is not given back now never is. `None`, and a line in the log, if both fail.
    #[doc(hidden)]
    pub fn bind_to_release(&self) -> Option<ContextGuard<'_>> {
        if !self.is_usable() {
            return None;
        }
        let bound = self.bind().or_else(|_| self.bind());
        let report = |error: &Error| tracing::warn!(%error, "something is not given back");
        bound.inspect_err(report).ok()
    }

    /// Fails, for `call`, in the child of the process that opened the device. What takes a lock asks
    /// first: a thread that is gone may hold it there.
    ///
    /// # Errors
    /// As said: of kind [`crate::ErrorKind::NotInitialized`].
    #[inline]
    pub fn check_process(&self, call: &'static str) -> Result<()> {
        Ok(self.0.process.check(self.0.info.vendor, call)?)
    }

    /// Whether this is the process that opened the device.
    pub(crate) fn is_usable(&self) -> bool {
        self.0.process.is_current()
    }

    /// Device memory, free and total.
    ///
    /// # Errors
    /// The vendor call fails.
    pub fn memory_info(&self) -> Result<MemoryInfo> {
        let _bound = self.bind()?;
        Ok(self.0.backend.mem_get_info()?)
    }

    /// Blocks until all work on every stream of the context is done.
    ///
    /// # Errors
    /// Work failed, or the device is lost.
    pub fn synchronize(&self) -> Result<()> {
        let _bound = self.bind()?;
        Ok(self.0.backend.context_synchronize()?)
    }

    /// What has been done so far.
    pub fn statistics(&self) -> Statistics {
        self.0.counters.snapshot()
    }

    /// Counts a kernel launch, which happens above this crate.
    #[doc(hidden)]
    #[inline]
    pub fn count_launch(&self) {
        crate::statistics::add(&self.0.counters.launches, 1);
    }

    /// Fails unless `other` has the same context.
    pub(crate) fn expect_same(&self, what: &'static str, other: &Device) -> Result<()> {
        if self == other {
            return Ok(());
        }
        let (found, expected) = (other.info().to_string(), self.info().to_string());
        Err(Error::DeviceMismatch {
            what,
            found,
            expected,
        })
    }
}

impl DeviceInner {
    fn new(
        backend: Arc<dyn Backend>,
        info: DeviceInfo,
        context: ContextHandle,
        foreign: Option<Box<dyn Any + Send + Sync>>,
    ) -> Self {
        DeviceInner {
            backend,
            info,
            context,
            foreign,
            events: EventPool::default(),
            worker: OnceLock::new(),
            counters: Counters::default(),
            fallback: OnceLock::new(),
            process: ProcessStamp::now(),
        }
    }
}

impl Drop for DeviceInner {
    fn drop(&mut self) {
        if !self.process.is_current() {
            // There is no worker to end, and its lock may be held for ever.
            std::mem::forget(self.worker.take());
            return;
        }
        self.events.destroy_all(&*self.backend, self.context);
        if self.foreign.is_some() {
            return;
        }
        // SAFETY: retained once in `retain_primary`; everything in the context that is ours held
        // this and is gone.
        let released = unsafe { self.backend.primary_context_release(self.info.ordinal) };
        if let Err(error) = released {
            tracing::warn!(%error, "context not released");
        }
    }
}

impl PartialEq for Device {
    #[inline]
    fn eq(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.vendor() == other.vendor()
                && self.0.context == other.0.context
                && Arc::ptr_eq(&self.0.backend, &other.0.backend))
    }
}

impl Eq for Device {}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Device({}, context {:?})",
            self.0.info,
            self.0.context.as_raw()
        )
    }
}

/// The device's context is current on this thread while this lives.
#[must_use]
pub struct ContextGuard<'a> {
    device: &'a Device,
    token: ContextGuardToken,
    /// A current context is a thread's: the guard must not leave it.
    not_send: PhantomData<*const ()>,
}

impl Drop for ContextGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Err(error) = self.device.0.backend.context_pop(self.token) {
            tracing::warn!(%error, "previous context not restored");
        }
    }
}
