//! The link between CPU and device, measured with nothing in the way.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use hip_core::{Device, DeviceBuffer, Event, PinnedBuffer, Stream};

use crate::{ROTATION, Rate, Result};

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From pinned memory to the device.
    Up,
    /// From the device to pinned memory.
    Down,
    /// Both at once, on two streams. A [`Rate`] then counts the bytes of one direction.
    Both,
}

/// Buffers and a stream for copies in one direction.
struct Lane {
    stream: Stream,
    up: bool,
    device: Vec<DeviceBuffer>,
    pinned: Vec<PinnedBuffer>,
    events: VecDeque<Event>,
    count: u64,
}

impl Lane {
    fn new(device: &Device, up: bool, size: usize) -> Result<Lane> {
        let mut lane = Lane {
            stream: Stream::new(device)?,
            up,
            device: Vec::new(),
            pinned: Vec::new(),
            events: VecDeque::new(),
            count: 0,
        };
        for _ in 0..ROTATION {
            lane.device.push(DeviceBuffer::new(device, size)?);
            let mut pinned = PinnedBuffer::new(device, size)?;
            // Pages exist from the first touch on.
            pinned.write(0, &vec![0x5a; size])?;
            lane.pinned.push(pinned);
        }
        Ok(lane)
    }

    /// Enqueues the next copy, and waits for the one that used its buffers last.
    fn step(&mut self) -> Result<()> {
        if self.events.len() == ROTATION
            && let Some(event) = self.events.pop_front()
        {
            event.synchronize()?;
        }
        let index = self.count as usize % ROTATION;
        let (device, pinned) = (&self.device[index], &self.pinned[index]);
        let (ptr, len) = (device.as_raw(), device.len());
        // SAFETY: both buffers have `len` bytes and live until `finish` has waited for all copies;
        // the wait above makes this copy the only one that uses them.
        unsafe {
            match self.up {
                true => self.stream.copy_htod_raw(ptr, pinned.as_ptr(), len)?,
                false => self.stream.copy_dtoh_raw(pinned.as_ptr(), ptr, len)?,
            }
        }
        self.events.push_back(self.stream.record()?);
        self.count += 1;
        Ok(())
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        // The buffers must outlive the copies.
        if let Err(error) = self.stream.synchronize() {
            eprintln!("copies were not finished: {error}");
        }
    }
}

/// Copies of `size` bytes back to back, for at least `duration`.
///
/// # Errors
/// A device call fails.
pub fn link_rate(
    device: &Device,
    direction: Direction,
    size: usize,
    duration: Duration,
) -> Result<Rate> {
    let mut lanes = Vec::new();
    if direction != Direction::Down {
        lanes.push(Lane::new(device, true, size)?);
    }
    if direction != Direction::Up {
        lanes.push(Lane::new(device, false, size)?);
    }
    // Once round, not counted.
    for lane in &mut lanes {
        for _ in 0..ROTATION {
            lane.step()?;
        }
    }
    device.synchronize()?;
    let (start, before) = (Instant::now(), lanes[0].count);
    while start.elapsed() < duration {
        for lane in &mut lanes {
            lane.step()?;
        }
    }
    device.synchronize()?;
    let (seconds, count) = (start.elapsed().as_secs_f64(), lanes[0].count - before);
    Ok(Rate {
        bytes: count * size as u64,
        count,
        seconds,
    })
}
