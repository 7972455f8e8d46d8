use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use hip_dispatch::{StreamFlags, StreamHandle};

use crate::primitive::{Mutex, MutexGuard, lock};
use crate::statistics::{add, sub};
use crate::{Device, Event, FenceData, Result};

/// Tells streams of the process apart; never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamId(NonZeroU64);

impl StreamId {
    /// Never used before in this process, as far as this copy of the crate knows.
    fn next() -> StreamId {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        StreamId(NonZeroU64::new(NEXT.fetch_add(1, Ordering::Relaxed)).unwrap_or(NonZeroU64::MAX))
    }

    /// As a number that is not 0. Another copy of this crate in the process counts for itself.
    pub fn get(self) -> u64 {
        self.0.get()
    }
}

/// A queue of device work, done in order. Cheap to clone.
#[derive(Clone)]
pub struct Stream(Arc<StreamInner>);

/// A stream that may be destroyed meanwhile.
#[derive(Clone)]
pub struct WeakStream(Weak<StreamInner>);

impl WeakStream {
    /// The stream, if somebody still has it.
    pub fn upgrade(&self) -> Option<Stream> {
        self.0.upgrade().map(Stream)
    }
}

impl fmt::Debug for WeakStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WeakStream({:?})", self.upgrade())
    }
}

struct StreamInner {
    device: Device,
    handle: StreamHandle,
    id: StreamId,
    /// What keeps a stream alive that somebody else made; `None` for our own, which is destroyed.
    foreign: Option<Box<dyn Any + Send + Sync>>,
    /// Events recorded so far. Locked while one is, so that their numbers are in stream order.
    recorded: Mutex<u64>,
}

impl Stream {
    /// A stream of default priority that does not wait for the default stream.
    ///
    /// # Errors
    /// The vendor call fails.
    pub fn new(device: &Device) -> Result<Stream> {
        Stream::with_priority(device, 0)
    }

    /// As [`Stream::new`]; smaller numbers are more urgent, clamped to what the device has.
    ///
    /// # Errors
    /// The vendor call fails.
    pub fn with_priority(device: &Device, priority: i32) -> Result<Stream> {
        let _bound = device.bind()?;
        let handle = device
            .0
            .backend
            .stream_create(StreamFlags::NON_BLOCKING, priority)?;
        add(&device.0.counters.streams_live, 1);
        Ok(Stream(Arc::new(StreamInner {
            device: device.clone(),
            handle,
            id: StreamId::next(),
            foreign: None,
            recorded: Mutex::new(0),
        })))
    }

    /// Adopts a stream that somebody else made, under an identity of its own: a stream adopted
    /// twice is two streams to those who ask for [`Stream::id`]. It is not destroyed here;
    /// `keep_alive` is dropped with the last clone.
    ///
    /// # Safety
    /// `handle` is a live stream of `device`'s context and vendor library, and stays so until
    /// `keep_alive` is dropped, or is not used through this object any more by then.
    pub unsafe fn from_foreign(
        device: &Device,
        handle: StreamHandle,
        keep_alive: Box<dyn Any + Send + Sync>,
    ) -> Stream {
        Stream(Arc::new(StreamInner {
            device: device.clone(),
            handle,
            id: StreamId::next(),
            foreign: Some(keep_alive),
            recorded: Mutex::new(0),
        }))
    }

    /// The device it belongs to.
    #[inline]
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Its identity.
    #[inline]
    pub fn id(&self) -> StreamId {
        self.0.id
    }

    /// The vendor's stream, alive as long as `self`.
    #[inline]
    pub fn as_raw(&self) -> StreamHandle {
        self.0.handle
    }

    /// The stream, without keeping it.
    pub fn downgrade(&self) -> WeakStream {
        WeakStream(Arc::downgrade(&self.0))
    }

    /// Whether the stream is one that somebody else made.
    pub fn is_foreign(&self) -> bool {
        self.0.foreign.is_some()
    }

    pub(crate) fn recorded(&self) -> MutexGuard<'_, u64> {
        lock(&self.0.recorded)
    }

    /// Blocks the calling thread until all work on the stream is done.
    ///
    /// # Errors
    /// The work failed, or the device is lost.
    pub fn synchronize(&self) -> Result<()> {
        let _bound = self.0.device.bind()?;
        add(&self.0.device.0.counters.stream_waits, 1);
        // SAFETY: the handle is alive and belongs to the bound context.
        Ok(unsafe { self.0.device.0.backend.stream_synchronize(self.0.handle) }?)
    }

    /// Whether all work on the stream is done.
    ///
    /// # Errors
    /// The work failed, or the device is lost.
    pub fn is_idle(&self) -> Result<bool> {
        let _bound = self.0.device.bind()?;
        // SAFETY: the handle is alive and belongs to the bound context.
        Ok(unsafe { self.0.device.0.backend.stream_query(self.0.handle) }?)
    }

    /// Later work on this stream waits for the event, on the device: the thread does not. An
    /// event of this very stream needs no wait and gets none.
    ///
    /// # Errors
    /// The event belongs to another device, or the vendor call fails.
    pub fn wait(&self, event: &Event) -> Result<()> {
        if event.stream_id() == self.0.id {
            return Ok(());
        }
        self.0.device.expect_same("the event", event.device())?;
        let _bound = self.0.device.bind()?;
        // SAFETY: both handles are alive and belong to the bound context.
        Ok(unsafe {
            self.0
                .device
                .0
                .backend
                .stream_wait_event(self.0.handle, event.as_raw())
        }?)
    }

    /// An event at the end of the work enqueued so far.
    ///
    /// # Errors
    /// The vendor call fails.
    pub fn record(&self) -> Result<Event> {
        Event::record(self, false)
    }

    /// As [`Stream::record`], with a time stamp for [`Event::elapsed_ms`].
    ///
    /// # Errors
    /// The vendor call fails.
    pub fn record_timed(&self) -> Result<Event> {
        Event::record(self, true)
    }

    /// Calls `function` on a thread of the driver's when all work so far is done. The function must
    /// be short and must not use the device: the stream waits for it.
    ///
    /// # Errors
    /// The vendor call fails; the function is then dropped and not called.
    pub fn launch_host_func(&self, function: impl FnOnce() + Send + 'static) -> Result<()> {
        type Boxed = Box<dyn FnOnce() + Send>;
        unsafe extern "C" fn call(data: *mut c_void) {
            // SAFETY: `data` is the box leaked below; the driver calls this once.
            let function = unsafe { Box::from_raw(data.cast::<Boxed>()) };
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(function)).is_err() {
                tracing::error!("a host function on a stream panicked");
            }
        }
        let _bound = self.0.device.bind()?;
        let data = Box::into_raw(Box::<Boxed>::new(Box::new(function)));
        let backend = &self.0.device.0.backend;
        // SAFETY: the stream is alive; `data` stays valid until `call` takes it.
        let result = unsafe { backend.launch_host_func(self.0.handle, call, data.cast()) };
        if result.is_err() {
            // SAFETY: a failed call never calls the function, so the box is still ours.
            drop(unsafe { Box::from_raw(data) });
        }
        Ok(result?)
    }

    /// Keeps `fence`'s resources alive until all work enqueued so far is done; the device's
    /// completion worker releases them then.
    ///
    /// # Errors
    /// No event could be recorded: the stream is then waited for, and the resources released on
    /// this thread.
    pub fn keep_alive(&self, fence: FenceData) -> Result<()> {
        if fence.is_empty() {
            return Ok(());
        }
        match self.record() {
            Ok(event) => fence.release_after([event]),
            Err(error) => {
                // Without an event the only safe point known is the end of the stream.
                let _ = self.synchronize();
                drop(fence);
                Err(error)
            }
        }
    }
}

impl Drop for StreamInner {
    fn drop(&mut self) {
        if self.foreign.is_some() {
            return;
        }
        if let Some(_bound) = self.device.bind_to_release() {
            // SAFETY: the last reference; both vendors let work that is already on the stream finish.
            if let Err(error) = unsafe { self.device.0.backend.stream_destroy(self.handle) } {
                tracing::warn!(%error, "stream not destroyed");
            }
        }
        sub(&self.device.0.counters.streams_live, 1);
    }
}

impl PartialEq for Stream {
    fn eq(&self, other: &Stream) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for Stream {}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({}, {})", self.0.id.0, self.0.device.info())
    }
}
