use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hip_core::{Device, DeviceBuffer, DevicePtr, Event, FenceData, PinnedBuffer, Stream};

use super::order::{Events, MapMode, Newer, Order};
use super::streams::DeviceStreams;
use super::{DeviceAccess, MemoryKind};
use crate::{Error, Result};

/// The bytes behind one or more memory objects, and the order of accesses to them.
///
/// Device work that it enqueued, or was told of by an event, keeps the bytes alive: when the
/// last reference goes, they are handed to the completion worker with the events still pending.
/// That is what raw copies to and from an allocation rely on.
pub(crate) struct Allocation {
    streams: Arc<DeviceStreams>,
    size: usize,
    /// `None` only while it is dropped.
    storage: Option<Storage>,
    order: Mutex<Order>,
}

enum Storage {
    /// Device memory; `direct` where the CPU addresses the same bytes.
    Device {
        buffer: Arc<DeviceBuffer>,
        direct: bool,
    },
    /// Pinned memory.
    Pinned(PinnedBuffer),
}

impl Storage {
    /// Frees the bytes, unless a copy in flight still holds them, which then does.
    ///
    /// # Safety
    /// No work that was enqueued uses them any more.
    unsafe fn free_idle(self) {
        match self {
            // SAFETY: the caller's promise, for both.
            Storage::Device { buffer, .. } => unsafe {
                if let Some(buffer) = Arc::into_inner(buffer) {
                    buffer.free_idle();
                }
            },
            // SAFETY: as above.
            Storage::Pinned(buffer) => unsafe { buffer.free_idle() },
        }
    }
}

/// What a device access does to the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Reads them.
    Read,
    /// Writes some of them; the others are kept.
    Write,
    /// Writes all that matter; nothing is kept.
    Overwrite,
}

impl Mode {
    pub(crate) fn writes(self) -> bool {
        self != Mode::Read
    }
}

impl Allocation {
    /// `size` bytes of device memory. With `staged` the CPU maps a pinned copy even where it
    /// could address the memory.
    pub(crate) fn device(device: &Device, size: usize, staged: bool) -> Result<Arc<Allocation>> {
        let buffer = Arc::new(with_retry(device, || DeviceBuffer::new(device, size))?);
        let direct = device.info().limits.host_addressable && !staged;
        Ok(Allocation::with(
            device,
            size,
            Storage::Device { buffer, direct },
        ))
    }

    /// `size` bytes of pinned memory.
    pub(crate) fn pinned(device: &Device, size: usize) -> Result<Arc<Allocation>> {
        let buffer = with_retry(device, || PinnedBuffer::new(device, size))?;
        Ok(Allocation::with(device, size, Storage::Pinned(buffer)))
    }

    fn with(device: &Device, size: usize, storage: Storage) -> Arc<Allocation> {
        let streams = DeviceStreams::of(device);
        let order = Mutex::new(Order::new());
        Arc::new(Allocation {
            streams,
            size,
            storage: Some(storage),
            order,
        })
    }

    pub(crate) fn owner(&self) -> &Device {
        self.streams.device()
    }

    pub(crate) fn streams(&self) -> &DeviceStreams {
        &self.streams
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn kind(&self) -> MemoryKind {
        match self.storage() {
            Storage::Device { .. } => MemoryKind::Device,
            Storage::Pinned(_) => MemoryKind::Pinned,
        }
    }

    /// The address on the device; null for pinned memory.
    pub(crate) fn device_ptr(&self) -> DevicePtr {
        match self.storage() {
            Storage::Device { buffer, .. } => buffer.as_raw(),
            Storage::Pinned(_) => DevicePtr::NULL,
        }
    }

    /// The address for the CPU, where the CPU and the device use the same bytes.
    pub(crate) fn host_ptr(&self) -> Option<*mut u8> {
        match self.storage() {
            Storage::Device { buffer, direct } => direct.then(|| buffer.as_raw().as_ptr()),
            Storage::Pinned(buffer) => Some(buffer.as_ptr()),
        }
    }

    fn storage(&self) -> &Storage {
        match &self.storage {
            Some(storage) => storage,
            None => unreachable!("the storage leaves only in drop"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Orders `stream` behind what the access must not overtake, and opens the access. The
    /// calling thread waits for nothing.
    pub(crate) fn begin(
        self: &Arc<Self>,
        stream: &Stream,
        mode: Mode,
        offset: usize,
        len: usize,
    ) -> Result<DeviceAccess> {
        self.owner().check_process("begin")?;
        if stream.device() != self.owner() {
            return Err(Error::WrongDevice {
                found: self.owner().info().to_string(),
                expected: stream.device().info().to_string(),
            });
        }
        let mut order = self.lock();
        let discards = mode == Mode::Overwrite && len == self.size;
        let upload = order.newer == Newer::Cpu && !discards;
        order.open_access(stream.id(), mode.writes(), upload)?;
        if let Err(error) = self.enter(&mut order, stream, mode, upload) {
            order.close_access(stream.id(), mode.writes());
            return Err(error);
        }
        drop(order);
        Ok(DeviceAccess::new(
            self.clone(),
            stream.clone(),
            mode,
            offset,
            len,
        ))
    }

    fn enter(&self, order: &mut Order, stream: &Stream, mode: Mode, upload: bool) -> Result<()> {
        for event in order.waits(mode.writes() || upload) {
            stream.wait(&event)?;
        }
        if upload {
            self.upload(order, stream)?;
        }
        Ok(())
    }

    /// Enqueues the copy from the staging memory; `stream` is already behind every other user.
    fn upload(&self, order: &mut Order, stream: &Stream) -> Result<()> {
        let Some(staging) = &order.staging else {
            return Ok(());
        };
        // SAFETY: both sides have `size` bytes and outlive the copy, whose event goes into the
        // order that `Drop` hands on; no CPU map that only writes is held, since `open_access`
        // refuses then, whoever maps to read and write as well lets others read, and later write
        // maps wait for the event.
        unsafe { stream.copy_htod_raw(self.device_ptr(), staging.as_ptr(), self.size) }?;
        order.set_write(record_or_wait(stream));
        order.newer = Newer::Same;
        Ok(())
    }

    /// Closes an access whose work is before `event`; without one the work is already done.
    pub(crate) fn end(&self, stream: &Stream, mode: Mode, event: Option<Event>) {
        let mut order = self.lock();
        order.close_access(stream.id(), mode.writes());
        if mode.writes() {
            order.set_write(event);
            if self.host_ptr().is_none() {
                order.newer = Newer::Device;
            }
        } else if let Some(event) = event {
            order.add_reader(event);
        }
    }

    /// Maps all bytes for the CPU, through the memory object at `memory`: waits for the last
    /// write, for writing also for all readers.
    pub(crate) fn map_cpu(&self, memory: usize, how: MapMode) -> Result<*mut u8> {
        let mut order = self.lock();
        order.open_map(memory, how)?;
        let (before, write) = (order.newer, how.writes());
        let prepared = match self.host_ptr() {
            Some(ptr) => Ok((ptr, order.waits(write))),
            None => self.stage(&mut order, write),
        };
        drop(order);
        let mapped = prepared.and_then(|(ptr, events)| {
            // Who writes a frame that comes out of a pool mostly finds the device done with it,
            // which a query tells without a wait; who reads mostly is early.
            let wait = |event: &Event| match write && event.is_done()? {
                true => Ok(()),
                false => event.synchronize(),
            };
            events.iter().try_for_each(wait)?;
            Ok(ptr)
        });
        if mapped.is_err() {
            let mut order = self.lock();
            order.close_map(memory, how);
            order.newer = before;
        }
        mapped
    }

    /// Ends what [`Allocation::map_cpu`] began.
    pub(crate) fn unmap_cpu(&self, memory: usize, how: MapMode) {
        let mut order = self.lock();
        order.close_map(memory, how);
        // A device access may have uploaded what was there while the map was held.
        if how.writes() && self.host_ptr().is_none() {
            order.newer = Newer::Cpu;
        }
    }

    /// Brings the staging copy up to date, and says where it is and what to wait for. Bytes that a
    /// write map does not write keep their values, so it downloads too.
    fn stage(&self, order: &mut Order, write: bool) -> Result<(*mut u8, Events)> {
        let staging = match order.staging.take() {
            Some(staging) => staging,
            None => with_retry(self.owner(), || PinnedBuffer::new(self.owner(), self.size))?,
        };
        let ptr = order.staging.insert(staging).as_ptr();
        if order.newer == Newer::Device {
            let stream = self.streams.transfer()?;
            for event in order.waits(false) {
                stream.wait(&event)?;
            }
            // SAFETY: both sides have `size` bytes and outlive the copy, as for the upload; no
            // other map is held that could touch the staging memory: a map makes the copies agree
            // or the CPU's the newer one, and a device write is refused until it is gone.
            unsafe { stream.copy_dtoh_raw(ptr, self.device_ptr(), self.size) }?;
            order.staged = record_or_wait(stream);
            if let Some(event) = order.staged.clone() {
                order.add_reader(event);
            }
            order.newer = Newer::Same;
        }
        let mut events = if write {
            order.waits(true)
        } else {
            Events::new()
        };
        // The download comes after the last write: a reader waits for it alone.
        events.extend(order.staged.clone());
        if write {
            order.newer = Newer::Cpu;
        }
        Ok((ptr, events))
    }

    /// A copy of a range in an allocation of its own and of the same kind: on the device and not
    /// waited for, or, for pinned memory, by the CPU behind the last write.
    pub(crate) fn copy(self: &Arc<Self>, offset: usize, len: usize) -> Result<Arc<Allocation>> {
        if offset.checked_add(len).is_none_or(|end| end > self.size) {
            return Err(hip_core::Error::OutOfBounds {
                offset,
                len,
                size: self.size,
            }
            .into());
        }
        match self.storage() {
            Storage::Device { buffer, direct } => {
                let copy = Allocation::device(self.owner(), len, !direct)?;
                let Storage::Device { buffer: target, .. } = copy.storage() else {
                    unreachable!("made as device memory");
                };
                let stream = self.streams.transfer()?;
                let from = self.begin(stream, Mode::Read, offset, len)?;
                let to = copy.begin(stream, Mode::Overwrite, 0, len)?;
                stream.copy_dtod(target, 0, buffer, offset, len)?;
                let event = stream.record()?;
                from.finish(&event)?;
                to.finish(&event)?;
                Ok(copy)
            }
            Storage::Pinned(buffer) => {
                let copy = Allocation::pinned(self.owner(), len)?;
                let Storage::Pinned(target) = copy.storage() else {
                    unreachable!("made as pinned memory");
                };
                // The new allocation's address stands for a memory object that nobody else has.
                let reader = Arc::as_ptr(&copy) as usize;
                self.map_cpu(reader, MapMode::Read)?;
                // SAFETY: the range was checked, the target is new and as long, and the read map
                // keeps device and CPU writers away.
                unsafe {
                    let from = buffer.as_ptr().add(offset);
                    std::ptr::copy_nonoverlapping(from, target.as_ptr(), len);
                }
                self.unmap_cpu(reader, MapMode::Read);
                Ok(copy)
            }
        }
    }
}

impl Drop for Allocation {
    /// Frees nothing here: freeing waits for the whole device, whoever keeps it busy, and this may be
    /// a streaming thread. The completion worker does it, behind the events of our own users.
    fn drop(&mut self) {
        let order = self.order.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut events = order.pending();
        if events.is_empty() {
            // Without an event the fence would release on this thread; any event that is soon
            // done will do.
            events.extend(
                self.streams
                    .transfer()
                    .ok()
                    .and_then(|stream| stream.record().ok()),
            );
        }
        let staged = order.staging.as_ref().map_or(0, PinnedBuffer::len);
        let parting = self.streams.part_with(self.size + staged);
        let (storage, staging) = (self.storage.take(), order.staging.take());
        let mut fence = FenceData::new();
        fence.on_complete(move || {
            if let Some(storage) = storage {
                // SAFETY: `pending` had the events of all work that was ever enqueued with these
                // bytes, and they are done.
                unsafe { storage.free_idle() };
            }
            if let Some(staging) = staging {
                // SAFETY: as above.
                unsafe { staging.free_idle() };
            }
            drop(parting);
        });
        if let Err(error) = fence.release_after(events) {
            tracing::warn!(%error, "memory was freed on the calling thread");
        }
    }
}

/// Allocates; where there is no room, waits for what was dropped and is not freed yet, and tries
/// once more.
fn with_retry<T>(device: &Device, allocate: impl Fn() -> hip_core::Result<T>) -> Result<T> {
    // In a child of a fork the locks below may be held by a thread that is gone.
    device.check_process("allocate")?;
    DeviceStreams::of(device).wait_for_room();
    match allocate() {
        Err(error) if error.kind() == hip_core::ErrorKind::OutOfMemory => {
            tracing::debug!(%error, "waiting for memory that is being freed");
            DeviceStreams::of(device).drain()?;
            Ok(allocate()?)
        }
        other => Ok(other?),
    }
}

/// An event after all work on `stream`. Where none can be recorded the stream is waited for: work
/// whose end nobody knows would be a use after free.
pub(crate) fn record_or_wait(stream: &Stream) -> Option<Event> {
    match stream.record() {
        Ok(event) => Some(event),
        Err(error) => {
            tracing::error!(%error, "no event could be recorded; the stream is waited for");
            if let Err(error) = stream.synchronize() {
                tracing::error!(%error, "work failed");
            }
            None
        }
    }
}
