use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use hip_dispatch::{Backend, ContextHandle, EventFlags, EventHandle};

use crate::primitive::{Mutex, lock};
use crate::statistics::add;
use crate::{Device, Result, Stream, StreamId};

/// A point on a stream. Cheap to clone; the last clone gives the vendor's event back to the
/// device for reuse, so a steady state creates none.
#[derive(Clone)]
pub struct Event(Arc<EventInner>);

struct EventInner {
    device: Device,
    handle: EventHandle,
    timing: bool,
    stream: StreamId,
    /// Counts the stream's events, in the order of their records.
    number: u64,
    /// The vendor has said that the work is done, which stays true: it is not asked again.
    done: AtomicBool,
}

/// Vendor events without time stamps that nobody refers to.
#[derive(Default)]
pub(crate) struct EventPool(Mutex<Vec<EventHandle>>);

/// More idle events than this are destroyed: a burst is not kept for ever.
const MAX_IDLE: usize = 256;

impl EventPool {
    pub(crate) fn destroy_all(&mut self, backend: &dyn Backend, context: ContextHandle) {
        let events = std::mem::take(self.0.get_mut().unwrap_or_else(PoisonError::into_inner));
        if events.is_empty() {
            return;
        }
        // SAFETY: called by the device, which still holds its context.
        let push = || unsafe { backend.context_push(context) };
        // As in `Device::bind_to_release`.
        let token = match push().or_else(|_| push()) {
            Ok(token) => token,
            Err(error) => return tracing::warn!(%error, "events are not given back"),
        };
        for event in events {
            // SAFETY: pooled events are alive, of this context, and referred to by nobody.
            if let Err(error) = unsafe { backend.event_destroy(event) } {
                tracing::warn!(%error, "event not destroyed");
            }
        }
        let _ = backend.context_pop(token);
    }
}

impl Event {
    /// Records all work enqueued on `stream` so far. With `timing`, [`Event::elapsed_ms`] works,
    /// and the event is a fresh one.
    pub(crate) fn record(stream: &Stream, timing: bool) -> Result<Event> {
        let device = stream.device().clone();
        let _bound = device.bind()?;
        let reused = match timing {
            true => None,
            false => lock(&device.0.events.0).pop(),
        };
        let handle = match reused {
            Some(handle) => handle,
            None => {
                let mut flags = EventFlags::BLOCKING_SYNC;
                flags.set(EventFlags::DISABLE_TIMING, !timing);
                add(&device.0.counters.events_created, 1);
                device.0.backend.event_create(flags)?
            }
        };
        let mut recorded = stream.recorded();
        let number = *recorded + 1;
        let inner = EventInner {
            device: device.clone(),
            handle,
            timing,
            stream: stream.id(),
            number,
            done: AtomicBool::new(false),
        };
        let event = Event(Arc::new(inner));
        // SAFETY: both handles are alive and belong to the bound context.
        unsafe { device.0.backend.event_record(handle, stream.as_raw()) }?;
        *recorded = number;
        Ok(event)
    }

    /// The device it belongs to.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// The stream it was recorded on.
    pub fn stream_id(&self) -> StreamId {
        self.0.stream
    }

    /// Whether it was recorded on the same stream as `other` and later, so that it stands for
    /// both.
    pub fn is_later_than(&self, other: &Event) -> bool {
        self.0.stream == other.0.stream && self.0.number > other.0.number
    }

    /// The vendor's event, alive as long as `self`.
    pub fn as_raw(&self) -> EventHandle {
        self.0.handle
    }

    /// Whether the work before it is done. Once it was seen to be, no vendor call is made.
    ///
    /// # Errors
    /// The work failed, or the device is lost.
    pub fn is_done(&self) -> Result<bool> {
        if self.is_known_done() {
            return Ok(true);
        }
        let _bound = self.0.device.bind()?;
        // SAFETY: the handle is alive and belongs to the bound context.
        let done = unsafe { self.0.device.0.backend.event_query(self.0.handle) }?;
        self.0.done.fetch_or(done, Ordering::Release);
        Ok(done)
    }

    fn is_known_done(&self) -> bool {
        self.0.done.load(Ordering::Acquire)
    }

    /// Blocks the calling thread until the work before it is done; returns at once, without a
    /// vendor call, where it was seen to be.
    ///
    /// # Errors
    /// The work failed, or the device is lost.
    pub fn synchronize(&self) -> Result<()> {
        if self.is_known_done() {
            return Ok(());
        }
        add(&self.0.device.0.counters.event_waits, 1);
        self.wait_uncounted()
    }

    /// As [`Event::synchronize`], for the completion worker: its waits hold nobody up.
    pub(crate) fn wait_uncounted(&self) -> Result<()> {
        if self.is_known_done() {
            return Ok(());
        }
        let _bound = self.0.device.bind()?;
        // SAFETY: the handle is alive and belongs to the bound context.
        unsafe { self.0.device.0.backend.event_synchronize(self.0.handle) }?;
        self.0.done.store(true, Ordering::Release);
        Ok(())
    }

    /// Device milliseconds from `earlier` to this; both come from
    /// [`Stream::record_timed`].
    ///
    /// # Errors
    /// One of them carries no time stamp or is not done.
    pub fn elapsed_ms(&self, earlier: &Event) -> Result<f32> {
        self.0
            .device
            .expect_same("the earlier event", &earlier.0.device)?;
        let _bound = self.0.device.bind()?;
        let (start, end) = (earlier.0.handle, self.0.handle);
        // SAFETY: both handles are alive and belong to the bound context.
        Ok(unsafe { self.0.device.0.backend.event_elapsed_time(start, end) }?)
    }
}

impl Drop for EventInner {
    fn drop(&mut self) {
        if !self.device.is_usable() {
            return;
        }
        if !self.timing {
            let mut idle = lock(&self.device.0.events.0);
            if idle.len() < MAX_IDLE {
                idle.push(self.handle);
                return;
            }
        }
        let Some(_bound) = self.device.bind_to_release() else {
            return;
        };
        // SAFETY: this was the last reference; destroying a pending event is harmless.
        if let Err(error) = unsafe { self.device.0.backend.event_destroy(self.handle) } {
            tracing::warn!(%error, "event not destroyed");
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({:?} on {:?})", self.0.handle, self.0.stream)
    }
}
