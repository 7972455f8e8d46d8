use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, PoisonError};

use smallvec::SmallVec;

use crate::primitive::{Mutex, MutexGuard, lock};
use crate::worker::CompletionWorker;
use crate::{Device, DeviceBuffer, Event, FenceData, PinnedBuffer, Result, Stream, StreamId};

/// Memory that a pool can hold.
pub trait PoolBuffer: Send + Sync + Sized + 'static {
    /// Allocates one.
    ///
    /// # Errors
    /// There is no room.
    fn allocate(device: &Device, size: usize) -> Result<Self>;
}

impl PoolBuffer for DeviceBuffer {
    fn allocate(device: &Device, size: usize) -> Result<Self> {
        DeviceBuffer::new(device, size)
    }
}

impl PoolBuffer for PinnedBuffer {
    fn allocate(device: &Device, size: usize) -> Result<Self> {
        PinnedBuffer::new(device, size)
    }
}

/// Buffers of one size, used again and again. Cheap to clone.
///
/// A buffer goes back with the events of its last users ([`PooledBuffer::busy_until`]); whoever
/// gets it next waits for them on its stream, on the device. An event is dropped only for one that
/// stands for it too: a buffer that goes back unused keeps what it came with. At most `max_idle` buffers wait
/// for reuse; any more are freed when their events are done.
pub struct BufferPool<T: PoolBuffer>(Arc<PoolInner<T>>);

struct PoolInner<T: PoolBuffer> {
    device: Device,
    size: usize,
    max_idle: usize,
    idle: Mutex<Vec<Idle<T>>>,
}

struct Idle<T> {
    buffer: T,
    busy: SmallVec<[Event; 4]>,
}

impl<T: PoolBuffer> BufferPool<T> {
    /// A pool of buffers of `size` bytes; nothing is allocated yet.
    pub fn new(device: &Device, size: usize, max_idle: usize) -> BufferPool<T> {
        let idle = Mutex::new(Vec::with_capacity(max_idle));
        BufferPool(Arc::new(PoolInner {
            device: device.clone(),
            size,
            max_idle,
            idle,
        }))
    }

    /// Bytes of one buffer.
    pub fn buffer_size(&self) -> usize {
        self.0.size
    }

    /// Buffers that wait for reuse; none in the child of a fork.
    pub fn idle(&self) -> usize {
        match self.0.device.is_usable() {
            true => lock(&self.0.idle).len(),
            false => 0,
        }
    }

    /// A buffer for work on `stream`, which waits for the buffer's last users on the device.
    ///
    /// # Errors
    /// There is no room for a new one, or the stream cannot wait.
    pub fn acquire(&self, stream: &Stream) -> Result<PooledBuffer<T>> {
        let mut pooled = self.take()?;
        for event in &pooled.before {
            stream.wait(event)?;
        }
        pooled.behind = Some(stream.id());
        Ok(pooled)
    }

    /// A buffer for the CPU: blocks the calling thread until the buffer's last users are done. An idle
    /// buffer whose users are already done is preferred.
    ///
    /// # Errors
    /// There is no room for a new one, or its last users failed.
    pub fn acquire_for_cpu(&self) -> Result<PooledBuffer<T>> {
        let mut pooled = self.take()?;
        for event in &pooled.before {
            if !event.is_done()? {
                event.synchronize()?;
            }
        }
        pooled.before.clear();
        Ok(pooled)
    }

    /// Frees idle buffers until at most `keep` are left, the longest idle first, on the completion
    /// worker.
    pub fn trim(&self, keep: usize) {
        if !self.0.device.is_usable() {
            return;
        }
        let mut idle = lock(&self.0.idle);
        let excess = idle.len().saturating_sub(keep);
        // The longest idle go first; freeing happens outside the lock.
        let freed: Vec<_> = idle.drain(..excess).collect();
        drop(idle);
        freed
            .into_iter()
            .for_each(|entry| entry.free(&self.0.device));
    }

    /// An idle buffer, preferably one whose users are done, or a new one.
    fn take(&self) -> Result<PooledBuffer<T>> {
        let pool = self.0.clone();
        pool.device.check_process("acquire")?;
        let found = pool.take_idle();
        let (buffer, mut before) = match found {
            Some(entry) => (entry.buffer, entry.busy),
            None => (T::allocate(&pool.device, pool.size)?, SmallVec::new()),
        };
        before.retain(|event| match event.is_done() {
            Ok(done) => !done,
            // Work that failed is over, but the question may have failed and not the work.
            Err(_) => {
                let _ = event.wait_uncounted();
                false
            }
        });
        Ok(PooledBuffer {
            buffer: Some(buffer),
            busy: SmallVec::new(),
            before,
            behind: None,
            pool,
        })
    }
}

impl<T: PoolBuffer> PoolInner<T> {
    fn take_idle(&self) -> Option<Idle<T>> {
        let mut idle: MutexGuard<'_, Vec<Idle<T>>> = lock(&self.idle);
        let done = |entry: &Idle<T>| entry.busy.iter().all(|e| e.is_done().unwrap_or(true));
        let index = idle
            .iter()
            .position(done)
            .or((!idle.is_empty()).then_some(0))?;
        Some(idle.remove(index))
    }
}

impl<T: Send + 'static> Idle<T> {
    /// Frees the buffer once its users are done, on the completion worker: a driver's free waits
    /// for all of the device's work, which nobody who drops a buffer expects.
    fn free(self, device: &Device) {
        let mut fence = FenceData::new();
        fence.push(self.buffer);
        if let Err(error) = CompletionWorker::submit(device, self.busy, fence) {
            tracing::warn!(%error, "a buffer was freed on the calling thread");
        }
    }
}

impl<T: PoolBuffer> Drop for PoolInner<T> {
    fn drop(&mut self) {
        let idle = std::mem::take(self.idle.get_mut().unwrap_or_else(PoisonError::into_inner));
        idle.into_iter().for_each(|entry| entry.free(&self.device));
    }
}

impl<T: PoolBuffer> Clone for BufferPool<T> {
    fn clone(&self) -> Self {
        BufferPool(self.0.clone())
    }
}

impl<T: PoolBuffer> fmt::Debug for BufferPool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BufferPool({} bytes, {} idle)", self.0.size, self.idle())
    }
}

/// A buffer on loan from a pool; goes back when dropped.
pub struct PooledBuffer<T: PoolBuffer> {
    buffer: Option<T>,
    /// What this user's work reaches.
    busy: SmallVec<[Event; 4]>,
    /// What the users before reach, as far as no event in `busy` is behind it.
    before: SmallVec<[Event; 4]>,
    /// The stream that waits for `before`.
    behind: Option<StreamId>,
    pool: Arc<PoolInner<T>>,
}

impl<T: PoolBuffer> PooledBuffer<T> {
    /// The buffer is in use until `event` is done; whoever gets it next waits.
    pub fn busy_until(&mut self, event: Event) {
        if self.behind == Some(event.stream_id()) {
            // Recorded on the stream that waited for them.
            self.before.clear();
        }
        self.busy.push(event);
    }
}

impl<T: PoolBuffer> Deref for PooledBuffer<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.buffer {
            Some(buffer) => buffer,
            None => unreachable!("the buffer leaves only in drop"),
        }
    }
}

impl<T: PoolBuffer> Drop for PooledBuffer<T> {
    fn drop(&mut self) {
        let Some(buffer) = self.buffer.take() else {
            return;
        };
        if !self.pool.device.is_usable() {
            return;
        }
        let mut busy = std::mem::take(&mut self.busy);
        busy.append(&mut self.before);
        let entry = Idle { buffer, busy };
        let mut idle = lock(&self.pool.idle);
        if idle.len() < self.pool.max_idle {
            idle.push(entry);
        } else {
            drop(idle);
            entry.free(&self.pool.device);
        }
    }
}

impl<T: PoolBuffer> fmt::Debug for PooledBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "PooledBuffer({} bytes, {} events)",
            self.pool.size,
            self.busy.len()
        )
    }
}
