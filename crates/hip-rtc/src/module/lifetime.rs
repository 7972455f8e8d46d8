//! How long a module stays loaded. To unload one whose kernels run is undefined at NVIDIA's and not
//! waited for by AMD's older runtimes, so a module knows the streams that it was launched on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use hip_core::{Device, FenceData, Stream, StreamId, WeakStream};
use hip_dispatch::ModuleHandle;
use smallvec::SmallVec;

use crate::Result;

/// A module that is unloaded when this is dropped.
pub(super) struct Loaded {
    pub(super) device: Device,
    pub(super) handle: ModuleHandle,
    pub(super) name: String,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let Some(_bound) = self.device.bind_to_release() else {
            return;
        };
        // SAFETY: loaded in this context, unloaded once; no launch is in flight.
        if let Err(error) = unsafe { self.device.backend().module_unload(self.handle) } {
            tracing::warn!(%error, module = %self.name, "module not unloaded");
        }
    }
}

/// More streams than this are not kept apart: the whole device is waited for instead.
const MOST_STREAMS: usize = 16;

/// The streams a module was launched on.
#[derive(Default)]
pub(super) struct Users {
    /// The one used last, by number; 0 before the first. Most modules only ever see one.
    last: AtomicU64,
    all: Mutex<Streams>,
}

#[derive(Default)]
struct Streams {
    /// Not kept alive: who drops a stream wants it gone.
    known: SmallVec<[(StreamId, WeakStream); 2]>,
    /// There were others, which are not known any more.
    more: bool,
}

impl Users {
    /// Notes a launch: one load where the stream is the one of the last launch.
    ///
    /// # Errors
    /// This is the child of the process that opened the stream's device.
    #[inline]
    pub(super) fn note(&self, stream: &Stream) -> Result<()> {
        match self.last.load(Ordering::Relaxed) == stream.id().get() {
            true => Ok(()),
            false => self.note_other(stream),
        }
    }

    #[cold]
    fn note_other(&self, stream: &Stream) -> Result<()> {
        // A thread that is gone may hold the lock in the child of a fork.
        stream.device().check_process("launch")?;
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.known.iter().any(|(id, _)| *id == stream.id()) {
            if all.known.len() >= MOST_STREAMS {
                all.known.remove(0);
                all.more = true;
            }
            all.known.push((stream.id(), stream.downgrade()));
        }
        // Within the lock, so that whoever reads the number finds the stream in the list.
        self.last.store(stream.id().get(), Ordering::Relaxed);
        Ok(())
    }

    /// Unloads the module now if its streams are idle, else on the completion worker when they are.
    pub(super) fn release(&mut self, module: Loaded) {
        let streams = std::mem::take(self.all.get_mut().unwrap_or_else(PoisonError::into_inner));
        let mut events: SmallVec<[hip_core::Event; 4]> = SmallVec::new();
        let mut unknown = streams.more;
        for (_, weak) in &streams.known {
            match weak.upgrade() {
                Some(stream) if stream.is_idle().unwrap_or(false) => {}
                Some(stream) => match stream.record() {
                    Ok(event) => events.push(event),
                    Err(_) => unknown = true,
                },
                // Work on a stream that is gone still finishes, some time.
                None => unknown = true,
            }
        }
        if unknown {
            return release_after_everything(module);
        }
        let mut fence = FenceData::new();
        fence.push(module);
        if let Err(error) = fence.release_after(events) {
            tracing::warn!(%error, "a module's launches were waited for where it was dropped");
        }
    }
}

/// Unloads behind all work of the device, on the completion worker.
fn release_after_everything(module: Loaded) {
    let device = module.device.clone();
    let after = Stream::new(&device).and_then(|stream| stream.record());
    let mut fence = FenceData::new();
    fence.on_complete(move || {
        // A call may fail once with kernels still running; a device that is lost fails again.
        let waited = module.device.synchronize();
        if let Err(error) = waited.or_else(|_| module.device.synchronize()) {
            tracing::debug!(%error, "a module is unloaded from a device that failed");
        }
        drop(module);
    });
    match after {
        // With no worker it is released on this thread.
        Ok(event) => drop(fence.release_after([event])),
        // The device takes no more work: what it had is over, or lost.
        Err(_) => drop(fence),
    }
}
