use std::fmt;
use std::sync::Arc;

use hip_core::{DevicePtr, Event, PlaneEnd, Stream};

use super::MemoryKind;
use super::allocation::{Allocation, Mode, record_or_wait};
use super::remote::RemoteGrant;
use crate::{Error, Result};

/// Leave to enqueue work on a memory's bytes, on one stream.
///
/// Lives only while the work is enqueued: [`DeviceAccess::finish`] stores the event after it, and
/// dropping records one. It holds the allocation, not the buffer, so it starves no pool.
#[must_use = "the work must be enqueued while the access lives"]
pub struct DeviceAccess {
    grant: Grant,
    stream: Stream,
    mode: Mode,
    len: usize,
    open: bool,
}

/// Whose memory the access is to.
enum Grant {
    /// This copy's: the allocation, and where in it the first byte is.
    Own(Arc<Allocation>, usize),
    /// Another copy's.
    Remote(RemoteGrant),
}

impl DeviceAccess {
    pub(super) fn new(
        allocation: Arc<Allocation>,
        stream: Stream,
        mode: Mode,
        offset: usize,
        len: usize,
    ) -> DeviceAccess {
        DeviceAccess {
            grant: Grant::Own(allocation, offset),
            stream,
            mode,
            len,
            open: true,
        }
    }

    pub(super) fn remote(
        grant: RemoteGrant,
        stream: Stream,
        mode: Mode,
        len: usize,
    ) -> DeviceAccess {
        DeviceAccess {
            grant: Grant::Remote(grant),
            stream,
            mode,
            len,
            open: true,
        }
    }

    /// The first byte on the device; null for pinned memory, which has no address there.
    pub fn device_ptr(&self) -> DevicePtr {
        match &self.grant {
            Grant::Own(allocation, offset) => match allocation.device_ptr() {
                DevicePtr::NULL => DevicePtr::NULL,
                ptr => ptr.offset(*offset),
            },
            Grant::Remote(grant) => grant.device_ptr(),
        }
    }

    /// The first byte for copies from and to the CPU: set for pinned memory and where device
    /// memory is the CPU's own, null otherwise.
    pub fn host_ptr(&self) -> *mut u8 {
        match &self.grant {
            Grant::Own(allocation, offset) => match allocation.host_ptr() {
                Some(ptr) => ptr.wrapping_add(*offset),
                None => std::ptr::null_mut(),
            },
            Grant::Remote(grant) => grant.host_ptr(),
        }
    }

    /// The first byte as one end of a copy, whatever the kind.
    pub fn end(&self) -> PlaneEnd {
        match self.kind() {
            MemoryKind::Device => PlaneEnd::Device(self.device_ptr()),
            MemoryKind::Pinned => PlaneEnd::Host(self.host_ptr()),
        }
    }

    /// The memory's kind.
    pub fn kind(&self) -> MemoryKind {
        match &self.grant {
            Grant::Own(allocation, _) => allocation.kind(),
            Grant::Remote(grant) => grant.kind(),
        }
    }

    /// Bytes that may be touched.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.len
    }

    /// The stream that the work belongs on.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The work is enqueued, and `event` was recorded after it on the access's stream. Where the
    /// memory is another copy's Host memory, the thread waits for the event.
    ///
    /// # Errors
    /// The event is of another stream; an event of its own is then recorded. Or the work failed,
    /// and it had to be waited for.
    pub fn finish(mut self, event: &Event) -> Result<()> {
        if event.stream_id() != self.stream.id() {
            return Err(Error::InvalidValue(
                "the event that ends an access was recorded on another stream".into(),
            ));
        }
        self.close(Some(event))
    }

    fn close(&mut self, event: Option<&Event>) -> Result<()> {
        self.open = false;
        match &mut self.grant {
            Grant::Own(allocation, _) => {
                let event = event.cloned().or_else(|| record_or_wait(&self.stream));
                allocation.end(&self.stream, self.mode, event);
                Ok(())
            }
            Grant::Remote(grant) => grant.end(&self.stream, event),
        }
    }
}

impl Drop for DeviceAccess {
    fn drop(&mut self) {
        if self.open
            && let Err(error) = self.close(None)
        {
            tracing::error!(%error, "work on another copy's memory failed");
        }
    }
}

impl fmt::Debug for DeviceAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "DeviceAccess({:?} of {} bytes on {:?})",
            self.mode, self.len, self.stream
        )
    }
}
