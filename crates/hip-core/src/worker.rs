use std::collections::VecDeque;

use smallvec::SmallVec;

use crate::primitive::{Arc, Condvar, Mutex, lock, thread, wait};
use crate::statistics::{add, sub};
use crate::{Device, Error, Event, FenceData, Result};

/// Waits for events and releases what they guard, on one thread a device.
///
/// The thread waits for the oldest entry, then sweeps those that are done too. It keeps the device
/// alive only through the entries it holds, and ends with the device. In the steady state handing
/// an entry over allocates nothing.
pub(crate) struct CompletionWorker {
    shared: Arc<Shared>,
}

/// Entries that are asked behind the oldest: all of them in a pipeline, and few enough that a
/// backlog does not make each release cost as much as the backlog is long.
const SWEEP: usize = 64;

struct Shared {
    queue: Mutex<Queue>,
    /// There are entries, or the queue is closed.
    arrived: Condvar,
}

struct Queue {
    entries: VecDeque<Entry>,
    /// The thread sleeps.
    idle: bool,
    /// No more entries come.
    closed: bool,
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
        // In the child of a fork there is no worker, and its lock may be held for ever. The
        // resources go now, which calls no vendor.
        device.check_process("release_after")?;
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
        worker.push(entry);
        Ok(())
    }

    fn spawn(device: &Device) -> Result<CompletionWorker> {
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue {
                entries: VecDeque::new(),
                idle: false,
                closed: false,
            }),
            arrived: Condvar::new(),
        });
        let worker = CompletionWorker {
            shared: shared.clone(),
        };
        let info = device.info();
        thread::Builder::new()
            .name(format!("hip-done-{}{}", info.vendor, info.ordinal))
            .spawn(move || run(&shared))
            .map_err(|error| Error::Thread(error.to_string()))?;
        Ok(worker)
    }

    fn push(&self, entry: Entry) {
        let mut queue = lock(&self.shared.queue);
        queue.entries.push_back(entry);
        let idle = std::mem::replace(&mut queue.idle, false);
        drop(queue);
        if idle {
            self.shared.arrived.notify_one();
        }
    }
}

impl Drop for CompletionWorker {
    /// Ends the thread once it has released what it has.
    fn drop(&mut self) {
        lock(&self.shared.queue).closed = true;
        self.shared.arrived.notify_one();
    }
}

impl Shared {
    /// Adds what has arrived to `pending`, sleeping only if there is nothing at all. Gives `false` when
    /// nothing is left and nothing will come.
    fn collect(&self, pending: &mut VecDeque<Entry>) -> bool {
        let mut queue = lock(&self.queue);
        while pending.is_empty() && queue.entries.is_empty() {
            if queue.closed {
                return false;
            }
            queue.idle = true;
            queue = wait(&self.arrived, queue);
        }
        pending.append(&mut queue.entries);
        true
    }
}

fn run(shared: &Shared) {
    let mut pending = VecDeque::new();
    while shared.collect(&mut pending) {
        // What is done goes first: a stream that stands still must not keep others' resources.
        let mut index = 0;
        let mut released = false;
        while index < pending.len().min(SWEEP) {
            match pending[index].is_done() {
                true => {
                    pending.remove(index).into_iter().for_each(Entry::finish);
                    released = true;
                }
                false => index += 1,
            }
        }
        if !released && let Some(oldest) = pending.pop_front() {
            oldest.finish();
        }
    }
}
