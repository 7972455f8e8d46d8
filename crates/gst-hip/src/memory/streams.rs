use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use hip_core::{Device, FenceData, Stream};
use hip_dispatch::StreamHandle;

use crate::abi::{GstHipRsStreamDesc, Payload};
use crate::{Error, Result};

/// Streams of other copies that are remembered; one that is forgotten costs a wait on the device
/// for its own earlier work when it comes back.
const MAX_PROXIES: usize = 16;

/// What tells one copy's stream from another's: the copy and its number there. Handles are used
/// again, these are not.
type RemoteId = (u64, u64);

/// The streams that memory itself needs on a device, shared by all its allocations and gone with
/// the last of them.
pub(crate) struct DeviceStreams {
    device: Device,
    transfer: OnceLock<Stream>,
    map: OnceLock<Stream>,
    payload: OnceLock<Arc<Payload>>,
    /// Streams of other copies, the one used last at the end.
    proxies: Mutex<Vec<(RemoteId, Stream)>>,
    parting: Parting,
}

/// Bytes that were dropped and are not freed yet. Vendors free behind all work of the device, one
/// buffer after the other, and somebody else's work may keep it busy for ever: who drops memory
/// faster than that has to wait before it gets more.
#[derive(Default)]
struct Parting {
    bytes: AtomicUsize,
    /// Nothing was freed while somebody waited: nobody waits again until something is.
    stalled: AtomicBool,
    waiting: Mutex<()>,
    less: Condvar,
}

/// Bytes of one allocation on their way out.
pub(crate) struct PartingBytes(Arc<DeviceStreams>, usize);

impl Parting {
    /// More than this is waited for: five 8K frames of four bytes a pixel, twenty in 4K.
    const MOST: usize = 256 << 20;
    /// But no longer than this: the completion worker may be the one that allocates.
    const PATIENCE: Duration = Duration::from_secs(2);

    fn wait(&self) {
        let many = || {
            self.bytes.load(Ordering::Acquire) > Parting::MOST
                && !self.stalled.load(Ordering::Acquire)
        };
        if !many() {
            return;
        }
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .less
            .wait_timeout_while(waiting, Parting::PATIENCE, |()| many());
        let (waiting, outcome) = waited.unwrap_or_else(PoisonError::into_inner);
        drop(waiting);
        if outcome.timed_out() {
            self.stalled.store(true, Ordering::Release);
        }
    }
}

impl Drop for PartingBytes {
    fn drop(&mut self) {
        let (parting, bytes) = (&self.0.parting, &self.1);
        parting.stalled.store(false, Ordering::Release);
        if parting.bytes.fetch_sub(*bytes, Ordering::AcqRel) > Parting::MOST {
            // Whoever saw too many has begun to wait once the lock is free.
            drop(parting.waiting.lock());
            parting.less.notify_all();
        }
    }
}

static ALL: Mutex<Vec<Weak<DeviceStreams>>> = Mutex::new(Vec::new());

impl DeviceStreams {
    /// Those of a device (which is a context).
    pub(crate) fn of(device: &Device) -> Arc<DeviceStreams> {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all
            .iter()
            .filter_map(Weak::upgrade)
            .find(|streams| streams.device == *device);
        if let Some(streams) = found {
            return streams;
        }
        let streams = Arc::new(DeviceStreams {
            device: device.clone(),
            transfer: OnceLock::new(),
            map: OnceLock::new(),
            payload: OnceLock::new(),
            proxies: Mutex::new(Vec::new()),
            parting: Parting::default(),
        });
        all.retain(|weak| weak.strong_count() > 0);
        all.push(Arc::downgrade(&streams));
        streams
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Counts bytes that are dropped, until the result is.
    pub(crate) fn part_with(self: &Arc<Self>, bytes: usize) -> PartingBytes {
        self.parting.bytes.fetch_add(bytes, Ordering::AcqRel);
        PartingBytes(self.clone(), bytes)
    }

    /// Waits until few of the bytes that were dropped are still held.
    pub(crate) fn wait_for_room(&self) {
        self.parting.wait();
    }

    /// Downloads for CPU maps, and copies of whole memories.
    pub(crate) fn transfer(&self) -> Result<&Stream> {
        self.get_or_create(&self.transfer)
    }

    /// The stream that [`crate::MAP_HIP`] maps are ordered on.
    pub(crate) fn map(&self) -> Result<&Stream> {
        self.get_or_create(&self.map)
    }

    /// The device as other copies see it.
    pub(crate) fn payload(&self) -> &Arc<Payload> {
        self.payload.get_or_init(|| Payload::new(&self.device))
    }

    /// What stands here for another copy's stream, and whether the CPU has to keep the order: the
    /// very stream where both copies use one vendor library, else a stream of ours, on which
    /// nothing but the waiting is done.
    ///
    /// # Errors
    /// The stream is of another device or context, or of another library whose work on this
    /// memory nobody can wait for.
    ///
    /// # Safety
    /// The other copy's stream is alive, and stays so while the result is used.
    pub(crate) unsafe fn proxy(&self, desc: &GstHipRsStreamDesc) -> Result<(Stream, bool)> {
        let info = self.device.info();
        let same_library = desc.library == self.device.backend().identity() as u64;
        let usable = match same_library {
            true => desc.context == self.device.as_raw_context().as_raw(),
            false => info.limits.host_addressable,
        };
        if !usable {
            return Err(Error::WrongDevice {
                found: info.to_string(),
                expected: "the device of another copy's stream".into(),
            });
        }
        let id = (desc.copy, desc.id);
        let mut proxies = self.proxies.lock().unwrap_or_else(PoisonError::into_inner);
        let stream = match proxies.iter().position(|(known, _)| *known == id) {
            Some(index) => proxies.remove(index).1,
            None if same_library => {
                let handle = StreamHandle::from_raw(desc.stream);
                // SAFETY: a live stream of this context, by the caller's word. It is kept beyond
                // that and then never used: its number does not come again.
                unsafe { Stream::from_foreign(&self.device, handle, Box::new(())) }
            }
            None => Stream::new(&self.device)?,
        };
        let forgotten = (proxies.len() >= MAX_PROXIES).then(|| proxies.remove(0));
        proxies.push((id, stream.clone()));
        drop(proxies);
        drop(forgotten);
        Ok((stream, !same_library))
    }

    /// Waits until the completion worker has released what was handed to it so far; not for ever,
    /// since the worker itself may be the one that allocates, and would wait for itself.
    pub(crate) fn drain(&self) -> Result<()> {
        let (done, is_done) = std::sync::mpsc::channel();
        let mut fence = FenceData::new();
        fence.on_complete(move || {
            // The receiver waits below; there is nobody else to tell.
            let _ = done.send(());
        });
        fence.release_after([self.transfer()?.record()?])?;
        // An error means that the fence was dropped: released as well.
        let _ = is_done.recv_timeout(Parting::PATIENCE);
        Ok(())
    }

    fn get_or_create<'a>(&'a self, cell: &'a OnceLock<Stream>) -> Result<&'a Stream> {
        if let Some(stream) = cell.get() {
            return Ok(stream);
        }
        // Two threads may get here; the loser's stream is dropped unused.
        let stream = Stream::new(&self.device)?;
        Ok(cell.get_or_init(|| stream))
    }
}
