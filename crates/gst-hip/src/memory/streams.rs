use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use hip_core::{Device, FenceData, Stream};

use crate::Result;

/// The streams that memory itself needs on a device, shared by all its allocations and gone with
/// the last of them.
pub(crate) struct DeviceStreams {
    device: Device,
    transfer: OnceLock<Stream>,
    map: OnceLock<Stream>,
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
        });
        all.retain(|weak| weak.strong_count() > 0);
        all.push(Arc::downgrade(&streams));
        streams
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Downloads for CPU maps, and copies of whole memories.
    pub(crate) fn transfer(&self) -> Result<&Stream> {
        self.get_or_create(&self.transfer)
    }

    /// The stream that [`crate::MAP_HIP`] maps are ordered on.
    pub(crate) fn map(&self) -> Result<&Stream> {
        self.get_or_create(&self.map)
    }

    /// Waits until the completion worker has released what was handed to it so far.
    pub(crate) fn drain(&self) -> Result<()> {
        let (done, is_done) = std::sync::mpsc::channel();
        let mut fence = FenceData::new();
        fence.on_complete(move || {
            // The receiver waits below; there is nobody else to tell.
            let _ = done.send(());
        });
        fence.release_after([self.transfer()?.record()?])?;
        // An error means that the fence was dropped: released as well.
        let _ = is_done.recv();
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
