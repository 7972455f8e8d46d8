//! Events: points in a stream's work that others wait for.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Instant;

use super::{code, fail, lock, stream_failed};
use crate::{EventFlags, Result};

/// How a record of an event stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// The work before it is not done.
    Pending,
    /// The work before it is done; so is an event that was never recorded.
    Done,
    /// The stream failed before it got there.
    Failed,
}

/// Each record has a generation of its own, and is pending until *its* stream gets there: a
/// later record on another stream may be done first.
#[derive(Default)]
pub(super) struct Records {
    /// The last record's generation; 0 before the first.
    last: u64,
    /// Generations whose streams have not got there. Rarely more than one; keeps its capacity.
    pending: Vec<u64>,
    /// Generations whose stream failed; only faults add to it.
    failed: Vec<u64>,
    /// When the last record was done.
    stamp: Option<Instant>,
}

impl Records {
    fn progress(&self, generation: u64) -> Progress {
        if self.pending.contains(&generation) {
            Progress::Pending
        } else if self.failed.contains(&generation) {
            Progress::Failed
        } else {
            Progress::Done
        }
    }
}

/// An event of one device.
pub(super) struct Event {
    pub(super) device: u32,
    pub(super) flags: EventFlags,
    records: Mutex<Records>,
    changed: Condvar,
}

impl Event {
    pub(super) fn new(device: u32, flags: EventFlags) -> Self {
        Event {
            device,
            flags,
            records: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Starts a new generation and has `enqueue` put it on a stream. The event is locked
    /// meanwhile, so nobody can put a wait for this generation before its record on the same
    /// stream. If `enqueue` fails the event is as it was.
    pub(super) fn record<E>(&self, enqueue: impl FnOnce(u64) -> Result<(), E>) -> Result<(), E> {
        let mut records = lock(&self.records);
        let generation = records.last + 1;
        enqueue(generation)?;
        records.last = generation;
        records.pending.push(generation);
        records.stamp = None;
        Ok(())
    }

    /// The stream got to a generation's record. Called on its worker.
    pub(super) fn complete(&self, generation: u64, failed: bool) {
        // The stamp is taken before the lock, which a recording thread may hold.
        let now = (!self.flags.contains(EventFlags::DISABLE_TIMING)).then(Instant::now);
        let mut records = lock(&self.records);
        records.pending.retain(|other| *other != generation);
        if failed {
            records.failed.push(generation);
        } else if records.last == generation {
            records.stamp = now;
        }
        drop(records);
        self.changed.notify_all();
    }

    /// The last record's generation and how it stands.
    pub(super) fn last(&self) -> (u64, Progress) {
        let records = lock(&self.records);
        (records.last, records.progress(records.last))
    }

    /// Sleeps until a generation is done or failed; `true` if done.
    pub(super) fn wait(&self, generation: u64) -> bool {
        let mut records: MutexGuard<'_, Records> = lock(&self.records);
        loop {
            match records.progress(generation) {
                Progress::Pending => {}
                outcome => return outcome == Progress::Done,
            }
            let woken = self.changed.wait(records);
            records = woken.unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    /// Milliseconds from this event's last record to another's.
    pub(super) fn elapsed_ms(&self, end: &Event, call: &'static str) -> Result<f32> {
        let invalid = |text| Err(fail(call, code::INVALID_HANDLE, text));
        let not_done = || fail(call, code::NOT_READY, "an event is not done");
        if self.device != end.device {
            return invalid("the events belong to different contexts");
        }
        if (self.flags | end.flags).contains(EventFlags::DISABLE_TIMING) {
            return invalid("an event was created without time stamps");
        }
        for event in [self, end] {
            match event.last() {
                (0, _) => return invalid("an event was never recorded"),
                (_, Progress::Failed) => return Err(stream_failed(call)),
                (_, Progress::Pending) => return Err(not_done()),
                (_, Progress::Done) => {}
            }
        }
        // One that was recorded again since it was looked at has none.
        let stamps = self.stamp().zip(end.stamp());
        let (start, end) = stamps.ok_or_else(not_done)?;
        let forward = end.saturating_duration_since(start).as_secs_f64();
        let backward = start.saturating_duration_since(end).as_secs_f64();
        Ok(((forward - backward) * 1e3) as f32)
    }

    /// When the last record was done; `None` if there is no record, or none that carries a time.
    fn stamp(&self) -> Option<Instant> {
        lock(&self.records).stamp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(event: &Event) -> u64 {
        let mut started = 0;
        let enqueue = |generation| {
            started = generation;
            Ok::<(), ()>(())
        };
        event.record(enqueue).unwrap();
        started
    }

    #[test]
    fn each_record_is_pending_until_its_own_stream_gets_there() {
        let event = Event::new(0, EventFlags::empty());
        assert_eq!(event.last(), (0, Progress::Done));
        let (first, second, third) = (record(&event), record(&event), record(&event));
        let progress = |generation| lock(&event.records).progress(generation);
        event.complete(third, false);
        assert_eq!(event.last(), (third, Progress::Done));
        assert_eq!([first, second].map(progress), [Progress::Pending; 2]);
        let stamp = event.stamp().unwrap();
        event.complete(first, true);
        assert_eq!(
            [first, second].map(progress),
            [Progress::Failed, Progress::Pending]
        );
        event.complete(second, false);
        assert!(!event.wait(first) && event.wait(second) && event.wait(third));
        // Older records that are done later do not move the time of the last.
        assert_eq!(event.stamp(), Some(stamp));
        record(&event);
        assert_eq!(event.stamp(), None);
    }

    #[test]
    fn a_refused_record_changes_nothing() {
        let event = Event::new(0, EventFlags::empty());
        let first = record(&event);
        event.complete(first, false);
        let before = (event.last(), event.stamp());
        assert_eq!(event.record(|_| Err(5)), Err(5));
        assert_eq!((event.last(), event.stamp()), before);
        let silent = Event::new(0, EventFlags::DISABLE_TIMING);
        let first = record(&silent);
        silent.complete(first, false);
        assert_eq!(
            (silent.last(), silent.stamp()),
            ((first, Progress::Done), None)
        );
    }
}
