//! What an allocation knows of who uses it: events of device work, accesses being enqueued, and
//! CPU maps held. Plain bookkeeping: nothing here waits or enqueues.

use hip_core::{Event, PinnedBuffer, StreamId};
use smallvec::SmallVec;

use crate::{Error, Result};

/// Which of the two copies of staged device memory was written last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Newer {
    /// Neither: they agree, or nothing was ever written.
    Same,
    /// The CPU's copy; the device's needs an upload before it is read.
    Cpu,
    /// The device's; the CPU's needs a download before it is read.
    Device,
}

/// A device access between its begin and its finish: its event does not exist yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OpenAccess {
    stream: StreamId,
    write: bool,
}

/// A CPU map that is held, and the memory object it was made through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OpenMap {
    memory: usize,
    how: MapMode,
}

/// How the CPU maps memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MapMode {
    /// To read.
    Read,
    /// To write only: nobody may look on.
    Write,
    /// To read and write. GStreamer lets others read meanwhile, as it does for any memory: decoders
    /// hold such a map on a frame that they still refer to, long after they wrote and pushed it.
    ReadWrite,
}

impl MapMode {
    pub(crate) fn writes(self) -> bool {
        self != MapMode::Read
    }
}

/// Events of one allocation; seldom more than a writer and four readers.
pub(crate) type Events = SmallVec<[Event; 6]>;

/// The order of accesses to one allocation.
#[derive(Debug)]
pub(crate) struct Order {
    /// After the last device work that wrote.
    pub(crate) last_write: Option<Event>,
    /// After device work that reads what `last_write` wrote; the newest of each stream.
    readers: SmallVec<[Event; 4]>,
    /// After the last download into `staging`.
    pub(crate) staged: Option<Event>,
    /// Which copy is newer; always `Same` where there is only one.
    pub(crate) newer: Newer,
    /// The CPU's copy of device memory that the CPU cannot address; made at the first map.
    pub(crate) staging: Option<PinnedBuffer>,
    accesses: SmallVec<[OpenAccess; 4]>,
    maps: SmallVec<[OpenMap; 2]>,
}

impl Order {
    pub(crate) fn new() -> Order {
        Order {
            last_write: None,
            readers: SmallVec::new(),
            staged: None,
            newer: Newer::Same,
            staging: None,
            accesses: SmallVec::new(),
            maps: SmallVec::new(),
        }
    }

    /// Opens a device access on `stream`, which begins with an `upload` or not.
    ///
    /// # Errors
    /// It would race with a CPU map, or with an access of another stream whose event does not
    /// exist yet. Accesses of one stream are in order anyway. (A reader's upload writes too: the map
    /// that it follows may have been held, to read and write, while another reader's access began.)
    pub(crate) fn open_access(
        &mut self,
        stream: StreamId,
        write: bool,
        upload: bool,
    ) -> Result<()> {
        if self.maps.iter().any(|map| map.how == MapMode::Write) {
            return Err(Error::Busy("it is mapped for writing by the CPU"));
        }
        if write && !self.maps.is_empty() {
            return Err(Error::Busy("it is mapped by the CPU"));
        }
        let races = |other: &OpenAccess| other.stream != stream && (other.write || write || upload);
        if self.accesses.iter().any(races) {
            return Err(Error::Busy("another stream's access is being enqueued"));
        }
        self.accesses.push(OpenAccess { stream, write });
        Ok(())
    }

    /// Closes what [`Order::open_access`] opened, with no event.
    pub(crate) fn close_access(&mut self, stream: StreamId, write: bool) {
        let closed = OpenAccess { stream, write };
        if let Some(index) = self.accesses.iter().position(|open| *open == closed) {
            self.accesses.swap_remove(index);
        }
    }

    /// Registers a CPU map made through the memory object at address `memory`.
    ///
    /// # Errors
    /// It would race with a device access being enqueued or with a map made through another
    /// memory object. What may nest in one object is GStreamer's lock's business.
    pub(crate) fn open_map(&mut self, memory: usize, how: MapMode) -> Result<()> {
        if self.accesses.iter().any(|open| open.write || how.writes()) {
            return Err(Error::Busy("a device access is being enqueued"));
        }
        let races = |other: &OpenMap| {
            other.memory != memory && (other.how == MapMode::Write || how.writes())
        };
        if self.maps.iter().any(races) {
            return Err(Error::Busy("it is mapped through another memory object"));
        }
        self.maps.push(OpenMap { memory, how });
        Ok(())
    }

    /// Removes what [`Order::open_map`] registered.
    pub(crate) fn close_map(&mut self, memory: usize, how: MapMode) {
        let closed = OpenMap { memory, how };
        if let Some(index) = self.maps.iter().position(|open| *open == closed) {
            self.maps.swap_remove(index);
        }
    }

    /// Device work up to `event` reads. A stream's later event stands for its earlier ones, so
    /// that there are never more entries than streams; past four, those that are done go.
    /// Accesses of one stream can end in another order than their events were recorded in: threads
    /// share the streams of [`super::DeviceStreams`].
    pub(crate) fn add_reader(&mut self, event: Event) {
        if let Some(same) = self
            .readers
            .iter_mut()
            .find(|r| r.stream_id() == event.stream_id())
        {
            if event.is_later_than(same) {
                *same = event;
            }
            return;
        }
        if self.readers.len() >= self.readers.inline_size() {
            // One that fails will never be done: it stays, and whoever waits for it hears of it.
            self.readers
                .retain(|reader| !reader.is_done().unwrap_or(false));
        }
        self.readers.push(event);
    }

    /// Device work up to `event` wrote, after all that was known before but what the same stream
    /// did later.
    pub(crate) fn set_write(&mut self, event: Option<Event>) {
        let Some(event) = event else {
            self.last_write = None;
            self.readers.clear();
            return;
        };
        self.readers.retain(|reader| reader.is_later_than(&event));
        if !matches!(&self.last_write, Some(last) if last.is_later_than(&event)) {
            self.last_write = Some(event);
        }
    }

    /// What a reader waits for: the last write; for a writer all readers as well.
    pub(crate) fn waits(&self, write: bool) -> Events {
        let readers = if write { &self.readers[..] } else { &[] };
        self.last_write.iter().chain(readers).cloned().collect()
    }

    /// Every event whose work may still touch the memory or its staging copy.
    pub(crate) fn pending(&self) -> Events {
        let all = self
            .last_write
            .iter()
            .chain(&self.readers)
            .chain(&self.staged);
        // Who cannot be asked may be busy: the completion worker waits for it.
        all.filter(|event| !event.is_done().unwrap_or(false))
            .cloned()
            .collect()
    }
}
