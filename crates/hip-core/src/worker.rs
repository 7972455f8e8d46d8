use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use smallvec::SmallVec;

use crate::statistics::{add, sub};
use crate::{Device, Error, Event, FenceData, Result};

/// Waits for events and releases what they guard, on one thread a device.
///
/// The thread waits for the oldest entry, then sweeps all that are done. It keeps the device
/// alive only through the entries it holds, and ends with the device.
pub(crate) struct CompletionWorker {
    sender: Mutex<Sender<Entry>>,
}

struct Entry {
    device: Device,
    events: SmallVec<[Event; 4]>,
    fence: FenceData,
}

impl Entry {
    fn new(device: &Device, events: SmallVec<[Event; 4]>, fence: FenceData) -> Entry {
        add(&device.0.counters.fences_pending, 1);
        Entry {
            device: device.clone(),
            events,
            fence,
        }
    }

    fn is_done(&self) -> bool {
        // An event that fails will never become ready: its work is over.
        self.events
            .iter()
            .all(|event| event.is_done().unwrap_or(true))
    }

    /// Releases the resources, waiting for the events first where they are not done.
    fn finish(self) {
        for event in &self.events {
            if let Err(error) = event.wait_uncounted() {
                tracing::warn!(%error, "work failed; its resources are released");
            }
        }
        drop(self.fence);
        sub(&self.device.0.counters.fences_pending, 1);
    }
}

impl CompletionWorker {
    /// Releases `fence` on the device's worker once the events are done, at once if there are none.
    pub(crate) fn submit(
        device: &Device,
        events: SmallVec<[Event; 4]>,
        fence: FenceData,
    ) -> Result<()> {
        let entry = Entry::new(device, events, fence);
        let worker = match device.0.worker.get() {
            Some(worker) => worker,
            None => match CompletionWorker::spawn(device) {
                // Two threads may get here; the loser's thread ends at once.
                Ok(worker) => device.0.worker.get_or_init(|| worker),
                Err(error) => {
                    entry.finish();
                    return Err(error);
                }
            },
        };
        let sender = worker.sender.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(unsent) = sender.send(entry) {
            drop(sender);
            unsent.0.finish();
        }
        Ok(())
    }

    fn spawn(device: &Device) -> Result<CompletionWorker> {
        let (sender, receiver) = channel();
        let info = device.info();
        std::thread::Builder::new()
            .name(format!("hip-done-{}{}", info.vendor, info.ordinal))
            .spawn(move || run(&receiver))
            .map_err(|error| Error::Thread(error.to_string()))?;
        Ok(CompletionWorker {
            sender: Mutex::new(sender),
        })
    }
}

fn run(receiver: &Receiver<Entry>) {
    let mut pending: Vec<Entry> = Vec::new();
    loop {
        if pending.is_empty() {
            match receiver.recv() {
                Ok(entry) => pending.push(entry),
                Err(_) => return,
            }
        }
        pending.extend(receiver.try_iter());
        pending.remove(0).finish();
        let mut index = 0;
        while index < pending.len() {
            match pending[index].is_done() {
                true => pending.remove(index).finish(),
                false => index += 1,
            }
        }
    }
}
