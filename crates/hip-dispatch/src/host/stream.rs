//! Streams: a worker thread each, with a queue that it empties in order.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::copy::{Copy, Fill};
use super::device::Device;
use super::event::Event;
use super::launch::Launch;
use super::lock;
use crate::{HostFn, StreamFlags};

/// One piece of work.
#[allow(clippy::large_enum_variant)] // a launch carries its arguments, so that it needs no heap
pub(super) enum Work {
    Copy(Copy),
    Fill(Fill),
    Launch(Launch),
    /// The stream got to this generation of the event.
    Record(Arc<Event>, u64),
    /// Goes on when this generation of the event is done.
    Wait(Arc<Event>, u64),
    Call(HostFn, *mut c_void),
    /// What the tests of the queue itself enqueue.
    #[cfg(test)]
    Test(Box<dyn FnOnce() + Send>),
}

// SAFETY: the pointers are addresses of memory that `Backend`'s contract keeps valid until the
// work is done, whichever thread does it; a host function's data is handed to a driver's thread
// on every vendor, so it must not be tied to one.
unsafe impl Send for Work {}

/// Why work was not enqueued; it is not, and never will be, carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// Earlier work failed.
    Failed,
    /// The stream was destroyed meanwhile.
    Closed,
}

/// Numbers are counts since the stream was created.
#[derive(Default)]
struct Queue {
    work: VecDeque<Work>,
    enqueued: u64,
    completed: u64,
    /// No more work comes; the worker ends when the queue is empty.
    closed: bool,
    /// The worker waits for work.
    idle: bool,
    /// Threads that wait for completion.
    waiting: u32,
}

/// A stream of one device.
pub(super) struct Stream {
    pub(super) device: u32,
    pub(super) flags: StreamFlags,
    queue: Mutex<Queue>,
    /// There is work, or the queue is closed.
    arrived: Condvar,
    /// `completed` went up while somebody waited.
    advanced: Condvar,
    failed: AtomicBool,
}

impl Stream {
    /// Starts a stream's worker; `id` names its thread.
    pub(super) fn spawn(
        device: &Arc<Device>,
        flags: StreamFlags,
        id: usize,
    ) -> io::Result<Arc<Stream>> {
        let stream = Arc::new(Stream {
            device: device.ordinal,
            flags,
            queue: Mutex::default(),
            arrived: Condvar::new(),
            advanced: Condvar::new(),
            failed: AtomicBool::new(false),
        });
        device.add_stream(stream.clone());
        let worker = {
            let (stream, device) = (stream.clone(), device.clone());
            move || {
                stream.work();
                device.forget_stream(&stream);
            }
        };
        // Detached: a destroyed stream finishes its work, and nobody waits for that.
        match std::thread::Builder::new()
            .name(format!("hip-stream-{id:x}"))
            .spawn(worker)
        {
            Ok(_) => Ok(stream),
            Err(error) => {
                device.forget_stream(&stream);
                Err(error)
            }
        }
    }

    /// Puts work at the end of the queue; gives the mark for [`Stream::wait`].
    pub(super) fn enqueue(&self, work: Work) -> Result<u64, Refused> {
        if self.failed() {
            return Err(Refused::Failed);
        }
        let mut queue = lock(&self.queue);
        if queue.closed {
            return Err(Refused::Closed);
        }
        queue.work.push_back(work);
        queue.enqueued += 1;
        let mark = queue.enqueued;
        let idle = std::mem::replace(&mut queue.idle, false);
        drop(queue);
        if idle {
            self.arrived.notify_one();
        }
        Ok(mark)
    }

    /// Stands for all work enqueued so far.
    pub(super) fn mark(&self) -> u64 {
        lock(&self.queue).enqueued
    }

    /// Sleeps until the work before `mark` is done (or skipped, once the stream has failed).
    pub(super) fn wait(&self, mark: u64) {
        let mut queue = lock(&self.queue);
        queue.waiting += 1;
        while queue.completed < mark {
            queue = self
                .advanced
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
        queue.waiting -= 1;
    }

    /// Whether all work is done.
    pub(super) fn idle(&self) -> bool {
        let queue = lock(&self.queue);
        queue.completed == queue.enqueued
    }

    /// Whether work failed; stays so.
    pub(super) fn failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Takes no more work; what is queued is still done.
    pub(super) fn close(&self) {
        lock(&self.queue).closed = true;
        self.arrived.notify_one();
    }

    /// The worker: until the queue is closed and empty.
    fn work(&self) {
        let mut finished = false;
        while let Some(work) = self.next(finished) {
            if !self.carry_out(work) && !self.failed.swap(true, Ordering::AcqRel) {
                tracing::error!(
                    device = self.device,
                    "work on a stream failed; it takes no more"
                );
            }
            finished = true;
        }
    }

    /// Counts the work just finished, if any, and sleeps until there is more.
    fn next(&self, finished: bool) -> Option<Work> {
        let mut queue = lock(&self.queue);
        if finished {
            queue.completed += 1;
            if queue.waiting > 0 {
                self.advanced.notify_all();
            }
        }
        loop {
            if let Some(work) = queue.work.pop_front() {
                return Some(work);
            }
            if queue.closed {
                return None;
            }
            queue.idle = true;
            queue = self
                .arrived
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Does a piece of work; `false` if it failed. On a failed stream only what others wait for
    /// is still done: waits, records, which pass the failure on, and calls.
    fn carry_out(&self, work: Work) -> bool {
        let failed = self.failed();
        let outcome = catch_unwind(AssertUnwindSafe(|| match work {
            Work::Record(event, generation) => {
                event.complete(generation, failed);
                true
            }
            // SAFETY: whoever enqueued the call promised that function and data belong together
            // and may be used on another thread; it was taken off the queue, so it happens once.
            Work::Call(function, data) => unsafe {
                function(data);
                true
            },
            // A record stands for all that its stream waited for: if it came early, memory could be
            // freed, or written again, under another stream's work.
            Work::Wait(event, generation) if failed => {
                event.wait(generation);
                true
            }
            _ if failed => true,
            // SAFETY: `Backend`'s contract, accepted when the work was enqueued: places are
            // valid until the work is done, and ordered against other users of them.
            work => unsafe { work.run() },
        }));
        outcome.unwrap_or(false)
    }
}

impl Work {
    /// Does work that neither records nor calls; `false` if it failed.
    ///
    /// # Safety
    /// What `Backend` asks of copies, fills and launches.
    pub(super) unsafe fn run(self) -> bool {
        match self {
            // SAFETY: the caller's promise.
            Work::Copy(copy) => unsafe { copy.run() },
            // SAFETY: as above.
            Work::Fill(fill) => unsafe { fill.run() },
            // SAFETY: as above.
            Work::Launch(launch) => return unsafe { launch.run() },
            Work::Wait(event, generation) => return event.wait(generation),
            Work::Record(event, generation) => event.complete(generation, false),
            // SAFETY: as above.
            Work::Call(function, data) => unsafe { function(data) },
            #[cfg(test)]
            Work::Test(job) => job(),
        }
        true
    }
}
