use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;

use crate::worker::CompletionWorker;
use crate::{Device, DeviceBuffer, Event, FenceData, PinnedBuffer, Result, Stream};

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
/// gets it next waits for them on its stream, on the device. At most `max_idle` buffers wait
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

    /// Buffers that wait for reuse.
    pub fn idle(&self) -> usize {
        self.0.lock().len()
    }

    /// A buffer for work on `stream`, which waits for the buffer's last users on the device.
    ///
    /// # Errors
    /// There is no room for a new one, or the stream cannot wait.
    pub fn acquire(&self, stream: &Stream) -> Result<PooledBuffer<T>> {
        let (pooled, busy) = self.take()?;
        for event in &busy {
            stream.wait(event)?;
        }
        Ok(pooled)
    }

    /// A buffer for the CPU: blocks the calling thread until the buffer's last users are done. An idle
    /// buffer whose users are already done is preferred.
    ///
    /// # Errors
    /// There is no room for a new one, or its last users failed.
    pub fn acquire_for_cpu(&self) -> Result<PooledBuffer<T>> {
        let (pooled, busy) = self.take()?;
        for event in &busy {
            if !event.is_done()? {
                event.synchronize()?;
            }
        }
        Ok(pooled)
    }

    /// Frees idle buffers until at most `keep` are left, the longest idle first, on the completion
    /// worker.
    pub fn trim(&self, keep: usize) {
        let mut idle = self.0.lock();
        let excess = idle.len().saturating_sub(keep);
        // The longest idle go first; freeing happens outside the lock.
        let freed: Vec<_> = idle.drain(..excess).collect();
        drop(idle);
        freed
            .into_iter()
            .for_each(|entry| entry.free(&self.0.device));
    }

    fn take(&self) -> Result<(PooledBuffer<T>, SmallVec<[Event; 4]>)> {
        let mut idle = self.0.lock();
        let done = |entry: &Idle<T>| entry.busy.iter().all(|e| e.is_done().unwrap_or(true));
        let index = idle
            .iter()
            .position(done)
            .or((!idle.is_empty()).then_some(0));
        let found = index.map(|index| idle.remove(index));
        drop(idle);
        let entry = match found {
            Some(entry) => entry,
            None => {
                let buffer = T::allocate(&self.0.device, self.0.size)?;
                Idle {
                    buffer,
                    busy: SmallVec::new(),
                }
            }
        };
        let pool = self.0.clone();
        let pooled = PooledBuffer {
            buffer: Some(entry.buffer),
            busy: SmallVec::new(),
            pool,
        };
        Ok((pooled, entry.busy))
    }
}

impl<T: PoolBuffer> PoolInner<T> {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Idle<T>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
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
    busy: SmallVec<[Event; 4]>,
    pool: Arc<PoolInner<T>>,
}

impl<T: PoolBuffer> PooledBuffer<T> {
    /// The buffer is in use until `event` is done; whoever gets it next waits.
    pub fn busy_until(&mut self, event: Event) {
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
        let entry = Idle {
            buffer,
            busy: std::mem::take(&mut self.busy),
        };
        let mut idle = self.pool.lock();
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
